//! Undo without git: what calls change is kept before they change it, and can
//! be restored as long as it was not changed since.
//!
//! ```
//! use std::fs;
//! use std::sync::Arc;
//!
//! use ptk_sandbox::Workspace;
//! use ptk_undo::{ChangingCall, Options, Recorder, Undo, Writes};
//!
//! # let folder = tempfile::tempdir()?;
//! # let state = tempfile::tempdir()?;
//! let workspace = Workspace::open(folder.path())?;
//! let options = Options {
//!     folder: Some(state.path().to_owned()),
//!     ..Options::default()
//! };
//! let file = folder.path().join("notes.txt");
//! fs::write(&file, "before")?;
//!
//! // Keep what is about to change, change it, and record the change.
//! let recorder = Recorder::new(workspace.clone(), options.clone(), "session".to_owned());
//! let recorder = Arc::new(recorder);
//! let call = recorder.begin(&ChangingCall {
//!     id: "call_1",
//!     turn: None,
//!     tool: "write_file",
//!     what: "notes.txt",
//!     writes: Writes::Places(&[workspace.resolve("notes.txt")?]),
//! })?;
//! fs::write(&file, "after")?;
//! call.end()?;
//!
//! Undo::open(workspace, &options)?.call("call_1")?;
//! assert_eq!(fs::read_to_string(&file)?, "before");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Before a call runs, the files that it declares to write go to a store
//! outside the workspace. What a command is about to change is recorded while
//! it runs. Where the system does not support that, everything that is there is
//! kept before it runs ([`Options`] sets up to which size). A command whose
//! changes are reviewed works over a layer, and what it changed is brought into
//! the workspace when it was approved.
//! Afterwards the journal lists what has changed. [`Undo`] undoes calls, newest
//! first, and refuses where that would lose changes of others. An undo is in
//! the journal itself, so that it can be undone, too.
//!
//! | Module | Its one concern |
//! |---|---|
//! | `options` | how much is kept, for how long, and where |
//! | `state` | what is at a path |
//! | `content`, `packs`, `journal`, `store`, `trees`, `collect` | what is kept, in files |
//! | `recorded` | what a command was about to change |
//! | `layer` | what a command changed over the workspace, and bringing it there |
//! | `tree` | the whole workspace at a moment |
//! | `system` | what Unix and Windows do differently |
//! | `watch`, `found` | how it becomes known what a call changes |
//! | `record`, `settle` | a call on its way into the journal |
//! | `text_diff` | diffs of texts, for people and models |
//! | `plan`, `diff`, `apply` | what an undo would do, and doing it |

mod apply;
mod collect;
mod content;
mod diff;
mod error;
mod found;
mod journal;
mod layer;
mod options;
mod packs;
mod plan;
mod record;
mod recorded;
mod settle;
mod state;
mod store;
mod system;
mod text_diff;
mod tree;
mod trees;
mod watch;

pub use apply::UndoReport;
pub use error::{Conflict, ConflictReason, UndoError};
pub use journal::Change;
pub use layer::{PendingChanges, Refusal};
pub use options::Options;
pub use plan::{ListedCall, Others, Selection, Undo, UndoPlan};
pub use record::{CallNotes, ChangingCall, KeptCall, Recorder, Writes};
pub use state::{Content, NodeAttributes, State};
pub use text_diff::{added_lines, unified};
pub use watch::CommandSetup;

/// A fresh id with this prefix. Ids are sorted by the time they were made.
fn new_id(prefix: &str) -> String {
    format!("{prefix}_{}", uuid::Uuid::now_v7().simple())
}
