//! Where files may be read and written, by Landlock.

use std::fs;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, LandlockStatus, PathBeneath, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, Scope,
};
use rustix::fs::{FileType, Mode, OFlags};

use super::isolation;
use super::policy::{Policy, Protection, Protections};
use super::words::Isolated;

/// The version whose rules are asked for; an older kernel does what it can.
const WANTED: ABI = ABI::V6;
/// The first version that restricts all writing.
const FILES: ABI = ABI::V3;
/// The first version that keeps signals inside.
const SIGNALS: ABI = ABI::V6;
/// What programs do with devices, and no harm comes of it.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/fd",
];
/// What only the system itself may read, although it lies among what all may.
const SECRET: [&str; 9] = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/security/opasswd",
];

/// Restricts this process and all that it becomes and starts.
pub(super) fn restrict(policy: &Policy, isolated: Isolated, protections: &mut Protections) {
    let done = rules(policy, isolated).and_then(RulesetCreated::restrict_self);
    let has = |wanted: ABI| match done.as_ref().map(|status| &status.landlock) {
        Err(error) => Err(format!("Landlock failed: {error}")),
        Ok(LandlockStatus::NotEnabled) => Err("Landlock is not enabled in the kernel".to_owned()),
        Ok(LandlockStatus::NotImplemented) => Err("the kernel has no Landlock".to_owned()),
        Ok(LandlockStatus::Available { effective_abi, .. }) => {
            let (has, wants) = (*effective_abi as i32, wanted as i32);
            let is_old = format!("the kernel has version {has} of Landlock, {wants} is needed");
            (*effective_abi >= wanted).then_some(()).ok_or(is_old)
        }
    };
    let is_guarded = policy.guarded.is_empty() || isolated.folders;
    let guarded = is_guarded.then_some(()).ok_or_else(|| {
        "without a namespace of mounts, the user's configuration can be written".to_owned()
    });
    protections.note(Protection::Files, has(FILES).and(guarded));
    if !isolated.processes {
        protections.note(Protection::Processes, has(SIGNALS));
    }
}

fn rules(policy: &Policy, isolated: Isolated) -> Result<RulesetCreated, RulesetError> {
    let mut rules = Ruleset::default().handle_access(AccessFs::from_all(WANTED))?;
    if !(policy.network || isolated.network) {
        rules = rules.handle_access(AccessNet::from_all(WANTED))?;
    }
    let mut rules = rules.scope(Scope::from_all(WANTED))?.create()?;
    let reading = AccessFs::from_read(WANTED);
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::ReadDir | AccessFs::IoctlDev;
    for path in policy.read.iter().flat_map(|path| without_secrets(path)) {
        rules = allow(rules, &path, reading)?;
    }
    for path in policy.write.iter().chain(&policy.temporary) {
        rules = allow(rules, path, AccessFs::from_all(WANTED))?;
    }
    if isolated.folders {
        for path in isolation::WRITABLE {
            rules = allow(rules, Path::new(path), AccessFs::from_all(WANTED))?;
        }
        if let Some(home) = &policy.home {
            rules = allow(rules, home, reading)?;
        }
    }
    for path in DEVICES {
        rules = allow(rules, Path::new(path), device)?;
    }
    Ok(rules)
}

/// The path itself, or what there is in it but for what is secret.
fn without_secrets(path: &Path) -> Vec<PathBuf> {
    let is_secret = |path: &Path| SECRET.iter().any(|secret| path == Path::new(secret));
    if is_secret(path) {
        return Vec::new();
    }
    if !SECRET
        .iter()
        .any(|secret| Path::new(secret).starts_with(path))
    {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| without_secrets(&entry.path()))
        .collect()
}

/// Allows it for a path, if there is one.
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
