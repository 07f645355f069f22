//! Teaches a model its tools: the instructions, example turns, the grammar that
//! reads its replies, and the requests that follow from them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ptk_llm::{Constraint, Form, Message, Request};
use ptk_protocol::dialects::{Registry, UnknownDialect};
use ptk_protocol::format::guard::{Guard, GuardError};
use ptk_protocol::format::{DefinitionStyle, NotTaught};
use ptk_protocol::{
    Drafts, Formatter, Grammar, GrammarError, PtkFormatter, Role, Toolset, ToolsetError,
};

use crate::constraint::ReplyConstraint;
use crate::rendering::{merged, one_prompt};
use crate::{Approach, DeferredTools, native};

/// The dialect that is taught where none is chosen.
const DIALECT: &str = "ptk";

/// Why a model cannot be taught its tools.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TeachError {
    /// There is no such dialect.
    #[error(transparent)]
    Unknown(#[from] UnknownDialect),
    /// The dialect can be read, but not taught.
    #[error(transparent)]
    NotTaught(#[from] NotTaught),
    /// The marks of the dialects cannot be distinguished.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// The replies cannot be read.
    #[error(transparent)]
    Grammar(#[from] GrammarError),
    /// The search for tools has the name of a tool.
    #[error(transparent)]
    Tools(#[from] ToolsetError),
}

/// Teaches models their tools, each in its dialect.
///
/// ```
/// use ptk_llm::{InMemory, Message, Script};
/// use ptk_model::{Candidate, Mode, Model, Teacher};
/// use ptk_protocol::dialects::Registry;
/// use ptk_protocol::{ToolSpec, Toolset};
/// use serde_json::json;
///
/// let weather = ToolSpec::new("weather", "Tell the weather", json!({"type": "object"}));
/// let tools = Toolset::new([weather])?;
/// let candidate = Candidate::new(Model::new(Script::new(["Hello."])));
/// let approach = candidate.approach(None, Mode::Text, &InMemory::default());
///
/// let teacher = Teacher::new(Registry::builtin(), None)?;
/// let prompt = teacher.prompt(&approach, &tools, &tools)?;
/// let system = prompt.instructions.to_string();
/// let request = prompt.request(&approach, system, vec![Message::user("Is it raining?")]);
/// assert!(request.system.unwrap().contains("weather"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Teacher {
    dialects: Registry,
    /// The dialect that is taught, and the only one that is read.
    only: Option<String>,
    /// What keeps results from being read as calls.
    guard: Guard,
    /// What teaches every model, where that was replaced.
    replaced: Option<Arc<dyn Formatter>>,
    /// The formatters by dialect, and by how tools are described.
    formatters: Mutex<HashMap<(String, DefinitionStyle), Arc<dyn Formatter>>>,
}

impl Teacher {
    /// Teaches these dialects. `only` is the dialect that all models are
    /// taught, and the only one in which they are read, unless they call
    /// natively.
    ///
    /// # Errors
    ///
    /// If there is no such dialect, or the marks of these cannot be
    /// distinguished.
    pub fn new(dialects: Registry, only: Option<String>) -> Result<Self, TeachError> {
        let teacher = Self {
            guard: Guard::for_registry(&dialects)?,
            dialects,
            only,
            replaced: None,
            formatters: Mutex::default(),
        };
        if let Some(name) = &teacher.only {
            teacher.dialects.get(name)?;
        }
        Ok(teacher)
    }

    /// Teaches all models by this formatter.
    #[must_use]
    pub fn with_formatter(mut self, formatter: Arc<dyn Formatter>) -> Self {
        self.replaced = Some(formatter);
        self
    }

    /// Checks that this dialect can be taught.
    ///
    /// # Errors
    ///
    /// If it cannot, or there is none of that name.
    pub fn check(&self, dialect: &str) -> Result<(), TeachError> {
        PtkFormatter::new(Arc::clone(self.dialects.get(dialect)?))?;
        Ok(())
    }

    /// The dialects to choose from.
    #[must_use]
    pub fn dialects(&self) -> &Registry {
        &self.dialects
    }

    /// The dialect that all models are taught, and the only one that is read
    /// where they do not call natively.
    #[must_use]
    pub fn only(&self) -> Option<&str> {
        self.only.as_deref()
    }

    /// The formatter for a model, in the dialect that is best for it.
    ///
    /// # Errors
    ///
    /// If the dialect that was chosen for it cannot be taught.
    pub fn formatter(&self, approach: &Approach) -> Result<Arc<dyn Formatter>, TeachError> {
        if let Some(formatter) = &self.replaced {
            return Ok(Arc::clone(formatter));
        }
        let style = approach.can.definitions;
        if let Some(name) = approach.only.as_deref().or(self.only()) {
            return self.formatter_of(name, style);
        }
        // What a family was trained on may have been left out of the dialects.
        let best = approach.best.as_deref();
        let best = best.and_then(|name| self.formatter_of(name, style).ok());
        best.map_or_else(|| self.formatter_of(DIALECT, style), Ok)
    }

    /// The formatter where no model in particular is meant.
    ///
    /// # Errors
    ///
    /// If its dialect cannot be taught.
    pub fn default_formatter(&self) -> Result<Arc<dyn Formatter>, TeachError> {
        match &self.replaced {
            Some(formatter) => Ok(Arc::clone(formatter)),
            None => self.formatter_of(self.only().unwrap_or(DIALECT), DefinitionStyle::default()),
        }
    }

    fn formatter_of(
        &self,
        name: &str,
        style: DefinitionStyle,
    ) -> Result<Arc<dyn Formatter>, TeachError> {
        let mut formatters = self
            .formatters
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let key = (name.to_owned(), style);
        if let Some(known) = formatters.get(&key) {
            return Ok(Arc::clone(known));
        }
        let formatter = PtkFormatter::new(Arc::clone(self.dialects.get(name)?))?;
        let formatter = formatter.with_style(style).with_guard(self.guard.clone());
        let formatter: Arc<dyn Formatter> = Arc::new(formatter);
        formatters.insert(key, Arc::clone(&formatter));
        Ok(formatter)
    }

    /// The only dialect in which a model asked in this way is read. A model
    /// that calls natively writes as it was trained, if it writes a call.
    #[must_use]
    pub fn only_read<'a>(&'a self, approach: &'a Approach) -> Option<&'a str> {
        let only = approach.only.as_deref().or(self.only());
        only.filter(|_| !approach.is_native)
    }

    /// The prompt for a model that may call `tools` and is taught `taught` of
    /// them, unless it calls natively.
    ///
    /// # Errors
    ///
    /// If the dialect that was chosen for it cannot be taught or read.
    pub fn prompt(
        &self,
        approach: &Approach,
        tools: &Toolset,
        taught: &Toolset,
    ) -> Result<ToolPrompt, TeachError> {
        let formatter = self.formatter(approach)?;
        let mut grammar = Grammar::builder()
            .registry(self.dialects.clone())
            .opening(approach.opening)
            .tools(tools.clone());
        if let Some(only) = self.only_read(approach) {
            grammar = grammar.dialect(only);
        }
        let trained_on = approach.best.as_deref();
        let dialect = trained_on.and_then(|name| self.dialects.get(name).ok());
        if dialect.is_some_and(|dialect| dialect.calls_in_reasoning()) {
            grammar = grammar.drafts(Drafts::Run);
        }
        let prompt = ToolPrompt::new(approach, formatter, grammar.build()?, tools.clone());
        Ok(if approach.is_native || taught.is_empty() {
            prompt
        } else {
            prompt.teaching(taught)
        })
    }

    /// The prompt for a model that may call `tools`, and has to search for those
    /// that are deferred: they are only listed.
    ///
    /// # Errors
    ///
    /// If the dialect that was chosen for it cannot be taught or read, or the
    /// search has the name of a tool.
    pub fn prompt_with_search(
        &self,
        approach: &Approach,
        tools: &Toolset,
        deferred: DeferredTools,
    ) -> Result<ToolPrompt, TeachError> {
        let defined = match deferred.search() {
            Some(search) => tools.with(search.clone())?,
            None => tools.clone(),
        };
        let callable = defined.followed_by(deferred.tools());
        let mut prompt = self.prompt(approach, &callable, &defined)?;
        let listing = prompt.formatter.break_marks(deferred.listing());
        let parts = [&*prompt.instructions, &*listing];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        prompt.instructions = parts.collect::<Vec<_>>().join("\n\n").into();
        prompt.defined = defined;
        prompt.deferred = Some(Arc::new(deferred));
        Ok(prompt)
    }

    /// The prompt for a model that has no tools. No text of it is a call.
    ///
    /// # Errors
    ///
    /// If the dialect that was chosen for it cannot be taught.
    pub fn prompt_without_tools(&self, approach: &Approach) -> Result<ToolPrompt, TeachError> {
        let formatter = self.formatter(approach)?;
        let grammar = Grammar::builder()
            .registry(Registry::empty())
            .opening(approach.opening)
            .build()?;
        let tools = Toolset::default();
        Ok(ToolPrompt::new(approach, formatter, grammar, tools))
    }
}

/// What a model is told of its tools, and how its replies are read.
#[derive(Debug, Clone)]
pub struct ToolPrompt {
    /// What it is told by.
    pub formatter: Arc<dyn Formatter>,
    /// Whether it calls tools natively.
    pub is_native: bool,
    /// The form in which it takes a conversation.
    pub form: Form,
    /// The tools that it may call.
    pub tools: Toolset,
    /// Those of them whose definitions it was given, the ones that it found
    /// last.
    pub defined: Toolset,
    /// Those that it has to search for.
    pub deferred: Option<Arc<DeferredTools>>,
    /// A part of the system prompt; empty if nothing is taught or listed.
    pub instructions: Arc<str>,
    /// Turns before the conversation. Empty where the conversation is one text:
    /// there they are part of the instructions.
    pub examples: Arc<[Message]>,
    /// The grammar that parses the text of its replies.
    pub grammar: Grammar,
    native: Arc<OnceLock<Option<Grammar>>>,
    constraint: OnceLock<Option<ReplyConstraint>>,
}

impl ToolPrompt {
    fn new(
        approach: &Approach,
        formatter: Arc<dyn Formatter>,
        grammar: Grammar,
        tools: Toolset,
    ) -> Self {
        let form = approach.can.form;
        Self {
            formatter,
            is_native: approach.is_native,
            form,
            defined: tools.clone(),
            deferred: None,
            tools,
            instructions: Arc::default(),
            examples: Arc::default(),
            grammar: match form {
                Form::Prompt => grammar.for_transcript(),
                Form::Chat => grammar,
            },
            native: Arc::default(),
            constraint: OnceLock::new(),
        }
    }

    /// Teaches these tools.
    fn teaching(mut self, taught: &Toolset) -> Self {
        if self.form == Form::Prompt {
            self.instructions = self.formatter.system_prompt(taught).into();
            return self;
        }
        let examples = self.formatter.examples(taught).into_iter();
        let examples = examples.map(|said| match said.role {
            Role::Assistant => Message::assistant(said.content),
            Role::System | Role::User | Role::Tool => Message::user(said.content),
        });
        self.examples = examples.collect();
        self.instructions = self.formatter.instructions(taught).into();
        self
    }

    /// The same prompt after these deferred tools were found, in this order. In
    /// text nothing changes: their definitions stand in the results of searches.
    #[must_use]
    pub fn with_found<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Self {
        let Some(deferred) = &self.deferred else {
            return self.clone();
        };
        Self {
            defined: self.defined.followed_by(&deferred.tools().named(names)),
            constraint: OnceLock::new(),
            ..self.clone()
        }
    }

    /// Whether this is the name of the search for tools.
    #[must_use]
    pub fn is_search(&self, name: &str) -> bool {
        let deferred = self.deferred.as_ref();
        deferred.is_some_and(|deferred| deferred.is_search(name))
    }

    /// Whether this is a tool whose definition the model was not given.
    #[must_use]
    pub fn is_unseen(&self, name: &str) -> bool {
        self.tools.contains(name) && !self.defined.contains(name)
    }

    /// The grammar that parses native calls, built when the first one comes.
    #[must_use]
    pub fn native(&self) -> Option<&Grammar> {
        let make = || native::grammar(&self.tools);
        self.native.get_or_init(make).as_ref()
    }

    /// The constraint that keeps calls of a model that is taught in text well
    /// formed, where its provider can keep one of this kind.
    #[must_use]
    pub fn constraint(
        &self,
        constraint: Constraint,
        dialects: &Registry,
    ) -> Option<&ReplyConstraint> {
        if self.is_native || self.tools.is_empty() {
            return None;
        }
        let make = || ReplyConstraint::new(constraint, &*self.formatter, &self.defined, dialects);
        self.constraint.get_or_init(make).as_ref()
    }

    /// A request for the next message of a conversation, with this system
    /// prompt, of which the [instructions](Self::instructions) are a part.
    #[must_use]
    pub fn request(&self, approach: &Approach, system: String, messages: Vec<Message>) -> Request {
        let mut request = Request {
            model: approach.model.clone(),
            context_window: approach.context_window,
            ..Request::default()
        };
        if self.is_native {
            request.tools = self.defined.clone();
        } else if !self.tools.is_empty() {
            request.stop = self.formatter.result_stops();
        }
        if self.form == Form::Prompt {
            request.stop.extend(self.formatter.stops());
            request.messages = vec![one_prompt(&*self.formatter, &system, &messages)];
            return request;
        }
        request.messages = if self.is_native {
            messages
        } else {
            merged(messages)
        };
        request.examples = Arc::clone(&self.examples);
        request.system = (!system.is_empty()).then_some(system);
        request
    }
}
