//! The kinds of entries that a session writes, one line each.

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
    Cleared, Compacted, Failure, Fork, IMAGES_NOT_TAKEN, MAX_TITLE, Note, SessionImported,
    SessionInfo, TurnBegan, TurnEnded, TurnOutcome, ValueSet,
};

use crate::Body;

macro_rules! kinds {
    ($($(#[$about:meta])* $kind:ident($body:ty) = $name:literal, $version:literal;)*) => {
        /// The content of an entry.
        ///
        /// Each kind has a name and a version. An entry that another program
        /// wrote under a name or a version that this one does not know is
        /// [`Unknown`](Self::Unknown): kept word for word, exported as it
        /// stands, and skipped when the log is folded.
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub enum EntryKind {
            $($(#[$about])* $kind($body),)*
            /// An entry that only a newer program understands.
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

            /// The form that is written to the log.
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

            /// Reads the stored form; what is not understood is `Unknown`.
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

/// The fields of [`SessionInfo`] that change, as a type of their own.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct InfoChanged(pub SessionInfo);

kinds! {
    /// The session was created.
    SessionCreated(SessionInfo) = "session_created", 1;
    /// The title, model or other settings of the session changed.
    SessionChanged(InfoChanged) = "session_changed", 1;
    /// Everything up to here was copied from another session.
    SessionForked(Fork) = "session_forked", 1;
    /// Everything up to here was imported from a file.
    SessionImported(SessionImported) = "session_imported", 1;
    /// Work on a prompt begins.
    TurnBegan(TurnBegan) = "turn_began", 1;
    /// A message was added that does not come from a request to the model.
    Message(LoggedMessage) = "message", 1;
    /// A request to the model is about to be sent.
    RequestBegan(RequestBegan) = "request_began", 1;
    /// The model has replied.
    ModelReplied(ModelReplied) = "model_replied", 1;
    /// The model's reply broke off before its end.
    ReplyBroken(ReplyBroken) = "reply_broken", 1;
    /// The reply was parsed.
    ReplyParsed(ReplyParsed) = "reply_parsed", 1;
    /// A tool is about to act.
    CallBegan(CallBegan) = "call_began", 1;
    /// The user is asked about a call.
    CallHeld(CallHeld) = "call_held", 1;
    /// The user has allowed a call.
    CallAllowed(CallAllowed) = "call_allowed", 1;
    /// The time of the run was up before a call had ended.
    CallCut(CallCut) = "call_cut", 1;
    /// A call has ended.
    CallEnded(CallEnded) = "call_ended", 1;
    /// A person has run a tool by hand.
    RanByHand(RanByHand) = "ran_by_hand", 1;
    /// A helper model is about to be asked.
    HelperAsked(HelperAsked) = "helper_asked", 1;
    /// A helper model has replied, or failed to.
    HelperReplied(HelperReplied) = "helper_replied", 1;
    /// A reply was rejected, and the model was sent the reason.
    ReplyRejected(ReplyRejected) = "reply_rejected", 1;
    /// The beginning of the conversation was replaced by a summary.
    Compacted(Compacted) = "compacted", 1;
    /// The conversation was cleared.
    Cleared(Cleared) = "cleared", 1;
    /// A value was set that belongs to the conversation.
    ValueSet(ValueSet) = "value_set", 1;
    /// Work on a prompt is over.
    TurnEnded(TurnEnded) = "turn_ended", 1;
    /// An error occurred.
    Failure(Failure) = "error", 1;
    /// A note that the model does not see.
    Note(Note) = "note", 1;
}

impl From<ptk_protocol::Message> for EntryKind {
    fn from(message: ptk_protocol::Message) -> Self {
        Self::Message(message.into())
    }
}
