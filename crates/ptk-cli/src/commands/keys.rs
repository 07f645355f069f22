//! `ptk keys`: the keys of services, in the system's keyring. A key is never
//! shown.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write};

use anyhow::{Context as _, Result, anyhow, bail};
use ptk::llm::http::{Key, Keyring, SERVICES, Service};
use ptk_protocol::schema::suggest;
use serde_json::json;

use crate::args::{KeyArgs, KeysCommand, ListKeysArgs};
use crate::exit::Exit;

/// The longest key, in bytes.
const MAX_KEY: u64 = 64 * 1024;

pub(crate) fn run(command: &KeysCommand, out: &mut impl Write) -> Result<Exit> {
    match command {
        KeysCommand::Set(args) => set(args, out),
        KeysCommand::Remove(args) => remove(args, out),
        KeysCommand::List(args) => list(args, out),
    }
}

/// The services whose keys can be stored.
fn services() -> impl Iterator<Item = &'static Service> {
    SERVICES.iter().filter(|service| service.needs_key)
}

fn named(name: &str) -> Result<&'static Service> {
    if let Some(service) = services().find(|service| service.name == name) {
        return Ok(service);
    }
    if let Some(service) = Service::named(name) {
        let how = match service.keys.first() {
            Some(variable) => format!("; if yours does, set {variable}"),
            None => String::new(),
        };
        bail!("{name} does nothing that needs a key{how}");
    }
    let names: Vec<&str> = services().map(|service| service.name).collect();
    let near = suggest::nearest(name, names.iter().copied());
    let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    let known = names.join(", ");
    Err(anyhow!(
        "unknown service `{name}`{near}\n\n  There are: {known}."
    ))
}

fn set(args: &KeyArgs, out: &mut impl Write) -> Result<Exit> {
    let service = named(&args.name)?;
    let key = Key::new(typed(service.name)?);
    let key = key.with_context(|| format!("no key was given; {} was not changed", service.name))?;
    Keyring::set(service, &key).with_context(|| instead(service))?;
    writeln!(out, "The key of {} is in the keyring.", service.name)?;
    if let Some(variable) = variable(service) {
        writeln!(out, "{variable} is set, and goes first.")?;
    }
    Ok(Exit::Success)
}

/// Reads the key: from the terminal without echo, or else a line of stdin.
fn typed(name: &str) -> Result<String> {
    if io::stdin().is_terminal() {
        let asked = rpassword::prompt_password(format!("Key for {name}: "));
        return asked.context("the key cannot be read from the terminal");
    }
    let mut line = String::new();
    let read = io::stdin().lock().take(MAX_KEY).read_line(&mut line);
    read.context("the key cannot be read from stdin")?;
    Ok(line)
}

fn instead(service: &Service) -> String {
    format!(
        "the key cannot be kept; set {} instead",
        service.keys.join(" or ")
    )
}

fn remove(args: &KeyArgs, out: &mut impl Write) -> Result<Exit> {
    let service = named(&args.name)?;
    if !Keyring::remove(service).context("no key can be removed")? {
        bail!("the keyring has no key of {}", service.name);
    }
    writeln!(
        out,
        "The key of {} is removed from the keyring.",
        service.name
    )?;
    if let Some(variable) = variable(service) {
        writeln!(out, "{variable} is still set.")?;
    }
    Ok(Exit::Success)
}

/// The environment variable that holds the key of a service.
fn variable(service: &Service) -> Option<&'static str> {
    let mut variables = service.keys.iter().copied();
    variables.find(|variable| Key::of_variables(&[variable]).is_some())
}

fn list(args: &ListKeysArgs, out: &mut impl Write) -> Result<Exit> {
    let mut unusable = None;
    for service in services() {
        let variable = variable(service);
        // If there is no keyring, it is queried only once.
        let kept = match unusable {
            None => Keyring::get(service).unwrap_or_else(|error| {
                unusable = Some(error);
                None
            }),
            Some(_) => None,
        };
        let found = match (variable, kept) {
            (Some(variable), _) => Some(("variable", variable)),
            (None, Some(_)) => Some(("keyring", "the keyring")),
            (None, None) => None,
        };
        if args.json {
            let line = json!({
                "service": service.name,
                "source": found.map(|(source, _)| source),
                "variable": variable,
            });
            writeln!(out, "{line}")?;
        } else {
            let place = found.map_or("–", |(_, place)| place);
            writeln!(out, "{:<18} {place}", service.name)?;
        }
    }
    if let Some(error) = unusable.filter(|_| !args.json) {
        writeln!(out, "\nOnly variables were looked at: {error}.")?;
    }
    Ok(Exit::Success)
}
