//! Models behind HTTP, against servers that speak as the real ones do, byte by
//! byte.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    clippy::format_collect,
    reason = "the lints allow some of these inside tests, but not in the functions that tests share, and short tests read better with the others"
)]

mod anthropic;
mod completion;
mod examples;
mod faults;
mod gemini;
mod grammars;
mod images;
mod ollama;
mod openai;
mod responses;
mod server;
mod usage;
