//! Why a response template cannot be read.

use crate::dialects::declared::DeclarationFault;

/// The error for a template that no dialect can be made of: the place in the
/// file, and what is wrong there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {fault}")]
pub struct TemplateError {
    /// The path of keys: `response_template.fields.tool_calls.open`.
    pub place: String,
    /// What is wrong.
    pub fault: TemplateFault,
}

pub(super) type Result<T> = std::result::Result<T, TemplateError>;

/// What is wrong at some place of a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateFault {
    /// The file is not JSON.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// The file has no template.
    #[error(
        "there is no `response_template`; the model's maker gives one, or declare the form in [[dialects]] of ptk.toml"
    )]
    Missing,
    /// The file has the older form only.
    #[error(
        "this is the older `response_schema`, whose patterns need the whole reply; PTK reads `response_template` (transformers 5.13 or later)"
    )]
    Legacy,
    /// The version is not known.
    #[error("version {0} is not known; PTK reads version 1")]
    Version(String),
    /// A value has the wrong type.
    #[error("this is {found}; it has to be {expected}")]
    Type {
        /// What it has to be.
        expected: &'static str,
        /// What it is.
        found: &'static str,
    },
    /// A key that the format does not have.
    #[error("unknown key `{key}`; known are {known}")]
    UnknownKey {
        /// The key.
        key: String,
        /// The keys that are known here.
        known: String,
    },
    /// A key that has to be there is missing.
    #[error("`{0}` is missing")]
    MissingKey(&'static str),
    /// Two keys exclude each other.
    #[error("`{0}` and `{1}` are both given; give one of them")]
    Both(&'static str, &'static str),
    /// A list has too many entries, or none.
    #[error("{count} entries; 1 to {most} are possible")]
    Count {
        /// How many there are.
        count: usize,
        /// How many there may be.
        most: usize,
    },
    /// A pattern or a mark is too long.
    #[error("{length} bytes; {most} are the most")]
    TooLong {
        /// The length.
        length: usize,
        /// The most there may be.
        most: usize,
    },
    /// A mark would be found in any prose, or cannot be guarded.
    #[error(transparent)]
    Mark(#[from] DeclarationFault),
    /// A pattern has something that cannot be matched while the reply comes in.
    #[error(
        "{what} at character {at} cannot be matched in one pass over the reply; write the pattern without it"
    )]
    NotLinear {
        /// What it is.
        what: &'static str,
        /// The character at which it stands, counted from 1.
        at: usize,
    },
    /// A pattern is not a regular expression.
    #[error("not a regular expression: {0}")]
    BadPattern(String),
    /// A pattern cannot be used in this place.
    #[error("{0}")]
    Pattern(&'static str),
    /// A form that PTK does not read.
    #[error("{0}")]
    Unsupported(String),
}
