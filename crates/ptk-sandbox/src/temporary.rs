//! The file that a new content is written to before it takes the place of the
//! old one.

use std::ffi::OsStr;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::path::Path;

use cap_std::fs::{Dir, File};

use crate::rename::rename_new;
use crate::system;

const PREFIX: &str = ".ptk-";
const SUFFIX: &str = ".tmp";
/// Hexadecimal digits of a random number of 64 bits.
const DIGITS: usize = 16;
/// Names to try. One is enough, unless another process has guessed it.
const MAX_NAMES: usize = 16;

/// Whether a file of this name is a temporary one of
/// [`Place::replace`](crate::Place::replace): `.ptk-`, 16 hexadecimal digits
/// in lower case, `.tmp`. One that is older than the process that writes was
/// left behind when the power or the process went, and can be removed; listings
/// and searches can pass it over.
///
/// ```
/// use ptk_sandbox::is_temporary_name;
///
/// assert!(is_temporary_name(".ptk-00c0ffee00c0ffee.tmp".as_ref()));
/// assert!(!is_temporary_name(".ptk-notes.tmp".as_ref()));
/// ```
#[must_use]
pub fn is_temporary_name(name: &OsStr) -> bool {
    name.to_str()
        .and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX))
        .is_some_and(|digits| {
            digits.len() == DIGITS
                && digits
                    .bytes()
                    .all(|d| matches!(d, b'0'..=b'9' | b'a'..=b'f'))
        })
}

/// The permissions of a file that is yet to be written.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Visibility {
    /// Those of any new file.
    New,
    /// For its owner alone, until it has the permissions of the old file.
    Private,
}

/// A temporary file; removed when it is dropped, unless it was given its name.
pub(crate) struct Temporary<'folder, F = File> {
    folder: &'folder Dir,
    name: String,
    pub(crate) file: F,
    removed: bool,
}

impl<'folder> Temporary<'folder> {
    pub(crate) fn create(folder: &'folder Dir, visibility: Visibility) -> io::Result<Self> {
        let options = system::writing(visibility);
        Self::under_a_new_name(folder, |name| folder.open_with(name, &options))
    }
}

impl<'folder> Temporary<'folder, ()> {
    /// A link under a temporary name, wherever it leads.
    pub(crate) fn link(folder: &'folder Dir, leads_to: &Path) -> io::Result<Self> {
        Self::under_a_new_name(folder, |name| system::link(folder, leads_to, name))
    }
}

impl<'folder, F> Temporary<'folder, F> {
    fn under_a_new_name(
        folder: &'folder Dir,
        create: impl Fn(&str) -> io::Result<F>,
    ) -> io::Result<Self> {
        let mut tries = 0;
        loop {
            let number = RandomState::new().hash_one(tries);
            let name = format!("{PREFIX}{number:0DIGITS$x}{SUFFIX}");
            match create(&name) {
                Ok(file) => {
                    return Ok(Self {
                        folder,
                        name,
                        file,
                        removed: false,
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < MAX_NAMES => {
                    tries += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Gives the file its name, in place of whatever has it.
    pub(crate) fn take_place_of(mut self, name: &OsStr) -> io::Result<()> {
        self.folder.rename(&self.name, self.folder, name)?;
        self.removed = true;
        Ok(())
    }

    /// Gives the file its name, if nothing has it.
    pub(crate) fn take_new_name(mut self, name: &OsStr) -> io::Result<()> {
        rename_new(self.folder, self.name.as_ref(), self.folder, name)?;
        self.removed = true;
        Ok(())
    }
}

impl<F> Drop for Temporary<'_, F> {
    fn drop(&mut self) {
        if !self.removed {
            // An error cannot be reported here; the name shows what the file
            // is.
            let _ = self.folder.remove_file(&self.name);
        }
    }
}
