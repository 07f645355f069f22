//! Where files may be read and written, by Landlock.

use std::fs;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, LandlockStatus, PathBeneath, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, Scope,
};
use rustix::fs::{FileType, Mode, OFlags};

use super::grants::NAME_RESOLUTION;
use super::policy::{Policy, Protection, Protections};
use super::view;
use super::words::Isolated;

/// The Landlock version whose rules are requested; an older kernel does what it
/// can.
const WANTED: ABI = ABI::V6;
/// The first Landlock version that restricts reading, and opening for writing.
const OPENING: ABI = ABI::V1;
/// The first Landlock version that restricts all writing: before, any file that
/// can be found can be truncated.
const WRITING: ABI = ABI::V3;
/// The first Landlock version that keeps signals inside.
const SIGNALS: ABI = ABI::V6;
/// Devices that programs use, and that are harmless.
const DEVICES: [&str; 6] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/fd",
];
/// Terminals, where they are those of the program alone.
const TERMINALS: [&str; 2] = ["/dev/ptmx", "/dev/pts"];

/// Restricts this process and all that it becomes and starts.
pub(super) fn restrict(policy: &Policy, isolated: Isolated, protections: &mut Protections) {
    restrict_by(WANTED, policy, isolated, protections);
}

/// Restricts this process with the rules of no newer Landlock version than
/// this.
fn restrict_by(newest: ABI, policy: &Policy, isolated: Isolated, protections: &mut Protections) {
    let done = rules(newest, policy, isolated).and_then(RulesetCreated::restrict_self);
    let has = |wanted: ABI| match done.as_ref().map(|status| &status.landlock) {
        Err(error) => Err(format!("Landlock failed: {error}")),
        Ok(LandlockStatus::NotEnabled) => Err("Landlock is not enabled in the kernel".to_owned()),
        Ok(LandlockStatus::NotImplemented) => Err("the kernel has no Landlock".to_owned()),
        Ok(LandlockStatus::Available { effective_abi, .. }) => {
            let has = (*effective_abi).min(newest);
            let (number, wants) = (has as i32, wanted as i32);
            let is_old = format!("the kernel has version {number} of Landlock, {wants} is needed");
            (has >= wanted).then_some(()).ok_or(is_old)
        }
    };
    // What is mounted read-only cannot be cut short either.
    let files = if isolated.folders { OPENING } else { WRITING };
    let is_guarded = policy.guarded.is_empty() || isolated.folders;
    let guarded = is_guarded.then_some(()).ok_or_else(|| {
        "without a namespace of mounts, the user's configuration can be written".to_owned()
    });
    let is_hidden = isolated.folders || policy.hidden_in_written().next().is_none();
    let hidden = is_hidden.then_some(()).ok_or_else(|| {
        "without a namespace of mounts, the user's keys can be read, and the configuration written"
            .to_owned()
    });
    // The first that is missing is told, so that the worst goes first.
    protections.note(Protection::Files, has(files).and(hidden).and(guarded));
    if !isolated.processes {
        protections.note(Protection::Processes, has(SIGNALS));
    }
}

fn rules(newest: ABI, policy: &Policy, isolated: Isolated) -> Result<RulesetCreated, RulesetError> {
    let mut rules = Ruleset::default().handle_access(AccessFs::from_all(newest))?;
    let ports = AccessNet::from_all(newest);
    if !(policy.network || isolated.network || ports.is_empty()) {
        rules = rules.handle_access(ports)?;
    }
    let scope = Scope::from_all(newest);
    if !scope.is_empty() {
        rules = rules.scope(scope)?;
    }
    let mut rules = rules.create()?;
    let all = AccessFs::from_all(newest);
    let reading = AccessFs::from_read(newest);
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::ReadDir | AccessFs::IoctlDev;
    let resolution = NAME_RESOLUTION.iter().map(Path::new);
    let resolution = resolution.filter(|_| policy.network);
    let read = policy.read.iter().map(PathBuf::as_path).chain(resolution);
    let read = read.chain([Path::new("/proc")]);
    for path in read.flat_map(|path| without(&policy.hidden, path)) {
        rules = allow(rules, &path, reading)?;
    }
    for path in policy.write.iter().chain(&policy.temporary) {
        rules = allow(rules, path, all)?;
    }
    if isolated.folders {
        for path in view::WRITABLE {
            rules = allow(rules, Path::new(path), all)?;
        }
        for path in TERMINALS {
            rules = allow(rules, Path::new(path), device & all)?;
        }
        // Whatever is there may be read, so its names may be listed.
        rules = allow(rules, Path::new("/"), AccessFs::ReadDir.into())?;
        if let Some(home) = &policy.home {
            rules = allow(rules, home, reading)?;
        }
    }
    for path in DEVICES {
        rules = allow(rules, Path::new(path), device & all)?;
    }
    Ok(rules)
}

/// The path itself, or the paths in it that are not hidden.
fn without(hidden: &[PathBuf], path: &Path) -> Vec<PathBuf> {
    if hidden.iter().any(|it| path.starts_with(it)) {
        return Vec::new();
    }
    if !hidden.iter().any(|it| it.starts_with(path)) {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| without(hidden, &entry.path()))
        .collect()
}

/// Allows access to a path, if it exists.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::open(path, flags, Mode::empty()) else {
        return Ok(rules);
    };
    let is_folder = rustix::fs::fstat(&file)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
    let access = if is_folder {
        access
    } else {
        access & AccessFs::from_file(WANTED)
    };
    rules.add_rule(PathBeneath::new(file, access))
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::os::unix::fs::OpenOptionsExt as _;
    use std::thread;

    use nix::sched::{CloneFlags, unshare};
    use nix::unistd::truncate;

    use super::*;
    use crate::command::Limits;

    /// What was found out about a restricted thread.
    #[derive(Debug, PartialEq, Eq)]
    struct Found {
        is_said_to_protect: bool,
        can_cut_short: bool,
    }

    /// Tries accesses that every version refuses, and some that only newer ones
    /// do. `None` where the system does not allow mounts of one's own.
    fn tried(newest: ABI, has_folders: bool) -> Option<Found> {
        let folder = tempfile::tempdir().unwrap();
        let [inside, outside] = ["inside", "outside"].map(|name| folder.path().join(name));
        for path in [&inside, &outside] {
            fs::create_dir(path).unwrap();
            fs::write(path.join("file"), "as it was").unwrap();
        }
        // It is there all the time, but is not named.
        let elsewhere = std::env::current_exe().unwrap();
        let policy = Policy {
            write: vec![inside.clone()],
            read: vec![outside.clone()],
            hidden: Vec::new(),
            guarded: Vec::new(),
            read_only: Vec::new(),
            links: Vec::new(),
            provided: Vec::new(),
            ignored: Vec::new(),
            temporary: None,
            home: None,
            network: true,
            limits: Limits::default(),
            layers: Vec::new(),
            recorded: None,
        };
        let attempt = move || {
            let isolated = Isolated {
                folders: has_folders,
                ..Isolated::default()
            };
            if has_folders {
                unshare(CloneFlags::CLONE_NEWNS).ok()?;
                // That of this thread alone, from now on.
                std::env::set_current_dir(&inside).unwrap();
                view::enter(&policy, &[]).unwrap();
            }
            let mut protections = Protections::default();
            restrict_by(newest, &policy, isolated, &mut protections);
            fs::write(inside.join("file"), "changed").unwrap();
            let file = outside.join("file");
            assert_eq!(fs::read(&file).unwrap(), b"as it was");
            fs::write(&file, "changed").unwrap_err();
            fs::File::open(&elsewhere).unwrap_err();
            // Neither of these opens the file for writing.
            let cut = OpenOptions::new()
                .read(true)
                .custom_flags(libc::O_TRUNC)
                .open(&file);
            let can_cut_short = cut.is_ok() || truncate(&file, 0).is_ok();
            Some(Found {
                is_said_to_protect: protections.applied.contains(&Protection::Files),
                can_cut_short,
            })
        };
        // The restrictions are those of a thread.
        thread::spawn(attempt).join().unwrap()
    }

    #[test]
    fn files_are_said_to_be_protected_where_they_are() {
        for (newest, has_folders, is_protected) in [
            (ABI::V1, false, false),
            (ABI::V2, false, false),
            (ABI::V3, false, true),
            (WANTED, false, true),
            (ABI::V1, true, true),
            (ABI::V2, true, true),
            (ABI::V3, true, true),
            (WANTED, true, true),
        ] {
            let Some(found) = tried(newest, has_folders) else {
                eprintln!("not tried: only root can have mounts in a thread");
                continue;
            };
            let expected = Found {
                is_said_to_protect: is_protected,
                can_cut_short: !is_protected,
            };
            assert_eq!(found, expected, "{newest:?}, {has_folders}");
        }
    }
}
