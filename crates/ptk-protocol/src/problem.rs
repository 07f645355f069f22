//! Problems of a reply, described for those who can fix them.

use serde::Serialize;

use crate::Span;

/// A problem of a reply: a repair that was made, or a fault that keeps a call
/// from running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The kind of problem, stable for programs.
    pub code: ProblemCode,
    /// What is wrong and what to do about it.
    pub message: String,
    /// The text concerned, verbatim. Empty where the message says it all.
    pub raw: String,
    /// The position of the problem in the reply.
    pub span: Span,
}

impl Problem {
    /// Creates a problem whose message says everything.
    #[must_use]
    pub fn new(code: ProblemCode, message: impl Into<String>, span: Span) -> Self {
        Self {
            code,
            message: message.into(),
            raw: String::new(),
            span,
        }
    }

    /// Adds the text concerned, verbatim.
    #[must_use]
    pub fn with_raw(mut self, raw: impl Into<String>) -> Self {
        self.raw = raw.into();
        self
    }

    /// Whether the problem keeps its call from running.
    #[must_use]
    pub const fn is_fault(&self) -> bool {
        self.code.severity().is_fault()
    }
}

/// How much a problem matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The problem was repaired, or never mattered; the call runs.
    Note,
    /// The call does not run; the model needs to know.
    Fault,
}

impl Severity {
    /// Whether this is [`Severity::Fault`].
    #[must_use]
    pub const fn is_fault(self) -> bool {
        matches!(self, Self::Fault)
    }
}

macro_rules! problem_codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $severity:ident;)*) => {
        /// The kinds of problem. The names in JSON are part of the contract.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum ProblemCode {
            $($(#[$doc])* $name,)*
        }

        impl ProblemCode {
            /// Every code, in the order of this list.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The name used in JSON.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The code with this name in JSON.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|code| code.as_str() == name)
            }

            /// How much the problem matters.
            #[must_use]
            pub const fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)* }
            }
        }
    };
}

problem_codes! {
    /// A comment inside JSON was skipped.
    Comment = "comment", Note;
    /// A comma without a value behind it was dropped.
    ExtraComma = "extra_comma", Note;
    /// A comma between two values was missing.
    MissingComma = "missing_comma", Note;
    /// A colon between key and value was missing.
    MissingColon = "missing_colon", Note;
    /// Single, typographic or doubled quotes were read as plain ones.
    WrongQuotes = "wrong_quotes", Note;
    /// A key or value stood without quotes.
    MissingQuotes = "missing_quotes", Note;
    /// A quote inside a string was not escaped.
    UnescapedQuote = "unescaped_quote", Note;
    /// `True`, `None`, `undefined` and the like were read as JSON literals.
    ForeignLiteral = "foreign_literal", Note;
    /// A raw line break or control character stood inside a string.
    ControlCharacter = "control_character", Note;
    /// An escape that JSON does not have.
    BadEscape = "bad_escape", Note;
    /// A number in a form that JSON does not have.
    BadNumber = "bad_number", Note;
    /// A closing bracket or brace was missing.
    MissingCloser = "missing_closer", Note;
    /// A closing bracket or brace was one too many, or the wrong one.
    ExtraCloser = "extra_closer", Note;
    /// An ellipsis stood where a value should be.
    Ellipsis = "ellipsis", Note;
    /// Prose, a fence or a wrapper around the JSON was left out.
    SurroundingText = "surrounding_text", Note;
    /// Strings joined with `+`, or several values where one was due.
    Joined = "joined", Note;
    /// Arguments came as a string of JSON instead of an object.
    StringifiedArguments = "stringified_arguments", Note;
    /// The arguments stood inside an argument that the tool does not have.
    WrappedArguments = "wrapped_arguments", Note;
    /// Arguments stood beside the tool's name instead of in an object of their own.
    FlatArguments = "flat_arguments", Note;
    /// Arguments came without names and were matched by position.
    PositionalArguments = "positional_arguments", Note;
    /// The opening mark was missing.
    MissingOpenMark = "missing_open_mark", Note;
    /// The closing mark was missing.
    MissingCloseMark = "missing_close_mark", Note;
    /// A mark was misspelt or the wrong one.
    WrongMark = "wrong_mark", Note;
    /// A mark stood alone, with no call to belong to.
    StrayMark = "stray_mark", Note;
    /// The call stood in a fence that ended the reply.
    Fence = "fence", Note;
    /// The call was drafted in the reasoning and nothing followed.
    RescuedFromReasoning = "rescued_from_reasoning", Note;
    /// The name is not a declared tool's.
    UnknownTool = "unknown_tool", Fault;
    /// The call has no name, or one that is not a string.
    MissingToolName = "missing_tool_name", Fault;
    /// The arguments are not an object.
    InvalidArguments = "invalid_arguments", Fault;
    /// A required parameter is missing.
    MissingParameter = "missing_parameter", Fault;
    /// A value has the wrong type.
    InvalidType = "invalid_type", Fault;
    /// A value is not one of those allowed, or breaks another rule of the schema.
    InvalidValue = "invalid_value", Fault;
    /// A parameter that the tool does not have.
    UnknownParameter = "unknown_parameter", Fault;
    /// The call was cut off before its arguments closed.
    Truncated = "truncated", Fault;
    /// The body cannot be read as a call.
    Malformed = "malformed", Fault;
    /// The model wrote the result of a tool itself; the reply ends before it.
    ForgedResult = "forged_result", Fault;
    /// The model wrote a turn of another role, or a further one of its own; the
    /// reply ends before it.
    ForgedTurn = "forged_turn", Note;
    /// The reply went on repeating itself, and was ended.
    Repetition = "repetition", Fault;
    /// The same call stood in the result of a tool and may not be the model's own.
    CopiedFromResult = "copied_from_result", Fault;
}

impl std::fmt::Display for ProblemCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The most problems named in one error message.
const MAX_PROBLEMS: usize = 6;
/// The most characters of one problem's message.
const MAX_MESSAGE: usize = 600;
/// The most characters quoted of what the model wrote.
const MAX_EXCERPT: usize = 120;

/// Describes problems for the model: the faults, or all problems where none is
/// a fault, and what it wrote. Bounded, whatever was written.
#[must_use]
pub fn explain<'a>(problems: impl IntoIterator<Item = &'a Problem>) -> String {
    let problems: Vec<&Problem> = problems.into_iter().collect();
    let faults: Vec<&Problem> = problems.iter().copied().filter(|p| p.is_fault()).collect();
    let named = if faults.is_empty() { problems } else { faults };
    let mut parts: Vec<String> = named
        .iter()
        .take(MAX_PROBLEMS)
        .map(|problem| sentence(&excerpt(&problem.message, MAX_MESSAGE)))
        .collect();
    if named.len() > MAX_PROBLEMS {
        parts.push(format!("{} more problems.", named.len() - MAX_PROBLEMS));
    }
    if parts.is_empty() {
        parts.push("The tool call cannot be read.".to_owned());
    }
    let unreadable = named.iter().find(|problem| {
        use ProblemCode::{InvalidArguments, Malformed, MissingToolName, Truncated};
        let about_text = [InvalidArguments, Malformed, MissingToolName, Truncated];
        about_text.contains(&problem.code) && !problem.raw.trim().is_empty()
    });
    if let Some(problem) = unreadable {
        let raw: Vec<&str> = problem.raw.split_whitespace().collect();
        let quoted = excerpt(&raw.join(" "), MAX_EXCERPT);
        parts.push(format!("You wrote: {quoted}"));
    }
    parts.join(" ")
}

/// The text with a full stop, unless it ends a sentence already.
pub(crate) fn sentence(text: &str) -> String {
    let text = text.trim_end();
    let stop = if text.ends_with(['.', '?', '!', ':', '…']) || text.is_empty() {
        ""
    } else {
        "."
    };
    format!("{text}{stop}")
}

/// The beginning of a text.
pub(crate) fn excerpt(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
