//! Undo, without git: what calls change is kept before they change it, and can
//! be put back as long as nobody else has changed it since.
//!
//! Before a call runs, the files that it says it will write go to a store
//! outside the workspace. A command works over a layer, and what it changed is
//! brought into the workspace when it has ended; where the system has no
//! layers, everything that is there is kept before it runs ([`Options`] says up
//! to which size). Afterwards the journal says what has changed. [`Undo`] takes calls back, newest first, and refuses where that
//! would lose somebody else's work. An undo is in the journal itself, so that
//! it can be taken back, too.
//!
//! | Module | Its one concern |
//! |---|---|
//! | `options` | how much is kept, for how long, and where |
//! | `state` | what is at a path |
//! | `content`, `journal`, `store`, `trees`, `collect` | what is kept, in files |
//! | `layer` | what a command changed over the workspace, and bringing it there |
//! | `tree` | the whole workspace at a moment |
//! | `watch` | how it becomes known what a call changes |
//! | `record` | a call on its way into the journal |
//! | `plan`, `diff`, `apply` | what an undo would do, and doing it |

mod apply;
mod collect;
mod content;
mod diff;
mod error;
mod journal;
mod layer;
mod options;
mod plan;
mod record;
mod state;
mod store;
mod tree;
mod trees;
mod watch;

pub use apply::Done;
pub use error::{Conflict, UndoError, Why};
pub use journal::Change;
pub(crate) use layer::Layers;
pub use options::Options;
pub use plan::{Listed, Others, Planned, Selection, Undo};
pub(crate) use record::{Call, Kept, Recorder, Settled};
pub use state::{About, Content, State};
