//! Programs whose changes are recorded: whatever is about to be changed is
//! written down first, and only then may the program go on.
//!
//! The last stage before the program installs a filter, and passes its handle
//! to the keeper. There a thread receives every call that changes what is at a
//! path, while the caller waits. It finds out where the path leads, writes down
//! what is there, and lets the call be made. If that cannot be written down,
//! the call fails with the reason.
//!
//! A program that swaps the arguments of a call while they are read escapes the
//! record. The record protects from mistakes; the sandbox protects from malice.
//!
//! | Module | Its one concern |
//! |---|---|
//! | `recorder` | the thread that answers |
//! | `filter` | which calls the recorder receives |
//! | `intent` | what a call is about to change |
//! | `resolve` | where a path leads that another process has given |
//! | `cover` | which paths are recorded |
//! | `refused` | files that must not be written |
//! | `keep` | writing down what is there |
//! | `names` | files that have several names |
//! | `aftermath` | what is left when the program has ended |
//! | `pack` | the file that it is written to |

#[cfg(target_os = "linux")]
mod aftermath;
#[cfg(target_os = "linux")]
mod cover;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod intent;
#[cfg(target_os = "linux")]
mod keep;
#[cfg(target_os = "linux")]
mod names;
mod pack;
#[cfg(target_os = "linux")]
mod recorder;
#[cfg(target_os = "linux")]
mod refused;
#[cfg(target_os = "linux")]
mod resolve;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use pack::{After, Aftermath, Before, Record, Records};
#[cfg(target_os = "linux")]
pub(super) use recorder::{Recorded, Recorder, install, probe};

/// What is recorded of a program, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// The folders whose changes are recorded, without links, and none of them
    /// in another.
    pub roots: Vec<PathBuf>,
    /// What in them is not recorded.
    pub left_out: Vec<PathBuf>,
    /// Files and folders that must not be written, relative to their root, such
    /// as `.git/hooks`. A `*` is the beginning of a name.
    pub refused: Vec<String>,
    /// What of these may be written all the same.
    pub allowed: Vec<PathBuf>,
    /// The file to which records are added. Programs must not be able to write
    /// it.
    pub pack: PathBuf,
    /// The largest file whose content is recorded, in bytes.
    pub largest: u64,
    /// How large the file of records may become, in bytes: then no more
    /// contents are recorded.
    pub most: u64,
}
