//! Calls that only the user can allow. The question is asked once, by the
//! tools, with everything else that is to be known of the call.

use std::future::pending;

use futures_util::future::BoxFuture;
use ptk_events::CallId;
use ptk_protocol::{ErrorType, ToolResult};
use ptk_store::Call;
use ptk_tools::{CallOutcome, Witness};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

/// Why a call needs the user's consent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// Its text stands in the result of a tool: it may not be the model's own.
    Copied,
    /// It began before the session was interrupted, and how it ended is
    /// unknown.
    MayHaveRun,
}

impl Doubt {
    /// The warning that the user is shown.
    pub(crate) const fn warning(self) -> &'static str {
        match self {
            Self::Copied => {
                "The text of this call stands in the result of a tool; it may not be the model's own idea."
            }
            Self::MayHaveRun => {
                "This call began before the session was interrupted; it may have happened already."
            }
        }
    }

    /// The result that the model gets if the user does not agree.
    pub(crate) fn refusal(self, call: &Call) -> ToolResult {
        match self {
            Self::Copied => ToolResult::failure(
                ErrorType::PermissionError,
                "This call was not run: its text stands in the result of a tool, and it was not approved",
            )
            .with_suggestion("Do only what the person has asked for."),
            Self::MayHaveRun => call.result().into_owned(),
        }
    }
}

/// The outcome of a call. If a doubtful call was not allowed, the result names
/// the doubt.
pub(crate) fn settled(outcome: CallOutcome, refusal: Option<ToolResult>) -> CallOutcome {
    let is_refused = outcome.result.error_type == Some(ErrorType::PermissionError);
    match refusal.filter(|_| is_refused) {
        Some(result) => CallOutcome { result, ..outcome },
        None => outcome,
    }
}

/// Which event of a consent question is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// The user is about to be asked.
    Asked,
    /// The user has agreed, and the call is about to act.
    Agreed,
}

/// An entry that must be logged before a call goes on.
#[derive(Debug)]
pub(crate) struct Word {
    pub(crate) call: CallId,
    pub(crate) tool: String,
    pub(crate) occasion: Occasion,
    pub(crate) written: oneshot::Sender<()>,
}

/// Logs that the user is asked about a call and that they have agreed: a call
/// without a logged agreement has certainly not happened.
#[derive(Debug)]
pub(crate) struct Notary {
    tell: UnboundedSender<Word>,
    call: CallId,
    tool: String,
}

impl Notary {
    pub(crate) fn new(tell: &UnboundedSender<Word>, call: CallId, tool: String) -> Self {
        Self {
            tell: tell.clone(),
            call,
            tool,
        }
    }

    async fn write(&self, occasion: Occasion) {
        let (written, is_written) = oneshot::channel();
        let word = Word {
            call: self.call.clone(),
            tool: self.tool.clone(),
            occasion,
            written,
        };
        if self.tell.send(word).is_err() || is_written.await.is_err() {
            // Nothing can be logged any more, so nothing may happen.
            pending::<()>().await;
        }
    }
}

impl Witness for Notary {
    fn asked(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.write(Occasion::Asked))
    }

    fn agreed(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.write(Occasion::Agreed))
    }
}
