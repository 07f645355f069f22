//! The marks of layers on Windows, where there are no layers.

use std::io;
use std::path::Path;

use ptk_sandbox::Node;

pub(super) const fn is_removal(_node: &Node) -> bool {
    false
}

pub(super) fn is_opaque(_folder: &Path) -> io::Result<bool> {
    Ok(false)
}

pub(super) fn remove(_path: &Path) -> io::Result<()> {
    Ok(())
}
