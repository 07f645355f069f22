//! Reports the questions to an approver.

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::BoxFuture;
use ptk_events::CallEvents;
use ptk_permission::{ApprovalRequest, Approver, Decision, Witness};

/// An approver whose questions are reported: to the witness of the call, and as
/// events.
pub(crate) struct Watched<'a> {
    pub(crate) approver: &'a dyn Approver,
    pub(crate) witness: Option<&'a dyn Witness>,
    pub(crate) events: &'a CallEvents,
    /// Whether there was a question.
    pub(crate) is_asked: AtomicBool,
}

impl Approver for Watched<'_> {
    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            self.is_asked.store(true, Ordering::Relaxed);
            if let Some(witness) = self.witness {
                witness.asked().await;
            }
            if self.is_person() {
                self.events.held();
            }
            let decision = self.approver.decide(request).await;
            let is_agreed = !matches!(decision, Decision::Deny(_) | Decision::DenyOnce(_));
            if let Some(witness) = self.witness.filter(|_| is_agreed) {
                witness.agreed().await;
            }
            decision
        })
    }

    fn is_person(&self) -> bool {
        self.approver.is_person()
    }
}
