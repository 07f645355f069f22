//! An approver that approves everything, and remembers what was shown.

#![allow(
    clippy::unwrap_used,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use ptk_tools::{ApprovalRequest, Approver, Decision};

#[derive(Clone, Default)]
pub(crate) struct Asked {
    shown: Arc<Mutex<Vec<String>>>,
}

impl Asked {
    /// What was shown, each time.
    pub(crate) fn summaries(&self) -> Vec<String> {
        self.shown.lock().unwrap().clone()
    }
}

impl Approver for Asked {
    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        let writes: Vec<String> = request
            .plan
            .writes
            .iter()
            .map(ToString::to_string)
            .collect();
        let shown = format!("{}: {}", writes.join(", "), request.plan.summary);
        self.shown.lock().unwrap().push(shown);
        Box::pin(std::future::ready(Decision::Allow))
    }
}
