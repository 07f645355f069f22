//! `ptk search`: finds code by words and by meaning.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, anyhow};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use ptk_sandbox::Workspace;
use ptk_search::words::{Stemming, Words};
use ptk_search::{Filter, Hit, IndexError, Query, SearchError, State, Which};

use super::index::update;
use crate::args::{OnlyBy, SearchArgs};
use crate::exit::{self, Exit};
use crate::long::Long;
use crate::printer::{self, AnsiColor, Style};
use crate::view::clean::in_line;
use crate::{code, config};

const PATH: Style = AnsiColor::Cyan.on_default().bold();
const NAME: Style = Style::new().bold();
const FOUND: Style = AnsiColor::Green.on_default().bold();
const FAINT: Style = Style::new().dimmed();
/// The most lines of a result that are shown.
const MAX_LINES: usize = 8;
/// Why a text without words finds nothing.
const NO_WORDS: &str = ": there is no word in it. Signs and single digits are not searched for; \
    grep finds them.";
/// The characters that are escaped in the address of a file.
const IN_ADDRESS: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'`')
    .add(b'{')
    .add(b'}');

pub(crate) fn run(args: &SearchArgs, out: &mut impl Write) -> Result<Exit> {
    let query = query(args)?;
    let folder = config::workspace_folder(&args.config);
    let index = code::index(&Workspace::open(&folder)?)?;
    if !args.no_update {
        let long = Long::begin()?;
        match update(&index, &long) {
            Ok(report) if report.is_cancelled => return Ok(Exit::Interrupted),
            Ok(_) => {}
            Err(error) => {
                // While another process updates the index, it is searched as it
                // is.
                let is_busy = matches!(error.downcast_ref(), Some(IndexError::Busy { .. }));
                if !(is_busy && index.exists()) {
                    return Err(error);
                }
                writeln!(printer::stderr(), "{error}; this is what it was before.")?;
            }
        }
    }
    let searcher = index.searcher()?;
    let hits = searcher.search(&query).map_err(|error| match error {
        SearchError::Glob { .. } => exit::wrong_usage(error.to_string()),
        error => anyhow!(error),
    })?;
    let is_terminal = printer::is_stdout_terminal();
    let shown = SearchRow {
        root: index.workspace().root().to_owned(),
        words: Words::new(Stemming::Off).list(&query.text),
        has_links: is_terminal && std::env::var_os("TERM").is_some_and(|term| term != "dumb"),
    };
    for (number, hit) in hits.iter().enumerate() {
        if args.json {
            writeln!(out, "{}", serde_json::to_string(hit)?)?;
        } else {
            if number > 0 {
                writeln!(out)?;
            }
            write!(out, "{}", shown.text(hit))?;
        }
    }
    out.flush()?;
    if hits.is_empty() {
        let why = if shown.words.is_empty() && query.which != Which::Dense {
            NO_WORDS
        } else {
            "."
        };
        writeln!(printer::stderr(), "Nothing was found{why}")?;
    }
    if query.which != Which::Lexical
        && let Some(note) = code::note(searcher.meaning())
    {
        writeln!(printer::stderr(), "{note}")?;
    }
    Ok(Exit::Success)
}

fn query(args: &SearchArgs) -> Result<Query> {
    let text = args.query.join(" ");
    if text.trim().is_empty() {
        return Err(exit::wrong_usage("there is nothing to search for"));
    }
    Ok(Query {
        top: args.top.get(),
        filter: Filter {
            paths: args.path.clone(),
            languages: args.language.clone(),
            kinds: args.kind.clone(),
            symbols: args.symbol.clone(),
        },
        which: match args.only {
            None => Which::Both,
            Some(OnlyBy::Bm25) => Which::Lexical,
            Some(OnlyBy::Dense) => Which::Dense,
        },
        diversify: args.diverse,
        ..Query::new(text)
    })
}

/// Shows results as text.
struct SearchRow {
    root: PathBuf,
    /// The words of the query.
    words: Vec<String>,
    has_links: bool,
}

impl SearchRow {
    fn text(&self, hit: &Hit) -> String {
        let place = format!(
            "{}:{}-{}",
            in_line(&hit.path),
            hit.lines.first,
            hit.lines.last
        );
        let place = format!("{PATH}{}{PATH:#}", self.link(hit, &place));
        let symbol = hit.symbol.as_deref().map(in_line).unwrap_or_default();
        let about = match (hit.scope.as_str(), hit.language.name()) {
            ("", language) => format!("{language} {}", hit.kind),
            (scope, language) => format!("{language} {} in {}", hit.kind, in_line(scope)),
        };
        let state = match hit.state {
            State::Current => "",
            State::Changed => ", changed since",
            State::Gone => ", gone since",
        };
        let mut text = format!("{place}  {NAME}{symbol}{NAME:#}  {FAINT}{about}{state}{FAINT:#}\n");
        let lines: Vec<&str> = hit.text.lines().collect();
        let width = hit.lines.last.to_string().len();
        for (number, line) in (hit.lines.first..).zip(&lines).take(MAX_LINES) {
            let line = self.marked(&in_line(line));
            let line = format!("{FAINT}{number:>width$}{FAINT:#}  {line}");
            text.push_str(line.trim_end());
            text.push('\n');
        }
        if let Some(more) = lines.len().checked_sub(MAX_LINES).filter(|more| *more > 0) {
            let lines = if more == 1 { "line" } else { "lines" };
            text.push_str(&format!(
                "{:width$}  {FAINT}… {more} more {lines}{FAINT:#}\n",
                ""
            ));
        }
        text
    }

    /// A text that links to the file, in terminals that support it.
    fn link(&self, hit: &Hit, text: &str) -> String {
        if !self.has_links {
            return text.to_owned();
        }
        let path = self.root.join(&hit.path);
        let path = path.to_string_lossy();
        let path = utf8_percent_encode(&path, IN_ADDRESS);
        let line = hit.lines.first;
        printer::link(&format!("file://{path}#L{line}"), text)
    }

    /// A line with the query's words highlighted.
    fn marked(&self, line: &str) -> String {
        let lower = line.to_lowercase();
        // If lower case changes the length, the offsets would not match.
        if lower.len() != line.len() {
            return line.to_owned();
        }
        let mut is_found = vec![false; line.len()];
        for word in &self.words {
            for (at, _) in lower.match_indices(word.as_str()) {
                is_found
                    .iter_mut()
                    .skip(at)
                    .take(word.len())
                    .for_each(|it| *it = true);
            }
        }
        let mut text = String::new();
        let mut was_found = false;
        for ((_, letter), found) in line.char_indices().zip(
            line.char_indices()
                .map(|(at, _)| is_found.get(at).copied().unwrap_or_default()),
        ) {
            match (was_found, found) {
                (false, true) => text.push_str(&format!("{FOUND}")),
                (true, false) => text.push_str(&format!("{FOUND:#}")),
                _ => {}
            }
            was_found = found;
            text.push(letter);
        }
        if was_found {
            text.push_str(&format!("{FOUND:#}"));
        }
        text
    }
}
