//! One turn of a model with tools, whatever the model can do.
//!
//! A conversation and tools go in; text, reasoning, calls and problems come out,
//! while they stream in. The model may call tools by an API of its own, or be
//! taught to write its calls; either way the calls are read, repaired and
//! checked alike. The session loop and the gateway both ask models through this
//! crate.
//!
//! ```
//! use futures_util::StreamExt as _;
//! use ptk_llm::{InMemory, Message, Provider as _, Script};
//! use ptk_model::{Candidate, Mode, Model, ReplyCollector, Teacher};
//! use ptk_protocol::dialects::Registry;
//! use ptk_protocol::{ToolSpec, Toolset};
//! use serde_json::json;
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
//! let tools = Toolset::new([ToolSpec::new("weather", "Tell the weather", schema)])?;
//! let model = Script::new(["<PTK_CALL>{\"tool\": \"weather\", \"args\": {\"city\": \"Hue\"}}</PTK_CALL>"]);
//! let candidate = Candidate::new(Model::new(model));
//!
//! // How to ask it, and what it is told.
//! let approach = candidate.approach(None, Mode::Auto, &InMemory::default());
//! let teacher = Teacher::new(Registry::builtin(), None)?;
//! let prompt = teacher.prompt(&approach, &tools, &tools)?;
//! let question = vec![Message::user("What is the weather in Hue?")];
//! let request = prompt.request(&approach, prompt.instructions.to_string(), question);
//!
//! // Its reply, read while it comes in.
//! let mut reader = prompt.reader();
//! let mut reply = ReplyCollector::default();
//! let mut deltas = candidate.provider().stream(&request);
//! while let Some(delta) = deltas.next().await {
//!     reader.take(&delta?, &mut |event| reply.absorb(event));
//! }
//! reader.finish(&mut |event| reply.absorb(event));
//! let reply = reply.finish("", reader.finish_reason());
//! assert_eq!(reply.calls[0].call.args.get("city"), Some(&json!("Hue")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | Module | Purpose |
//! |---|---|
//! | `model` | a model, its settings, what is noticed of it, and how it is asked |
//! | `recovery` | several models, and what to do when one fails |
//! | `teaching` | instructions, examples, grammar and requests |
//! | `rendering` | conversations as turns, or as one text |
//! | `reader` | a reply while it comes in |
//! | `native` | native calls, parsed like those in text |
//! | `collector` | a reply as a whole |
//! | `constraint` | replies in which no call can be malformed |
//! | `parser` | the parser of text; replaceable |
//! | `budget`, `tokens` | counting tokens, and sharing the window |
//! | `search` | tools that the model searches for, where there are many |

mod budget;
mod collector;
mod constraint;
mod model;
mod native;
mod parser;
mod reader;
mod recovery;
mod rendering;
mod search;
mod teaching;
mod tokens;

pub use budget::{ASSUMED_WINDOW, Budget, Estimate, MARGIN, TokenCounter, cost, most};
pub use collector::ReplyCollector;
pub use constraint::ReplyConstraint;
pub use model::{Approach, Candidate, Finding, Hold, Mode, Model};
pub use native::Native;
pub use parser::{PtkParser, Reading, ReplyParser};
pub use reader::{ReplyEvent, ReplyReader};
pub use recovery::{Attempts, Models, Remedy};
pub use rendering::{merged, one_prompt, result_message, with_calls};
pub use search::{DEFINITIONS, DeferPolicy, DeferTools, DeferredTools};
pub use teaching::{TeachError, Teacher, ToolPrompt};
pub use tokens::{Tokenizer, of_model as tokens_of};
