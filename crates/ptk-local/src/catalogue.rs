//! The models that can be pulled: the built-in ones, and those of the user's
//! own file, `catalogue.toml` beside the models.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::LazyLock;

use ptk_protocol::schema::suggest;
use serde::Deserialize;

use crate::entry::ENTRY;
use crate::error::LibraryError;
use crate::name::is_name;

pub use crate::model::{Kind, Part};

/// The name of the user's catalogue file.
pub(crate) const FILE: &str = "catalogue.toml";
/// Hexadecimal digits of a SHA-256.
const DIGITS: usize = 64;
/// The number of parts in a wheel's tags.
const TAGS: usize = 3;

/// A wheel of a Python package, and the file in it that is the model, or a
/// piece of it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wheel {
    /// The package's name.
    pub package: String,
    /// The package's version.
    pub version: String,
    /// The wheel's tags (Python, ABI and platform) if it is not universal.
    /// Nothing in it is run, so it serves on every platform.
    pub tags: Option<String>,
    /// The size of the wheel in bytes.
    pub wheel_size: u64,
    /// The SHA-256 of the wheel.
    pub wheel_sha256: String,
    /// The path of the file in the wheel.
    pub file: String,
    /// The size of the file in bytes.
    pub size: u64,
    /// The SHA-256 of the file.
    pub sha256: String,
}

/// A model in Python packages, which users can already get through their
/// mirrors and proxies.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Entry")]
pub struct Package {
    /// The model's name.
    pub name: String,
    /// What it is for.
    pub kind: Kind,
    /// A short description.
    pub about: String,
    /// The licence of the model.
    pub licence: String,
    /// The model's file: its last component is its name in the library.
    pub file: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-256.
    pub sha256: String,
    /// Other files of the model. If there are any, all are in a single wheel.
    pub parts: Vec<Part>,
    /// The wheels with the model's file: one, or several with its pieces in
    /// order. There is at least one.
    pub wheels: Vec<Wheel>,
}

/// A model as written in the catalogue: with the keys of a single wheel inline,
/// or with several wheels.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    #[serde(default)]
    kind: Kind,
    about: String,
    licence: String,
    file: String,
    size: u64,
    sha256: String,
    #[serde(default)]
    parts: Vec<Part>,
    package: Option<String>,
    version: Option<String>,
    tags: Option<String>,
    wheel_size: Option<u64>,
    wheel_sha256: Option<String>,
    #[serde(default)]
    wheels: Vec<Wheel>,
}

impl TryFrom<Entry> for Package {
    type Error = String;

    fn try_from(entry: Entry) -> Result<Self, String> {
        let name = &entry.name;
        let one = (
            entry.package,
            entry.version,
            entry.wheel_size,
            entry.wheel_sha256,
        );
        let wheels = match one {
            (Some(package), Some(version), Some(wheel_size), Some(wheel_sha256))
                if entry.wheels.is_empty() =>
            {
                vec![Wheel {
                    package,
                    version,
                    tags: entry.tags,
                    wheel_size,
                    wheel_sha256,
                    file: entry.file.clone(),
                    size: entry.size,
                    sha256: entry.sha256.clone(),
                }]
            }
            (None, None, None, None) if entry.tags.is_none() && !entry.wheels.is_empty() => {
                entry.wheels
            }
            _ => {
                return Err(format!(
                    "`{name}` needs either `package`, `version`, `wheel_size` and \
                     `wheel_sha256`, or `wheels`"
                ));
            }
        };
        Ok(Self {
            name: entry.name,
            kind: entry.kind,
            about: entry.about,
            licence: entry.licence,
            file: entry.file,
            size: entry.size,
            sha256: entry.sha256,
            parts: entry.parts,
            wheels,
        })
    }
}

/// The built-in models, in the format of the user's catalogue.
static BUILT_IN: LazyLock<Vec<Package>> = LazyLock::new(|| {
    // Tests check that it can be parsed.
    toml::from_str::<Written>(include_str!("catalogue.toml"))
        .map(|written| written.models)
        .unwrap_or_default()
});

/// The models that can be pulled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalogue {
    packages: Vec<Package>,
}

impl Default for Catalogue {
    fn default() -> Self {
        Self {
            packages: BUILT_IN.clone(),
        }
    }
}

/// A catalogue as it is stored.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    models: Vec<Package>,
}

impl Catalogue {
    /// Reads the built-in catalogue, and the user's own in this library.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is not valid.
    pub fn read(library: &Path) -> Result<Self, LibraryError> {
        let mut catalogue = Self::default();
        let path = library.join(FILE);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(catalogue),
            text => text.map_err(LibraryError::io("read", &path))?,
        };
        let wrong = |why: String| LibraryError::Damaged {
            path: path.clone(),
            why,
        };
        let written: Written =
            toml::from_str(&text).map_err(|error| wrong(format!(": {error}")))?;
        for package in written.models {
            let name = &package.name;
            package
                .check()
                .map_err(|why| wrong(format!("says of `{name}` {why}")))?;
            if catalogue.packages.iter().any(|it| it.name == *name) {
                return Err(wrong(format!("names `{name}`, which there is already")));
            }
            catalogue.packages.push(package);
        }
        Ok(catalogue)
    }

    /// All models of the catalogue.
    pub fn packages(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter()
    }

    /// The model of this name.
    ///
    /// # Errors
    ///
    /// If there is none; the error is the message for the user.
    pub fn find(&self, name: &str) -> Result<&Package, String> {
        let found = self.packages.iter().find(|it| it.name == name);
        found.ok_or_else(|| {
            let names = self.packages.iter().map(|it| it.name.as_str());
            let near = suggest::nearest(name, names);
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let known: Vec<&str> = self.packages().map(|it| it.name.as_str()).collect();
            let known = known.join(", ");
            format!(
                "no model `{name}` can be pulled{near}\n\n  There are: {known}. Any other GGUF file \
                 is fetched with `ptk models pull https://… --sha256 …`; one that you have is \
                 added with `ptk models add FILE`."
            )
        })
    }
}

impl Package {
    /// Rejects values that pip or the file system would interpret differently.
    fn check(&self) -> Result<(), String> {
        if !is_name(&self.name) {
            let error = LibraryError::BadName(self.name.clone());
            return Err(format!("a wrong name: {error}"));
        }
        let files = self.files();
        for wheel in &self.wheels {
            wheel.check()?;
        }
        for part in &files {
            check_digest(&part.sha256)?;
        }
        let mut names = HashSet::new();
        for part in &files {
            let Some(name) = part.name() else {
                return Err(format!("`{}`, which is not a file", part.file));
            };
            if !names.insert(name) || name == ENTRY {
                return Err(format!("`{}` twice", name.display()));
            }
        }
        if self.wheels.len() > 1 && !self.parts.is_empty() {
            return Err("`parts` and `wheels`, which do not go together".to_owned());
        }
        let sizes = self.wheels.iter().map(|wheel| wheel.size);
        let joined = sizes.fold(0, u64::saturating_add);
        if joined != self.size {
            return Err(format!(
                "a size of {}, and the files of its wheels have {joined} bytes",
                self.size
            ));
        }
        Ok(())
    }

    /// All files of the model, the model itself first.
    #[must_use]
    pub fn files(&self) -> Vec<Part> {
        let first = Part {
            file: self.file.clone(),
            size: self.size,
            sha256: self.sha256.clone(),
        };
        let mut files = vec![first];
        files.extend(self.parts.iter().cloned());
        files
    }

    /// The size of all files in bytes.
    #[must_use]
    pub fn whole_size(&self) -> u64 {
        let sizes = self.parts.iter().map(|part| part.size);
        sizes.fold(self.size, u64::saturating_add)
    }

    /// The size of the download in bytes.
    #[must_use]
    pub fn download_size(&self) -> u64 {
        let sizes = self.wheels.iter().map(|wheel| wheel.wheel_size);
        sizes.fold(0, u64::saturating_add)
    }

    /// The packages that contain it, with their versions.
    #[must_use]
    pub fn origin(&self) -> String {
        let first = self.wheels.first().map(Wheel::full).unwrap_or_default();
        match self.wheels.len() {
            0 | 1 => first,
            count => format!("{first} and {} more", count - 1),
        }
    }
}

impl Wheel {
    fn check(&self) -> Result<(), String> {
        let is_word = |text: &str| {
            let begins_well = text.starts_with(|c: char| c.is_ascii_alphanumeric());
            begins_well
                && text
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || ".-_+!".contains(c))
        };
        if !is_word(&self.package) || !is_word(&self.version) {
            return Err("a package or a version that cannot be".to_owned());
        }
        let tags = self.tags.iter().flat_map(|tags| tags.split('-'));
        if self.tags.is_some() && (tags.clone().count() != TAGS || !tags.clone().all(is_word)) {
            return Err("tags that no wheel has".to_owned());
        }
        check_digest(&self.wheel_sha256)?;
        check_digest(&self.sha256)
    }

    /// The package's name and version.
    pub(crate) fn full(&self) -> String {
        format!("{} {}", self.package, self.version)
    }

    /// The file in the wheel, with its size and SHA-256.
    pub(crate) fn part(&self) -> Part {
        Part {
            file: self.file.clone(),
            size: self.size,
            sha256: self.sha256.clone(),
        }
    }
}

fn check_digest(digest: &str) -> Result<(), String> {
    if is_digest(digest) {
        return Ok(());
    }
    Err(format!("`{digest}`, which is no SHA-256 in small letters"))
}

/// Whether this is a SHA-256, in lower-case hexadecimal digits.
pub(crate) fn is_digest(text: &str) -> bool {
    let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    text.len() == DIGITS && text.chars().all(is_hex)
}
