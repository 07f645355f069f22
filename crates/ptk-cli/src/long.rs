//! Long work that can be interrupted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::exit;
use crate::interrupt::Interrupts;

/// A runtime for long work that can be interrupted.
pub(crate) struct Long {
    pub(crate) runtime: Runtime,
    pub(crate) stop: CancellationToken,
    /// The same as a flag, for code that polls.
    pub(crate) is_stopped: Arc<AtomicBool>,
}

impl Long {
    /// Starts it: Ctrl-C cancels the work, and a second one ends the process.
    pub(crate) fn begin() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let stop = CancellationToken::new();
        let is_stopped = Arc::new(AtomicBool::new(false));
        let (token, flag) = (stop.clone(), Arc::clone(&is_stopped));
        let mut interrupts = runtime.block_on(async { Interrupts::new() });
        runtime.spawn(async move {
            interrupts.next().await;
            token.cancel();
            flag.store(true, Ordering::Release);
            interrupts.next().await;
            exit::leave();
        });
        Ok(Self {
            runtime,
            stop,
            is_stopped,
        })
    }
}
