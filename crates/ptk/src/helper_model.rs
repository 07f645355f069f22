//! Settings of a small model that helps the main one: its tasks and limits.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ptk_llm::{Prices, Provider, Sampling};

use crate::Model;

/// The most files that are chosen.
pub const MAX_FILES: usize = 5;

/// A small model that helps the main one: it may choose files before that one
/// is asked, and shorten results that are too long for it.
///
/// Its failures are logged and published as events; the run goes on without it.
///
/// ```
/// use std::time::Duration;
///
/// use ptk::llm::Script;
/// use ptk::{ChooseFiles, Shorten, SmallModel};
///
/// let small = SmallModel::new(Script::new([r#"{"files": ["src/main.rs"]}"#]))
///     .choosing_files(ChooseFiles::default())
///     .shortening(Shorten { above: 1000, ..Shorten::default() })
///     .timeout(Duration::from_secs(5));
/// # let _ = small;
/// ```
#[derive(Clone)]
pub struct SmallModel {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) model: Option<String>,
    pub(crate) timeout: Duration,
    pub(crate) sampling: Sampling,
    pub(crate) choose: Option<ChooseFiles>,
    pub(crate) shorten: Option<Shorten>,
    pub(crate) prices: Option<Prices>,
}

/// What the small model is shown of the files, and how many it may choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChooseFiles {
    /// How many files may be chosen; never more than [`MAX_FILES`].
    pub files: usize,
    /// How many names of files it is shown.
    pub names: usize,
    /// How many folders deep it is shown them.
    pub depth: usize,
    /// How much of the files the model that answers is shown, in bytes, all
    /// together. A file that does not fit is left out.
    pub bytes: usize,
}

impl Default for ChooseFiles {
    fn default() -> Self {
        Self {
            files: MAX_FILES,
            names: 500,
            depth: 4,
            bytes: 64 * 1024,
        }
    }
}

/// Which results the small model shortens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shorten {
    /// Shortens only results of more than so many tokens.
    pub above: u64,
    /// Tools whose results are never shortened. What is to be edited has to be
    /// seen as it is.
    pub except: Vec<String>,
}

impl Default for Shorten {
    fn default() -> Self {
        Self {
            above: 2000,
            except: vec!["read_file".to_owned(), "read".to_owned()],
        }
    }
}

impl SmallModel {
    /// Creates a small model without tasks.
    pub fn new(provider: impl Provider + 'static) -> Self {
        Self {
            provider: Arc::new(provider),
            model: None,
            timeout: Duration::from_secs(10),
            sampling: Sampling {
                temperature: Some(0.1),
                ..Sampling::default()
            },
            choose: None,
            shorten: None,
            prices: None,
        }
    }

    /// Creates a small model without tasks from a model with name, limits and
    /// prices.
    #[must_use]
    pub fn of(model: Model) -> Self {
        let small = Self {
            model: model.name,
            prices: model.prices,
            ..Self::new(model.provider)
        };
        if model.sampling == Sampling::default() {
            return small;
        }
        small.sampling(model.sampling)
    }

    /// Sets the model, where it is not the provider's own.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Sets the timeout of each request (default: ten seconds).
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets how tokens are sampled.
    #[must_use]
    pub const fn sampling(mut self, sampling: Sampling) -> Self {
        self.sampling = sampling;
        self
    }

    /// Makes it choose files, once a turn.
    #[must_use]
    pub const fn choosing_files(mut self, choose: ChooseFiles) -> Self {
        self.choose = Some(choose);
        self
    }

    /// Makes it shorten results.
    #[must_use]
    pub fn shortening(mut self, shorten: Shorten) -> Self {
        self.shorten = Some(shorten);
        self
    }

    /// The model's name.
    pub(crate) fn name(&self) -> Option<&str> {
        self.model.as_deref().or_else(|| self.provider.model())
    }
}

impl fmt::Debug for SmallModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SmallModel")
            .field("provider", &self.provider)
            .field("model", &self.model)
            .field("choose", &self.choose)
            .field("shorten", &self.shorten)
            .finish_non_exhaustive()
    }
}
