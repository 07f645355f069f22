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

/// Stands between the name of a server and that of its tool.
pub(crate) const SEPARATOR: &str = "__";

/// Whether a tool of this name is one of a server.
pub(crate) fn is_of_server(name: &str) -> bool {
    name.contains(SEPARATOR)
}
