//! The flags of `ptk serve`.

use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};

use super::agent::{ModeName, ModelArgs, duration};
use super::dialect_name::DialectName;
use super::shared::{Approve, ConfigArgs, SandboxArgs};
use crate::engine;

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Address to listen on: `IP:PORT`, `NAME:PORT`, or a port of this machine.
    /// Port 0 picks a free port. Addresses other than loopback need --keys
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "PTK_LISTEN",
        hide_env_values = true,
        default_value = "127.0.0.1:8787",
        value_parser = listen_address
    )]
    pub(crate) listen: SocketAddr,

    /// Base URL of an OpenAI-compatible server that all requests are sent to;
    /// its key is read from `PTK_API_KEY`
    #[arg(
        long,
        value_name = "URL",
        env = "PTK_UPSTREAM",
        hide_env_values = true,
        conflicts_with_all = ["provider", "model"],
        help_heading = "Model"
    )]
    pub(crate) upstream: Option<String>,

    #[command(flatten)]
    pub(crate) model: ModelArgs,

    /// How models call tools: `native` API, `text`, or `auto` to detect it
    #[arg(
        long,
        value_enum,
        env = "PTK_MODE",
        hide_env_values = true,
        default_value = "auto",
        help_heading = "Model"
    )]
    pub(crate) mode: ModeName,

    /// Dialect that models are taught, and the only one parsed [default: ptk;
    /// all are parsed]
    #[arg(
        long,
        value_name = "NAME",
        env = "PTK_DIALECT",
        hide_env_values = true,
        hide_possible_values = true,
        help_heading = "Model",
        value_parser = DialectName(engine::read_dialects)
    )]
    pub(crate) dialect: Option<String>,

    /// Built-in tools to run for clients that send none, separated by commas
    #[arg(long, value_name = "NAMES", help_heading = "Tools")]
    pub(crate) tools: Option<String>,

    /// What to do about a call of these tools that changes something when no
    /// rule matches; `ask` refuses it, as there is no terminal
    #[arg(long, value_enum, requires = "tools", help_heading = "Tools")]
    pub(crate) approve: Option<Approve>,

    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,

    /// File of client keys, one per line: NAME KEY [concurrent=N]
    /// [per-minute=N] [body=MEGABYTES] [seconds=N]; reloaded when it changes
    #[arg(
        long,
        value_name = "FILE",
        env = "PTK_SERVE_KEYS",
        hide_env_values = true,
        help_heading = "Access",
        value_hint = ValueHint::FilePath
    )]
    pub(crate) keys: Option<PathBuf>,

    /// Host name of this server besides localhost; repeatable
    #[arg(long, value_name = "NAME", help_heading = "Access")]
    pub(crate) host: Vec<String>,

    /// Allowed origin of web pages, such as `https://chat.example`; repeatable
    #[arg(long, value_name = "ORIGIN", help_heading = "Access")]
    pub(crate) cors: Vec<String>,

    /// Maximum size of a request, in megabytes
    #[arg(long, value_name = "N", default_value_t = 32, help_heading = "Limits", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) max_body: u32,

    /// Maximum number of concurrent requests
    #[arg(long, value_name = "N", default_value_t = 4096, help_heading = "Limits", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_concurrent: u32,

    /// Maximum number of open connections
    #[arg(long, value_name = "N", default_value_t = 8192, help_heading = "Limits", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_connections: u32,

    /// Maximum total size of concurrent requests, in megabytes
    #[arg(long, value_name = "N", default_value_t = 256, help_heading = "Limits", value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    pub(crate) max_body_memory: u32,

    /// Time limit of an answer, such as 90s or 1h
    #[arg(long, value_name = "TIME", default_value = "1h", help_heading = "Limits", value_parser = duration)]
    pub(crate) timeout: Duration,

    /// Save replies that were repaired or unreadable in this directory, without
    /// secrets, for `ptk parse --jsonl`
    #[arg(long, value_name = "DIR", help_heading = "Watching", value_hint = ValueHint::DirPath)]
    pub(crate) capture: Option<PathBuf>,

    /// What to log to stderr for each finished request
    #[arg(long, value_enum, default_value = "json", help_heading = "Watching")]
    pub(crate) access_log: AccessLog,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// Parses an address to listen on. A port alone is one of this machine. Of the
/// addresses of a name, the first of IPv4 is taken, because most clients try
/// that one.
pub(super) fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let text = text.trim();
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    if let Ok(port) = text.strip_prefix(':').unwrap_or(text).parse() {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    let example = "write it as 127.0.0.1:8787, localhost:8787 or 8787";
    let is_named = text
        .rsplit_once(':')
        .is_some_and(|(name, port)| !name.is_empty() && port.parse::<u16>().is_ok());
    if !is_named {
        return Err(format!(
            "the port is missing, or no number up to 65535; {example}"
        ));
    }
    let addresses = text.to_socket_addrs();
    let addresses =
        addresses.map_err(|error| format!("the name does not resolve ({error}); {example}"))?;
    let first = addresses.min_by_key(SocketAddr::is_ipv6);
    first.ok_or_else(|| format!("the name has no address; {example}"))
}

/// What is written of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AccessLog {
    /// A JSON line with the time, without the contents
    Json,
    /// The same with request and response, up to a megabyte each, without
    /// secrets
    Contents,
    /// No log
    Off,
}

pub(crate) const SERVE_EXAMPLES: &str = "\
Examples:
  ptk serve --upstream http://127.0.0.1:8080/v1
  ptk serve --provider ollama --model gemma3:4b
  ptk serve                          # the models in [models] of ptk.toml
  ptk serve --listen 8790            # another port, on this machine only
  ptk serve --listen 0.0.0.0:8787 --keys keys.txt

Then point a client at it, such as OpenAI's:
  OPENAI_BASE_URL=http://127.0.0.1:8787/v1 OPENAI_API_KEY=any your-program";
