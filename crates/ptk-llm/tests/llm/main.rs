//! Models through the crate's public API.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod assembling;
#[cfg(unix)]
mod commands;
mod errors;
mod remembering;
mod scripts;

use futures_util::StreamExt as _;
use ptk_llm::{Completion, Delta, LlmError, Message, Provider, Request, Script, complete};

fn request() -> Request {
    Request::new([Message::user("Go on.")])
}

/// The next reply of a script.
async fn next(script: &Script) -> Result<Completion, LlmError> {
    complete(script, &request()).await
}

/// The pieces of the next reply.
async fn pieces(provider: &dyn Provider) -> Vec<Result<Delta, LlmError>> {
    provider.stream(&request()).collect().await
}
