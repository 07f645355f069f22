//! Tools that a model can use well: the [`Tool`] trait, the pipeline that every
//! call passes, and the built-in tools.
//!
//! A [`Registry`] holds the tools, a [`ToolManager`] runs calls of them. Every
//! call goes the same way: find, validate, repeated?, allowed?, keep, run,
//! bound, track, record. Each step is an event on the [`Bus`](ptk_events::Bus), each
//! failure is a result that says what to do next.
//!
//! ```
//! use ptk_protocol::{Arguments, ToolCall};
//! use ptk_sandbox::Workspace;
//! use ptk_tools::{CallContext, CallRequest, Effects, Registry, ToolError, ToolManager, tool_fn};
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Greet {
//!     /// Who is greeted, for example "Ada"
//!     name: String,
//! }
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let mut registry = Registry::new();
//! registry.register(tool_fn(
//!     "greet",
//!     "Greet somebody by name",
//!     Effects::NONE,
//!     |_: CallContext, args: Greet| async move { Ok::<_, ToolError>(format!("Hello, {}!", args.name)) },
//! ))?;
//!
//! let tools = ToolManager::builder(Workspace::open(std::env::temp_dir())?).tools(registry).build();
//! let call = ToolCall::new("greet", Arguments::from_json(r#"{"name": "Ada"}"#)?);
//! let outcome = tools.execute(CallRequest::new(call)).await;
//! assert_eq!(outcome.result.payload(), "Hello, Ada!");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | Module | Purpose |
//! |---|---|
//! | `tool`, `typed`, `error`, `request`, `context` | what a tool is, and what a call knows while it runs |
//! | `registry`, `manager`, `shared`, `pipeline`, `limits` | tools by name, [`ToolManager`], what its calls share, the steps of a call, and its limits |
//! | `middleware`, `cache`, `retries`, `in_flight`, `repeats`, `bound`, `files`, `outputs`, `usage`, `activity`, `session_state`, `result_limit` | one step or one piece of state each |
//! | `sandbox`, `services`, `signature`, `snippet_format` | settings of the sandbox, what tools share, hashes of declarations, the format of code |
//! | [`preview`] | what a call is about to change, for a person to decide on |
//! | [`process`] | starting and ending processes |
//! | [`tools`] | the built-in tools |
//! | [`form`] | values that a person is asked for
//! | [`custom`] | tools from `ptk.toml`: commands and HTTP endpoints |

mod activity;
mod bound;
mod cache;
mod context;
mod conversation;
pub mod custom;
mod error;
mod files;
pub mod form;
mod in_flight;
mod limits;
mod manager;
mod middleware;
mod outputs;
mod pipeline;
pub mod preview;
pub mod process;
mod registry;
mod repeats;
mod request;
mod result_limit;
mod retries;
mod sandbox;
mod services;
mod session_state;
mod shared;
mod signature;
mod snippet_format;
mod system;
mod tool;
pub mod tools;
mod typed;
mod usage;

pub use bound::{DEFAULT_LIMIT, cut_result};
pub use cache::Cache;
pub use context::CallContext;
pub use conversation::Conversation;
pub use error::{Failure, Fields, ToolError};
pub use files::{Ranges, SeenFile};
pub use limits::Limits;
pub use manager::{ToolManager, ToolManagerBuilder};
pub use middleware::{Around, Middleware, Next, Passing};
pub use outputs::{MAX_OUTPUT, OutputWriter, Outputs, highest_output};
pub use pipeline::Foreseen;
pub use ptk_permission::{
    AllowAll, ApprovalRequest, Approver, Decision, DenyAll, Effect, Effects, Permissions, Plan,
    Review, Witness,
};
pub use registry::{Registry, RegistryError};
pub use repeats::MAX_REPEATS;
pub use request::{CallOutcome, CallRequest};
pub use result_limit::ResultLimit;
pub use retries::TOOL_MAX_RETRIES;
pub use sandbox::{Sandbox, Unprotected, expanded_path};
pub use snippet_format::SnippetFormat;
pub use tool::{Class, Redirect, Tool};
pub use typed::{FunctionTool, Typed, TypedTool, tool_fn};
pub use usage::Usage;
