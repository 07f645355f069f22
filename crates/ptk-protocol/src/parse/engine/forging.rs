//! Ends a reply in which the model goes on as a tool or in another role.

use super::{EngineState, Work};
use crate::parse::forged::Forgery;
use crate::parse::hold::{Hold, Item};
use crate::parse::line::LABEL;
use crate::parse::trace::Decision;
use crate::{Problem, ProblemCode, Span, SpanKind};

/// The longest id of a call between a word and its colon.
const MAX_ID: usize = 64;
/// How much of a line is examined to distinguish a result from a sentence about
/// one.
const MAX_LINE: usize = 4096;

impl Work<'_, '_, '_> {
    /// Whether the mark at `start..end`, which starts its line, begins text
    /// that the model must not write; `None` if more text is needed to decide.
    ///
    /// Behind a call it does. Without one, it may be the subject of an
    /// explanation, so it has to have the form of a result.
    pub(super) fn is_forged(&self, forgery: Forgery, start: usize, end: usize) -> Option<bool> {
        let has_called = self.has_called();
        let has_tools = self.grammar.tools().is_none_or(|tools| !tools.is_empty());
        let rest = self.text.from(end);
        match forgery {
            _ if !has_tools && forgery.is_result() => Some(false),
            // In a block of code it is quoted.
            _ if self.machine.line.is_indented() && !has_called => Some(false),
            Forgery::Word => match colon(rest, self.text.end)? {
                None => Some(false),
                Some(_) if has_called => Some(true),
                Some(colon) => is_value(rest.get(colon..).unwrap_or(""), self.text.end),
            },
            Forgery::Tag | Forgery::Token if has_called => Some(true),
            Forgery::Tag | Forgery::Token => match rest.chars().next() {
                None => self.text.end.then_some(true),
                Some(next) => Some(next.is_alphanumeric() || "\r\n{[<\"".contains(next)),
            },
            Forgery::Observation => Some(has_called && self.follows_action()),
            Forgery::Turn => {
                let mark = self.text.slice(&(start..end));
                let is_exact = !mark.bytes().any(|byte| byte.is_ascii_lowercase());
                // A model may repeat the label that its own turn begins with.
                let is_label = mark == LABEL && !self.has_said(start);
                let is_in_use = has_called || self.grammar.is_transcript();
                Some(is_exact && is_in_use && (has_called || !is_label))
            }
        }
    }

    /// Whether the reply has called a tool so far.
    pub(super) fn has_called(&self) -> bool {
        let hold = self.machine.hold.as_ref();
        self.machine.calls > 0 || hold.is_some_and(Hold::has_calls)
    }

    /// Whether the last call has the form of an action, which an observation
    /// follows.
    fn follows_action(&self) -> bool {
        let last = self.machine.last.map(|last| self.name_of(last));
        self.machine.behind_call && last.is_some_and(|last| ACTIONS.contains(&last.as_str()))
    }

    /// Whether anything but white space was said before `at`.
    fn has_said(&self, at: usize) -> bool {
        let untold = self.machine.told..at;
        self.machine.has_said || !self.text.slice(&untold).trim().is_empty()
    }

    /// Ends the reply at `start`: what is held back is settled as at its end,
    /// and whatever follows is a problem.
    pub(super) fn forge(&mut self, forgery: Forgery, start: usize) -> bool {
        self.tell(SpanKind::Text, start);
        self.conclude();
        self.note(start..start, |_| Decision::Forged);
        self.go(EngineState::Forged(forgery))
    }

    /// Emits what the model wrote behind the end of its reply, as a problem.
    pub(super) fn discard_forgery(&mut self) {
        let EngineState::Forged(forgery) = self.machine.state else {
            return;
        };
        let range = self.machine.told..self.text.len();
        let (code, message) = if forgery.is_result() {
            (
                ProblemCode::ForgedResult,
                "You wrote the result of a tool yourself. Only the tool gives results: \
                 call it, then stop and wait",
            )
        } else {
            (
                ProblemCode::ForgedTurn,
                "The reply went on with a turn that is not its own, which was left out",
            )
        };
        let span = Span::new(range.start, range.end);
        let problem = Problem::new(code, message, span).with_raw(self.text.slice(&range));
        self.machine.told = range.end;
        self.send(Item::Span(SpanKind::Problem, range));
        self.send(Item::Problem(problem));
    }
}

/// Dialects whose calls are actions in words.
const ACTIONS: &[&str] = &["smolagents", "command-r-plus"];

/// Finds the end of the colon behind a word such as `PTK_RESULT`, or behind the
/// id of a call that follows it. The outer `None` if more text is needed to
/// decide.
#[expect(clippy::option_option, reason = "both are questions of their own")]
fn colon(rest: &str, end: bool) -> Option<Option<usize>> {
    if rest.starts_with(':') {
        return Some(Some(1));
    }
    let Some(id) = rest.strip_prefix(' ') else {
        return if rest.is_empty() && !end {
            None
        } else {
            Some(None)
        };
    };
    let is_id = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.#".contains(byte);
    let length = id
        .bytes()
        .take(MAX_ID + 1)
        .take_while(|byte| is_id(byte))
        .count();
    match id.as_bytes().get(length) {
        _ if length > MAX_ID => Some(None),
        Some(b':') if length > 0 => Some(Some(length + 2)),
        Some(_) => Some(None),
        None if end => Some(None),
        None => None,
    }
}

/// Whether a value stands alone behind the colon, and not a sentence: JSON up
/// to the end of the line. `None` if more text is needed to decide.
fn is_value(rest: &str, end: bool) -> Option<bool> {
    let near = rest.len().min(MAX_LINE);
    let near = rest.as_bytes().get(..near).unwrap_or_default();
    let Some(first) = near.iter().position(|byte| !byte.is_ascii_whitespace()) else {
        return if near.len() == MAX_LINE {
            Some(false)
        } else {
            end.then_some(true)
        };
    };
    let value = near.get(first..).unwrap_or_default();
    let starts = matches!(value.first(), Some(b'{' | b'[' | b'"' | b'-' | b'0'..=b'9'));
    if !starts {
        return Some(false);
    }
    let line = match memchr::memchr(b'\n', value) {
        Some(newline) => value.get(..newline).unwrap_or_default(),
        None if near.len() == MAX_LINE => return Some(true),
        None if end => value,
        None => return None,
    };
    let last = line.trim_ascii_end().last();
    Some(matches!(
        last,
        Some(b'{' | b'}' | b'[' | b']' | b'"' | b',' | b':' | b'0'..=b'9')
    ))
}
