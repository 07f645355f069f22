//! What a program may do, and which protections it really got.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::recorded::Recording;
use crate::config_folder;
use crate::workspace::{Access, Workspace};

/// The resources that a program may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of memory that a process may fill.
    pub memory: u64,
    /// Processes at a time.
    pub processes: u64,
    /// Bytes of a file.
    pub file_size: u64,
}

impl Default for Limits {
    /// Enough for a compiler, not enough to bring the machine down.
    fn default() -> Self {
        Self {
            memory: 16 << 30,
            processes: 2048,
            file_size: 16 << 30,
        }
    }
}

/// What a program may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// What may be written, and read.
    pub write: Vec<PathBuf>,
    /// What may be read besides.
    pub read: Vec<PathBuf>,
    /// What may not be read although it lies in what may be.
    pub hidden: Vec<PathBuf>,
    /// What may not be written although it lies in what may be. It takes
    /// namespaces.
    pub guarded: Vec<PathBuf>,
    /// What may not be written, as a precaution only: without namespaces it can
    /// be written.
    pub read_only: Vec<PathBuf>,
    /// Links of the system, such as `/bin`, and where they lead.
    pub links: Vec<(PathBuf, PathBuf)>,
    /// Files of the home that the program finds with another content than they
    /// have, because theirs may hold secrets. It takes namespaces.
    pub provided: Vec<Provided>,
    /// Folders that variables name, and that are ignored all the same.
    #[serde(skip)]
    pub ignored: Vec<Ignored>,
    /// A folder for temporary files that nothing else uses. Where the system
    /// allows it, the program finds it as `/tmp`.
    pub temporary: Option<PathBuf>,
    /// The user's home. Where the system allows it, the program sees an empty
    /// folder in its place, with those in it that may be read or written.
    pub home: Option<PathBuf>,
    /// Whether other machines can be reached, and services of this one.
    pub network: bool,
    /// The resources that it may use.
    pub limits: Limits,
    /// Folders that it finds as they are, and whose changes go elsewhere.
    pub layers: Vec<Layer>,
    /// What is recorded of its changes. Where that cannot be, the program is
    /// not started.
    pub recorded: Option<Recording>,
}

/// A file that a program finds instead of the real one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provided {
    /// Where the program finds it.
    pub path: PathBuf,
    /// What is in it.
    pub content: String,
}

/// A folder that a variable names, and that a program may not use because of
/// that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ignored {
    /// The variable.
    pub variable: String,
    /// The folder.
    pub path: PathBuf,
    /// Why it is ignored.
    pub why: String,
}

impl fmt::Display for Ignored {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            variable,
            path,
            why,
        } = self;
        write!(formatter, "{variable}: {} ({why})", path.display())
    }
}

/// A folder that a program changes only in appearance: what it writes there
/// goes to another folder, laid over it, and the folder itself stays as it is.
/// Needs a namespace of mounts; without one, the program is not started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// The folder.
    pub lower: PathBuf,
    /// Where the changes go: an empty folder, in the form that overlayfs gives
    /// them, with its marks in `user.overlay.*`.
    pub upper: PathBuf,
    /// An empty folder on the same disk, for the system's own use.
    pub work: PathBuf,
    /// What in the folder is changed at once all the same.
    pub through: Vec<PathBuf>,
}

impl Policy {
    /// A policy under which a program may do in a workspace what tools may do
    /// there. It can also read where the system and the tools of programmers
    /// keep their files, but not the user's configuration of PTK, with the
    /// keys. There is no network.
    #[must_use]
    pub fn new(workspace: &Workspace) -> Self {
        let temporary = workspace.temporary();
        let roots = |wanted| {
            let roots = workspace.roots().filter(|(path, access)| {
                let is_temporary = Some(*path) == temporary;
                *access == wanted && !is_temporary
            });
            roots.map(|(path, _)| path.to_owned()).collect()
        };
        let mut policy = Self {
            write: roots(Access::ReadWrite),
            read: roots(Access::ReadOnly),
            hidden: Vec::new(),
            guarded: Vec::new(),
            read_only: Vec::new(),
            links: Vec::new(),
            provided: Vec::new(),
            ignored: Vec::new(),
            temporary: temporary.map(Path::to_owned),
            home: home(),
            network: false,
            limits: Limits::default(),
            layers: Vec::new(),
            recorded: None,
        };
        policy.grant_defaults(|name| std::env::var_os(name));
        policy.hide_keys(workspace);
        policy
    }

    /// Takes away all that a program may change: it writes nothing but
    /// temporary files, and has no network.
    pub fn only_read(&mut self) {
        self.read.append(&mut self.write);
        self.network = false;
    }

    /// Hides the files with the user's keys, and the folder of PTK's own
    /// configuration, in which new ones are written.
    fn hide_keys(&mut self, workspace: &Workspace) {
        let folder = config_folder().and_then(|folder| real(&folder));
        self.hidden.extend(folder);
        for path in workspace.secrets().real_paths() {
            let is_covered = self.hidden.iter().any(|hidden| path.starts_with(hidden));
            if !is_covered {
                self.hidden.push(path);
            }
        }
    }

    /// Keeps a path from being written where it lies in a writable folder. A
    /// path that does not exist can still be created.
    pub fn guard(&mut self, path: impl AsRef<Path>) {
        let path = path.as_ref().canonicalize().ok();
        self.guarded
            .extend(path.filter(|path| self.is_written(path)));
    }

    /// Keeps a folder from being written, as [`Policy::guard`] does. A missing
    /// folder is created, since a program could create it too.
    pub fn guard_folder(&mut self, folder: impl AsRef<Path>) {
        let folder = real(folder.as_ref()).filter(|folder| self.is_written(folder));
        if let Some(folder) = folder {
            // If it cannot be created, guarding it fails later.
            let _ = std::fs::create_dir_all(&folder);
            self.guarded.push(folder);
        }
    }

    /// Keeps a path read-only as far as the system can, if it exists and is not
    /// a link.
    pub fn keep_read_only(&mut self, path: &Path) {
        let is_plain = path.symlink_metadata().is_ok_and(|it| !it.is_symlink());
        if is_plain && self.is_written(path) {
            self.read_only.push(path.to_owned());
        }
    }

    /// What is hidden although it lies in what may be written.
    pub(super) fn hidden_in_written(&self) -> impl Iterator<Item = &PathBuf> {
        self.hidden.iter().filter(|path| self.is_written(path))
    }

    pub(super) fn is_written(&self, path: &Path) -> bool {
        self.write.iter().any(|root| path.starts_with(root))
    }
}

/// A path without links, as far as it is there.
fn real(path: &Path) -> Option<PathBuf> {
    let known = path.ancestors().find(|folder| folder.exists())?;
    let rest = path.strip_prefix(known).ok()?;
    let known = known.canonicalize().ok()?;
    // Joining nothing leaves a `/` behind the name of a file.
    Some(known.join(rest).components().collect())
}

/// The user's home, unless it is the root folder.
fn home() -> Option<PathBuf> {
    let home = std::env::home_dir().filter(|home| home.is_absolute())?;
    let home = home.canonicalize().unwrap_or(home);
    home.parent().is_some().then_some(home)
}

/// A kind of protection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Protection {
    /// Files are written and read only where it is allowed.
    Files,
    /// Modes, owners and times of files that may not be written stay as they
    /// are.
    Attributes,
    /// No other machine and no service of this one can be reached.
    Network,
    /// Other processes can be neither seen nor signalled, and the number of
    /// the program's own is limited.
    Processes,
    /// Calls of the system that no tool needs are refused.
    Calls,
    /// Memory and the size of files are limited.
    Limits,
}

impl fmt::Display for Protection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Files => "files",
            Self::Attributes => "attributes of other files",
            Self::Network => "network",
            Self::Processes => "processes",
            Self::Calls => "system calls",
            Self::Limits => "limits",
        })
    }
}

/// A protection that could not be had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// The protection.
    pub what: Protection,
    /// Why it is missing.
    pub why: String,
}

/// Which protections a program got.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Protections {
    /// Those that it really has.
    pub applied: Vec<Protection>,
    /// Those that it was to have and has not.
    pub missing: Vec<Missing>,
}

impl Protections {
    /// No protection, with one reason for all that the policy wants.
    pub(super) fn none(policy: &Policy, why: &str) -> Self {
        let all = [
            Protection::Files,
            Protection::Attributes,
            Protection::Network,
            Protection::Processes,
            Protection::Calls,
            Protection::Limits,
        ];
        let wanted = all
            .into_iter()
            .filter(|what| *what != Protection::Network || !policy.network);
        let mut none = Self::default();
        for what in wanted {
            none.note(what, Err(why.to_owned()));
        }
        none
    }

    pub(super) fn note(&mut self, what: Protection, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.applied.push(what),
            Err(why) => self.missing.push(Missing { what, why }),
        }
    }
}

impl fmt::Display for Protections {
    /// In a few words: `full`, or what is missing.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.applied.is_empty() && self.missing.is_empty() {
            return formatter.write_str("none");
        }
        if self.missing.is_empty() {
            return formatter.write_str("full");
        }
        let mut reasons: Vec<&str> = Vec::new();
        for missing in &self.missing {
            if !reasons.contains(&missing.why.as_str()) {
                reasons.push(&missing.why);
            }
        }
        let with = |why: &str| {
            let missing = self.missing.iter().filter(|missing| missing.why == why);
            let kinds: Vec<_> = missing.map(|missing| missing.what.to_string()).collect();
            format!("{} ({why})", kinds.join(", "))
        };
        let without: Vec<_> = reasons.into_iter().map(with).collect();
        write!(formatter, "without {}", without.join(", "))
    }
}
