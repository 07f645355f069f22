//! `ptk keys`: the keys of services, in the user's key file or, where it is
//! built in, in the system's keyring. A key is never shown.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write};

use anyhow::{Context as _, Result, anyhow, bail};
use ptk::llm::http::{Key, KeyFile, KeyFileError, SERVICES, Service};
use ptk_protocol::schema::suggest;
use serde_json::json;

use crate::args::{KeyArgs, KeysCommand, ListKeysArgs, SetKeyArgs};
use crate::exit::Exit;
use crate::view::short_path;

/// The longest key, in bytes.
const MAX_KEY: u64 = 64 * 1024;
/// What the keyring is called.
const KEYRING: &str = "the keyring";

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

/// The user's key file.
fn key_file() -> Result<KeyFile> {
    KeyFile::of_user().context(
        "there is no folder for a key file: neither XDG_CONFIG_HOME nor HOME is an absolute path",
    )
}

fn set(args: &SetKeyArgs, out: &mut impl Write) -> Result<Exit> {
    let service = named(&args.name)?;
    let key = Key::new(typed(service.name)?);
    let key = key.with_context(|| format!("no key was given; {} was not changed", service.name))?;
    let place = stored(args, service, &key).with_context(|| instead(service))?;
    writeln!(out, "The key of {} is stored in {place}.", service.name)?;
    if let Some(variable) = variable(service) {
        writeln!(out, "{variable} is set, and goes first.")?;
    }
    Ok(Exit::Success)
}

/// Stores the key, and says where.
#[cfg_attr(
    not(feature = "keyring"),
    expect(unused_variables, reason = "there is one place only")
)]
fn stored(args: &SetKeyArgs, service: &Service, key: &Key) -> Result<String> {
    #[cfg(feature = "keyring")]
    if args.keyring {
        ptk::llm::http::Keyring::set(service, key)?;
        return Ok(KEYRING.to_owned());
    }
    store(service, key)
}

/// Stores the key in the key file, and says where that is.
pub(crate) fn store(service: &Service, key: &Key) -> Result<String> {
    let file = key_file()?;
    file.set(service, key)?;
    Ok(short_path(file.path()))
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
        "the key cannot be stored; set {} instead",
        service.keys.join(" or ")
    )
}

fn remove(args: &KeyArgs, out: &mut impl Write) -> Result<Exit> {
    let service = named(&args.name)?;
    let file = key_file()?;
    let mut places = Vec::new();
    if file.remove(service).context("no key can be removed")? {
        places.push(short_path(file.path()));
    }
    let mut unusable = None;
    if keyring::remove(service, &mut unusable) {
        places.push(KEYRING.to_owned());
    }
    match &unusable {
        None if places.is_empty() => bail!("no key of {} is stored", service.name),
        Some(why) if places.is_empty() => {
            bail!(
                "no key of {} is stored in {}; {why}",
                service.name,
                short_path(file.path())
            )
        }
        _ => {}
    }
    let places = places.join(" and ");
    writeln!(out, "The key of {} is removed from {places}.", service.name)?;
    if let Some(why) = unusable {
        writeln!(out, "The keyring was not looked at: {why}.")?;
    }
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

/// Where the key of a service was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeySource {
    Variable(&'static str),
    File,
    Keyring,
}

impl KeySource {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Variable(_) => "variable",
            Self::File => "file",
            Self::Keyring => "keyring",
        }
    }

    /// The variable, if the key is in one.
    pub(crate) const fn variable(self) -> Option<&'static str> {
        match self {
            Self::Variable(name) => Some(name),
            Self::File | Self::Keyring => None,
        }
    }

    /// The source as a part of a sentence.
    pub(crate) fn described(self) -> String {
        match self {
            Self::Variable(variable) => format!("{variable} is set"),
            Self::File | Self::Keyring => "its key is stored".to_owned(),
        }
    }
}

/// Where the key of a service is, as far as the system's keyring need not be
/// asked. The first reason why that cannot be known is noted.
pub(crate) fn source(
    file: Option<&KeyFile>,
    service: &Service,
    broken: &mut Option<KeyFileError>,
) -> Option<KeySource> {
    if let Some(variable) = variable(service) {
        return Some(KeySource::Variable(variable));
    }
    match file.map_or(Ok(None), |file| file.get(service)) {
        Ok(key) => key.map(|_| KeySource::File),
        Err(error) => {
            broken.get_or_insert(error);
            None
        }
    }
}

fn list(args: &ListKeysArgs, out: &mut impl Write) -> Result<Exit> {
    let file = KeyFile::of_user();
    let (mut broken, mut unusable) = (None, None);
    for service in services() {
        let source = source(file.as_ref(), service, &mut broken);
        let in_keyring = || keyring::has(service, &mut unusable).then_some(KeySource::Keyring);
        let source = source.or_else(in_keyring);
        if args.json {
            let line = json!({
                "service": service.name,
                "source": source.map(KeySource::name),
                "variable": variable(service),
            });
            writeln!(out, "{line}")?;
        } else {
            let place = match (source, &file) {
                (Some(KeySource::Variable(name)), _) => name.to_owned(),
                (Some(KeySource::File), Some(file)) => short_path(file.path()),
                (Some(KeySource::Keyring), _) => KEYRING.to_owned(),
                _ => "–".to_owned(),
            };
            writeln!(out, "{:<18} {place}", service.name)?;
        }
    }
    if let Some(why) = unusable.filter(|_| !args.json) {
        writeln!(out, "\nThe keyring was not looked at: {why}.")?;
    }
    // What is in variables was told all the same.
    broken.map_or(Ok(Exit::Success), |error| Err(error.into()))
}

/// The system's keyring. Why it cannot be used is noted, and then it is not
/// asked again.
#[cfg(feature = "keyring")]
mod keyring {
    use ptk::llm::http::{Keyring, KeyringError, Service};

    pub(super) fn has(service: &Service, unusable: &mut Option<String>) -> bool {
        unusable.is_none() && noted(Keyring::get(service), unusable).flatten().is_some()
    }

    pub(super) fn remove(service: &Service, unusable: &mut Option<String>) -> bool {
        noted(Keyring::remove(service), unusable).unwrap_or_default()
    }

    fn noted<T>(result: Result<T, KeyringError>, unusable: &mut Option<String>) -> Option<T> {
        result
            .inspect_err(|error| *unusable = Some(error.to_string()))
            .ok()
    }
}

/// There is no keyring in this build, and none is spoken of.
#[cfg(not(feature = "keyring"))]
mod keyring {
    use ptk::llm::http::Service;

    pub(super) const fn has(_: &Service, _: &mut Option<String>) -> bool {
        false
    }

    pub(super) const fn remove(_: &Service, _: &mut Option<String>) -> bool {
        false
    }
}
