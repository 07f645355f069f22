//! The file system as a program sees it: an empty root, and bound into it what
//! the policy allows. What is not named is not there: no home, no sockets of
//! services, no disks, no terminals of others.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, umount2};
use nix::unistd::pivot_root;
use rustix::fs::{FileType, StatVfsMountFlags, fstat, fstatvfs};

use super::devices::{self, IN_MEMORY};
use super::grants::NAME_RESOLUTION;
use super::policy::Policy;
use super::{isolation, mounts};

/// Folders that a program may use as it likes, because they are its own.
pub(super) const WRITABLE: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
/// Folders that show the program's temporary folder.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];
/// Folders over which the new root is built, until it becomes the root. Any one
/// that is there will do.
const STAGES: [&str; 4] = ["/tmp", "/mnt", "/usr", "/etc"];
/// What the root itself may hold: folders to mount at, and small files.
const ROOT: &str = "mode=0755,size=16m";
/// An empty file and an empty folder, for what is hidden.
const EMPTY_FILE: &str = ".empty-file";
const EMPTY_FOLDER: &str = ".empty-folder";
/// Where the system lists the sockets of this machine.
const SOCKETS: &str = "/proc/net/unix";
/// The flag of a socket at which a service accepts connections.
const ACCEPTS: u32 = 1 << 16;

/// The paths of sockets at which services of this machine wait. To be called
/// before the program gets its own network.
pub(super) fn listening() -> Vec<PathBuf> {
    let table = fs::read_to_string(SOCKETS).unwrap_or_default();
    let paths = table.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let flags = u32::from_str_radix(words.nth(3)?, 16).ok()?;
        let kind = words.next()?;
        let path = words.nth(2)?;
        // A path may hold spaces.
        let path = line.get(line.find(path)?..)?;
        // A socket for packets waits without accepting.
        let is_served = flags & ACCEPTS != 0 || kind == "0002";
        (is_served && path.starts_with('/')).then(|| PathBuf::from(path))
    });
    paths.collect()
}

/// Something that is shown in the view.
struct Shown {
    path: PathBuf,
    source: OwnedFd,
    is_folder: bool,
    is_writable: bool,
}

impl Shown {
    fn open(path: &Path, is_writable: bool) -> Option<Self> {
        let source = mounts::handle(path).ok()?;
        let stat = fstat(&source).ok()?;
        let is_read_only =
            fstatvfs(&source).is_ok_and(|it| it.f_flag.contains(StatVfsMountFlags::RDONLY));
        Some(Self {
            path: path.to_owned(),
            is_folder: FileType::from_raw_mode(stat.st_mode) == FileType::Directory,
            // What was read-only before cannot be made writable.
            is_writable: is_writable && !is_read_only,
            source,
        })
    }
}

/// What is shown, with nested paths after those that they lie in.
fn shown(policy: &Policy) -> Vec<Shown> {
    let is_in = |path: &Path, folders: &[PathBuf]| folders.iter().any(|it| path.starts_with(it));
    let resolution = NAME_RESOLUTION.iter().map(PathBuf::from);
    let resolution = resolution.filter(|_| policy.network);
    let read = policy.read.iter().cloned().chain(resolution);
    let read = read.filter(|path| !is_in(path, &policy.write));
    let read = read.map(|path| (path, false));
    let write = policy.write.iter().map(|path| (path.clone(), true));
    let mut all: Vec<_> = read.chain(write).collect();
    all.sort();
    all.dedup();
    let mut read: Vec<PathBuf> = Vec::new();
    all.retain(|(path, is_writable)| {
        // What is bound is bound with all that is below.
        if !is_writable && is_in(path, &read) {
            return false;
        }
        if !is_writable {
            read.push(path.clone());
        }
        true
    });
    all.iter()
        .filter_map(|(path, is_writable)| Shown::open(path, *is_writable))
        .collect()
}

/// Makes the view and enters it.
pub(super) fn enter(policy: &Policy, listening: &[PathBuf]) -> io::Result<()> {
    mounts::make_private()?;
    let working_folder = std::env::current_dir();
    let shown = shown(policy);
    let temporary = policy.temporary.as_deref();
    let temporary = temporary.map(mounts::handle).transpose()?;
    let stage = STAGES.iter().map(Path::new).find(|path| path.is_dir());
    let stage = stage.ok_or(io::ErrorKind::NotFound)?;
    mounts::mount_new("tmpfs", stage, Some(ROOT))?;
    let view = View { root: stage };
    view.furnish(policy, &shown, temporary.as_ref())?;
    for path in policy.hidden_in_written() {
        // Moved elsewhere, it would not be hidden from the next program.
        if view.at(path).exists() {
            view.guard(path, &policy.write)?;
        }
    }
    for path in &policy.guarded {
        view.guard(path, &policy.write)?;
    }
    for path in &policy.read_only {
        // It may have gone meanwhile, and is only a precaution.
        let _ = view.guard(path, &policy.write);
    }
    let named = |path: &&PathBuf| !policy.read.contains(path) && !policy.write.contains(path);
    // Last, so that nothing is mounted on what is empty.
    for path in policy.hidden.iter().chain(listening.iter().filter(named)) {
        view.hide(path)?;
    }
    fs::remove_file(view.at(EMPTY_FILE))?;
    fs::remove_dir(view.at(EMPTY_FOLDER))?;
    // The limit of a user does not hold for root.
    let _ = isolation::limit_processes(&view.at("proc"), policy.limits.processes);
    view.seal(policy, &shown)?;
    view.become_root()?;
    std::env::set_current_dir(in_view(&working_folder?, policy))
}

/// The path of a folder in the view, where the temporary folder has another
/// name.
fn in_view(folder: &Path, policy: &Policy) -> PathBuf {
    let temporary = policy.temporary.as_ref();
    let below = temporary.and_then(|it| folder.strip_prefix(it).ok());
    below.map_or_else(|| folder.to_owned(), |below| Path::new("/tmp").join(below))
}

/// A place to mount at.
fn make_target(target: &Path, is_folder: bool) -> io::Result<()> {
    if is_folder {
        return fs::create_dir_all(target);
    }
    target.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(target, "")
}

/// The new root, while it is not the root yet.
struct View<'a> {
    root: &'a Path,
}

impl View<'_> {
    /// Where a path of the view is before the view becomes the root.
    fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Mounts and makes everything that the view shows.
    fn furnish(
        &self,
        policy: &Policy,
        shown: &[Shown],
        temporary: Option<&OwnedFd>,
    ) -> io::Result<()> {
        fs::write(self.at(EMPTY_FILE), "")?;
        fs::create_dir(self.at(EMPTY_FOLDER))?;
        for folder in ["proc", "run"]
            .map(Path::new)
            .into_iter()
            .chain(policy.home.as_deref())
        {
            fs::create_dir_all(self.at(folder))?;
        }
        mounts::mount_new("proc", &self.at("proc"), None)?;
        devices::make(self.root)?;
        for folder in TEMPORARY {
            let target = self.at(folder);
            fs::create_dir_all(&target)?;
            match temporary {
                Some(temporary) => mounts::bind(temporary, &target)?,
                None => mounts::mount_new("tmpfs", &target, Some(IN_MEMORY))?,
            }
        }
        for (path, target) in &policy.links {
            symlink(target, self.at(path))?;
        }
        for provided in &policy.provided {
            let target = self.at(&provided.path);
            target.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(target, &provided.content)?;
        }
        for (number, it) in shown.iter().enumerate() {
            let before = shown.get(..number).unwrap_or_default();
            let target = self.at(&it.path);
            // What lies in another one is there already, and nothing is made
            // in what is not the view's own.
            if !before.iter().any(|other| it.path.starts_with(&other.path)) {
                make_target(&target, it.is_folder)?;
            }
            mounts::bind(&it.source, &target)?;
        }
        Ok(())
    }

    /// Puts something empty in the place of what must not be found.
    fn hide(&self, path: &Path) -> io::Result<()> {
        let target = self.at(path);
        let Ok(metadata) = fs::symlink_metadata(&target) else {
            return Ok(());
        };
        let empty = if metadata.is_dir() {
            EMPTY_FOLDER
        } else {
            EMPTY_FILE
        };
        match mounts::bind(&mounts::handle(&self.at(empty))?, &target) {
            // It is gone by now.
            Err(_) if !target.exists() => Ok(()),
            hidden => hidden,
        }
    }

    /// Keeps something as it is. The folders above it are mounted, too, so that
    /// no other can be put in the place of one.
    fn guard(&self, path: &Path, roots: &[PathBuf]) -> io::Result<()> {
        let is_below = |folder: &&Path| {
            roots
                .iter()
                .any(|it| folder.starts_with(it) && *folder != it)
        };
        let mut folders: Vec<&Path> = path.ancestors().take_while(is_below).collect();
        folders.reverse();
        for folder in folders {
            let folder = self.at(folder);
            mounts::bind(&mounts::handle(&folder)?, &folder)?;
        }
        Ok(())
    }

    /// Makes everything read-only but for what may be written.
    fn seal(&self, policy: &Policy, shown: &[Shown]) -> io::Result<()> {
        let writable = shown.iter().filter(|it| it.is_writable).map(|it| &*it.path);
        let through = policy.layers.iter().flat_map(|layer| &layer.through);
        let through = through.map(PathBuf::as_path);
        let own = WRITABLE.iter().map(Path::new);
        let writable: Vec<&Path> = writable.chain(through).chain(own).collect();
        // A folder above what is guarded is writable where its own root is.
        let guarded = policy.guarded.iter().chain(&policy.read_only);
        let guarded: Vec<_> = guarded.chain(policy.hidden_in_written()).collect();
        let is_above_guarded = |path: &Path| {
            guarded.iter().any(|it| it.starts_with(path) && *it != path)
                && writable.iter().any(|root| path.starts_with(root))
        };
        for mounted in mounts::list_below(self.root)? {
            let Ok(path) = mounted.path.strip_prefix(self.root) else {
                continue;
            };
            let path = Path::new("/").join(path);
            let is_guarded = guarded.contains(&&path);
            let is_writable = writable.contains(&&*path) || is_above_guarded(&path);
            mounted.remount(is_writable && !is_guarded)?;
        }
        Ok(())
    }

    /// Becomes the root of this process, and lets go of the old one.
    fn become_root(&self) -> io::Result<()> {
        std::env::set_current_dir(self.root)?;
        // The old root is put above the new one, and taken away from there.
        pivot_root(".", ".")?;
        umount2(".", MntFlags::MNT_DETACH)?;
        std::env::set_current_dir("/")
    }
}
