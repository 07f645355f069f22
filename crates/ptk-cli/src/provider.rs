//! Models by the names that `--provider` takes.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use ptk::llm::http::{ConnectError, Connection, HttpProvider, SERVICES, Service};
use ptk::llm::{CommandProvider, Provider, Script};

use crate::config::Settings;
use crate::exit;
use crate::models::FoundModel;
use crate::provider_name::{BROWSER, COMMAND, LOCAL, SCRIPT, storable};
use crate::setup::{Found, KeyedService};
use crate::view::clean::in_line;
use crate::view::{Screen, fitting};

/// The provider and the name of a model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ModelSource<'a> {
    /// The name of the provider.
    pub(crate) provider: &'a str,
    pub(crate) model: Option<&'a str>,
    /// Its address, if it is not the default.
    pub(crate) address: Option<&'a str>,
    /// The variable that holds the key, if it is not the default.
    pub(crate) key: Option<&'a str>,
    /// The configured context window in tokens.
    #[cfg_attr(
        not(feature = "local"),
        expect(dead_code, reason = "only models in files are told")
    )]
    pub(crate) context_window: Option<u32>,
    /// The settings of pages, for a model behind one.
    pub(crate) settings: &'a Settings,
    /// The screen that shows the progress of loading.
    #[cfg_attr(
        not(feature = "local"),
        expect(dead_code, reason = "only models in files are told")
    )]
    pub(crate) screen: Option<&'a Screen>,
}

/// The provider for a model. The first `given` replies of a script are skipped.
pub(crate) fn at(source: ModelSource<'_>, given: usize) -> Result<Arc<dyn Provider>> {
    let (name, model) = (source.provider, source.model);
    if let Some(page) = name.strip_prefix(BROWSER) {
        return behind(page, source.settings);
    }
    if name == LOCAL {
        return on_this_machine(source);
    }
    if let Some(file) = name.strip_prefix(SCRIPT) {
        let script = Script::open(Path::new(file));
        let script = script.map_err(|error| anyhow!("--provider {name}: {error}"))?;
        return Ok(Arc::new(script.skip(given)));
    }
    if let Some(line) = name.strip_prefix(COMMAND) {
        let command = CommandProvider::parse(line);
        let command = command.ok_or_else(|| {
            anyhow!("--provider {name}: the command is empty, or a quote is not closed")
        })?;
        return Ok(Arc::new(command));
    }
    let connection = Connection {
        provider: name,
        model,
        address: source.address,
        key_variable: source.key,
    };
    Ok(Arc::new(connected(&connection)?))
}

/// A connection to a server. An error says what to do about it.
pub(crate) fn connected(connection: &Connection<'_>) -> Result<HttpProvider> {
    connection.open().map_err(in_words)
}

/// Whether a provider is a server, and not a program, a page or a file.
pub(crate) fn is_server(provider: &str) -> bool {
    let others = [BROWSER, SCRIPT, COMMAND];
    provider != LOCAL && !others.iter().any(|prefix| provider.starts_with(prefix))
}

/// The model that a server has, where none was named. `only` is the service that
/// was taken because no other key is known.
pub(crate) fn found(
    provider: &str,
    model: Option<&str>,
    only: Option<&KeyedService>,
) -> Option<FoundModel> {
    let name = model.filter(|_| is_server(provider))?;
    let shown = fitting(&in_line(name), MAX_NAME);
    let default = Service::named(provider).filter(|it| it.needs_key && it.default_model == model);
    let note = match (only, default) {
        (Some(only), _) => format!(
            "No model is chosen; using {shown} of {}, because {}. `ptk setup` chooses another.",
            only.service.title,
            only.source.described()
        ),
        (None, Some(service)) => format!(
            "No model is named; using {shown}, the default for {}. --model names another.",
            service.name
        ),
        (None, None) => {
            let server = in_line(&storable(provider));
            format!("No model is named; using {shown}, the only one of {server}.")
        }
    };
    Some(FoundModel {
        name: name.to_owned(),
        is_default: default.is_some(),
        note,
    })
}

/// An error of a connection, with what to do about it on the command line.
fn in_words(error: ConnectError) -> anyhow::Error {
    match error {
        ConnectError::Unknown { .. } => unknown(&error),
        ConnectError::NoKey {
            ref provider,
            can_be_stored: true,
            ..
        } => anyhow!("{error}, or keep one with `ptk keys set {provider}`"),
        ConnectError::KeyInCleartext { .. } => {
            anyhow!("{error}, or name a key for that server with key_variable in [models]")
        }
        ConnectError::SeveralModels { ref provider, .. } => anyhow!(
            "{error} with --model, or in PTK_MODEL; `ptk models list --provider {}` lists them all",
            storable(provider)
        ),
        ConnectError::NoModel { .. } => anyhow!("{error} with --model, or in PTK_MODEL"),
        error => error.into(),
    }
}

#[cfg(feature = "browser")]
fn behind(page: &str, settings: &Settings) -> Result<Arc<dyn Provider>> {
    crate::pages::provider(page, settings)
}

#[cfg(not(feature = "browser"))]
fn behind(page: &str, _: &Settings) -> Result<Arc<dyn Provider>> {
    anyhow::bail!(
        "--provider {BROWSER}{page}: this ptk was built without a browser; build it with \
         `cargo build --release --features browser`"
    )
}

#[cfg(feature = "local")]
fn on_this_machine(source: ModelSource<'_>) -> Result<Arc<dyn Provider>> {
    crate::local::provider(source.model, source.context_window, source.screen)
}

#[cfg(not(feature = "local"))]
fn on_this_machine(_: ModelSource<'_>) -> Result<Arc<dyn Provider>> {
    anyhow::bail!(
        "--provider {LOCAL}: this ptk was built without llama.cpp; build it with \
         `cargo build --release --features local`"
    )
}

/// The provider if none is given: local for a GGUF file, or if exactly one
/// local model is installed.
pub(crate) fn assumed(model: Option<&str>) -> Option<&'static str> {
    match model {
        Some(name) => {
            let end = Path::new(name).extension();
            end.is_some_and(|end| end == "gguf").then_some(LOCAL)
        }
        None => is_one_here().then_some(LOCAL),
    }
}

#[cfg(feature = "local")]
fn is_one_here() -> bool {
    crate::local::installed() == 1
}

#[cfg(not(feature = "local"))]
const fn is_one_here() -> bool {
    false
}

/// Whether local models are installed, which could be chosen.
#[cfg(feature = "local")]
pub(crate) fn has_local_models() -> bool {
    crate::local::installed() > 0
}

#[cfg(not(feature = "local"))]
pub(crate) const fn has_local_models() -> bool {
    false
}

fn unknown(error: &ConnectError) -> anyhow::Error {
    let known: Vec<&str> = SERVICES.iter().map(|service| service.name).collect();
    let local = if cfg!(feature = "local") {
        format!("{LOCAL}, ")
    } else {
        String::new()
    };
    exit::wrong_usage(format!(
        "{error}\n\n  There are: {}, the address of a server that \
         speaks as OpenAI's does, such as http://127.0.0.1:8080/v1, one of these names and the \
         address of a server that speaks as it does, such as completion:http://127.0.0.1:8080/v1, \
         {local}{COMMAND}COMMAND, {BROWSER}PAGE and {SCRIPT}FILE.",
        known.join(", ")
    ))
}

/// The most columns of a model's name: it may be the text of a stranger.
const MAX_NAME: usize = 120;

/// No model is chosen.
#[derive(Debug, thiserror::Error)]
#[error(
    "no model is chosen; name one with --provider and --model, or run `ptk setup` in a terminal"
)]
pub(crate) struct NoModel {
    /// Why a setting does not count, if one does not.
    pub(crate) note: Option<String>,
    /// The names in `[models]`.
    pub(crate) declared: Vec<String>,
    /// Whether a model was named, but no provider for it.
    pub(crate) is_named: bool,
    /// The file that a choice has to be kept in, where the user's own does not
    /// count.
    pub(crate) other_config: Option<String>,
}

impl NoModel {
    /// Whether a choice in the user's own configuration would help.
    pub(crate) fn can_be_chosen(&self) -> bool {
        !self.is_named && self.other_config.is_none()
    }

    /// The error with what can be done, the easiest first.
    pub(crate) fn explained(&self, found: &Found) -> anyhow::Error {
        exit::no_model(self.text(found, &[]))
    }

    /// The same for the gateway, which can also pass requests on to a server.
    pub(crate) fn explained_to_serve(&self, found: &Found) -> anyhow::Error {
        let upstream = (
            "--upstream http://…/v1".to_owned(),
            "all models of a server of chat completions".to_owned(),
        );
        let text = self.text(found, &[upstream]);
        exit::no_model(format!("{text}\n  docs/gateway.md describes the gateway."))
    }

    fn text(&self, found: &Found, first: &[(String, String)]) -> String {
        let mut text = match &self.note {
            Some(note) => {
                format!("no model is chosen. {note} Or name one with --provider and --model:\n")
            }
            None => "no model is chosen; name one with --provider and --model:\n".to_owned(),
        };
        for name in &self.declared {
            let name = in_line(name);
            let _ = write!(text, "\n  --model {name:<33} is in [models]");
        }
        for (way, why) in first.iter().cloned().chain(ways(found)) {
            let _ = write!(text, "\n  {way:<41} {why}");
        }
        if let Some(problem) = &found.key_problem {
            let _ = write!(
                text,
                "\n\n  Stored keys are not used: {}.",
                in_line(problem)
            );
        }
        let keep = match &self.other_config {
            Some(file) => format!("{}.", in_line(file)),
            None => "~/.config/ptk/ptk.toml, or run `ptk setup` in a terminal.".to_owned(),
        };
        let _ = write!(
            text,
            "\n\n  To keep it: provider and model under [run] in {keep}"
        );
        text
    }
}

/// The ways to a model, each with what it needs.
fn ways(found: &Found) -> Vec<(String, String)> {
    let at = |provider: &str, model: &str| {
        let model = fitting(&in_line(model), MAX_NAME);
        format!("--provider {provider:<12} --model {model}")
    };
    let any = |provider: &str| at(provider, "NAME");
    let mut ways = Vec::new();
    if let Some(model) = found.installed.first() {
        ways.push((at(LOCAL, model), "is on this machine".to_owned()));
    }
    for server in &found.servers {
        let (name, title) = (server.service.name, server.service.title);
        match server.models.first() {
            Some(model) => ways.push((at(name, model), format!("{title} is running here"))),
            None => ways.push((
                any(name),
                format!("{title} is running here, without a model"),
            )),
        }
    }
    for found in &found.services {
        ways.push((any(found.service.name), found.source.described()));
    }
    // A local model helps only if ptk was built with llama.cpp.
    if cfg!(feature = "local") && found.installed.is_empty() {
        let why = "gets a small one for this machine, without a key";
        ways.push(("ptk models pull".to_owned(), why.to_owned()));
    }
    let why = "with a key in OPENAI_API_KEY; so do others, see docs/models.md";
    ways.push((any("openai"), why.to_owned()));
    let why = "any server that speaks as OpenAI's does";
    ways.push((any("http://…/v1"), why.to_owned()));
    ways
}
