//! Models by the names that clients ask for.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyper::StatusCode;
use ptk::llm::Memory;
use ptk::protocol::schema::suggest;
use ptk::{Approach, Candidate, Mode, Model};

use crate::chat_request::ChatRequest;
use crate::failure::Failure;

/// Names that are remembered of those that a server was asked for.
const MAX_NAMES: usize = 256;

/// How long it counts how a model is asked: what was found out about it may
/// change, by other programs, too.
const COUNTS: Duration = Duration::from_secs(5);

/// A model of a route.
#[derive(Debug)]
pub(crate) struct Routed {
    pub(crate) candidate: Candidate,
    /// How it was asked last, and when that was found out.
    approach: Mutex<Option<(Instant, Arc<Approach>)>>,
}

impl Routed {
    /// How it is asked.
    pub(crate) fn approach(
        &self,
        name: Option<&str>,
        mode: Mode,
        memory: &dyn Memory,
    ) -> Arc<Approach> {
        let mut known = self.approach.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((since, approach)) = &*known
            && since.elapsed() < COUNTS
        {
            return Arc::clone(approach);
        }
        let approach = Arc::new(self.candidate.approach(name, mode, memory));
        *known = Some((Instant::now(), Arc::clone(&approach)));
        approach
    }

    /// Something was found out about it.
    pub(crate) fn forget(&self) {
        *self.approach.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// The models that one name stands for, in the order in which they are asked.
#[derive(Debug)]
pub(crate) struct Route {
    models: Vec<Routed>,
    /// Whether the server is asked for the model by the client's own name.
    passes_name: bool,
}

impl Route {
    pub(crate) fn new(models: Vec<Model>) -> Self {
        let models = models.into_iter();
        Self {
            models: models
                .map(|model| Routed {
                    candidate: Candidate::new(model),
                    approach: Mutex::default(),
                })
                .collect(),
            passes_name: false,
        }
    }

    /// Those that are well, then those that failed a while ago.
    pub(crate) fn in_turn(&self) -> impl Iterator<Item = &Routed> {
        let is_well = |model: &&Routed| !model.candidate.is_resting();
        let (well, resting): (Vec<_>, Vec<_>) = self.models.iter().partition(is_well);
        well.into_iter().chain(resting)
    }

    /// What the model is called where it is not by its own name.
    pub(crate) fn name_for<'a>(&self, chat: &'a ChatRequest) -> Option<&'a str> {
        self.passes_name.then_some(chat.model.as_str())
    }

    pub(crate) fn nobody() -> Failure {
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

/// Where names go that stand for no model here.
#[derive(Debug)]
pub(crate) enum Other {
    /// To this one, whatever they are.
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
                        ..Route::new(vec![(**model).clone()])
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
            "There is no model `{name}`{near} There are: {}",
            known.join(", ")
        );
        Failure {
            param: Some("model".to_owned()),
            ..Failure::new(StatusCode::NOT_FOUND, "model_not_found", message)
        }
    }

    /// The names that stand for models here.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.named.keys().map(String::as_str)
    }

    /// The names of all models that there are, those of a server included.
    pub(crate) async fn all(&self) -> Vec<String> {
        let mut names: Vec<String> = self.names().map(str::to_owned).collect();
        match &self.other {
            Some(Other::One(route)) => {
                let passthrough = route.models.first();
                let passthrough = passthrough.map(|it| {
                    it.candidate
                        .provider()
                        .model()
                        .unwrap_or_else(|| it.candidate.provider().name())
                });
                names.extend(passthrough.map(str::to_owned));
            }
            Some(Other::Server { model, .. }) => {
                let candidate = Candidate::new((**model).clone());
                names.extend(candidate.provider().models().await.unwrap_or_default());
            }
            None => {}
        }
        names.dedup();
        names
    }

    /// Whether a server behind can be reached; `None` if there is none that
    /// could be asked.
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
