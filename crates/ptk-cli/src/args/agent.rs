//! Flags of the commands that ask a model.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};

use super::dialect_name::DialectName;
use super::shared::{Approve, ConfigArgs, SandboxArgs};
use super::words::looks_like_command;
use crate::{completion, engine};

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The prompt; text from stdin is appended
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Vec<String>,

    /// Text file or image that is added to the prompt; may be repeated
    #[arg(short, long = "file", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,

    /// File with the JSON Schema of the answer, which is then JSON that fits
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) schema: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) session: SessionArgs,

    #[command(flatten)]
    pub(crate) agent: AgentArgs,

    /// Whether neither `run` nor a session was named, so that a single word may
    /// be a command that does not exist.
    #[arg(skip)]
    pub(crate) may_be_command: bool,
}

impl RunArgs {
    /// The prompt, if it is most likely a command that does not exist: a single
    /// word as commands are named, with nothing else for the model.
    pub(crate) fn unknown_command(&self) -> Option<&str> {
        let [word] = self.prompt.as_slice() else {
            return None;
        };
        let is_meant = self.may_be_command && !self.session.go_on && self.files.is_empty();
        (is_meant && looks_like_command(word)).then_some(word)
    }
}

/// The session that something belongs to.
#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    /// Session to continue, by id or unique prefix; created under this name if
    /// there is none
    #[arg(
        short,
        long,
        value_name = "ID",
        env = "PTK_SESSION",
        add = completion::session(),
        hide_env_values = true,
        help_heading = "Session"
    )]
    pub(crate) session: Option<String>,

    /// Continue the last session of this workspace
    #[arg(short = 'c', long = "continue", help_heading = "Session")]
    pub(crate) go_on: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    #[command(flatten)]
    pub(crate) session: SessionArgs,

    /// Print line by line instead of using the whole screen; the default
    /// without a terminal
    #[arg(long, help_heading = "Output")]
    pub(crate) plain: bool,

    #[command(flatten)]
    pub(crate) agent: AgentArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// Session, by id or unique prefix [default: the last interrupted one of
    /// this workspace]
    #[arg(value_name = "ID", add = completion::session())]
    pub(crate) session: Option<String>,

    #[command(flatten)]
    pub(crate) agent: AgentArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Session, by id or unique prefix
    #[arg(value_name = "ID", add = completion::session())]
    pub(crate) session: String,

    /// Parse calls in this dialect only [default: the session's]
    #[arg(
        long,
        value_name = "NAME",
        hide_possible_values = true,
        value_parser = DialectName(engine::read_dialects)
    )]
    pub(crate) dialect: Option<String>,

    /// What to do about a call that changes something when no rule matches
    #[arg(long, value_enum, env = "PTK_APPROVE", hide_env_values = true)]
    pub(crate) approve: Option<Approve>,

    /// Print each difference as a JSON object
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
    /// Provider of the model: a service such as `openai`, `anthropic`,
    /// `ai-studio`, `groq`, `openrouter`, `ollama`, `llama.cpp`, `vllm`,
    /// `sglang` or `lmstudio`, the URL of an OpenAI-compatible server, `cmd:COMMAND`, or
    /// `script:FILE` for scripted replies; docs/models.md lists all
    #[arg(
        short,
        long,
        value_name = "NAME",
        env = "PTK_PROVIDER",
        add = completion::provider(),
        hide_env_values = true,
        help_heading = "Model"
    )]
    pub(crate) provider: Option<String>,

    /// Model at the provider, or a name from [models] in ptk.toml
    #[arg(
        short,
        long,
        value_name = "NAME",
        env = "PTK_MODEL",
        add = completion::model(),
        hide_env_values = true,
        help_heading = "Model"
    )]
    pub(crate) model: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ProbeArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,

    /// Dialects to try, separated by commas; `all` for every one [default: the
    /// most likely]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) dialects: Vec<String>,

    /// Print the result without saving it
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Timeout of each question, such as 30s or 5m
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "2m")]
    pub(crate) timeout: Duration,

    /// Print each trial as a JSON object
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// What a run is done with.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[derive(Debug, Clone, Args)]
pub(crate) struct AgentArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,

    /// How the model calls tools: `native` API, `text`, or `auto` to detect it
    #[arg(
        long,
        value_enum,
        env = "PTK_MODE",
        hide_env_values = true,
        help_heading = "Model"
    )]
    pub(crate) mode: Option<ModeName>,

    /// Dialect that the model is taught [default: ptk; all dialects are parsed]
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

    /// Sampling temperature; 0 takes the likeliest words
    #[arg(
        long,
        value_name = "N",
        help_heading = "Model",
        value_parser = temperature
    )]
    pub(crate) temperature: Option<f32>,

    /// Fail at the first reply that cannot be used, instead of sending it back
    #[arg(long, help_heading = "Model")]
    pub(crate) strict: bool,

    /// Instructions that are added to the system prompt
    #[arg(long, value_name = "TEXT", help_heading = "Model")]
    pub(crate) system: Option<String>,

    /// Tools to offer, separated by commas; '' for none
    #[arg(
        long,
        value_name = "NAMES",
        env = "PTK_TOOLS",
        add = completion::tools(),
        hide_env_values = true,
        help_heading = "Tools"
    )]
    pub(crate) tools: Option<String>,

    /// What to do about a call that changes something when no rule matches
    /// [default: ask]
    #[arg(
        long,
        value_enum,
        env = "PTK_APPROVE",
        hide_env_values = true,
        help_heading = "Tools"
    )]
    pub(crate) approve: Option<Approve>,

    /// Show the changes of each command and ask before applying them to the
    /// workspace
    #[arg(long, help_heading = "Tools")]
    pub(crate) review: bool,

    /// Maximum number of model requests [default: 50]
    #[arg(
        long,
        value_name = "N",
        env = "PTK_MAX_ITERATIONS",
        hide_env_values = true,
        help_heading = "Limits",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub(crate) max_iterations: Option<u32>,

    /// Maximum number of tool calls [default: 200]
    #[arg(
        long,
        value_name = "N",
        env = "PTK_MAX_TOOL_CALLS",
        hide_env_values = true,
        help_heading = "Limits"
    )]
    pub(crate) max_tool_calls: Option<u32>,

    /// Time limit of the run, such as `90s` or `5m` [default: none]
    #[arg(
        long,
        value_name = "TIME",
        env = "PTK_TIMEOUT",
        hide_env_values = true,
        help_heading = "Limits",
        value_parser = duration
    )]
    pub(crate) timeout: Option<Duration>,

    /// Print events as JSON lines
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,

    /// Print questions as events too, and read the answers from stdin, a line
    /// of JSON each
    #[arg(long, requires = "json", help_heading = "Output")]
    pub(crate) answers: bool,

    /// Print only the answer
    #[arg(short, long, help_heading = "Output", conflicts_with = "json")]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// A number from 0 to 2.
fn temperature(text: &str) -> Result<f32, String> {
    let number = text.parse().ok().filter(|it| (0.0..=2.0).contains(it));
    number.ok_or_else(|| "expected a number from 0 to 2".to_owned())
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
    /// List the sessions of this workspace, newest first
    List(ScopeArgs),
    /// Show the conversation of a session
    Show(ShowSessionArgs),
    /// Search the text of sessions
    Search(SearchSessionsArgs),
    /// Rename a session
    #[command(after_help = RENAME_EXAMPLES)]
    Rename(RenameSessionArgs),
    /// Start a new session from the turns of another
    #[command(after_help = FORK_EXAMPLES)]
    Fork(ForkSessionArgs),
    /// Export a session as JSON lines or Markdown
    #[command(after_help = EXPORT_EXAMPLES)]
    Export(ExportSessionArgs),
    /// Import sessions that were exported as JSON lines
    Import(ImportSessionsArgs),
    /// Delete sessions and their logs
    #[command(after_help = DELETE_EXAMPLES)]
    Delete(DeleteSessionsArgs),
    /// Check the integrity of the session database
    Check(CheckSessionsArgs),
}

/// Which sessions are looked at, and how they are told.
#[derive(Debug, Args)]
pub(crate) struct ScopeArgs {
    /// Include all workspaces
    #[arg(long)]
    pub(crate) all: bool,

    /// Maximum number of lines
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,

    /// Print JSON lines
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ShowSessionArgs {
    /// Session, by id or unique prefix
    #[arg(value_name = "ID", add = completion::session())]
    pub(crate) session: String,

    /// Include the model's reasoning
    #[arg(long, conflicts_with = "json")]
    pub(crate) thoughts: bool,

    /// Print the log as JSON lines
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SearchSessionsArgs {
    /// Words to search for; quote a phrase to match it exactly
    #[arg(value_name = "WORDS", required = true)]
    pub(crate) words: Vec<String>,

    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RenameSessionArgs {
    /// Session, by id or unique prefix
    #[arg(value_name = "ID", add = completion::session())]
    pub(crate) session: String,

    /// New title; an empty one restores the first prompt
    #[arg(value_name = "TITLE", required = true)]
    pub(crate) title: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ForkSessionArgs {
    /// Session, by id or unique prefix; it is not changed
    #[arg(value_name = "ID", add = completion::session())]
    pub(crate) session: String,

    /// Number of turns to copy [default: all that have ended]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) turns: Option<u64>,

    /// Print the new session as a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExportSessionArgs {
    /// Session, by id or unique prefix
    #[arg(value_name = "ID", add = completion::session())]
    pub(crate) session: String,

    /// Output format
    #[arg(long, value_enum, default_value_t = ExportFormat::Jsonl)]
    pub(crate) format: ExportFormat,

    /// Include reasoning in Markdown; JSON lines always include it
    #[arg(long)]
    pub(crate) thoughts: bool,

    /// Output file, which must not exist [default: stdout]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ExportFormat {
    /// The whole log as JSON lines, for `ptk sessions import`
    Jsonl,
    /// The conversation, for people
    Markdown,
}

#[derive(Debug, Args)]
pub(crate) struct ImportSessionsArgs {
    /// Input file [default: stdin]
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true, value_hint = ValueHint::FilePath)]
    pub(crate) source: crate::input::Source,

    /// Workspace that the sessions are assigned to [default: .]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteSessionsArgs {
    /// Sessions, by id or unique prefix
    #[arg(
        value_name = "ID",
        add = completion::session(),
        required_unless_present_any = ["older_than", "keep"],
        conflicts_with_all = ["older_than", "keep"]
    )]
    pub(crate) sessions: Vec<String>,

    /// Sessions of this workspace not used for this long, such as `30d`
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) older_than: Option<Duration>,

    /// All but the newest N of this workspace
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<usize>,

    /// Include all workspaces in --older-than and --keep
    #[arg(long, conflicts_with = "sessions")]
    pub(crate) all: bool,

    /// Do not ask for confirmation
    #[arg(short, long)]
    pub(crate) yes: bool,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CheckSessionsArgs {
    /// Rebuild the tables that are derived from the log
    #[arg(long)]
    pub(crate) rebuild: bool,
}

const RENAME_EXAMPLES: &str = "\
Examples:
  ptk sessions rename 0199c2 \"The parser of dates\"
  ptk sessions rename 0199c2 ''";

const FORK_EXAMPLES: &str = "\
Examples:
  ptk sessions fork 0199c2
  ptk --session $(ptk sessions fork 0199c2 --turns 2) \"Try it without a cache\"";

const EXPORT_EXAMPLES: &str = "\
Examples:
  ptk sessions export 0199c2 > session.jsonl
  ptk sessions export 0199c2 --format markdown -o session.md";

const DELETE_EXAMPLES: &str = "\
Examples:
  ptk sessions delete 0199c2
  ptk sessions delete --older-than 90d --yes
  ptk sessions delete --keep 100 --all";
