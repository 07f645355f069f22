//! Passes questions to whoever shows them, and answers back.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ptk_tools::form::{Form, FormAnswer, FormAsker};
use ptk_tools::{ApprovalRequest, Approver, Decision, Review};
use tokio::sync::{mpsc, oneshot};

use super::{approver, asker};
use crate::question::Question;
use crate::view::Screen;

/// A question that waits for its answer.
#[derive(Debug)]
pub(crate) struct Asked<Q, A> {
    pub(crate) question: Q,
    answer: oneshot::Sender<A>,
}

/// A question about a call.
pub(crate) type AskedCall = Asked<Question, Decision>;
/// A form.
pub(crate) type AskedForm = Asked<Form, FormAnswer>;

impl<Q, A> Asked<Q, A> {
    /// A question, and the receiver of its answer.
    pub(crate) fn new(question: Q) -> (Self, oneshot::Receiver<A>) {
        let (answer, answered) = oneshot::channel();
        (Self { question, answer }, answered)
    }

    /// Whether the receiver of the answer is gone.
    pub(crate) fn is_gone(&self) -> bool {
        self.answer.is_closed()
    }

    pub(crate) fn answer(self, answer: A) {
        // The receiver may be gone; then the answer is not needed.
        drop(self.answer.send(answer));
    }
}

/// What is put to the user.
#[derive(Debug)]
pub(crate) enum Put {
    Call(AskedCall),
    Form(AskedForm),
}

impl Put {
    /// Whether the receiver of the answer is gone.
    pub(crate) fn is_gone(&self) -> bool {
        match self {
            Self::Call(asked) => asked.is_gone(),
            Self::Form(asked) => asked.is_gone(),
        }
    }
}

/// Who is asked.
#[derive(Debug)]
pub(crate) enum Target {
    /// Whoever takes the questions of this desk: the full-screen chat, or a
    /// program.
    Desk(Desk),
    /// The user at the terminal, line by line.
    Terminal,
}

impl Target {
    /// Asks about calls in a workspace. The note is shown with each question.
    pub(crate) fn approver(
        &self,
        workspace: PathBuf,
        note: Option<String>,
        screen: &Screen,
    ) -> Arc<dyn Approver> {
        match self {
            Self::Desk(desk) => Arc::new(DeskApprover {
                desk: desk.clone(),
                workspace,
                note,
            }),
            Self::Terminal => approver(workspace, note, screen.clone()),
        }
    }

    /// Asks the user to fill in forms, if anyone can be asked.
    pub(crate) fn asker(&self, screen: &Screen) -> Option<Arc<dyn FormAsker>> {
        match self {
            Self::Desk(desk) => Some(Arc::new(desk.clone())),
            Self::Terminal => asker(screen.clone()),
        }
    }
}

/// Passes questions on.
#[derive(Debug, Clone)]
pub(crate) struct Desk {
    questions: mpsc::UnboundedSender<Put>,
}

impl Desk {
    /// A desk, and the receiver of the questions.
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<Put>) {
        let (questions, asked) = mpsc::unbounded_channel();
        (Self { questions }, asked)
    }

    /// The answer to a question, if there is one.
    async fn answer<Q, A>(&self, question: Q, put: fn(Asked<Q, A>) -> Put) -> Option<A> {
        let (asked, answered) = Asked::new(question);
        self.questions.send(put(asked)).ok()?;
        answered.await.ok()
    }
}

impl FormAsker for Desk {
    fn ask(&self, form: Form) -> BoxFuture<'_, FormAnswer> {
        Box::pin(async move {
            let answer = self.answer(form, Put::Form).await;
            answer.unwrap_or(FormAnswer::Unanswered)
        })
    }
}

/// Passes questions about calls on.
struct DeskApprover {
    desk: Desk,
    workspace: PathBuf,
    note: Option<String>,
}

impl DeskApprover {
    async fn put(&self, question: Question) -> Decision {
        let decision = self.desk.answer(question, Put::Call).await;
        decision.unwrap_or_else(|| Decision::DenyOnce("there was no answer".to_owned()))
    }
}

impl Approver for DeskApprover {
    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
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
