//! The tool `get_diagnostics` as a session uses it.
//!
//! cargo, ruff and the language server of ruff are the real ones. Of tsc,
//! pyright and go there are recordings of what they wrote, played by scripts:
//! they show that the formats are read, not that the programs are called well.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod configured;
mod failures;
mod limits;
#[path = "../pipe/mod.rs"]
mod pipe;
mod python;
mod recorded;
mod rust;
mod scene;
mod servers;
