//! Forms that are words of ordinary prose: a call only where the JSON behind
//! them names a declared tool.

use super::call_object::names_declared;
use super::marked_json::MarkedJson;
use crate::json::scan::{Scan, Scanner};
use crate::parse::{Findings, Input, Peek, Reader, Refusal, Step};

/// Waits for the name of a declared tool, and reads the call then.
pub(crate) struct NamedFirst {
    call: MarkedJson,
    /// Where the object or the list begins.
    at: usize,
    scanner: Option<Scanner>,
    is_named: bool,
    /// Whether it stands behind prose, and has to end its line or its sentence
    /// then.
    is_behind_prose: bool,
}

impl NamedFirst {
    /// A reader for a call whose JSON begins at `at`.
    pub(crate) fn new(call: MarkedJson, at: usize, is_behind_prose: bool) -> Self {
        Self {
            call,
            at,
            scanner: None,
            is_named: false,
            is_behind_prose,
        }
    }

    /// Whether the JSON ends on its line, which ends at `line_end`, and a mark
    /// stands behind it, or it stands between two sentences: prose about the form
    /// begins before it or goes on behind it.
    fn ends_sentence(&self, input: &Input<'_>, line_end: usize) -> bool {
        let Scan::Done(end) = Scanner::new(self.at).scan(input.slice(0..line_end)) else {
            return false;
        };
        let next = input.skip_space(end);
        let is_capital = next > end && input.from(next).starts_with(char::is_uppercase);
        is_capital && input.follows_sentence()
            || input.is_silent(next)
            || input.is_marked(next) == Some(true)
    }
}

impl Reader for NamedFirst {
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        if self.is_named {
            return self.call.read(input, out);
        }
        if self.scanner.is_none() {
            let start = match (input.byte(self.at), input.peek(self.at + 1)) {
                (None, _) | (Some(b'['), Peek::More) => return Step::More,
                (Some(b'{'), _) => self.at,
                (Some(b'['), Peek::Byte(b'{')) => input.skip_space(self.at + 1),
                _ => return out.refuse(Refusal::NoJson),
            };
            self.scanner = Some(Scanner::new(start));
        }
        if self.is_behind_prose {
            let rest = input.from(self.at);
            let line = match rest.split_once('\n') {
                Some((line, _)) => line,
                None if input.end => rest,
                None => return Step::More,
            };
            let ends_line = line.trim_end().ends_with(['[', ']', '{', '}', ',']);
            if !ends_line && !self.ends_sentence(input, self.at + line.len()) {
                return out.refuse(Refusal::AboutMarks);
            }
            self.is_behind_prose = false;
        }
        let Some(scanner) = &mut self.scanner else {
            return Step::Reject;
        };
        let scan = scanner.scan(input.text);
        match names_declared(&scanner.members, input) {
            Some(true) => {
                self.is_named = true;
                self.call.read(input, out)
            }
            None if scan == Scan::More && !input.end => Step::More,
            _ => {
                out.examined(scanner.position());
                out.refuse(Refusal::UndeclaredTool)
            }
        }
    }
}
