//! What the system writes into a layer beside the changes: a device of number 0
//! stands for something that was removed, and attributes say how a folder of
//! the layer lies over the one below. None of it may reach the workspace.

use std::io;
use std::path::Path;

use ptk_sandbox::{Kind, Node};
use rustix::fs::{lgetxattr, llistxattr, lremovexattr};
use rustix::io::Errno;

const PREFIX: &[u8] = b"user.overlay.";
/// The attribute of a folder that hides the one below.
const OPAQUE: &str = "user.overlay.opaque";
/// Bytes of attribute names, more than the system and a program give to a file.
const MAX_NAMES: usize = 64 * 1024;

/// Whether something stands for what was removed. Commands cannot make devices.
pub(super) const fn is_removal(node: &Node) -> bool {
    matches!(node.kind, Kind::Device)
}

/// Whether a folder of the layer hides everything in the folder below.
pub(super) fn is_opaque(folder: &Path) -> io::Result<bool> {
    let mut value = [0; 1];
    match lgetxattr(folder, OPAQUE, &mut value) {
        Ok(length) => Ok(length == 1 && value == *b"y"),
        // Or it is longer than the one letter that would mean this.
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::RANGE) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Takes the marks from a file or a folder.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let mut names = [0; 256];
    match llistxattr(path, &mut names) {
        Ok(length) => remove_named(path, names.get(..length).unwrap_or_default()),
        Err(Errno::RANGE) => {
            let mut names = vec![0; MAX_NAMES];
            let length = llistxattr(path, &mut names)?;
            remove_named(path, names.get(..length).unwrap_or_default())
        }
        Err(Errno::OPNOTSUPP) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn remove_named(path: &Path, names: &[u8]) -> io::Result<()> {
    let all = names.split(|byte| *byte == 0);
    for name in all.filter(|name| name.starts_with(PREFIX)) {
        match lremovexattr(path, name) {
            Err(Errno::NODATA) => {}
            removed => removed?,
        }
    }
    Ok(())
}
