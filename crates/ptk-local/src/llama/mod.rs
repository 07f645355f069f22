//! Inference with llama.cpp from a file.
//!
//! A model has one thread, which loads it with the first request and keeps it.
//! The evaluated conversation stays in memory, so that the next request costs
//! only its new tokens.
//!
//! | Module | Its one concern |
//! |---|---|
//! | `provider` | [`Local`], the provider |
//! | `settings` | its [`Settings`] |
//! | `worker` | the thread, and the queue of requests |
//! | `load` | loads a model from a file, if there is enough memory |
//! | `engine` | evaluates tokens, and provides the logits of the next one |
//! | `prompts` | the prompt cache on disk |
//! | `chat` | conversations in the model's own chat template |
//! | `generate` | generates a reply, token by token |
//! | `output` | decodes tokens to text, up to a stop sequence |

mod chat;
mod engine;
mod generate;
mod load;
mod output;
mod prompts;
mod provider;
mod settings;
mod trouble;
mod worker;

pub use provider::Local;
pub use settings::Settings;
