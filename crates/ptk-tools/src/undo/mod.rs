//! Undo, without git: what calls change is kept before they change it, and can
//! be put back as long as it was not changed since.
//!
//! Before a call runs, the files that it declares to write go to a store
//! outside the workspace. What a command is about to change is recorded while
//! it runs; or it works over a layer, and what it changed is brought into the
//! workspace when it has ended; where the system supports neither, everything
//! that is there is kept before it runs ([`Options`] sets up to which size).
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
//! | `watch` | how it becomes known what a call changes |
//! | `record`, `settle` | a call on its way into the journal |
//! | `plan`, `diff`, `apply` | what an undo would do, and doing it |

mod apply;
mod collect;
mod content;
mod diff;
mod error;
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
mod tree;
mod trees;
mod watch;

pub use apply::Done;
pub use error::{Conflict, UndoError, Why};
pub use journal::Change;
pub use options::{Commands, Options};
pub use plan::{Listed, Others, Planned, Selection, Undo};
pub(crate) use record::{Call, Kept, Recorder, Settled};
pub use state::{About, Content, State};
pub(crate) use watch::Terms;
