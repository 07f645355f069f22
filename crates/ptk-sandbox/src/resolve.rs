//! The way from a path to a place in one of the roots.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::error::{Attempt, PathError, shown_text};
use crate::place::Place;
use crate::system::name_problem;
use crate::workspace::{Root, Workspace};

impl Workspace {
    /// The place that a path names. Looks at the text only: nothing is opened,
    /// and nothing need exist.
    ///
    /// A relative path is relative to the first root, an absolute one must lie
    /// in a root, by the name it was opened with or by its name without links.
    ///
    /// # Errors
    ///
    /// If the path has a component `..`, lies outside all roots, is
    /// empty, begins with `~`, or holds a NUL byte.
    pub fn resolve(&self, path: &str) -> Result<Place, PathError> {
        let invalid = |reason| PathError::InvalidName {
            path: shown_text(path),
            reason,
        };
        if path.is_empty() {
            return Err(invalid("it is empty"));
        }
        if path.contains('\0') {
            return Err(invalid("it holds a NUL byte"));
        }
        let mut clean = PathBuf::new();
        for component in Path::new(path).components() {
            match component {
                Component::ParentDir => {
                    return Err(PathError::Traversal {
                        path: shown_text(path),
                    });
                }
                Component::CurDir => {}
                Component::Normal(_) | Component::RootDir | Component::Prefix(_) => {
                    clean.push(component);
                }
            }
        }
        if path == "~" || path.starts_with("~/") {
            return Err(invalid("`~` is not expanded"));
        }
        let absolute = self.root().join(clean);
        if let Some(reason) = self.name_problem(&absolute) {
            return Err(invalid(reason));
        }
        self.locate(&absolute).ok_or_else(|| PathError::Outside {
            attempt: Attempt::Use,
            path: shown_text(path),
            allowed: self.allowed(),
        })
    }

    /// The place of a path that a program knows, whatever bytes are in it:
    /// relative to the first root, or absolute.
    ///
    /// # Errors
    ///
    /// If it has a component `..`, or lies outside all roots.
    pub fn place(&self, path: &Path) -> Result<Place, PathError> {
        let shown = || shown_text(&path.to_string_lossy());
        if path.components().any(|part| part == Component::ParentDir) {
            return Err(PathError::Traversal { path: shown() });
        }
        self.locate(&self.root().join(path))
            .ok_or_else(|| PathError::Outside {
                attempt: Attempt::Use,
                path: shown(),
                allowed: self.allowed(),
            })
    }

    /// The place of an absolute path without `..`, in the innermost root that
    /// holds it. `None` also for a path with a name that must not be used.
    pub(crate) fn locate(&self, path: &Path) -> Option<Place> {
        let (root, path) = self.root_of(path)?;
        if name_problem(&root.canonical, &path).is_some() {
            return None;
        }
        let relative = path.strip_prefix(&root.canonical).ok()?.to_owned();
        Some(Place::new(self.clone(), Arc::clone(root), relative))
    }

    /// Why an absolute path in a root cannot be used.
    fn name_problem(&self, path: &Path) -> Option<&'static str> {
        let (root, path) = self.root_of(path)?;
        name_problem(&root.canonical, &path)
    }

    /// The innermost root that holds an absolute path without `..`, and the
    /// path without the links above that root.
    fn root_of(&self, path: &Path) -> Option<(&Arc<Root>, PathBuf)> {
        let names = self.all().filter_map(|root| root.translate(path));
        let (_, path) = names.max_by_key(|(length, _)| *length)?;
        let root = self
            .all()
            .filter(|root| path.starts_with(&root.canonical))
            .max_by_key(|root| root.canonical.components().count())?;
        Some((root, path))
    }
}

impl Place {
    /// The place of a name in this folder.
    pub(crate) fn child(&self, name: &OsStr) -> Self {
        let relative = self.relative().join(name);
        let workspace = self.workspace();
        workspace
            .locate(&self.root().join(&relative))
            .unwrap_or_else(|| Self::new(workspace.clone(), Arc::clone(self.opened()), relative))
    }
}
