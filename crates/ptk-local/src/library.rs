//! The installed models. Each has a folder of its own name with `model.json`,
//! its entry, and the file itself, unless that stayed where the user had it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use ptk_protocol::schema::suggest;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::catalogue::{self, Catalogue};
use crate::copy::{Progress, Step, Watch, copy};
use crate::error::LibraryError;
use crate::gguf::Gguf;
use crate::model::Kind;
use crate::name::{fitting, is_name};
use crate::partial::{self, Removal};
use crate::staging::{self, Staging};

pub use crate::entry::{Entry, Source};

/// The extension of model files.
const ENDING: &str = "gguf";

/// The library of installed models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    folder: PathBuf,
}

/// An installed model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its entry.
    pub entry: Entry,
    /// The path of its file.
    pub path: PathBuf,
    /// Whether the file is in the library's own folder.
    pub is_kept: bool,
    /// The state of the file.
    pub state: State,
}

/// The state of a model's file, judged by its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It has the expected size.
    Whole,
    /// It has another size.
    Changed,
    /// It is not there.
    Missing,
}

/// Something in the library's folder that is not a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stranger {
    /// Its path.
    pub path: PathBuf,
    /// What is wrong with it.
    pub why: String,
}

/// The content of the library's folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// The models, sorted by name.
    pub models: Vec<Listed>,
    /// Anything else, which is left alone.
    pub strangers: Vec<Stranger>,
}

/// A model that can answer prompts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The name in the library, or that of the file.
    pub name: String,
    /// The path of the file.
    pub path: PathBuf,
    /// The entry, if it is in the library.
    pub entry: Option<Entry>,
}

/// Where the file of an added model is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// At its current path.
    Path,
    /// As a copy in the library.
    Copy,
}

/// What was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// The model, if it was installed.
    pub model: Option<Listed>,
    /// The bytes that an unfinished pull had fetched.
    pub fetched: u64,
}

/// The result of adding a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Added {
    /// It was added.
    New(Entry),
    /// It was already in the library.
    There(Entry),
}

impl Listing {
    /// The models that answer prompts.
    pub fn answering(&self) -> impl Iterator<Item = &Listed> {
        let models = self.models.iter();
        models.filter(|it| it.entry.kind() == Kind::Chat)
    }
}

impl Library {
    /// The user's library: the folder that `PTK_MODELS` names, or `ptk/models`
    /// in the user's data folder. It need not exist.
    ///
    /// # Errors
    ///
    /// If no environment variable says where it is.
    pub fn open_default() -> Result<Self, LibraryError> {
        let variable = |name: &str| {
            let value = std::env::var_os(name).filter(|value| !value.is_empty());
            value.map(PathBuf::from)
        };
        let home = || Some(variable("HOME")?.join(".local/share"));
        let data = || {
            let folder = variable("XDG_DATA_HOME").filter(|folder| folder.is_absolute());
            Some(folder.or_else(home)?.join("ptk/models"))
        };
        let folder = variable("PTK_MODELS").or_else(data);
        Ok(Self::at(folder.ok_or(LibraryError::NoPlace)?))
    }

    /// The library in this folder.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self {
            folder: std::path::absolute(&folder).unwrap_or(folder),
        }
    }

    /// The library's folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Lists the folder's content.
    ///
    /// # Errors
    ///
    /// If the folder cannot be read. A missing one is empty.
    pub fn list(&self) -> Result<Listing, LibraryError> {
        let mut listing = Listing::default();
        let unreadable = || LibraryError::io("read", &self.folder);
        let found = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(listing),
            found => found.map_err(unreadable())?,
        };
        for found in found {
            let found = found.map_err(unreadable())?;
            let name = found.file_name();
            let text = name.to_string_lossy();
            let is_own = staging::is_own(&text) || partial::is_own(&text);
            if is_own || text == catalogue::FILE {
                continue;
            }
            match Entry::read(&self.folder, &name) {
                Ok(Some(entry)) => listing.models.push(self.listed(entry)),
                Ok(None) => listing.strangers.push(stranger(found.path())),
                Err(LibraryError::Damaged { path, why }) => {
                    listing.strangers.push(Stranger { path, why });
                }
                Err(error) => listing.strangers.push(Stranger {
                    path: found.path(),
                    why: error.to_string(),
                }),
            }
        }
        listing
            .models
            .sort_by(|a, b| a.entry.name.cmp(&b.entry.name));
        listing.strangers.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(listing)
    }

    /// Finds the model of this name, or the file at this path.
    ///
    /// # Errors
    ///
    /// If there is neither, the model does not answer prompts, or its file is
    /// missing or damaged.
    pub fn find(&self, name_or_path: &str) -> Result<Found, LibraryError> {
        if let Some(entry) = self.named(name_or_path)? {
            if entry.kind() != Kind::Chat {
                return Err(LibraryError::NoAnswers(entry.name));
            }
            let listed = self.listed(entry);
            listed.usable()?;
            return Ok(Found {
                name: listed.entry.name.clone(),
                path: listed.path,
                entry: Some(listed.entry),
            });
        }
        let path = Path::new(name_or_path);
        if path.is_file() {
            return Ok(Found {
                name: stem(path),
                path: path.to_owned(),
                entry: None,
            });
        }
        let is_path = path.components().count() > 1 || is_model_file(path);
        if is_path {
            return Err(LibraryError::NoFile(path.to_owned()));
        }
        Err(self.unknown(name_or_path))
    }

    /// The files of the model that embeds texts, the model itself first; `None`
    /// if there is none. Of several, the first by name.
    ///
    /// # Errors
    ///
    /// If one of its files is missing or damaged, or the library cannot be
    /// read.
    pub fn embeddings(&self) -> Result<Option<Vec<PathBuf>>, LibraryError> {
        let models = self.list()?.models.into_iter();
        let mut models = models.filter(|it| it.entry.kind() == Kind::Embeddings);
        let Some(found) = models.next() else {
            return Ok(None);
        };
        found.usable()?;
        let mut files = vec![found.path];
        files.extend(self.beside(&found.entry));
        Ok(Some(files))
    }

    /// The paths of a model's further files.
    pub(crate) fn beside(&self, entry: &Entry) -> impl Iterator<Item = PathBuf> {
        let folder = self.folder.join(&entry.name);
        entry
            .parts
            .iter()
            .filter_map(move |part| Some(folder.join(part.name()?)))
    }

    /// Adds a file of the user. Adding the same one again updates its entry.
    ///
    /// # Errors
    ///
    /// If it is not a model, another one has the name, or the library cannot be
    /// written.
    pub fn add(
        &self,
        path: &Path,
        name: Option<&str>,
        keep: Keep,
        stop: &CancellationToken,
        tell: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Added, LibraryError> {
        let path = match fs::canonicalize(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(LibraryError::NoFile(path.to_owned()));
            }
            real => real.map_err(LibraryError::io("read", path))?,
        };
        let model = Gguf::read(&path)?;
        let name = match name {
            Some(name) => name.to_owned(),
            None => fitting(&stem(&path)),
        };
        if !is_name(&name) {
            return Err(LibraryError::BadName(name));
        }
        let old = self.named(&name)?;
        let is_same = |old: &Entry| old.source == Source::File(path.clone());
        if let Some(old) = old.as_ref().filter(|old| !is_same(old)) {
            return Err(taken(old));
        }
        let source = Source::File(path.clone());
        let mut watch = Watch { stop, tell };
        let staging = self.stage()?;
        let mut file = File::open(&path).map_err(LibraryError::io("read", &path))?;
        let about = file.metadata().map_err(LibraryError::io("read", &path))?;
        let (kept, sum) = match keep {
            Keep::Path => {
                let nowhere = &mut io::sink();
                let sum = copy(&mut file, nowhere, Step::Checking, about.len(), &mut watch);
                (
                    path.clone(),
                    sum.map_err(LibraryError::copying(&path, &path))?,
                )
            }
            Keep::Copy => {
                let kept = PathBuf::from(format!("{name}.{ENDING}"));
                let place = staging.model().join(&kept);
                let mut to =
                    File::create_new(&place).map_err(LibraryError::io("written", &place))?;
                let sum = copy(&mut file, &mut to, Step::Copying, about.len(), &mut watch);
                let sum = sum.map_err(LibraryError::copying(&path, &place))?;
                to.sync_all().map_err(LibraryError::io("written", &place))?;
                (kept, sum)
            }
        };
        let mut entry = Entry::new(&name, kept, source, Some(model));
        (entry.size, entry.sha256) = (sum.size, sum.sha256);
        if let Some(old) = old.filter(|old| old.sha256 == entry.sha256 && old.file == entry.file) {
            return Ok(Added::There(old));
        }
        entry.write(&staging.model())?;
        let is_mine = || {
            self.named(&name)
                .is_ok_and(|it| it.as_ref().is_some_and(is_same))
        };
        self.put(staging, &entry, is_mine)?;
        Ok(Added::New(entry))
    }

    /// Removes a model: its entry, its file if that is in the library, and what
    /// an unfinished pull has fetched. The user's own files are left alone.
    ///
    /// # Errors
    ///
    /// If there is no such model, or it cannot be removed.
    pub fn remove(&self, name: &str) -> Result<Removed, LibraryError> {
        if !is_name(name) {
            return Err(self.unknown(name));
        }
        let place = self.folder.join(name);
        let model = self.named(name)?.map(|entry| self.listed(entry));
        if let Some(model) = &model {
            self.stage()?
                .take_away(&model.entry.name)
                .map_err(LibraryError::io("removed", &place))?;
        }
        let removal = partial::remove(&self.folder, name);
        let fetched = match removal.map_err(LibraryError::io("removed", &place))? {
            Removal::Done(size) => size,
            Removal::Busy if model.is_none() => {
                return Err(LibraryError::Busy(name.to_owned()));
            }
            Removal::Nothing if model.is_none() => return Err(self.unknown(name)),
            Removal::Nothing | Removal::Busy => 0,
        };
        Ok(Removed { model, fetched })
    }

    /// A temporary folder to assemble a model in.
    pub(crate) fn stage(&self) -> Result<Staging, LibraryError> {
        Staging::begin(&self.folder).map_err(LibraryError::io("written to", &self.folder))
    }

    /// Moves an assembled model to its place.
    pub(crate) fn put(
        &self,
        staging: Staging,
        entry: &Entry,
        is_mine: impl FnOnce() -> bool,
    ) -> Result<(), LibraryError> {
        let place = self.folder.join(&entry.name);
        let placed = staging.place(&entry.name, is_mine);
        if placed.map_err(LibraryError::io("written", &place))? {
            return Ok(());
        }
        Err(match self.named(&entry.name)? {
            Some(other) => taken(&other),
            None => LibraryError::damaged(&place, "is in the way; move it, or choose another name"),
        })
    }

    /// The entry of the model of this name.
    pub(crate) fn named(&self, name: &str) -> Result<Option<Entry>, LibraryError> {
        if !is_name(name) {
            return Ok(None);
        }
        Entry::read(&self.folder, OsStr::new(name))
    }

    /// Adds the state of its file to an entry.
    pub(crate) fn listed(&self, entry: Entry) -> Listed {
        let is_kept = entry.file.is_relative();
        let path = self.folder.join(&entry.name).join(&entry.file);
        let parts = self.beside(&entry).zip(&entry.parts);
        let states = parts.map(|(path, part)| state(&path, part.size));
        let state = states
            .chain([state(&path, entry.size)])
            .max()
            .unwrap_or(State::Whole);
        Listed {
            entry,
            path,
            is_kept,
            state,
        }
    }

    /// The error for an unknown name, with a suggestion.
    fn unknown(&self, name: &str) -> LibraryError {
        let there = self.list().map(|listing| listing.models);
        let there = there.unwrap_or_default();
        let there: Vec<&str> = there.iter().map(|it| it.entry.name.as_str()).collect();
        let catalogue = Catalogue::read(&self.folder).unwrap_or_default();
        // Only models that answer prompts are suggested.
        let offered = catalogue.packages().filter(|it| it.kind == Kind::Chat);
        let offered: Vec<&str> = offered.map(|it| it.name.as_str()).collect();
        let near = suggest::nearest(name, there.iter().copied());
        let hint = if offered.contains(&name) {
            format!("is not installed; get it with `ptk models pull {name}`")
        } else if let Some(near) = near {
            format!("not found; did you mean `{near}`?")
        } else if let Some(near) = suggest::nearest(name, offered.iter().copied()) {
            format!("not found; did you mean `{near}`? Get it with `ptk models pull {near}`")
        } else if there.is_empty() {
            "not found; no model is installed: get one with `ptk models pull`, or add a file with `ptk models add FILE`".to_owned()
        } else {
            format!("not found; installed: {}", there.join(", "))
        };
        LibraryError::Unknown {
            name: name.to_owned(),
            hint,
        }
    }
}

impl Listed {
    /// Checks that the model's file can be used. One that the user keeps may
    /// have changed.
    fn usable(&self) -> Result<(), LibraryError> {
        let name = &self.entry.name;
        let path = self.path.display();
        let what = match (self.state, self.is_kept) {
            (State::Whole, _) | (State::Changed, false) => return Ok(()),
            (State::Missing, _) => format!("is not there any more: {path}"),
            (State::Changed, true) => format!("is damaged: {path}"),
        };
        let remedy = match &self.entry.source {
            Source::Package(_) => format!("`ptk models pull {name}` gets it again"),
            Source::Address(address) => format!(
                "`ptk models pull {address} --sha256 {} --name {name}` gets it again",
                self.entry.sha256
            ),
            Source::File(_) => {
                format!("`ptk models remove {name}`, and add it from where it is now")
            }
        };
        Err(LibraryError::Gone {
            name: name.clone(),
            what,
            remedy,
        })
    }
}

pub(crate) fn taken(other: &Entry) -> LibraryError {
    LibraryError::Taken {
        name: other.name.clone(),
        from: other.source.told(),
    }
}

/// The state of a file with this expected size.
fn state(path: &Path, size: u64) -> State {
    match fs::metadata(path) {
        Ok(about) if about.is_file() && about.len() == size => State::Whole,
        Ok(about) if about.is_file() => State::Changed,
        _ => State::Missing,
    }
}

/// Describes something that is not a model.
fn stranger(path: PathBuf) -> Stranger {
    let why = if path.is_file() && is_model_file(&path) {
        "is not in the list; `ptk models add` takes it in"
    } else if path.is_dir() {
        "has no model.json"
    } else {
        "is not a model"
    };
    Stranger {
        path,
        why: why.to_owned(),
    }
}

fn is_model_file(path: &Path) -> bool {
    let ending = path.extension();
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case(ENDING))
}

/// The name of a file, without its extension.
fn stem(path: &Path) -> String {
    let name = path.file_stem().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}
