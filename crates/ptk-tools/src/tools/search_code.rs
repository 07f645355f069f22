//! `search_code`: where something stands in the code, with the lines around it,
//! in PTK's snippet format.
//!
//! Files come in the order of their worth: those that seem to define what is
//! searched for, then those with more matches of it as a whole word, then those
//! with more matches at all, then by path.

use std::cmp::Reverse;

use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use ptk_protocol::ToolResult;
use ptk_sandbox::walk::IgnoreRules;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::search::collect::Window;
use super::search::content::Query;
use super::search::files::{MAX_PAGE, WalkOutcome};
use super::search::matches::{Counted, Matched, Search, Worth};
use super::search::page::{defaults_of, next_call, preview_list};
use super::search::start::{self, start};
use super::search::stop::{Stop, confined};
use super::search::tally::Skipped;
use crate::{CallContext, Effects, Plan, ToolError, TypedTool};

/// How many lines a snippet has around a match.
const AROUND: usize = 3;
/// How many matches of one file are shown.
const PER_FILE: usize = 5;
/// What stands before a name where it is defined, in most languages.
const DEFINING: &str = r"\b(?:fn|def|class|struct|enum|union|trait|interface|type|typedef|function|func|fun|const|static|let|var|val|mod|module|namespace|package|macro_rules!|impl|record|object|protocol|#define)\s+";

/// Searches code.
#[derive(Debug, Clone, Copy, Default)]
pub struct SearchCode;

/// Arguments of [`SearchCode`].
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct SearchCodeArgs {
    /// The text to look for, as it stands in the code, for example "getUser(" or "class User"
    query: String,
    /// The folder or file to search, relative to the workspace, for example "src". Default: the whole workspace
    #[serde(default = "here")]
    path: String,
    /// How to search
    #[serde(default)]
    options: SearchCodeOptions,
    /// How many matches to pass over, to read on where the last page ended. Default: 0
    #[serde(default)]
    offset: usize,
}

/// How [`SearchCode`] searches.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct SearchCodeOptions {
    /// Read the query as a regular expression. Default: false
    #[serde(default, skip_serializing_if = "is_false")]
    regex: bool,
    /// Whether capital and small letters differ. Default: only if the query has a capital letter
    #[serde(default, skip_serializing_if = "Option::is_none")]
    case_sensitive: Option<bool>,
    /// How many matches to show at most. Default: 20
    #[serde(default = "max_results", skip_serializing_if = "is_max_results")]
    #[schemars(range(min = 1, max = 200))]
    max_results: usize,
    /// Search only files of these types, for example "rs" and "toml"
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    file_types: Vec<String>,
    /// Search only files that match this glob, for example "src/**/*.ts"
    #[serde(default, skip_serializing_if = "Option::is_none")]
    glob: Option<String>,
}

impl Default for SearchCodeOptions {
    fn default() -> Self {
        Self {
            regex: false,
            case_sensitive: None,
            max_results: max_results(),
            file_types: Vec::new(),
            glob: None,
        }
    }
}

fn here() -> String {
    ".".to_owned()
}

const fn max_results() -> usize {
    20
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_max_results(value: &usize) -> bool {
    *value == max_results()
}

/// The result of [`SearchCode`].
#[derive(Debug, Serialize)]
pub struct SearchCodeResult {
    /// The snippets, those of one file next to each other.
    snippets: Vec<String>,
    /// How many matches are in them.
    count: usize,
    /// How many matches there are in all.
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

impl TypedTool for SearchCode {
    type Args = SearchCodeArgs;
    type Output = SearchCodeResult;

    const NAME: &'static str = "search_code";
    const DESCRIPTION: &'static str = "Find where a text, such as a name, stands in the code. Gives \
        snippets with the lines around each match, with the full path and the line numbers; files \
        that seem to define the name come first. For all matching lines, use grep.";
    const EFFECTS: Effects = Effects::READ;
    const GIVES_SNIPPETS: bool = true;

    fn plan(&self, _context: &CallContext, _args: &SearchCodeArgs) -> Result<Plan, ToolError> {
        // It leaves out itself what may not be read.
        Ok(Plan::default())
    }

    async fn run(
        &self,
        context: &CallContext,
        args: SearchCodeArgs,
    ) -> Result<SearchCodeResult, ToolError> {
        let query = query(&args);
        let prepare = {
            let (call, args, query) = (context.clone(), args.clone(), query.clone());
            move || {
                let matcher = query.matcher()?;
                let glob = filter(&args.options)?;
                let (place, kind) = start(&call, &args.path)?;
                let rules = IgnoreRules::above(&place);
                Ok((matcher, glob, place, kind, rules))
            }
        };
        let call = context.clone();
        let search = move |prepared, stop: &Stop| {
            let (matcher, glob, place, kind, rules): (_, Option<start::PathGlob>, _, _, _) =
                prepared;
            let (word, definition) = (ranking(&query, r"\b"), ranking(&query, DEFINING));
            let is_match = |matcher: &Option<RegexMatcher>, line: &[u8]| {
                let found = matcher.as_ref().map(|matcher| matcher.is_match(line));
                u64::from(matches!(found, Some(Ok(true))))
            };
            let search = Search {
                context: &call,
                place: &place,
                kind,
                query: &query,
                matcher: &matcher,
                glob: glob.as_ref(),
                hidden: false,
                only_whether: false,
                rank: &|line| Worth {
                    definitions: is_match(&definition, line),
                    words: is_match(&word, line),
                },
                stop,
            };
            Ok(found(&args, &search, rules))
        };
        confined(context, prepare, search).await
    }

    fn preview(&self, result: &ToolResult, max_lines: usize) -> Vec<String> {
        preview_list(result, "snippets", ["match", "matches"], max_lines)
    }
}

fn query(args: &SearchCodeArgs) -> Query {
    let has_capital = args.query.chars().any(char::is_uppercase);
    Query {
        text: args.query.clone(),
        literal: !args.options.regex,
        case_sensitive: args.options.case_sensitive.unwrap_or(has_capital),
        multiline: args.query.contains('\n'),
        remedy: "To search for the text as it stands, leave out the option regex.",
    }
}

fn filter(options: &SearchCodeOptions) -> Result<Option<start::PathGlob>, ToolError> {
    if let Some(glob) = &options.glob {
        if !options.file_types.is_empty() {
            return Err(
                ToolError::validation("Both glob and file_types are given").suggest(
                    "Give one of them: a glob can name types, too, as in \"src/**/*.{rs,toml}\".",
                ),
            );
        }
        return start::PathGlob::filter(glob).map(Some);
    }
    if options.file_types.is_empty() {
        return Ok(None);
    }
    let types = options.file_types.iter();
    let types: Vec<&str> = types
        .map(|kind| kind.trim_start_matches(['*', '.']))
        .collect();
    start::PathGlob::filter(&format!("*.{{{}}}", types.join(","))).map(Some)
}

/// A matcher of the query as a word of its own behind `before`. Without one,
/// nothing is ranked by it.
fn ranking(query: &Query, before: &str) -> Option<RegexMatcher> {
    let inner = if query.literal {
        escaped(&query.text)
    } else {
        format!("(?:{})", query.text)
    };
    RegexMatcherBuilder::new()
        .case_insensitive(!query.case_sensitive)
        .build(&format!(r"{before}{inner}\b"))
        .ok()
}

/// The text as a regular expression that matches just this text.
fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        // A backslash before `<` and `>` would make them boundaries of words.
        if c.is_ascii_punctuation() && !"_<>".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

fn found(args: &SearchCodeArgs, search: &Search<'_>, rules: IgnoreRules) -> SearchCodeResult {
    let counted = search.count(rules);
    let files = ranked(&counted);
    let (snippets, count) = page(args, search, &counted, &files);
    let total: u64 = files.iter().map(|file| file.count).sum();
    let shown: usize = files.iter().map(|file| of_file(file)).sum();
    let behind = args.offset.saturating_add(count);
    let next = (behind < shown && count > 0).then(|| {
        let defaults = defaults_of(&[("query", &args.query)]);
        let defaults = defaults.as_ref().unwrap_or(args);
        next_call(SearchCode::NAME, args, defaults, &["query"], behind)
    });
    let mut notes = Vec::new();
    if !counted.is_complete {
        notes.push(format!(
            "The time was up: there are at least {total} matches."
        ));
    }
    if total == 0 {
        let outcome = WalkOutcome {
            tally: &counted.tally,
            is_complete: true,
            hint: format!("No match in {} files.", counted.tally.files),
        };
        notes.push(outcome.nothing());
    } else if count == 0 {
        notes.push(format!(
            "The offset lies behind the end: {shown} matches are shown in all."
        ));
    }
    if (shown as u64) < total {
        notes.push(all_of_them(args));
    }
    SearchCodeResult {
        snippets,
        count,
        total,
        total_files: counted.files.len(),
        next,
        note: (!notes.is_empty()).then(|| notes.join(" ")),
        skipped: counted.tally.skipped(),
    }
}

/// The files, those that are worth most first.
fn ranked(counted: &Counted) -> Vec<&Matched> {
    let mut files: Vec<&Matched> = counted.files.iter().collect();
    files.sort_by_key(|file| {
        let Worth { definitions, words } = file.worth;
        (
            Reverse(definitions.min(1)),
            Reverse(words),
            Reverse(file.count),
        )
    });
    files
}

/// How many matches of a file are shown, on all pages together.
fn of_file(file: &Matched) -> usize {
    usize::try_from(file.count).map_or(PER_FILE, |count| count.min(PER_FILE))
}

/// The snippets of a page, and how many matches are in them.
fn page(
    args: &SearchCodeArgs,
    search: &Search<'_>,
    counted: &Counted,
    files: &[&Matched],
) -> (Vec<String>, usize) {
    let max = args.options.max_results;
    let (mut snippets, mut count, mut room) = (Vec::new(), 0, MAX_PAGE);
    let mut skip = args.offset;
    for file in files {
        let shown = of_file(file);
        if skip >= shown {
            skip -= shown;
            continue;
        }
        if count >= max || room == 0 {
            break;
        }
        let take = (shown - skip).min(max - count);
        let window = Window { skip, take, room };
        skip = 0;
        let Ok(excerpt) = search.excerpt(counted, &file.path, window, AROUND) else {
            continue;
        };
        let shown = search.snippets(&file.path, &excerpt.lines);
        let size: usize = shown.iter().map(String::len).sum();
        if size > room && !snippets.is_empty() {
            break;
        }
        search.note_read(&file.path, &excerpt);
        room = room.saturating_sub(size);
        count += excerpt.taken;
        snippets.extend(shown);
    }
    (snippets, count)
}

/// The call that shows the matches that are on no page.
fn all_of_them(args: &SearchCodeArgs) -> String {
    let literal = if args.options.regex {
        ""
    } else {
        ", literal=true"
    };
    let pattern = serde_json::to_string(&args.query).unwrap_or_default();
    format!(
        "At most {PER_FILE} matches of a file are shown. For all of them: \
         grep(pattern={pattern}{literal})"
    )
}
