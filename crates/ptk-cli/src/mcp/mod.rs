//! The MCP servers of a run: connected before it, and asked between turns
//! whether their tools have changed.

#[cfg(feature = "mcp")]
mod connected;
#[cfg(not(feature = "mcp"))]
mod left_out;

#[cfg(feature = "mcp")]
pub(crate) use connected::{Servers, options, tokens};
#[cfg(not(feature = "mcp"))]
pub(crate) use left_out::Servers;
