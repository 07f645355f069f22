//! From a call to the paths that it is about to change.

use ptk_seccomp::Call;
use rustix::fs::FileType;
use rustix::io::Errno;

use super::filter::{FCHMODAT2, HARMLESS, WRITES};
use super::keep::Keep;
use super::resolve::{self, Last, Paths, Spot, kind};

/// A path that is opened so often, and is so surely not a file, that it is not
/// looked at.
const NOWHERE: &[u8] = b"/dev/null";
/// The kind of address that is a path, which stands before the path.
const UNIX: [u8; 2] = 1_u16.to_ne_bytes();
/// The longest address of that kind.
const MAX_ADDRESS: usize = 110;

/// A path that a call was given: the handle it is relative to, and its address.
#[derive(Clone, Copy)]
struct Given {
    folder: i32,
    address: u64,
}

/// What a call is about to do to a path.
enum Intent {
    Open(Given, i32),
    /// What is there changes, but stays.
    Change(Given, Last),
    /// Something of this kind comes where nothing is.
    Create(Given, FileType),
    Remove(Given),
    Rename(Given, Given, u64),
    /// What is behind a handle changes.
    Handle(i32),
}

/// Writes down what a call is about to change. On an error, the call has to
/// fail with it.
///
/// The calling thread may be killed meanwhile and its number reused: then a
/// path is written down that is not about to change, which does no harm.
pub(super) fn consider(call: &Call, text: &mut Vec<u8>, keep: &mut Keep) -> Result<(), Errno> {
    let asking = Asking(call);
    let Some(intent) = asking.intent()? else {
        return Ok(());
    };
    let mut is_wanted = |path: &[u8]| keep.wants(path);
    let mut places = Places {
        thread: call.thread,
        text,
        paths: Paths::new(call.thread, &mut is_wanted),
    };
    match intent {
        Intent::Open(given, flags) => {
            let creates = flags & libc::O_CREAT != 0;
            if creates && flags & libc::O_EXCL != 0 {
                let spot = places.spot(given, Last::Keep)?;
                return created(spot, FileType::RegularFile, keep);
            }
            let last = if flags & libc::O_NOFOLLOW == 0 {
                Last::Follow
            } else {
                Last::Keep
            };
            let Some(spot) = places.spot(given, last)? else {
                return Ok(());
            };
            match &spot.stat {
                Some(stat) if kind(stat) == FileType::RegularFile => keep.changed(&spot, stat),
                None if creates => keep.comes(&spot, FileType::RegularFile),
                // It fails, or is a pipe or a device.
                _ => Ok(()),
            }
        }
        Intent::Change(given, last) => changed(places.spot(given, last)?.as_ref(), keep),
        Intent::Create(given, becomes) => {
            let spot = places.spot(given, Last::Keep)?;
            created(spot, becomes, keep)
        }
        Intent::Remove(given) => match places.spot(given, Last::Keep)? {
            Some(spot) => keep.goes(&spot),
            None => Ok(()),
        },
        Intent::Rename(from, to, flags) => {
            let Some(to) = places.spot(to, Last::Keep)? else {
                return Ok(());
            };
            let Some(from) = places.spot(from, Last::Keep)? else {
                return Ok(());
            };
            let is_exchange = flags & u64::from(libc::RENAME_EXCHANGE) != 0;
            let is_kept = flags & u64::from(libc::RENAME_NOREPLACE) != 0;
            match (&from.stat, &to.stat) {
                (None, _) => Ok(()),
                (Some(_), Some(_)) if is_kept => Ok(()),
                (Some(_), None) if is_exchange => Ok(()),
                (Some(_), Some(_)) if is_exchange => keep.exchanged(&from, &to),
                (Some(one), two) => keep.moved((&from, one), (&to, two.as_ref())),
            }
        }
        Intent::Handle(handle) => match resolve::behind(call.thread, handle)? {
            Some(path) if path.len() > 1 && !keep.knows(&path) => {
                let mut is_wanted = |path: &[u8]| keep.wants(path);
                let spot = Paths::new(call.thread, &mut is_wanted).at(path)?;
                changed(spot.as_ref(), keep)
            }
            _ => Ok(()),
        },
    }
}

fn changed(spot: Option<&Spot>, keep: &mut Keep) -> Result<(), Errno> {
    match spot.and_then(|spot| Some((spot, spot.stat.as_ref()?))) {
        Some((spot, stat)) => keep.changed(spot, stat),
        None => Ok(()),
    }
}

/// Records a creation. Where something exists, nothing can be created.
fn created(spot: Option<Spot>, becomes: FileType, keep: &mut Keep) -> Result<(), Errno> {
    match spot.filter(|spot| spot.stat.is_none()) {
        Some(spot) => keep.comes(&spot, becomes),
        None => Ok(()),
    }
}

/// Where the paths lead that a call was given.
struct Places<'a> {
    thread: u32,
    text: &'a mut Vec<u8>,
    paths: Paths<'a>,
}

impl Places<'_> {
    fn spot(&mut self, given: Given, last: Last) -> Result<Option<Spot>, Errno> {
        resolve::text(self.thread, given.address, self.text)?;
        if self.text.is_empty() || *self.text == NOWHERE {
            return Ok(None);
        }
        self.paths.spot(given.folder, self.text, last)
    }
}

/// The arguments of a call.
struct Asking<'a>(&'a Call);

impl Asking<'_> {
    fn argument(&self, number: usize) -> u64 {
        let argument = self.0.arguments.get(number);
        argument.copied().unwrap_or_default()
    }

    /// An argument that has half the width of the others.
    fn number(&self, number: usize) -> i32 {
        // The system does not look at the rest either.
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the other half means nothing"
        )]
        let half = self.argument(number) as u32;
        half.cast_signed()
    }

    /// A path that is relative to the caller's folder.
    fn here(&self, address: usize) -> Given {
        Given {
            folder: libc::AT_FDCWD,
            address: self.argument(address),
        }
    }

    /// A path behind the handle of a folder.
    fn at(&self, folder: usize) -> Given {
        Given {
            folder: self.number(folder),
            address: self.argument(folder + 1),
        }
    }

    fn intent(&self) -> Result<Option<Intent>, Errno> {
        Ok(Some(match self.0.number {
            libc::SYS_openat => Intent::Open(self.at(0), self.number(2)),
            libc::SYS_openat2 => return self.opened(),
            libc::SYS_truncate => Intent::Change(self.here(0), Last::Follow),
            libc::SYS_renameat2 => Intent::Rename(self.at(0), self.at(2), self.argument(4)),
            libc::SYS_unlinkat => Intent::Remove(self.at(0)),
            libc::SYS_mkdirat => Intent::Create(self.at(0), FileType::Directory),
            libc::SYS_mknodat => Intent::Create(self.at(0), FileType::RegularFile),
            libc::SYS_symlinkat => Intent::Create(self.at(1), FileType::Symlink),
            // The same kind as the other name has: perhaps a link.
            libc::SYS_linkat => Intent::Create(self.at(2), FileType::Symlink),
            libc::SYS_fchmod => Intent::Handle(self.number(0)),
            libc::SYS_fchmodat => Intent::Change(self.at(0), Last::Follow),
            FCHMODAT2 => {
                let flags = self.number(3);
                let last = if flags & libc::AT_SYMLINK_NOFOLLOW == 0 {
                    Last::Follow
                } else {
                    Last::Keep
                };
                if flags & libc::AT_EMPTY_PATH != 0 && self.is_empty(self.argument(1))? {
                    return Ok(Some(Intent::Handle(self.number(0))));
                }
                Intent::Change(self.at(0), last)
            }
            libc::SYS_bind => return self.bound(),
            number => return Ok(self.older(number)),
        }))
    }

    /// Calls that newer machines do not have any more.
    #[cfg(target_arch = "x86_64")]
    fn older(&self, number: i64) -> Option<Intent> {
        Some(match number {
            libc::SYS_open => Intent::Open(self.here(0), self.number(1)),
            libc::SYS_creat => Intent::Open(self.here(0), libc::O_CREAT | libc::O_WRONLY),
            libc::SYS_rename => Intent::Rename(self.here(0), self.here(1), 0),
            libc::SYS_renameat => Intent::Rename(self.at(0), self.at(2), 0),
            libc::SYS_unlink | libc::SYS_rmdir => Intent::Remove(self.here(0)),
            libc::SYS_mkdir => Intent::Create(self.here(0), FileType::Directory),
            libc::SYS_mknod => Intent::Create(self.here(0), FileType::RegularFile),
            libc::SYS_symlink | libc::SYS_link => Intent::Create(self.here(1), FileType::Symlink),
            libc::SYS_chmod => Intent::Change(self.here(0), Last::Follow),
            _ => return None,
        })
    }

    #[cfg(target_arch = "aarch64")]
    fn older(&self, number: i64) -> Option<Intent> {
        (number == libc::SYS_renameat).then(|| Intent::Rename(self.at(0), self.at(2), 0))
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn older(&self, _: i64) -> Option<Intent> {
        None
    }

    /// The intent of `openat2`, whose flags are in memory.
    fn opened(&self) -> Result<Option<Intent>, Errno> {
        let mut flags = [0; 8];
        let address = usize::try_from(self.argument(2)).map_err(|_| Errno::FAULT)?;
        resolve::read(self.0.thread, address, &mut flags)?;
        let flags = i32::try_from(u64::from_ne_bytes(flags)).unwrap_or_default();
        let writes = flags & HARMLESS == 0 && flags & WRITES != 0;
        Ok(writes.then(|| Intent::Open(self.at(0), flags)))
    }

    /// The intent of `bind`: an address that is a path becomes a file there.
    fn bound(&self) -> Result<Option<Intent>, Errno> {
        let mut family = [0; 2];
        let address = usize::try_from(self.argument(1)).map_err(|_| Errno::FAULT)?;
        resolve::read(self.0.thread, address, &mut family)?;
        let length = usize::try_from(self.argument(2)).unwrap_or_default();
        if family != UNIX || length <= UNIX.len() || length > MAX_ADDRESS {
            return Ok(None);
        }
        let mut first = [0];
        resolve::read(self.0.thread, address + UNIX.len(), &mut first)?;
        // Without a path it is not a file.
        Ok((first != [0]).then(|| {
            let given = Given {
                folder: libc::AT_FDCWD,
                address: (address + UNIX.len()) as u64,
            };
            Intent::Create(given, FileType::Socket)
        }))
    }

    fn is_empty(&self, address: u64) -> Result<bool, Errno> {
        let mut first = [0];
        let address = usize::try_from(address).map_err(|_| Errno::FAULT)?;
        resolve::read(self.0.thread, address, &mut first)?;
        Ok(first == [0])
    }
}
