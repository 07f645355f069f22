//! A TOML file that people read and edit, and that programs change: what people
//! wrote into it stays, comments included.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::str::FromStr as _;

use ptk_sandbox::{create_private, private_folder};
use tempfile::NamedTempFile;
use toml_edit::DocumentMut;

/// How long the file may be, in bytes.
const MAX_LENGTH: u64 = 4 * 1024 * 1024;
/// As many links as Linux follows in one path.
const MAX_LINKS: usize = 40;

/// Why the file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read or written.
    #[error("cannot {attempt} {}: {source}", path.display())]
    Io {
        /// What was attempted.
        attempt: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// It is not TOML, or does not have the expected content.
    #[error("{}: {message}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
}

/// A TOML file that people edit.
#[derive(Debug, Clone)]
pub struct TomlFile {
    path: PathBuf,
}

impl TomlFile {
    /// The file at this path. It need not exist.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The content of the file; empty if there is none.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is not TOML.
    pub fn read(&self) -> Result<DocumentMut, FileError> {
        let text = match fs::metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(self.io("read", error)),
            Ok(metadata) if metadata.len() > MAX_LENGTH => {
                return Err(self.content(format!("it is longer than {MAX_LENGTH} bytes")));
            }
            Ok(_) => fs::read_to_string(&self.path).map_err(|error| self.io("read", error))?,
        };
        DocumentMut::from_str(&text).map_err(|error| self.content(error.to_string()))
    }

    /// Fails if the file cannot be changed, and changes nothing.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or its folder cannot be written.
    pub fn check(&self) -> Result<(), FileError> {
        let _lock = self.lock()?;
        self.read()?;
        let new = new_beside(&followed(&self.path));
        new.map_err(|error| self.io("write", error))?;
        Ok(())
    }

    /// Changes the file, one process after the other. It is replaced in one
    /// step. A new one begins with a header, and only its owner may read it.
    ///
    /// # Errors
    ///
    /// If it cannot be read or written, or the change fails.
    pub fn change(
        &self,
        header: &str,
        change: impl FnOnce(&mut DocumentMut) -> Result<(), FileError>,
    ) -> Result<(), FileError> {
        let _lock = self.lock()?;
        let mut document = self.read()?;
        if document.is_empty() && document.to_string().is_empty() {
            document.decor_mut().set_prefix(header);
        }
        let begins_with_header = document.to_string().starts_with(header);
        change(&mut document)?;
        let mut text = document.to_string();
        if begins_with_header {
            text = with_header_first(text, header);
        }
        self.write(&text).map_err(|error| self.io("write", error))
    }

    /// The error about a content that was not expected.
    #[must_use]
    pub fn content(&self, message: impl Into<String>) -> FileError {
        FileError::Content {
            path: self.path.clone(),
            message: message.into(),
        }
    }

    /// Holds the lock of the file until it is dropped.
    fn lock(&self) -> Result<File, FileError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        private_folder(folder).map_err(|error| self.io("create the folder of", error))?;
        let lock = create_private(&self.path.with_extension("lock"));
        let lock = lock.map_err(|error| self.io("lock", error))?;
        lock.lock().map_err(|error| self.io("lock", error))?;
        Ok(lock)
    }

    fn write(&self, text: &str) -> io::Result<()> {
        // If the file is a link, its target is replaced.
        let path = followed(&self.path);
        let mut file = new_beside(&path)?;
        file.write_all(text.as_bytes())?;
        // Who may read a file that there is was decided by its owner. No one
        // else may write it: it grants permissions.
        if let Ok(known) = fs::metadata(&path) {
            let permissions = closed_to_writers(known.permissions());
            file.as_file().set_permissions(permissions)?;
        }
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }

    fn io(&self, attempt: &'static str, source: io::Error) -> FileError {
        FileError::Io {
            attempt,
            path: self.path.clone(),
            source,
        }
    }
}

/// A new file in the folder of another one.
fn new_beside(path: &Path) -> io::Result<NamedTempFile> {
    NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))
}

/// Where a path leads, whether there is a file or not.
fn followed(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(target) = fs::read_link(&path) else {
            break;
        };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    path
}

#[cfg(unix)]
fn closed_to_writers(mut permissions: Permissions) -> Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    permissions.set_mode(permissions.mode() & !0o022);
    permissions
}

#[cfg(not(unix))]
fn closed_to_writers(permissions: Permissions) -> Permissions {
    permissions
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_link_stays_a_link_and_others_lose_their_right_to_write() {
        let folder = tempfile::tempdir().unwrap();
        let (link, real) = (folder.path().join("a.toml"), folder.path().join("real"));
        symlink("real", &link).unwrap();
        let file = TomlFile::at(&link);
        // First it leads to nothing.
        for mode in [None, Some(0o666)] {
            if let Some(mode) = mode {
                fs::set_permissions(&real, Permissions::from_mode(mode)).unwrap();
            }
            let change = |document: &mut DocumentMut| {
                document["a"] = toml_edit::value(1);
                Ok(())
            };
            file.change("", change).unwrap();
            assert!(link.is_symlink());
            assert_eq!(fs::read_to_string(&real).unwrap(), "a = 1\n");
        }
        let mode = fs::metadata(&real).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o644);
    }

    #[test]
    fn a_check_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.toml");
        TomlFile::at(&path).check().unwrap();
        assert!(!path.exists());
        // A file where a folder should be stops even root.
        let below = TomlFile::at(folder.path().join("a.lock/b.toml"));
        assert!(below.check().is_err());
        fs::write(&path, "a = ").unwrap();
        assert!(TomlFile::at(&path).check().is_err());
    }
}
/// The text with its header at the beginning: a comment belongs to the table
/// below it, and keys of the document stand above all tables.
fn with_header_first(text: String, header: &str) -> String {
    match text.find(header) {
        Some(at) if at > 0 => format!("{header}{}", text.replacen(header, "", 1)),
        _ => text,
    }
}
