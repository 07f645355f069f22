//! Tool calling for any language model: register tools, pick a model, run.
//!
//! It does not matter whether the model has an API for tools or only supports
//! text. Its replies are parsed in whatever format it chose; its calls are run,
//! bounded and logged; and its mistakes are sent back to it with what to do.
//!
//! ```
//! use ptk::Ptk;
//! use ptk::llm::Script;
//!
//! /// Tell the weather in a city.
//! #[ptk::tool(effects = "none")]
//! async fn weather(
//!     /// The city, for example "Berlin"
//!     city: String,
//! ) -> String {
//!     format!("{city}: sunny, 21 degrees")
//! }
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! // In a program: Ptk::model("ollama/qwen3:4b")?
//! let model = Script::new([
//!     r#"<PTK_CALL>{"tool": "weather", "args": {"city": "Berlin"}}</PTK_CALL>"#,
//!     "It is sunny in Berlin.",
//! ]);
//! let ptk = Ptk::builder().provider(model).tool(weather()).build()?;
//! assert_eq!(ptk.run("What is it like in Berlin?").await?, "It is sunny in Berlin.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A run is a loop: the conversation is put into the model's window, the model
//! is asked, its reply is parsed, its calls are run, and so on until it
//! answers.
//!
//! | Module | Its one concern |
//! |---|---|
//! | `ptk`, `builder`, `engine`, `prompt_cache` | [`Ptk`], and what it is put together from |
//! | `by_name` | models by their names: [`Ptk::model`] |
//! | `options`, `stop` | what holds for a run, and how it is stopped |
//! | `session`, `ending` | the loop: one [`Step`] after the other, and how it ends |
//! | `model` | a model and how it is asked: [`Model`], and what is noticed of it |
//! | `ask`, `final_request`, `read`, `parser` | asking the model, also for the last time, and reading its reply |
//! | `recover` | a model that does not reply: asking again, in another way, or another one |
//! | `calls`, `result_share`, `consent` | running calls, how long their results may be, and asking about those that are in doubt |
//! | `find_tools` | tools that the model searches for |
//! | `loops`, `loop_breaker` | models that repeat themselves |
//! | `window`, `tokens`, `render`, `cut_results`, `compact`, `context` | what the model is shown, how much that is, making room, and seeing it |
//! | `helper_model`, `helper` | a small model that chooses files and shortens results |
//! | `log`, `turn` | what is written down, and what follows from it |
//! | `probe` | finding out how a model is best asked: [`try_model`] |
//! | `replay` | a session against today's parser and policies: [`Replay`] |
//! | `hooks`, `spans` | what a host may do meanwhile, and what telemetry sees |
//! | `execution`, `error` | the result of a run |
//! | [`view`] | the conversation as a user interface shows it |
//!
//! What holds:
//!
//! - Each step is logged before it acts and after it ended. A run that was
//!   killed goes on where it was ([`Session::resume`]): no call that ended is
//!   run again, and one that may have happened is marked as such.
//! - Results stand in the order in which the model made the calls.
//! - Every run ends: by an answer, a limit, a deadline or a cancellation.
//! - A reply that broke off, or that cannot be used, is never an answer.

mod answer_schema;
mod ask;
mod builder;
mod by_name;
mod calls;
mod compact;
mod consent;
mod context;
mod cut_results;
mod ending;
mod engine;
mod error;
mod execution;
mod final_request;
mod find_tools;
mod helper;
mod helper_model;
mod hooks;
mod log;
mod loop_breaker;
mod loops;
mod options;
mod probe;
mod prompt;
mod prompt_cache;
mod ptk;
mod read;
mod recover;
mod render;
mod replay;
mod result_share;
mod session;
mod spans;
mod stop;
mod turn;
mod unread;
pub mod view;

pub use answer_schema::{AnswerSchema, AnswerSchemaError};
pub use builder::{BuildError, PtkBuilder};
pub use by_name::ModelNameError;
pub use compact::Compacted;
pub use context::ContextUse;
pub use error::RunError;
pub use execution::{CallRecord, Execution, RunLimit};
pub use helper_model::{ChooseFiles, MAX_FILES, Shorten, SmallModel};
pub use hooks::{
    CallAction, CallInfo, Duplicate, DuplicateAction, ErrorAction, Hooks, IterationAction,
    IterationInfo, ReplyKind, Streamed,
};
pub use loops::LoopKind;
pub use options::{
    CallPolicy, Compaction, MAX_ITERATIONS, MAX_TOOL_CALLS, PROTOCOL_RETRIES, PROVIDER_RETRIES,
    RunOptions,
};
pub use probe::{Trial, Verdict, Way, best, questions, try_model};
pub use prompt::Prompt;
pub use ptk::Ptk;
pub use ptk_model::{
    DeferTools, Estimate, Hold, MARGIN, Mode, Model, Reading, ReplyParser, TokenCounter, Tokenizer,
    tokens_of,
};
pub use replay::{Difference, Differing, Fate, Meaning, ReadCall, Replay};
pub use session::{Iteration, Session, Step};

/// Makes a tool of an async function.
///
/// ```
/// use ptk::Ptk;
/// use ptk::llm::Script;
///
/// /// Tell the weather in a city.
/// #[ptk::tool(effects = "none")]
/// async fn weather(
///     /// The city, for example "Berlin"
///     city: String,
/// ) -> String {
///     format!("{city}: sunny, 21 degrees")
/// }
///
/// # fn main() -> Result<(), ptk::BuildError> {
/// let model = Script::new(["Hello."]);
/// let ptk = Ptk::builder().provider(model).tool(weather()).build()?;
/// # Ok(())
/// # }
/// ```
///
/// It is an error if the description is missing, or an effect is not known:
///
/// ```compile_fail
/// #[ptk::tool(effects = "none")]
/// async fn undocumented() {}
/// ```
///
/// ```compile_fail
/// /// Tell the time.
/// #[ptk::tool(effects = "time travel")]
/// async fn time() {}
/// ```
///
/// A tool whose effects are not given may do anything, so that each call needs
/// approval. A parameter of type `CallContext` is not the model's: it is the
/// context of the call.
pub use ptk_macros::tool;
/// For the parameters of tools.
pub use schemars;
/// For the parameters of tools.
pub use serde;

/// Cancels a run.
pub use tokio_util::sync::CancellationToken;

/// Events that are published while models and tools run.
pub use ptk_events as events;
/// Access to language models.
pub use ptk_llm as llm;
/// One turn of a model with tools.
pub use ptk_model as model;
/// Rules about what calls may do, and approvers.
pub use ptk_permission as permission;
/// The text formats of calls.
pub use ptk_protocol as protocol;
/// The sandbox that limits where tools may work.
pub use ptk_sandbox as sandbox;
/// Stores of sessions.
pub use ptk_store as store;
/// Tools and the manager that runs them.
pub use ptk_tools as tools;
/// What calls have changed, and undoing it.
pub use ptk_undo as undo;

/// The programs in the documentation are compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct Documentation;
