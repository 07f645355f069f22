//! The memory of all processes of a program together, limited by a control
//! group. Limits of a process do not count memory that it shares, nor files
//! that are only in memory; a control group does.
//!
//! A user has one only where the system delegates a part of the tree of groups
//! to users, as systemd does for their sessions.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::Pid;

use super::policy::Limits;
use super::{PAUSE, tree};

/// Where the groups are mounted.
const ROOT: &str = "/sys/fs/cgroup";
/// How often new processes are looked for, and how often removing a group is
/// tried.
const ROUNDS: usize = 20;

/// A group for one program. Dropping it removes it, once nothing is in it.
pub(super) struct Group {
    folder: PathBuf,
}

impl Drop for Group {
    fn drop(&mut self) {
        for _ in 0..ROUNDS {
            match fs::remove_dir(&self.folder) {
                // The last process in it is still about to go.
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => thread::sleep(PAUSE),
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

    /// Puts a process and all that it has started into the group.
    pub(super) fn take_in(&self, first: Pid) {
        let processes = self.folder.join("cgroup.procs");
        let mut known = Vec::new();
        for _ in 0..ROUNDS {
            let all = [first].into_iter().chain(tree::below(first));
            let new: Vec<_> = all.filter(|pid| !known.contains(pid)).collect();
            if new.is_empty() {
                return;
            }
            for pid in &new {
                // One that has ended by now needs no group.
                let _ = fs::write(&processes, pid.as_raw_nonzero().to_string());
            }
            known.extend(new);
        }
    }
}

/// What the names of groups begin with, before the number of their process.
const PREFIX: &str = "ptk-";

/// A folder in which a group can be made.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    folder: PathBuf,
    limit: &'static str,
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
        let folder = self.folder.join(name);
        fs::create_dir(&folder)?;
        let group = Group { folder };
        fs::write(group.folder.join(self.limit), limits.memory.to_string())?;
        Ok(group)
    }
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
            let folder = root.join("memory").join(path);
            let limit = "memory.limit_in_bytes";
            return Some(Place { folder, limit });
        }
        // The newer form. A group that has processes has no groups below it, so
        // it is made beside.
        let folder = root.join(path).parent()?.to_owned();
        let kinds = fs::read_to_string(folder.join("cgroup.subtree_control")).ok()?;
        let counts_memory = kinds.split_whitespace().any(|kind| kind == "memory");
        let limit = "memory.max";
        (!path.is_empty() && counts_memory).then_some(Place { folder, limit })
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
        };
        assert_eq!(places(root.path(), own), [older]);
        fs::write(slice.join("cgroup.subtree_control"), "cpu memory pids\n").unwrap();
        let newer = Place {
            folder: slice,
            limit: "memory.max",
        };
        assert_eq!(places(root.path(), own).last(), Some(&newer));
        // The root of a container's groups has nothing beside it.
        assert_eq!(places(root.path(), "0::/\n"), []);
    }
}
