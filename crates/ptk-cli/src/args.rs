//! Commands and flags.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};

use crate::engine;
use crate::input::Source;

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
    /// Find the tool calls in a model's reply and print them as JSON
    #[command(after_help = PARSE_EXAMPLES)]
    Parse(ParseArgs),
    /// Print the system prompt that teaches a model to call tools
    #[command(after_help = PROMPT_EXAMPLES)]
    Prompt(PromptArgs),
    /// Print a script that completes ptk's commands and flags in a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArgs),
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
        value_parser = PossibleValuesParser::new(engine::read_dialects())
    )]
    pub(crate) dialect: String,

    /// Read one case a line: {"input", "tools"?, "dialect"?, "chunks"?}
    #[arg(long, help_heading = "Mode")]
    pub(crate) jsonl: bool,

    /// Read one JSON-like value, mend it and print it as JSON
    #[arg(long, help_heading = "Mode", conflicts_with_all = ["jsonl", "tool_defs", "dialect"])]
    pub(crate) repair: bool,
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
        value_parser = PossibleValuesParser::new(engine::taught_dialects())
    )]
    pub(crate) dialect: String,

    /// How much to say about each tool
    #[arg(long, value_enum, default_value_t = PromptStyle::Full)]
    pub(crate) style: PromptStyle,

    /// Print {"dialect", "style", "prompt"} instead of the bare text
    #[arg(long)]
    pub(crate) json: bool,
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
pub(crate) struct CompletionsArgs {
    /// The shell that will read the script
    pub(crate) shell: clap_complete::Shell,
}

const EXAMPLES: &str = "\
Examples:
  ptk parse --tool-defs examples/tools.json examples/reply.txt
  ptk prompt --tool-defs examples/tools.json

Data goes to stdout, everything else to stderr.
Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.";

const PARSE_EXAMPLES: &str = "\
A reply never fails to parse: what is wrong with it is part of the output.

Examples:
  ptk parse --tool-defs examples/tools.json < examples/reply.txt
  ptk parse --tool-defs examples/tools.json --jsonl examples/cases.jsonl
  echo \"{path: 'a.txt', lines: [1, 2,]}\" | ptk parse --repair";

const PROMPT_EXAMPLES: &str = "\
Examples:
  ptk prompt --tool-defs examples/tools.json
  ptk prompt --tool-defs examples/tools.json --dialect xml --style signature";

const COMPLETIONS_EXAMPLES: &str = "\
Examples, for the shell's start-up file:
  source <(ptk completions bash)
  source <(ptk completions zsh)
  ptk completions fish | source";
