//! Conversations, and the log that everything is written to.
//!
//! The log is the only truth. It is only ever appended to, and whatever else
//! there is, such as the list of sessions and the full-text index, can be
//! rebuilt from it. A step is written down before it acts and after it ended,
//! so that a session goes on where its process was killed: a call that has
//! ended is not run again, and a call that may or may not have happened is
//! marked as uncertain.
//!
//! ```
//! use ptk_events::{CallId, Correlation, RequestId};
//! use ptk_protocol::{Arguments, Message};
//! use ptk_store::{
//!     CallBegan, ModelReplied, NewEntry, Next, RequestBegan, SessionId, SessionInfo, SqliteStore,
//!     Store, TurnBegan, Window, resume,
//! };
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("sessions.db");
//! let store = SqliteStore::open(&path)?;
//! let session = SessionId::new();
//! let turn = Correlation::of_request(RequestId::new());
//! let call = CallId::new();
//! store.append(&session, vec![
//!     NewEntry::new(SessionInfo::new().model("llama-3")),
//!     NewEntry::new(TurnBegan::default()).of(&turn),
//!     NewEntry::new(Message::user("Read notes.txt")).of(&turn),
//!     NewEntry::new(RequestBegan { iteration: 1, ..RequestBegan::default() }).of(&turn),
//! ]).await?;
//! store.append(&session, vec![
//!     NewEntry::new(ModelReplied::new("<PTK_CALL>…</PTK_CALL>")).of(&turn),
//!     NewEntry::new(CallBegan {
//!         tool: "read_file".to_owned(),
//!         arguments: Arguments::from_json(r#"{"path": "notes.txt"}"#)?,
//!     }).of(&turn).about(call.clone()),
//! ]).await?;
//! drop(store); // Or the process is killed.
//!
//! let store = SqliteStore::open(&path)?;
//! let transcript = resume(&store, &session, Window::default()).await?.ok_or("no session")?;
//! assert_eq!(transcript.uncertain().map(|call| &call.id).collect::<Vec<_>>(), [&call]);
//! assert!(matches!(transcript.next(), Next::Calls { .. }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | Module | Its one concern |
//! |---|---|
//! | `kind/` | what can be written down: [`EntryKind`], a line and a type for each kind |
//! | `entry` | an [`Entry`] of the log: what was said, when, and what it belongs to |
//! | `body` | the stored form of an entry, JSON that is kept word for word: [`Body`] |
//! | `redact` | secrets, taken out before anything is written: [`Redaction`] |
//! | `store` | what a [`Store`] does, whatever it keeps its entries in |
//! | `sqlite/` | the store in a file: [`SqliteStore`] |
//! | `memory` | the store for tests: [`MemoryStore`] |
//! | `overview` | what is known of a session without reading its log: [`Overview`] |
//! | `transcript/` | the state of a conversation, folded from its log, and where to go on: [`Transcript`], [`resume`] |
//! | `words` | the words of a search, and where they stand |
//! | [`export`] | sessions as JSON lines and as Markdown, and back |
//! | `title`, `fork` | what people call a session, and another one with the same beginning: [`rename`], [`fork`] |
//! | `copying` | entries on their way into another log |
//! | `retention` | how long sessions are kept: [`Retention`] |
//! | `conversations` | messages by the id of their conversation: [`Conversations`] |
//!
//! Guarantees:
//!
//! - What was acknowledged survives the end of the process, whatever ends it.
//! - A session is written by one process at a time, and read by any.
//! - A file that is damaged, made by a newer program, or something else is
//!   left as it is, and the error says what to do.
//! - Nothing is read as a whole that grows with a log.

mod body;
mod conversations;
mod copying;
mod entry;
mod error;
pub mod export;
mod fork;
mod ids;
mod kind;
mod memory;
mod overview;
mod redact;
mod retention;
mod sqlite;
mod store;
mod time;
mod title;
mod transcript;
mod words;

pub use body::{Body, MAX_ENTRY};
pub use conversations::{Conversations, DEFAULT_CONVERSATION};
pub use entry::{Entry, NewEntry};
pub use error::{StoreError, Writer};
pub use fork::{Forked, Turns, fork};
pub use ids::{InvalidSessionId, SessionId};
pub use kind::{
    CallAllowed, CallBegan, CallCut, CallEnded, CallHeld, ChosenFile, Cleared, Compacted,
    EntryKind, Failure, Fork, HelperAsked, HelperReplied, HelperTask, IMAGES_NOT_TAKEN,
    InfoChanged, LoggedCall, LoggedMessage, LoggedProblem, MAX_TITLE, ModelReplied, NativeCall,
    Note, RanByHand, ReplyBroken, ReplyOutcome, ReplyParsed, ReplyRejected, RequestBegan,
    SessionImported, SessionInfo, TurnBegan, TurnEnded, TurnOutcome, Usage, ValueSet,
};
pub use memory::MemoryStore;
pub use overview::Overview;
/// Redacts secrets before anything is written.
pub use ptk_events::Redaction;
pub use retention::{Removed, Retention};
pub use sqlite::SqliteStore;
pub use store::{Appended, Beginning, Checked, Hit, Listing, Pending, Search, Store, Stretch};
pub use title::{rename, titled};
pub use transcript::{
    Call, CallState, Content, Item, ModelReply, Next, Transcript, Window, resume,
};
