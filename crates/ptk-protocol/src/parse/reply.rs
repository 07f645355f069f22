//! A parsed reply as a whole: its text, its calls, its problems.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::event::{Event, Reclassified};
use super::reasoning_marks::REASONING;
use super::reclassify::Drafted;
use crate::problem::explain;
use crate::{
    Arguments, ErrorCode, ExecutionError, Formatter, ParsedCall, Piece, Problem, ProblemCode, Span,
    SpanKind, Status, Toolset,
};

/// Everything that was found in a reply.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// All the prose, before, between and behind the calls, and no markup.
    pub text: String,
    /// The model's reasoning.
    pub reasoning: String,
    /// Every call in the reply, whatever its status.
    pub calls: Vec<ParsedCall>,
    /// The problems that do not belong to a call.
    pub problems: Vec<Problem>,
    /// The pieces of the reply, in order, without gap or overlap.
    pub pieces: Vec<Piece>,
    /// What began the reply, if that turned out to be reasoning.
    pub(super) drafted: Option<Box<Drafted>>,
}

/// What a reply means for the loop.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome<'a> {
    /// An answer in words.
    Text(&'a str),
    /// Calls to make. Some of them may be unfit to run; their problems go back
    /// to the model together with the results of the others.
    Calls(&'a [ParsedCall]),
    /// The model meant to call a tool, and what it wrote is unreadable or cut
    /// off. The message says what was wrong; the reply is not shown as an
    /// answer. [`Reply::correction`] has the same in the form of a dialect,
    /// with an example.
    Malformed(ExecutionError),
}

impl Reply {
    /// Adds one event of the parser.
    pub fn absorb(&mut self, event: Event<'_>) {
        match event {
            Event::Text { text, span } => {
                self.text.push_str(&text);
                self.piece(SpanKind::Text, span);
            }
            Event::Reasoning { text, span } => {
                self.reasoning.push_str(&text);
                self.piece(SpanKind::Reasoning, span);
            }
            Event::Piece(piece) => self.piece(piece.kind, Span::new(piece.start, piece.end)),
            Event::CallEnd { call, .. } => self.calls.push(*call),
            Event::Problem(problem) => self.problems.push(problem),
            Event::Reclassified(Reclassified::Reasoning { markup }) => self.was_reasoning(markup),
            Event::Reclassified(Reclassified::Rescued) => self.rescue(),
            Event::Reclassified(Reclassified::Text) => *self = Self::default(),
            Event::CallStart { .. } | Event::ArgumentsDelta { .. } => {}
        }
    }

    /// Joins stretches of text and reasoning, so that the pieces do not depend
    /// on how the reply was cut.
    pub(super) fn piece(&mut self, kind: SpanKind, span: Span) {
        if let Some(last) = self.pieces.last_mut()
            && last.kind == kind
            && last.end == span.start
            && matches!(kind, SpanKind::Text | SpanKind::Reasoning | SpanKind::Mark)
        {
            last.end = span.end;
            return;
        }
        if !span.is_empty() {
            self.pieces.push(Piece {
                kind,
                start: span.start,
                end: span.end,
            });
        }
    }

    /// Records that the reply ran into the token limit, as the model's server
    /// reports: a last call that nothing closes may lack arguments, so it
    /// counts as truncated from now on.
    pub fn cut_by_limit(&mut self) {
        if let Some(last) = self.calls.last_mut()
            && last.open_ended
        {
            last.status = Status::Truncated;
            last.problems.push(Problem::new(
                ProblemCode::Truncated,
                "The reply ended at the token limit inside this call; send it again, shorter",
                last.span,
            ));
        }
    }

    /// The reply, which is `text`, as the model is shown it later: without its
    /// reasoning and the marks around that, without results and turns that it
    /// made up, and without its repetitions. `None` if it had none of these.
    #[must_use]
    pub fn for_history(&self, text: &str) -> Option<String> {
        let discarded = self.problems.iter().filter(|problem| {
            use ProblemCode::{ForgedResult, ForgedTurn, Repetition};
            matches!(problem.code, ForgedResult | ForgedTurn | Repetition)
        });
        let end = discarded.map(|problem| problem.span.start).min();
        let kept = end.map_or(text, |end| text.get(..end).unwrap_or(text));
        let thoughtless = self.without_thoughts(kept);
        thoughtless.or_else(|| end.map(|_| kept.trim_end().to_owned()))
    }

    /// The reply without the model's reasoning. `None` if it has none.
    fn without_thoughts(&self, text: &str) -> Option<String> {
        let mark = |at: Option<usize>| {
            let piece = self.pieces.get(at?)?;
            let is_mark = piece.kind == SpanKind::Mark;
            is_mark.then(|| text.get(piece.start..piece.end))?
        };
        let mut told = String::new();
        let mut done = 0;
        for (at, piece) in self.pieces.iter().enumerate() {
            if piece.kind != SpanKind::Reasoning {
                continue;
            }
            let opening = mark(at.checked_sub(1)).map_or(0, opening_len);
            let closing = mark(at.checked_add(1)).map_or(0, closing_len);
            told.push_str(text.get(done..piece.start - opening).unwrap_or_default());
            done = piece.end + closing;
        }
        told.push_str(text.get(done..).unwrap_or_default());
        (done > 0).then(|| told.trim().to_owned())
    }

    /// The calls that may run.
    pub fn runnable(&self) -> impl Iterator<Item = &ParsedCall> {
        self.calls.iter().filter(|call| call.is_runnable())
    }

    /// The problems that the model needs to know, those of calls included.
    pub fn faults(&self) -> impl Iterator<Item = &Problem> {
        self.problems
            .iter()
            .chain(self.calls.iter().flat_map(|call| &call.problems))
            .filter(|problem| problem.is_fault())
    }

    /// The message to the model about its faults, in the formatter's dialect
    /// and with a correct call of the tool that it meant. `None` if there are
    /// none.
    #[must_use]
    pub fn correction(&self, formatter: &dyn Formatter, tools: &Toolset) -> Option<String> {
        let faults: Vec<Problem> = self.faults().cloned().collect();
        let meant = self.calls.iter().find(|call| !call.is_runnable());
        let meant = meant.map(|call| call.call.name.as_str());
        (!faults.is_empty()).then(|| formatter.malformed(&faults, meant, tools))
    }

    /// What the reply means for the loop. A reply whose only calls are
    /// unreadable or cut off is malformed, never an answer.
    #[must_use]
    pub fn outcome(&self) -> Outcome<'_> {
        if self
            .calls
            .iter()
            .any(|call| call.status != Status::Truncated)
        {
            Outcome::Calls(&self.calls)
        } else if self.faults().next().is_some() {
            let message = format!(
                "{} Please try again with correct format.",
                explain(self.faults())
            );
            Outcome::Malformed(ExecutionError::new(ErrorCode::ParseError, message))
        } else {
            Outcome::Text(self.text.trim())
        }
    }
}

/// The length of the end of a mark that opens reasoning.
fn opening_len(mark: &str) -> usize {
    let opens = REASONING.iter().map(|row| row.open);
    let fitting = opens.filter(|open| {
        let tail = mark.len().checked_sub(open.len());
        let tail = tail.and_then(|at| mark.get(at..));
        tail.is_some_and(|tail| tail.eq_ignore_ascii_case(open))
    });
    fitting.map(str::len).max().unwrap_or(0)
}

/// The length of the beginning of a mark that closes reasoning.
fn closing_len(mark: &str) -> usize {
    let closes = REASONING.iter().flat_map(|row| row.close.iter().copied());
    let fitting = closes.filter(|close| {
        let head = mark.get(..close.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(close))
    });
    fitting.map(str::len).max().unwrap_or(0)
}

impl Serialize for Reply {
    /// Serializes the form that `ptk parse` prints.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Call<'a> {
            name: &'a str,
            args: &'a Arguments,
            status: Status,
            problems: &'a [Problem],
            span: Span,
            dialect: &'a str,
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            open_ended: bool,
            #[serde(skip_serializing_if = "Option::is_none")]
            reasoning: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            id: Option<&'a str>,
        }
        let calls: Vec<Call<'_>> = self
            .calls
            .iter()
            .map(|parsed| Call {
                name: &parsed.call.name,
                args: &parsed.call.args,
                status: parsed.status,
                problems: &parsed.problems,
                span: parsed.span,
                dialect: &parsed.dialect,
                open_ended: parsed.open_ended,
                reasoning: parsed.call.reasoning.as_deref(),
                id: parsed.call.id.as_deref(),
            })
            .collect();
        let mut reply = serializer.serialize_struct("Reply", 5)?;
        reply.serialize_field("text", &self.text)?;
        reply.serialize_field("reasoning", &self.reasoning)?;
        reply.serialize_field("calls", &calls)?;
        reply.serialize_field("problems", &self.problems)?;
        reply.serialize_field("spans", &self.pieces)?;
        reply.end()
    }
}
