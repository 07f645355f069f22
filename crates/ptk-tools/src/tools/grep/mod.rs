//! `grep`: lines that match a regular expression.
//!
//! A match is shown as `path:line:text`, as grep and ripgrep do, because every
//! model has read millions of such lines. Lines around it are
//! `path-line-text`, and `--` stands where lines are left out between them.

mod page;

use grep_regex::RegexMatcher;
use ptk_protocol::{Arguments, ToolResult};
use ptk_sandbox::walk::IgnoreRules;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use self::page::Page;
use super::aliases::with_glob;
use super::search::content::Query;
use super::search::matches::{Search, Worth};
use super::search::page::preview_list;
use super::search::start::{self, start};
use super::search::stop::{Stop, confined};
use super::search::tally::Skipped;
use crate::{CallContext, Effects, Plan, ToolError, TypedTool};

/// Searches the lines of files.
#[derive(Debug, Clone, Copy, Default)]
pub struct Grep;

/// Arguments of [`Grep`].
#[allow(
    clippy::struct_excessive_bools,
    reason = "a model knows switches better than anything else"
)]
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct GrepArgs {
    /// The regular expression that lines are searched for, for example "fn \w+_test" or "TODO|FIXME"
    pattern: String,
    /// The folder or file to search, relative to the workspace, for example "src". Default: the whole workspace
    #[serde(default = "here")]
    path: String,
    /// Search only files that match this glob, for example "*.rs", "src/**/*.{ts,tsx}", or "!*.lock" for all others
    #[serde(default)]
    glob: Option<String>,
    /// Whether capital and small letters differ. Default: they do, unless nothing matches so
    #[serde(default)]
    case_sensitive: Option<bool>,
    /// How many lines to show before and after each match. Default: 0
    #[serde(default)]
    #[schemars(range(min = 0, max = 20))]
    context: usize,
    /// "content" gives the lines as path:line:text, "files" only the names of the files that match, "count" how many lines match in each file. Default: "content"
    #[serde(default)]
    #[schemars(with = "String", extend("enum" = ["content", "files", "count"]))]
    output: GrepOutput,
    /// Search for the text of the pattern itself, not as a regular expression. Default: false
    #[serde(default)]
    literal: bool,
    /// Let a match go over several lines; "." matches line breaks, too. Default: false
    #[serde(default)]
    multiline: bool,
    /// Also search files and folders whose names begin with a dot. Default: false
    #[serde(default)]
    hidden: bool,
    /// How many matches to give at most, or how many files if output is not "content". Default: 50
    #[serde(default = "max_results")]
    #[schemars(range(min = 1, max = 1000))]
    max_results: usize,
    /// How many results to pass over, to read on where the last page ended. Default: 0
    #[serde(default)]
    offset: usize,
}

impl GrepArgs {
    /// A looser search if nothing matches exactly, and a note that says so.
    fn looser(&self, query: &Query) -> Option<(Query, &'static str)> {
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

/// The outcome of one search.
struct GrepOutcome {
    result: GrepResult,
    is_nothing: bool,
    /// Whether there was no file to search.
    is_without_files: bool,
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

/// The result of [`Grep`].
#[derive(Debug, Default, Serialize)]
pub struct GrepResult {
    #[serde(skip_serializing_if = "Option::is_none")]
    matches: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<Map<String, Value>>,
    /// How many results there are on this page.
    count: usize,
    /// How many there are in all.
    total: u64,
    /// In how many files.
    total_files: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<Skipped>,
}

impl TypedTool for Grep {
    type Args = GrepArgs;
    type Output = GrepResult;

    const NAME: &'static str = "grep";
    const DESCRIPTION: &'static str = "Search the lines of files for a regular expression (as in \
        ripgrep). Gives lines as path:line:text, sorted by path. Binary files, hidden \
        files and those that .gitignore or .ignore leave out are not searched.";
    const EFFECTS: Effects = Effects::READ;
    const MAIN_PARAMETERS: Option<usize> = Some(2);

    fn adapt(&self, args: Arguments) -> Arguments {
        with_glob(args)
    }

    fn plan(&self, _context: &CallContext, _args: &GrepArgs) -> Result<Plan, ToolError> {
        // It leaves out itself what may not be read.
        Ok(Plan::default())
    }

    async fn run(&self, context: &CallContext, args: GrepArgs) -> Result<GrepResult, ToolError> {
        let query = Query {
            text: args.pattern.clone(),
            literal: args.literal,
            case_sensitive: args.case_sensitive.unwrap_or(true),
            multiline: args.multiline,
            remedy: "To search for the text as it stands, set literal to true; or put a backslash \
                     before each character that is meant literally.",
        };
        let prepare = {
            let (call, args, query) = (context.clone(), args.clone(), query.clone());
            move || {
                let matcher = query.matcher()?;
                let glob = args
                    .glob
                    .as_deref()
                    .map(start::PathGlob::filter)
                    .transpose()?;
                let (place, kind) = start(&call, &args.path)?;
                let rules = IgnoreRules::above(&place);
                Ok((matcher, glob, place, kind, rules))
            }
        };
        let call = context.clone();
        let search = move |prepared, stop: &Stop| {
            let (matcher, glob, place, kind, rules): (
                _,
                Option<start::PathGlob>,
                _,
                _,
                IgnoreRules,
            ) = prepared;
            let search =
                |query: &Query, matcher: &RegexMatcher, glob: Option<&start::PathGlob>, note| {
                    let search = Search {
                        context: &call,
                        place: &place,
                        kind,
                        query,
                        matcher,
                        glob,
                        hidden: args.hidden,
                        only_whether: args.output == GrepOutput::Files,
                        rank: &|_| Worth::default(),
                        stop,
                    };
                    let counted = search.count(rules.clone());
                    let page = Page {
                        args: &args,
                        search: &search,
                        counted: &counted,
                        note,
                    };
                    let is_nothing = counted.files.is_empty() && counted.is_complete;
                    GrepOutcome {
                        result: page.result(),
                        is_nothing,
                        is_without_files: counted.tally.files == 0,
                    }
                };
            let exact = search(&query, &matcher, glob.as_ref(), None);
            if !exact.is_nothing {
                return Ok(exact.result);
            }
            // A model often limits its search to files that are not there.
            let (glob, other) = match &args.glob {
                Some(pattern) if exact.is_without_files => {
                    let note = format!("No file matches the glob \"{pattern}\".");
                    let other = format!("{note} These are in other files.");
                    let found = search(&query, &matcher, None, Some(other.clone()));
                    if !found.is_nothing {
                        return Ok(found.result);
                    }
                    (None, Some(note))
                }
                _ => (glob.as_ref(), None),
            };
            if let Some((query, note)) = args.looser(&query)
                && let Ok(matcher) = query.matcher()
            {
                let notes: Vec<&str> = other.as_deref().into_iter().chain([note]).collect();
                let found = search(&query, &matcher, glob, Some(notes.join(" ")));
                if !found.is_nothing {
                    return Ok(found.result);
                }
            }
            Ok(exact.result)
        };
        confined(context, prepare, search).await
    }

    fn preview(&self, result: &ToolResult, max_lines: usize) -> Vec<String> {
        let (field, what) = if result.fields.contains_key("files") {
            ("files", ["file", "files"])
        } else {
            ("matches", ["match", "matches"])
        };
        preview_list(result, field, what, max_lines)
    }
}
