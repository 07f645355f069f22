//! The memory of all processes of a program together, limited by a control
//! group. Limits of a process do not count memory that it shares, nor files
//! that are only in memory; a control group does.
//!
//! A user has one only where the system delegates a part of the tree of groups
//! to users, as systemd does for their sessions.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, unlinkat};
use rustix::io::Errno;

use super::PAUSE;
use super::policy::Limits;

/// Where the groups are mounted.
const ROOT: &str = "/sys/fs/cgroup";
/// How often removing a group is tried.
const ROUNDS: usize = 20;
/// The file of a group with its processes.
const PROCESSES: &str = "cgroup.procs";
/// What stands for the process that writes it.
const MYSELF: &[u8] = b"0";

/// A group for one program. Dropping it removes it, once nothing is in it.
///
/// It is reached by handles: what the program sees of the file system is laid
/// over the folders of groups as soon as the program is started.
pub(super) struct Group {
    /// The folder in which the group is.
    folder: OwnedFd,
    name: String,
    processes: File,
    /// The processes of the group that this process was in before.
    before: File,
}

impl Drop for Group {
    fn drop(&mut self) {
        for _ in 0..ROUNDS {
            match unlinkat(&self.folder, &self.name, AtFlags::REMOVEDIR) {
                // The last process in it is still about to go.
                Err(Errno::BUSY) => thread::sleep(PAUSE),
                _ => return,
            }
        }
    }
}

impl Group {
    /// Makes a group, or returns why it cannot be made.
    pub(super) fn new(limits: Limits) -> Result<Self, String> {
        let own = fs::read_to_string("/proc/self/cgroup").map_err(|error| error.to_string())?;
        let mut why = "the system has no control groups for memory".to_owned();
        for place in places(Path::new(ROOT), &own) {
            match place.make(limits) {
                Ok(group) => return Ok(group),
                Err(error) => {
                    why = format!("no control group in {}: {error}", place.folder.display());
                }
            }
        }
        Err(why)
    }

    /// Starts a process in the group. This process is in it only as long as that
    /// takes: moving one that has been started would miss what it starts itself
    /// in the meantime.
    pub(super) fn start<T>(&self, start: impl FnOnce() -> T) -> T {
        // Where it cannot enter, the program has the other limits only.
        let has_entered = (&self.processes).write_all(MYSELF).is_ok();
        let started = start();
        if has_entered {
            // If it cannot leave, the group is removed by a later program.
            let _ = (&self.before).write_all(MYSELF);
        }
        started
    }
}

/// What the names of groups begin with, before the number of their process.
const PREFIX: &str = "ptk-";

/// A folder in which a group can be made.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    folder: PathBuf,
    limit: &'static str,
    /// The group that this process is in.
    own: PathBuf,
}

impl Place {
    /// Removes groups of processes that do not exist any more. A group that is
    /// not empty stays.
    fn tidy(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
            let number = number.and_then(|it| it.split('-').next());
            if number.is_some_and(|it| !Path::new("/proc").join(it).exists()) {
                let _ = fs::remove_dir(entry.path());
            }
        }
    }

    fn make(&self, limits: Limits) -> io::Result<Group> {
        self.tidy();
        // Numbers of processes come back, and one that was killed leaves its
        // group behind.
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let unique = since.unwrap_or_default().as_nanos();
        let name = format!("{PREFIX}{}-{unique:x}", std::process::id());
        let made = self.folder.join(&name);
        let folder = File::open(&self.folder)?.into();
        let before = writable(&self.own.join(PROCESSES))?;
        fs::create_dir(&made)?;
        let processes = writable(&made.join(PROCESSES)).and_then(|processes| {
            fs::write(made.join(self.limit), limits.memory.to_string())?;
            Ok(processes)
        });
        let processes = processes.inspect_err(|_| drop(fs::remove_dir(&made)))?;
        Ok(Group {
            folder,
            name,
            processes,
            before,
        })
    }
}

fn writable(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(path)
}

/// The folders in which this process may make groups, by the content of
/// `/proc/self/cgroup`.
fn places(root: &Path, own: &str) -> Vec<Place> {
    let lines = own.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, kinds, path) = (fields.next()?, fields.next()?, fields.next()?);
        Some((kinds, path.trim_start_matches('/')))
    });
    let found = lines.filter_map(|(kinds, path)| {
        if kinds.split(',').any(|kind| kind == "memory") {
            // The older form. A group can be made in any other.
            let own = root.join("memory").join(path);
            return Some(Place {
                folder: own.clone(),
                limit: "memory.limit_in_bytes",
                own,
            });
        }
        // The newer form. A group that has processes has no groups below it, so
        // it is made beside.
        let own = root.join(path);
        let folder = own.parent()?.to_owned();
        let kinds = fs::read_to_string(folder.join("cgroup.subtree_control")).ok()?;
        let counts_memory = kinds.split_whitespace().any(|kind| kind == "memory");
        let limit = "memory.max";
        (!path.is_empty() && counts_memory).then_some(Place { folder, limit, own })
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_made_beside_in_the_newer_form_and_below_in_the_older() {
        let root = tempfile::tempdir().unwrap();
        let slice = root.path().join("user.slice/app.slice");
        fs::create_dir_all(&slice).unwrap();
        let own =
            "4:memory,hugetlb:/session\n1:name=systemd:/\n0::/user.slice/app.slice/it.scope\n";
        let older = Place {
            folder: root.path().join("memory/session"),
            limit: "memory.limit_in_bytes",
            own: root.path().join("memory/session"),
        };
        assert_eq!(places(root.path(), own), [older]);
        fs::write(slice.join("cgroup.subtree_control"), "cpu memory pids\n").unwrap();
        let newer = Place {
            own: slice.join("it.scope"),
            folder: slice,
            limit: "memory.max",
        };
        assert_eq!(places(root.path(), own).last(), Some(&newer));
        // The root of a container's groups has nothing beside it.
        assert_eq!(places(root.path(), "0::/\n"), []);
    }
}
