//! Indexes of workspaces, through the public API.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod damage;
mod filters;
mod incremental;
mod killing;
mod odd_files;
#[path = "../small_table/mod.rs"]
mod small_table;
mod watching;
mod workspace;
