//! `ptk mcp`: the Model Context Protocol.

mod serve;
mod sessions;
mod token;

use anyhow::Result;

use crate::args::McpCommand;
use crate::exit::Exit;

pub(crate) fn run(command: &McpCommand) -> Result<Exit> {
    match command {
        McpCommand::Serve(args) => serve::run(args),
    }
}
