//! `ptk parse --explain`: a reply piece by piece, with the reason why each was
//! taken for what it is.

use std::fmt;
use std::ops::Range;

use anyhow::Result;
use ptk_protocol::parse::{Decision, Note};
use ptk_protocol::{ParsedCall, Piece, Problem, Reply, Span, SpanKind, Status};

use crate::engine::{self, Request};
use crate::printer::{self, AnsiColor, Style};

/// The most characters that are shown of a piece.
const EXCERPT: usize = 60;
/// The most characters that are shown of a call's arguments.
const ARGUMENTS: usize = 200;
/// The indentation of reasons, below the excerpt of their piece.
const INDENT: &str = "                  ";

/// The styles of kinds and positions.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Palette {
    position: Style,
    call: Style,
    mark: Style,
    reasoning: Style,
    problem: Style,
    hint: Style,
}

impl Palette {
    /// Colours where stdout is a terminal and `NO_COLOR` does not forbid it.
    pub(crate) fn of_stdout() -> Self {
        if printer::has_colours() {
            Self::colours()
        } else {
            Self::default()
        }
    }

    fn colours() -> Self {
        Self {
            position: Style::new().dimmed(),
            call: AnsiColor::Green.on_default().bold(),
            mark: AnsiColor::Cyan.on_default(),
            reasoning: AnsiColor::Magenta.on_default(),
            problem: AnsiColor::Red.on_default().bold(),
            hint: AnsiColor::Yellow.on_default().bold(),
        }
    }

    fn of(&self, kind: SpanKind) -> Style {
        match kind {
            SpanKind::Text => Style::new(),
            SpanKind::Reasoning => self.reasoning,
            SpanKind::Call => self.call,
            SpanKind::Mark => self.mark,
            SpanKind::Problem => self.problem,
        }
    }
}

/// Explains a reply.
pub(crate) fn report(request: &Request<'_>, palette: Palette) -> Result<String> {
    let (reply, notes) = engine::explain(request)?;
    let mut report = ExplainReport {
        places: Places::new(request.text),
        palette,
        lines: String::new(),
    };
    let last = reply.pieces.len().saturating_sub(1);
    for (index, piece) in reply.pieces.iter().enumerate() {
        let is_last = index == last;
        report.piece(request.text, piece, &reply, &notes, is_last);
    }
    report.line(&summary(&reply));
    if reply.calls.is_empty() {
        for hint in hints(request, &reply, &notes, &mut report.places)? {
            let style = palette.hint;
            report.line(&format!("{style}hint:{style:#} {hint}"));
        }
    }
    Ok(report.lines)
}

struct ExplainReport<'t> {
    places: Places<'t>,
    palette: Palette,
    lines: String,
}

impl ExplainReport<'_> {
    fn line(&mut self, line: &str) {
        self.lines.push_str(line);
        self.lines.push('\n');
    }

    fn piece(&mut self, text: &str, piece: &Piece, reply: &Reply, notes: &[Note], is_last: bool) {
        let position = self.places.of(piece.start).to_string();
        let (dim, style) = (self.palette.position, self.palette.of(piece.kind));
        let excerpt = excerpt(text.get(piece.start..piece.end).unwrap_or(""), EXCERPT);
        let kind = kind(piece.kind);
        self.line(&format!(
            "{dim}{position:<7}{dim:#} {style}{kind:<9}{style:#} \"{excerpt}\""
        ));
        let end = if is_last { usize::MAX } else { piece.end };
        let notes = within(notes, piece.start..end, |note| note.span);
        let calls = within(&reply.calls, piece.start..end, |call| call.span);
        let problems = within(&reply.problems, piece.start..end, |problem| problem.span);
        for note in notes {
            self.reason(piece, note.span.start, &note.decision.to_string());
        }
        for call in calls {
            self.call(call);
        }
        for problem in problems {
            self.problem(problem);
        }
        if notes.is_empty() && calls.is_empty() && problems.is_empty() {
            let reason = match piece.kind {
                SpanKind::Text => "no mark in it",
                SpanKind::Reasoning => "between the marks of reasoning",
                SpanKind::Call | SpanKind::Mark | SpanKind::Problem => "part of the call beside it",
            };
            self.reason(piece, piece.start, reason);
        }
    }

    /// Adds a reason, with its position if that is not the piece's own.
    fn reason(&mut self, piece: &Piece, at: usize, reason: &str) {
        let dim = self.palette.position;
        let position = if at == piece.start {
            String::new()
        } else {
            format!("{dim}{}{dim:#} ", self.places.of(at))
        };
        self.line(&format!("{INDENT}{position}{reason}"));
    }

    fn call(&mut self, call: &ParsedCall) {
        let style = self.palette.call;
        let args = excerpt(&call.call.args.to_json(), ARGUMENTS);
        let name = excerpt(&call.call.name, EXCERPT);
        self.line(&format!("{INDENT}{style}{name}{style:#} {args}"));
        let may_run = if call.is_runnable() {
            "may run"
        } else {
            "must not run"
        };
        let (status, dialect) = (status(call.status), &call.dialect);
        self.line(&format!(
            "{INDENT}{status}, written as {dialect}, {may_run}"
        ));
        for problem in &call.problems {
            self.problem(problem);
        }
    }

    fn problem(&mut self, problem: &Problem) {
        let position = self.places.of(problem.span.start);
        let (style, weight) = if problem.is_fault() {
            (self.palette.problem, "fault")
        } else {
            (self.palette.hint, "note")
        };
        let (dim, code) = (self.palette.position, problem.code);
        let message = excerpt(&problem.message, ARGUMENTS);
        self.line(&format!(
            "{INDENT}{style}{weight}{style:#} {code} at {dim}{position}{dim:#}: {message}"
        ));
    }
}

/// The items that start in the range; they are in the order of the reply.
fn within<T>(items: &[T], range: Range<usize>, span: fn(&T) -> Span) -> &[T] {
    let start = items.partition_point(|item| span(item).start < range.start);
    let end = items.partition_point(|item| span(item).start < range.end);
    items.get(start..end).unwrap_or_default()
}

fn kind(kind: SpanKind) -> &'static str {
    match kind {
        SpanKind::Text => "text",
        SpanKind::Reasoning => "reasoning",
        SpanKind::Call => "call",
        SpanKind::Mark => "mark",
        SpanKind::Problem => "problem",
    }
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Complete => "complete",
        Status::Repaired => "repaired",
        Status::Truncated => "truncated",
    }
}

fn summary(reply: &Reply) -> String {
    let count = |count: usize, one: &str, many: &str| match count {
        0 => format!("no {many}"),
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    };
    let mut parts = vec![count(reply.calls.len(), "call", "calls")];
    if !reply.calls.is_empty() {
        parts.push(format!("{} may run", reply.runnable().count()));
    }
    let unreadable = reply.problems.iter().filter(|p| p.is_fault()).count();
    if unreadable > 0 {
        parts.push(format!("{unreadable} unreadable"));
    }
    parts.join(", ")
}

/// What to do if nothing was called although a call may have been intended.
fn hints(
    request: &Request<'_>,
    reply: &Reply,
    notes: &[Note],
    places: &mut Places<'_>,
) -> Result<Vec<String>> {
    let mut hints = Vec::new();
    if request.dialect != "auto" {
        let auto = Request {
            dialect: "auto",
            ..*request
        };
        if let Some(call) = engine::explain(&auto)?.0.calls.first() {
            hints.push(format!(
                "a call of {} is written as {}; pass --dialect {} or --dialect auto",
                excerpt(&call.call.name, EXCERPT),
                call.dialect,
                call.dialect
            ));
        }
    }
    let has = |test: fn(&Decision) -> bool| notes.iter().any(|note| test(&note.decision));
    if has(|decision| matches!(decision, Decision::Quoted(_))) {
        hints.push(
            "what is quoted is not called; tell the model to write its calls without backticks, \
             quotation marks or fences"
                .to_owned(),
        );
    }
    if has(|decision| matches!(decision, Decision::Draft(_) | Decision::NoDraft)) {
        hints.push(
            "a call in the reasoning counts only if it is whole and nothing follows the reasoning"
                .to_owned(),
        );
    }
    match request.tools {
        None => hints.push(
            "no tools are declared; pass --tool-defs FILE, and calls without marks are read too"
                .to_owned(),
        ),
        Some(tools) => {
            let named = tools
                .names()
                .filter_map(|name| Some((request.text.find(name)?, name)))
                .min();
            if let (true, Some((at, name))) = (hints.is_empty(), named) {
                hints.push(format!(
                    "{name} is named at {}, in no form of call that is known; if the model calls \
                     so, declare its dialect in ptk.toml",
                    places.of(at)
                ));
            }
        }
    }
    let is_mark = |decision: &Decision| matches!(decision, Decision::NoCall | Decision::Stray);
    if hints.is_empty() && (has(is_mark) || !reply.problems.is_empty()) {
        hints.push(
            "a mark stands in the text, but no call that can be read; the reasons above say why"
                .to_owned(),
        );
    }
    Ok(hints)
}

/// The beginning of a text on one line, control characters shown.
fn excerpt(text: &str, most: usize) -> String {
    let mut shown = String::new();
    for (count, c) in text.chars().enumerate() {
        if count == most {
            shown.push('…');
            break;
        }
        if c.is_control() || is_invisible(c) {
            shown.extend(c.escape_debug());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Characters that are not visible, some of which change the text direction.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// A position for the user: line and column, counted from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Position {
    line: usize,
    column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Converts offsets to positions. It continues from the last one, so that a
/// long reply is not scanned again for every piece.
#[derive(Debug)]
struct Places<'t> {
    text: &'t str,
    at: usize,
    position: Position,
}

impl<'t> Places<'t> {
    fn new(text: &'t str) -> Self {
        let position = Position { line: 1, column: 1 };
        Self {
            text,
            at: 0,
            position,
        }
    }

    fn of(&mut self, offset: usize) -> Position {
        if offset < self.at {
            *self = Self::new(self.text);
        }
        for c in self.text.get(self.at..offset).unwrap_or("").chars() {
            if c == '\n' {
                self.position.line += 1;
                self.position.column = 1;
            } else {
                self.position.column += 1;
            }
        }
        self.at = offset;
        self.position
    }
}

#[cfg(test)]
mod tests {
    use ptk_protocol::dialects::Registry;

    use super::*;

    fn report_on(text: &str, palette: Palette) -> String {
        let request = Request {
            text,
            chunks: None,
            starts_in_reasoning: false,
            tools: None,
            dialect: "auto",
            registry: &Registry::builtin(),
        };
        report(&request, palette).unwrap()
    }

    #[test]
    fn places_count_lines_and_characters_in_any_order() {
        let mut places = Places::new("äb\nc\n");
        let position = |line, column| Position { line, column };
        assert_eq!(places.of(3), position(1, 3));
        assert_eq!(places.of(4), position(2, 1));
        assert_eq!(places.of(6), position(3, 1));
        assert_eq!(places.of(2), position(1, 2));
    }

    #[test]
    fn an_excerpt_is_short_and_shows_what_cannot_be_seen() {
        assert_eq!(
            excerpt("a\n\t\u{1b}[1m\u{202e}", 60),
            "a\\n\\t\\u{1b}[1m\\u{202e}"
        );
        assert_eq!(excerpt("äöü", 2), "äö…");
        assert_eq!(excerpt("äö", 2), "äö");
    }

    #[test]
    fn colours_change_nothing_but_the_looks() {
        let text = "<PTK_CALL>{\"tool\": \"f\", \"args\": {}}</PTK_CALL> `x`";
        let plain = report_on(text, Palette::default());
        let coloured = report_on(text, Palette::colours());
        assert!(!plain.contains('\u{1b}') && printer::ansi(&coloured).contains('\u{1b}'));
        assert_eq!(printer::plain(&coloured), plain);
    }

    #[test]
    fn a_reply_of_nothing_is_explained_too() {
        let report = report_on("", Palette::default());
        assert!(report.starts_with("no calls\n"), "{report}");
    }
}
