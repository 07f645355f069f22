//! `ptk run`, `resume`, `replay` and `sessions`: the binary, a scripted model,
//! real tools and a real log.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod answering;
mod caching;
mod chatting;
mod choosing;
mod completing;
mod copied;
mod doubting;
mod events;
mod images;
mod imported;
mod interrupting;
mod keeping;
mod keys;
mod killing;
mod many_tools;
mod models;
mod named;
mod pane;
mod reading_once;
mod real;
mod replaying;
mod scene;
mod services;
mod serving;
mod starting;
mod unknown;
mod untrusted;
mod watching;
