//! The installed models. Each has a folder of its own name with `model.json`,
//! its entry, and the file itself, unless that stayed where the user had it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ptk_protocol::schema::suggest;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::catalogue::{self, Catalogue, Kind, Part};
use crate::copy::{Progress, Step, Watch, copy};
use crate::error::LibraryError;
use crate::gguf::Gguf;
use crate::partial::{self, Removal};
use crate::staging::{Staging, is_own};

/// The file with a model's entry, in its folder.
pub(crate) const ENTRY: &str = "model.json";
/// The most bytes of an entry.
const MAX_ENTRY: u64 = 64 * 1024;
/// The extension of model files.
const ENDING: &str = "gguf";
/// The longest name of a model.
pub(crate) const MAX_NAME: usize = 64;
/// The version of the entry's format.
const FORMAT: u32 = 1;

/// The library of installed models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    folder: PathBuf,
}

/// The entry of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its file: a name in the model's folder, or the user's absolute path.
    pub file: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
    /// Its licence, if known.
    pub licence: Option<String>,
    /// Where it came from.
    pub source: Source,
    /// When it was added.
    #[serde(with = "moment")]
    pub added: SystemTime,
    /// Further files of the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// Its metadata; `None` if it does not answer prompts.
    pub model: Option<Gguf>,
}

/// Where a model came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A file of the user.
    File(PathBuf),
    /// A package, with its version, or several.
    Package(String),
    /// An address, without its secret parts.
    Address(String),
}

/// An entry as it is stored.
#[derive(Serialize, Deserialize)]
struct Written {
    format: u32,
    #[serde(flatten)]
    entry: Entry,
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

impl Source {
    /// The source as a text for the user.
    #[must_use]
    pub fn told(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Package(package) => format!("the package {package}"),
            Self::Address(address) => address.clone(),
        }
    }
}

impl Entry {
    /// A new entry, without size and SHA-256.
    pub(crate) fn new(name: &str, file: PathBuf, source: Source, model: Option<Gguf>) -> Self {
        Self {
            name: name.to_owned(),
            file,
            size: 0,
            sha256: String::new(),
            licence: model.as_ref().and_then(|model| model.licence.clone()),
            source,
            added: SystemTime::now(),
            parts: Vec::new(),
            model,
        }
    }

    /// The kind of the model.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self.model {
            Some(_) => Kind::Chat,
            None => Kind::Embeddings,
        }
    }

    /// The size of all its files in bytes.
    #[must_use]
    pub fn whole_size(&self) -> u64 {
        let sizes = self.parts.iter().map(|part| part.size);
        sizes.fold(self.size, u64::saturating_add)
    }

    /// Writes the entry into the folder of its model.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), LibraryError> {
        let path = folder.join(ENTRY);
        let written = Written {
            format: FORMAT,
            entry: self.clone(),
        };
        let unwritable = |_| LibraryError::Unwritable(self.file.clone());
        let text = serde_json::to_string_pretty(&written).map_err(unwritable)?;
        let write = || {
            fs::write(&path, text + "\n")?;
            File::open(&path)?.sync_all()
        };
        write().map_err(LibraryError::io("written", &path))
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
            if is_own(&text) || text == catalogue::FILE {
                continue;
            }
            match self.entry(&name) {
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
        check(&name)?;
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
        check(name).map_err(|_| self.unknown(name))?;
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
            None => damaged(&place, "is in the way; move it, or choose another name"),
        })
    }

    /// The entry of the model of this name.
    pub(crate) fn named(&self, name: &str) -> Result<Option<Entry>, LibraryError> {
        if check(name).is_err() {
            return Ok(None);
        }
        self.entry(OsStr::new(name))
    }

    /// The entry in this folder; `None` if it does not hold a model.
    fn entry(&self, folder: &OsStr) -> Result<Option<Entry>, LibraryError> {
        let path = self.folder.join(folder).join(ENTRY);
        // Opening a pipe would block.
        if !path.is_file() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let file = File::open(&path).map_err(LibraryError::io("read", &path))?;
        let mut limited = file.take(MAX_ENTRY);
        limited
            .read_to_end(&mut bytes)
            .map_err(LibraryError::io("read", &path))?;
        let written: Written = serde_json::from_slice(&bytes)
            .map_err(|error| damaged(&path, format!("is damaged: {error}")))?;
        if written.format != FORMAT {
            let why = format!("was written by another version of ptk ({})", written.format);
            return Err(damaged(&path, why));
        }
        let entry = written.entry;
        if OsStr::new(&entry.name) != folder {
            let why = format!("is about `{}`, and the folder has another name", entry.name);
            return Err(damaged(&path, why));
        }
        Ok(Some(entry))
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

fn damaged(path: &Path, why: impl Into<String>) -> LibraryError {
    LibraryError::Damaged {
        path: path.to_owned(),
        why: why.into(),
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

/// The valid model name that is closest to this one.
pub(crate) fn fitting(name: &str) -> String {
    let name = name.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let fitting = name.chars().map(|c| if is_fit(c) { c } else { '-' });
    fitting.take(MAX_NAME).collect()
}

const fn is_fit(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

/// Checks a name, which becomes the name of a folder.
pub(crate) fn check(name: &str) -> Result<(), LibraryError> {
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins_well && name.len() <= MAX_NAME && name.chars().all(is_fit) {
        return Ok(());
    }
    Err(LibraryError::BadName(name.to_owned()))
}

/// Serialises times as RFC 3339.
mod moment {
    use std::time::SystemTime;

    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(at: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&humantime::format_rfc3339_seconds(*at))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SystemTime, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(from)?;
        humantime::parse_rfc3339(&text).map_err(D::Error::custom)
    }
}
