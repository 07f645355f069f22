//! Programs that run with a keeper: whatever they start, the keeper ends.
//!
//! A program is not started by the caller itself but by a helper, which is the
//! caller's own executable run again (see [`enter`]). The helper stays beside
//! the program as its **keeper**. Every process that the program starts is
//! below the keeper in the system's tree of processes, and stays there when
//! its parents die: it can leave its process group and its session and clean
//! its environment, and is found all the same. If the caller dies, even by
//! `kill -9`, the keeper ends everything.
//!
//! ```text
//! caller ──spawns──► keeper ──spawns──► inner stage ══becomes══► the program
//!    └───── a socket: what happened, what is to be done ─────┘
//! ```
//!
//! Where there is no helper ([`Helper::find`] gave none, or the system is not
//! Linux), the caller itself keeps the program, as far as its process group
//! goes. On Windows no program is started at all.
//!
//! | Module | Its one concern |
//! |---|---|
//! | `launch` | from a [`Command`] to a process that runs |
//! | `start_error` | why none runs |
//! | `words` | what keeper and caller say to each other |
//! | `helper` | the program that [`enter`] becomes when it is asked to |
//! | `keeper` | the life of a program and of what it started |
//! | `tree` | the processes below one |
//! | `inner` | the last steps before the program |
//! | `policy` | what a program may do, and which protections it got |
//! | `grants`, `programs` | what every program may use, and what a single one needs to be started |
//! | `descriptors` | what a program inherits: nothing |
//! | `isolation`, `loopback` | its own processes and network, by namespaces |
//! | `view`, `devices`, `mounts` | its own file system: an empty root, and in it what the policy allows |
//! | `layers` | folders that it changes only in appearance, by overlayfs |
//! | `recorded` | what it is about to change, written down first, by seccomp |
//! | `cgroup` | the memory of all its processes together |
//! | `files`, `calls`, `rights` | what it may open, call and use: Landlock, seccomp, capabilities and limits |
//! | `bare` | a keeper without a helper |
//! | `unsupported` | the same on Windows, where nothing is started |

#![cfg_attr(
    not(target_os = "linux"),
    expect(
        dead_code,
        reason = "the sandbox is Linux's; elsewhere programs run bare"
    )
)]

#[cfg(unix)]
mod bare;
#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(target_os = "linux")]
mod descriptors;
#[cfg(target_os = "linux")]
mod devices;
#[cfg(target_os = "linux")]
mod files;
#[cfg(unix)]
mod grants;
#[cfg(target_os = "linux")]
mod helper;
#[cfg(target_os = "linux")]
mod inner;
#[cfg(target_os = "linux")]
mod isolation;
#[cfg(target_os = "linux")]
mod keeper;
#[cfg(unix)]
mod launch;
#[cfg(target_os = "linux")]
mod layers;
#[cfg(target_os = "linux")]
mod loopback;
#[cfg(target_os = "linux")]
mod mounts;
mod policy;
mod programs;
mod recorded;
#[cfg(target_os = "linux")]
mod rights;
mod start_error;
#[cfg(target_os = "linux")]
mod tree;
#[cfg(not(unix))]
mod unsupported;
#[cfg(target_os = "linux")]
mod view;
mod words;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[cfg(unix)]
pub use launch::{Control, Kept, ProgramInput, ProgramOutput};
pub use policy::{Ignored, Layer, Limits, Missing, Policy, Protection, Protections, Provided};
pub use recorded::{After, Aftermath, Before, Record, Recording, Records};
pub use start_error::StartError;
#[cfg(not(unix))]
pub use unsupported::{Control, Kept, ProgramInput, ProgramOutput};
pub use words::{Exit, Left, Report};

/// How long processes have between `SIGTERM` and `SIGKILL`.
const GRACE: Duration = Duration::from_secs(1);
/// How long killed processes have to go away.
const KILLED: Duration = Duration::from_secs(1);
/// The pause between two rounds of killing.
const PAUSE: Duration = Duration::from_millis(5);

/// The name that makes the executable a keeper.
const KEEPER: &str = "ptk-keeper";

/// Whether [`enter`] was called, so that this executable can be the helper.
static ENTERED: AtomicBool = AtomicBool::new(false);

/// Makes this executable usable as the helper that programs are started by.
/// It has to be the first thing that `main` does, before there is a thread.
/// When the executable was run as the helper, this does not return.
///
/// ```
/// ptk_sandbox::command::enter();
/// // From here on it is an ordinary run of the program.
/// # assert!(cfg!(not(target_os = "linux")) || ptk_sandbox::command::Helper::find().is_some());
/// ```
pub fn enter() {
    #[cfg(target_os = "linux")]
    helper::run_if_asked();
    ENTERED.store(true, Ordering::Release);
}

/// Whether the memory of all processes of a program is limited together, what
/// they share included. The error says why it is not: then only the own memory
/// of each process is.
///
/// # Errors
///
/// If the system has no control groups that this user can make.
pub fn counts_shared_memory() -> Result<(), String> {
    #[cfg(target_os = "linux")]
    return cgroup::Group::new(Limits::default()).map(drop);
    #[cfg(not(target_os = "linux"))]
    Err("only Linux has control groups".to_owned())
}

/// Whether programs can be started on this system at all. Where they cannot,
/// [`Command::start`] fails with [`StartError::Unsupported`].
#[must_use]
pub const fn is_supported() -> bool {
    cfg!(unix)
}

/// The executable that starts programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Helper(PathBuf);

impl Helper {
    /// This executable, if it called [`enter`].
    #[must_use]
    pub fn find() -> Option<Self> {
        let is_ready = cfg!(target_os = "linux") && ENTERED.load(Ordering::Acquire);
        // By this name it is found even after it was replaced by a newer one.
        is_ready.then(|| Self(PathBuf::from("/proc/self/exe")))
    }

    /// Another executable that calls [`enter`].
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }
}

/// A program that is to be started, with all that it gets.
#[derive(Debug, Clone)]
pub struct Command {
    /// What runs: a path, or a name that is looked up in the `PATH` of
    /// `variables`.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The folder in which it starts.
    pub folder: PathBuf,
    /// Its whole environment.
    pub variables: Vec<(OsString, OsString)>,
    /// Whether it gets a pipe to read from. Without one, its input is at its
    /// end from the beginning.
    pub has_input: bool,
    /// Whether both of its streams are one, as a terminal would show them.
    pub is_merged: bool,
    /// What it may do. Without a policy, whatever its user may.
    pub policy: Option<Policy>,
    /// Whether it is not to run at all if a protection is missing.
    pub is_strict: bool,
    /// A file that is locked, shared, until the program and all that it started
    /// have ended, also if the caller is killed before.
    pub held: Option<PathBuf>,
}
