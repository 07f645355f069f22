//! Passes questions to the face that shows them, and answers back.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ptk_tools::form::{Form, FormAnswer, FormAsker};
use ptk_tools::{Approver, Decision};
use tokio::sync::{mpsc, oneshot};

use super::approver::{DecisionMaker, PersonApprover};
use super::{approver, asker};
use crate::question::Question;
use crate::view::Screen;

/// A question that waits for its answer.
#[derive(Debug)]
pub(crate) struct Pending<Q, A> {
    pub(crate) question: Q,
    answer: oneshot::Sender<A>,
}

/// A question about a call.
pub(crate) type PendingApproval = Pending<Question, Decision>;
/// A form.
pub(crate) type PendingForm = Pending<Form, FormAnswer>;

impl<Q, A> Pending<Q, A> {
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
pub(crate) enum PendingQuestion {
    Call(PendingApproval),
    Form(PendingForm),
}

impl PendingQuestion {
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
pub(crate) enum QuestionTarget {
    /// The face that takes the questions: the full-screen chat, or a
    /// program.
    Face(QuestionSender),
    /// The user at the terminal, line by line.
    Terminal,
}

impl QuestionTarget {
    /// Asks about calls in a workspace. The note is shown with each question.
    pub(crate) fn approver(
        &self,
        workspace: PathBuf,
        note: Option<String>,
        screen: &Screen,
    ) -> Arc<dyn Approver> {
        match self {
            Self::Face(sender) => Arc::new(PersonApprover {
                workspace,
                note,
                person: sender.clone(),
            }),
            Self::Terminal => approver(workspace, note, screen.clone()),
        }
    }

    /// Asks the user to fill in forms, if anyone can be asked.
    pub(crate) fn asker(&self, screen: &Screen) -> Option<Arc<dyn FormAsker>> {
        match self {
            Self::Face(sender) => Some(Arc::new(sender.clone())),
            Self::Terminal => asker(screen.clone()),
        }
    }
}

/// Passes questions on.
#[derive(Debug, Clone)]
pub(crate) struct QuestionSender {
    questions: mpsc::UnboundedSender<PendingQuestion>,
}

impl QuestionSender {
    /// A sender, and the receiver of the questions.
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<PendingQuestion>) {
        let (questions, asked) = mpsc::unbounded_channel();
        (Self { questions }, asked)
    }

    /// The answer to a question, if there is one.
    async fn answer<Q, A>(
        &self,
        question: Q,
        put: fn(Pending<Q, A>) -> PendingQuestion,
    ) -> Option<A> {
        let (asked, answered) = Pending::new(question);
        self.questions.send(put(asked)).ok()?;
        answered.await.ok()
    }
}

impl FormAsker for QuestionSender {
    fn ask(&self, form: Form) -> BoxFuture<'_, FormAnswer> {
        Box::pin(async move {
            let answer = self.answer(form, PendingQuestion::Form).await;
            answer.unwrap_or(FormAnswer::Unanswered)
        })
    }
}

impl DecisionMaker for QuestionSender {
    fn decide(&self, question: Question) -> BoxFuture<'_, Decision> {
        Box::pin(async move {
            let decision = self.answer(question, PendingQuestion::Call).await;
            decision.unwrap_or_else(|| Decision::DenyOnce("there was no answer".to_owned()))
        })
    }
}
