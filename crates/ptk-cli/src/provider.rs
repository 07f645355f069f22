//! Models by the names that `--provider` takes.

use std::fmt::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use ptk::llm::http::{HttpProvider, Key, Kind, SERVICES, Service};
use ptk::llm::{Provider, Script};
use ptk_protocol::schema::suggest;

/// A model that says what a file says.
const SCRIPT: &str = "script:";
/// The key for a server that is known only by its address. No other one is
/// sent there.
const KEY: &str = "PTK_API_KEY";
/// Where Ollama listens.
const OLLAMA: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 11434);
/// How long it is looked for.
const MOMENT: Duration = Duration::from_millis(100);

/// The model of this name. Of a script that many replies were given already.
pub(crate) fn named(name: &str, model: Option<&str>, given: usize) -> Result<Arc<dyn Provider>> {
    if let Some(file) = name.strip_prefix(SCRIPT) {
        let script = Script::open(Path::new(file));
        let script = script.map_err(|error| anyhow!("--provider {name}: {error}"))?;
        return Ok(Arc::new(script.skip(given)));
    }
    let provider = if name.contains("://") {
        HttpProvider::at(Kind::OpenAi, name)?.key(Key::of_variables(&[KEY]))
    } else {
        let service = Service::named(name).ok_or_else(|| unknown(name))?;
        if service.needs_key && Key::of_variables(service.keys).is_none() {
            let keys = service.keys.join(" or ");
            bail!("{name} wants a key; set {keys}");
        }
        HttpProvider::new(service)?
    };
    let model = model.ok_or_else(|| {
        anyhow!("{name} has several models; name one with --model, or in PTK_MODEL")
    })?;
    Ok(Arc::new(provider.with_model(model)))
}

fn unknown(name: &str) -> anyhow::Error {
    let names = || SERVICES.iter().map(|service| service.name);
    let near = suggest::nearest(name, names());
    let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    let known: Vec<&str> = names().collect();
    anyhow!(
        "there is no provider `{name}`{near}\n\n  There are: {}, the address of a server that \
         speaks as OpenAI's does, such as http://127.0.0.1:8080/v1, and {SCRIPT}FILE.",
        known.join(", ")
    )
}

/// The same name wherever one stands.
pub(crate) fn lasting(name: &str) -> String {
    let Some(file) = name.strip_prefix(SCRIPT) else {
        return name.to_owned();
    };
    let path = std::path::absolute(file).unwrap_or_else(|_| file.into());
    format!("{SCRIPT}{}", path.display())
}

/// What is said where no model was chosen: what is easiest here goes first.
pub(crate) fn none(note: Option<&str>) -> anyhow::Error {
    let mut text = "no model is chosen; name one with --provider and --model:\n".to_owned();
    if let Some(note) = note {
        text = format!("no model is chosen. {note} Or name one with --provider and --model:\n");
    }
    let mut line = |name: &str, why: &str| {
        let _ = write!(text, "\n  --provider {name:<12} --model NAME   {why}");
    };
    if TcpStream::connect_timeout(&OLLAMA, MOMENT).is_ok() {
        line("ollama", "Ollama is running here");
    }
    for service in SERVICES {
        let set = service
            .keys
            .iter()
            .find(|key| Key::of_variables(&[key]).is_some());
        if let Some(key) = set {
            line(service.name, &format!("{key} is set"));
        }
    }
    line(
        "openai",
        "with a key in OPENAI_API_KEY; so do others, see docs/models.md",
    );
    line("http://…/v1", "any server that speaks as OpenAI's does");
    text.push_str("\n\n  To keep it: provider and model under [run] in ~/.config/ptk/ptk.toml.");
    anyhow!(text)
}
