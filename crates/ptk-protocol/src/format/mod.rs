//! Formats everything the model is shown in PTK's words: the system prompt, the
//! tool definitions, the conversation, results and errors.

mod definitions;
pub mod guard;
mod prompt;
mod scene;

use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;

use serde_json::Value;

pub use definitions::DefinitionStyle;
pub use prompt::DEFAULT_TEMPLATE;

use crate::dialects::{Dialect, Ptk, Writer};
use crate::problem::{explain, sentence};
use crate::schema::{example, suggest};
use crate::{Arguments, Message, Problem, Role, ToolCall, ToolResult, Toolset};
use guard::Guard;

/// Prepares the model's input. Any part of PTK that shows something to a model
/// goes through one, so a replacement is used everywhere.
pub trait Formatter: Debug + Send + Sync {
    /// The system prompt that teaches the tools and how to call them.
    fn system_prompt(&self, tools: &Toolset) -> String;

    /// The system prompt for a conversation that begins with the
    /// [examples](Self::examples).
    fn instructions(&self, tools: &Toolset) -> String {
        self.system_prompt(tools)
    }

    /// Examples of calls, as turns that stand before the conversation. Models
    /// follow them better than those in the system prompt; where a model takes
    /// no turns, they are in the system prompt.
    fn examples(&self, _tools: &Toolset) -> Vec<Message> {
        Vec::new()
    }

    /// The list of tools.
    fn tool_definitions(&self, tools: &Toolset) -> String;

    /// A whole conversation as one prompt, for models without roles.
    fn conversation(&self, messages: &[Message]) -> String;

    /// The text behind a conversation that cues the model to continue.
    fn cue(&self) -> String {
        "ASSISTANT:".to_owned()
    }

    /// Texts at which the model's reply in such a conversation ends: behind
    /// them, it would write a turn that is not its own.
    fn stops(&self) -> Vec<String> {
        vec!["\nUSER:".to_owned(), "\nASSISTANT:".to_owned()]
    }

    /// Texts at which a reply ends that would go on with a made-up result.
    fn result_stops(&self) -> Vec<String> {
        Vec::new()
    }

    /// Calls the model made, as history shows them to it.
    fn tool_calls(&self, calls: &[ToolCall]) -> String;

    /// The result of a tool. `id` names the call where several were made.
    fn tool_result(&self, result: &ToolResult, id: Option<&str>) -> String;

    /// Text from outside, such as a file, with the marks of calls and results
    /// broken. [`tool_result`](Self::tool_result) does so by itself.
    fn break_marks<'t>(&self, text: &'t str) -> Cow<'t, str>;

    /// The answer to a reply whose calls cannot be run: what was wrong and a
    /// correct call of the tool that was meant.
    fn malformed(&self, problems: &[Problem], tool: Option<&str>, tools: &Toolset) -> String;

    /// The dialect that is taught, if it is a [`Dialect`].
    fn taught(&self) -> Option<&Arc<dyn Dialect>> {
        None
    }

    /// Restores arguments in which the model quotes a result whose marks the
    /// forgery guard broke.
    fn restore(&self, args: Arguments) -> Arguments {
        Guard::standard().restore_arguments(args)
    }
}

/// The error for a dialect that cannot be taught.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the dialect `{dialect}` is read but not written; choose one that PTK can teach")]
pub struct NotTaught {
    /// The dialect's name.
    pub dialect: String,
}

/// Whether the prompt asks for the code snippet format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SnippetInstructions {
    /// The prompt does not ask for it.
    #[default]
    Omit,
    /// The prompt asks for it.
    Include,
}

/// The formatter for PTK's own dialects.
///
/// The same tools give the same prompt, byte for byte, so that prefix caches
/// work.
///
/// ```
/// use std::sync::Arc;
///
/// use ptk_protocol::dialects::Ptk;
/// use ptk_protocol::format::{DefinitionStyle, Formatter, PtkFormatter};
/// use ptk_protocol::{ToolResult, ToolSpec, Toolset};
/// use serde_json::json;
///
/// let formatter =
///     PtkFormatter::new(Arc::new(Ptk::default()))?.with_style(DefinitionStyle::Signature);
/// let tools = Toolset::new([ToolSpec::new("read_file", "Read a file", json!({
///     "type": "object",
///     "properties": {"path": {"type": "string"}},
///     "required": ["path"],
/// }))])?;
/// assert_eq!(formatter.tool_definitions(&tools), "- read_file(path: string): Read a file");
/// assert!(formatter.system_prompt(&tools).contains("<PTK_CALL>"));
/// assert_eq!(formatter.tool_result(&ToolResult::data(json!(0)), None), "PTK_RESULT: 0");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct PtkFormatter {
    dialect: Arc<dyn Dialect>,
    style: DefinitionStyle,
    template: Option<String>,
    snippets: SnippetInstructions,
    guard: Guard,
}

/// Teaches PTK's own dialect.
impl Default for PtkFormatter {
    fn default() -> Self {
        Self {
            dialect: Arc::new(Ptk::default()),
            style: DefinitionStyle::default(),
            template: None,
            snippets: SnippetInstructions::default(),
            guard: Guard::default(),
        }
    }
}

impl PtkFormatter {
    /// Creates a formatter that teaches the given dialect.
    ///
    /// # Errors
    ///
    /// If the dialect has no writer.
    pub fn new(dialect: Arc<dyn Dialect>) -> Result<Self, NotTaught> {
        if dialect.writer().is_none() {
            let dialect = dialect.name().to_owned();
            return Err(NotTaught { dialect });
        }
        Ok(Self {
            dialect,
            ..Self::default()
        })
    }

    /// Sets how tools are listed.
    #[must_use]
    pub const fn with_style(mut self, style: DefinitionStyle) -> Self {
        self.style = style;
        self
    }

    /// Sets another text for the system prompt, with these slots:
    /// `[TOOL_DEFINITIONS]`, `[CALL_EXAMPLE]`, `[RULES]`, `[EXAMPLES]`,
    /// `[RESULT_WORD]`, `[ERROR_WORD]`. See [`DEFAULT_TEMPLATE`].
    #[must_use]
    pub fn with_template(mut self, template: impl Into<String>) -> Self {
        self.template = Some(template.into());
        self
    }

    /// Sets whether the prompt asks for the code snippet format.
    #[must_use]
    pub const fn with_snippets(mut self, snippets: SnippetInstructions) -> Self {
        self.snippets = snippets;
        self
    }

    /// Sets the marks that are broken in tool output.
    #[must_use]
    pub fn with_guard(mut self, guard: Guard) -> Self {
        self.guard = guard;
        self
    }

    /// The dialect that is taught.
    #[must_use]
    pub fn dialect(&self) -> &Arc<dyn Dialect> {
        &self.dialect
    }

    fn writer(&self) -> &dyn Writer {
        self.dialect.writer().unwrap_or(&Canonical)
    }
}

/// The writer in place of one that a dialect stopped offering.
struct Canonical;

impl Writer for Canonical {
    fn rules(&self) -> Vec<String> {
        Vec::new()
    }

    fn call(&self, call: &ToolCall) -> String {
        call.to_json_text()
    }
}

impl Formatter for PtkFormatter {
    fn system_prompt(&self, tools: &Toolset) -> String {
        prompt::system_prompt(self, tools)
    }

    fn instructions(&self, tools: &Toolset) -> String {
        prompt::instructions(self, tools)
    }

    fn examples(&self, tools: &Toolset) -> Vec<Message> {
        prompt::examples(self, tools)
    }

    fn tool_definitions(&self, tools: &Toolset) -> String {
        definitions::list(tools, self.style, &self.guard)
    }

    /// Formats system and tool messages as they are, the others with their
    /// role.
    fn conversation(&self, messages: &[Message]) -> String {
        let rendered: Vec<String> = messages
            .iter()
            .map(|message| {
                let mut content = message.content.clone();
                if !message.tool_calls.is_empty() {
                    if !content.is_empty() {
                        content.push('\n');
                    }
                    content.push_str(&self.tool_calls(&message.tool_calls));
                }
                match message.role {
                    Role::System | Role::Tool => content,
                    Role::User => format!("USER: {content}"),
                    Role::Assistant => format!("ASSISTANT: {content}"),
                }
            })
            .collect();
        rendered.join("\n\n")
    }

    fn tool_calls(&self, calls: &[ToolCall]) -> String {
        self.writer().calls(calls)
    }

    fn result_stops(&self) -> Vec<String> {
        let writer = self.writer();
        [writer.result_word(), writer.error_word()]
            .map(|word| format!("\n{word}"))
            .into()
    }

    /// Formats a result. Whatever the tool returned is untrusted, so its marks
    /// are broken. A failure carries its suggestion and the tool's other
    /// fields.
    fn tool_result(&self, result: &ToolResult, id: Option<&str>) -> String {
        let mut result = result.clone();
        for (_, value) in &mut result.fields {
            self.guard.neutralise_value(value);
        }
        if !result.success {
            let mut error = self.guard.neutralise(&result.error).into_owned();
            if let Some(suggestion) = &result.suggestion {
                error = format!("{} {}", sentence(&error), self.guard.neutralise(suggestion));
            }
            if !result.fields.is_empty() {
                let details = Value::Object(result.fields.clone());
                error = format!("{} Details: {details}", sentence(&error));
            }
            result.error = error;
        }
        self.writer().result(&result, id)
    }

    fn break_marks<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.guard.neutralise(text)
    }

    fn malformed(&self, problems: &[Problem], tool: Option<&str>, tools: &Toolset) -> String {
        let mut message = explain(problems);
        let meant = tool
            .and_then(|name| {
                tools
                    .get(name)
                    .or_else(|| tools.get(suggest::nearest(name, tools.names())?))
            })
            .or_else(|| tools.iter().next());
        if let Some(spec) = meant {
            let call = self.writer().call(&example::call(spec));
            message = format!("{message}\nA right call looks like this:\n{call}\n");
        } else {
            message.push(' ');
        }
        message.push_str("Please try again with correct format.");
        self.writer().error(&message, "")
    }

    fn taught(&self) -> Option<&Arc<dyn Dialect>> {
        Some(&self.dialect)
    }

    fn restore(&self, args: Arguments) -> Arguments {
        self.guard.restore_arguments(args)
    }
}
