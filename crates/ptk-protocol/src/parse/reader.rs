//! The interface between the parser and a dialect's reader.

use std::ops::Range;

use super::line::Line;
use super::{Grammar, Refusal};
use crate::dialects::CallKeys;
use crate::{Arguments, Problem, ProblemCode, Span, SpanKind, Status, Toolset};

/// Reads one construct (a call, or a group of calls) of a dialect, starting at
/// the mark that made the parser think of that dialect.
///
/// A reader is called again each time more text has come. It keeps its place
/// and never reads a byte twice without bound. What it decides may depend on
/// the text only, never on where the text was cut: where it cannot decide yet,
/// it returns [`Step::More`].
pub trait Reader: Send {
    /// Reads on in the input, and reports what it finds.
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step;
}

/// The text that a reader sees, and what is known around it.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// Everything from the first byte of the mark on, as far as it has come.
    pub text: &'a str,
    /// Whether no more will come.
    pub end: bool,
    /// The declared tools, if any were declared.
    pub tools: Option<&'a Toolset>,
    /// Text that ends the construct wherever it is not inside a well-formed
    /// value: the end of the surrounding reasoning or fence.
    pub stops: &'a [String],
    /// Whether a call is expected here, as the dialect was fixed: a form without
    /// marks can then be announced before it has ended.
    pub sure: bool,
    /// Whether the construct stands between the marks of a section.
    pub in_section: bool,
    /// The line that the construct stands on, up to it.
    pub(crate) line: &'a Line,
    /// The keys of the dialect whose reader this is for.
    pub(crate) keys: &'a CallKeys,
    pub(crate) grammar: &'a Grammar,
}

impl<'a> Input<'a> {
    /// The text from `at` on, empty where there is none.
    #[must_use]
    pub fn from(&self, at: usize) -> &'a str {
        self.text.get(at..).unwrap_or("")
    }

    /// The text of a range, empty where there is none.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> &'a str {
        self.text.get(range).unwrap_or("")
    }

    /// The byte at `at`.
    #[must_use]
    pub fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// The offset of the first byte at or behind `at` that is not white space.
    #[must_use]
    pub fn skip_space(&self, at: usize) -> usize {
        let rest = self.from(at);
        at + (rest.len() - rest.trim_start().len())
    }

    /// The first byte behind `at` that is not white space, looked for in a
    /// bounded stretch, so that looking again with every chunk stays cheap.
    #[must_use]
    pub fn peek(&self, at: usize) -> Peek {
        let rest = self.from(at);
        let window = rest.get(..floor(rest, LOOK_AHEAD)).unwrap_or("");
        match window.trim_start().bytes().next() {
            Some(byte) => Peek::Byte(byte),
            None if rest.len() >= LOOK_AHEAD => Peek::Byte(b' '),
            None if self.end => Peek::End,
            None => Peek::More,
        }
    }

    /// The longest of these marks at `at`. While a longer one than was found may
    /// still come, more text is needed to decide.
    #[must_use]
    pub(crate) fn longest_mark<S: AsRef<str>>(&self, at: usize, marks: &[S]) -> MarkAt {
        let rest = self.from(at);
        let mut longest = MarkAt::None;
        for (place, mark) in marks.iter().enumerate() {
            match mark_at(rest, std::slice::from_ref(mark)) {
                MarkAt::Partial if !self.end => return MarkAt::Partial,
                MarkAt::Partial if longest == MarkAt::None => longest = MarkAt::Partial,
                MarkAt::Finding { length, .. } => match longest {
                    MarkAt::Finding { length: other, .. } if other >= length => {}
                    _ => {
                        longest = MarkAt::Finding {
                            index: place,
                            length,
                        }
                    }
                },
                MarkAt::Partial | MarkAt::None => {}
            }
        }
        longest
    }

    /// The offset of the first line break at or behind `from`. `searched` keeps
    /// the place up to which there is none, so that no byte is looked at twice.
    #[must_use]
    pub fn line_end(&self, from: usize, searched: &mut usize) -> Option<usize> {
        let start = from.max(*searched);
        let rest = self.text.as_bytes().get(start..).unwrap_or_default();
        let found = memchr::memchr(b'\n', rest);
        *searched = found.map_or(self.text.len(), |found| start + found);
        found.map(|found| start + found)
    }

    /// The offset at which a search that has reached the end of the text
    /// continues when more has come, if what it looks for has `length` bytes.
    #[must_use]
    pub fn resume_at(&self, from: usize, length: usize) -> usize {
        let mut at = self.text.len().saturating_sub(length).max(from);
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }

    /// Whether a call of some dialect may begin at `at`; `None` if more text is
    /// needed to decide.
    #[must_use]
    pub fn call_begins(&self, at: usize) -> Option<bool> {
        self.grammar.call_begins(self.from(at), self.end)
    }

    /// Whether the text before the construct ends a sentence, or there is none.
    pub(crate) fn follows_sentence(&self) -> bool {
        self.line.ends_sentence()
    }

    /// Whether the tool `name` declares a parameter `key`.
    pub(crate) fn has_parameter(&self, name: &str, key: &str) -> bool {
        self.tools
            .and_then(|tools| tools.get(name))
            .and_then(|tool| tool.properties())
            .is_some_and(|properties| properties.contains_key(key))
    }

    /// Whether a mark of some dialect stands at `at` that counts wherever it
    /// stands; `None` if more text is needed to decide.
    #[must_use]
    pub fn is_marked(&self, at: usize) -> Option<bool> {
        self.grammar.is_marked(self.from(at), self.end)
    }

    /// Whether the text from `at` on is the beginning of some mark, and no more.
    pub(crate) fn ends_in_mark(&self, at: usize) -> bool {
        self.grammar.begins_mark(self.from(at))
    }

    /// Whether a mark with any meaning stands at `at`, words that have one only
    /// at the start of a line aside; `None` if more text is needed to decide.
    pub(crate) fn is_markup(&self, at: usize) -> Option<bool> {
        self.grammar.is_markup(self.from(at), self.end)
    }

    /// Whether markup without a meaning stands at `at`, such as the end of a
    /// turn. Where more text is needed to decide, the same is true of
    /// [`closing_mark`](Self::closing_mark).
    #[must_use]
    pub fn is_silent(&self, at: usize) -> bool {
        self.grammar.is_silent(self.from(at), self.end)
    }

    /// Whether nothing but the end of the turn stands in the rest of a line.
    #[must_use]
    pub(crate) fn is_blank(&self, line: &str) -> bool {
        let rest = line.trim();
        rest.is_empty() || self.grammar.is_silent(rest, true)
    }

    /// Whether nothing but a mark stands on the rest of the line; `None` if more
    /// text is needed to decide.
    #[must_use]
    pub(crate) fn ends_line(&self, at: usize) -> Option<bool> {
        let rest = self.from(at);
        let line = rest.trim_start_matches([' ', '\t', '\r']);
        match line.bytes().next() {
            None => self.end.then_some(true),
            Some(b'\n') => Some(true),
            Some(_) => {
                let at = at + (rest.len() - line.len());
                Some(self.is_marked(at)? || self.is_silent(at))
            }
        }
    }

    /// Whether a closing mark of some dialect stands at `at`.
    #[must_use]
    pub fn closing_mark(&self, at: usize) -> MarkAt {
        self.grammar.closing_mark(self.from(at), self.end)
    }

    /// Whether a tool of this name may be called: it is declared, or nothing is.
    #[must_use]
    pub fn knows(&self, name: &str) -> bool {
        self.tools.is_none_or(|tools| tools.contains(name))
    }

    /// Whether a tool of this name is declared.
    #[must_use]
    pub fn declares(&self, name: &str) -> bool {
        self.tools.is_some_and(|tools| tools.contains(name))
    }

    /// Whether the name of a declared tool begins with this text.
    #[must_use]
    pub fn begins_name(&self, text: &str) -> bool {
        let mut names = self.tools.iter().flat_map(|tools| tools.names());
        names.any(|name| name.starts_with(text))
    }
}

/// How far [`Input::peek`] looks.
const LOOK_AHEAD: usize = 256;

/// The byte behind some white space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peek {
    /// This byte follows; a space if there is more white space than is
    /// examined.
    Byte(u8),
    /// The reply ends.
    End,
    /// More text is needed to decide.
    More,
}

/// The decision of a reader about the text so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// More text is needed to decide. At the end of the input this counts as
    /// [`Step::Reject`].
    More,
    /// This is not a construct of the dialect; the text is read otherwise.
    Reject,
    /// This mark is markup, but what follows is to be read on its own.
    Skip(usize),
    /// The construct ends before this offset.
    Done(usize),
}

/// A call as a reader found it, before it is checked against the tools.
#[derive(Debug, Clone)]
pub struct FoundCall {
    /// The tool's name.
    pub name: String,
    /// The arguments.
    pub args: Arguments,
    /// The model's reason, where it gave one.
    pub reasoning: Option<String>,
    /// The id, where the model gave one.
    pub id: Option<String>,
    /// Whether the call was read as written, repaired or truncated.
    pub status: Status,
    /// Repairs and faults; spans are relative to the construct.
    pub problems: Vec<Problem>,
    /// Whether nothing in the text says that all arguments were given: the
    /// closing mark is missing, in a dialect whose arguments have no bracket
    /// around them.
    pub open_ended: bool,
    /// Where the call's body stands in the construct.
    pub range: Range<usize>,
}

/// What a reader has found, in the order of the text. Offsets are relative to
/// the first byte of the construct.
#[derive(Debug, Default)]
pub struct Findings {
    pub(crate) found: Vec<Finding>,
    pub(crate) examined: usize,
    pub(crate) refusal: Option<Refusal>,
}

#[derive(Debug)]
pub(crate) enum Finding {
    Piece(SpanKind, Range<usize>),
    Start(String),
    Delta(String),
    DeltaAt(Range<usize>),
    Call(Box<FoundCall>),
    Problem(Problem),
}

/// How many findings one call makes, and a few more.
const FINDINGS_OF_A_CALL: usize = 8;

impl Findings {
    fn push(&mut self, found: Finding) {
        if self.found.capacity() == 0 {
            self.found.reserve(FINDINGS_OF_A_CALL);
        }
        self.found.push(found);
    }

    /// Reports a stretch of the construct as `kind`. Stretches are given in
    /// order; what is left out between them counts as [`SpanKind::Mark`].
    pub fn piece(&mut self, kind: SpanKind, range: Range<usize>) {
        if !range.is_empty() {
            self.push(Finding::Piece(kind, range));
        }
    }

    /// Reports that a call begins and its name is known. From here on the
    /// reader may not reject, and every start is followed by one
    /// [`Findings::call`].
    pub fn start(&mut self, name: &str) {
        self.push(Finding::Start(name.to_owned()));
    }

    /// Reports further text of the call's arguments. The fragments of one call,
    /// put together, are the JSON of its arguments.
    pub fn delta(&mut self, json: &str) {
        if !json.is_empty() {
            self.push(Finding::Delta(json.to_owned()));
        }
    }

    /// Reports further text of the call's arguments, which stands in the
    /// construct exactly so.
    pub fn delta_at(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            self.push(Finding::DeltaAt(range));
        }
    }

    /// Reports that the call has ended.
    pub fn call(&mut self, call: FoundCall) {
        self.push(Finding::Call(Box::new(call)));
    }

    /// Reports something that was meant as a call and cannot be read: `range`
    /// is kept verbatim as a problem.
    pub fn unreadable(
        &mut self,
        code: ProblemCode,
        message: String,
        range: Range<usize>,
        raw: &str,
    ) {
        self.piece(SpanKind::Problem, range.clone());
        let span = Span::new(range.start, range.end);
        self.push(Finding::Problem(
            Problem::new(code, message, span).with_raw(raw),
        ));
    }

    /// Reports how far a reader that is about to reject has read. The parser
    /// keeps count, so that wasted reading stays in proportion.
    pub fn examined(&mut self, bytes: usize) {
        self.examined = bytes;
    }

    /// Rejects, and gives the reason for a parser that explains its decisions.
    pub fn refuse(&mut self, refusal: Refusal) -> Step {
        self.refusal = Some(refusal);
        Step::Reject
    }

    /// Whether something was found that was not processed yet.
    pub(crate) fn is_committed(&self) -> bool {
        !self.found.is_empty()
    }
}

/// The result of looking for a mark at some place of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkAt {
    /// The mark of this index stands there, this many bytes long.
    Finding {
        /// Index into the list of marks.
        index: usize,
        /// Its length in bytes.
        length: usize,
    },
    /// The text ends within what may become a mark.
    Partial,
    /// No mark stands there.
    None,
}

/// Looks for one of `marks` at the start of `text`, letters in any case.
#[must_use]
pub fn mark_at<S: AsRef<str>>(text: &str, marks: &[S]) -> MarkAt {
    let bytes = text.as_bytes();
    let mut partial = false;
    for (index, mark) in marks.iter().enumerate() {
        let mark = mark.as_ref().as_bytes();
        match bytes.get(..mark.len()) {
            Some(start) if start.eq_ignore_ascii_case(mark) => {
                return MarkAt::Finding {
                    index,
                    length: mark.len(),
                };
            }
            Some(_) => {}
            None => {
                partial |= mark
                    .get(..bytes.len())
                    .is_some_and(|start| start.eq_ignore_ascii_case(bytes));
            }
        }
    }
    if partial {
        MarkAt::Partial
    } else {
        MarkAt::None
    }
}

/// The first character boundary of `text` at or behind `at`.
pub(crate) fn ceiling(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

/// The largest character boundary of `text` that is not behind `at`.
pub(crate) fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
