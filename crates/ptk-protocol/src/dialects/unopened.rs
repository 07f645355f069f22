//! Calls as bare JSON behind prose, on the same line: the opening mark is
//! missing, and a closing mark follows.

use super::Trigger;
use super::engine::call_object::names_declared;
use super::json::{give, named_for_sure, note, readings};
use crate::json::scan::{Scan, Scanner};
use crate::parse::{Findings, Input, MarkAt, Reader, Refusal, Step};
use crate::{ProblemCode, Status};

/// How the JSON of a call may begin. That the name comes first is what makes it
/// worth looking at in the middle of a line.
pub(super) const STARTS: [&str; 12] = [
    "{\"name\"",
    "{ \"name\"",
    "[{\"name\"",
    "[{ \"name\"",
    "{\"tool\"",
    "{ \"tool\"",
    "[{\"tool\"",
    "[{ \"tool\"",
    "{\"tool_name\"",
    "{ \"tool_name\"",
    "[{\"tool_name\"",
    "[{ \"tool_name\"",
];

/// The triggers of such calls.
pub(super) fn triggers() -> impl Iterator<Item = Trigger> {
    STARTS.into_iter().map(Trigger::behind_prose)
}

/// Reads JSON that is a call if a closing mark follows it.
#[derive(Debug, Default)]
pub(super) struct Unopened {
    first: Option<Scanner>,
    /// Whether the first object names a declared tool.
    is_named: bool,
    all: Option<Scanner>,
    end: Option<usize>,
    /// How far white space behind the end was skipped.
    next: usize,
}

impl Reader for Unopened {
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        if !self.is_named {
            let start = input.text.find('{').unwrap_or(0);
            let first = self.first.get_or_insert_with(|| Scanner::new(start));
            let scan = first.scan(input.text);
            match names_declared(&first.members, input) {
                Some(true) => self.is_named = true,
                None if scan == Scan::More && !input.end => return Step::More,
                _ => {
                    out.examined(first.position());
                    return out.refuse(Refusal::UndeclaredTool);
                }
            }
        }
        let Some(end) = self.end else {
            let all = self.all.get_or_insert_with(|| Scanner::new(0));
            return match all.scan(input.text) {
                Scan::More if !input.end => Step::More,
                Scan::Done(end) => {
                    self.end = Some(end);
                    self.next = end;
                    self.behind(input, out, end)
                }
                Scan::More | Scan::Fault(_) => {
                    out.examined(all.position());
                    out.refuse(Refusal::NoJson)
                }
            };
        };
        self.behind(input, out, end)
    }
}

impl Unopened {
    /// Handles what stands behind the JSON.
    fn behind(&mut self, input: &Input<'_>, out: &mut Findings, end: usize) -> Step {
        self.next = input.skip_space(self.next);
        let length = match input.closing_mark(self.next) {
            MarkAt::Partial if !input.end => return Step::More,
            MarkAt::Finding { length, .. } => length,
            MarkAt::Partial | MarkAt::None => {
                out.examined(end);
                return out.refuse(Refusal::NeverCloses);
            }
        };
        let behind = self.next + length;
        match input.ends_line(behind) {
            None => return Step::More,
            Some(true) => {}
            Some(false) => {
                out.examined(end);
                return out.refuse(Refusal::WordsBehind);
            }
        }
        let calls = readings(input.slice(0..end), input, end);
        let Some(calls) = calls.filter(|calls| named_for_sure(calls, input, true)) else {
            out.examined(end);
            return out.refuse(Refusal::UndeclaredTool);
        };
        for (position, call) in calls.into_iter().enumerate() {
            let problems = vec![note(ProblemCode::MissingOpenMark, 0..0)];
            give(out, call, 0..end, problems, Status::Complete, position == 0);
        }
        Step::Done(behind)
    }
}
