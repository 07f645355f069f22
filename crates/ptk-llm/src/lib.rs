//! Language models behind one trait, whatever they are reached by.
//!
//! A [`Provider`] takes a [`Request`] and gives back a stream of [`Delta`]s:
//! text, reasoning, native tool calls, usage, and why it stopped. Callers that
//! do not want the stream take the whole [`Completion`]. Failures are
//! [`LlmError`]s, which say whether to try again and what to do.
//!
//! ```
//! use ptk_llm::{FinishReason, Message, Request, Script, complete};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
//! let model = Script::parse(r#"["Hello, Ada!"]"#)?;
//! let request = Request::new([Message::user("Hello, I am Ada.")]);
//! let completion = complete(&model, &request).await?;
//! assert_eq!(completion.text, "Hello, Ada!");
//! assert_eq!(completion.finish, FinishReason::Stop);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | Module | Its one concern |
//! |---|---|
//! | `provider` | what a model does: [`Provider`], [`Capabilities`] |
//! | `request`, `message` | requests and their messages |
//! | `delta` | replies, piece by piece |
//! | `completion` | the pieces put together: [`Assembly`], [`complete`] |
//! | `runaway` | when to stop listening: [`RunawayGuard`] |
//! | `error` | what can go wrong: [`LlmError`], a table of kinds |
//! | `known` | what is known of models by their names: [`KNOWN_MODELS`] |
//! | `memory` | what was found out about them: [`Memory`], [`ModelProfile`] |
//! | `prices` | what requests cost: [`Prices`] |
//! | [`http`] | models behind HTTP: services by name, and what each kind of server speaks |
//! | `command` | a command as a model: [`CommandProvider`] |
//! | `function` | a function as a model: [`provider_fn`] |
//! | `script/` | a model that gives the replies of a file: [`Script`] |
//!
//! What holds:
//!
//! - A reply is finished only if the model gave a reason why it stopped. A
//!   stream that ends before that is an error, never an answer.
//! - Dropping the stream ends the request.
//! - A provider keeps nothing of a conversation; one whose model keeps it
//!   itself remembers what that has seen.

mod command;
mod completion;
mod delta;
mod error;
mod function;
pub mod http;
mod known;
mod memory;
mod message;
mod prices;
mod provider;
mod request;
mod runaway;
mod script;
mod stated_window;

pub use command::CommandProvider;
pub use completion::{Assembly, Completion, MAX_REPLY, NativeCall, complete};
pub use delta::{Delta, FinishReason, Passthrough, Usage};
pub use error::{LlmError, LlmErrorKind, Wording};
pub use function::{FunctionProvider, provider_fn};
pub use known::{KNOWN_MODELS, KnownModel};
pub use memory::{FileMemory, InMemory, Memory, ModelProfile, memory_key};
pub use message::Message;
pub use prices::Prices;
pub use provider::{Capabilities, Constraint, Deltas, Form, Provider};
pub use request::{Api, Request, ResponseFormat, Sampling, ToolChoice, Verbatim, qualified_name};
pub use runaway::{RunawayGuard, repetition};
pub use script::{Script, ScriptError, ScriptedCall, ScriptedError, ScriptedReply, ScriptedUsage};
