//! A model and how it is asked: its provider, its settings, and what was found
//! out about it.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use ptk_llm::{
    Capabilities, Completion, Constraint, Form, Memory, ModelProfile, Prices, Provider, Sampling,
    memory_key,
};
use ptk_protocol::format::DefinitionStyle;
use ptk_protocol::{Opening, Reply};
use tokio::time::Instant;

/// How long a model that failed is left alone if there is another one.
const REST: Duration = Duration::from_secs(60);
/// How often in a row calls may stand in the text of a model that has an API
/// for them, before it is taught to write them.
const WRITTEN: u32 = 2;
/// A model that is shown fewer tokens than this part of what its tools take was
/// not shown its tools.
const SHOWN: u64 = 4;
/// Tools that take fewer tokens prove nothing.
const FEW: u64 = 100;
/// How long an approach is cached: findings about a model may change, by other
/// programs, too.
const COUNTS: Duration = Duration::from_secs(5);

/// How a model calls tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// By its native API if it has one, in text otherwise.
    #[default]
    Auto,
    /// By its native API.
    Native,
    /// In text.
    Text,
}

/// Whether a model that is taught its tools in text is held to a form in which
/// no call can be malformed, where its provider can do that.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Hold {
    /// Once a reply could not be used.
    #[default]
    Auto,
    /// From the beginning.
    Always,
    /// Not at all.
    Never,
}

/// A model with its settings.
///
/// ```
/// use ptk_llm::Script;
/// use ptk_model::{Mode, Model};
///
/// let model = Model::new(Script::new(["Hello."])).mode(Mode::Text).context_window(8192);
/// assert_eq!(model.display_name(), "script");
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Model {
    /// What gives access to it.
    pub provider: Arc<dyn Provider>,
    /// Its name, where it is not the provider's own.
    pub name: Option<String>,
    /// How it calls tools.
    pub mode: Mode,
    /// The dialect that it is taught, and the only one in which it is read. If
    /// it calls natively, all are read.
    pub dialect: Option<String>,
    /// The dialect that it is taught; all are read.
    pub taught: Option<String>,
    /// The size of its context window, in tokens.
    pub context_window: Option<u32>,
    /// The most tokens of a reply.
    pub max_tokens: Option<u32>,
    /// How tokens are sampled.
    pub sampling: Sampling,
    /// Its prices.
    pub prices: Option<Prices>,
    /// When it is held to a form in which no call can be malformed.
    pub hold: Hold,
    /// Whether its replies start inside reasoning, because its template opens
    /// it. Otherwise what is known of its family counts.
    pub starts_in_reasoning: Option<bool>,
    /// Whether its server is told to cache prompts, where it has to be told.
    pub prompt_cache: bool,
    /// How tools are listed for it in text, where that is not to follow from
    /// its size.
    pub definitions: Option<DefinitionStyle>,
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
            starts_in_reasoning: None,
            prompt_cache: true,
            definitions: None,
        }
    }

    /// The name of the model, or of its provider if it has none.
    #[must_use]
    pub fn display_name(&self) -> &str {
        let name = self.name.as_deref().or_else(|| self.provider.model());
        name.unwrap_or_else(|| self.provider.name())
    }

    /// The key under which findings about it are remembered, if it has one.
    #[must_use]
    pub fn memory_key(&self) -> Option<String> {
        memory_key(&*self.provider, self.name.as_deref())
    }

    /// The form of calls that it was trained on, where that is known.
    #[must_use]
    pub fn known_dialect(&self) -> Option<&'static str> {
        self.provider.capabilities(self.name.as_deref()).dialect
    }

    /// Whether its requests have a field for tools. Where it completes a single
    /// text, tools can only be described in that text.
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

    /// Sets the model's name, where it is not the provider's own.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets how the model calls tools.
    #[must_use]
    pub const fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets the dialect that it is taught, and the only one in which it is
    /// read. If it calls natively, all are read.
    #[must_use]
    pub fn dialect(mut self, name: impl Into<String>) -> Self {
        let name = name.into();
        self.dialect = (name != "auto").then_some(name);
        self
    }

    /// Sets the dialect that it is taught; all are read.
    #[must_use]
    pub fn taught(mut self, dialect: impl Into<String>) -> Self {
        self.taught = Some(dialect.into());
        self
    }

    /// Sets the size of its context window, in tokens.
    #[must_use]
    pub const fn context_window(mut self, tokens: u32) -> Self {
        self.context_window = Some(tokens);
        self
    }

    /// Sets the most tokens of a reply.
    #[must_use]
    pub const fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// Sets how tokens are sampled.
    #[must_use]
    pub const fn sampling(mut self, sampling: Sampling) -> Self {
        self.sampling = sampling;
        self
    }

    /// Sets when it is held to a form in which no call can be malformed.
    #[must_use]
    pub const fn hold(mut self, hold: Hold) -> Self {
        self.hold = hold;
        self
    }

    /// Sets whether its replies start inside reasoning.
    #[must_use]
    pub const fn starts_in_reasoning(mut self, starts: bool) -> Self {
        self.starts_in_reasoning = Some(starts);
        self
    }

    /// Sets whether its server is told to cache prompts, where it has to be
    /// told: Anthropic's is, and servers that speak its API.
    #[must_use]
    pub const fn prompt_cache(mut self, is_wanted: bool) -> Self {
        self.prompt_cache = is_wanted;
        self
    }

    /// Sets its prices.
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

/// How a model is asked, from its settings and what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approach {
    /// The model's name, if requests have to name one.
    pub model: Option<String>,
    /// Whether it is given its tools by its API.
    pub is_native: bool,
    /// Whether that may change with what is found out.
    pub may_change: bool,
    /// The dialect that it is taught, and the only one in which it is read
    /// where it is not native.
    pub only: Option<String>,
    /// The dialect that it is best taught, if `only` is not set.
    pub best: Option<String>,
    /// The size of its context window in tokens, where that is known.
    pub context_window: Option<u32>,
    /// The model's capabilities.
    pub can: Capabilities,
    /// What its replies begin with.
    pub opening: Opening,
}

/// What a reply shows of the way in which the model takes its tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// Nothing new.
    Nothing,
    /// It was not shown its tools, but only so many tokens: it has to be asked
    /// again, taught in text.
    NotShown(u64),
    /// It writes its calls into its text, although it has an API for them: it
    /// is better taught in text from now on.
    WritesCalls,
}

/// A model, and what is noticed of it while it is asked.
///
/// ```
/// use ptk_llm::{InMemory, Script};
/// use ptk_model::{Candidate, Mode, Model};
///
/// let candidate = Candidate::new(Model::new(Script::new(["Hello."])));
/// let approach = candidate.approach(None, Mode::Auto, &InMemory::default());
/// assert!(!approach.is_native, "nothing in the script is a native call");
/// ```
#[derive(Debug)]
pub struct Candidate {
    model: Model,
    /// The capabilities its server reported; `None` inside if it reported none.
    learned: OnceLock<Option<Capabilities>>,
    /// How many replies in a row had calls in their text.
    written: AtomicU32,
    /// Whether it turned out to be better taught in text.
    is_text: AtomicBool,
    /// The constraint that is left after its server refused others.
    constraint: Mutex<Option<Constraint>>,
    rests_until: Mutex<Option<Instant>>,
    /// The window that its server has stated in an error, of the model of this
    /// name.
    stated_window: Mutex<Option<(Option<String>, u32)>>,
    /// The last approach, with the name and mode it was determined for.
    cached: Mutex<Option<CachedApproach>>,
}

/// An approach that holds for a while.
#[derive(Debug)]
struct CachedApproach {
    since: Instant,
    name: Option<String>,
    mode: Mode,
    approach: Arc<Approach>,
}

impl Candidate {
    /// Wraps a model of which nothing was noticed yet.
    #[must_use]
    pub fn new(model: Model) -> Self {
        Self {
            model,
            learned: OnceLock::new(),
            written: AtomicU32::new(0),
            is_text: AtomicBool::new(false),
            constraint: Mutex::new(None),
            rests_until: Mutex::new(None),
            stated_window: Mutex::new(None),
            cached: Mutex::new(None),
        }
    }

    /// The provider of the model.
    #[must_use]
    pub fn provider(&self) -> &Arc<dyn Provider> {
        &self.model.provider
    }

    /// The model and its settings.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// How to ask the model. `name` replaces its own name, and `mode` takes
    /// precedence over its own.
    #[must_use]
    pub fn approach(&self, name: Option<&str>, mode: Mode, memory: &dyn Memory) -> Approach {
        let model = &self.model;
        let name = name.or(model.name.as_deref());
        let name = name.or_else(|| model.provider.model()).map(str::to_owned);
        let mut can = self.capabilities(name.as_deref());
        can.definitions = model.definitions.unwrap_or(can.definitions);
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
            context_window: self
                .stated_window(name.as_deref())
                .or(model.context_window)
                .or(found.context_window)
                .or(can.context_window),
            can,
            opening: match model.starts_in_reasoning {
                Some(true) => Opening::Reasoning,
                None if can.starts_in_reasoning => Opening::Likely,
                Some(false) | None => Opening::Text,
            },
            model: name,
        }
    }

    /// The same, determined at most every few seconds: `memory` may be a file.
    #[must_use]
    pub fn cached_approach(
        &self,
        name: Option<&str>,
        mode: Mode,
        memory: &dyn Memory,
    ) -> Arc<Approach> {
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*cached
            && known.since.elapsed() < COUNTS
            && known.name.as_deref() == name
            && known.mode == mode
        {
            return Arc::clone(&known.approach);
        }
        let approach = Arc::new(self.approach(name, mode, memory));
        *cached = Some(CachedApproach {
            since: Instant::now(),
            name: name.map(str::to_owned),
            mode,
            approach: Arc::clone(&approach),
        });
        approach
    }

    /// Asks its server once what the model can do. Returns whether something
    /// new was learned.
    pub async fn learn(&self, name: Option<&str>) -> bool {
        if self.learned.get().is_some() {
            return false;
        }
        let told = self.model.provider.learn(name).await;
        self.forget_approach();
        self.learned.set(told).is_ok() && told.is_some()
    }

    /// What this model can do, as far as it is known.
    fn capabilities(&self, name: Option<&str>) -> Capabilities {
        let learned = self.learned.get().copied().flatten();
        let mut can = learned.unwrap_or_else(|| self.model.provider.capabilities(name));
        let left = *self.left_constraint();
        can.constraint = left.unwrap_or(can.constraint);
        can
    }

    fn left_constraint(&self) -> MutexGuard<'_, Option<Constraint>> {
        self.constraint
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Constrains the model less from now on, because its server refused this
    /// constraint. Returns the one that is left.
    pub fn weaken(&self, refused: Constraint) -> Constraint {
        let weaker = refused.weaker();
        *self.left_constraint() = Some(weaker);
        self.forget_approach();
        weaker
    }

    /// Constrains the model as before its server refused this constraint: the
    /// request was refused for something else.
    pub fn restore(&self, constraint: Constraint) {
        *self.left_constraint() = Some(constraint);
        self.forget_approach();
    }

    /// Whether its server confirms that the model is shown its tools.
    fn is_vouched_for(&self) -> bool {
        let learned = self.learned.get().copied().flatten();
        learned.is_some_and(|can| can.native_tools == Some(true))
    }

    /// Lets the model rest for a while after it failed.
    pub fn rest(&self) {
        let mut until = self
            .rests_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *until = Some(Instant::now() + REST);
    }

    /// Whether the model is resting after a failure.
    #[must_use]
    pub fn is_resting(&self) -> bool {
        let until = self
            .rests_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until)
    }

    /// Looks at a reply to a request with native tools, which take so many
    /// tokens: whether the model was shown them at all, and how it calls them.
    pub fn observe(&self, completion: &Completion, reply: &Reply, tools: u64) -> Finding {
        let (has_called, has_written) = (!completion.calls.is_empty(), !reply.calls.is_empty());
        let shown = completion.usage.map_or(0, |usage| usage.input_tokens);
        // Some servers do not count cached tokens, so what they report of the
        // model takes precedence.
        let may_be_left_out = !has_called && !has_written && !self.is_vouched_for();
        if may_be_left_out && shown > 0 && tools >= FEW && shown < tools / SHOWN {
            return Finding::NotShown(shown);
        }
        if !has_written || has_called {
            self.written.store(0, Ordering::Relaxed);
            return Finding::Nothing;
        }
        if self.written.fetch_add(1, Ordering::Relaxed) + 1 >= WRITTEN {
            return Finding::WritesCalls;
        }
        Finding::Nothing
    }

    /// Teaches the model in text from now on, and remembers that.
    pub fn turn_to_text(&self, name: Option<&str>, memory: &dyn Memory, why: &str) {
        self.is_text.store(true, Ordering::Relaxed);
        self.forget_approach();
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

    /// Remembers how large the model's window is, because its server has stated
    /// that in an error.
    pub fn learn_window(&self, name: Option<&str>, memory: &dyn Memory, window: u32) {
        if let Some(key) = memory_key(&*self.model.provider, name) {
            let profile = ModelProfile {
                context_window: Some(window),
                ..memory.recall(&key).unwrap_or_default()
            };
            memory.remember(&key, profile);
        }
        self.forget_approach();
        *self.stated() = Some((name.map(str::to_owned), window));
    }

    fn stated(&self) -> MutexGuard<'_, Option<(Option<String>, u32)>> {
        let stated = self.stated_window.lock();
        stated.unwrap_or_else(PoisonError::into_inner)
    }

    fn stated_window(&self, name: Option<&str>) -> Option<u32> {
        let stated = self.stated();
        let (of, window) = stated.as_ref()?;
        (of.as_deref() == name).then_some(*window)
    }

    /// Drops the cached approach, because something was found out.
    fn forget_approach(&self) {
        *self.cached.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Whether it calls tools natively: as configured, or else as was found
    /// out, or else as it can.
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
