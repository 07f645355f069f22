//! Parsing of model files, and the library.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod gguf;
mod library;
#[path = "../sample/mod.rs"]
mod sample;
