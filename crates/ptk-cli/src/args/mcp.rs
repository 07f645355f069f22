//! The flags of `ptk mcp`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::serve::listen_address;
use super::shared::{Approve, ConfigArgs, SandboxArgs};

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Serve PTK's tools to MCP clients, on stdin and stdout or over HTTP
    #[command(after_help = MCP_SERVE_EXAMPLES)]
    Serve(Box<McpServeArgs>),
}

#[derive(Debug, Args)]
pub(crate) struct McpServeArgs {
    /// Serve over HTTP at this address instead of stdin and stdout: `IP:PORT`,
    /// `NAME:PORT`, or a port of this machine. Port 0 picks a free port.
    /// Addresses other than loopback need a token
    #[arg(long, value_name = "ADDRESS", value_parser = listen_address)]
    pub(crate) listen: Option<SocketAddr>,

    /// Tools to offer, separated by commas [default: those of `ptk run`,
    /// `search_code`, `parse` and `repair`]
    #[arg(long, value_name = "NAMES", help_heading = "Tools")]
    pub(crate) tools: Option<String>,

    /// What to do about a call that changes something when no rule matches;
    /// `ask` asks the client's user, and refuses it if the client cannot show
    /// questions [default: ask]
    #[arg(long, value_enum, help_heading = "Tools")]
    pub(crate) approve: Option<Approve>,

    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,

    /// File with the token that HTTP clients have to send [variable with the
    /// token itself: `PTK_MCP_TOKEN`]
    #[arg(
        long,
        value_name = "FILE",
        requires = "listen",
        help_heading = "Access",
        value_hint = ValueHint::FilePath
    )]
    pub(crate) token_file: Option<PathBuf>,

    /// Host name of this server besides localhost; repeatable
    #[arg(
        long,
        value_name = "NAME",
        requires = "listen",
        help_heading = "Access"
    )]
    pub(crate) host: Vec<String>,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

const MCP_SERVE_EXAMPLES: &str = "\
Clients start it themselves. Claude Desktop, Claude Code, Cursor and others have a file with:
  {\"mcpServers\": {\"ptk\": {\"command\": \"ptk\", \"args\": [\"mcp\", \"serve\", \"--workspace\", \"/path\"]}}}

Calls that change something run if a rule allows them. To allow some beforehand:
  ptk permissions allow 'bash(cargo test *)' 'edit(src/**)' --workspace /path

Examples:
  ptk mcp serve --workspace ../project
  ptk mcp serve --tools read_file,grep,search_code
  ptk mcp serve --listen 127.0.0.1:8788          # http://127.0.0.1:8788/mcp
  ptk mcp serve --listen 0.0.0.0:8788 --token-file token.txt";
