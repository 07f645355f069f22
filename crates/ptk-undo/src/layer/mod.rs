//! Commands over a layer: their changes go to folders of the store, laid over
//! the workspace by the system. So the changes are known exactly, cost as much
//! as was changed and not as much as is there, and are moved into the workspace
//! as a whole, or not at all.
//!
//! ```text
//! layers/ENTRY/0/upper   what the command changed in the first root
//! layers/ENTRY/0/work    the system's own
//! layers/ENTRY/old/      what was replaced or removed, until it is kept
//! ```
//!
//! | Module | Its one concern |
//! |---|---|
//! | `marks` | what the system writes into a layer beside the changes |
//! | `look` | from a layer to the steps that bring it into the workspace |
//! | `apply` | taking these steps, and taking them back |
//! | `opened` | folders that are gone down to one after another |
//! | `show` | the changes of a layer, for people |

mod apply;
mod look;
#[cfg(unix)]
mod marks;
#[cfg(windows)]
#[path = "no_marks.rs"]
mod marks;
mod opened;
mod show;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ptk_sandbox::command::Layer;
use ptk_sandbox::{Access, Moment, Workspace};

pub(crate) use look::Attempt;
pub use show::PendingChanges;

use super::error::named;
use super::store::{LAYERS, Store};
use super::system;

/// The folder of git, which commands and other processes lock against each
/// other.
const GIT: &str = ".git";
/// How many layers of calls that have ended may be left.
const MAX_ENDED: usize = 32;
/// Entries of it that change with nearly everything that git does.
const OF_GIT: [&str; 4] = ["", "index", "HEAD", "logs/HEAD"];

/// The layers of one call, one for each root.
#[derive(Debug)]
pub(crate) struct Layers {
    folder: PathBuf,
    parts: Vec<Part>,
    /// When they were made. Later changes in the workspace are not the
    /// command's.
    start: Moment,
    used: Mutex<Used>,
}

/// A root of the workspace, and the layer over it.
#[derive(Debug)]
struct Part {
    root: PathBuf,
    /// The first root, to which the paths in the journal are relative.
    first: PathBuf,
    folder: PathBuf,
}

/// Whether a command uses the layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Used {
    NotYet,
    /// Some process may still write.
    Now,
    ToTheEnd,
}

impl Part {
    fn upper(&self) -> PathBuf {
        self.folder.join("upper")
    }

    fn work(&self) -> PathBuf {
        self.folder.join("work")
    }

    /// The path in the journal.
    fn name(&self, path: &Path) -> PathBuf {
        let absolute = self.root.join(path);
        match absolute.strip_prefix(&self.first) {
            Ok(relative) => relative.to_owned(),
            Err(_) => absolute,
        }
    }
}

impl Layers {
    /// Creates new layers; the error says why there can be none.
    pub(crate) fn create(
        workspace: &Workspace,
        store: &Store,
        entry: &str,
    ) -> Result<Self, LayerError> {
        if let Some(why) = system::NO_LAYERS {
            return Err(LayerError::Impossible(why.to_owned()));
        }
        let folder = store.path(LAYERS).join(entry);
        fs::create_dir(&folder)?;
        let layers = Self::at(workspace, folder)?;
        fs::create_dir(layers.old())?;
        for part in &layers.parts {
            fs::create_dir(&part.folder)?;
            fs::create_dir(part.upper())?;
            if system::disk(&part.folder)? != system::disk(&part.root)? {
                clear(&layers.folder)?;
                let root = part.root.display();
                return Err(LayerError::Impossible(format!(
                    "{root} and what undo keeps are on different disks"
                )));
            }
        }
        Ok(layers)
    }

    /// The layers that another process has made.
    pub(crate) fn resumed(workspace: &Workspace, store: &Store, entry: &str) -> io::Result<Self> {
        let layers = Self::at(workspace, store.path(LAYERS).join(entry))?;
        *layers.used() = Used::ToTheEnd;
        Ok(layers)
    }

    fn at(workspace: &Workspace, folder: PathBuf) -> io::Result<Self> {
        let made = fs::metadata(&folder)?;
        let parts = roots(workspace)
            .into_iter()
            .enumerate()
            .map(|(number, root)| Part {
                root: root.to_owned(),
                first: workspace.root().to_owned(),
                folder: folder.join(number.to_string()),
            });
        Ok(Self {
            parts: parts.collect(),
            start: system::changed(&made),
            used: Mutex::new(Used::NotYet),
            folder,
        })
    }

    fn used(&self) -> std::sync::MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn old(&self) -> PathBuf {
        self.folder.join("old")
    }

    /// The layers that a command is to be started with.
    pub(crate) fn begin(&self) -> io::Result<Vec<Layer>> {
        *self.used() = Used::Now;
        let layers = self.parts.iter().map(|part| {
            // The system marks the folder as used, and refuses a marked one.
            clear(&part.work())?;
            fs::create_dir(part.work())?;
            let git = part.root.join(GIT);
            let is_folder = fs::symlink_metadata(&git).is_ok_and(|git| git.is_dir());
            Ok(Layer {
                lower: part.root.clone(),
                upper: part.upper(),
                work: part.work(),
                through: if is_folder { vec![git] } else { Vec::new() },
            })
        });
        layers.collect()
    }

    /// Notes that nothing of the command is left.
    pub(crate) fn ended(&self) {
        *self.used() = Used::ToTheEnd;
    }

    /// Whether no process writes any more.
    pub(crate) fn is_settled(&self) -> bool {
        *self.used() != Used::Now
    }

    /// The folders of git in which something changed since the layers were made.
    fn changed_git(&self) -> impl Iterator<Item = String> {
        let changed = self.parts.iter().filter(|part| {
            let git = part.root.join(GIT);
            OF_GIT.iter().any(|name| {
                let node = fs::symlink_metadata(git.join(name)).ok();
                node.is_some_and(|node| system::changed(&node) > self.start)
            })
        });
        changed.map(|part| part.name(Path::new(GIT)).display().to_string())
    }

    /// Removes the layers with all that is in them, in the background. What is
    /// left is removed with others.
    pub(crate) fn remove(&self) {
        clear_aside(vec![self.folder.clone()]);
    }

    /// Moves the layers to where they are not removed; returns where that is.
    pub(crate) fn put_by(&self, store: &Store) -> io::Result<PathBuf> {
        let entry = self.folder.file_name().unwrap_or_default();
        let folder = store.path("torn");
        fs::create_dir_all(&folder)?;
        let folder = folder.join(entry);
        fs::rename(&self.folder, &folder)?;
        Ok(folder)
    }

    /// Removes what was replaced and is kept by now. The folders that are left
    /// are removed with others: a disk that has just deleted files is slow to
    /// create new ones.
    pub(crate) fn remove_old(&self) {
        let is_empty = fs::read_dir(self.old()).is_ok_and(|mut old| old.next().is_none());
        if !is_empty {
            clear_aside(vec![self.old()]);
        }
    }
}

/// The folders that commands change. What lies in another one is covered there.
pub(crate) fn roots(workspace: &Workspace) -> Vec<&Path> {
    let all = workspace.roots().filter(|(root, access)| {
        *access == Access::ReadWrite && Some(*root) != workspace.temporary()
    });
    let mut roots: Vec<&Path> = all.map(|(root, _)| root).collect();
    let all = roots.clone();
    roots.retain(|root| !all.iter().any(|it| it != root && root.starts_with(it)));
    roots
}

/// Why layers could not be created.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LayerError {
    /// The store does not work.
    #[error(transparent)]
    Store(#[from] io::Error),
    /// Layers are not possible here.
    #[error("{0}")]
    Impossible(String),
}

/// Why the changes of a command were not moved into the workspace.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Dropped {
    #[error("nothing of what it changed was kept, because meanwhile others have changed {}", told(.0))]
    Others(Vec<PathBuf>),
    #[error(
        "nothing of what it changed was kept, because it had to be killed while it was writing"
    )]
    Unfinished,
    #[error("nothing of what it changed was kept: {0}")]
    Refused(String),
    #[error("nothing of what it changed was kept, because {} cannot be changed: {error}", .path.display())]
    Failed { path: PathBuf, error: io::Error },
    #[error(
        "only some of what it changed was kept: {} cannot be changed ({error}), and {} cannot be put back ({also})",
        .path.display(),
        .at.display()
    )]
    Torn {
        path: PathBuf,
        error: io::Error,
        at: PathBuf,
        also: io::Error,
    },
}

/// Why the changes of a command are not to come into the workspace.
#[derive(Debug)]
pub struct Refusal(pub(crate) Dropped);

impl Refusal {
    /// A review has refused them, for this reason.
    #[must_use]
    pub const fn by_review(why: String) -> Self {
        Self(Dropped::Refused(why))
    }
}

fn told(paths: &[PathBuf]) -> String {
    named(paths.iter().map(|path| path.display().to_string()))
}

/// Removes the layers of calls that have ended, once there are many, except for
/// those that are named.
pub(crate) fn clear_ended(store: &Store, open: &[String]) -> io::Result<()> {
    let mut ended = Vec::new();
    for entry in fs::read_dir(store.path(LAYERS))? {
        let entry = entry?;
        let name = entry.file_name();
        if !open.iter().any(|open| name == open.as_str()) {
            ended.push(entry.path());
        }
    }
    if ended.len() > MAX_ENDED {
        clear_aside(ended);
    }
    Ok(())
}

fn clear_aside(folders: Vec<PathBuf>) {
    let clear_all = move || {
        for folder in folders {
            // What cannot be removed now is removed later, or by another
            // process.
            let _ = clear(&folder);
        }
    };
    if let Err(error) = std::thread::Builder::new().spawn(clear_all) {
        tracing::debug!(%error, "layers are left for a later call to remove");
    }
}

/// Removes a folder with all that is in it, whatever its permissions are.
fn clear(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(_) => {
            open_up(folder)?;
            fs::remove_dir_all(folder)
        }
        Ok(()) => Ok(()),
    }
}

fn open_up(folder: &Path) -> io::Result<()> {
    system::set_mode(folder, 0o700)?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}
