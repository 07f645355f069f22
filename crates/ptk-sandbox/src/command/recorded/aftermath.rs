//! What a program has left at a path, in a form short enough to be written
//! before the program's result is returned. A later comparison with it shows
//! whether another process has changed the path in between.

use std::fs::File;
use std::io;

use rustix::fs::{Stat, fstat, lstat, statfs};
use rustix::io::Errno;
use rustix::system::uname;
use rustix::time::{ClockId, clock_gettime};

use super::cover::READING;
use super::pack::After;
use super::resolve::{self, PLACE, kind};
use crate::fingerprint::Fingerprint;
use crate::kind::Kind;
use crate::node::{Moment, Node};

/// The first Linux on which a file whose times were read gets another time with
/// its next change, however soon that comes.
const EXACT: (u32, u32) = (6, 13);
/// The file systems on which it does: ext4, XFS, Btrfs, tmpfs.
const EXACT_SYSTEMS: [i64; 4] = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994];

/// Inspects what a program has left.
pub(super) struct Looking {
    /// The disks whose times show every change.
    exact: Vec<u64>,
    /// Whether there may be a link now where there was none.
    has_links: bool,
}

impl Looking {
    pub(super) fn new(roots: &[Vec<u8>], has_links: bool) -> Self {
        let mut exact = Vec::new();
        if is_at_least(uname().release().to_bytes(), EXACT) {
            for root in roots {
                let system = statfs(root.as_slice()).map(|it| it.f_type);
                let disk = lstat(root.as_slice()).map(|it| it.st_dev);
                if let (Ok(system), Ok(disk)) = (system, disk)
                    && EXACT_SYSTEMS
                        .iter()
                        .any(|it| i128::from(*it) == i128::from(system))
                {
                    exact.push(disk);
                }
            }
        }
        Self { exact, has_links }
    }

    /// What is at a path that leads through no link.
    pub(super) fn at(&self, path: &[u8]) -> io::Result<After> {
        // A change after this look gives the file this time or a later one.
        let now = now();
        // Links that other processes have put there are found when this is
        // compared with what is there: then it is something else.
        let stat = if self.has_links {
            stat(path)?
        } else {
            found(lstat(path))?
        };
        let node = stat.as_ref().map(node);
        let mut hash = None;
        if let (Some(stat), Some(node)) = (&stat, &node)
            && node.kind == Kind::File
            && !self.exact.contains(&stat.st_dev)
            && node.changed >= now
        {
            hash = match resolve::open(path, READING) {
                Ok(file) => Some(Fingerprint::read(&File::from(file))?.hash()),
                Err(_) => None,
            };
        }
        Ok(After {
            path: path.to_vec(),
            node,
            hash,
        })
    }
}

/// What is at a path.
pub(super) fn look(path: &[u8]) -> io::Result<Option<Node>> {
    Ok(stat(path)?.as_ref().map(node))
}

fn stat(path: &[u8]) -> io::Result<Option<Stat>> {
    found(resolve::open(path, PLACE).and_then(fstat))
}

/// Takes a path that cannot be reached for one where nothing is.
fn found(stat: Result<Stat, Errno>) -> io::Result<Option<Stat>> {
    match stat {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn node(stat: &Stat) -> Node {
    Node {
        kind: Kind::of_entry(kind(stat)),
        mode: stat.st_mode & 0o7777,
        size: u64::try_from(stat.st_size).unwrap_or_default(),
        owner: (stat.st_uid, stat.st_gid),
        modified: (stat.st_mtime, nanoseconds(stat.st_mtime_nsec)),
        changed: (stat.st_ctime, nanoseconds(stat.st_ctime_nsec)),
        inode: stat.st_ino,
    }
}

/// The time that a file gets that is changed now, where times are coarse.
fn now() -> Moment {
    let now = clock_gettime(ClockId::RealtimeCoarse);
    (now.tv_sec, nanoseconds(now.tv_nsec))
}

/// Whether a version, as `6.18.4-arch1`, is this one or a later one.
fn is_at_least(version: &[u8], wanted: (u32, u32)) -> bool {
    let text = String::from_utf8_lossy(version);
    let mut numbers = text.split(|sign: char| !sign.is_ascii_digit());
    let mut next = || numbers.next().and_then(|number| number.parse().ok());
    matches!((next(), next()), (Some(one), Some(two)) if (one, two) >= wanted)
}

pub(super) fn nanoseconds(part: impl TryInto<u32>) -> u32 {
    part.try_into().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (version, is_later) in [
            ("6.18.44-fc-v445", true),
            ("6.13", true),
            ("10.0-rc1", true),
            ("6.9.1", false),
            ("5.15.0-91-generic", false),
            ("6", false),
            ("unknown", false),
        ] {
            assert_eq!(
                is_at_least(version.as_bytes(), EXACT),
                is_later,
                "{version}"
            );
        }
    }
}
