//! What a model is taught: the tools, the grammar and the instructions. Made
//! once for a set of tools, and not for every turn.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ptk_llm::{Constraint, Form, Message};
use ptk_protocol::format::DefinitionStyle;
use ptk_protocol::{Formatter, Grammar, Toolset};
use ptk_tools::Registry;

use crate::held::Held;

/// Sets of tools that are remembered: most programs have one or two.
const MAX_LESSONS: usize = 8;

/// What follows from the tools and the way in which they are called.
#[derive(Debug, Clone)]
pub(crate) struct Lesson {
    /// The tools that are offered.
    pub(crate) tools: Toolset,
    pub(crate) grammar: Grammar,
    /// What stands before the conversation.
    pub(crate) system: Arc<str>,
    /// Example turns before the conversation, where the model takes turns.
    pub(crate) examples: Arc<[Message]>,
    /// What stands before the conversation, without any teaching.
    pub(crate) plain_system: Arc<str>,
    /// The tools, where they are told beside the messages.
    pub(crate) definitions: Arc<str>,
    /// What teaches.
    pub(crate) formatter: Arc<dyn Formatter>,
    /// What replies can be held to, made when it is first needed.
    pub(crate) held: Arc<OnceLock<Option<Held>>>,
}

/// For whom a lesson is.
#[derive(Debug, Clone)]
pub(crate) struct Pupil {
    /// The tools there are. A changed set is another one.
    pub(crate) registry: Arc<Registry>,
    /// Those that are offered.
    pub(crate) names: Option<Vec<String>>,
    pub(crate) is_native: bool,
    /// The dialect that is taught, and the only one that is read.
    pub(crate) only: Option<String>,
    /// The dialect that is taught if there is no such one.
    pub(crate) best: Option<String>,
    /// What it can be held to.
    pub(crate) constraint: Constraint,
    /// What it takes a conversation as.
    pub(crate) form: Form,
    /// How tools are described to it.
    pub(crate) definitions: DefinitionStyle,
}

impl PartialEq for Pupil {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.registry, &other.registry)
            && self.names == other.names
            && self.is_native == other.is_native
            && self.only == other.only
            && self.best == other.best
            && self.constraint == other.constraint
            && self.form == other.form
            && self.definitions == other.definitions
    }
}

/// The lessons that were given, the newest last.
#[derive(Debug, Default)]
pub(crate) struct Lessons {
    given: Mutex<Vec<(Pupil, Lesson)>>,
}

impl Lessons {
    /// The lesson that was given before, or a new one.
    pub(crate) fn get<E>(
        &self,
        pupil: Pupil,
        make: impl FnOnce(&Pupil) -> Result<Lesson, E>,
    ) -> Result<Lesson, E> {
        let known = self.lock().iter().find(|(of, _)| *of == pupil).cloned();
        if let Some((_, lesson)) = known {
            return Ok(lesson);
        }
        let lesson = make(&pupil)?;
        let mut given = self.lock();
        if given.len() >= MAX_LESSONS {
            given.remove(0);
        }
        given.push((pupil, lesson.clone()));
        Ok(lesson)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(Pupil, Lesson)>> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
