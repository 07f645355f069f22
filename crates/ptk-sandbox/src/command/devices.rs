//! The `/dev` of a program: devices that hold nothing, and terminals that only
//! it has. Those of the user, and the disks of the machine, are not there.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::mounts;

/// Devices that are the same for every process, and harmless.
const HARMLESS: [&str; 5] = ["null", "zero", "full", "random", "urandom"];
/// Links to what programs expect there.
const LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];
/// Mount options of file systems in memory, with their size limit.
pub(super) const IN_MEMORY: &str = "mode=1777,size=256m";

/// Makes `/dev` in the root of a view.
pub(super) fn make(root: &Path) -> io::Result<()> {
    let folder = root.join("dev");
    fs::create_dir(&folder)?;
    for name in HARMLESS {
        let device = mounts::handle(&Path::new("/dev").join(name))?;
        let target = folder.join(name);
        fs::write(&target, "")?;
        mounts::bind(&device, &target)?;
    }
    for (name, target) in LINKS {
        symlink(target, folder.join(name))?;
    }
    for (name, kind, options) in [
        ("pts", "devpts", "newinstance,ptmxmode=0666,mode=0620"),
        ("shm", "tmpfs", IN_MEMORY),
    ] {
        let target = folder.join(name);
        fs::create_dir(&target)?;
        mounts::mount_new(kind, &target, Some(options))?;
    }
    Ok(())
}
