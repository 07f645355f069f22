//! Models by the names that `--provider` takes.

use std::fmt::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use ptk::llm::http::{ConnectError, Connection, Key, SERVICES};
use ptk::llm::{CommandProvider, Provider, Script};
use ptk_local::Library;

use crate::config::Settings;
use crate::exit;
use crate::provider_name::{BROWSER, COMMAND, LOCAL, SCRIPT};
use crate::view::Screen;

/// The default address of Ollama.
const OLLAMA: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 11434);
/// The timeout for checking whether Ollama is running.
const MOMENT: Duration = Duration::from_millis(100);

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
    Ok(Arc::new(connection.open().map_err(in_words)?))
}

/// An error of a connection, with what to do about it on the command line.
fn in_words(error: ConnectError) -> anyhow::Error {
    match error {
        ConnectError::Unknown { .. } => unknown(&error),
        ConnectError::NoKey {
            ref provider,
            is_in_keyring: true,
            ..
        } => anyhow!("{error}, or keep one with `ptk keys set {provider}`"),
        ConnectError::KeyInCleartext { .. } => {
            anyhow!("{error}, or name a key for that server with key_variable in [models]")
        }
        ConnectError::SeveralModels { .. } | ConnectError::NoModel { .. } => {
            anyhow!("{error} with --model, or in PTK_MODEL")
        }
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
    crate::local::is_there()
}

#[cfg(not(feature = "local"))]
const fn is_one_here() -> bool {
    false
}

fn unknown(error: &ConnectError) -> anyhow::Error {
    let known: Vec<&str> = SERVICES.iter().map(|service| service.name).collect();
    exit::wrong_usage(format!(
        "{error}\n\n  There are: {}, the address of a server that \
         speaks as OpenAI's does, such as http://127.0.0.1:8080/v1, one of these names and the \
         address of a server that speaks as it does, such as completion:http://127.0.0.1:8080/v1, \
         {LOCAL}, {COMMAND}COMMAND, {BROWSER}PAGE and {SCRIPT}FILE.",
        known.join(", ")
    ))
}

/// The error if no model is chosen, with the easiest options first.
pub(crate) fn none<'a>(note: Option<&str>, named: impl Iterator<Item = &'a str>) -> anyhow::Error {
    let mut text = "no model is chosen; name one with --provider and --model:\n".to_owned();
    if let Some(note) = note {
        text = format!("no model is chosen. {note} Or name one with --provider and --model:\n");
    }
    for name in named {
        let _ = write!(text, "\n  --model {name:<33} is in [models]");
    }
    let library = Library::open_default().and_then(|library| library.list());
    let listing = library.unwrap_or_default();
    let here: Vec<_> = listing.answering().collect();
    // A local model helps only if ptk was built with llama.cpp.
    let is_local = cfg!(feature = "local");
    let mut way = |way: &str, why: &str| {
        let _ = write!(text, "\n  {way:<41} {why}");
    };
    let at = |name: &str| format!("--provider {name:<12} --model NAME");
    if let Some(model) = here.first().filter(|_| is_local) {
        let name = &model.entry.name;
        way(
            &format!("--provider {LOCAL:<12} --model {name}"),
            "is on this machine",
        );
    }
    if TcpStream::connect_timeout(&OLLAMA, MOMENT).is_ok() {
        way(&at("ollama"), "Ollama is running here");
    }
    for service in SERVICES {
        let set = service
            .keys
            .iter()
            .find(|key| Key::of_variables(&[key]).is_some());
        if let Some(key) = set {
            way(&at(service.name), &format!("{key} is set"));
        }
    }
    let pull = "ptk models pull";
    if is_local && here.is_empty() {
        way(pull, "gets a small one for this machine, without a key");
    }
    way(
        &at("openai"),
        "with a key in OPENAI_API_KEY; so do others, see docs/models.md",
    );
    way(
        &at("http://…/v1"),
        "any server that speaks as OpenAI's does",
    );
    if !is_local {
        way(pull, "a small one for this machine; see docs/local.md");
    }
    text.push_str("\n\n  To keep it: provider and model under [run] in ~/.config/ptk/ptk.toml.");
    anyhow!(text)
}
