//! The tool `bash` as a session uses it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod background;
mod ending;
mod failures;
#[path = "../pipe/mod.rs"]
mod pipe;
mod programs;
mod running;
mod scale;
mod scene;
mod streams;
mod terminal;
