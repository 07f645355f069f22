//! What was found out about models, for the next time.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Provider;

/// How long something counts that was only noticed: servers are updated.
const NOTICED_FOR: Duration = Duration::from_secs(14 * 24 * 60 * 60);
/// The most models that are remembered.
const MAX_MODELS: usize = 500;

/// What was found out about a model: how it calls tools, and how much it can read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelProfile {
    /// Whether it calls tools by its API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_tools: Option<bool>,
    /// The form of calls in text that it is best taught.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialect: Option<String>,
    /// The size of its context window, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u32>,
    /// How it was found out, for the user.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Whether it was tried on purpose, and not only noticed. Then it counts
    /// until it is tried again.
    #[serde(default)]
    pub is_tried: bool,
}

/// Remembers what was found out about models.
pub trait Memory: Send + Sync + Debug {
    /// The profile of a model, by its [`memory_key`].
    fn recall(&self, key: &str) -> Option<ModelProfile>;

    /// Stores the profile of a model.
    fn remember(&self, key: &str, profile: ModelProfile);
}

/// The key under which a model is remembered, if it has one.
#[must_use]
pub fn memory_key(provider: &dyn Provider, model: Option<&str>) -> Option<String> {
    let model = model.or_else(|| provider.model()).unwrap_or_default();
    Some(format!("{} {model}", provider.id()?))
}

/// Remembers in memory, until the program ends.
#[derive(Debug, Default)]
pub struct InMemory {
    models: Mutex<BTreeMap<String, ModelProfile>>,
}

impl Memory for InMemory {
    fn recall(&self, key: &str) -> Option<ModelProfile> {
        let models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        models.get(key).cloned()
    }

    fn remember(&self, key: &str, profile: ModelProfile) {
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        models.insert(key.to_owned(), profile);
    }
}

/// Remembers in a file, a JSON object that users can read and edit. Errors are
/// ignored: an entry that cannot be read is not known, one that cannot be
/// written is lost. A file that cannot be read is renamed before a new one is
/// written.
#[derive(Debug)]
pub struct FileMemory {
    path: PathBuf,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Models {
    /// The entries, not parsed: an invalid one does not spoil the others.
    #[serde(default)]
    models: BTreeMap<String, Value>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entry {
    #[serde(flatten)]
    profile: ModelProfile,
    /// When the entry was written, in seconds since 1970.
    #[serde(default)]
    since: u64,
}

impl Entry {
    fn of(value: &Value) -> Option<Self> {
        Self::deserialize(value).ok()
    }
}

impl FileMemory {
    /// Creates a memory in this file, which need not exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn read(&self) -> io::Result<Models> {
        match std::fs::read(&self.path) {
            Ok(text) if text.trim_ascii().is_empty() => Ok(Models::default()),
            Ok(text) => Ok(serde_json::from_slice(&text)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Models::default()),
            Err(error) => Err(error),
        }
    }

    fn write(&self, models: &Models) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(self.folder())?;
        file.write_all(&serde_json::to_vec_pretty(models)?)?;
        file.persist(&self.path)?;
        Ok(())
    }

    fn folder(&self) -> &Path {
        let folder = self.path.parent().filter(|it| !it.as_os_str().is_empty());
        folder.unwrap_or_else(|| Path::new("."))
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(ending);
        name.into()
    }

    fn add(&self, key: &str, profile: ModelProfile) -> io::Result<()> {
        let mut folder = DirBuilder::new();
        folder.recursive(true);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        {
            std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        folder.create(self.folder())?;
        // Other processes may write at the same time.
        let lock = options.open(self.beside(".lock"))?;
        lock.lock()?;
        let mut models = if let Ok(known) = self.read() {
            known.models
        } else {
            std::fs::rename(&self.path, self.beside(".unreadable"))?;
            BTreeMap::new()
        };
        let entry = Entry {
            profile,
            since: now(),
        };
        models.insert(key.to_owned(), serde_json::to_value(entry)?);
        let since = |value: &Value| Entry::of(value).map_or(0, |entry| entry.since);
        while models.len() > MAX_MODELS {
            let oldest = models.iter().min_by_key(|(_, value)| since(value));
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
                break;
            };
            models.remove(&oldest);
        }
        self.write(&Models { models })
    }
}

impl Memory for FileMemory {
    fn recall(&self, key: &str) -> Option<ModelProfile> {
        let entry = Entry::of(self.read().ok()?.models.get(key)?)?;
        let is_fresh = now().saturating_sub(entry.since) < NOTICED_FOR.as_secs();
        (entry.profile.is_tried || is_fresh).then_some(entry.profile)
    }

    fn remember(&self, key: &str, profile: ModelProfile) {
        if let Err(error) = self.add(key, profile) {
            tracing::debug!(%error, "what a model can do is not remembered");
        }
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}
