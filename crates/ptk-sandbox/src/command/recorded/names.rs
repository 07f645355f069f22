//! Files that have several names: a change through one name changes what all of
//! them stand for.

use std::collections::HashMap;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, Stat, openat, statat};
use rustix::io::Errno;

use super::cover::{Cover, Covered, LOOKING};

/// The names of such files. They are looked for when the first one is about to
/// change: what gets another name later gets it by a call that is recorded.
#[derive(Debug, Default)]
pub(super) struct Names {
    known: Option<Paths>,
}

/// Paths by the disk and the number of their file.
type Paths = HashMap<(u64, u64), Vec<Vec<u8>>>;

impl Names {
    /// The paths of a file, as far as they are covered.
    pub(super) fn of(&mut self, cover: &mut Cover, stat: &Stat) -> Vec<Vec<u8>> {
        let known = self.known.get_or_insert_with(|| {
            let mut known = Paths::new();
            for root in cover.roots() {
                // What cannot be looked into has no name that could be given back.
                let _ = look(&root, cover, &mut known);
            }
            known
        });
        known.get(&key(stat)).cloned().unwrap_or_default()
    }
}

fn key(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

fn look(path: &[u8], cover: &mut Cover, known: &mut Paths) -> Result<(), Errno> {
    if cover.inside(path) != Covered::Yes {
        return Ok(());
    }
    let folder = openat(CWD, path, LOOKING, Mode::empty())?;
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        let below = || [path, b"/", name].concat();
        match entry.file_type() {
            FileType::Directory if !matches!(name, b"." | b"..") => {
                let _ = look(&below(), cover, known);
            }
            FileType::RegularFile | FileType::Unknown => {
                let Ok(stat) = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
                    continue;
                };
                if stat.st_nlink > 1 {
                    known.entry(key(&stat)).or_default().push(below());
                }
            }
            _ => {}
        }
    }
    Ok(())
}
