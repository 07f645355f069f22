//! Which models are within reach: on this machine, on servers that run here,
//! and at services whose key is known.

use std::time::Duration;

use futures_util::future::join_all;
use ptk::llm::Provider as _;
use ptk::llm::http::{
    HttpProvider, KeyFile, Kind, SERVICES, Service, Timeouts, is_for_embeddings, without_password,
};
use ptk_local::{Catalogue, Library, Package, State};
use serde_json::{Value, json};

use crate::args::duration;
use crate::commands::keys::{self, KeySource};
use crate::provider_name::LOCAL;

/// How long all servers together are waited for. Those on this machine answer
/// in a few milliseconds, and a person waits for it.
const PATIENCE: Duration = Duration::from_millis(400);
/// The variable with another time, for servers that are slow or far away.
const PATIENCE_VARIABLE: &str = "PTK_SETUP_TIMEOUT";
/// The models that are offered for download, each with how well it answers.
const DOWNLOADS: [(&str, &str); 2] = [
    (
        "qwen2.5-coder-0.5b",
        "answers are right less than half of the time",
    ),
    ("qwen2.5-coder-1.5b", "about 6 of 10 answers are right"),
];

/// What can answer prompts, or could.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The names of the installed models.
    pub(crate) installed: Vec<String>,
    /// The servers that answered.
    pub(crate) servers: Vec<Server>,
    /// The services whose key is known.
    pub(crate) services: Vec<KeyedService>,
    /// Why the stored keys are not known, if they are not.
    pub(crate) key_problem: Option<String>,
    /// The models that can be downloaded.
    pub(crate) downloads: Vec<Download>,
}

/// A server that is running.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) service: &'static Service,
    /// Its address, without a password.
    pub(crate) address: String,
    /// Its models, those that answer prompts first. The names are its own, so
    /// that they are escaped wherever they are shown.
    pub(crate) models: Vec<String>,
}

/// A service whose key is known.
#[derive(Debug)]
pub(crate) struct KeyedService {
    pub(crate) service: &'static Service,
    pub(crate) source: KeySource,
}

/// A model that can be downloaded.
#[derive(Debug)]
pub(crate) struct Download {
    pub(crate) name: String,
    /// What it is called by people.
    pub(crate) title: String,
    /// The size of the download in bytes.
    pub(crate) size: u64,
    /// How well it answers.
    pub(crate) quality: &'static str,
}

impl Found {
    /// Looks for everything. Blocks, for a limited time.
    pub(crate) fn look() -> Self {
        let installed = installed();
        let (services, key_problem) = services();
        Self {
            downloads: downloads(&installed),
            installed,
            servers: servers(),
            services,
            key_problem,
        }
    }

    /// What was found as JSON, an object each.
    pub(crate) fn objects(&self) -> Vec<Value> {
        let installed = self.installed.iter();
        let installed =
            installed.map(|model| json!({"kind": "installed", "provider": LOCAL, "model": model}));
        let servers = self.servers.iter().map(|server| {
            json!({
                "kind": "server",
                "provider": server.service.name,
                "address": server.address,
                "models": server.models,
            })
        });
        let services = self.services.iter().map(|found| {
            json!({
                "kind": "service",
                "provider": found.service.name,
                "source": found.source.name(),
                "variable": found.source.variable(),
            })
        });
        let downloads = self.downloads.iter().map(|download| {
            json!({
                "kind": "download",
                "provider": LOCAL,
                "model": download.name,
                "size": download.size,
            })
        });
        (installed.chain(servers).chain(services))
            .chain(downloads)
            .collect()
    }
}

impl Server {
    /// Its host and port, for people.
    pub(crate) fn host(&self) -> &str {
        let address = &self.address;
        let address = address.strip_prefix("http://").unwrap_or(address);
        address.trim_end_matches('/').trim_end_matches("/v1")
    }
}

/// The installed models, where ptk can run them.
fn installed() -> Vec<String> {
    if cfg!(not(feature = "local")) {
        return Vec::new();
    }
    let listing = Library::open_default().and_then(|library| library.list());
    let listing = listing.unwrap_or_default();
    let whole = listing.answering().filter(|it| it.state == State::Whole);
    whole.map(|it| it.entry.name.clone()).collect()
}

/// The models that can be downloaded, where ptk can run them.
fn downloads(installed: &[String]) -> Vec<Download> {
    if cfg!(not(feature = "local")) {
        return Vec::new();
    }
    let catalogue = Catalogue::default();
    let offer = |(name, quality): (&str, &'static str)| {
        let package = catalogue.find(name).ok()?;
        (!installed.contains(&package.name)).then(|| Download::new(package, quality))
    };
    DOWNLOADS.into_iter().filter_map(offer).collect()
}

impl Download {
    fn new(package: &Package, quality: &'static str) -> Self {
        let title = package.about.trim_end_matches(" Instruct");
        Self {
            name: package.name.clone(),
            title: title.to_owned(),
            size: package.download_size(),
            quality,
        }
    }
}

/// The servers that answer with a list of models.
fn servers() -> Vec<Server> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let Ok(runtime) = builder.enable_all().build() else {
        return Vec::new();
    };
    let patience = patience();
    let asked = local_servers().map(|service| server(service, patience));
    let found = runtime.block_on(join_all(asked));
    // A name may still be looked up, which cannot be stopped.
    runtime.shutdown_background();
    found.into_iter().flatten().collect()
}

/// The services that are programs on this machine. Plain completion is another
/// API of the same programs.
pub(super) fn local_servers() -> impl Iterator<Item = &'static Service> {
    let chats = |service: &&Service| matches!(service.kind, Kind::Ollama | Kind::OpenAi);
    SERVICES.iter().filter(|it| !it.needs_key).filter(chats)
}

async fn server(service: &'static Service, patience: Duration) -> Option<Server> {
    let timeouts = Timeouts {
        connect: patience,
        ..Timeouts::default()
    };
    // Whatever listens at the port gets no key before it is chosen.
    let provider = HttpProvider::new(service).ok()?.key(None);
    let provider = provider.timeouts(timeouts).ok()?;
    // What does not answer with a list of models is something else.
    let mut models = provider.models().await?;
    models.sort_by_key(|name| is_for_embeddings(name));
    Some(Server {
        service,
        address: without_password(&service.address()),
        models,
    })
}

fn patience() -> Duration {
    let said = std::env::var(PATIENCE_VARIABLE).ok();
    let said = said.and_then(|text| duration(&text).ok());
    said.unwrap_or(PATIENCE)
}

/// The services that need a key. Of those with the same key, the first.
pub(crate) fn keyed_services() -> impl Iterator<Item = &'static Service> {
    let services = SERVICES.iter().filter(|service| service.needs_key);
    services.filter(|service| service.account() == service.name)
}

/// The service whose key is known, if it is only one and has a default model.
pub(crate) fn only_service() -> Option<KeyedService> {
    let (mut services, _) = services();
    let only = services.pop().filter(|_| services.is_empty())?;
    only.service.default_model.is_some().then_some(only)
}

/// The services whose key is in a variable or in the key file, and why the file
/// cannot be used. The system's keyring is not asked: it may ask its owner for a
/// password first.
fn services() -> (Vec<KeyedService>, Option<String>) {
    let file = KeyFile::of_user();
    let mut broken = None;
    let found = |service: &'static Service| {
        let source = keys::source(file.as_ref(), service, &mut broken)?;
        Some(KeyedService { service, source })
    };
    let services = keyed_services().filter_map(found).collect();
    (services, broken.map(|error| error.to_string()))
}

#[cfg(test)]
mod tests {
    use ptk::llm::http::Grammar;
    use wiremock::{Mock, MockServer, Request, ResponseTemplate};

    use super::*;

    #[tokio::test]
    async fn who_listens_at_a_port_gets_no_key() {
        let listening = MockServer::start().await;
        let list = |request: &Request| {
            assert!(!request.headers.contains_key("authorization"));
            ResponseTemplate::new(200).set_body_json(json!({"data": [{"id": "a"}]}))
        };
        Mock::given(wiremock::matchers::any())
            .respond_with(list)
            .mount(&listening)
            .await;
        let service = Service {
            base: Box::leak(listening.uri().into_boxed_str()),
            // A variable that is set everywhere stands for one with a key.
            keys: &["PATH"],
            grammar: Grammar::Unknown,
            ..*Service::named("vllm").unwrap()
        };
        let found = server(Box::leak(Box::new(service)), Duration::from_secs(60)).await;
        assert_eq!(found.unwrap().models, ["a"]);
    }
}
