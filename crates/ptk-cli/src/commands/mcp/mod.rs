//! `ptk mcp`: the Model Context Protocol, from both ends.

mod add;
mod login;
mod serve;
mod sessions;
mod show;
mod token;

use std::io::Write;

use anyhow::Result;

use crate::args::McpCommand;
use crate::exit::Exit;

pub(crate) fn run(command: &McpCommand, out: &mut impl Write) -> Result<Exit> {
    match command {
        McpCommand::Add(args) => add::add(args, out),
        McpCommand::Remove(args) => add::remove(args, out),
        McpCommand::List(args) => show::list(args, out),
        McpCommand::Test(args) => show::test(args, out),
        McpCommand::Login(args) => login::login(args, out),
        McpCommand::Logout(args) => login::logout(args, out),
        McpCommand::Serve(args) => serve::run(args),
    }
}
