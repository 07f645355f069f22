//! Windows.

use std::fs::Metadata;
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use ptk_sandbox::Moment;

/// Why changes cannot be laid over a workspace.
pub(crate) const NO_LAYERS: Option<&str> = Some("Windows cannot lay changes over a folder");

/// There are no layers.
pub(crate) fn disk(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// When the content of a file was last changed: of anything else, the standard
/// library does not know.
pub(crate) fn changed(metadata: &Metadata) -> Moment {
    let modified = metadata.modified().unwrap_or(UNIX_EPOCH);
    crate::tree::moment(modified)
}

/// Whether a file may have more than one name.
pub(crate) fn has_other_names(_metadata: &Metadata) -> bool {
    true
}

/// Files have no such permission.
pub(crate) fn make_readable(_path: &Path, _metadata: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Folders have no such permissions.
pub(crate) fn set_mode(_folder: &Path, _mode: u32) -> io::Result<()> {
    Ok(())
}

/// Folders cannot be synced.
pub(crate) fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// Whether there is a process of this number. It is asked of a process that has
/// locked a file, and Windows ends all locks with their process.
pub(crate) fn is_process(_number: u32) -> bool {
    true
}
