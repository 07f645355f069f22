//! Answers from a file, by llama.cpp.
//!
//! A model has one thread, which loads it with the first request and keeps it.
//! What it has seen of a conversation stays there, so that the next request
//! costs only what is new.
//!
//! | Module | Its one concern |
//! |---|---|
//! | `provider` | the face |
//! | `worker` | the thread, and the requests that wait for it |
//! | `load` | from a file to a model, if there is room for it |
//! | `engine` | tokens in, weights of the next one out |
//! | `prompts` | what it has read in other runs |
//! | `chat` | a conversation in the model's own form |
//! | `generate` | a reply, token by token |
//! | `output` | tokens that become text |

mod chat;
mod engine;
mod generate;
mod load;
mod output;
mod prompts;
mod provider;
mod trouble;
mod worker;

pub use provider::{Local, Settings};
