//! Passes questions about calls to the chat, which answers them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use ptk_tools::{ApprovalRequest, Approver, Decision, Review};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::question::Question;

/// A question that waits for its answer.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) question: Question,
    answer: oneshot::Sender<Decision>,
}

impl Asked {
    /// A question, and the receiver of its answer.
    pub(crate) fn new(question: Question) -> (Self, oneshot::Receiver<Decision>) {
        let (answer, answered) = oneshot::channel();
        (Self { question, answer }, answered)
    }

    /// Whether the receiver of the answer is gone.
    pub(crate) fn is_gone(&self) -> bool {
        self.answer.is_closed()
    }

    pub(crate) fn answer(self, decision: Decision) {
        // The receiver may be gone; then the answer is not needed.
        drop(self.answer.send(decision));
    }
}

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

/// An approver that passes questions to the chat.
pub(crate) struct Desk {
    workspace: PathBuf,
    /// Shown with each question.
    note: Option<String>,
    questions: mpsc::UnboundedSender<Asked>,
    typed: Typed,
}

impl Desk {
    pub(crate) fn new(
        workspace: PathBuf,
        note: Option<String>,
        questions: mpsc::UnboundedSender<Asked>,
        typed: Typed,
    ) -> Self {
        Self {
            workspace,
            note,
            questions,
            typed,
        }
    }

    async fn put(&self, question: Question) -> Decision {
        let (asked, answered) = Asked::new(question);
        let put = self.questions.send(asked);
        match (put, answered.await) {
            (Ok(()), Ok(decision)) => decision,
            _ => Decision::DenyOnce("there was no answer".to_owned()),
        }
    }
}

impl Approver for Desk {
    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        if self.typed.has(&request) {
            return Box::pin(std::future::ready(Decision::Allow));
        }
        let question = Question::of(&request, &self.workspace, self.note.as_deref());
        Box::pin(self.put(question))
    }

    fn review<'a>(&'a self, review: Review<'a>) -> BoxFuture<'a, Decision> {
        Box::pin(self.put(Question::of_changes(&review)))
    }

    fn is_person(&self) -> bool {
        true
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
