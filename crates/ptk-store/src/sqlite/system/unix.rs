//! Unix.

use std::borrow::Cow;
use std::fs::{self, DirBuilder, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::Path;

/// Options that make a file accessible only to its owner.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Creates a folder and those above it, accessible only to their owner.
pub(crate) fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder)
}

/// Makes a file accessible only to its owner.
pub(crate) fn close_to_others(file: &Path) {
    let mode = fs::metadata(file).map(|file| file.permissions().mode());
    if mode.is_ok_and(|mode| mode & 0o077 != 0) {
        // Another user cannot change it, and may still write.
        let _ = fs::set_permissions(file, Permissions::from_mode(0o600));
    }
}

/// Whether an open file has no name any more.
pub(crate) fn is_removed(metadata: &Metadata) -> bool {
    metadata.nlink() == 0
}

/// A path as a URI has it, before it is encoded.
pub(crate) fn uri_path(path: &Path) -> Cow<'_, [u8]> {
    Cow::Borrowed(path.as_os_str().as_encoded_bytes())
}

/// The name of this machine.
pub(crate) fn machine() -> String {
    let system = rustix::system::uname();
    system.nodename().to_string_lossy().into_owned()
}
