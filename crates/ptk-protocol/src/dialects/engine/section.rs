//! Marks around several calls, which have no meaning by themselves.

use super::json_marks::{HeadAt, name_head};
use super::marked_json::looks_meant;
use super::tolerant::find_ignoring_case;
use crate::ProblemCode;
use crate::dialects::{Claim, Trigger};
use crate::parse::{Findings, Input, Reader, Refusal, Step, floor};

/// How far to search for the closing mark where no call follows.
const LIMIT: usize = 4096;

/// The marks around the calls of a reply.
#[derive(Debug, Clone)]
pub(crate) struct Section {
    pub(crate) open: String,
    pub(crate) close: String,
}

impl Section {
    pub(crate) fn new(open: impl Into<String>, close: impl Into<String>) -> Self {
        Self {
            open: open.into(),
            close: close.into(),
        }
    }

    /// The trigger at which the section begins.
    pub(crate) fn trigger(&self) -> Trigger {
        Trigger::anywhere(&self.open).claimed(Claim::Section)
    }

    /// A reader for what follows the opening mark.
    pub(crate) fn reader(&self) -> Box<dyn Reader> {
        Box::new(SectionReader(self.clone()))
    }
}

impl Section {
    /// A reader for a name between the marks, behind which calls follow.
    pub(crate) fn address_reader(&self) -> Box<dyn Reader> {
        Box::new(AddressReader(self.clone()))
    }
}

/// Skips a recipient, such as `to=f<|message|>`, if a call follows it.
#[derive(Debug)]
struct AddressReader(Section);

impl Reader for AddressReader {
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        let Section { open, close } = &self.0;
        let window = input.from(open.len());
        let window = window.get(..floor(window, LIMIT)).unwrap_or("");
        match name_head(window, &[close]) {
            HeadAt::More if !input.end => Step::More,
            HeadAt::Finding(_, length) => {
                let at = input.skip_space(open.len() + length);
                match input.call_begins(at) {
                    None => Step::More,
                    _ if input.from(at).is_empty() && !input.end => Step::More,
                    Some(true) => Step::Skip(at),
                    Some(false) => out.refuse(Refusal::NoCallBehind),
                }
            }
            _ => Step::Reject,
        }
    }
}

/// Skips the opening mark if a call follows it.
#[derive(Debug)]
struct SectionReader(Section);

impl Reader for SectionReader {
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        let Section { open, close } = &self.0;
        let at = input.skip_space(open.len());
        let rest = input.from(at);
        if rest.is_empty() && !input.end {
            return Step::More;
        }
        match input.call_begins(at) {
            None => return Step::More,
            Some(true) => return Step::Skip(at),
            Some(false) => {}
        }
        // The reply ends here, or within the next mark.
        let is_mark = rest.starts_with(['<', '[', ']']);
        if rest.is_empty() || (input.end && is_mark && input.ends_in_mark(at)) {
            let at = input.text.len();
            let message = "The reply ends behind the opening mark of a call".to_owned();
            out.unreadable(ProblemCode::Truncated, message, 0..at, input.text);
            return Step::Done(at);
        }
        let window = rest.get(..floor(rest, LIMIT)).unwrap_or("");
        let Some(end) = find_ignoring_case(window, 0, close) else {
            let decided = input.end || rest.len() >= LIMIT;
            return if decided {
                out.refuse(Refusal::NoCallBehind)
            } else {
                Step::More
            };
        };
        let body = window.get(..end).unwrap_or("");
        let on_own_lines = input.slice(open.len()..at).contains('\n');
        let opens_again = find_ignoring_case(body, 0, open).is_some();
        if opens_again || !(looks_meant(body, on_own_lines, input) || is_a_word(body)) {
            return out.refuse(Refusal::NoCallBehind);
        }
        let message = if body.trim().is_empty() {
            "The call is empty"
        } else {
            "The text between the marks is not a call"
        };
        let end = at + end + close.len();
        let raw = input.slice(0..end);
        out.unreadable(ProblemCode::Malformed, message.to_owned(), 0..end, raw);
        Step::Done(end)
    }
}

/// Whether nothing but one word stands between the marks, right next to them.
fn is_a_word(body: &str) -> bool {
    !body.is_empty() && !body.contains(char::is_whitespace)
}
