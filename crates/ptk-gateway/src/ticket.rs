//! A running request: what it holds until it is answered, and its log entry.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use ptk_llm::Usage;
use tokio::sync::OwnedSemaphorePermit;

use crate::gateway::Inner;
use crate::log::{Ended, Log, LoggedBodies};

/// The status of a request whose client went away.
const GONE: u16 = 499;

/// A running request. It has ended when the last copy is dropped.
#[derive(Clone)]
pub(crate) struct Ticket(Arc<TicketState>);

struct TicketState {
    gateway: Arc<Inner>,
    path: &'static str,
    start: Instant,
    about: Mutex<RequestState>,
}

struct RequestState {
    ended: Ended,
    is_whole: bool,
    /// The request and the answer, if they are to be logged.
    contents: Option<LoggedBodies>,
    /// Permits that are released at the end.
    permits: Vec<OwnedSemaphorePermit>,
}

impl Ticket {
    pub(crate) fn new(gateway: Arc<Inner>, path: &'static str, ended: Ended) -> Self {
        gateway.metrics.begun();
        let contents = gateway.log.as_ref().and_then(Log::keeps);
        Self(Arc::new(TicketState {
            gateway,
            path,
            start: Instant::now(),
            about: Mutex::new(RequestState {
                ended,
                is_whole: false,
                contents,
                permits: Vec::new(),
            }),
        }))
    }

    pub(crate) fn id(&self) -> String {
        self.about(|about| about.ended.id.clone())
    }

    pub(crate) fn key(&self, name: Option<String>) {
        self.about(|about| about.ended.key = name);
    }

    pub(crate) fn hold(&self, permit: OwnedSemaphorePermit) {
        self.about(|about| about.permits.push(permit));
    }

    pub(crate) fn asked(&self, model: &str, stream: bool) {
        self.about(|about| {
            model.clone_into(&mut about.ended.model);
            about.ended.stream = stream;
        });
    }

    /// Logs a part of the request.
    pub(crate) fn request_body(&self, body: &[u8]) {
        self.about(|about| {
            if let Some(contents) = &mut about.contents {
                contents.request.add(body);
            }
        });
    }

    /// Logs a part of the answer.
    pub(crate) fn response_body(&self, piece: &[u8]) {
        self.about(|about| {
            if let Some(contents) = &mut about.contents {
                contents.answer.add(piece);
            }
        });
    }

    pub(crate) fn used(&self, usage: &Usage) {
        self.0.gateway.metrics.used(usage);
        self.about(|about| {
            about.ended.input_tokens += usage.input_tokens;
            about.ended.cached_tokens += usage.cached_tokens;
            about.ended.cache_write_tokens += usage.cache_write_tokens;
            about.ended.output_tokens += usage.output_tokens;
        });
    }

    pub(crate) fn status(&self, status: u16) {
        self.about(|about| about.ended.status = status);
    }

    pub(crate) fn error(&self, code: &str) {
        self.about(|about| about.ended.error = Some(code.to_owned()));
    }

    /// Marks the answer as complete.
    pub(crate) fn whole(&self) {
        self.about(|about| about.is_whole = true);
    }

    fn about<T>(&self, with: impl FnOnce(&mut RequestState) -> T) -> T {
        with(&mut self.0.about.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for TicketState {
    fn drop(&mut self) {
        let about = self.about.get_mut().unwrap_or_else(PoisonError::into_inner);
        let ended = &mut about.ended;
        if !about.is_whole {
            ended.status = GONE;
        }
        let took = self.start.elapsed();
        self.gateway.metrics.ended(self.path, ended.status, took);
        if let Some(log) = &self.gateway.log {
            ended.ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            log.tell(ended, about.contents.take());
        }
    }
}
