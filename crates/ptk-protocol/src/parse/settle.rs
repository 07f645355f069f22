//! Converts what a reader found into what the reply says: offsets made
//! absolute, gaps filled with markup, calls checked against the tools.

use std::ops::Range;
use std::sync::Arc;

use super::hold::Item;
use super::reader::{Finding, FoundCall, Input};
use super::wrapped::{Taken, Withheld, unwrapped};
use crate::dialects::Dialect;
use crate::{ParsedCall, Problem, ProblemCode, Span, SpanKind, Status, ToolCall, Toolset, schema};

/// Turns the findings of one construct into items.
#[derive(Debug)]
pub(super) struct Settler {
    start: usize,
    covered: usize,
    dialect: Arc<dyn Dialect>,
    /// The call that has begun, until it ends.
    started: Option<StartedCall>,
    touched: bool,
}

/// A call whose arguments are coming in.
#[derive(Debug, Default)]
struct StartedCall {
    name: String,
    withheld: Withheld,
}

impl Settler {
    /// Creates a settler for a construct of `dialect` that starts at `start`.
    pub(super) fn new(start: usize, dialect: &Arc<dyn Dialect>) -> Self {
        Self {
            start,
            covered: start,
            dialect: Arc::clone(dialect),
            started: None,
            touched: false,
        }
    }

    /// Whether nothing was found yet.
    pub(super) fn is_untouched(&self) -> bool {
        !self.touched
    }

    /// Emits the items for one finding in the construct `input`.
    pub(super) fn settle(&mut self, found: Finding, input: &Input<'_>, tell: &mut dyn FnMut(Item)) {
        self.touched = true;
        match found {
            Finding::Piece(kind, range) => self.piece(kind, &range, tell),
            Finding::Start(name) => self.begin(name, input.tools, tell),
            Finding::Delta(json) => match self.withhold(&json, input.tools) {
                Taken::Passed => tell(Item::Delta(json)),
                Taken::Withheld => {}
                Taken::Ready(json) => tell(Item::Delta(json)),
            },
            Finding::DeltaAt(range) => {
                match self.withhold(input.slice(range.clone()), input.tools) {
                    Taken::Passed => {
                        let range = self.start + range.start..self.start + range.end;
                        tell(Item::DeltaAt(range));
                    }
                    Taken::Withheld => {}
                    Taken::Ready(json) => tell(Item::Delta(json)),
                }
            }
            Finding::Call(mut call) => {
                if self.started.is_none() {
                    self.begin(call.name.clone(), input.tools, tell);
                }
                call.name = single_name(call.name, input.tools);
                let mut started = self.started.take().unwrap_or_default();
                let call = self.call(*call, &started.withheld, input.tools);
                let is_unwrapped =
                    |problem: &Problem| problem.code == ProblemCode::WrappedArguments;
                let rest = if call.problems.iter().any(is_unwrapped) {
                    Some(call.call.args.to_json())
                } else {
                    started.withheld.rest()
                };
                if let Some(rest) = rest {
                    tell(Item::Delta(rest));
                }
                tell(Item::Call(Box::new(call)));
            }
            Finding::Problem(problem) => tell(Item::Problem(self.absolute(problem))),
        }
    }

    fn begin(&mut self, name: String, tools: Option<&Toolset>, tell: &mut dyn FnMut(Item)) {
        let name = single_name(name, tools);
        let tool = tools.and_then(|tools| tools.get(&name));
        self.started = Some(StartedCall {
            name: name.clone(),
            withheld: Withheld::of(tool),
        });
        tell(Item::Start(name));
    }

    fn withhold(&mut self, json: &str, tools: Option<&Toolset>) -> Taken {
        let Some(started) = self.started.as_mut().filter(|it| it.withheld.has_all()) else {
            return Taken::Passed;
        };
        match tools.and_then(|tools| tools.get(&started.name)) {
            Some(tool) => started.withheld.take(json, tool),
            None => Taken::Passed,
        }
    }

    fn piece(&mut self, kind: SpanKind, range: &Range<usize>, tell: &mut dyn FnMut(Item)) {
        let start = (self.start + range.start).max(self.covered);
        let end = (self.start + range.end).max(start);
        if let Some(mark) = self.fill(start) {
            tell(mark);
        }
        if end > start {
            tell(Item::Span(kind, start..end));
            self.covered = end;
        }
    }

    /// Fills the gap up to `end`, which no finding covers, with markup.
    pub(super) fn fill(&mut self, end: usize) -> Option<Item> {
        let range = self.covered..end;
        (!range.is_empty()).then(|| {
            self.covered = end;
            Item::Span(SpanKind::Mark, range)
        })
    }

    fn absolute(&self, mut problem: Problem) -> Problem {
        problem.span = self.span(problem.span);
        problem
    }

    fn span(&self, span: Span) -> Span {
        Span::new(self.start + span.start, self.start + span.end)
    }

    /// The call, checked. Its arguments are unwrapped only if all of them were
    /// withheld: what was passed on cannot be taken back.
    fn call(&self, found: FoundCall, withheld: &Withheld, tools: Option<&Toolset>) -> ParsedCall {
        let mut problems: Vec<Problem> = found
            .problems
            .into_iter()
            .map(|problem| self.absolute(problem))
            .collect();
        let mut call = ToolCall {
            id: found.id,
            name: found.name,
            args: found.args,
            reasoning: found.reasoning,
        };
        let span = self.span(Span::new(found.range.start, found.range.end));
        let mut status = found.status;
        if let Some(tools) = tools
            && status != Status::Truncated
            && !problems.iter().any(Problem::is_fault)
        {
            let mut faults = schema::faults(tools, &call.name, &mut call.args);
            let tool = tools.get(&call.name);
            if withheld.has_all()
                && let Some((wrapper, args)) =
                    tool.and_then(|tool| unwrapped(&call.args, !faults.is_empty(), tool, tools))
            {
                let message = format!(
                    "The arguments stood inside `{wrapper}`, which is not a parameter of `{}`",
                    call.name
                );
                let note = Problem::new(ProblemCode::WrappedArguments, message, span);
                problems.push(note);
                call.args = args;
                status = Status::Repaired;
                faults.clear();
            }
            problems.extend(faults.iter().map(|fault| fault.problem(span)));
            problems.extend(guessed_key(&call, &problems, tools, span));
        }
        ParsedCall {
            call,
            status,
            problems,
            open_ended: found.open_ended,
            dialect: self.dialect.name().to_owned(),
            span,
        }
    }
}

/// The name of a declared tool that was written twice: `read_file.read_file`.
fn single_name(name: String, tools: Option<&Toolset>) -> String {
    match name.split_once('.') {
        Some((first, second))
            if first == second
                && tools.is_some_and(|tools| tools.contains(first) && !tools.contains(&name)) =>
        {
            first.to_owned()
        }
        _ => name,
    }
}

/// The problem of an argument that the tool does not have, where quotes were
/// guessed: it may be a piece of another argument's text.
fn guessed_key(
    call: &ToolCall,
    problems: &[Problem],
    tools: &Toolset,
    span: Span,
) -> Option<Problem> {
    let is_guess = |problem: &Problem| {
        matches!(
            problem.code,
            ProblemCode::MissingComma | ProblemCode::UnescapedQuote
        )
    };
    if !problems.iter().any(is_guess) {
        return None;
    }
    let known = tools.get(&call.name)?.properties()?;
    let mut keys = call.args.as_map().keys();
    let key = keys.find(|key| !known.is_empty() && !known.contains_key(*key))?;
    let message = format!(
        "Quotes inside a string were not escaped, and `{key}` is not an argument of `{}`; \
         write them as \\\" and send the call again",
        call.name
    );
    Some(Problem::new(ProblemCode::Malformed, message, span))
}
