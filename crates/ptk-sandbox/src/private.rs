//! Files and folders of PTK's own, for their owner alone whatever the umask
//! says: indexes, conversations and records hold what the workspace holds.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// Makes a folder that only its owner can look into, with those above it. One
/// that is there stays as it is.
///
/// # Errors
///
/// If it cannot be made.
pub fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Options that make a file which only its owner can read and write.
#[must_use]
pub fn private_file() -> OpenOptions {
    #[allow(unused_mut, reason = "other systems than Unix have no modes")]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes a file that only its owner can read and write, or empties it.
///
/// # Errors
///
/// If it cannot be made.
pub fn create_private(path: &Path) -> io::Result<File> {
    private_file()
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)
}

/// Writes a whole file that only its owner can read and write.
///
/// # Errors
///
/// If it cannot be written.
pub fn write_private(path: &Path, contents: impl AsRef<[u8]>) -> io::Result<()> {
    create_private(path)?.write_all(contents.as_ref())
}

/// Takes all permissions of group and others from the files in a folder, such
/// as those that a library has made.
///
/// # Errors
///
/// If the folder cannot be read, or the mode of a file not be changed.
pub fn make_files_private(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    for entry in std::fs::read_dir(folder)? {
        use std::os::unix::fs::PermissionsExt as _;
        let entry = entry?;
        let found = match entry.metadata() {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let mode = found.permissions().mode() & 0o777;
        let private = mode & 0o700;
        if !found.is_file() || mode == private {
            continue;
        }
        let private = std::fs::Permissions::from_mode(private);
        match std::fs::set_permissions(entry.path(), private) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}
