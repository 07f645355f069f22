//! The flags of `ptk index` and `ptk search`.

use std::num::NonZero;

use clap::{Args, ValueEnum};
use ptk_search::Language;
use ptk_search::chunk::Kind;

use super::shared::ConfigArgs;

#[derive(Debug, Args)]
pub(crate) struct IndexArgs {
    /// Keep running and index changes as they are made
    #[arg(long)]
    pub(crate) watch: bool,

    /// Print each update as a JSON object
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// Search query: words, names or a question
    #[arg(value_name = "QUERY", required = true)]
    pub(crate) query: Vec<String>,

    /// Maximum number of results
    #[arg(long, value_name = "N", default_value = "10")]
    pub(crate) top: NonZero<usize>,

    /// Rank by words only (bm25) or by meaning only (dense)
    #[arg(long, value_name = "LIST")]
    pub(crate) only: Option<OnlyBy>,

    /// Rank near-duplicates lower
    #[arg(long)]
    pub(crate) diverse: bool,

    /// Only files that match a glob, as in .gitignore; `!` excludes
    #[arg(long, value_name = "GLOB", help_heading = "Filters")]
    pub(crate) path: Vec<String>,

    /// Only files in this language, such as rust or python
    #[arg(long, value_name = "NAME", help_heading = "Filters")]
    pub(crate) language: Vec<Language>,

    /// Only code of this kind, such as function, method or struct
    #[arg(long, value_name = "NAME", help_heading = "Filters")]
    pub(crate) kind: Vec<Kind>,

    /// Only definitions of this name
    #[arg(long, value_name = "NAME", help_heading = "Filters")]
    pub(crate) symbol: Vec<String>,

    /// Search the index without updating it first
    #[arg(long)]
    pub(crate) no_update: bool,

    /// Print each result as a JSON object
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// The one list that is gone by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnlyBy {
    /// By words.
    Bm25,
    /// By meaning.
    Dense,
}

pub(super) fn index_examples() -> String {
    let by_meaning = if cfg!(feature = "local") {
        " With a\nmodel for it (`ptk models pull wordllama`), code is indexed by meaning as well."
    } else {
        ""
    };
    format!(
        "\
Files are cut along their definitions and kept in an index outside of the
workspace; ignore rules count. Later runs read only what has changed.{by_meaning}
`ptk search` and the tool request_code_context bring the index up to date
themselves.

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted (what is done is
kept, and the next run goes on with it).

Examples:
  ptk index
  ptk index --workspace ~/src/app --watch
"
    )
}

pub(super) const SEARCH_EXAMPLES: &str = "\
No sign in a query has a meaning of its own. The index is brought up to date
first.

Exit codes: 0 done, also if nothing was found, 1 failed, 2 wrong usage.

Examples:
  ptk search where are uploads checked for their size
  ptk search parse_json --language rust --kind function
  ptk search 'retry with backoff' --path 'src/' --path '!*_test.go'
  ptk search login --json --top 3
";
