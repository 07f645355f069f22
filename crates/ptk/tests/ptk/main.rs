//! Runs through the crate's public API: scripted replies, real tools.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod answers;
mod caching;
mod calling;
mod context;
mod failing;
mod forging;
mod function_tools;
mod helping;
mod holding;
mod hooks;
mod images;
mod interleaving;
mod limits;
mod looping;
mod malformed;
mod many_tools;
mod models;
mod native;
mod random;
mod replaying;
mod resuming;
mod scene;
mod stopping;
mod structured;
mod unread;
mod viewing;
mod windows;
