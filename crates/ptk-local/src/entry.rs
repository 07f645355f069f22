//! The entry of an installed model, and `model.json`, in which it is kept.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::error::LibraryError;
use crate::gguf::Gguf;
use crate::model::{Kind, Part};

/// The file with a model's entry, in its folder.
pub(crate) const ENTRY: &str = "model.json";
/// The most bytes of an entry.
const MAX_ENTRY: u64 = 64 * 1024;
/// The version of the entry's format.
const FORMAT: u32 = 1;

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

    /// The entry in this folder of a library; `None` if it does not hold a
    /// model.
    pub(crate) fn read(library: &Path, folder: &OsStr) -> Result<Option<Self>, LibraryError> {
        let path = library.join(folder).join(ENTRY);
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
            .map_err(|error| LibraryError::damaged(&path, format!("is damaged: {error}")))?;
        if written.format != FORMAT {
            let why = format!("was written by another version of ptk ({})", written.format);
            return Err(LibraryError::damaged(&path, why));
        }
        let entry = written.entry;
        if OsStr::new(&entry.name) != folder {
            let why = format!("is about `{}`, and the folder has another name", entry.name);
            return Err(LibraryError::damaged(&path, why));
        }
        Ok(Some(entry))
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
