//! Commands and flags.

mod agent;
#[cfg(feature = "search")]
mod code;
mod dialect_name;
pub(crate) mod dialects;
#[cfg(test)]
mod hints;
#[cfg(feature = "mcp")]
mod mcp;
mod models;
mod serve;
mod shared;
mod words;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use ptk_protocol::format::DefinitionStyle;
use serde::Deserialize;
use tracing_subscriber::filter::Targets;

use crate::input::Source;
use crate::{completion, engine};

pub(crate) use agent::{
    AgentArgs, ChatArgs, CheckSessionsArgs, DeleteSessionsArgs, ExportFormat, ExportSessionArgs,
    ForkSessionArgs, ImportSessionsArgs, ModeName, ModelArgs, ProbeArgs, RenameSessionArgs,
    ReplayArgs, ResumeArgs, RunArgs, ScopeArgs, SearchSessionsArgs, SessionArgs, SessionsCommand,
    ShowSessionArgs, duration,
};
#[cfg(feature = "search")]
pub(crate) use code::{IndexArgs, OnlyBy, SearchArgs};
#[cfg(feature = "search")]
use code::{SEARCH_EXAMPLES, index_examples};
use dialect_name::DialectName;
#[cfg(feature = "mcp")]
use mcp::MCP_EXAMPLES;
#[cfg(feature = "mcp")]
pub(crate) use mcp::{
    AddServerArgs, ListServersArgs, McpCommand, McpServeArgs, RemoveServerArgs, ServerLoginArgs,
    ServerLogoutArgs, TestServersArgs,
};
use models::MODELS_EXAMPLES;
pub(crate) use models::{
    AddModelArgs, ListModelsArgs, ModelsCommand, PullModelArgs, RemoveModelArgs,
};
use serve::SERVE_EXAMPLES;
pub(crate) use serve::{AccessLog, ServeArgs};
pub(crate) use shared::{Approve, ConfigArgs, SandboxArgs, listed_names};
pub(crate) use words::{nearest_command, read, unknown_command};

/// Tool calling for any language model, in plain text.
#[derive(Debug, Parser)]
#[command(
    name = "ptk",
    version,
    max_term_width = 100,
    after_help = EXAMPLES
)]
pub(crate) struct Cli {
    /// Write what ptk does inside to stderr: a level, or targets such as
    /// `ptk=debug` [variable: `RUST_LOG`]
    #[arg(long, global = true, value_name = "FILTER", value_parser = log_filter, hide = true)]
    pub(crate) log: Option<Targets>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

fn log_filter(text: &str) -> Result<Targets, String> {
    crate::diagnostics_log::filter(text).map_err(|error| error.to_string())
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a prompt with tools and print the answer
    #[command(after_help = RUN_EXAMPLES)]
    Run(Box<RunArgs>),
    /// Chat with a model that has tools
    #[command(after_help = CHAT_EXAMPLES)]
    Chat(Box<ChatArgs>),
    /// Choose the model, from what is within reach
    #[command(after_help = SETUP_EXAMPLES)]
    Setup(SetupArgs),
    /// Resume an interrupted run
    #[command(after_help = RESUME_EXAMPLES)]
    Resume(Box<ResumeArgs>),
    /// Manage sessions
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Replay a session against the current parser and rules, and show the
    /// differences
    #[command(after_help = REPLAY_EXAMPLES)]
    Replay(ReplayArgs),
    /// Parse the tool calls in a model's reply and print them as JSON
    #[command(after_help = PARSE_EXAMPLES)]
    Parse(ParseArgs),
    /// Print the system prompt that teaches a model to call tools
    #[command(after_help = PROMPT_EXAMPLES)]
    Prompt(PromptArgs),
    /// List tools, show one, or call one directly
    #[command(subcommand)]
    Tools(ToolsCommand),
    /// Use tools of MCP servers, or serve tools to MCP clients
    #[cfg(feature = "mcp")]
    #[command(subcommand, after_help = MCP_EXAMPLES)]
    Mcp(McpCommand),
    /// Undo changes that tools made in a workspace
    #[command(after_help = UNDO_EXAMPLES)]
    Undo(UndoArgs),
    /// Index the code of a workspace for searching
    #[cfg(feature = "search")]
    #[command(after_help = index_examples())]
    Index(IndexArgs),
    /// Search the code of a workspace by words and by meaning
    #[cfg(feature = "search")]
    #[command(after_help = SEARCH_EXAMPLES)]
    Search(SearchArgs),
    /// Serve models to OpenAI, Anthropic and Ollama clients
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(Box<ServeArgs>),
    /// Detect how a model best calls tools, and save the result
    #[command(after_help = PROBE_EXAMPLES)]
    Probe(ProbeArgs),
    /// Check what works on this machine
    #[command(after_help = DOCTOR_EXAMPLES)]
    Doctor(DoctorArgs),
    /// Manage the rules for tool calls
    #[command(subcommand, after_help = PERMISSIONS_EXAMPLES)]
    Permissions(PermissionsCommand),
    /// Manage API keys of services
    #[command(subcommand, after_help = KEYS_EXAMPLES)]
    Keys(KeysCommand),
    /// List and manage models
    #[command(subcommand, after_help = MODELS_EXAMPLES)]
    Models(ModelsCommand),
    /// Log in to web pages of models
    #[cfg(feature = "browser")]
    #[command(subcommand)]
    Browser(BrowserCommand),
    /// Print a shell completion script
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArgs),
    /// Write a man page for each command
    #[command(hide = true)]
    ManPages(ManPagesArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SetupArgs {
    /// Print what was found as JSON lines, without asking
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print the findings as a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[derive(Debug, Args)]
pub(crate) struct ParseArgs {
    /// File with the reply [default: stdin]
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true, value_hint = ValueHint::FilePath)]
    pub(crate) source: Source,

    /// File of tool definitions; a case's own `tools` take precedence
    #[arg(long, value_name = "FILE", help_heading = "Reading", value_hint = ValueHint::FilePath)]
    pub(crate) tool_defs: Option<PathBuf>,

    /// Dialect of the calls; `auto` detects it, `hf:PATH` reads it from a model's `tokenizer_config.json`
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "Reading",
        default_value = "auto",
        hide_possible_values = true,
        value_parser = DialectName(engine::read_dialects)
    )]
    pub(crate) dialect: String,

    /// Parse one case per line: `{"input", "tools"?, "dialect"?, "chunks"?, "starts_in_reasoning"?}`
    #[arg(long, help_heading = "Mode")]
    pub(crate) jsonl: bool,

    /// Explain why each piece was parsed as it was
    #[arg(long, help_heading = "Mode", conflicts_with = "jsonl")]
    pub(crate) explain: bool,

    /// Repair one JSON-like value and print it as JSON
    #[arg(long, help_heading = "Mode", conflicts_with_all = ["jsonl", "explain", "tool_defs", "dialect", "workspace", "config"])]
    pub(crate) repair: bool,

    /// Print the dialect as a `response_template` of Hugging Face
    #[arg(long, help_heading = "Mode", conflicts_with_all = ["jsonl", "explain", "tool_defs", "repair"])]
    pub(crate) response_template: bool,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List built-in tools and those declared in ptk.toml
    List(ListToolsArgs),
    /// Show a tool as models see it
    #[command(after_help = SHOW_TOOL_EXAMPLES)]
    Show(ShowToolArgs),
    /// Call a tool, with every check that a model's call gets
    #[command(after_help = CALL_TOOL_EXAMPLES)]
    Call(CallToolArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ListToolsArgs {
    /// Print each tool as a JSON object
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ShowToolArgs {
    /// Name of the tool
    #[arg(add = completion::tool())]
    pub(crate) name: String,

    /// Print the definition in the form of native tool APIs
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CallToolArgs {
    /// Name of the tool
    #[arg(add = completion::tool())]
    pub(crate) name: String,

    /// Arguments as `key=value`, or as one JSON object; `-` reads it from stdin
    #[arg(value_name = "ARGUMENTS")]
    pub(crate) arguments: Vec<String>,

    /// What to do about a call that changes something when no rule matches
    /// [default: ask]
    #[arg(long, value_enum, env = "PTK_APPROVE", hide_env_values = true)]
    pub(crate) approve: Option<Approve>,

    /// Print events and, as the last line, the result as JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Show the changes of each command and ask before applying them to the
    /// workspace
    #[arg(long)]
    pub(crate) review: bool,

    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PermissionsCommand {
    /// List the rules in force and where each is defined
    List(ListPermissionsArgs),
    /// Let calls run without asking
    #[command(after_help = ADD_PERMISSION_EXAMPLES)]
    Allow(AddPermissionArgs),
    /// Always ask about calls
    Ask(AddPermissionArgs),
    /// Never let calls run
    Deny(AddPermissionArgs),
    /// Remove a rule from your own file
    #[command(after_help = REMOVE_PERMISSION_EXAMPLES)]
    Remove(RemovePermissionArgs),
    /// Trust the workspace's ptk.toml in its current state
    #[command(after_help = TRUST_EXAMPLES)]
    Trust(TrustArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ListPermissionsArgs {
    /// Print each rule as a JSON object
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AddPermissionArgs {
    /// Rules, such as `edit(src/**)` or `bash(cargo test *)`
    #[arg(value_name = "RULE", required = true)]
    pub(crate) rules: Vec<String>,

    /// In every workspace, not only in this one
    #[arg(long)]
    pub(crate) everywhere: bool,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RemovePermissionArgs {
    /// Rule, as `ptk permissions list` shows it
    pub(crate) rule: String,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Save a key, read from the terminal or stdin
    Set(SetKeyArgs),
    /// Delete a saved key
    Remove(KeyArgs),
    /// List services, and where the key of each is
    List(ListKeysArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SetKeyArgs {
    /// Service, such as `openai`
    pub(crate) name: String,

    /// Save it in the system's keyring instead of the key file
    #[cfg(feature = "keyring")]
    #[arg(long)]
    pub(crate) keyring: bool,
}

#[derive(Debug, Args)]
pub(crate) struct KeyArgs {
    /// Service, such as `openai`
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct ListKeysArgs {
    /// Print each service as a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PromptArgs {
    /// File of tool definitions [default: the system prompt of `ptk run` with
    /// the tools that it offers]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) tool_defs: Option<PathBuf>,

    /// Dialect to teach
    #[arg(
        long,
        value_name = "NAME",
        default_value = "ptk",
        value_parser = DialectName(engine::taught_dialects)
    )]
    pub(crate) dialect: String,

    /// Level of detail of tool descriptions
    #[arg(long, value_enum, default_value_t = PromptStyle::Full)]
    pub(crate) style: PromptStyle,

    /// Print the grammar of replies instead, in this notation
    #[arg(long, value_enum, value_name = "NOTATION", conflicts_with = "style")]
    pub(crate) grammar: Option<Notation>,

    /// Print {"dialect", "style", "prompt"} as JSON, or {"dialect", "notation",
    /// "grammar", "outside"}
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// How a grammar is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Notation {
    /// GBNF, for llama.cpp; also for vLLM and SGLang
    Gbnf,
    /// A structural tag of XGrammar, for vLLM and SGLang
    StructuralTag,
    /// Lark with the extensions of llguidance, for servers that use it
    Lark,
}

/// How much the prompt says about each tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PromptStyle {
    /// Descriptions, types, allowed values and defaults of every parameter
    Full,
    /// One line per tool, for small context windows
    Signature,
}

impl From<PromptStyle> for DefinitionStyle {
    fn from(style: PromptStyle) -> Self {
        match style {
            PromptStyle::Full => Self::Full,
            PromptStyle::Signature => Self::Signature,
        }
    }
}

#[derive(Debug, Args)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a flag on the command line"
)]
pub(crate) struct UndoArgs {
    /// Call or undo to revert; see --list
    #[arg(long, value_name = "ID", help_heading = "What", group = "what")]
    pub(crate) call: Option<String>,

    /// All calls of a turn [default: the last turn]
    #[arg(
        long,
        value_name = "ID",
        help_heading = "What",
        group = "what",
        num_args = 0..=1,
        default_missing_value = ""
    )]
    pub(crate) turn: Option<String>,

    /// All calls of a session
    #[arg(long, value_name = "ID", help_heading = "What", group = "what")]
    pub(crate) session: Option<String>,

    /// Skip files that were changed by others since, and undo the rest
    #[arg(long)]
    pub(crate) keep_others: bool,

    /// Show the changes as a diff without making them
    #[arg(long, conflicts_with = "list")]
    pub(crate) dry_run: bool,

    /// List what can be undone, newest first
    #[arg(long, conflicts_with_all = ["what", "keep_others"])]
    pub(crate) list: bool,

    /// Print JSON: with --list an object per call, otherwise one for the undo
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[cfg(feature = "browser")]
#[derive(Debug, Subcommand)]
pub(crate) enum BrowserCommand {
    /// Open a page in a browser window to log in; the login is kept
    Login(LoginArgs),
}

#[cfg(feature = "browser")]
#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// Page, as declared in ptk.toml, or `ai-studio`
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManPagesArgs {
    /// Directory to write to; created if it does not exist
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) directory: PathBuf,
}

const EXAMPLES: &str = "\
`ptk \"PROMPT\"` is short for `ptk run \"PROMPT\"`, and `ptk` in a terminal for `ptk chat`.
Both ask which model to use, until one is chosen.

Examples:
  ptk \"What does this folder do?\" --provider script:examples/script.json
  ptk parse --tool-defs examples/tools.json examples/reply.txt
  ptk prompt --tool-defs examples/tools.json
  ptk tools call read_file '{\"path\": \"README.md\"}'

Data goes to stdout, everything else to stderr.
Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.";

const PARSE_EXAMPLES: &str = "\
A reply never fails to parse: what is wrong with it is part of the output.

Examples:
  ptk parse --tool-defs examples/tools.json < examples/reply.txt
  ptk parse --tool-defs examples/tools.json --jsonl examples/cases.jsonl
  ptk parse --tool-defs examples/tools.json --explain examples/reply.txt
  echo \"{path: 'a.txt', lines: [1, 2,]}\" | ptk parse --repair";

const PROMPT_EXAMPLES: &str = "\
Examples:
  ptk prompt --tool-defs examples/tools.json
  ptk prompt --tool-defs examples/tools.json --dialect xml --style signature
  ptk prompt --tool-defs examples/tools.json --dialect hermes --grammar gbnf";

const SHOW_TOOL_EXAMPLES: &str = "\
Examples:
  ptk tools show grep
  ptk tools show edit --json";

const CALL_TOOL_EXAMPLES: &str = "\
Exit codes: 0 the tool did it, 1 it did not, 2 wrong usage, 130 interrupted.

Examples:
  ptk tools call read_file '{\"path\": \"README.md\", \"limit\": 5}'
  ptk tools call grep '{\"pattern\": \"fn main\"}' --workspace ../other --json
  ptk tools call bash '{\"command\": \"cargo test\"}' --approve auto
  echo '{\"path\": \"a.txt\", \"content\": \"hi\"}' | ptk tools call write_file - --approve auto";

const SETUP_EXAMPLES: &str = "\
Looks for models on this machine, on servers that run here and at services with a key,
and asks which one to use. The choice is kept in your own ptk.toml, where you can edit it;
`ptk run` and `ptk chat` ask the same as long as no model is chosen.

Exit codes: 0 a model is chosen, 1 none is, 130 interrupted.

Examples:
  ptk setup
  ptk setup --json";

const DOCTOR_EXAMPLES: &str = "\
It tries to get out of the sandbox that commands run in, and says what kept it
in. It also tries undo, asks the server of the chosen model for its models, and
tells which keys, folders and features there are.

The exit code is about the sandbox alone: 0 if everything kept it in, 1 if not.

Examples:
  ptk doctor
  ptk doctor --json";

const UNDO_EXAMPLES: &str = "\
Without a flag, the last call that changed files in this workspace is taken
back; once more, the one before it. Contents, permissions, links and folders
are put back as they were. If others have changed one of the files since,
nothing is done, and it is said which. An undo can be undone by its own id.

Exit codes: 0 undone, 1 not undone, 2 wrong usage.

Examples:
  ptk undo --list
  ptk undo --dry-run
  ptk undo
  ptk undo --turn
  ptk undo --call call_0199c2 --keep-others";

const PERMISSIONS_EXAMPLES: &str = "\
A rule is a tool, or a tool with a command or a path in brackets:
  bash(cargo test *)   cargo test with whatever follows
  bash(make)           just that
  edit(src/**)         files in src
  get_diagnostics      every call of the tool

Rules stand in ptk.toml, and without the heading in ptk/permissions.toml in your
configuration folder:
  [permissions]
  allow = [\"bash(cargo test *)\", \"edit(src/**)\"]
  ask = [\"bash(git push *)\"]
  deny = [\"read_file(secrets/**)\"]
Deny beats ask, ask beats allow. Of several commands in a line each has to be allowed.

Examples:
  ptk permissions list
  ptk permissions remove 'bash(cargo test *)'
  ptk permissions trust";

const ADD_PERMISSION_EXAMPLES: &str = "\
Examples:
  ptk permissions allow 'bash(cargo test *)' 'edit(src/**)'
  ptk permissions deny 'bash(git push *)' --everywhere";

const REMOVE_PERMISSION_EXAMPLES: &str = "\
Examples:
  ptk permissions remove 'bash(cargo test *)'";

const TRUST_EXAMPLES: &str = "\
A ptk.toml may have come with code of others. What it asks about and denies counts always,
what it allows only after this, and until the file changes.

Examples:
  ptk permissions trust
  ptk permissions trust --workspace ../other";

const COMPLETIONS_EXAMPLES: &str = "\
Examples, for the shell's start-up file:
  source <(ptk completions bash)
  source <(ptk completions zsh)
  ptk completions fish | source";

const RUN_EXAMPLES: &str = "\
The answer goes to stdout, everything else to stderr. Calls that change something
are asked about, unless a rule or --approve decides. AGENTS.md in the workspace is
read as instructions. Ctrl-C stops the turn, twice ends ptk at once.

Exit codes: 0 an answer, 1 none, 2 wrong usage, 130 interrupted.

Examples:
  ptk run \"What does this folder do?\" --provider script:examples/script.json
  git diff | ptk \"Write a commit message\"
  ptk -c \"And in German?\"
  ptk \"Mend the tests\" --approve auto --timeout 10m --json";

const CHAT_EXAMPLES: &str = "\
Enter sends, Alt-Enter begins a line, @ names files, ! runs a command, / says something
to the chat itself: /help lists it. Calls that change something are asked about, where
they are made. Esc stops what is going on. The conversation is kept: `ptk chat -c` goes
on with the last one.

Examples:
  ptk chat
  ptk chat -c
  ptk chat --provider script:examples/script.json
  ptk chat --plain < questions.txt";

const RESUME_EXAMPLES: &str = "\
A run that was stopped, killed, or ran out of time goes on where it was. No call that
ended is run again. One that may or may not have happened is run again if it only
reads; otherwise you are asked; where that is not possible, the model is told.

Examples:
  ptk resume
  ptk resume 0199c2 --timeout 10m";

const PROBE_EXAMPLES: &str = "\
The model is asked four short questions with tools that do nothing, once by its API
for tools and once in each form of calls in text. What works best is remembered, and
used wherever mode and dialect are not said.

Exit codes: 0 it calls tools, 1 it does not, 2 wrong usage, 130 interrupted.

Examples:
  ptk probe --provider ollama --model qwen3:4b
  ptk probe --model fast --dialects ptk,hermes,xml --dry-run";

const REPLAY_EXAMPLES: &str = "\
Nothing is run and no question is asked: each reply of the model is read once more, by
today's parser and for today's tools, and each call is judged by today's rules.

Exit codes: 0 nothing differs, 1 something does, 2 wrong usage.

Examples:
  ptk replay 0199c2
  ptk replay 0199c2 --approve deny --json";

const KEYS_EXAMPLES: &str = "\
Keys are saved in ~/.config/ptk/keys.json, which only you can read. A key in the variable of
its service, such as OPENAI_API_KEY, goes first.

Examples:
  ptk keys set openai
  pass show groq | ptk keys set groq
  ptk keys list";

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory as _};

    use super::Cli;

    const PAGE: &str = include_str!("../../../../docs/cli.md");

    /// Adds the commands and options that the page does not name.
    fn missing(command: &Command, path: &str, found: &mut Vec<String>) {
        if !PAGE.contains(path) {
            found.push(path.to_owned());
        }
        let options = command.get_arguments().filter(|it| !it.is_hide_set());
        for name in options.filter_map(clap::Arg::get_long) {
            let option = format!("--{name}");
            let is_named = PAGE.match_indices(&option).any(|(at, _)| {
                let behind = PAGE.get(at + option.len()..).unwrap_or_default();
                !behind.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-')
            });
            if !is_named {
                found.push(format!("{path} {option}"));
            }
        }
        for inner in command.get_subcommands().filter(|it| !it.is_hide_set()) {
            if inner.get_name() != "help" {
                missing(inner, &format!("{path} {}", inner.get_name()), found);
            }
        }
    }

    #[test]
    fn the_page_names_every_command_and_option() {
        let mut found = Vec::new();
        missing(&Cli::command(), "ptk", &mut found);
        assert!(found.is_empty(), "not in docs/cli.md: {found:#?}");
    }
}
