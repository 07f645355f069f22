//! The gateway through HTTP: a real one on a port of its own, in front of a
//! scripted model.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod caching;
mod chat;
mod forwarded;
mod hostile;
mod messages;
mod ollama;
mod operation;
mod pages;
mod responses;
mod scene;
mod tool_search;
