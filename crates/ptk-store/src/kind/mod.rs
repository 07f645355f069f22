//! The kinds of entries: what a session writes down, a line each.

mod call;
mod helper;
mod reply;
mod session;

pub use call::{
    CallAllowed, CallBegan, CallCut, CallEnded, CallHeld, LoggedCall, LoggedProblem, RanByHand,
};
pub use helper::{ChosenFile, HelperAsked, HelperReplied, HelperTask};
pub use reply::{
    LoggedMessage, ModelReplied, NativeCall, ReplyBroken, ReplyOutcome, ReplyParsed, ReplyRejected,
    RequestBegan, Usage,
};
pub use session::{
    Cleared, Compacted, Failure, Fork, Note, SessionImported, SessionInfo, TurnBegan, TurnEnded,
    TurnOutcome,
};

use crate::entry::Body;

macro_rules! kinds {
    ($($(#[$about:meta])* $kind:ident($body:ty) = $name:literal, $version:literal;)*) => {
        /// What an entry says.
        ///
        /// Each kind has a name and a version. What another program wrote
        /// under a name or a version that this one does not know is
        /// [`Unknown`](Self::Unknown): kept word for word, exported as it
        /// stands, and passed over by whoever folds the log.
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub enum EntryKind {
            $($(#[$about])* $kind($body),)*
            /// Something that only a newer program understands.
            Unknown(Body),
        }

        impl EntryKind {
            /// The name under which it is written.
            #[must_use]
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$kind(_) => $name,)*
                    Self::Unknown(body) => body.kind(),
                }
            }

            /// The form that is written down.
            ///
            /// # Errors
            ///
            /// If a value cannot be written as JSON.
            pub fn to_body(&self) -> Result<Body, serde_json::Error> {
                match self {
                    $(Self::$kind(body) => Body::write($name, $version, body),)*
                    Self::Unknown(body) => Ok(body.clone()),
                }
            }

            /// Understands what was written down, as far as possible.
            #[must_use]
            pub fn of_body(body: &Body) -> Self {
                let known = match (body.kind(), body.version()) {
                    $(($name, $version) => body.read().map(Self::$kind),)*
                    _ => None,
                };
                known.unwrap_or_else(|| Self::Unknown(body.clone()))
            }
        }

        $(impl From<$body> for EntryKind {
            fn from(body: $body) -> Self {
                Self::$kind(body)
            }
        })*
    };
}

/// The same fields as at the beginning, under a type of their own.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct InfoChanged(pub SessionInfo);

kinds! {
    /// The session exists from now on.
    SessionCreated(SessionInfo) = "session_created", 1;
    /// Some of what it works with is different from now on.
    SessionChanged(InfoChanged) = "session_changed", 1;
    /// Everything up to here was copied from another session.
    SessionForked(Fork) = "session_forked", 1;
    /// Everything up to here was imported from a file.
    SessionImported(SessionImported) = "session_imported", 1;
    /// Work on a prompt begins.
    TurnBegan(TurnBegan) = "turn_began", 1;
    /// Somebody said something.
    Message(LoggedMessage) = "message", 1;
    /// The model is about to be asked.
    RequestBegan(RequestBegan) = "request_began", 1;
    /// The model said something.
    ModelReplied(ModelReplied) = "model_replied", 1;
    /// The model said something, and came to no end.
    ReplyBroken(ReplyBroken) = "reply_broken", 1;
    /// The reply was read.
    ReplyParsed(ReplyParsed) = "reply_parsed", 1;
    /// A tool is about to act.
    CallBegan(CallBegan) = "call_began", 1;
    /// Somebody is asked about a call.
    CallHeld(CallHeld) = "call_held", 1;
    /// Somebody has agreed to a call.
    CallAllowed(CallAllowed) = "call_allowed", 1;
    /// The time of the run was up before a call had ended.
    CallCut(CallCut) = "call_cut", 1;
    /// A call has ended.
    CallEnded(CallEnded) = "call_ended", 1;
    /// A person has run a tool by hand.
    RanByHand(RanByHand) = "ran_by_hand", 1;
    /// Another model is about to help.
    HelperAsked(HelperAsked) = "helper_asked", 1;
    /// Another model has helped, or failed to.
    HelperReplied(HelperReplied) = "helper_replied", 1;
    /// The model was told what was wrong with its reply.
    ReplyRejected(ReplyRejected) = "reply_rejected", 1;
    /// The model is told the beginning of the conversation in short.
    Compacted(Compacted) = "compacted", 1;
    /// The conversation begins anew.
    Cleared(Cleared) = "cleared", 1;
    /// Work on a prompt is over.
    TurnEnded(TurnEnded) = "turn_ended", 1;
    /// Something failed.
    Failure(Failure) = "error", 1;
    /// A word on the side.
    Note(Note) = "note", 1;
}

impl From<ptk_protocol::Message> for EntryKind {
    fn from(message: ptk_protocol::Message) -> Self {
        Self::Message(message.into())
    }
}
