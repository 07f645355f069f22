//! Identical calls that are under way at the same time share one run.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Mutex, PoisonError};

use ptk_permission::Signature;
use ptk_protocol::ToolResult;
use tokio::sync::watch;

/// The calls that are under way and that others may wait for.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    calls: Mutex<HashMap<Signature, watch::Receiver<Option<ToolResult>>>>,
}

/// Takes a call off the list when it has ended, however it has.
struct Leader<'a> {
    calls: &'a InFlight,
    signature: &'a Signature,
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        self.calls.lock().remove(self.signature);
    }
}

impl InFlight {
    fn lock(
        &self,
    ) -> std::sync::MutexGuard<'_, HashMap<Signature, watch::Receiver<Option<ToolResult>>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The result of the same call that is under way, or of `run`. If the call
    /// that was waited for fails or is dropped, the next one runs itself.
    pub(crate) async fn share(
        &self,
        signature: &Signature,
        run: impl Future<Output = ToolResult>,
    ) -> ToolResult {
        let sender = loop {
            let mut receiver = {
                let mut calls = self.lock();
                let Some(receiver) = calls.get(signature) else {
                    let (sender, receiver) = watch::channel(None);
                    calls.insert(signature.clone(), receiver);
                    break sender;
                };
                receiver.clone()
            };
            let result = receiver.wait_for(Option::is_some).await;
            if let Ok(Some(result)) = result.as_deref() {
                return result.clone();
            }
        };
        let leader = Leader {
            calls: self,
            signature,
        };
        let result = run.await;
        drop(leader);
        // A failure may be this call's own, such as its cancellation.
        if result.success {
            sender.send_replace(Some(result.clone()));
        }
        result
    }
}
