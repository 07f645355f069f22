//! Models by name: which server a name means, and the key for it.

use std::thread;

use ptk_protocol::schema::suggest;

use super::{
    HttpProvider, Key, KeyFileError, Kind, SERVICES, Service, SetupError, is_for_embeddings,
};
use crate::LlmError;

/// The variable with the key for a server that is given only by its address. No
/// other key is sent there.
pub const KEY_VARIABLE: &str = "PTK_API_KEY";

/// A model on a server.
///
/// ```
/// use ptk_llm::Provider;
/// use ptk_llm::http::Connection;
///
/// let model = Connection::parse("ollama/qwen3:4b").open()?;
/// assert_eq!(model.model(), Some("qwen3:4b"));
///
/// let error = Connection::parse("opneai/gpt-5-mini").open().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "Provider \"opneai\" not found. Did you mean \"openai\"?",
/// );
/// # Ok::<(), ptk_llm::http::ConnectError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Connection<'a> {
    /// A service such as `openai`, the address of a server that speaks as
    /// OpenAI's does, or a service and the address of a server that speaks as
    /// it does: `ollama:http://gpu:11434`.
    pub provider: &'a str,
    /// The model's name. By default, the one that a service has for this, or
    /// the only one that the server has.
    pub model: Option<&'a str>,
    /// The address, where it is not the service's own.
    pub address: Option<&'a str>,
    /// The variable with the key, where it is not the service's own.
    pub key_variable: Option<&'a str>,
}

/// Why there is no connection to a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// There is no such provider.
    #[error("Provider \"{name}\" not found.{}", near.map(|near| format!(" Did you mean \"{near}\"?")).unwrap_or_default())]
    Unknown {
        /// The name.
        name: String,
        /// The provider that was probably meant.
        near: Option<&'static str>,
    },
    /// The service wants a key, and there is none.
    #[error("{provider} wants a key; set {}", variables.join(" or "))]
    NoKey {
        /// The provider.
        provider: String,
        /// The variables that it is looked for in.
        variables: Vec<String>,
        /// Whether one can be stored for it, which is then found.
        can_be_stored: bool,
    },
    /// The file with the user's keys cannot be used.
    #[error(transparent)]
    KeyFile(#[from] KeyFileError),
    /// The key would be sent without encryption.
    #[error(
        "{provider}: others could read the key on its way, because the address begins with http://; write https://"
    )]
    KeyInCleartext {
        /// The provider.
        provider: String,
    },
    /// No model was named, and there are several.
    #[error("{provider} has several models{}; name one", listed(models))]
    SeveralModels {
        /// The provider.
        provider: String,
        /// Their names, where they are known.
        models: Vec<String>,
    },
    /// No model was named, and the server does not list any.
    #[error("{provider} does not say which models it has; if it runs, name one")]
    NoModel {
        /// The provider.
        provider: String,
    },
    /// No model was named, and the server cannot be asked which ones it has.
    #[error(transparent)]
    NotListed(Box<LlmError>),
    /// The address cannot be used.
    #[error(transparent)]
    Setup(#[from] SetupError),
}

/// The most models that a message lists.
const MAX_LISTED: usize = 10;

/// The names of models, for a message.
fn listed(models: &[String]) -> String {
    if models.is_empty() {
        return String::new();
    }
    let names: Vec<&str> = models.iter().take(MAX_LISTED).map(String::as_str).collect();
    let more = if models.len() > MAX_LISTED {
        ", …"
    } else {
        ""
    };
    format!(": {}{more}", names.join(", "))
}

impl<'a> Connection<'a> {
    /// The connection that a text means: `openai/gpt-5-mini`, `ollama/qwen3:4b`
    /// or the address of a server.
    #[must_use]
    pub fn parse(text: &'a str) -> Self {
        let (provider, model) = match text.split_once('/') {
            Some((provider, model)) if !provider.ends_with(':') => (provider, Some(model)),
            _ => (text, None),
        };
        Self {
            provider,
            model,
            address: None,
            key_variable: None,
        }
    }

    /// Connects to the model. Blocks where no model is named: then the server
    /// is asked which ones it has.
    ///
    /// # Errors
    ///
    /// If there is no such provider, its key is missing or cannot be read, or it
    /// is not clear which model is meant.
    pub fn open(&self) -> Result<HttpProvider, ConnectError> {
        let name = self.provider;
        let (provider, keys, needs_key) = self.server()?;
        let own = self.key_variable.map(|variable| [variable]);
        let keys = own.as_ref().map_or(keys, |own| own.as_slice());
        // Only the service's own key is stored.
        let service = Service::named(name).filter(|_| needs_key && own.is_none());
        let key = match service {
            Some(service) => Key::of_service(service)?,
            None => Key::of_variables(keys),
        };
        if key.is_none() && (needs_key || own.is_some()) {
            return Err(ConnectError::NoKey {
                provider: name.to_owned(),
                variables: keys.iter().map(|key| (*key).to_owned()).collect(),
                can_be_stored: service.is_some(),
            });
        }
        // A key configured for this server is sent there; a service's own key is
        // sent only to that service, or to an address configured for it.
        let is_services = own.is_none() && keys != [KEY_VARIABLE].as_slice();
        if key.is_some() && is_services && provider.sends_key_in_cleartext() {
            return Err(ConnectError::KeyInCleartext {
                provider: name.to_owned(),
            });
        }
        let provider = provider.key(key).key_variables(keys, service);
        let by_default = Service::named(name).filter(|_| needs_key);
        let by_default = by_default.and_then(|service| service.default_model);
        let model = match self.model.or(by_default) {
            Some(model) => model.to_owned(),
            None => only_model(name, &provider)?,
        };
        Ok(provider.with_model(&model))
    }

    /// The server, the variables with its key, and whether it needs one.
    fn server(&self) -> Result<(HttpProvider, &'static [&'static str], bool), ConnectError> {
        const OF_ADDRESS: &[&str] = &[KEY_VARIABLE];

        let name = self.provider;
        if let Some((service, address)) = self.elsewhere() {
            let keys = match self.address {
                Some(_) => service.keys,
                None => OF_ADDRESS,
            };
            return Ok((HttpProvider::elsewhere(service, address)?, keys, false));
        }
        if name.contains("://") {
            let address = self.address.unwrap_or(name);
            let provider = HttpProvider::at(Kind::OpenAi, address)?;
            return Ok((provider, OF_ADDRESS, false));
        }
        let service = Service::named(name).ok_or_else(|| ConnectError::Unknown {
            name: name.to_owned(),
            near: suggest::nearest(name, SERVICES.iter().map(|service| service.name)),
        })?;
        Ok((HttpProvider::new(service)?, service.keys, service.needs_key))
    }

    /// The service and the address of a server that uses the service's API:
    /// `completion:http://127.0.0.1:8000/v1`.
    fn elsewhere(&self) -> Option<(&'static Service, &'a str)> {
        let (service, address) = match self.address {
            // A configured address is used whatever it is, so that nothing is
            // sent elsewhere.
            Some(address) => (self.provider, address),
            None => split_address(self.provider)?,
        };
        Some((Service::named(service)?, address))
    }
}

/// Splits the name of a provider into a service and an address, such as
/// `ollama:http://gpu:11434`.
#[must_use]
pub fn split_address(name: &str) -> Option<(&str, &str)> {
    let parts = name.split_once(':')?;
    parts.1.contains("://").then_some(parts)
}

/// The only model of a server that answers prompts, or an error if it has
/// several.
fn only_model(name: &str, provider: &HttpProvider) -> Result<String, ConnectError> {
    // A runtime of its own, because this may be called inside one.
    let ask = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().build().ok()?;
        Some(runtime.block_on(provider.list_models()))
    };
    let listed = thread::scope(|scope| scope.spawn(ask).join());
    let mut models = match listed.ok().flatten() {
        Some(Ok(models)) => models,
        Some(Err(error)) if !error.is_about_list() => {
            return Err(ConnectError::NotListed(error.into()));
        }
        Some(Err(_)) | None => Vec::new(),
    };
    if models.iter().any(|name| !is_for_embeddings(name)) {
        models.retain(|name| !is_for_embeddings(name));
    }
    match models.len() {
        0 => Err(ConnectError::NoModel {
            provider: name.to_owned(),
        }),
        1 => Ok(models.remove(0)),
        _ => Err(ConnectError::SeveralModels {
            provider: name.to_owned(),
            models,
        }),
    }
}
