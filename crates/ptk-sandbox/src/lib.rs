//! The path jail that all file tools work through.
//!
//! A [`Workspace`] is a set of folders, opened once. A path that a model wrote
//! becomes a [`Place`] in one of them, and a place can be read, listed, written
//! and removed. Whatever links there are, and however fast another process
//! swaps them, nothing outside those folders is read or written: every
//! operation starts at the handle of a folder and the kernel itself refuses to
//! leave it. There is no check of a path that is then opened by its name.
//!
//! ```
//! use ptk_sandbox::{Expect, Fingerprint, Workspace};
//!
//! # let folder = tempfile::tempdir()?;
//! let workspace = Workspace::open(folder.path())?;
//!
//! let place = workspace.resolve("src/main.rs")?;
//! place.create_parents()?;
//! place.replace(b"fn main() {}\n", Expect::Missing)?;
//!
//! // A writer says what it believes to be there; a file that somebody else
//! // has changed in the meantime stays as it is.
//! let seen = Fingerprint::of(b"fn main() {}\n");
//! place.replace(b"fn main() { run() }\n", Expect::Unchanged(seen))?;
//! let stale = place.replace(b"", Expect::Unchanged(seen)).unwrap_err();
//! assert_eq!(
//!     stale.to_string(),
//!     "Cannot write src/main.rs: its content is not what was last seen",
//! );
//!
//! let error = workspace.resolve("../secret").unwrap_err();
//! assert_eq!(error.to_string(), "Path traversal not allowed");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Everything blocks; asynchronous callers use a thread for it.
//!
//! | Module | Its one concern |
//! |---|---|
//! | `workspace`, `resolve` | the roots, and from a path to a [`Place`] in one of them |
//! | `place` | what a place is called |
//! | `links` | how each operation enters the jail, and where links lead that the kernel refuses to follow, though they stay inside |
//! | `read`, `listing`, `kind` | reading, metadata, listing |
//! | `target`, `write`, `temporary`, `rename` | the folder that is written to, the atomic replacement, its temporary file, the last step |
//! | `node`, `restore` | what is there to the last bit, and putting it back |
//! | `folder` | open folders, and the way down through no link |
//! | [`walk`], `ignore_file` | the walk through everything below a folder, and the ignore rules that it applies |
//! | `fingerprint` | whether a file is still what it was |
//! | [`command`] | programs that run with a keeper, which ends whatever they start |
//! | [`confine`] | a thread that can read inside the roots and nowhere else, for searches that walk by path |
//! | `secrets` | the user's keys, which no tool reads or writes |
//! | `config_folder`, `state_folder` | where PTK finds its configuration, and where it keeps its state |
//! | `system` | what Unix and Windows do differently |
//! | `error` | what can go wrong, and what to do about it |

pub mod command;
mod config_folder;
pub mod confine;
mod error;
mod fingerprint;
mod folder;
mod ignore_file;
mod kind;
mod links;
mod listing;
mod moves;
mod node;
mod place;
mod private;
mod read;
mod rename;
mod resolve;
mod restore;
mod scratch;
mod secrets;
mod state_folder;
mod system;
mod target;
mod temporary;
pub mod walk;
mod workspace;
mod write;

pub use config_folder::{config_folder, key_file};
pub use error::{Attempt, ErrorKind, PathError, WorkspaceError};
pub use fingerprint::{Fingerprint, Stamp};
pub use folder::Folder;
pub use ignore_file::{IgnoreFile, Verdict};
pub use kind::Kind;
pub use listing::{Entries, Entry};
pub use node::{Moment, Node};
pub use place::Place;
pub use private::{
    create_private, make_files_private, private_file, private_folder, write_private,
};
pub use read::Metadata;
pub use restore::Attributes;
pub use scratch::{Scratch, remove_temporary_folders};
pub use state_folder::state_folder;
pub use system::read_exact_at;
pub use temporary::is_temporary_name;
pub use workspace::{Access, Workspace};
pub use write::{Expect, Written};
