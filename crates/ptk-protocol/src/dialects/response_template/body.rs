//! Bodies that are read when they are whole: JSON in a notation of its own, and
//! arguments line by line.

use std::sync::Arc;

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::form::{CallBody, CallForm, Loose};
use super::{lines, loose};
use crate::dialects::engine::botched::{botched_end, cut_end};
use crate::dialects::engine::call_object::{Called, ObjectCall, read_arguments, read_object};
use crate::dialects::engine::named_values::{NamedValues, Whole};
use crate::dialects::engine::repair_message;
use crate::dialects::engine::tolerant::{guesses_last_quote, is_doubtful};
use crate::json::{End, repair};
use crate::parse::{Findings, Input, MarkAt, Reader, Step, mark_at};
use crate::{Problem, ProblemCode, Span, SpanKind, Status};

/// Reads one body up to its closing mark.
pub(super) struct WholeBody {
    form: Arc<CallForm>,
    called: Option<Called>,
    start: usize,
    /// Where the search for the closing mark goes on.
    search: usize,
    /// The closing mark of the string that is open.
    string: Option<String>,
}

impl WholeBody {
    pub(super) fn new(form: &Arc<CallForm>, called: Option<Called>, at: usize) -> Self {
        Self {
            form: Arc::clone(form),
            called,
            start: at,
            search: at,
            string: None,
        }
    }

    /// Finds the closing mark, which counts outside of strings only.
    fn find_close(&mut self, input: &Input<'_>) -> Result<(usize, usize), Wait> {
        let form = Arc::clone(&self.form);
        let none = Vec::new();
        let strings = match &form.body {
            CallBody::Loose(loose) => &loose.strings,
            _ => &none,
        };
        let opens: Vec<&str> = strings.iter().map(|(open, _)| open.as_str()).collect();
        let is_json = matches!(form.body, CallBody::Loose(_));
        while let Some(c) = input.from(self.search).chars().next() {
            let rest = input.from(self.search);
            match mark_at(rest, input.stops) {
                MarkAt::Finding { .. } => return Err(Wait::Cut),
                MarkAt::Partial if !input.end => return Err(Wait::More),
                _ => {}
            }
            if let Some(close) = &self.string {
                match mark_at(rest, &[close.as_str()]) {
                    MarkAt::Finding { length, .. } => {
                        self.search += length;
                        self.string = None;
                    }
                    MarkAt::Partial if !input.end => return Err(Wait::More),
                    // A quote that is escaped does not close.
                    _ if c == '\\' && close == "\"" => match rest.chars().nth(1) {
                        None if !input.end => return Err(Wait::More),
                        next => self.search += 1 + next.map_or(0, char::len_utf8),
                    },
                    _ => self.search += c.len_utf8(),
                }
                continue;
            }
            match input.longest_mark(self.search, &form.close) {
                MarkAt::Finding { length, .. } => {
                    match self.closes(input, self.search + length) {
                        Some(true) => return Ok((self.search, length)),
                        Some(false) => self.search += length,
                        None => return Err(Wait::More),
                    }
                    continue;
                }
                MarkAt::Partial if !input.end => return Err(Wait::More),
                _ => {}
            }
            match mark_at(rest, &opens) {
                MarkAt::Finding { index, length } => {
                    self.search += length;
                    self.string = strings.get(index).map(|(_, close)| close.clone());
                }
                MarkAt::Partial if !input.end => return Err(Wait::More),
                _ => {
                    if is_json && c == '"' {
                        self.string = Some("\"".to_owned());
                    }
                    self.search += c.len_utf8();
                }
            }
        }
        if input.end {
            Err(Wait::Cut)
        } else {
            Err(Wait::More)
        }
    }

    /// Whether a closing mark that ends at `at` closes the body. `None` if more
    /// text is needed to decide.
    fn closes(&self, input: &Input<'_>, at: usize) -> Option<bool> {
        match (&self.form.body, &self.called) {
            (CallBody::Lines { colon, .. }, Some(called)) => {
                lines::closes(input, &called.name, colon, at)
            }
            _ => Some(true),
        }
    }

    /// Reports the call whose body ends before `end`.
    fn tell(&self, input: &Input<'_>, out: &mut Findings, end: usize) -> Result<(), Problem> {
        let unreadable = || {
            let span = Span::new(self.start, end);
            Problem::new(ProblemCode::Malformed, UNREADABLE, span)
        };
        match &self.form.body {
            CallBody::Loose(loose) => self.tell_json(input, out, end, loose),
            CallBody::Lines { between, colon } => {
                let called = self.called.as_ref().ok_or_else(unreadable)?;
                let mut values = NamedValues::new(called.name.clone());
                lines::read(&mut values, input, between, colon, self.start..end);
                values.finish(out, self.start..end, Whole::Yes);
                Ok(())
            }
            CallBody::Json(_) | CallBody::Tags(_) => Err(unreadable()),
        }
    }

    /// Reports the calls of a body in a notation of its own. Whatever is wrong
    /// with its JSON is repaired, or a problem, as in calls of any dialect.
    fn tell_json(
        &self,
        input: &Input<'_>,
        out: &mut Findings,
        end: usize,
        notation: &Loose,
    ) -> Result<(), Problem> {
        let span = Span::new(self.start, end);
        let json = loose::to_json(notation, input.slice(self.start..end));
        let (json, mut notes) = self.mended(json, span)?;
        let readings = match &self.called {
            Some(called) => vec![read_arguments(called, json.trim(), span)?],
            None => read_objects(&json, input, span)?,
        };
        // The body belongs to the first call, as it cannot be divided.
        let mut range = self.start..end;
        for reading in readings {
            out.start(&reading.name);
            out.delta(&reading.args_json);
            out.piece(SpanKind::Call, range.clone());
            let problems = std::mem::take(&mut notes);
            let mut call = reading.into_call(Status::Complete, problems, range);
            if call.problems.iter().any(|problem| !problem.is_fault()) {
                call.status = Status::Repaired;
            }
            out.call(call);
            range = end..end;
        }
        Ok(())
    }

    /// The JSON of a body, repaired if need be, and what was repaired. What was
    /// not closed is not completed: the model has to send it again.
    fn mended(&self, json: String, span: Span) -> Result<(String, Vec<Problem>), Problem> {
        if serde_json::from_str::<IgnoredAny>(&json).is_ok() {
            return Ok((json, Vec::new()));
        }
        let unreadable = || Problem::new(ProblemCode::Malformed, UNREADABLE, span);
        let repaired = repair(&json).map_err(|_| unreadable())?;
        let is_guess = is_doubtful(&repaired, !self.form.close.is_empty())
            || guesses_last_quote(&repaired, &json);
        if repaired.end != End::Closed || is_guess {
            return Err(unreadable());
        }
        let fixes = repaired.fixes.iter();
        let notes = fixes.map(|fix| Problem::new(fix.code, repair_message(fix.code), span));
        Ok((repaired.json, notes.collect()))
    }
}

const UNREADABLE: &str = "The arguments between the marks cannot be read";

/// The calls of an object, or of a list of them.
fn read_objects<'t>(
    json: &'t str,
    input: &Input<'_>,
    span: Span,
) -> Result<Vec<ObjectCall<'t>>, Problem> {
    if !json.trim_start().starts_with('[') {
        return Ok(vec![read_object(json.trim(), input, span)?]);
    }
    let unreadable = |message: &str| Problem::new(ProblemCode::Malformed, message, span);
    let elements: Vec<&'t RawValue> =
        serde_json::from_str(json).map_err(|_| unreadable(UNREADABLE))?;
    if elements.is_empty() {
        return Err(unreadable("The list of calls is empty"));
    }
    let elements = elements.into_iter();
    elements
        .map(|element| read_object(element.get(), input, span))
        .collect()
}

/// Why a closing mark was not found.
enum Wait {
    More,
    /// The reply, or what the call stands in, ends before it.
    Cut,
}

impl Reader for WholeBody {
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        match self.find_close(input) {
            Err(Wait::More) => Step::More,
            Ok((at, length)) => {
                let end = at + length;
                if let Err(problem) = self.tell(input, out, at) {
                    out.unreadable(problem.code, problem.message, 0..end, input.slice(0..end));
                }
                Step::Done(end)
            }
            // Without a closing mark in the form, the end of the reply closes.
            Err(Wait::Cut) if self.form.close.is_empty() && self.string.is_none() => {
                let end = cut_end(input, self.start);
                if let Err(problem) = self.tell(input, out, end) {
                    out.unreadable(problem.code, problem.message, 0..end, input.slice(0..end));
                }
                Step::Done(end)
            }
            Err(Wait::Cut) => {
                let end = botched_end(input, self.start, &self.form.close)
                    .unwrap_or(input.text.len())
                    .max(cut_end(input, self.start));
                let message = "The reply ends inside a call".to_owned();
                out.unreadable(ProblemCode::Truncated, message, 0..end, input.slice(0..end));
                Step::Done(end)
            }
        }
    }
}
