//! The tools that search, through the manager, as a session uses them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests"
)]

mod glob;
mod grep;
mod list_files;
mod safety;
mod scene;
mod search_code;
