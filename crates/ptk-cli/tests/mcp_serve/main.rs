//! `ptk mcp serve`: the binary as an MCP server, on stdin and stdout and over
//! HTTP, with a client that writes the protocol by hand and with that of the
//! crate `rmcp`.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]
#![allow(
    clippy::needless_pass_by_value,
    reason = "what `json!` makes is given away"
)]

mod access;
mod approvals;
mod calls;
mod hostile;
mod http;
mod http_client;
mod others;
mod resources;
mod space;
mod starting;
mod stdio;
mod tools;
