//! `ptk.toml`, the configuration. Each command reads the sections it needs; a
//! section that no command knows is an error.

mod mistakes;
mod trust;

use std::collections::BTreeMap;
use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use ptk::{ChooseFiles, Shorten, SmallModel};
use ptk_protocol::dialects::Registry;
use ptk_protocol::dialects::declared::{self, Declaration};
use ptk_tools::tools::get_diagnostics::Diagnostics;
use ptk_tools::{Sandbox, SnippetFormat, Typed, custom, tools};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;

use self::mistakes::{in_words, with_near};
use self::trust::Standing;
pub(crate) use self::trust::{Withheld, note, permissions};
use crate::args::{self, ConfigArgs, SandboxArgs};
use crate::models::{self, Models};
use crate::{code, input};

/// The name of the configuration file.
const FILE: &str = "ptk.toml";

/// All sections, each with the files that may have it.
const SECTIONS: [(&str, Standing); 14] = [
    ("run", Standing::Vetted),
    ("models", Standing::Vetted),
    ("helper", Standing::Vetted),
    ("sessions", Standing::UserOnly),
    ("dialects", Standing::Vetted),
    ("tools", Standing::Vetted),
    ("diagnostics", Standing::Vetted),
    ("snippet_format", Standing::Vetted),
    ("code_context", Standing::Vetted),
    ("sandbox", Standing::UserOnly),
    ("undo", Standing::Vetted),
    ("permissions", Standing::Vetted),
    ("pages", Standing::UserOnly),
    ("browser", Standing::UserOnly),
];

/// Settings of runs.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Run {
    /// The provider.
    pub(crate) provider: Option<String>,
    /// The model's name.
    pub(crate) model: Option<String>,
    /// The dialect in which it is taught to call tools.
    pub(crate) dialect: Option<String>,
    /// The tools that it is offered.
    pub(crate) tools: Option<Vec<String>>,
    /// The most times that it is asked.
    #[serde(default, deserialize_with = "read_positive")]
    pub(crate) max_iterations: Option<u32>,
    /// The most tool calls.
    pub(crate) max_tool_calls: Option<u32>,
    /// The timeout of a run.
    #[serde(default, deserialize_with = "read_duration")]
    pub(crate) timeout: Option<Duration>,
    /// The context window of the model in tokens.
    #[serde(default, deserialize_with = "read_positive")]
    pub(crate) context_window: Option<u32>,
    /// What to do when a conversation no longer fits.
    pub(crate) compaction: Option<CompactionName>,
}

/// The retention of sessions.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sessions {
    /// Sessions without a new entry for longer are removed.
    #[serde(default, deserialize_with = "read_duration")]
    pub(crate) max_age: Option<Duration>,
    /// Only the last sessions, up to this many, are kept.
    pub(crate) max_sessions: Option<u64>,
}

/// The section about the retention of sessions.
#[derive(Debug, Deserialize)]
struct SessionsSection {
    #[serde(default)]
    sessions: Sessions,
}

/// What to do when a conversation no longer fits.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CompactionName {
    Drop,
    Summarise,
}

pub(crate) fn read_positive<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u32>, D::Error> {
    Ok(Some(std::num::NonZeroU32::deserialize(deserializer)?.get()))
}

fn read_duration<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    struct Time;

    impl serde::de::Visitor<'_> for Time {
        type Value = Duration;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a time, such as 90 or \"5m\"")
        }

        fn visit_i64<E: serde::de::Error>(self, seconds: i64) -> Result<Duration, E> {
            self.visit_str(&seconds.to_string())
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Duration, E> {
            args::duration(text).map_err(E::custom)
        }
    }

    deserializer.deserialize_any(Time).map(Some)
}

/// The section about runs.
#[derive(Debug, Default, Deserialize)]
struct RunSection {
    #[serde(default)]
    run: Run,
}

/// The section of configured models.
#[derive(Debug, Deserialize)]
struct ModelsSection {
    #[serde(default)]
    models: BTreeMap<String, Spanned<models::Declared>>,
}

/// A small model that helps the one that answers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Helper {
    /// Its name in `[models]`.
    pub(crate) model: String,
    /// Whether it chooses files before the main model is asked.
    #[serde(default)]
    choose_files: bool,
    /// Results with more tokens are shortened by it.
    shorten_above: Option<u64>,
    /// Its timeout for each request.
    #[serde(default, deserialize_with = "read_duration")]
    timeout: Option<Duration>,
}

impl Helper {
    /// Builds the helper from its model.
    pub(crate) fn of(&self, model: ptk::Model) -> SmallModel {
        let mut small = SmallModel::of(model);
        if self.choose_files {
            small = small.choosing_files(ChooseFiles::default());
        }
        if let Some(above) = self.shorten_above {
            small = small.shortening(Shorten {
                above,
                ..Shorten::default()
            });
        }
        match self.timeout {
            Some(time) => small.timeout(time),
            None => small,
        }
    }
}

/// The section of the helper model.
#[derive(Debug, Deserialize)]
struct HelperSection {
    helper: Option<Helper>,
}

/// The sections of declared dialects.
#[derive(Debug, Deserialize)]
struct DialectSections {
    #[serde(default)]
    dialects: Vec<Spanned<Declaration>>,
}

/// The sections of tools, and how they work.
#[derive(Debug, Deserialize)]
struct ToolSections {
    #[serde(default)]
    tools: Vec<Spanned<custom::Declaration>>,
    #[serde(default)]
    diagnostics: Diagnostics,
    #[serde(default)]
    snippet_format: SnippetFormat,
    #[serde(default)]
    code_context: CodeContext,
}

/// Settings of the code context tool.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct CodeContext {
    /// The token limit of one call.
    token_limit: Option<NonZero<u64>>,
}

/// The section of the sandbox.
#[derive(Debug, Deserialize)]
struct SandboxSection {
    #[serde(default)]
    sandbox: Sandbox,
}

/// The section of undo.
#[derive(Debug, Deserialize)]
struct UndoSections {
    #[serde(default)]
    undo: ptk_undo::Options,
}

/// The section of permissions.
#[derive(Debug, Deserialize)]
struct PermissionSections {
    #[serde(default)]
    permissions: ptk_permission::Declaration,
}

/// A configuration file, or an empty one.
#[derive(Debug, Default)]
pub(crate) struct Config {
    path: PathBuf,
    text: String,
    /// Whether the user named the file, rather than it being found in the
    /// workspace.
    is_named: bool,
}

/// The available tools.
pub(crate) struct Tools {
    pub(crate) registry: ptk_tools::Registry,
    pub(crate) snippet_format: SnippetFormat,
    /// Names of the declared tools.
    pub(crate) declared: Vec<String>,
    /// Names of tools that are declared in an untrusted file.
    pub(crate) untrusted: Vec<String>,
}

/// Reads the file of `--config` or `PTK_CONFIG`, or else the workspace's
/// `ptk.toml`, if there is one.
pub(crate) fn read(args: &ConfigArgs) -> Result<Config> {
    if let Some(path) = named(args) {
        let text = input::read_file(&path).context("configuration")?;
        return Ok(Config {
            path,
            text,
            is_named: true,
        });
    }
    let path = match workspace(args) {
        Some(folder) => {
            ensure!(
                folder.is_dir(),
                "the workspace {} is not a folder",
                folder.display()
            );
            folder.join(FILE)
        }
        None => PathBuf::from(FILE),
    };
    Config::at(path)
}

/// The sandbox settings: flags first, then the user's own configuration. A
/// workspace's `ptk.toml` is not used, because it may come from someone else.
pub(crate) fn sandbox(args: &SandboxArgs, config: &ConfigArgs) -> Result<Sandbox> {
    let section = if named(config).is_some() {
        read(config)?
    } else {
        read(config)?.refuse("sandbox", "what its own commands may do")?;
        user()?
    };
    let SandboxSection { sandbox } = section.sections()?;
    Ok(Sandbox {
        enabled: sandbox.enabled && !args.no_sandbox,
        network: sandbox.network || args.network,
        ..sandbox
    })
}

/// Sections that only the user's own configuration may have, each with a
/// description for the error.
#[cfg(feature = "browser")]
pub(crate) fn own<S: DeserializeOwned>(args: &ConfigArgs, sections: &[(&str, &str)]) -> Result<S> {
    let config = read(args)?;
    if config.is_named {
        return config.sections();
    }
    for (section, what) in sections {
        config.refuse(section, what)?;
    }
    user()?.sections()
}

/// The undo settings. A workspace's `ptk.toml` is used only if it is trusted.
pub(crate) fn undo(config: &Config, is_trusted: bool) -> Result<ptk_undo::Options> {
    if config.has("undo")? {
        let own = config.undo()?;
        if is_trusted {
            return Ok(own);
        }
    }
    user()?.undo()
}

/// The settings of runs: the workspace's first, then the user's own. [`trust`]
/// decides which settings of an untrusted file count.
pub(crate) fn run(config: &Config, is_trusted: bool) -> Result<Run> {
    let RunSection { run: own } = config.sections()?;
    let RunSection { run: user } = if config.is_named {
        RunSection::default()
    } else {
        user()?.sections()?
    };
    let own = if is_trusted {
        own
    } else {
        trust::run(own, &user, &mut Vec::new())
    };
    Ok(Run {
        provider: own.provider.or(user.provider),
        model: own.model.or(user.model),
        dialect: own.dialect.or(user.dialect),
        tools: own.tools.or(user.tools),
        max_iterations: own.max_iterations.or(user.max_iterations),
        max_tool_calls: own.max_tool_calls.or(user.max_tool_calls),
        timeout: own.timeout.or(user.timeout),
        context_window: own.context_window.or(user.context_window),
        compaction: own.compaction.or(user.compaction),
    })
}

/// The configured models: the user's own, and those of a trusted workspace,
/// because prompts are sent to them.
pub(crate) fn models(config: &Config, is_trusted: bool) -> Result<Models> {
    let mut models = Models::default();
    if !config.is_named {
        user()?.declare(&mut models)?;
    }
    let mut own = Models::default();
    config.declare(&mut own)?;
    if is_trusted {
        models.extend(own);
    }
    Ok(models)
}

/// The helper model: that of a trusted workspace, or the user's own.
pub(crate) fn helper(config: &Config, is_trusted: bool) -> Result<Option<Helper>> {
    let HelperSection { helper: own } = config.sections()?;
    let own = own.filter(|_| is_trusted);
    if own.is_some() || config.is_named {
        return Ok(own);
    }
    let HelperSection { helper } = user()?.sections()?;
    Ok(helper)
}

/// The retention of sessions. A workspace's file is not used.
pub(crate) fn sessions(args: &ConfigArgs) -> Result<Sessions> {
    let config = read(args)?;
    let section = if config.is_named {
        config
    } else {
        config.refuse("sessions", "how long yours are kept")?;
        user()?
    };
    let SessionsSection { sessions } = section.sections()?;
    Ok(sessions)
}

/// The user's own configuration, or none.
fn user() -> Result<Config> {
    let folder = variable("XDG_CONFIG_HOME").filter(|folder| folder.is_absolute());
    let folder = folder.or_else(|| Some(std::env::home_dir()?.join(".config")));
    let Some(folder) = folder else {
        return Ok(Config::default());
    };
    Config::at(folder.join("ptk").join(FILE))
}

/// The configuration that was named, if one was.
fn named(args: &ConfigArgs) -> Option<PathBuf> {
    args.config.clone().or_else(|| variable("PTK_CONFIG"))
}

/// The workspace that was named, if one was.
pub(crate) fn workspace(args: &ConfigArgs) -> Option<PathBuf> {
    args.workspace.clone().or_else(|| variable("PTK_WORKSPACE"))
}

fn variable(name: &str) -> Option<PathBuf> {
    let value = std::env::var_os(name).filter(|value| !value.is_empty());
    value.map(PathBuf::from)
}

/// The dialects for commands that run nothing: the built-in ones, and those
/// declared in any file.
pub(crate) fn dialects(args: &ConfigArgs) -> Result<Registry> {
    read(args)?.dialects()
}

fn is_missing(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
}

impl Config {
    /// Reads the file at this path, or returns an empty configuration.
    fn at(path: PathBuf) -> Result<Self> {
        match input::read_file(&path) {
            Ok(text) => Ok(Self {
                path,
                text,
                is_named: false,
            }),
            Err(error) if is_missing(&error) => Ok(Self::default()),
            Err(error) => Err(error.context("configuration")),
        }
    }

    /// The path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the user named it.
    pub(crate) fn is_named(&self) -> bool {
        self.is_named
    }

    /// Whether there is a section of this name.
    pub(crate) fn has(&self, section: &str) -> Result<bool> {
        let all: BTreeMap<String, toml::Value> = self.parsed()?;
        Ok(all.contains_key(section))
    }

    /// Rejects a section by which a workspace would grant itself more.
    fn refuse(&self, section: &str, what: &str) -> Result<()> {
        debug_assert!(SECTIONS.contains(&(section, Standing::UserOnly)));
        let all: BTreeMap<Spanned<String>, toml::Value> = self.parsed()?;
        let found = all.into_keys().find(|name| name.get_ref() == section);
        match found {
            None => Ok(()),
            Some(name) => Err(anyhow!(
                "{}: a workspace cannot say {what}; write [{section}] into ptk/{FILE} in your configuration folder (~/.config), or name the file with --config",
                self.place(name.span().start)
            )),
        }
    }

    /// Parses the sections that a command needs; errors in others are ignored.
    fn sections<S: DeserializeOwned>(&self) -> Result<S> {
        self.known_only()?;
        self.parsed()
    }

    fn parsed<T: DeserializeOwned>(&self) -> Result<T> {
        toml::from_str(&self.text).map_err(|error| {
            let place = self.place(error.span().map_or(0, |span| span.start));
            anyhow!("{place}: {}", with_near(&in_words(error.message())))
        })
    }

    /// Rejects unknown sections, which are most often misspelt.
    fn known_only(&self) -> Result<()> {
        let all: BTreeMap<Spanned<String>, toml::Value> = self.parsed()?;
        let stranger = all
            .into_keys()
            .filter(|name| SECTIONS.iter().all(|(known, _)| known != name.get_ref()))
            .min_by_key(|name| name.span().start);
        let Some(stranger) = stranger else {
            return Ok(());
        };
        let (place, name) = (self.place(stranger.span().start), stranger.get_ref());
        let known = SECTIONS.map(|(known, _)| format!("`{known}`")).join(", ");
        let message = format!("unknown section `{name}`, expected one of {known}");
        Err(anyhow!("{place}: {}", with_near(&message)))
    }

    /// A position in the file, for an error message.
    fn place(&self, offset: usize) -> String {
        let before = self.text.get(..offset).unwrap_or(&self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        format!("{}:{line}:{column}", self.path.display())
    }

    /// The dialects for replies whose calls are run: a declared one may take a
    /// quotation for a call, so it counts only in a trusted file.
    pub(crate) fn dialects_to_run(&self, is_trusted: bool) -> Result<Registry> {
        let all = self.dialects()?;
        Ok(if is_trusted { all } else { Registry::builtin() })
    }

    /// The built-in dialects, and the declared ones.
    fn dialects(&self) -> Result<Registry> {
        let DialectSections { dialects } = self.sections()?;
        let starts: Vec<usize> = dialects.iter().map(|it| it.span().start).collect();
        let declarations: Vec<Declaration> =
            dialects.into_iter().map(Spanned::into_inner).collect();
        declared::register(Registry::builtin(), &declarations).map_err(|error| {
            let start = starts.get(error.index).copied().unwrap_or(0);
            anyhow!("{}: {error}", self.place(start))
        })
    }

    /// Adds the models that the file declares.
    fn declare(&self, models: &mut Models) -> Result<()> {
        let section: ModelsSection = self.sections()?;
        for (name, declared) in section.models {
            let place = self.place(declared.span().start);
            models.add(name, declared.into_inner(), place);
        }
        Ok(())
    }

    /// The undo settings of the file.
    fn undo(&self) -> Result<ptk_undo::Options> {
        let UndoSections { undo } = self.sections()?;
        Ok(undo)
    }

    /// The permissions that the file declares.
    pub(crate) fn permissions(&self) -> Result<ptk_permission::Declaration> {
        let PermissionSections { permissions } = self.sections()?;
        permissions.entries(FILE).map_err(|error| {
            let start = self.text.find(error.rule()).unwrap_or_default();
            anyhow!("{}: {error}", self.place(start))
        })?;
        Ok(permissions)
    }

    /// A hash of the content: trust applies to this content only.
    pub(crate) fn fingerprint(&self) -> String {
        blake3::hash(self.text.as_bytes()).to_hex().to_string()
    }

    /// The display name of the file.
    pub(crate) fn name(&self) -> String {
        if self.path.as_os_str().is_empty() {
            return FILE.to_owned();
        }
        self.path.display().to_string()
    }

    /// The built-in tools and the declared ones, and how they show code.
    /// Declared ones count only in a trusted file.
    pub(crate) fn tools(&self, is_trusted: bool) -> Result<Tools> {
        let mut sections: ToolSections = self.sections()?;
        if !is_trusted {
            let withheld = &mut Vec::new();
            sections.diagnostics = trust::diagnostics(sections.diagnostics, withheld);
            sections.code_context = trust::code_context(&sections.code_context, withheld);
        }
        let mut registry = tools::all(sections.diagnostics)?;
        registry.register(Typed::new(code::tool(sections.code_context.token_limit)))?;
        let (mut added, mut untrusted) = (Vec::new(), Vec::new());
        for declared in sections.tools {
            let start = declared.span().start;
            let place = || self.place(start);
            let tool = declared.into_inner().into_tool();
            let tool = tool.map_err(|error| anyhow!("{}: {error}", place()))?;
            if !is_trusted {
                untrusted.push(tool.spec().name.clone());
                continue;
            }
            added.push(tool.spec().name.clone());
            let registered = registry.register_shared(Arc::from(tool));
            registered.map_err(|error| anyhow!("{}: {error}", place()))?;
        }
        Ok(Tools {
            registry,
            snippet_format: sections.snippet_format,
            declared: added,
            untrusted,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Registry> {
        let config = Config {
            path: PathBuf::from("ptk.toml"),
            text: text.to_owned(),
            is_named: false,
        };
        config.dialects()
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
            let config = Config {
                path: PathBuf::from("ptk.toml"),
                text: line.to_owned(),
                is_named: true,
            };
            let error = run(&config, true).map(drop).unwrap_err();
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
                "ptk.toml:2:3: unknown section `dialect`, expected one of `run`, `models`, `helper`, `sessions`, `dialects`, `tools`, `diagnostics`, `snippet_format`, `code_context`, `sandbox`, `undo`, `permissions`, `pages`, `browser`; did you mean `dialects`?",
            ),
            (
                "[model]\nname = \"a\"\n",
                "ptk.toml:1:2: unknown section `model`, expected one of `run`, `models`, `helper`, `sessions`, `dialects`, `tools`, `diagnostics`, `snippet_format`, `code_context`, `sandbox`, `undo`, `permissions`, `pages`, `browser`",
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
