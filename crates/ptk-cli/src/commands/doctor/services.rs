//! Which services have a key, which model is chosen, and whether its server
//! answers.

use std::env;
use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use ptk::llm::http::{Connection, KeyFile, Service, Timeouts};
use serde::Serialize;

use crate::args::ConfigArgs;
use crate::commands::keys::{self, KeySource};
use crate::config::Settings;
use crate::models::Models;
use crate::provider::{self, is_server};
use crate::provider_name::{LOCAL, storable};
use crate::setup::{keyed_services, only_service};
use crate::view::clean::in_line;

/// How long the server of the chosen model is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Which services have a key. The keys themselves are in no report.
#[derive(Debug, Serialize)]
pub(super) struct Keys {
    services: Vec<ServiceKey>,
    /// Why stored keys are not used, if they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

#[derive(Debug, Serialize)]
struct ServiceKey {
    service: &'static str,
    #[serde(skip)]
    title: &'static str,
    source: Option<&'static str>,
    variable: Option<&'static str>,
}

impl Keys {
    /// Looks at variables and the key file. The keyring is not asked: it may
    /// ask its owner for a password.
    pub(super) fn look() -> Self {
        let file = KeyFile::of_user();
        let mut broken = None;
        let of = |service: &'static Service| {
            let source = keys::source(file.as_ref(), service, &mut broken);
            ServiceKey {
                service: service.name,
                title: service.title,
                source: source.map(KeySource::name),
                variable: source.and_then(KeySource::variable),
            }
        };
        let services = keyed_services().map(of).collect();
        Self {
            services,
            why: broken.map(|error| error.to_string()),
        }
    }

    pub(super) fn print(&self, out: &mut impl Write) -> Result<()> {
        writeln!(out, "\nKeys of services:")?;
        let known = self.services.iter().filter(|it| it.source.is_some());
        let mut has_one = false;
        for it in known {
            has_one = true;
            let from = it.variable.unwrap_or("stored with `ptk keys set`");
            writeln!(out, "  {:<8} {:<26} {from}", "ok", it.title)?;
        }
        if !has_one {
            writeln!(
                out,
                "  {:<8} {:<26} `ptk keys set NAME` keeps one, or set its variable",
                "–", "none"
            )?;
        }
        if let Some(why) = &self.why {
            writeln!(out, "{:11}Stored keys are not used: {}.", "", in_line(why))?;
        }
        Ok(())
    }
}

/// The chosen model.
#[derive(Debug, Default, Serialize)]
pub(super) struct ModelCheck {
    /// Whether one is chosen, or there is only one to choose.
    is_chosen: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// What chose it.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'static str>,
    /// Whether its server answers; `None` if it was not asked.
    answers: Option<bool>,
    /// Whether its server lists the model; `None` if it lists none.
    is_listed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// Where requests go.
struct Target {
    provider: String,
    model: Option<String>,
    address: Option<String>,
    key_variable: Option<String>,
    by: &'static str,
}

impl ModelCheck {
    /// Finds out what is chosen, and asks its server for its models, which costs
    /// nothing.
    pub(super) fn look(runtime: &tokio::runtime::Runtime) -> Self {
        match target() {
            Ok(Some(target)) => Self::of(target, runtime),
            Ok(None) => Self::default(),
            Err(error) => Self {
                why: Some(format!("{error:#}")),
                ..Self::default()
            },
        }
    }

    fn of(target: Target, runtime: &tokio::runtime::Runtime) -> Self {
        let is_asked = is_server(&target.provider);
        let asked = is_asked.then(|| ask(&target, runtime));
        let listed = asked.as_ref().and_then(|asked| asked.as_ref().ok());
        let is_listed = target.model.as_ref().zip(listed);
        let is_listed = is_listed.filter(|(_, listed)| !listed.is_empty());
        Self {
            is_chosen: true,
            is_listed: is_listed.map(|(model, listed)| listed.contains(model)),
            answers: asked.as_ref().map(Result::is_ok),
            why: asked.and_then(Result::err),
            provider: Some(storable(&target.provider)),
            model: target.model,
            by: Some(target.by),
        }
    }

    pub(super) fn print(&self, out: &mut impl Write) -> Result<()> {
        writeln!(out, "\nThe model:")?;
        if !self.is_chosen {
            let how = "`ptk setup` chooses one";
            writeln!(out, "  {:<8} {:<26} {how}", "–", "none is chosen")?;
            if let Some(why) = &self.why {
                writeln!(out, "{:11}{}", "", in_line(why))?;
            }
            return Ok(());
        }
        let provider = self.provider.as_deref().unwrap_or_default();
        let name = match &self.model {
            Some(model) => format!("{provider}/{model}"),
            None => provider.to_owned(),
        };
        let sign = match (self.answers, self.is_listed) {
            (Some(false), _) | (_, Some(false)) => "UNUSABLE",
            (Some(true), _) => "ok",
            (None, _) => "–",
        };
        let what = match (self.answers, self.is_listed) {
            (Some(true), Some(false)) => "its server answers, and does not list this model",
            (Some(true), _) => "its server answers",
            (Some(false), _) => "its server does not answer",
            (None, _) => "not asked",
        };
        let by = self.by.unwrap_or_default();
        writeln!(out, "  {sign:<8} {:<26} {what}; {by}", in_line(&name))?;
        if let Some(why) = &self.why {
            writeln!(out, "{:11}{}", "", in_line(why))?;
        }
        Ok(())
    }
}

/// The models that the server lists, or why it does not.
fn ask(target: &Target, runtime: &tokio::runtime::Runtime) -> Result<Vec<String>, String> {
    let connection = Connection {
        provider: &target.provider,
        // None is asked for a reply.
        model: Some(""),
        address: target.address.as_deref(),
        key_variable: target.key_variable.as_deref(),
    };
    let timeouts = Timeouts {
        connect: PATIENCE,
        ..Timeouts::default()
    };
    let opened = provider::connected(&connection).map_err(|error| format!("{error:#}"))?;
    let provider = opened.timeouts(timeouts);
    let provider = provider.map_err(|error| error.to_string())?;
    match runtime.block_on(provider.list_models()) {
        Ok(models) => Ok(models),
        // It answers, and has no list of models.
        Err(error) if error.is_about_list() => Ok(Vec::new()),
        Err(error) => Err(error.to_string()),
    }
}

/// The model that a run would ask, if one is chosen.
fn target() -> Result<Option<Target>> {
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let settings = Settings::read(&ConfigArgs::default())?;
    let run = settings.run()?;
    let (by_provider, by_model) = (variable("PTK_PROVIDER"), variable("PTK_MODEL"));
    let by = if by_provider.is_some() || by_model.is_some() {
        "chosen by a variable"
    } else {
        "chosen in ptk.toml"
    };
    let is_plain = by_provider.is_some();
    let (provider, model) = (by_provider.or(run.provider), by_model.or(run.model));
    let declared = settings.models()?;
    let named = model.as_deref().filter(|_| !is_plain);
    if let Some((found, _)) = named.and_then(|name| declared.get(name)) {
        return Ok(Some(Target {
            provider: found.provider.clone(),
            model: found.model.clone(),
            address: found.base_url.clone(),
            key_variable: found.key_variable.clone(),
            by,
        }));
    }
    let plain = |provider: String, by| Target {
        provider,
        model: model.clone(),
        address: None,
        key_variable: None,
        by,
    };
    if let Some(provider) = provider {
        return Ok(Some(plain(provider, by)));
    }
    if provider::assumed(model.as_deref()).is_some() {
        return Ok(Some(plain(
            LOCAL.to_owned(),
            "the only one that is installed",
        )));
    }
    if !Models::of(&settings)?.is_open(model.as_deref())? {
        return Ok(None);
    }
    Ok(only_service().map(|only| Target {
        model: only.service.default_model.map(str::to_owned),
        ..plain(only.service.name.to_owned(), "the only service with a key")
    }))
}
