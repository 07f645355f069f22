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
mod limits;
mod random;
mod scene;
