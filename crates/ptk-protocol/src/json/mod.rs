//! Tolerant JSON: repairs what a model wrote to JSON text that parses.
//!
//! [`repair`] returns valid JSON byte for byte and mends everything else it
//! can: comments, commas, quotes, escapes, literals of other languages,
//! missing closers, prose and fences around the value. The output is written
//! left to right while reading, so whatever was valid before the first fault
//! is kept verbatim: white space, number literals and escapes included.
//! Time and memory grow linearly with the input.
//!
//! ```
//! use ptk_protocol::{ProblemCode, json};
//!
//! let repaired = json::repair("{path: 'src/main.rs', recursive: True,}")?;
//! assert_eq!(repaired.json, r#"{"path": "src/main.rs", "recursive": true}"#);
//! assert!(repaired.fixes.iter().any(|fix| fix.code == ProblemCode::ExtraComma));
//! assert_eq!(repaired.end, json::End::Closed);
//!
//! let cut_off = json::repair(r#"{"path": "src/ma"#)?;
//! assert_eq!(cut_off.json, r#"{"path": "src/ma"}"#);
//! assert_eq!(cut_off.end, json::End::InString { depth: 1 });
//! # Ok::<(), json::RepairError>(())
//! ```

mod blank;
pub(crate) mod decode;
mod escape;
mod escapes;
mod frame;
mod literals;
mod lookahead;
mod notes;
mod numbers;
mod quotes;
mod repair;
mod root;
pub(crate) mod scan;
mod strict;
mod strings;
mod structure;
mod trusted;
pub(crate) mod undoubled;
mod words;
mod writer;

#[cfg(test)]
mod backslash_tests;
#[cfg(test)]
mod boundary_tests;
#[cfg(test)]
mod note_tests;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use crate::ProblemCode;
pub(crate) use escape::{escape_into, quote};

/// How many fixes are recorded for one text; further ones are made but not
/// listed, so that a report on a hostile text stays small.
pub const MAX_FIXES: usize = 64;

/// The deepest nesting that is accepted: one level more and `serde_json`
/// refuses to read the output.
pub const MAX_DEPTH: usize = 127;

/// One repair that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fix {
    /// The kind of fault.
    pub code: ProblemCode,
    /// The byte offset in the input.
    pub at: usize,
}

/// How the input ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The value was closed.
    Closed,
    /// The input ended outside a string, with closers missing.
    Open {
        /// How many closers were missing.
        depth: usize,
    },
    /// The input ended inside a string that was never closed.
    InString {
        /// How many closers were missing besides the quote.
        depth: usize,
    },
}

/// The result of [`repair`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// Valid JSON text.
    pub json: String,
    /// The repairs, in the order in which they were made; at most
    /// [`MAX_FIXES`]. Empty if the input was valid JSON.
    pub fixes: Vec<Fix>,
    /// How the input ended, before it was completed.
    pub end: End,
}

/// Why a text could not be read as JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RepairError {
    /// The text is nothing but white space and comments.
    #[error("expected JSON, but the text is empty")]
    Empty,
    /// The text holds no value of any kind.
    #[error("expected JSON, but found only `{found}` at byte {at}")]
    NotJson {
        /// The beginning of the text.
        found: String,
        /// The byte offset of the text in the input.
        at: usize,
    },
    /// The nesting is deeper than JSON readers accept.
    #[error("JSON nested deeper than {MAX_DEPTH} levels at byte {at}; send a flatter value")]
    TooDeep {
        /// The byte offset in the input where the first level too many opens.
        at: usize,
    },
}

/// Reads `text` as JSON, repairing what is wrong with it.
///
/// Valid JSON comes back as it is, apart from white space around it, with no
/// fixes. `fixes` is never empty if anything was changed.
///
/// # Errors
///
/// If the text holds nothing that could be a value, or is nested deeper than
/// [`MAX_DEPTH`].
pub fn repair(text: &str) -> Result<Repaired, RepairError> {
    let trimmed = text.trim();
    let Some(fault) = strict::first_fault(trimmed) else {
        return Ok(Repaired {
            json: trimmed.to_owned(),
            fixes: Vec::new(),
            end: End::Closed,
        });
    };
    repair::Repairer::new(text).run(fault)
}
