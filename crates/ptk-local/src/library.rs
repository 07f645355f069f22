//! The models that are there. Each has a folder of its own: its name is that of
//! the model, and in it is `model.json`, which tells what is known of it, and
//! the file itself, unless it stayed where the user had it.

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

/// What is known of a model, in its folder.
pub(crate) const ENTRY: &str = "model.json";
/// No such file is longer.
const MAX_ENTRY: u64 = 64 * 1024;
/// How models' files end.
const ENDING: &str = "gguf";
/// The longest name of a model.
pub(crate) const MAX_NAME: usize = 64;
/// How such files are written today.
const FORMAT: u32 = 1;

/// The models of this user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    folder: PathBuf,
}

/// What is known of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Where its file is: in the model's folder, or where the user has it.
    pub file: PathBuf,
    /// How many bytes it has.
    pub size: u64,
    /// What they add up to, in hexadecimal digits.
    pub sha256: String,
    /// Its licence, if anybody has said.
    pub licence: Option<String>,
    /// Where it is from.
    pub source: Source,
    /// When it came.
    #[serde(with = "moment")]
    pub added: SystemTime,
    /// What else belongs to it, beside its file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// What it says about itself; nothing if it is no model that answers.
    pub model: Option<Gguf>,
}

/// Where a model is from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A file of the user's.
    File(PathBuf),
    /// A package, with its version, or several.
    Package(String),
    /// An address, without what may be secret in it.
    Address(String),
}

/// An entry as it is written.
#[derive(Serialize, Deserialize)]
struct Written {
    format: u32,
    #[serde(flatten)]
    entry: Entry,
}

/// A model of the library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// What is known of it.
    pub entry: Entry,
    /// The file.
    pub path: PathBuf,
    /// Whether the file is in the library's own folder.
    pub is_kept: bool,
    /// What became of the file.
    pub state: State,
}

/// What became of a model's file, as far as a glance tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is as it was.
    Whole,
    /// It has another size.
    Changed,
    /// It is not there.
    Missing,
}

/// Something in the library's folder that is no model of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stranger {
    /// Where.
    pub path: PathBuf,
    /// What is the matter with it.
    pub why: String,
}

/// What is in the library's folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// The models, by their names.
    pub models: Vec<Listed>,
    /// What else is there. It is left alone.
    pub strangers: Vec<Stranger>,
}

/// A model to answer from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The name: that in the library, or else that of the file.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// What is known of it, if it is in the library.
    pub entry: Option<Entry>,
}

/// Where the file of a model that is added will be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Where it is. Only the path is remembered.
    Path,
    /// In the library, as a copy.
    Copy,
}

/// What was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// The model, if it was there as a whole.
    pub model: Option<Listed>,
    /// The bytes that a pull that did not end had left of it.
    pub fetched: u64,
}

/// What came of adding a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Added {
    /// It is in the library now.
    New(Entry),
    /// It was there already, the same.
    There(Entry),
}

impl Listing {
    /// The models that answer.
    pub fn answering(&self) -> impl Iterator<Item = &Listed> {
        let models = self.models.iter();
        models.filter(|it| it.entry.kind() == Kind::Chat)
    }
}

impl Source {
    /// Where a model is from, for a person.
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
    /// A model as it came just now.
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

    /// What it is for.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self.model {
            Some(_) => Kind::Chat,
            None => Kind::Embeddings,
        }
    }

    /// The bytes of all its files.
    #[must_use]
    pub fn whole_size(&self) -> u64 {
        let sizes = self.parts.iter().map(|part| part.size);
        sizes.fold(self.size, u64::saturating_add)
    }

    /// Writes it into the folder of its model.
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
    /// That of this user: the folder that `PTK_MODELS` names, or `ptk/models`
    /// in the folder for the user's data. It need not be there yet.
    ///
    /// # Errors
    ///
    /// If no variable says where that would be.
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

    /// The one in this folder.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self {
            folder: std::path::absolute(&folder).unwrap_or(folder),
        }
    }

    /// Where it is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Everything that is there.
    ///
    /// # Errors
    ///
    /// If the folder cannot be read. One that is not there is empty.
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

    /// The model of this name to answer from, or the file at this path.
    ///
    /// # Errors
    ///
    /// If there is neither, the model is for something else, or its file is
    /// gone or damaged.
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

    /// The files of the model that makes vectors of texts, itself first; nothing
    /// if there is none. Of several, the first by its name.
    ///
    /// # Errors
    ///
    /// If a file of it is gone or damaged, or the library cannot be read.
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

    /// Where the further files of a model are.
    pub(crate) fn beside(&self, entry: &Entry) -> impl Iterator<Item = PathBuf> {
        let folder = self.folder.join(&entry.name);
        entry
            .parts
            .iter()
            .filter_map(move |part| Some(folder.join(part.name()?)))
    }

    /// Adds a file that the user has. The same one once more renews what is
    /// known of it.
    ///
    /// # Errors
    ///
    /// If it is no model, another one has the name, or the library cannot be
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

    /// Removes a model: what is known of it, its file where that is in the
    /// library, and what a pull that did not end has left of it. Files of the
    /// user's own are left alone.
    ///
    /// # Errors
    ///
    /// If there is none of this name, or it cannot be removed.
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

    /// A place to make a model in.
    pub(crate) fn stage(&self) -> Result<Staging, LibraryError> {
        Staging::begin(&self.folder).map_err(LibraryError::io("written to", &self.folder))
    }

    /// Puts what was made into its place.
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

    /// What is known of the model of this name.
    pub(crate) fn named(&self, name: &str) -> Result<Option<Entry>, LibraryError> {
        if check(name).is_err() {
            return Ok(None);
        }
        self.entry(OsStr::new(name))
    }

    /// What is known of the model in this folder; nothing if it is none.
    fn entry(&self, folder: &OsStr) -> Result<Option<Entry>, LibraryError> {
        let path = self.folder.join(folder).join(ENTRY);
        // A pipe would be waited for.
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

    /// A model with what became of its file.
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

    /// What is said of a name that no model has.
    fn unknown(&self, name: &str) -> LibraryError {
        let there = self.list().map(|listing| listing.models);
        let there = there.unwrap_or_default();
        let there: Vec<&str> = there.iter().map(|it| it.entry.name.as_str()).collect();
        let catalogue = Catalogue::read(&self.folder).unwrap_or_default();
        // Whoever names a model wants an answer from it.
        let offered = catalogue.packages().filter(|it| it.kind == Kind::Chat);
        let offered: Vec<&str> = offered.map(|it| it.name.as_str()).collect();
        let near = suggest::nearest(name, there.iter().copied());
        let hint = if offered.contains(&name) {
            format!(" here yet; `ptk models pull {name}` gets it")
        } else if let Some(near) = near {
            format!("; did you mean `{near}`?")
        } else if let Some(near) = suggest::nearest(name, offered.iter().copied()) {
            format!("; did you mean `{near}`, which `ptk models pull {near}` gets?")
        } else if there.is_empty() {
            "; there is none at all yet: `ptk models pull` gets one, `ptk models add FILE` takes one that you have".to_owned()
        } else {
            format!("; there are: {}", there.join(", "))
        };
        LibraryError::Unknown {
            name: name.to_owned(),
            hint,
        }
    }
}

impl Listed {
    /// Refuses a model that cannot be answered from. A file of the user's may
    /// have changed: they know why.
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

/// What became of a file that had this size.
fn state(path: &Path, size: u64) -> State {
    match fs::metadata(path) {
        Ok(about) if about.is_file() && about.len() == size => State::Whole,
        Ok(about) if about.is_file() => State::Changed,
        _ => State::Missing,
    }
}

/// Something that is no model of the library.
fn stranger(path: PathBuf) -> Stranger {
    let why = if path.is_file() && is_model_file(&path) {
        "is not in the list; `ptk models add` takes it in"
    } else if path.is_dir() {
        "has no model.json"
    } else {
        "is no model"
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

/// The name of a file, without its ending.
fn stem(path: &Path) -> String {
    let name = path.file_stem().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// The name that a model can have that is nearest to this one.
pub(crate) fn fitting(name: &str) -> String {
    let name = name.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let fitting = name.chars().map(|c| if is_fit(c) { c } else { '-' });
    fitting.take(MAX_NAME).collect()
}

const fn is_fit(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

/// Refuses what cannot be a name. It becomes the name of a folder.
pub(crate) fn check(name: &str) -> Result<(), LibraryError> {
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins_well && name.len() <= MAX_NAME && name.chars().all(is_fit) {
        return Ok(());
    }
    Err(LibraryError::BadName(name.to_owned()))
}

/// Moments as people write them.
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
