//! `grep`: lines that match a regular expression.
//!
//! A match is shown as `path:line:text`, as grep and ripgrep do, because every
//! model has read millions of such lines. Lines around it are
//! `path-line-text`, and `--` stands where lines are left out between them.

mod args;
mod page;

use grep_regex::RegexMatcher;
use ptk_protocol::{Arguments, ToolResult};
use ptk_sandbox::walk::IgnoreRules;

pub use self::args::{GrepArgs, GrepOutput};
pub use self::page::GrepResult;
use self::page::Page;
use super::aliases::with_glob;
use super::search::content::Query;
use super::search::matches::{Search, Worth};
use super::search::page::preview_list;
use super::search::start::{self, start};
use super::search::stop::{Stop, confined};
use crate::{CallContext, Effects, Plan, ToolError, TypedTool};

/// Searches the lines of files.
#[derive(Debug, Clone, Copy, Default)]
pub struct Grep;

/// The outcome of one search.
struct GrepOutcome {
    result: GrepResult,
    is_nothing: bool,
    /// Whether there was no file to search.
    is_without_files: bool,
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
                        tool: Self::NAME,
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
