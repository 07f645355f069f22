//! Routes model names to models.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use hyper::StatusCode;
use ptk_model::{Candidate, Model, Models};
use ptk_protocol::schema::suggest;

use crate::chat_request::ChatRequest;
use crate::failure::Failure;

/// The most names that are remembered of those that a server was asked for.
const MAX_NAMES: usize = 256;

/// The models that one name stands for, in the order in which they are asked.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) models: Models,
    /// Whether the server gets the name that the client sent.
    passes_name: bool,
}

impl Route {
    pub(crate) fn new(models: impl IntoIterator<Item = Model>) -> Self {
        Self {
            models: models.into_iter().map(Candidate::new).collect(),
            passes_name: false,
        }
    }

    /// The name to send, if it is the client's and not the model's own.
    pub(crate) fn name_for<'a>(&self, chat: &'a ChatRequest) -> Option<&'a str> {
        self.passes_name.then_some(chat.model.as_str())
    }

    pub(crate) fn no_model() -> Failure {
        Failure::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "no_model",
            "There is no model to ask",
        )
    }
}

/// All routes.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    named: BTreeMap<String, Arc<Route>>,
    other: Option<Other>,
}

/// Where requests for unknown names go.
#[derive(Debug)]
pub(crate) enum Other {
    /// To these models, whatever the name is.
    One(Arc<Route>),
    /// To a server that has models of such names.
    Server {
        model: Box<Model>,
        known: Mutex<HashMap<String, Arc<Route>>>,
    },
}

impl Routes {
    pub(crate) fn add(&mut self, name: String, route: Route) {
        self.named.insert(name, Arc::new(route));
    }

    pub(crate) fn set_other(&mut self, other: Other) {
        self.other = Some(other);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.named.is_empty() && self.other.is_none()
    }

    /// The route for a name.
    pub(crate) fn get(&self, name: &str) -> Result<Arc<Route>, Failure> {
        if let Some(route) = self.named.get(name) {
            return Ok(Arc::clone(route));
        }
        match &self.other {
            Some(Other::One(route)) => Ok(Arc::clone(route)),
            Some(Other::Server { .. }) if name.is_empty() => Err(Failure::invalid(
                "model",
                "Name a model of the server behind this gateway",
            )),
            Some(Other::Server { model, known }) => {
                let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                if known.len() >= MAX_NAMES && !known.contains_key(name) {
                    known.clear();
                }
                let route = known.entry(name.to_owned()).or_insert_with(|| {
                    Arc::new(Route {
                        passes_name: true,
                        ..Route::new([(**model).clone()])
                    })
                });
                Ok(Arc::clone(route))
            }
            None => Err(self.unknown(name)),
        }
    }

    fn unknown(&self, name: &str) -> Failure {
        let near = suggest::nearest(name, self.names());
        let near = near.map_or_else(
            || ".".to_owned(),
            |near| format!("; did you mean `{near}`?"),
        );
        let known: Vec<&str> = self.names().collect();
        let message = format!(
            "Model `{name}` not found{near} There are: {}",
            known.join(", ")
        );
        Failure {
            param: Some("model".to_owned()),
            ..Failure::new(StatusCode::NOT_FOUND, "model_not_found", message)
        }
    }

    /// The configured names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.named.keys().map(String::as_str)
    }

    /// The names of all available models, those of a server included.
    pub(crate) async fn all(&self) -> Vec<String> {
        let mut names: Vec<String> = self.names().map(str::to_owned).collect();
        match &self.other {
            Some(Other::One(route)) => {
                let model = route.models.get(0).map(|it| it.provider());
                let name = model.map(|it| it.model().unwrap_or_else(|| it.name()));
                names.extend(name.map(str::to_owned));
            }
            Some(Other::Server { model, .. }) => {
                let candidate = Candidate::new((**model).clone());
                names.extend(candidate.provider().models().await.unwrap_or_default());
            }
            None => {}
        }
        let mut known = HashSet::new();
        names.retain(|name| known.insert(name.clone()));
        names
    }

    /// Whether the server behind can be reached; without one, whether there is
    /// a model at all.
    pub(crate) async fn is_ready(&self) -> bool {
        match &self.other {
            Some(Other::Server { model, .. }) => {
                let candidate = Candidate::new((**model).clone());
                candidate.provider().models().await.is_some()
            }
            _ => !self.is_empty(),
        }
    }
}
