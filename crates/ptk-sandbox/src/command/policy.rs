//! What a program may do, and which protections it really got.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::recorded::Recording;
use crate::workspace::{Access, Workspace};

/// Folders of the system that hold programs and what these need.
const SYSTEM: [&str; 19] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/gnu",
    "/snap",
    "/sys",
    "/proc",
    "/var/lib/dpkg",
    "/var/lib/apt",
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager",
];
/// What programmers' tools need of a home, and no file in which they keep a
/// secret.
const TOOLS: [&str; 38] = [
    ".cargo/bin",
    ".cargo/config.toml",
    ".cargo/env",
    ".cargo/git",
    ".cargo/registry",
    ".rustup",
    ".gitconfig",
    ".config/git",
    ".npm/_cacache",
    ".nvm",
    ".volta",
    ".bun/bin",
    ".bun/install",
    ".deno",
    ".yarn",
    ".cache/node",
    ".cache/pip",
    ".cache/uv",
    ".cache/go-build",
    ".local/bin",
    ".local/lib",
    ".local/share/mise",
    ".local/share/pnpm",
    ".local/share/uv",
    ".local/share/virtualenvs",
    ".pyenv",
    ".rbenv",
    ".gem/ruby",
    ".sdkman",
    ".m2/repository",
    ".gradle/caches",
    ".gradle/wrapper",
    ".dotnet",
    ".nuget/packages",
    ".ghcup",
    ".opam",
    ".juliaup",
    "go/pkg",
];

/// Variables by which users say where their tools keep what is to be read.
const READ: [&str; 14] = [
    "RUSTUP_HOME",
    "GOPATH",
    "GOROOT",
    "GOMODCACHE",
    "JAVA_HOME",
    "MAVEN_HOME",
    "ANDROID_HOME",
    "DOTNET_ROOT",
    "NVM_DIR",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "GEM_HOME",
];
/// The same for what is to be written.
const WRITTEN: [&str; 2] = ["CARGO_TARGET_DIR", "GOCACHE"];
/// What is read of the folder that `CARGO_HOME` names: there are secrets too.
const OF_CARGO: [&str; 4] = ["bin", "config.toml", "git", "registry"];

/// What a program may use.
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
    /// What may not be written although it lies in what may be. It takes
    /// namespaces.
    pub guarded: Vec<PathBuf>,
    /// A folder for temporary files that nobody else uses. Where the system
    /// allows it, the program finds it as `/tmp`.
    pub temporary: Option<PathBuf>,
    /// The user's home. Where the system allows it, the program sees an empty
    /// folder in its place, with those in it that may be read or written.
    pub home: Option<PathBuf>,
    /// Whether other machines can be reached, and services of this one.
    pub network: bool,
    /// What it may use.
    pub limits: Limits,
    /// Folders that it finds as they are, and whose changes go elsewhere.
    pub layers: Vec<Layer>,
    /// What is recorded of its changes. Where that cannot be, the program is
    /// not started.
    pub recorded: Option<Recording>,
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
    /// What tools may do in a workspace, a program may do there too. It can
    /// read where the system and the tools of programmers keep their files.
    /// There is no network.
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
            guarded: Vec::new(),
            temporary: temporary.map(Path::to_owned),
            home: home(),
            network: false,
            limits: Limits::default(),
            layers: Vec::new(),
            recorded: None,
        };
        for folder in SYSTEM {
            policy.allow_reading(folder);
        }
        if let Some(home) = policy.home.clone() {
            for name in TOOLS {
                policy.allow_reading(home.join(name));
            }
        }
        policy.allow_named(|name| std::env::var_os(name));
        policy
    }

    /// Allows what variables name.
    fn allow_named(&mut self, variable: impl Fn(&str) -> Option<OsString>) {
        for path in READ.into_iter().filter_map(&variable) {
            self.allow_reading(path);
        }
        for path in WRITTEN.into_iter().filter_map(&variable) {
            self.allow_writing(path);
        }
        if let Some(cargo) = variable("CARGO_HOME") {
            for name in OF_CARGO {
                self.allow_reading(Path::new(&cargo).join(name));
            }
        }
        for folder in std::env::split_paths(&variable("PATH").unwrap_or_default()) {
            // Relative ones would mean another folder for each program.
            if folder.is_absolute() {
                self.allow_reading(folder);
            }
        }
    }

    /// Allows to read what is there; what is not does not matter.
    pub fn allow_reading(&mut self, path: impl AsRef<Path>) {
        self.read.extend(path.as_ref().canonicalize());
    }

    /// Allows to write what is there; what is not does not matter.
    pub fn allow_writing(&mut self, path: impl AsRef<Path>) {
        self.write.extend(path.as_ref().canonicalize());
    }

    /// Keeps something as it is where it lies in what may be written; what is
    /// not there is not kept from being made.
    pub fn guard(&mut self, path: impl AsRef<Path>) {
        let path = path.as_ref().canonicalize().ok();
        self.guarded
            .extend(path.filter(|path| self.is_written(path)));
    }

    /// The same for a folder. One that is not there is made, for a program
    /// could make it, too.
    pub fn guard_folder(&mut self, folder: impl AsRef<Path>) {
        let folder = real(folder.as_ref()).filter(|folder| self.is_written(folder));
        if let Some(folder) = folder {
            // What cannot be made is missed when it is to be guarded.
            let _ = std::fs::create_dir_all(&folder);
            self.guarded.push(folder);
        }
    }

    fn is_written(&self, path: &Path) -> bool {
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

/// The user's home, unless it is everybody's.
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
    /// Which.
    pub what: Protection,
    /// Why.
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
    /// Nothing of what the policy wants, for one reason.
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
