//! A model as it is asked: where it is, what is wanted of it, and what was
//! found out about it.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use ptk_llm::{Capabilities, Form, Memory, ModelProfile, Prices, Provider, Sampling, memory_key};
use tokio::time::Instant;

use crate::{Hold, Mode};

/// How long a model that failed is left alone if there is another one.
const REST: Duration = Duration::from_secs(60);
/// How often in a row calls may stand in the text of a model that has an API
/// for them, before it is taught to write them.
const WRITTEN: u32 = 2;

/// A model, with what holds for it wherever it is asked.
///
/// ```
/// use ptk::llm::Script;
/// use ptk::{Model, Mode, Ptk};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// // The first has nothing to say, so the second is asked.
/// let first = Model::new(Script::new(Vec::<String>::new()));
/// let second = Model::new(Script::new(["Hello."])).mode(Mode::Text).context_window(8192);
/// let ptk = Ptk::builder().model(first).fallback(second).build()?;
/// assert_eq!(ptk.run("Hi").await?, "Hello.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Model {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) name: Option<String>,
    pub(crate) mode: Mode,
    pub(crate) dialect: Option<String>,
    pub(crate) taught: Option<String>,
    pub(crate) context_window: Option<u32>,
    pub(crate) max_tokens: Option<u32>,
    pub(crate) sampling: Sampling,
    pub(crate) prices: Option<Prices>,
    pub(crate) hold: Hold,
}

impl Model {
    /// The model of this provider.
    pub fn new(provider: impl Provider + 'static) -> Self {
        Self {
            provider: Arc::new(provider),
            name: None,
            mode: Mode::Auto,
            dialect: None,
            taught: None,
            context_window: None,
            max_tokens: None,
            sampling: Sampling::default(),
            prices: None,
            hold: Hold::Auto,
        }
    }

    /// What it is remembered by, if it is one that can be.
    #[must_use]
    pub fn memory_key(&self) -> Option<String> {
        memory_key(&*self.provider, self.name.as_deref())
    }

    /// The form of calls that it was trained on, where that is known.
    #[must_use]
    pub fn known_dialect(&self) -> Option<&'static str> {
        self.provider.capabilities(self.name.as_deref()).dialect
    }

    /// Whether there is a place for tools in what it takes. Where it goes on
    /// with one text, they can only be told in words.
    #[must_use]
    pub fn has_place_for_tools(&self) -> bool {
        self.provider.capabilities(self.name.as_deref()).form == Form::Chat
    }

    /// Whether it is known to be too small to call tools.
    #[must_use]
    pub fn is_too_small(&self) -> bool {
        self.provider
            .capabilities(self.name.as_deref())
            .is_too_small
    }

    /// Which one, where it is not the provider's own.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// How it calls tools.
    #[must_use]
    pub const fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// The dialect that it is taught, and the only one in which it is read.
    #[must_use]
    pub fn dialect(mut self, name: impl Into<String>) -> Self {
        let name = name.into();
        self.dialect = (name != "auto").then_some(name);
        self
    }

    /// The dialect that it is taught; all are read.
    #[must_use]
    pub fn taught(mut self, dialect: impl Into<String>) -> Self {
        self.taught = Some(dialect.into());
        self
    }

    /// How many tokens it can take.
    #[must_use]
    pub const fn context_window(mut self, tokens: u32) -> Self {
        self.context_window = Some(tokens);
        self
    }

    /// The most tokens of a reply.
    #[must_use]
    pub const fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// How it chooses its words.
    #[must_use]
    pub const fn sampling(mut self, sampling: Sampling) -> Self {
        self.sampling = sampling;
        self
    }

    /// When it is held to a form in which no call can be malformed.
    #[must_use]
    pub const fn hold(mut self, hold: Hold) -> Self {
        self.hold = hold;
        self
    }

    /// What it costs.
    #[must_use]
    pub const fn prices(mut self, prices: Prices) -> Self {
        self.prices = Some(prices);
        self
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("provider", &self.provider)
            .field("name", &self.name)
            .field("mode", &self.mode)
            .field("dialect", &self.dialect)
            .finish_non_exhaustive()
    }
}

/// How a model is asked, by what is wanted of it and what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approach {
    /// The model's name, where one is to be said.
    pub model: Option<String>,
    /// Whether it is given its tools by its API.
    pub is_native: bool,
    /// Whether that may change with what is found out.
    pub may_change: bool,
    /// The dialect that it is taught, and the only one in which it is read.
    pub only: Option<String>,
    /// The dialect that it is best taught, if there is no such one.
    pub best: Option<String>,
    /// How many tokens it can take, where that is known.
    pub context_window: Option<u32>,
    /// What it can do.
    pub can: Capabilities,
}

/// A model, and what is noticed of it while it is asked. For hosts that ask
/// models themselves; a [`Ptk`](crate::Ptk) has its own.
///
/// ```
/// use ptk::llm::{InMemory, Script};
/// use ptk::{Candidate, Mode, Model};
///
/// let candidate = Candidate::new(Model::new(Script::new(["Hello."])));
/// let approach = candidate.approach(None, Mode::Auto, &InMemory::default());
/// assert!(!approach.is_native, "nothing in the script is a native call");
/// ```
#[derive(Debug)]
pub struct Candidate {
    pub(crate) model: Model,
    /// What its server said of it; `None` inside if it said nothing.
    learned: OnceLock<Option<Capabilities>>,
    /// How often in a row its calls stood in its text.
    written: AtomicU32,
    /// Whether it turned out to be better taught in words.
    is_text: AtomicBool,
    rests_until: Mutex<Option<Instant>>,
}

impl Candidate {
    /// This model, of which nothing was noticed yet.
    #[must_use]
    pub fn new(model: Model) -> Self {
        Self {
            model,
            learned: OnceLock::new(),
            written: AtomicU32::new(0),
            is_text: AtomicBool::new(false),
            rests_until: Mutex::new(None),
        }
    }

    /// Where it is asked.
    #[must_use]
    pub fn provider(&self) -> &Arc<dyn Provider> {
        &self.model.provider
    }

    /// How it chooses its words where nothing else is said.
    #[must_use]
    pub fn sampling(&self) -> Sampling {
        self.model.sampling
    }

    /// The most tokens of a reply where nothing else is said.
    #[must_use]
    pub fn max_tokens(&self) -> Option<u32> {
        self.model.max_tokens
    }

    /// How it is asked. `name` is another model than its own, and `mode`
    /// counts before its own.
    #[must_use]
    pub fn approach(&self, name: Option<&str>, mode: Mode, memory: &dyn Memory) -> Approach {
        let model = &self.model;
        let name = name.or(model.name.as_deref());
        let name = name.or_else(|| model.provider.model()).map(str::to_owned);
        let can = self.capabilities(name.as_deref());
        let key = memory_key(&*model.provider, name.as_deref());
        let found = key.and_then(|key| memory.recall(&key)).unwrap_or_default();
        let mode = match mode {
            Mode::Auto => model.mode,
            mode => mode,
        };
        let known = can.dialect.map(str::to_owned);
        Approach {
            is_native: self.is_native(mode, can, &found),
            may_change: mode == Mode::Auto,
            only: model.dialect.clone(),
            best: model.taught.clone().or(found.dialect).or(known),
            context_window: model
                .context_window
                .or(found.context_window)
                .or(can.context_window),
            can,
            model: name,
        }
    }

    /// Asks its server once what it can do. Says whether something is known
    /// now that was not.
    pub async fn learn(&self, name: Option<&str>) -> bool {
        self.is_to_be_learned() && self.learned(self.model.provider.learn(name).await)
    }

    /// What this model can do, as far as it is known.
    pub(crate) fn capabilities(&self, name: Option<&str>) -> Capabilities {
        let learned = self.learned.get().copied().flatten();
        learned.unwrap_or_else(|| self.model.provider.capabilities(name))
    }

    /// Whether its server should be asked what it can do.
    pub(crate) fn is_to_be_learned(&self) -> bool {
        self.learned.get().is_none()
    }

    /// What its server said, if anything. Whether that is new.
    pub(crate) fn learned(&self, told: Option<Capabilities>) -> bool {
        self.learned.set(told).is_ok() && told.is_some()
    }

    /// Whether its server says that it is shown its tools.
    pub(crate) fn is_vouched_for(&self) -> bool {
        let learned = self.learned.get().copied().flatten();
        learned.is_some_and(|can| can.native_tools == Some(true))
    }

    /// It failed, and is left alone for a while.
    pub fn rest(&self) {
        let mut until = self
            .rests_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *until = Some(Instant::now() + REST);
    }

    /// Whether it is left alone for now.
    #[must_use]
    pub fn is_resting(&self) -> bool {
        let until = self
            .rests_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until)
    }

    /// It replied, and its calls stood in its text, or not. Whether that
    /// happened too often.
    pub fn has_written(&self, is_written: bool) -> bool {
        if !is_written {
            self.written.store(0, Ordering::Relaxed);
            return false;
        }
        self.written.fetch_add(1, Ordering::Relaxed) + 1 >= WRITTEN
    }

    /// From now on it is taught in words, and that is remembered.
    pub fn turn_to_text(&self, name: Option<&str>, memory: &dyn Memory, why: &str) {
        self.is_text.store(true, Ordering::Relaxed);
        let Some(key) = memory_key(&*self.model.provider, name) else {
            return;
        };
        let profile = ModelProfile {
            native_tools: Some(false),
            why: why.to_owned(),
            is_tried: false,
            ..memory.recall(&key).unwrap_or_default()
        };
        memory.remember(&key, profile);
    }

    /// How it calls tools: as is wanted, or else as was found out, or else as
    /// it can.
    fn is_native(&self, mode: Mode, can: Capabilities, found: &ModelProfile) -> bool {
        match mode {
            Mode::Native => true,
            Mode::Text => false,
            Mode::Auto => {
                let may_be = can.form == Form::Chat && !self.is_text.load(Ordering::Relaxed);
                may_be && found.native_tools.or(can.native_tools).unwrap_or(false)
            }
        }
    }
}
