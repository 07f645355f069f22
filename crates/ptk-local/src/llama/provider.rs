//! [`Local`]: a provider whose model is a file.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, StreamExt as _};
use ptk_llm::{Capabilities, Constraint, Deltas, Form, LlmError, LlmErrorKind, Provider, Request};
use ptk_protocol::format::DefinitionStyle;

use super::settings::{Settings, WINDOW};
use super::trouble::Trouble;
use super::worker::{Job, Worker};
use crate::{Gguf, GgufError};

/// Models with fewer parameters do not call tools: one with 135 million made no
/// right call in 49 requests.
const CALLING: u64 = 300_000_000;
/// Models with fewer parameters get their tools as one-line signatures: they
/// call them better so, and read them in half the time.
const LARGE: u64 = 4_000_000_000;

/// A model in a file, on this machine.
///
/// It is loaded with the first request, and stays until this is dropped. One
/// request is served at a time; a prefix that the next one shares with it is
/// not evaluated again. Dropping a reply ends it.
#[derive(Debug)]
pub struct Local {
    settings: Settings,
    name: String,
    window: u32,
    parameters: u64,
    worker: Mutex<Option<Worker>>,
}

impl Local {
    /// Opens the model of these settings. Only the file's header is read.
    ///
    /// # Errors
    ///
    /// If the file does not hold a model.
    pub fn open(settings: Settings) -> Result<Self, GgufError> {
        let gguf = Gguf::read(&settings.file)?;
        let made_for = gguf
            .context_length
            .and_then(|tokens| u32::try_from(tokens).ok());
        let stem = || {
            settings
                .file
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
        };
        Ok(Self {
            name: settings.name.clone().unwrap_or_else(|| stem().into_owned()),
            window: settings.window(made_for.unwrap_or(WINDOW)),
            parameters: gguf.parameters,
            settings,
            worker: Mutex::new(None),
        })
    }

    /// The path of the model's file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.settings.file
    }

    /// Passes a request to the thread, which is started with the first one.
    fn submit(&self, job: Job) -> Result<bool, std::io::Error> {
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        if worker.is_none() {
            *worker = Some(Worker::start(self.settings.clone())?);
        }
        Ok(worker.as_ref().is_some_and(|worker| worker.submit(job)))
    }

    fn error(&self, request: &Request, trouble: &Trouble) -> LlmError {
        LlmError::of(self, request, trouble.kind()).message(trouble.to_string())
    }
}

impl Provider for Local {
    fn name(&self) -> &'static str {
        "local"
    }

    fn model(&self) -> Option<&str> {
        Some(&self.name)
    }

    fn id(&self) -> Option<String> {
        // Its capabilities follow from its file, and need not be remembered.
        None
    }

    fn capabilities(&self, _: Option<&str>) -> Capabilities {
        Capabilities {
            native_tools: Some(false),
            context_window: Some(self.window),
            constraint: Constraint::Grammar,
            form: Form::Chat,
            dialect: None,
            definitions: if self.parameters < LARGE {
                DefinitionStyle::Signature
            } else {
                DefinitionStyle::Full
            },
            is_too_small: self.parameters < CALLING,
            // A reply whose template opens reasoning begins with the mark.
            starts_in_reasoning: false,
            takes_images: false,
        }
    }

    fn learn<'a>(&'a self, model: Option<&'a str>) -> BoxFuture<'a, Option<Capabilities>> {
        std::future::ready(Some(self.capabilities(model))).boxed()
    }

    fn stream<'a>(&'a self, request: &'a Request) -> Deltas<'a> {
        let begin = async move {
            let (job, told) = Job::new(request.clone());
            let why = match self.submit(job) {
                Ok(true) => {
                    let told =
                        stream::unfold(told, |mut told| async { Some((told.recv().await?, told)) });
                    let told = told.map(|delta| delta.map_err(|it| self.error(request, &it)));
                    return told.left_stream();
                }
                Ok(false) => "its thread has ended".to_owned(),
                Err(error) => format!("no thread could be started: {error}"),
            };
            let gone = LlmError::of(self, request, LlmErrorKind::NotStarted).message(why);
            stream::iter([Err(gone)]).right_stream()
        };
        stream::once(begin).flatten().boxed()
    }
}
