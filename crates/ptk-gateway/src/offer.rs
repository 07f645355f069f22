//! Tools as clients send them with every request, read once.

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ptk::protocol::dialects::Registry;
use ptk::protocol::{Formatter, Grammar, GrammarError, ToolSpec, Toolset};

use crate::failure::Failure;

/// Offers that are remembered: a program sends the same with every request.
const MAX_OFFERS: usize = 64;
/// Bytes of tools that are remembered.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// Ways of teaching the same tools that are remembered.
const MAX_LESSONS: usize = 8;

/// A set of tools, with what follows from it.
#[derive(Debug, Default)]
pub(crate) struct Offer {
    pub(crate) tools: Toolset,
    /// The names of those whose schema has to be kept.
    strict: Vec<String>,
    /// Why they can only be offered by a server that speaks the client's API,
    /// if one of them is that API's own.
    pub(crate) beyond_words: Option<Failure>,
    lessons: Mutex<Vec<Arc<Lesson>>>,
    /// What reads native calls.
    native: OnceLock<Option<Grammar>>,
}

/// What a model is taught that is offered tools in words.
#[derive(Debug)]
pub(crate) struct Lesson {
    dialect: String,
    only: Option<String>,
    names: Option<Vec<String>>,
    /// What stands before the conversation; nothing where nothing is taught.
    pub(crate) system: Arc<str>,
    /// What reads the replies.
    pub(crate) grammar: Grammar,
}

impl Offer {
    /// Of these tools, each with whether its schema has to be kept.
    pub(crate) fn new(tools: Vec<(ToolSpec, bool)>) -> Result<Self, Failure> {
        let strict = tools.iter().filter(|(_, strict)| *strict);
        let strict = strict.map(|(tool, _)| tool.name.clone()).collect();
        let tools = Toolset::new(tools.into_iter().map(|(tool, _)| tool));
        Ok(Self {
            tools: tools.map_err(|error| Failure::invalid("tools", error.to_string()))?,
            strict,
            ..Self::default()
        })
    }

    pub(crate) fn is_strict(&self, name: &str) -> bool {
        self.strict.iter().any(|strict| strict == name)
    }

    /// What a model is taught that is to call these in a dialect.
    pub(crate) fn lesson(
        &self,
        formatter: &dyn Formatter,
        dialects: &Registry,
        only: Option<&str>,
        names: Option<Vec<String>>,
    ) -> Result<Arc<Lesson>, GrammarError> {
        let dialect = formatter.taught().map_or("", |dialect| dialect.name());
        let mut lessons = self.lessons.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lessons.iter().find(|lesson| {
            lesson.dialect == dialect && lesson.only.as_deref() == only && lesson.names == names
        });
        if let Some(known) = known {
            return Ok(Arc::clone(known));
        }
        let mut grammar = Grammar::builder().registry(if self.tools.is_empty() {
            // Nothing can be called, so nothing is a call.
            Registry::empty()
        } else {
            dialects.clone()
        });
        grammar = grammar.tools(self.tools.clone());
        if let Some(only) = only.filter(|_| !self.tools.is_empty()) {
            grammar = grammar.dialect(only);
        }
        let lesson = Arc::new(Lesson {
            dialect: dialect.to_owned(),
            only: only.map(str::to_owned),
            system: match &names {
                Some(names) => prompt(formatter, &self.only(names)),
                None => prompt(formatter, &self.tools),
            },
            names,
            grammar: grammar.build()?,
        });
        if lessons.len() >= MAX_LESSONS {
            lessons.remove(0);
        }
        lessons.push(Arc::clone(&lesson));
        Ok(lesson)
    }

    /// Those of these names.
    pub(crate) fn only(&self, names: &[String]) -> Toolset {
        let chosen = self.tools.iter().filter(|tool| names.contains(&tool.name));
        // They have differing names, or they would not stand in one set.
        Toolset::new(chosen.cloned()).unwrap_or_default()
    }

    /// What reads native calls, put into the words of a dialect.
    pub(crate) fn native(&self, dialect: &str) -> Option<&Grammar> {
        let make = || {
            let grammar = Grammar::builder().tools(self.tools.clone());
            grammar.dialect(dialect).alone().build().ok()
        };
        self.native.get_or_init(make).as_ref()
    }
}

fn prompt(formatter: &dyn Formatter, tools: &Toolset) -> Arc<str> {
    if tools.is_empty() {
        return Arc::from("");
    }
    formatter.system_prompt(tools).into()
}

/// The offers that were read, by the text in which they came, the newest last.
#[derive(Debug, Default)]
pub(crate) struct Offers {
    hasher: RandomState,
    known: Mutex<VecDeque<Known>>,
}

/// An offer that was read.
#[derive(Debug)]
struct Known {
    hash: u64,
    /// The form in which tools stand in the text.
    form: &'static str,
    text: Arc<str>,
    offer: Arc<Offer>,
}

impl Offers {
    /// The offer that stands in this text, in the form of a field of an API:
    /// the same text may be other tools in another one, or none.
    pub(crate) fn get(
        &self,
        form: &'static str,
        text: &str,
        read: impl FnOnce() -> Result<Offer, Failure>,
    ) -> Result<Arc<Offer>, Failure> {
        let hash = self.hasher.hash_one(text);
        let is_it =
            |known: &&Known| known.hash == hash && known.form == form && &*known.text == text;
        if let Some(known) = self.lock().iter().find(is_it) {
            return Ok(Arc::clone(&known.offer));
        }
        let offer = Arc::new(read()?);
        let mut known = self.lock();
        known.push_back(Known {
            hash,
            form,
            text: text.into(),
            offer: Arc::clone(&offer),
        });
        let size = |known: &VecDeque<Known>| known.iter().map(|it| it.text.len()).sum::<usize>();
        while known.len() > MAX_OFFERS || size(&known) > MAX_BYTES {
            known.pop_front();
        }
        Ok(offer)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
