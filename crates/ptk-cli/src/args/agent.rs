//! Flags of the commands that ask a model.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};

use super::{Approve, ConfigArgs, DialectName, SandboxArgs};
use crate::engine;

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// What to do. What comes on stdin stands behind it
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Vec<String>,

    #[command(flatten)]
    pub(crate) session: SessionArgs,

    #[command(flatten)]
    pub(crate) agent: AgentArgs,
}

/// The session that something belongs to.
#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    /// The session to go on with, by its id or the beginning of it; a new one
    /// of this name if there is none
    #[arg(
        long,
        value_name = "ID",
        env = "PTK_SESSION",
        hide_env_values = true,
        help_heading = "Session"
    )]
    pub(crate) session: Option<String>,

    /// Go on with the last session in this workspace
    #[arg(short = 'c', long = "continue", help_heading = "Session")]
    pub(crate) go_on: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    #[command(flatten)]
    pub(crate) session: SessionArgs,

    /// Line by line, without taking the whole screen; so it is where there is
    /// no terminal that could be taken
    #[arg(long, help_heading = "Output")]
    pub(crate) plain: bool,

    #[command(flatten)]
    pub(crate) agent: AgentArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The session, by its id or the beginning of it; the last interrupted one
    /// in this workspace if none is named
    #[arg(value_name = "ID")]
    pub(crate) session: Option<String>,

    #[command(flatten)]
    pub(crate) agent: AgentArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The session, by its id or the beginning of it
    #[arg(value_name = "ID")]
    pub(crate) session: String,

    /// Read calls in this form only; in that of the session if nothing is said
    #[arg(
        long,
        value_name = "NAME",
        hide_possible_values = true,
        value_parser = DialectName(engine::read_dialects)
    )]
    pub(crate) dialect: Option<String>,

    /// What to do before a call that changes something and that no rule decides
    #[arg(long, value_enum, env = "PTK_APPROVE", hide_env_values = true)]
    pub(crate) approve: Option<Approve>,

    /// Print each difference as one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// How a model calls tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ModeName {
    Auto,
    Native,
    Text,
}

impl From<ModeName> for ptk::Mode {
    fn from(name: ModeName) -> Self {
        match name {
            ModeName::Auto => Self::Auto,
            ModeName::Native => Self::Native,
            ModeName::Text => Self::Text,
        }
    }
}

/// Which model is asked.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct ModelArgs {
    /// Where the model is: a service such as `openai`, `anthropic`, `ai-studio`,
    /// `groq`, `openrouter`, `ollama`, `llama.cpp`, `vllm` or `lmstudio`, the
    /// address of a server that speaks as OpenAI's does, `cmd:COMMAND`, or
    /// `script:FILE`, which says what a file says; docs/models.md has them all
    #[arg(
        long,
        value_name = "NAME",
        env = "PTK_PROVIDER",
        hide_env_values = true,
        help_heading = "Model"
    )]
    pub(crate) provider: Option<String>,

    /// The model there, or one that [models] in ptk.toml gives this name
    #[arg(
        long,
        value_name = "NAME",
        env = "PTK_MODEL",
        hide_env_values = true,
        help_heading = "Model"
    )]
    pub(crate) model: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ProbeArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,

    /// The forms of calls to try, with commas between them; those that are most
    /// likely to work if nothing is said, `all` for every one
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) dialects: Vec<String>,

    /// Print what was found out, and do not remember it
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// How long a question may take, such as 30s or 5m
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "2m")]
    pub(crate) timeout: Duration,

    /// Print each trial as one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// What a run is done with.
#[derive(Debug, Clone, Args)]
pub(crate) struct AgentArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,

    /// How the model calls tools: by its API, in text, or `auto`, which finds
    /// out what it can do
    #[arg(
        long,
        value_enum,
        env = "PTK_MODE",
        hide_env_values = true,
        help_heading = "Model"
    )]
    pub(crate) mode: Option<ModeName>,

    /// The form in which the model is taught to call tools; without one, `ptk`
    /// is taught and all are read
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

    /// The tools that the model is offered: names with commas between them;
    /// '' for none
    #[arg(
        long,
        value_name = "NAMES",
        env = "PTK_TOOLS",
        hide_env_values = true,
        help_heading = "Tools"
    )]
    pub(crate) tools: Option<String>,

    /// What to do before a call that changes something and that no rule decides;
    /// `ask` if ptk.toml and `ptk permissions` say nothing else
    #[arg(
        long,
        value_enum,
        env = "PTK_APPROVE",
        hide_env_values = true,
        help_heading = "Tools"
    )]
    pub(crate) approve: Option<Approve>,

    /// Show what a command changed, and ask, before it comes into the workspace
    #[arg(long, help_heading = "Tools")]
    pub(crate) review: bool,

    /// How often the model is asked at most; 10 if nothing is said
    #[arg(
        long,
        value_name = "N",
        env = "PTK_MAX_ITERATIONS",
        hide_env_values = true,
        help_heading = "Limits",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub(crate) max_iterations: Option<u32>,

    /// How many tool calls it may make; 20 if nothing is said
    #[arg(
        long,
        value_name = "N",
        env = "PTK_MAX_TOOL_CALLS",
        hide_env_values = true,
        help_heading = "Limits"
    )]
    pub(crate) max_tool_calls: Option<u32>,

    /// How long the run may take, such as `90s` or `5m`; no limit if nothing is
    /// said
    #[arg(
        long,
        value_name = "TIME",
        env = "PTK_TIMEOUT",
        hide_env_values = true,
        help_heading = "Limits",
        value_parser = duration
    )]
    pub(crate) timeout: Option<Duration>,

    /// Print what happens as JSON, one event a line
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,

    /// Print the answer and nothing else
    #[arg(short, long, help_heading = "Output", conflicts_with = "json")]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// Seconds, or a number with a unit.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().map(Duration::from_secs);
    let time = match seconds {
        Some(time) => time,
        None => humantime::parse_duration(text)
            .map_err(|error| format!("{error}; write it as 90s, 5m or 1h30m"))?,
    };
    if time.is_zero() {
        return Err("no time at all; leave it out for no limit".to_owned());
    }
    Ok(time)
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum SessionsCommand {
    /// List the sessions of this workspace, the last one first
    List(ScopeArgs),
    /// Show what was said and done in a session
    Show(ShowSessionArgs),
    /// Find words in what was said
    Search(SearchSessionsArgs),
    /// Give a session a title
    #[command(after_help = super::RENAME_EXAMPLES)]
    Rename(RenameSessionArgs),
    /// Begin a session with what was said in another one
    #[command(after_help = super::FORK_EXAMPLES)]
    Fork(ForkSessionArgs),
    /// Write a session as JSON lines or Markdown
    #[command(after_help = super::EXPORT_EXAMPLES)]
    Export(ExportSessionArgs),
    /// Take in sessions that were exported as JSON lines
    Import(ImportSessionsArgs),
    /// Remove sessions with all that was said in them
    #[command(after_help = super::DELETE_EXAMPLES)]
    Delete(DeleteSessionsArgs),
    /// Look whether everything is as it was written
    Check(CheckSessionsArgs),
}

/// Which sessions are looked at, and how they are told.
#[derive(Debug, Args)]
pub(crate) struct ScopeArgs {
    /// Those of all workspaces
    #[arg(long)]
    pub(crate) all: bool,

    /// How many lines at most
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,

    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ShowSessionArgs {
    /// The session, by its id or the beginning of it
    #[arg(value_name = "ID")]
    pub(crate) session: String,

    /// Show what the model thought, too
    #[arg(long, conflicts_with = "json")]
    pub(crate) thoughts: bool,

    /// Print the log, one JSON object an entry
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SearchSessionsArgs {
    /// The words; what stands in quotation marks has to stand so
    #[arg(value_name = "WORDS", required = true)]
    pub(crate) words: Vec<String>,

    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RenameSessionArgs {
    /// The session, by its id or the beginning of it
    #[arg(value_name = "ID")]
    pub(crate) session: String,

    /// The title; an empty one brings its first prompt back
    #[arg(value_name = "TITLE", required = true)]
    pub(crate) title: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ForkSessionArgs {
    /// The session, by its id or the beginning of it; it stays as it is
    #[arg(value_name = "ID")]
    pub(crate) session: String,

    /// Only its first turns; all that have ended if nothing is said
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) turns: Option<u64>,

    /// Print what was made as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExportSessionArgs {
    /// The session, by its id or the beginning of it
    #[arg(value_name = "ID")]
    pub(crate) session: String,

    /// The form
    #[arg(long, value_enum, default_value_t = ExportFormat::Jsonl)]
    pub(crate) format: ExportFormat,

    /// With Markdown: what the model thought, too. The JSON lines have all of it
    #[arg(long)]
    pub(crate) thoughts: bool,

    /// The file to write, which must not exist yet; stdout if none is named
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ExportFormat {
    /// The whole log, one JSON object an entry, which `ptk sessions import` reads
    Jsonl,
    /// The conversation, for people
    Markdown,
}

#[derive(Debug, Args)]
pub(crate) struct ImportSessionsArgs {
    /// The file; `-` or nothing reads stdin
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true, value_hint = ValueHint::FilePath)]
    pub(crate) source: crate::input::Source,

    /// The workspace that the sessions belong to from now on [default: .]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteSessionsArgs {
    /// The sessions, by their ids or the beginnings of them
    #[arg(
        value_name = "ID",
        required_unless_present_any = ["older_than", "keep"],
        conflicts_with_all = ["older_than", "keep"]
    )]
    pub(crate) sessions: Vec<String>,

    /// Those to which nothing was written for so long, such as `30d`
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) older_than: Option<Duration>,

    /// All but the last so many
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<usize>,

    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CheckSessionsArgs {
    /// Make the lists and the index anew that follow from the log
    #[arg(long)]
    pub(crate) rebuild: bool,
}
