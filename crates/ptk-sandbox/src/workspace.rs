//! The roots: the folders that tools may work in.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::WorkspaceError;
use crate::scratch::Scratch;
use crate::secrets::Secrets;
use cap_std::ambient_authority;
use cap_std::fs::Dir;

/// What may be done beneath a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Read and list.
    ReadOnly,
    /// Read, list, write and remove.
    ReadWrite,
}

/// A folder that was opened.
pub(crate) struct Root {
    pub(crate) dir: Arc<Dir>,
    /// Without links.
    pub(crate) canonical: PathBuf,
    /// Its other name: as the user wrote it, made absolute; or what it stands
    /// for.
    given: PathBuf,
    pub(crate) access: Access,
    /// Removed with the workspace.
    owned: Option<Scratch>,
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:?})", self.canonical.display(), self.access)
    }
}

impl Root {
    fn open(path: &Path, access: Access) -> Result<Self, WorkspaceError> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => WorkspaceError::NotFound {
                path: path.to_owned(),
            },
            io::ErrorKind::NotADirectory => WorkspaceError::NotAFolder {
                path: path.to_owned(),
            },
            _ => WorkspaceError::Io {
                path: path.to_owned(),
                source: error,
            },
        };
        let given = std::path::absolute(path).map_err(failed)?;
        let canonical = path.canonicalize().map_err(failed)?;
        let dir = Dir::open_ambient_dir(&canonical, ambient_authority()).map_err(failed)?;
        Ok(Self {
            dir: Arc::new(dir),
            canonical,
            given,
            access,
            owned: None,
        })
    }

    /// A new folder that stands for the system's folder for temporary files.
    fn temporary() -> Result<Self, WorkspaceError> {
        let given = std::env::temp_dir();
        let failed = |source| WorkspaceError::Io {
            path: given.clone(),
            source,
        };
        let folder = Scratch::new().map_err(failed)?;
        let root = Self::open(folder.path(), Access::ReadWrite)?;
        Ok(Self {
            given: given.canonicalize().map_err(failed)?,
            owned: Some(folder),
            ..root
        })
    }

    /// The absolute path without the links above the root, if `path` lies in
    /// the root by either of its names; and how long that name is.
    pub(crate) fn translate(&self, path: &Path) -> Option<(usize, PathBuf)> {
        let names = [&self.canonical, &self.given].into_iter();
        names
            .filter_map(|name| {
                let rest = path.strip_prefix(name).ok()?;
                Some((name.components().count(), self.canonical.join(rest)))
            })
            .max_by_key(|(length, _)| *length)
    }
}

#[derive(Debug, Clone)]
struct Roots {
    first: Arc<Root>,
    more: Vec<Arc<Root>>,
    secrets: Secrets,
}

/// The folders that tools may work in. Cheap to clone.
///
/// The folders are opened once and held: one that is moved while the workspace
/// lives is still worked in, under its old name.
///
/// Where roots lie within each other, the innermost one says what may be done:
/// a read-only folder inside a workspace that can be written stays as it is.
///
/// The file with the user's keys is neither read nor written, even where it
/// lies in one of the folders.
#[derive(Debug, Clone)]
pub struct Workspace {
    roots: Arc<Roots>,
}

impl Workspace {
    /// Opens the folder that relative paths are relative to, for reading and
    /// writing.
    ///
    /// # Errors
    ///
    /// If it does not exist, is not a folder, or cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, WorkspaceError> {
        let first = Arc::new(Root::open(path.as_ref(), Access::ReadWrite)?);
        Ok(Self {
            roots: Arc::new(Roots {
                first,
                more: Vec::new(),
                secrets: Secrets::of_user(),
            }),
        })
    }

    /// The same workspace with another root. A folder that is a root already
    /// gets the new access.
    ///
    /// # Errors
    ///
    /// If it does not exist, is not a folder, or cannot be opened.
    pub fn with_root(self, path: impl AsRef<Path>, access: Access) -> Result<Self, WorkspaceError> {
        let root = Arc::new(Root::open(path.as_ref(), access)?);
        let mut roots = Arc::unwrap_or_clone(self.roots);
        let same = std::iter::once(&mut roots.first)
            .chain(&mut roots.more)
            .find(|known| known.canonical == root.canonical);
        match same {
            Some(known) => *known = root,
            None => roots.more.push(root),
        }
        Ok(Self {
            roots: Arc::new(roots),
        })
    }

    /// The same workspace with a folder for temporary files, for reading and
    /// writing. It stands for the system's own: `/tmp/a` is a file in it.
    /// Nothing else uses it, and it is removed with the workspace. If a process
    /// was killed, the next one that calls this removes what is left.
    ///
    /// # Errors
    ///
    /// If it cannot be made.
    pub fn with_temp(self) -> Result<Self, WorkspaceError> {
        let root = Arc::new(Root::temporary()?);
        let mut roots = Arc::unwrap_or_clone(self.roots);
        roots.more.push(root);
        Ok(Self {
            roots: Arc::new(roots),
        })
    }

    /// The same workspace, in which a file with secrets is neither read nor
    /// written, by whatever name. It need not exist.
    #[must_use]
    pub fn hiding(self, file: impl AsRef<Path>) -> Self {
        let mut roots = Arc::unwrap_or_clone(self.roots);
        roots.secrets = roots.secrets.and(file.as_ref());
        Self {
            roots: Arc::new(roots),
        }
    }

    /// The folder for temporary files, if there is one.
    #[must_use]
    pub fn temporary(&self) -> Option<&Path> {
        let root = self.all().find(|root| root.owned.is_some())?;
        Some(&root.canonical)
    }

    /// The first root, without links.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.roots.first.canonical
    }

    /// All roots, the first one first, and what may be done in each.
    pub fn roots(&self) -> impl Iterator<Item = (&Path, Access)> {
        self.all()
            .map(|root| (root.canonical.as_path(), root.access))
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Root>> {
        std::iter::once(&self.roots.first).chain(&self.roots.more)
    }

    pub(crate) fn secrets(&self) -> &Secrets {
        &self.roots.secrets
    }

    pub(crate) fn allowed(&self) -> Vec<PathBuf> {
        self.all().map(|root| root.canonical.clone()).collect()
    }
}
