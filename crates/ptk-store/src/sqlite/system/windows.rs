//! Windows: files and folders inherit the access list of the folder that they
//! lie in, and the user's own folder is closed to others.

use std::borrow::Cow;
use std::fs::{self, Metadata, OpenOptions};
use std::io;
use std::path::Path;

/// Options that make a file.
pub(crate) fn private_file() -> OpenOptions {
    OpenOptions::new()
}

/// Creates a folder and those above it.
pub(crate) fn create_private_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Leaves the access list of a file as it is.
pub(crate) fn close_to_others(_file: &Path) {}

/// Whether an open file is known to have no name any more.
pub(crate) fn is_removed(_metadata: &Metadata) -> bool {
    false
}

/// A path as a URI has it, before it is encoded: `/C:/folder/file`.
pub(crate) fn uri_path(path: &Path) -> Cow<'_, [u8]> {
    let mut bytes = path.as_os_str().as_encoded_bytes().to_vec();
    for byte in bytes.iter_mut().filter(|byte| **byte == b'\\') {
        *byte = b'/';
    }
    if !bytes.starts_with(b"/") {
        bytes.insert(0, b'/');
    }
    Cow::Owned(bytes)
}

/// The name of this machine.
pub(crate) fn machine() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_else(|_| "this machine".to_owned())
}
