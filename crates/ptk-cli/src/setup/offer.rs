//! What a person can choose, what each choice needs, and the questions that
//! lead from a choice to a model.

use std::time::Duration;

use anyhow::{Result, bail};
use ptk::llm::http::{
    ConnectError, Connection, HttpProvider, KEY_VARIABLE, Key, Service, Timeouts,
    is_for_embeddings, without_password,
};

use super::dialogue::{Dialogue, Row};
use super::found::{Download, Found, KeyedService, Server, keyed_services};
use super::user_config::RunModel;
use crate::provider_name::LOCAL;
use crate::view::size;

/// How long a server that a person has chosen is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Something that can be chosen.
#[derive(Debug)]
pub(super) enum Offer {
    /// A model of the user's `[models]`.
    Declared(String),
    /// Installed models.
    Installed(Vec<String>),
    /// A server with models.
    Server(Server),
    /// A service whose key is known.
    Service(KeyedService),
    /// A model to download.
    Download(Download),
    /// A service whose key is not known yet.
    OtherService,
    /// A server of which only the person knows.
    OtherServer,
}

/// A model that was chosen, and what has to be done to have it. Nothing of it
/// is done yet.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) run: RunModel,
    /// A key that is to be stored.
    pub(super) key: Option<(&'static Service, Key)>,
    /// The name of a model that is to be downloaded.
    pub(super) download: Option<String>,
}

impl Choice {
    fn of(provider: &str, model: String) -> Self {
        Self {
            run: RunModel {
                provider: Some(provider.to_owned()),
                model: Some(model),
            },
            key: None,
            download: None,
        }
    }
}

/// Everything that can be chosen, what is ready first.
pub(super) fn offers(found: Found, declared: Vec<String>) -> Vec<Offer> {
    let mut offers: Vec<Offer> = declared.into_iter().map(Offer::Declared).collect();
    if !found.installed.is_empty() {
        offers.push(Offer::Installed(found.installed));
    }
    let servers = found.servers.into_iter();
    let servers = servers.filter(|server| !server.models.is_empty());
    offers.extend(servers.map(Offer::Server));
    offers.extend(found.services.into_iter().map(Offer::Service));
    offers.extend(found.downloads.into_iter().map(Offer::Download));
    offers.extend([Offer::OtherService, Offer::OtherServer]);
    offers
}

impl Offer {
    /// The offer in a list.
    pub(super) fn row(&self) -> Row {
        let (name, needs) = match self {
            Self::Declared(name) => (name.clone(), "is in [models]; nothing else needed".into()),
            Self::Installed(models) => match models.as_slice() {
                [model] => (model.clone(), "is installed; nothing else needed".into()),
                models => {
                    let name = format!("{} installed models", models.len());
                    (name, "on this machine; asks which one".into())
                }
            },
            Self::Server(server) => {
                let (title, host) = (server.service.title, server.host());
                match server.models.as_slice() {
                    [model] => (
                        format!("{model} by {title}"),
                        format!("running at {host}; nothing else needed"),
                    ),
                    models => (
                        format!("{title}, {} models", models.len()),
                        format!("running at {host}; asks which one"),
                    ),
                }
            }
            Self::Service(found) => {
                let key = found.source.described();
                (
                    found.service.title.to_owned(),
                    format!("{key}; asks for the model's name"),
                )
            }
            Self::Download(download) => {
                let (size, quality) = (size(download.size), download.quality);
                (
                    download.title.clone(),
                    format!("downloads {size} once; no key; {quality}"),
                )
            }
            Self::OtherService => (
                "another service".to_owned(),
                "needs a key; it is stored with mode 0600".to_owned(),
            ),
            Self::OtherServer => (
                "a server of yours".to_owned(),
                "needs its address, such as http://127.0.0.1:8080/v1".to_owned(),
            ),
        };
        Row { name, needs }
    }

    /// Asks for what is still missing.
    pub(super) fn complete(self, dialogue: &Dialogue) -> Result<Choice> {
        match self {
            Self::Declared(name) => Ok(Choice {
                run: RunModel {
                    provider: None,
                    model: Some(name),
                },
                key: None,
                download: None,
            }),
            Self::Installed(models) => {
                let model = one_of(dialogue, "This machine", models)?;
                Ok(Choice::of(LOCAL, model))
            }
            Self::Server(server) => {
                let model = one_of(dialogue, server.service.title, server.models)?;
                Ok(Choice::of(server.service.name, model))
            }
            Self::Service(found) => at_service(dialogue, found.service),
            Self::Download(download) => Ok(Choice {
                download: Some(download.name.clone()),
                ..Choice::of(LOCAL, download.name)
            }),
            Self::OtherService => {
                let services: Vec<&'static Service> = keyed_services().collect();
                let row = |service: &&'static Service| Row {
                    name: service.title.to_owned(),
                    needs: format!("--provider {}", service.name),
                };
                dialogue.say("\n")?;
                let rows: Vec<Row> = services.iter().map(row).collect();
                let at = dialogue.pick(&rows, "")?;
                match services.get(at) {
                    Some(service) => at_service(dialogue, service),
                    None => bail!("no service has this number"),
                }
            }
            Self::OtherServer => at_address(dialogue),
        }
    }
}

/// The only model, or the one that the person picks.
fn one_of(dialogue: &Dialogue, title: &str, mut models: Vec<String>) -> Result<String> {
    match models.len() {
        1 => Ok(models.remove(0)),
        _ => dialogue.pick_model(title, &models, true),
    }
}

/// A model at a service, with the key that there is or that the person types.
fn at_service(dialogue: &Dialogue, service: &'static Service) -> Result<Choice> {
    let (name, title) = (service.name, service.title);
    let known = Key::of_service(service)?;
    loop {
        let key = match &known {
            Some(key) => key.clone(),
            None => dialogue.key(title)?,
        };
        let provider = HttpProvider::new(service)?.key(Some(key.clone()));
        if provider.sends_key_in_cleartext() {
            let provider = name.to_owned();
            return Err(ConnectError::KeyInCleartext { provider }.into());
        }
        let models = listed(dialogue, provider)?;
        if models.is_empty() {
            let doubt = "the key may be wrong, or the service cannot be reached";
            dialogue.say(&format!("{title} lists no models: {doubt}.\n"))?;
            if known.is_some() {
                dialogue.say(&format!("`ptk keys set {name}` stores another key.\n"))?;
            } else if dialogue.agrees("Type the key again?")? {
                continue;
            }
        }
        let model = one_listed(dialogue, title, models)?;
        let typed = known.is_none().then_some((service, key));
        return Ok(Choice {
            key: typed,
            ..Choice::of(name, model)
        });
    }
}

/// A model of a server at the address that the person types.
fn at_address(dialogue: &Dialogue) -> Result<Choice> {
    loop {
        let address = dialogue.text("Its address: ")?;
        let provider = match opened(&address) {
            Ok(provider) => provider,
            Err(error) => {
                dialogue.say(&format!("{error:#}\n"))?;
                continue;
            }
        };
        let models = listed(dialogue, provider)?;
        if models.is_empty() {
            dialogue.say(&format!(
                "It lists no models: it may not run, or want a key, which is taken from {KEY_VARIABLE}.\n"
            ))?;
        }
        let model = one_listed(dialogue, "It", models)?;
        return Ok(Choice::of(&address, model));
    }
}

/// The server at an address that can be kept.
fn opened(address: &str) -> Result<HttpProvider> {
    if !address.contains("://") {
        bail!("Write it as http://HOST:PORT/v1.");
    }
    if without_password(address) != address {
        bail!("A password is not kept; leave it out, and set {KEY_VARIABLE}.");
    }
    let connection = Connection {
        provider: address,
        // Which one it is to be is asked next.
        model: Some(""),
        address: None,
        key_variable: None,
    };
    Ok(connection.open()?)
}

/// The models that a server lists, those that answer prompts first.
fn listed(dialogue: &Dialogue, provider: HttpProvider) -> Result<Vec<String>> {
    let provider = provider.timeouts(Timeouts {
        connect: PATIENCE,
        ..Timeouts::default()
    })?;
    let mut models = dialogue.models(&provider)?.unwrap_or_default();
    models.sort_by_key(|name| is_for_embeddings(name));
    Ok(models)
}

/// The model that the person picks from a server's list, or types where there is
/// none.
fn one_listed(dialogue: &Dialogue, title: &str, mut models: Vec<String>) -> Result<String> {
    match models.len() {
        0 => dialogue.text("Name of the model: "),
        1 => Ok(models.remove(0)),
        _ => dialogue.pick_model(title, &models, false),
    }
}
