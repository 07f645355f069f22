//! The code snippet format: code together with its file and lines.
//!
//! ```text
//! <code="/home/ana/app/src/main.rs" #1:3>
//! fn main() {
//!     println!("hello");
//! }
//! </code>
//! ```
//!
//! The lines count from one and both are included. The header decides where a
//! snippet ends: `</code>` closes it only behind the number of lines that the
//! header promises, so code may hold `</code>` itself. Where that fails, the
//! first `</code>` closes, and [`Found::problems`] says so.
//!
//! A path is written as it is, except for `"` and line breaks, which become
//! `%22`, `%0A` and `%0D` (and a `%` that would look like one of them `%25`).

use std::fmt;

use memchr::memmem;

use crate::Span;

const OPEN: &str = "<code=\"";
const CLOSE: &str = "</code>";

/// The instructions for a model that explain the format.
pub const INSTRUCTIONS: &str = "\
When you show code from a file, write the full path and the line numbers (first:last) like this:
<code=\"/home/ana/app/src/main.rs\" #1:3>
fn main() {
    println!(\"hello\");
}
</code>";

/// A snippet: some lines of a file.
///
/// ```
/// use ptk_protocol::snippet::{self, Snippet};
///
/// let snippet = Snippet::new("/app/a.html", 7, "<code>\n</code>");
/// let text = snippet.to_string();
/// assert_eq!(text, "<code=\"/app/a.html\" #7:8>\n<code>\n</code>\n</code>");
/// assert_eq!(snippet::read(&text)[0].snippet, snippet);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    /// The file's absolute path.
    pub path: String,
    /// The number of the first line, counted from one.
    pub start: u64,
    /// The lines, without the line break behind the last.
    pub code: String,
}

impl Snippet {
    /// Lines of a file from the line numbered `start`.
    pub fn new(path: impl Into<String>, start: u64, code: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            start,
            code: code.into(),
        }
    }

    /// The number of the last line.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.start.saturating_add(line_breaks(&self.code))
    }

    /// Checks the snippet before it is written.
    #[must_use]
    pub fn check(&self) -> Vec<SnippetProblem> {
        let mut problems = Vec::new();
        if !is_absolute(&self.path) {
            problems.push(SnippetProblem::RelativePath);
        }
        if self.start == 0 {
            problems.push(SnippetProblem::LineZero);
        }
        problems
    }
}

impl fmt::Display for Snippet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = encode(&self.path);
        let (start, end) = (self.start, self.end());
        write!(f, "{OPEN}{path}\" #{start}:{end}>\n{}\n{CLOSE}", self.code)
    }
}

/// A snippet found in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The snippet, with the code that stands there.
    pub snippet: Snippet,
    /// The last line's number as the header has it.
    pub stated_end: u64,
    /// The span of the snippet, tags included.
    pub span: Span,
    /// The problems of the snippet.
    pub problems: Vec<SnippetProblem>,
}

/// A problem of a snippet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SnippetProblem {
    /// The path is relative.
    #[error("the path is relative; write the absolute path")]
    RelativePath,
    /// A line number is zero; lines count from one.
    #[error("line 0 does not exist; lines count from 1")]
    LineZero,
    /// The last line comes before the first.
    #[error("the last line {end} comes before the first line {start}")]
    EndBeforeStart {
        /// The first line.
        start: u64,
        /// The last line.
        end: u64,
    },
    /// The header gives another number of lines.
    #[error("the header says {stated} lines, but there are {found}")]
    LineCount {
        /// The number of lines that the header gives.
        stated: u64,
        /// The number of lines that were counted.
        found: u64,
    },
    /// The snippet is not closed.
    #[error("`</code>` is missing")]
    MissingClose,
}

/// All snippets of a text, in order.
#[must_use]
pub fn read(text: &str) -> Vec<Found> {
    let breaks: Vec<usize> = memchr::memchr_iter(b'\n', text.as_bytes()).collect();
    let reader = SnippetReader { text, breaks };
    let mut found = Vec::new();
    let mut at = 0;
    let mut closes = true;
    while let Some(start) = find(text, at, OPEN) {
        at = match reader.header(start) {
            Some(header) => {
                let snippet = reader.body(start, &header, &mut closes);
                let end = snippet.span.end;
                found.push(snippet);
                end
            }
            None => start + OPEN.len(),
        };
    }
    found
}

struct Header {
    path: String,
    start: u64,
    end: u64,
    /// Offset behind the `>`.
    behind: usize,
}

struct SnippetReader<'t> {
    text: &'t str,
    /// Offsets of the line breaks, so that a header promising a million lines
    /// costs no more than one promising two.
    breaks: Vec<usize>,
}

impl SnippetReader<'_> {
    fn header(&self, at: usize) -> Option<Header> {
        let content = self.text.get(at + OPEN.len()..)?;
        let line = content.split('\n').next()?;
        let (path, numbers) = line.split_once('"')?;
        let numbers = numbers.trim_start_matches(' ').strip_prefix('#')?;
        let (start, rest) = digits(numbers)?;
        let (end, rest) = digits(rest.strip_prefix(':')?)?;
        let rest = rest.trim_start_matches(' ').strip_prefix('>')?;
        Some(Header {
            path: decode(path),
            start,
            end,
            behind: at + OPEN.len() + line.len() - rest.len(),
        })
    }

    fn body(&self, at: usize, header: &Header, closes: &mut bool) -> Found {
        let stated = header
            .end
            .checked_sub(header.start)
            .map(|lines| lines.saturating_add(1));
        let after = self.text.get(header.behind..).unwrap_or_default();
        let line_break = ["\n", "\r\n"].iter().find(|line| after.starts_with(**line));
        let code_start = header.behind + line_break.map_or(0, |line| line.len());
        let promised = stated.and_then(|lines| {
            if line_break.is_some() {
                self.close_behind(code_start, lines)
            } else {
                self.close_in_line(code_start, lines)
            }
        });
        let mut problems = Vec::new();
        let (code, end) = promised.unwrap_or_else(|| {
            let close = if *closes {
                find(self.text, code_start, CLOSE)
            } else {
                None
            };
            if let Some(close) = close {
                let code = self.text.get(code_start..close).unwrap_or_default();
                let code = if line_break.is_some() {
                    strip_line_break(code)
                } else {
                    code
                };
                (code, close + CLOSE.len())
            } else {
                *closes = false;
                problems.push(SnippetProblem::MissingClose);
                let end = find(self.text, code_start, OPEN).unwrap_or(self.text.len());
                let code = self.text.get(code_start..end).unwrap_or_default();
                (strip_line_break(code), end)
            }
        });
        let snippet = Snippet::new(header.path.clone(), header.start, code);
        problems.extend(snippet.check());
        let found = line_breaks(code).saturating_add(1);
        match stated {
            None => problems.push(SnippetProblem::EndBeforeStart {
                start: header.start,
                end: header.end,
            }),
            Some(stated) if stated != found => {
                problems.push(SnippetProblem::LineCount { stated, found });
            }
            Some(_) => {}
        }
        Found {
            snippet,
            stated_end: header.end,
            span: Span::new(at, end),
            problems,
        }
    }

    /// The code and the end of the snippet, if the closing tag stands on the
    /// line behind the promised lines.
    fn close_behind(&self, code_start: usize, lines: u64) -> Option<(&str, usize)> {
        let end = self.line_break(code_start, lines.checked_sub(1)?)?;
        let behind = self.text.get(end + 1..)?;
        let code = self.text.get(code_start..end)?;
        behind
            .starts_with(CLOSE)
            .then_some((code, end + 1 + CLOSE.len()))
    }

    /// The code and the end of a snippet in the one-line form, where code
    /// begins behind the header and the closing tag ends the last line.
    fn close_in_line(&self, code_start: usize, lines: u64) -> Option<(&str, usize)> {
        let last_line = match lines.checked_sub(2) {
            None => code_start,
            Some(breaks) => self.line_break(code_start, breaks)? + 1,
        };
        let line = self.text.get(last_line..)?.split('\n').next()?;
        let close = last_line + line.find(CLOSE)?;
        let code = self.text.get(code_start..close)?;
        Some((code, close + CLOSE.len()))
    }

    /// The offset of the `n`th line break at or behind `from`, counted from zero.
    fn line_break(&self, from: usize, n: u64) -> Option<usize> {
        let first = self.breaks.partition_point(|&at| at < from);
        let index = first.checked_add(usize::try_from(n).ok()?)?;
        self.breaks.get(index).copied()
    }
}

fn find(text: &str, from: usize, what: &str) -> Option<usize> {
    let rest = text.as_bytes().get(from..)?;
    memmem::find(rest, what.as_bytes()).map(|at| from + at)
}

fn digits(text: &str) -> Option<(u64, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    Some((digits.parse().ok()?, rest))
}

fn line_breaks(code: &str) -> u64 {
    memchr::memchr_iter(b'\n', code.as_bytes()).count() as u64
}

fn strip_line_break(code: &str) -> &str {
    let code = code.strip_suffix('\n').unwrap_or(code);
    code.strip_suffix('\r').unwrap_or(code)
}

fn is_absolute(path: &str) -> bool {
    let mut chars = path.chars();
    let drive = chars.next().is_some_and(|c| c.is_ascii_alphabetic())
        && chars.next() == Some(':')
        && matches!(chars.next(), Some('/' | '\\'));
    drive || path.starts_with('/') || path.starts_with(r"\\")
}

const ESCAPES: [(&str, char); 4] = [("%22", '"'), ("%0A", '\n'), ("%0D", '\r'), ("%25", '%')];

fn encode(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for (at, c) in path.char_indices() {
        let rest = path.get(at..).unwrap_or_default();
        let needed = c != '%' || ESCAPES.iter().any(|(escape, _)| rest.starts_with(escape));
        match ESCAPES.iter().find(|(_, escaped)| *escaped == c) {
            Some((escape, _)) if needed => out.push_str(escape),
            _ => out.push(c),
        }
    }
    out
}

fn decode(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(c) = rest.chars().next() {
        let escape = ESCAPES.iter().find(|(escape, _)| rest.starts_with(escape));
        let (c, length) = escape.map_or((c, c.len_utf8()), |(escape, c)| (*c, escape.len()));
        out.push(c);
        rest = rest.get(length..).unwrap_or_default();
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The header line, the code, the closing tag on its own line.
    #[test]
    fn a_snippet_is_written_with_its_lines() {
        let snippet = Snippet::new("/src/lib.rs", 123, "a\nb");
        assert_eq!(
            snippet.to_string(),
            "<code=\"/src/lib.rs\" #123:124>\na\nb\n</code>"
        );
    }

    #[test]
    fn several_snippets_are_found_with_their_spans() {
        let text = "See <code=\"/a.rs\" #1:1>x</code> and\n<code=\"/b.rs\" #5:6>\ny\nz\n</code>.";
        let found = read(text);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].snippet, Snippet::new("/a.rs", 1, "x"));
        assert_eq!(found[1].snippet, Snippet::new("/b.rs", 5, "y\nz"));
        assert_eq!(
            text.get(found[1].span.start..found[1].span.end),
            Some(found[1].snippet.to_string().as_str())
        );
        assert!(found.iter().all(|found| found.problems.is_empty()));
    }

    #[test]
    fn what_is_wrong_with_a_snippet_is_said() {
        for (text, code, problems) in [
            (
                "<code=\"src/a.rs\" #1:1>\nx\n</code>",
                "x",
                vec![SnippetProblem::RelativePath],
            ),
            (
                "<code=\"/a.rs\" #5:2>\nx\n</code>",
                "x",
                vec![SnippetProblem::EndBeforeStart { start: 5, end: 2 }],
            ),
            (
                "<code=\"/a.rs\" #1:9>\nx\ny\n</code> more",
                "x\ny",
                vec![SnippetProblem::LineCount {
                    stated: 9,
                    found: 2,
                }],
            ),
            (
                "<code=\"C:\\a.rs\" #1:2>\nx\ny",
                "x\ny",
                vec![SnippetProblem::MissingClose],
            ),
            (
                "<code=\"/a.rs\" #0:0>\nx\n</code>",
                "x",
                vec![SnippetProblem::LineZero],
            ),
        ] {
            let found = read(text);
            assert_eq!(found[0].snippet.code, code, "{text}");
            assert_eq!(found[0].problems, problems, "{text}");
        }
    }

    #[test]
    fn what_is_no_header_is_no_snippet() {
        for text in [
            "<code>",
            "<code=\"/a\">x</code>",
            "<code=\"/a\" #1>x</code>",
            "<code=\"",
            "",
        ] {
            assert_eq!(read(text), [], "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            path in "/[a-z%0-9AD\"\n\r ]{0,12}",
            start in 1..u64::from(u32::MAX),
            pieces in prop::collection::vec(
                prop::sample::select(vec!["</code>", "<code=\"/x\" #1:2>", "\n", "\r", "a", "é", "\""]),
                0..12,
            ),
            before in "[a-z\n<]{0,6}",
        ) {
            let snippet = Snippet::new(path, start, pieces.concat());
            let text = format!("{before}{snippet}\nafter</code>");
            let found = read(&text);
            prop_assert_eq!(found.len(), 1);
            prop_assert_eq!(&found[0].snippet, &snippet);
            prop_assert_eq!(&found[0].problems, &vec![]);
            prop_assert_eq!(found[0].span, Span::new(before.len(), text.len() - "\nafter</code>".len()));
        }

        #[test]
        fn any_text_can_be_read(text in "(<code=\"|\" #|[0-9:]{1,3}|>|\n|</code>|[a-z/]){0,20}") {
            for found in read(&text) {
                prop_assert!(text.get(found.span.start..found.span.end).is_some());
            }
        }
    }
}
