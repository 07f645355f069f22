//! How each operation enters the jail, and where links lead. The jail refuses
//! links that are absolute or lead to another root; here they are replaced by
//! what they say, name by name, so that those which stay in the workspace can be
//! followed.
//!
//! Nothing here opens a file, and nothing here is relied on for safety: the
//! path that comes out is used in the jail like any other. If another process
//! swaps links in between, the result is an error, or another file of the
//! workspace.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use cap_std::fs::Dir;

use crate::error::{Attempt, PathError, is_escape};
use crate::place::{Last, Place};

/// As many links as Linux follows in one path.
const MAX_LINKS: usize = 40;

impl Place {
    /// Runs an operation on the handle of the root and the path beneath it.
    ///
    /// The jail refuses every link that leads out of its own root, by an
    /// absolute path too. Where such a link stays in the workspace after all,
    /// the operation is repeated on the path without links, in the jail again.
    pub(crate) fn within<T>(
        &self,
        attempt: Attempt,
        last: Last,
        run: impl Fn(&Dir, &Path) -> io::Result<T>,
    ) -> Result<T, PathError> {
        match run(&self.opened().dir, self.path()) {
            Err(error) if is_escape(&error) => {
                let real = self.without_links(attempt, last)?;
                run(&real.opened().dir, real.path()).map_err(|error| self.failed(attempt, error))
            }
            result => result.map_err(|error| self.failed(attempt, error)),
        }
    }

    /// The same place by a path without links. Names that do not exist are
    /// kept as they are.
    pub(crate) fn without_links(&self, attempt: Attempt, last: Last) -> Result<Self, PathError> {
        let mut walk = Walk {
            place: self.clone(),
            todo: reversed(self.relative()),
        };
        let mut done = PathBuf::new();
        let mut links = 0;
        while let Some(name) = walk.todo.pop() {
            if name == ".." {
                if !done.pop() {
                    return Err(self.outside(attempt));
                }
                continue;
            }
            done.push(name);
            if walk.todo.is_empty() && last == Last::Keep {
                break;
            }
            let Some(target) = walk
                .link(&done)
                .map_err(|error| self.failed(attempt, error))?
            else {
                continue;
            };
            links += 1;
            if links > MAX_LINKS {
                return Err(PathError::LinkLoop {
                    attempt,
                    path: self.shown(),
                });
            }
            done.pop();
            walk.follow(&done, &target)
                .ok_or_else(|| self.outside(attempt))?;
            done.clear();
        }
        let path = walk.place.root().join(done);
        self.workspace()
            .locate(&path)
            .ok_or_else(|| self.outside(attempt))
    }
}

/// A walk along a path, in the root of a place, with the names yet to go in
/// reverse.
struct Walk {
    place: Place,
    todo: Vec<OsString>,
}

impl Walk {
    /// The target of the link at `path`; `None` if there is no link.
    fn link(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        let dir = &self.place.opened().dir;
        let link = match dir.symlink_metadata(path) {
            Ok(metadata) if metadata.is_symlink() => dir.read_link_contents(path),
            Ok(_) => return Ok(None),
            Err(error) => Err(error),
        };
        match link {
            Ok(target) => Ok(Some(target)),
            Err(error) => match error.kind() {
                // Nothing is there, or no link any more.
                io::ErrorKind::NotFound | io::ErrorKind::InvalidInput => Ok(None),
                _ => Err(error),
            },
        }
    }

    /// Goes on where a link in `folder` leads. `None` if that is outside.
    fn follow(&mut self, folder: &Path, target: &Path) -> Option<()> {
        // `folder` is without links, so the leading `..` of a link can be
        // taken off its path, beyond the root too. Those behind a name have to
        // wait until it is known what the name is.
        let mut path = self.place.root().join(folder);
        let mut rest = target.components().peekable();
        while let Some(component) = rest.next_if(|component| !is_name(*component)) {
            match component {
                Component::ParentDir => {
                    path.pop();
                }
                Component::CurDir => {}
                _ => path.push(component),
            }
        }
        while let Some(component) = rest.next_if(|component| is_name(*component)) {
            path.push(component);
        }
        let later: PathBuf = rest.collect();
        self.place = self.place.workspace().locate(&path)?;
        self.todo.extend(reversed(&later));
        self.todo.extend(reversed(self.place.relative()));
        Some(())
    }
}

fn is_name(component: Component<'_>) -> bool {
    matches!(component, Component::Normal(_))
}

fn reversed(path: &Path) -> Vec<OsString> {
    let names = path.components().rev();
    names.map(|name| name.as_os_str().to_owned()).collect()
}
