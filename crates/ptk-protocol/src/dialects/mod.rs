//! The text forms in which calls are written, one file each.
//!
//! A dialect says at which marks its calls may begin, gives a [`Reader`] for
//! what follows, and, if it is one that models are taught, a [`Writer`]. All
//! built-in dialects are listed in [`Registry::builtin`]; others can be added
//! with [`Registry::register`].

mod actions;
mod arrows;
mod beam;
mod block;
pub mod declared;
pub(crate) mod engine;
mod function;
mod gemma;
pub(crate) mod harmony;
mod hunyuan;
mod json;
mod legacy;
mod marked;
mod plamo;
mod ptk;
mod ptk_batch;
mod python_in_marks;
mod pythonic;
pub mod response_template;
mod tagged;
mod tool_block;
mod unopened;
mod xml;
mod yaml;
mod yaml_xml;

use std::fmt::Debug;
use std::sync::{Arc, LazyLock, OnceLock};

pub use actions::Actions;
pub use arrows::Arrows;
pub use beam::Beam;
pub use block::Block;
pub use function::Function;
pub use gemma::Gemma;
pub use harmony::Harmony;
pub use hunyuan::HunyuanV4;
pub use json::Json;
pub use legacy::Legacy;
pub use ptk::Ptk;
pub use ptk_batch::PtkBatch;
pub use python_in_marks::PythonInMarks;
pub use pythonic::Pythonic;
pub use tool_block::ToolBlock;
pub use xml::Xml;
pub use yaml::Yaml;
pub use yaml_xml::YamlXml;

use marked::hermes_text;

use crate::parse::{Opening, Reader, Table};
use crate::{ToolCall, ToolResult};

/// A text form of tool calls: how it is read and how it is written.
pub trait Dialect: Debug + Send + Sync {
    /// The name by which the dialect is chosen, such as `ptk`.
    fn name(&self) -> &str;

    /// Other names by which the dialect can be chosen, such as those of models.
    fn aliases(&self) -> Vec<&str> {
        Vec::new()
    }

    /// The patterns at which a call may begin.
    fn triggers(&self) -> Vec<Trigger>;

    /// A reader for the construct that begins at the trigger of this index.
    fn reader(&self, trigger: usize) -> Box<dyn Reader>;

    /// Whether models of this family also make calls while they think, so that
    /// calls in reasoning are calls like any other.
    fn calls_in_reasoning(&self) -> bool {
        false
    }

    /// Closing marks, which are markup even where they stand alone.
    fn closers(&self) -> Vec<String> {
        Vec::new()
    }

    /// Closing marks that stand behind several calls. One of them may stand
    /// behind a call whose opening one is missing.
    fn section_ends(&self) -> Vec<String> {
        Vec::new()
    }

    /// Markup that has no meaning by itself, such as the header of a message.
    fn silent(&self) -> Vec<Trigger> {
        Vec::new()
    }

    /// Marks around reasoning and around messages to the user that no table of
    /// the parser has.
    fn frames(&self) -> Vec<Frame> {
        Vec::new()
    }

    /// What replies begin with where this dialect is the one chosen, unless the
    /// grammar says otherwise.
    fn opening(&self) -> Opening {
        Opening::Text
    }

    /// Dialects that are other forms of this one, read as if they were it where
    /// it is the only one chosen.
    fn other_forms(&self) -> Vec<String> {
        Vec::new()
    }

    /// Dialects that are read beside this one where it is the only one chosen.
    fn also_reads(&self) -> Vec<String> {
        Vec::new()
    }

    /// Keys of a call's JSON beside those that every dialect knows.
    fn keys(&self) -> &CallKeys {
        &NO_KEYS
    }

    /// The writer, for dialects that are taught to a model.
    fn writer(&self) -> Option<&dyn Writer> {
        None
    }
}

/// Keys under which the JSON of a dialect's calls gives the tool's name and the
/// arguments, beside those that every dialect knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallKeys {
    /// Keys of the tool's name.
    pub name: Vec<String>,
    /// Keys of the arguments.
    pub args: Vec<String>,
}

pub(crate) static NO_KEYS: CallKeys = CallKeys {
    name: Vec::new(),
    args: Vec::new(),
};

/// Marks around text that is no call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What the text is.
    pub kind: FrameKind,
    /// The marks that open it.
    pub open: Vec<String>,
    /// The marks that close it.
    pub close: Vec<String>,
    /// For reasoning: whether a closing mark ends it also where none was
    /// opened, as the prompt may have done that.
    pub closes_alone: bool,
}

/// What stands between the marks of a [`Frame`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    /// Reasoning of the model.
    Reasoning,
    /// A message to the user: the dialect's own calls in it are quoted.
    Message,
}

/// A pattern at which a call may begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trigger {
    /// The text of the pattern.
    pub pattern: Pattern,
    /// The position in a line at which the pattern counts.
    pub place: TriggerPosition,
    /// How certain it is that the mark is this dialect's.
    pub claim: Claim,
}

/// How certain it is that a mark is a dialect's. Where several dialects claim a
/// mark, the more certain ones are tried first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claim {
    /// The mark opens a call.
    Own,
    /// The mark stands around the calls.
    Section,
    /// The mark is one that models write by mistake.
    Misspelt,
}

/// The text that a call may begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// A mark. Letters match in any case.
    Mark(String),
    /// The name of a declared tool.
    ToolName {
        /// The text before the name.
        before: String,
        /// The characters one of which follows the name.
        after: String,
    },
}

impl Trigger {
    /// Creates a trigger for a mark that counts wherever it stands.
    pub fn anywhere(mark: impl Into<String>) -> Self {
        Self {
            pattern: Pattern::Mark(mark.into()),
            place: TriggerPosition::Anywhere,
            claim: Claim::Own,
        }
    }

    /// Creates a trigger for a mark that counts at the start of a line only.
    pub fn at_line_start(mark: impl Into<String>) -> Self {
        Self {
            pattern: Pattern::Mark(mark.into()),
            place: TriggerPosition::LineStart,
            claim: Claim::Own,
        }
    }

    /// Creates a trigger for a mark that counts behind something else on its
    /// line only.
    pub fn behind_prose(mark: impl Into<String>) -> Self {
        Self {
            pattern: Pattern::Mark(mark.into()),
            place: TriggerPosition::BehindProse,
            claim: Claim::Own,
        }
    }

    /// Sets the claim of the dialect.
    #[must_use]
    pub fn claimed(mut self, claim: Claim) -> Self {
        self.claim = claim;
        self
    }

    /// Creates a trigger for a declared tool's name at the start of a line,
    /// between `before` and one of the characters of `after`.
    pub fn tool_name(before: impl Into<String>, after: impl Into<String>) -> Self {
        Self {
            pattern: Pattern::ToolName {
                before: before.into(),
                after: after.into(),
            },
            place: TriggerPosition::LineStart,
            claim: Claim::Own,
        }
    }
}

/// The position in a line at which a mark counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerPosition {
    /// The mark counts wherever it stands.
    Anywhere,
    /// The mark counts where nothing but white space precedes it on its line.
    LineStart,
    /// The mark counts where something else precedes it on its line.
    BehindProse,
}

/// Writes a dialect: calls in prompts and history, and the results.
///
/// Whatever a writer writes, the same dialect's reader reads back as the same
/// call.
pub trait Writer {
    /// The rules of the form for the prompt, one short sentence each.
    fn rules(&self) -> Vec<String>;

    /// The rule for the prompt that says where the model writes why it needs
    /// the tool. Empty where the form has no place for that.
    fn reasoning_rule(&self) -> String {
        "Say in \"reasoning\" why you need the tool.".to_owned()
    }

    /// Whether the form has a way of its own for text of several lines, which
    /// an example has to show.
    fn shows_long_text(&self) -> bool {
        false
    }

    /// Writes one call.
    fn call(&self, call: &ToolCall) -> String;

    /// Writes several calls of one reply.
    fn calls(&self, calls: &[ToolCall]) -> String {
        let calls: Vec<String> = calls.iter().map(|call| self.call(call)).collect();
        calls.join("\n")
    }

    /// Whether several calls may stand in one reply.
    fn takes_several(&self) -> bool {
        false
    }

    /// The word that introduces a result: `PTK_RESULT`.
    fn result_word(&self) -> String {
        "PTK_RESULT".to_owned()
    }

    /// The word that introduces an error: `PTK_ERROR`.
    fn error_word(&self) -> String {
        "PTK_ERROR".to_owned()
    }

    /// Writes the result of a tool. `id` names the call where several were
    /// made.
    fn result(&self, result: &ToolResult, id: Option<&str>) -> String {
        let id = id.map(|id| format!(" {id}")).unwrap_or_default();
        if result.success {
            format!("{}{id}: {}", self.result_word(), result.payload_json())
        } else {
            self.error(&result.error, id.trim_start())
        }
    }

    /// Writes an error, with the call's id or an empty string.
    fn error(&self, message: &str, id: &str) -> String {
        let space = if id.is_empty() { "" } else { " " };
        format!("{}{space}{id}: {message}", self.error_word())
    }
}

/// The dialects that a parser or formatter can choose from, by name.
#[derive(Debug, Clone)]
pub struct Registry {
    inner: Arc<RegistryInner>,
}

#[derive(Debug)]
struct RegistryInner {
    dialects: Vec<Arc<dyn Dialect>>,
    /// The marks of all dialects, put together when they are first needed.
    table: OnceLock<Arc<Table>>,
}

/// The built-in dialects. Built once, as their marks are compiled for
/// searching.
static BUILTIN: LazyLock<Registry> = LazyLock::new(|| {
    let mut dialects: Vec<Arc<dyn Dialect>> = vec![
        // It shares a mark with those below, and recognizes its own calls
        // sooner.
        Arc::new(Arrows),
        Arc::new(Ptk::default()),
        Arc::new(PtkBatch::default()),
        Arc::new(Legacy::default()),
        Arc::new(Yaml),
        Arc::new(Function),
        Arc::new(Xml),
        Arc::new(Block),
        // It starts like an element with elements in it.
        Arc::new(YamlXml),
        // They share marks with families below, and leave to those what is
        // not Python.
        Arc::new(PythonInMarks::LFM2),
        Arc::new(PythonInMarks::OLMO_3),
    ];
    // It shares its frame with harmony, which takes any body for its own.
    dialects.push(Arc::new(Beam));
    dialects.push(Arc::new(HunyuanV4));
    for family in tagged::families() {
        dialects.push(Arc::new(family));
    }
    for family in marked::families() {
        dialects.push(Arc::new(family));
    }
    let others: [Arc<dyn Dialect>; 8] = [
        Arc::new(Harmony),
        Arc::new(Json),
        Arc::new(Pythonic),
        Arc::new(Gemma::GEMMA_4),
        Arc::new(Gemma::FUNCTION_GEMMA),
        Arc::new(ToolBlock),
        Arc::new(Actions::Smolagents),
        Arc::new(Actions::CommandRPlus),
    ];
    dialects.extend(others);
    Registry::with(dialects)
});

/// The error for a name that no dialect has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown dialect `{name}`; known dialects: auto, {}", known.join(", "))]
pub struct UnknownDialect {
    /// The name that was requested.
    pub name: String,
    /// The names of the known dialects.
    pub known: Vec<String>,
}

impl Registry {
    /// The registry of PTK's own dialects.
    #[must_use]
    pub fn builtin() -> Self {
        BUILTIN.clone()
    }

    /// A registry without dialects: reasoning is separated from text, and
    /// nothing is a call.
    #[must_use]
    pub fn empty() -> Self {
        Self::with(Vec::new())
    }

    fn with(dialects: Vec<Arc<dyn Dialect>>) -> Self {
        let table = OnceLock::new();
        Self {
            inner: Arc::new(RegistryInner { dialects, table }),
        }
    }

    /// Adds a dialect; one of the same name is replaced.
    #[must_use]
    pub fn register(self, dialect: Arc<dyn Dialect>) -> Self {
        let mut dialects = self.inner.dialects.clone();
        let same = dialects
            .iter_mut()
            .find(|known| known.name() == dialect.name());
        match same {
            Some(known) => *known = dialect,
            None => dialects.push(dialect),
        }
        Self::with(dialects)
    }

    /// Puts dialects before the present ones, so that they are tried first.
    pub(crate) fn preceded_by(self, mut dialects: Vec<Arc<dyn Dialect>>) -> Self {
        if dialects.is_empty() {
            return self;
        }
        dialects.extend(self.inner.dialects.iter().cloned());
        Self::with(dialects)
    }

    /// All dialects, in the order in which they are tried.
    #[must_use]
    pub fn all(&self) -> &[Arc<dyn Dialect>] {
        &self.inner.dialects
    }

    /// The marks of all dialects.
    pub(crate) fn table(&self) -> Arc<Table> {
        let build = || Arc::new(Table::new(self.inner.dialects.clone()));
        Arc::clone(self.inner.table.get_or_init(build))
    }

    /// Returns the dialect of this name.
    ///
    /// # Errors
    ///
    /// If there is none; the error lists the known names.
    pub fn get(&self, name: &str) -> Result<&Arc<dyn Dialect>, UnknownDialect> {
        self.all()
            .iter()
            .find(|dialect| dialect.name() == name || dialect.aliases().contains(&name))
            .ok_or_else(|| UnknownDialect {
                name: name.to_owned(),
                known: self
                    .all()
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
