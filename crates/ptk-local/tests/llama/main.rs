//! Answers from real weights. `PTK_TEST_MODEL` says where they are;
//! `scripts/test test` sees to that.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod answers;
mod faults;
mod grammars;
mod prompts;
mod scene;
#[path = "../../../ptk-protocol/tests/gbnf/schemas.rs"]
mod schemas;
