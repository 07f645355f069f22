//! Reads and parses one configuration file.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use ptk_protocol::dialects::Registry;
use ptk_protocol::dialects::declared::{self, Declaration};
use ptk_tools::tools::get_diagnostics::Diagnostics;
use ptk_tools::{Sandbox, SnippetFormat, custom};
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, ValueDeserializer};

#[cfg(feature = "mcp")]
use super::mcp::{Mcp, ProjectFile};
use super::mistakes::{in_words, with_suggestion};
use super::models::{DeclaredModel, DeclaredModels};
#[cfg(feature = "browser")]
use super::sections::BrowserOptions;
use super::sections::{CodeContext, Helper, Limits, Run, Sessions};
use crate::dialect_file;
use crate::input;

/// The name of the configuration file.
pub(super) const FILE: &str = "ptk.toml";

/// Which files may have a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// A workspace's file, for each setting as [`trust`](super::trust) decides.
    Vetted,
    /// Only the user's own file: commands reject it in a workspace's, trusted
    /// or not.
    UserOnly,
}

/// All sections, each with the files that may have it.
const SECTIONS: [(&str, Standing); 16] = [
    ("run", Standing::Vetted),
    ("limits", Standing::Vetted),
    ("models", Standing::Vetted),
    ("helper", Standing::Vetted),
    ("sessions", Standing::UserOnly),
    ("dialects", Standing::Vetted),
    ("tools", Standing::Vetted),
    ("mcp", Standing::Vetted),
    ("diagnostics", Standing::Vetted),
    ("snippet_format", Standing::Vetted),
    ("code_context", Standing::Vetted),
    ("sandbox", Standing::UserOnly),
    ("undo", Standing::Vetted),
    ("permissions", Standing::Vetted),
    ("pages", Standing::UserOnly),
    ("browser", Standing::UserOnly),
];

/// A parsed configuration file, or an empty one.
#[derive(Debug)]
pub(super) struct ConfigFile {
    text: ConfigText,
    pub(super) sections: Sections,
    /// The project's file with MCP servers, which is trusted with this one.
    #[cfg(feature = "mcp")]
    pub(super) project: Option<ProjectFile>,
}

/// The sections of a file.
#[derive(Debug)]
pub(super) struct Sections {
    pub(super) run: Section<Run>,
    pub(super) limits: Section<Limits>,
    pub(super) models: Section<BTreeMap<String, Spanned<DeclaredModel>>>,
    pub(super) helper: Section<Helper>,
    pub(super) sessions: Section<Sessions>,
    pub(super) dialects: Section<Vec<Spanned<Declaration>>>,
    pub(super) tools: Section<Vec<Spanned<custom::Declaration>>>,
    #[cfg(feature = "mcp")]
    pub(super) mcp: Section<Mcp>,
    pub(super) diagnostics: Section<Diagnostics>,
    pub(super) snippet_format: Section<SnippetFormat>,
    pub(super) code_context: Section<CodeContext>,
    pub(super) sandbox: Section<Sandbox>,
    pub(super) undo: Section<ptk_undo::Options>,
    pub(super) permissions: Section<ptk_permission::Declaration>,
    #[cfg(feature = "browser")]
    pub(super) pages: Section<Vec<ptk_browser::Page>>,
    #[cfg(feature = "browser")]
    pub(super) browser: Section<BrowserOptions>,
}

/// A section, or why it cannot be used. Only commands that need the section
/// fail with the reason.
#[derive(Debug)]
pub(super) struct Section<T> {
    name: &'static str,
    /// The position of its name, if the file has it.
    place: Option<String>,
    value: Result<Option<T>, String>,
}

impl<T: Clone> Section<T> {
    /// The section, if the file has it.
    pub(super) fn get(&self) -> Result<Option<T>> {
        self.value.clone().map_err(anyhow::Error::msg)
    }

    /// The section, or the default one if the file does not have it.
    pub(super) fn get_or_default(&self) -> Result<T>
    where
        T: Default,
    {
        Ok(self.get()?.unwrap_or_default())
    }

    /// Fails if the file has the section, by which a workspace would grant
    /// itself more.
    pub(super) fn refuse(&self, what: &str) -> Result<()> {
        let section = self.name;
        debug_assert!(SECTIONS.contains(&(section, Standing::UserOnly)));
        if let Some(place) = &self.place {
            bail!(
                "{place}: a workspace cannot say {what}; write [{section}] into ptk/{FILE} in your configuration folder (~/.config), or name the file with --config"
            );
        }
        Ok(())
    }
}

impl ConfigFile {
    /// Reads and parses the file at this path.
    pub(super) fn read(path: PathBuf) -> Result<Self> {
        let text = input::read_file(&path).map_err(|error| error.context("configuration"))?;
        Self::parse(path, text)
    }

    /// Reads and parses the file at this path, or returns an empty one if there
    /// is none.
    pub(super) fn read_if_there(path: PathBuf) -> Result<Self> {
        match Self::read(path) {
            Err(error) if is_missing(&error) => Self::empty(),
            file => file,
        }
    }

    /// A file without settings.
    pub(super) fn empty() -> Result<Self> {
        Self::parse(PathBuf::new(), String::new())
    }

    pub(super) fn parse(path: PathBuf, text: String) -> Result<Self> {
        let text = ConfigText { path, text };
        let sections = Sections::parse(&text)?;
        Ok(Self {
            text,
            sections,
            #[cfg(feature = "mcp")]
            project: None,
        })
    }

    /// The same file, with what else of the folder is trusted with it.
    #[cfg(feature = "mcp")]
    pub(super) fn with_project(mut self, folder: &Path) -> Result<Self> {
        self.project = ProjectFile::find(folder)?;
        Ok(self)
    }

    /// Without MCP, nothing else is trusted with it.
    #[cfg(not(feature = "mcp"))]
    #[expect(clippy::unnecessary_wraps, reason = "with MCP it can fail")]
    pub(super) fn with_project(self, _folder: &Path) -> Result<Self> {
        Ok(self)
    }

    /// The path of the file; empty if there is none.
    pub(super) fn path(&self) -> &Path {
        &self.text.path
    }

    /// The display name of the file.
    pub(super) fn name(&self) -> String {
        if self.path().as_os_str().is_empty() {
            return FILE.to_owned();
        }
        self.path().display().to_string()
    }

    /// The name of what is trusted, for people.
    pub(super) fn trusted_name(&self) -> String {
        #[cfg(feature = "mcp")]
        if self.project.is_some() {
            let project = ptk_mcp::PROJECT_FILE;
            return if self.path().as_os_str().is_empty() {
                project.to_owned()
            } else {
                format!("{} with {project}", self.name())
            };
        }
        self.name()
    }

    /// A hash of the content: trust applies to this content only.
    pub(super) fn fingerprint(&self) -> String {
        let mut hash = blake3::Hasher::new();
        hash.update(self.text.text.as_bytes());
        #[cfg(feature = "mcp")]
        if let Some(project) = &self.project {
            hash.update(b"\0");
            hash.update(project.text().as_bytes());
        }
        hash.finalize().to_hex().to_string()
    }

    /// The position of a byte, for an error message.
    pub(super) fn place(&self, offset: usize) -> String {
        self.text.place(offset)
    }
}

/// The sections whose values refer to positions in the file.
impl ConfigFile {
    /// The models that the file declares.
    pub(super) fn models(&self) -> Result<DeclaredModels> {
        let models = self.sections.models.get_or_default()?.into_iter();
        let models = models.map(|(name, declared)| {
            let place = self.text.place(declared.span().start);
            let mut declared = declared.into_inner();
            self.anchor(&mut declared.dialect);
            (name, (declared, place))
        });
        Ok(models.collect())
    }

    /// The settings of runs.
    pub(super) fn run(&self) -> Result<Run> {
        let mut run = self.sections.run.get_or_default()?;
        self.anchor(&mut run.dialect);
        Ok(run)
    }

    /// Takes the path of a dialect from this file's folder.
    fn anchor(&self, dialect: &mut Option<String>) {
        if let Some(name) = dialect {
            *name = dialect_file::from_folder(name, self.path());
        }
    }

    /// The built-in dialects, and those that the file declares.
    pub(super) fn dialects(&self) -> Result<Registry> {
        let dialects = self.sections.dialects.get_or_default()?;
        let starts: Vec<usize> = dialects.iter().map(|it| it.span().start).collect();
        let declarations: Vec<Declaration> =
            dialects.into_iter().map(Spanned::into_inner).collect();
        declared::register(Registry::builtin(), &declarations).map_err(|error| {
            let start = starts.get(error.index).copied().unwrap_or(0);
            anyhow!("{}: {error}", self.text.place(start))
        })
    }

    /// The permissions that the file declares.
    pub(super) fn permissions(&self) -> Result<ptk_permission::Declaration> {
        let permissions = self.sections.permissions.get_or_default()?;
        permissions.entries(FILE).map_err(|error| {
            let start = self.text.text.find(error.rule()).unwrap_or_default();
            anyhow!("{}: {error}", self.text.place(start))
        })?;
        Ok(permissions)
    }
}

impl Sections {
    /// Parses a file. Mistakes in the TOML itself are errors at once; those in a
    /// section are kept with it.
    fn parse(text: &ConfigText) -> Result<Self> {
        let table = DeTable::parse(&text.text)
            .map_err(|error| anyhow::Error::msg(text.mistake(&error, 0)))?
            .into_inner();
        let unknown = unknown_section(&table, text);
        let mut reader = SectionReader {
            text,
            table,
            unknown,
        };
        Ok(Self {
            run: reader.take("run"),
            limits: reader.take("limits"),
            models: reader.take("models"),
            helper: reader.take("helper"),
            sessions: reader.take("sessions"),
            dialects: reader.take("dialects"),
            tools: reader.take("tools"),
            #[cfg(feature = "mcp")]
            mcp: reader.take("mcp"),
            diagnostics: reader.take("diagnostics"),
            snippet_format: reader.take("snippet_format"),
            code_context: reader.take("code_context"),
            sandbox: reader.take("sandbox"),
            undo: reader.take("undo"),
            permissions: reader.take("permissions"),
            #[cfg(feature = "browser")]
            pages: reader.take("pages"),
            #[cfg(feature = "browser")]
            browser: reader.take("browser"),
        })
    }
}

/// Takes the sections out of a parsed file.
struct SectionReader<'t> {
    text: &'t ConfigText,
    table: DeTable<'t>,
    /// The error about an unknown section, which every command fails with.
    unknown: Option<String>,
}

impl SectionReader<'_> {
    fn take<T: DeserializeOwned>(&mut self, name: &'static str) -> Section<T> {
        let (place, value) = match self.table.remove_entry(name) {
            None => (None, Ok(None)),
            Some((key, value)) => {
                let start = value.span().start;
                let value = T::deserialize(ValueDeserializer::from(value));
                (
                    Some(self.text.place(key.span().start)),
                    value
                        .map(Some)
                        .map_err(|error| self.text.mistake(&error, start)),
                )
            }
        };
        Section {
            name,
            place,
            value: match &self.unknown {
                Some(unknown) => Err(unknown.clone()),
                None => value,
            },
        }
    }
}

/// The error about the first section that no command knows, which is most often
/// misspelt.
fn unknown_section(table: &DeTable<'_>, text: &ConfigText) -> Option<String> {
    let is_known = |name: &str| SECTIONS.iter().any(|(known, _)| *known == name);
    let unknown = table.keys().filter(|name| !is_known(name.get_ref()));
    let name = unknown.min_by_key(|name| name.span().start)?;
    let quoted = SECTIONS.map(|(known, _)| format!("`{known}`")).join(", ");
    let (place, name) = (text.place(name.span().start), name.get_ref());
    let message = format!("{place}: unknown section `{name}`, expected one of {quoted}");
    let known = SECTIONS.iter().map(|(known, _)| *known);
    Some(with_suggestion(&message, name, known))
}

/// The text of a file, and where it is from.
#[derive(Debug)]
struct ConfigText {
    path: PathBuf,
    text: String,
}

impl ConfigText {
    /// A mistake with its position, or `start` if it has none.
    fn mistake(&self, error: &toml::de::Error, start: usize) -> String {
        let place = self.place(error.span().map_or(start, |span| span.start));
        format!("{place}: {}", in_words(error.message()))
    }

    fn place(&self, offset: usize) -> String {
        let before = self.text.get(..offset).unwrap_or(&self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        format!("{}:{line}:{column}", self.path.display())
    }
}

fn is_missing(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Registry> {
        parse(text)?.dialects()
    }

    fn parse(text: &str) -> Result<ConfigFile> {
        ConfigFile::parse(PathBuf::from("ptk.toml"), text.to_owned())
    }

    #[test]
    fn sections_of_other_commands_are_ignored() {
        let registry = read("[diagnostics]\nx = 1\n[[dialects]]\nname = \"a\"\nopen = [\"<a>\"]\n");
        assert!(registry.unwrap().get("a").is_ok());
        assert!(read("").is_ok());
    }

    #[test]
    fn mistakes_are_told_in_words_for_people() {
        for (line, expected) in [
            ("run = 3", "1:7: expected a section, and not the number `3`"),
            (
                "[run]\ntimeout = true",
                "2:11: expected a time, such as 90 or \"5m\", and not `true`",
            ),
            (
                "[run]\ntimeout = -1",
                "2:11: expected number at 0; write it as 90s, 5m or 1h30m",
            ),
            (
                "[run]\nmax_iterations = 0",
                "2:18: expected a whole number from 1 to 4294967295, and not the number `0`",
            ),
            (
                "[run]\nmax_tool_calls = \"x\"",
                "2:18: expected a whole number from 0 to 4294967295, and not the text \"x\"",
            ),
            (
                "[run]\ntools = \"a\"",
                "2:9: expected a list, and not the text \"a\"",
            ),
            (
                "[run]\ncompaction = \"sum\"",
                "2:14: unknown value `sum`, expected `drop` or `summarise`; did you mean `summarise`?",
            ),
            ("[run]\ncompaction = 3", "2:14: expected a name"),
        ] {
            let error = parse(line).unwrap().sections.run.get().unwrap_err();
            assert_eq!(format!("{error:#}"), format!("ptk.toml:{expected}"));
        }
    }

    #[test]
    fn mistakes_are_placed() {
        for (text, expected) in [
            ("a = \n", "ptk.toml:1:5: "),
            (
                "\n[[dialects]]\nname = \"a\"\nopen = \"<a>\"\n",
                "ptk.toml:4:8: expected a list, and not the text \"<a>\"",
            ),
            (
                "[[dialects]]\nname = \"a\"\nopen = [\"<a>\"]\nbody = \"xml\"\n",
                "ptk.toml:4:8: unknown value `xml`, expected one of `json`, `name-json`, `tags`, `python`",
            ),
            (
                "[[dialects]]\nname = \"a\"\nopen = [\"<a>\"]\ncolour = 1\n",
                "ptk.toml:4:1: unknown field `colour`",
            ),
            (
                "\n[[dialect]]\nname = \"a\"\n",
                "ptk.toml:2:3: unknown section `dialect`, expected one of `run`, `limits`, `models`, `helper`, `sessions`, `dialects`, `tools`, `mcp`, `diagnostics`, `snippet_format`, `code_context`, `sandbox`, `undo`, `permissions`, `pages`, `browser`; did you mean `dialects`?",
            ),
            (
                "[model]\nname = \"a\"\n",
                "ptk.toml:1:2: unknown section `model`, expected one of `run`, `limits`, `models`, `helper`, `sessions`, `dialects`, `tools`, `mcp`, `diagnostics`, `snippet_format`, `code_context`, `sandbox`, `undo`, `permissions`, `pages`, `browser`",
            ),
            (
                "[[dialects]]\nname = \"a\"\nopen = [\"<a>\"]\n\n[[dialects]]\nname = \"b\"\nopen = [\"x\"]\n",
                "ptk.toml:5:1: dialect `b`: the mark \"x\" in `open`",
            ),
        ] {
            let error = format!("{:#}", read(text).unwrap_err());
            assert!(error.starts_with(expected), "{text}\n{error}");
        }
    }
}
