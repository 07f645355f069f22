//! [`Local`]: a provider whose model is a file.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, StreamExt as _};
use ptk_llm::{Capabilities, Constraint, Deltas, Form, LlmError, LlmErrorKind, Provider, Request};
use ptk_protocol::format::DefinitionStyle;

use super::prompts::Prompts;
use super::trouble::Trouble;
use super::worker::{Job, Worker};
use crate::{Gguf, GgufError, Library, LibraryError};

/// The default context window in tokens: a larger one takes memory, whether it
/// is used or not.
const WINDOW: u32 = 16_384;
/// Models with fewer parameters do not call tools: one with 135 million made no
/// right call in 49 requests.
const CALLING: u64 = 300_000_000;
/// Models with fewer parameters get their tools as one-line signatures: they
/// call them better so, and read them in half the time.
const LARGE: u64 = 4_000_000_000;

/// The callback for the progress of loading.
#[derive(Clone, Default)]
pub(super) struct Progress(Option<Arc<dyn Fn(f32) + Send + Sync>>);

impl Progress {
    pub(super) fn tell(&self, done: f32) {
        if let Some(tell) = &self.0 {
            tell(done);
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Progress")
    }
}

/// Settings of a local model.
///
/// ```no_run
/// use ptk_local::{Local, Settings};
///
/// let settings = Settings::new("model.gguf").context_window(4096).threads(4);
/// let model = Local::open(settings)?;
/// # Ok::<(), ptk_local::GgufError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Settings {
    pub(super) file: PathBuf,
    name: Option<String>,
    window: Option<u32>,
    threads: Option<usize>,
    prompts: Option<PathBuf>,
    pub(super) progress: Progress,
}

impl Settings {
    /// Default settings for the model in this file.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self {
            file: file.into(),
            name: None,
            window: None,
            threads: None,
            prompts: None,
            progress: Progress::default(),
        }
    }

    /// Settings for the model of this name in the user's library, or in this
    /// file. What it has read of its instructions is kept in the user's folder
    /// for state.
    ///
    /// # Errors
    ///
    /// If there is no such model.
    pub fn installed(library: &Library, name: &str) -> Result<Self, LibraryError> {
        let found = library.find(name)?;
        let settings = Self::new(found.path).name(found.name);
        Ok(match ptk_sandbox::state_folder() {
            Some(state) => settings.prompts_in(state.join("prompts")),
            None => settings,
        })
    }

    /// Sets the model's name; defaults to the file's name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the context window in tokens; defaults to the model's own, at most
    /// 16384.
    #[must_use]
    pub const fn context_window(mut self, tokens: u32) -> Self {
        self.window = Some(tokens);
        self
    }

    /// Sets the number of threads; defaults to one for every physical core.
    #[must_use]
    pub const fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Sets the folder of the prompt cache, so that unchanged instructions are
    /// not evaluated again in the next run; by default nothing is kept on disk.
    /// The folder stays below 512 MiB.
    #[must_use]
    pub fn prompts_in(mut self, folder: impl Into<PathBuf>) -> Self {
        self.prompts = Some(folder.into());
        self
    }

    /// Sets a callback for the progress of loading, from 0 to 1.
    #[must_use]
    pub fn on_progress(mut self, tell: impl Fn(f32) + Send + Sync + 'static) -> Self {
        self.progress = Progress(Some(Arc::new(tell)));
        self
    }

    pub(super) fn prompts(&self) -> Option<Prompts> {
        let folder = self.prompts.as_deref()?;
        Prompts::new(folder, &self.file).ok()
    }

    /// The context window for a model that was trained for this many tokens.
    pub(super) fn window(&self, made_for: u32) -> u32 {
        let made_for = made_for.max(1);
        self.window.unwrap_or(WINDOW).min(made_for)
    }

    pub(super) fn worker_threads(&self) -> i32 {
        // Two logical processors are often one core, and the process may not be
        // allowed to run on all of them.
        let own = || {
            let allowed = thread::available_parallelism().map_or(1, usize::from);
            num_cpus::get_physical().min(allowed)
        };
        let threads = self.threads.unwrap_or_else(own).max(1);
        i32::try_from(threads).unwrap_or(1)
    }
}

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
