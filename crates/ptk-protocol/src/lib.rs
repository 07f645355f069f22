//! The protocol of PTK: what tools, calls and results look like in text.
//!
//! A model is taught its tools by a [`Formatter`], its reply is read by a
//! [`Parser`], and what it wants is a [`ToolCall`] with everything known about
//! it in a [`ParsedCall`]. The crate is pure: no files, no network, no clock,
//! no threads.
//!
//! ```
//! use std::sync::Arc;
//!
//! use ptk_protocol::dialects::Ptk;
//! use ptk_protocol::{Formatter, Grammar, PtkFormatter, ToolResult, ToolSpec, Toolset, parse};
//! use serde_json::json;
//!
//! let tools = Toolset::new([ToolSpec::new("read_file", "Read a file", json!({
//!     "type": "object",
//!     "properties": {"path": {"type": "string"}},
//!     "required": ["path"],
//! }))])?;
//!
//! // Teach.
//! let formatter = PtkFormatter::new(Arc::new(Ptk::default()))?;
//! let prompt = formatter.system_prompt(&tools);
//! assert!(prompt.contains("<PTK_CALL>"));
//!
//! // Read what the model wrote, in whatever form it chose.
//! let grammar = Grammar::auto(tools)?;
//! let reply = parse("Sure.\n<PTK_CALL>{'tool': 'read_file', 'args': {'path': 'a.txt',}}</PTK_CALL>", &grammar);
//! let call = &reply.calls[0].call;
//! assert_eq!(call.name, "read_file");
//! assert_eq!(call.args.get("path"), Some(&json!("a.txt")));
//!
//! // Answer.
//! let result = ToolResult::success([("content", json!("hello")), ("lines", json!(1))]);
//! assert_eq!(
//!     formatter.tool_result(&result, None),
//!     r#"PTK_RESULT: {"content":"hello","lines":1}"#,
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | Module | Its one concern |
//! |---|---|
//! | [`parse`](mod@parse) | the streaming parser: prose, reasoning and calls, separated while they arrive |
//! | [`dialects`] | the text forms of calls, one file each, and how to add one |
//! | [`json`] | tolerant JSON, usable alone |
//! | [`schema`] | checks, coercion and example values by JSON Schema |
//! | [`gbnf`] | grammars made from tools, for models that can be held to one |
//! | [`mod@format`] | prompts, conversations, results, and the guard against forged marks |
//! | [`snippet`] | code with its path and lines |

mod arguments;
mod call;
pub mod dialects;
mod error;
pub mod format;
pub mod gbnf;
mod image;
#[cfg(any(test, feature = "invariants"))]
pub mod invariants;
pub mod json;
mod message;
pub mod parse;
mod problem;
mod result;
pub mod schema;
pub mod snippet;
mod span;
mod tool;

pub use arguments::Arguments;
pub use call::{ParsedCall, Status, ToolCall};
pub use error::{ErrorCode, ExecutionError};
pub use format::{Formatter, PtkFormatter};
pub use image::Image;
pub use message::{Message, Role};
pub use parse::{
    Copies, Drafts, Event, Fences, Grammar, GrammarBuilder, GrammarError, Opening, Outcome, Parser,
    Reclassified, Reply, parse, parse_explained,
};
pub use problem::{Problem, ProblemCode, Severity, explain};
pub use result::{ErrorType, ToolResult};
pub use span::{Piece, Span, SpanKind};
pub use tool::{ToolSpec, Toolset, ToolsetError};
