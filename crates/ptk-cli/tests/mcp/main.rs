//! Tools of MCP servers, through the command line: servers of the tests that
//! follow the protocol or break it.

#![cfg(feature = "mcp")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod asking;
mod authority;
mod calling;
mod configuring;
#[cfg(unix)]
mod guarding;
mod headers;
mod hostile;
mod login;
#[cfg(feature = "clients")]
mod others;
#[allow(dead_code, reason = "shared with the tests of sessions")]
#[path = "../session/pane.rs"]
mod pane;
mod running;
mod scene;
