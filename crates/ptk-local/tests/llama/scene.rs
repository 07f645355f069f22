//! A model that is loaded once for all tests of a process.

use std::path::PathBuf;

use futures_util::StreamExt as _;
use ptk_llm::{Assembly, Completion, LlmError, Message, Provider, Request, Sampling};
use ptk_local::{Local, Settings};

/// The path of the model's file.
pub(crate) fn file() -> PathBuf {
    let file = std::env::var_os("PTK_TEST_MODEL");
    file.expect("set PTK_TEST_MODEL to the weights, or run `scripts/test test`")
        .into()
}

pub(crate) fn model() -> Local {
    let settings = Settings::new(file()).context_window(1024).threads(1);
    Local::open(settings).unwrap()
}

/// A request whose reply is always the same.
pub(crate) fn ask(text: &str) -> Request {
    let sampling = Sampling {
        temperature: Some(0.0),
        ..Sampling::default()
    };
    // Without instructions, this model's template adds its own, with which it
    // talks about Paris in French.
    Request::new([Message::user(text)])
        .system("")
        .sampling(sampling)
        .max_tokens(24)
}

/// The whole reply.
pub(crate) async fn reply(model: &Local, request: &Request) -> Result<Completion, LlmError> {
    let mut heard = Assembly::new();
    let mut deltas = model.stream(request);
    while let Some(delta) = deltas.next().await {
        heard.absorb(&delta?);
    }
    assert!(heard.is_finished());
    Ok(heard.so_far())
}
