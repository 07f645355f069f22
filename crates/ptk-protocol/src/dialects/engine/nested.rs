//! Readers that read a part of what another reader reads.

use std::ops::Range;

use crate::parse::Finding;
use crate::parse::{Findings, Input, Reader, Step};
use crate::{Problem, Span};

/// Lets a reader read the text from `at` on. What it finds is reported with
/// offsets of the whole text; the step is relative to `at`.
pub(crate) fn read_at(
    reader: &mut dyn Reader,
    input: &Input<'_>,
    at: usize,
    out: &mut Findings,
) -> Step {
    let part = Input {
        text: input.from(at),
        ..*input
    };
    let mut found = Findings::default();
    let step = reader.read(&part, &mut found);
    if found.refusal.is_some() {
        out.refusal = found.refusal;
    }
    out.examined = found.examined + at;
    for finding in found.found {
        out.found.push(shifted(finding, at));
    }
    step
}

fn shifted(finding: Finding, by: usize) -> Finding {
    match finding {
        Finding::Piece(kind, range) => Finding::Piece(kind, shift(range, by)),
        Finding::DeltaAt(range) => Finding::DeltaAt(shift(range, by)),
        Finding::Problem(problem) => Finding::Problem(shift_problem(problem, by)),
        Finding::Call(mut call) => {
            call.range = shift(call.range, by);
            let problems = std::mem::take(&mut call.problems).into_iter();
            call.problems = problems.map(|problem| shift_problem(problem, by)).collect();
            Finding::Call(call)
        }
        same @ (Finding::Start(_) | Finding::Delta(_)) => same,
    }
}

fn shift(range: Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}

fn shift_problem(mut problem: Problem, by: usize) -> Problem {
    problem.span = Span::new(problem.span.start + by, problem.span.end + by);
    problem
}
