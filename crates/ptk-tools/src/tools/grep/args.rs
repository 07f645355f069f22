//! The arguments of `grep`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tools::search::content::Query;

/// Arguments of [`Grep`](super::Grep).
#[allow(
    clippy::struct_excessive_bools,
    reason = "a model knows switches better than anything else"
)]
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct GrepArgs {
    /// The regular expression that lines are searched for, for example "fn \w+_test" or "TODO|FIXME"
    pub(super) pattern: String,
    /// The folder or file to search, relative to the workspace, for example "src". Default: the whole workspace
    #[serde(default = "here")]
    pub(super) path: String,
    /// Search only files that match this glob, for example "*.rs", "src/**/*.{ts,tsx}", or "!*.lock" for all others
    #[serde(default)]
    pub(super) glob: Option<String>,
    /// Whether capital and small letters differ. Default: they do, unless nothing matches so
    #[serde(default)]
    pub(super) case_sensitive: Option<bool>,
    /// How many lines to show before and after each match. Default: 0
    #[serde(default)]
    #[schemars(range(min = 0, max = 20))]
    pub(super) context: usize,
    /// "content" gives the lines as path:line:text, "files" only the names of the files that match, "count" how many lines match in each file. Default: "content"
    #[serde(default)]
    #[schemars(with = "String", extend("enum" = ["content", "files", "count"]))]
    pub(super) output: GrepOutput,
    /// Search for the text of the pattern itself, not as a regular expression. Default: false
    #[serde(default)]
    pub(super) literal: bool,
    /// Let a match go over several lines; "." matches line breaks, too. Default: false
    #[serde(default)]
    pub(super) multiline: bool,
    /// Also search files and folders whose names begin with a dot. Default: false
    #[serde(default)]
    pub(super) hidden: bool,
    /// How many matches to give at most, or how many files if output is not "content". Default: 50
    #[serde(default = "max_results")]
    #[schemars(range(min = 1, max = 1000))]
    pub(super) max_results: usize,
    /// How many results to pass over, to read on where the last page ended. Default: 0
    #[serde(default)]
    pub(super) offset: usize,
}

/// The kind of result of a search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GrepOutput {
    /// The lines.
    #[default]
    Content,
    /// The names of the files.
    Files,
    /// How many lines match in each file.
    Count,
}

fn here() -> String {
    ".".to_owned()
}

const fn max_results() -> usize {
    50
}

impl GrepArgs {
    /// A looser search if nothing matches exactly, and a note that says so.
    pub(super) fn looser(&self, query: &Query) -> Option<(Query, &'static str)> {
        let trimmed = query.text.trim_matches(' ');
        let note = if trimmed != query.text && self.case_sensitive == Some(true) {
            "Nothing matches with the spaces around the pattern. These match without them."
        } else if trimmed != query.text {
            "Nothing matches with the spaces around the pattern. These match without them, in any case."
        } else if self.case_sensitive.is_none() && query.text.chars().any(char::is_alphabetic) {
            "Nothing matches in this case. These match in another one."
        } else {
            return None;
        };
        let looser = Query {
            text: trimmed.to_owned(),
            case_sensitive: self.case_sensitive == Some(true),
            ..query.clone()
        };
        Some((looser, note))
    }
}
