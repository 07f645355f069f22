//! What tools, calls and results look like in text.

mod arguments;
mod call;
pub mod dialects;
mod error;
pub mod json;
mod message;
mod problem;
mod result;
pub mod schema;
mod span;
mod tool;

pub use arguments::Arguments;
pub use call::{ParsedCall, Status, ToolCall};
pub use error::{ErrorCode, ExecutionError};
pub use message::{Message, Role};
pub use problem::{Problem, ProblemCode, Severity, explain};
pub use result::{ErrorType, ToolResult};
pub use span::{Piece, Span, SpanKind};
pub use tool::{ToolSpec, Toolset, ToolsetError};
