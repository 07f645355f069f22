//! Settings of a local model.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use super::prompts::Prompts;
use crate::{Library, LibraryError};

/// The default context window in tokens: a larger one takes memory, whether it
/// is used or not.
pub(super) const WINDOW: u32 = 16_384;

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
    pub(super) name: Option<String>,
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
