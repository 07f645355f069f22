//! The flags of `ptk mcp`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::serve::listen_address;
use super::shared::{Approve, ConfigArgs, SandboxArgs};

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Add a server to your configuration
    #[command(after_help = ADD_SERVER_EXAMPLES)]
    Add(AddServerArgs),
    /// List the configured servers, and what is granted to each
    List(ListServersArgs),
    /// Remove a server from your configuration
    Remove(RemoveServerArgs),
    /// Connect to servers and show their tools
    Test(TestServersArgs),
    /// Log in to a server that speaks over HTTP, in your browser
    Login(ServerLoginArgs),
    /// Forget the login to a server
    Logout(ServerLogoutArgs),
    /// Serve PTK's tools to MCP clients, on stdin and stdout or over HTTP
    #[command(after_help = MCP_SERVE_EXAMPLES)]
    Serve(Box<McpServeArgs>),
}

impl McpCommand {
    /// Whether the command prints JSON.
    pub(crate) const fn prints_json(&self) -> bool {
        match self {
            Self::List(args) => args.json,
            Self::Test(args) => args.json,
            Self::Add(_) | Self::Remove(_) | Self::Login(_) | Self::Logout(_) | Self::Serve(_) => {
                false
            }
        }
    }
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[derive(Debug, Args)]
pub(crate) struct AddServerArgs {
    /// Name of the server, with which the names of its tools begin
    pub(crate) name: String,

    /// Program that is the server, and its arguments, after `--`
    #[arg(
        value_name = "COMMAND",
        last = true,
        required_unless_present = "url",
        conflicts_with = "url"
    )]
    pub(crate) command: Vec<String>,

    /// Address of a server that speaks over HTTP
    #[arg(long, value_hint = ValueHint::Url)]
    pub(crate) url: Option<String>,

    /// Header of requests, such as `Authorization: Bearer $TOKEN`; `$NAME` is
    /// read from the environment each time
    #[arg(long = "header", value_name = "NAME: VALUE", requires = "url")]
    pub(crate) headers: Vec<String>,

    /// Variable of the program's environment
    #[arg(long = "env", value_name = "NAME=VALUE", conflicts_with = "url")]
    pub(crate) env: Vec<String>,

    /// Let the program reach other machines
    #[arg(long, help_heading = "Sandbox", conflicts_with = "url")]
    pub(crate) network: bool,

    /// Let the program read a folder, such as `.`, the workspace
    #[arg(long, value_name = "DIR", help_heading = "Sandbox", conflicts_with = "url", value_hint = ValueHint::DirPath)]
    pub(crate) read: Vec<PathBuf>,

    /// Let the program read and write a folder
    #[arg(long, value_name = "DIR", help_heading = "Sandbox", conflicts_with = "url", value_hint = ValueHint::DirPath)]
    pub(crate) write: Vec<PathBuf>,

    /// Start the program in the workspace, whose files may then decide what it
    /// does
    #[arg(long, help_heading = "Sandbox", conflicts_with = "url")]
    pub(crate) in_workspace: bool,

    /// Run the program without a sandbox: it may do whatever you may
    #[arg(long, help_heading = "Sandbox", conflicts_with_all = ["url", "network", "read", "write"])]
    pub(crate) no_sandbox: bool,

    /// Tools or patterns that are used [default: all]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) tools: Vec<String>,

    /// Replace a server of this name
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListServersArgs {
    /// Print each server as a JSON object
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveServerArgs {
    /// Name of the server
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct TestServersArgs {
    /// Names of the servers [default: all]
    pub(crate) names: Vec<String>,

    /// Print each server as a JSON object
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ServerLoginArgs {
    /// Name of the server
    pub(crate) name: String,

    /// Client that you have registered there by hand
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: Option<String>,

    /// Variable of the environment that holds the secret of this client
    #[arg(long, value_name = "NAME", requires = "client_id")]
    pub(crate) client_secret_env: Option<String>,

    /// Scopes to ask for [default: those that the server names]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) scopes: Vec<String>,

    /// Print the address instead of opening it in the browser
    #[arg(long)]
    pub(crate) no_browser: bool,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ServerLogoutArgs {
    /// Name of the server
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
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

pub(super) const MCP_EXAMPLES: &str = "\
Examples:
  ptk mcp add time --network -- uvx mcp-server-time
  ptk mcp test time
  ptk \"What time is it in Tokyo?\"

A program runs in a sandbox: without --network, --read and --write it reaches no
other machine and none of your files. Calls ask for permission like any other;
`ptk permissions allow time__get_current_time` lets one run.";

const ADD_SERVER_EXAMPLES: &str = "\
Examples:
  ptk mcp add files --network --write . --in-workspace -- npx -y @modelcontextprotocol/server-filesystem .
  ptk mcp add git --network --read . --in-workspace -- uvx mcp-server-git --repository .
  ptk mcp add docs --url https://example.com/mcp --header 'Authorization: Bearer $DOCS_TOKEN'

It is written to [mcp.servers.NAME] in ~/.config/ptk/ptk.toml, where you can edit
it. A project's servers stand in its ptk.toml or .mcp.json.";

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
