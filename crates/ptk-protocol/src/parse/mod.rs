//! The streaming parser: separates what a model writes into prose, reasoning
//! and calls while it arrives.
//!
//! ```text
//! chunks ─► Parser ─► finder ─► candidate ─► a dialect's Reader ─► events ─► Reply
//!                     (marks)   (quoted?)    (strict, then mended)
//! ```
//!
//! Any split of the same text gives the same reply, and every byte of it ends
//! in exactly one piece.
//!
//! | Module | Purpose |
//! |---|---|
//! | `grammar` | tools, dialects and policies of a parser |
//! | `table`, `marks` | what each mark may mean, and the search for marks |
//! | `forged` | marks of results and turns, which a model must not write |
//! | `reasoning_marks`, `message_marks` | marks around thoughts, and around messages to the user |
//! | `frames` | those marks of the tables and of dialects, together |
//! | `engine` | the state machine: prose, sections, fences, reasoning, calls |
//! | `line`, `addressed`, `brackets`, `dropped`, `hold` | quotation, and what is held back until it is decided |
//! | `reader` | what a dialect implements |
//! | `settle` | validation of a call |
//! | `reply`, `reclassify`, `trace` | the outcome, and why it was read so |
//! | `copies` | calls copied from tool results |

mod addressed;
mod brackets;
mod copies;
mod dropped;
mod engine;
mod event;
mod forged;
mod frames;
mod grammar;
mod hold;
mod line;
mod marks;
mod message_marks;
mod reader;
mod reasoning_marks;
mod reclassify;
mod reply;
mod settle;
mod table;
mod trace;
mod wrapped;

pub use copies::Copies;
pub use engine::Parser;
pub use event::{Event, Reclassified};
pub(crate) use frames::is_reasoning_frame;
pub use grammar::{Drafts, Fences, Grammar, GrammarBuilder, GrammarError, Opening};
pub(crate) use message_marks::{is_message_mark, is_silent_mark, silent_marks};
pub(crate) use reader::{Finding, floor};
pub use reader::{Findings, FoundCall, Input, MarkAt, Peek, Reader, Step, mark_at};
pub use reasoning_marks::opened_reasoning;
pub(crate) use reasoning_marks::{REASONING, reasoning_marks};
pub use reply::{Outcome, Reply};
pub(crate) use table::Table;
pub use trace::{Decision, Kept, Note, Quote, Refusal};

/// Up to this length of a reply, memory for prose is reserved in advance.
const MAX_RESERVED: usize = 1 << 16;
/// How many pieces a reply with one call has, and a few more.
const PIECES_OF_A_CALL: usize = 8;

/// Parses a whole reply at once.
///
/// ```
/// use ptk_protocol::{Grammar, ToolSpec, Toolset, parse};
/// use serde_json::json;
///
/// let tools = Toolset::new([ToolSpec::new(
///     "read_file",
///     "Read a file",
///     json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}),
/// )])?;
/// let grammar = Grammar::auto(tools)?;
///
/// let reply = parse(
///     "I'll look.\n<PTK_CALL>\n{\"tool\": \"read_file\", \"args\": {\"path\": \"a.txt\"}}\n</PTK_CALL>",
///     &grammar,
/// );
/// assert_eq!(reply.text, "I'll look.\n");
/// assert_eq!(reply.calls[0].call.name, "read_file");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn parse(text: &str, grammar: &Grammar) -> Reply {
    let mut parser = Parser::new(grammar);
    let mut reply = Reply::default();
    reply.pieces.reserve(PIECES_OF_A_CALL);
    // Most of a reply is prose, mostly; a long one may as well be a call.
    if text.len() <= MAX_RESERVED {
        reply.text.reserve(text.len());
    }
    parser.push_to(text, &mut |event| reply.absorb(event));
    parser.finish_to(&mut |event| reply.absorb(event));
    reply
}

/// Parses a whole reply at once and says why each piece of it was taken for
/// what it is.
///
/// ```
/// use ptk_protocol::{Grammar, ToolSpec, Toolset, parse_explained};
/// use serde_json::json;
///
/// let tools = Toolset::new([ToolSpec::new("now", "The time", json!({"type": "object"}))])?;
/// let grammar = Grammar::auto(tools)?;
///
/// let (reply, notes) = parse_explained("Write `<PTK_CALL>{\"tool\": \"now\"}</PTK_CALL>`.", &grammar);
/// assert!(reply.calls.is_empty());
/// let why = notes.last().map(|note| note.decision.to_string());
/// assert_eq!(why.as_deref(), Some("quoted, so not called: inline code"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn parse_explained(text: &str, grammar: &Grammar) -> (Reply, Vec<Note>) {
    let mut parser = Parser::new(grammar).explained();
    let mut reply = Reply::default();
    parser.push_to(text, &mut |event| reply.absorb(event));
    parser.finish_to(&mut |event| reply.absorb(event));
    (reply, parser.notes())
}
