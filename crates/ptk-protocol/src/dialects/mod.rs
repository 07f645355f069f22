//! The text forms in which calls are written, one file each.
//!
//! A dialect says at which marks its calls may begin, gives a [`Reader`] for
//! what follows, and, if it is one that models are taught, a [`Writer`]. All
//! built-in dialects are listed in [`Registry::builtin`]; others can be added
//! with [`Registry::register`].

mod block;
pub(crate) mod engine;
mod function;
mod json;
mod legacy;
mod ptk;
mod ptk_batch;
mod xml;
mod yaml;

use std::fmt::Debug;
use std::sync::{Arc, LazyLock};

pub use block::Block;
pub use function::Function;
pub use json::Json;
pub use legacy::Legacy;
pub use ptk::Ptk;
pub use ptk_batch::PtkBatch;
pub use xml::Xml;
pub use yaml::Yaml;

use crate::parse::Reader;
use crate::{ToolCall, ToolResult, Toolset};

/// A text form of tool calls: how it is read and how it is written.
pub trait Dialect: Debug + Send + Sync {
    /// The name by which it is chosen, such as `ptk`.
    fn name(&self) -> &str;

    /// The marks at which a call may begin.
    fn triggers(&self, tools: Option<&Toolset>) -> Vec<Trigger>;

    /// A reader for the construct that begins at the trigger of this index.
    fn reader(&self, trigger: usize) -> Box<dyn Reader>;

    /// Closing marks, which are markup even where they stand alone.
    fn closers(&self) -> Vec<String> {
        Vec::new()
    }

    /// Dialects that are read beside this one where it is the only one chosen.
    fn also_reads(&self) -> &'static [&'static str] {
        &[]
    }

    /// How to write it, for dialects that are taught to a model.
    fn writer(&self) -> Option<&dyn Writer> {
        None
    }
}

/// A mark at which a call may begin. Letters count in any case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trigger {
    /// The mark itself.
    pub mark: String,
    /// Where it counts.
    pub place: Place,
}

impl Trigger {
    /// A mark that counts wherever it stands.
    pub fn anywhere(mark: impl Into<String>) -> Self {
        Self {
            mark: mark.into(),
            place: Place::Anywhere,
        }
    }

    /// A mark that counts at the start of a line only.
    pub fn at_line_start(mark: impl Into<String>) -> Self {
        Self {
            mark: mark.into(),
            place: Place::LineStart,
        }
    }
}

/// Where a mark counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Wherever it stands.
    Anywhere,
    /// Where nothing but white space precedes it on its line.
    LineStart,
}

/// How a dialect is written: calls in prompts and history, and the results.
///
/// Whatever a writer writes, the same dialect's reader reads back as the same
/// call.
pub trait Writer {
    /// What to know about the form, one short sentence a rule, for the prompt.
    fn rules(&self) -> &[&'static str];

    /// Where the model says why it needs the tool, as a rule for the prompt.
    fn reasoning_rule(&self) -> &'static str {
        "Say in \"reasoning\" why you need the tool."
    }

    /// Whether the form has a way of its own for text of several lines, which
    /// an example has to show.
    fn shows_long_text(&self) -> bool {
        false
    }

    /// One call.
    fn call(&self, call: &ToolCall) -> String;

    /// Several calls of one reply.
    fn calls(&self, calls: &[ToolCall]) -> String {
        let calls: Vec<String> = calls.iter().map(|call| self.call(call)).collect();
        calls.join("\n")
    }

    /// Whether several calls may stand in one reply.
    fn takes_several(&self) -> bool {
        false
    }

    /// The word that introduces a result: `PTK_RESULT`.
    fn result_word(&self) -> &'static str {
        "PTK_RESULT"
    }

    /// The word that introduces an error: `PTK_ERROR`.
    fn error_word(&self) -> &'static str {
        "PTK_ERROR"
    }

    /// The result of a tool. `id` names the call where several were made.
    fn result(&self, result: &ToolResult, id: Option<&str>) -> String {
        let id = id.map(|id| format!(" {id}")).unwrap_or_default();
        if result.success {
            format!("{}{id}: {}", self.result_word(), result.payload())
        } else {
            self.error(&result.error, id.trim_start())
        }
    }

    /// An error, with the call's id or an empty string.
    fn error(&self, message: &str, id: &str) -> String {
        let space = if id.is_empty() { "" } else { " " };
        format!("{}{space}{id}: {message}", self.error_word())
    }
}

/// The dialects that a parser or formatter can choose from, by name.
#[derive(Debug, Clone)]
pub struct Registry {
    dialects: Vec<Arc<dyn Dialect>>,
}

/// Built once: the marks of each dialect are compiled for searching.
static BUILTIN: LazyLock<Registry> = LazyLock::new(|| Registry {
    dialects: vec![
        Arc::new(Ptk::default()),
        Arc::new(PtkBatch::default()),
        Arc::new(Legacy::default()),
        Arc::new(Yaml),
        Arc::new(Function),
        Arc::new(Xml),
        Arc::new(Block),
        Arc::new(Json),
    ],
});

/// There is no dialect of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no dialect `{name}`; known are: auto, {}", known.join(", "))]
pub struct UnknownDialect {
    /// The name that was asked for.
    pub name: String,
    /// The names there are.
    pub known: Vec<String>,
}

impl Registry {
    /// PTK's own dialects.
    #[must_use]
    pub fn builtin() -> Self {
        BUILTIN.clone()
    }

    /// Adds a dialect; one of the same name is replaced.
    #[must_use]
    pub fn register(mut self, dialect: Arc<dyn Dialect>) -> Self {
        match self
            .dialects
            .iter_mut()
            .find(|known| known.name() == dialect.name())
        {
            Some(known) => *known = dialect,
            None => self.dialects.push(dialect),
        }
        self
    }

    /// All dialects, in the order in which they are tried.
    #[must_use]
    pub fn all(&self) -> &[Arc<dyn Dialect>] {
        &self.dialects
    }

    /// The dialect of this name.
    ///
    /// # Errors
    ///
    /// If there is none; the error lists those there are.
    pub fn get(&self, name: &str) -> Result<&Arc<dyn Dialect>, UnknownDialect> {
        self.dialects
            .iter()
            .find(|dialect| dialect.name() == name)
            .ok_or_else(|| UnknownDialect {
                name: name.to_owned(),
                known: self
                    .dialects
                    .iter()
                    .map(|dialect| dialect.name().to_owned())
                    .collect(),
            })
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::builtin()
    }
}
