//! Command lines that the user has typed, which need no approval.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use ptk_tools::{ApprovalRequest, Approver, Decision, Review};
use serde_json::Value;

/// Command lines that the user has typed, which need no approval.
#[derive(Debug, Clone, Default)]
pub(crate) struct Typed(Arc<Mutex<Vec<String>>>);

impl Typed {
    /// Adds a command line that may run once.
    pub(crate) fn add(&self, line: &str) {
        self.lock().push(line.to_owned());
    }

    /// Whether a call is a command line that the user has typed. If the sandbox
    /// cannot fully protect from it, it needs approval all the same.
    fn has(&self, request: &ApprovalRequest<'_>) -> bool {
        let line = request.args.as_map().get("command");
        let line = line.and_then(Value::as_str);
        request.unprotected.is_none() && line.is_some_and(|line| self.take(line))
    }

    fn take(&self, line: &str) -> bool {
        let mut typed = self.lock();
        let at = typed.iter().position(|it| it == line);
        at.map(|at| typed.remove(at)).is_some()
    }

    /// Removes all command lines.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Approves command lines that the user has just typed, and asks another
/// approver about the rest.
pub(crate) struct Typist {
    pub(crate) typed: Typed,
    pub(crate) other: Arc<dyn Approver>,
}

impl Approver for Typist {
    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        if self.other.is_person() && self.typed.has(&request) {
            return Box::pin(std::future::ready(Decision::Allow));
        }
        self.other.decide(request)
    }

    fn review<'a>(&'a self, review: Review<'a>) -> BoxFuture<'a, Decision> {
        self.other.review(review)
    }

    fn is_person(&self) -> bool {
        self.other.is_person()
    }
}
