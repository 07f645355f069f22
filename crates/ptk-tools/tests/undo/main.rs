//! Undo as a session uses it: on real files, with real commands.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod calls;
mod conflicts;
mod failures;
mod jobs;
mod layers;
mod limits;
#[path = "../pipe/mod.rs"]
mod pipe;
mod random;
mod recorded;
mod scene;
