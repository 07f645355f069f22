//! The flags of `ptk serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};

use super::{Approve, ConfigArgs, DialectName, ModeName, ModelArgs, SandboxArgs, duration};
use crate::engine;

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Where to listen; port 0 takes a free one. Beyond this machine a key is
    /// needed
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "PTK_LISTEN",
        hide_env_values = true,
        default_value = "127.0.0.1:8787"
    )]
    pub(crate) listen: SocketAddr,

    /// A server that speaks as OpenAI's does, by its base address: whatever
    /// model is asked for is asked of it. Its key is taken from `PTK_API_KEY`
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

    /// How models call tools: by their API, in text, or `auto`, which finds out
    /// what they can do
    #[arg(
        long,
        value_enum,
        env = "PTK_MODE",
        hide_env_values = true,
        default_value = "auto",
        help_heading = "Model"
    )]
    pub(crate) mode: ModeName,

    /// The form in which models are taught to call tools, and the only one that
    /// is read; without one, all are read
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

    /// Tools of PTK's own that are run here for clients that send none: names
    /// with commas between them
    #[arg(long, value_name = "NAMES", help_heading = "Tools")]
    pub(crate) tools: Option<String>,

    /// What to do before a call of these that changes something and that no
    /// rule decides; nobody is there to be asked, so `ask` refuses it
    #[arg(long, value_enum, requires = "tools", help_heading = "Tools")]
    pub(crate) approve: Option<Approve>,

    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,

    /// A file with the keys of those who may ask, a line each: NAME KEY
    /// [concurrent=N] [per-minute=N] [body=MEGABYTES] [seconds=N]. It is read
    /// again when it changes
    #[arg(
        long,
        value_name = "FILE",
        env = "PTK_SERVE_KEYS",
        hide_env_values = true,
        help_heading = "Access",
        value_hint = ValueHint::FilePath
    )]
    pub(crate) keys: Option<PathBuf>,

    /// A name of this server, beside localhost; may be given several times
    #[arg(long, value_name = "NAME", help_heading = "Access")]
    pub(crate) host: Vec<String>,

    /// Pages that may ask, by their origin, such as `https://chat.example`; may
    /// be given several times
    #[arg(long, value_name = "ORIGIN", help_heading = "Access")]
    pub(crate) cors: Vec<String>,

    /// The most megabytes of a request
    #[arg(long, value_name = "N", default_value_t = 32, help_heading = "Limits", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) max_body: u32,

    /// How many requests are answered at the same time
    #[arg(long, value_name = "N", default_value_t = 4096, help_heading = "Limits", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_concurrent: u32,

    /// How many connections are open at the same time
    #[arg(long, value_name = "N", default_value_t = 8192, help_heading = "Limits", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_connections: u32,

    /// The most megabytes of all requests that are read or answered at the
    /// same time
    #[arg(long, value_name = "N", default_value_t = 256, help_heading = "Limits", value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    pub(crate) max_body_memory: u32,

    /// How long an answer may take, such as 90s or 1h
    #[arg(long, value_name = "TIME", default_value = "1h", help_heading = "Limits", value_parser = duration)]
    pub(crate) timeout: Duration,

    /// Keep each reply that had to be repaired, or could not be read, in this
    /// folder, without secrets, for `ptk parse --jsonl`
    #[arg(long, value_name = "DIR", help_heading = "Watching", value_hint = ValueHint::DirPath)]
    pub(crate) capture: Option<PathBuf>,

    /// What is written on stderr of each request that has ended
    #[arg(long, value_enum, default_value = "json", help_heading = "Watching")]
    pub(crate) access_log: AccessLog,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// What is written of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AccessLog {
    /// A line of JSON, without what was asked and answered
    Json,
    /// The same with what was asked and answered, up to a megabyte each,
    /// without secrets
    Contents,
    /// Nothing
    Off,
}

pub(crate) const SERVE_EXAMPLES: &str = "\
Examples:
  ptk serve --upstream http://127.0.0.1:8080/v1
  ptk serve --provider ollama --model gemma3:4b
  ptk serve                          # the models in [models] of ptk.toml
  ptk serve --listen 0.0.0.0:8787 --keys keys.txt

Then point a client at it, such as OpenAI's:
  OPENAI_BASE_URL=http://127.0.0.1:8787/v1 OPENAI_API_KEY=any your-program";
