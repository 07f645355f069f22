//! Bodies that are read when they are whole: JSON in a notation of its own, and
//! arguments line by line.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::form::{CallBody, CallForm, Loose};
use super::{lines, loose};
use crate::dialects::engine::botched::{botched_end, cut_end};
use crate::dialects::engine::call_object::Called;
use crate::dialects::engine::named_values::{NamedValues, Whole};
use crate::parse::{Findings, FoundCall, Input, MarkAt, Reader, Step, mark_at};
use crate::{Arguments, ProblemCode, SpanKind, Status};

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
            match mark_at(rest, &form.close) {
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
    fn tell(&self, input: &Input<'_>, out: &mut Findings, end: usize) -> Result<(), ()> {
        let body = input.slice(self.start..end);
        match &self.form.body {
            CallBody::Loose(loose) => self.tell_json(out, end, loose, body),
            CallBody::Lines { between, colon } => {
                let called = self.called.as_ref().ok_or(())?;
                let mut values = NamedValues::new(called.name.clone());
                lines::read(&mut values, input, between, colon, self.start..end);
                values.finish(out, self.start..end, Whole::Yes);
                Ok(())
            }
            CallBody::Json(_) | CallBody::Tags(_) => Err(()),
        }
    }

    fn tell_json(
        &self,
        out: &mut Findings,
        end: usize,
        notation: &Loose,
        body: &str,
    ) -> Result<(), ()> {
        let json = loose::to_json(notation, body);
        if let Some(called) = &self.called {
            let args = Arguments::from_json(json.trim()).map_err(|_| ())?;
            let id = called.id.clone();
            report(out, called.name.clone(), id, args, self.start..end);
            return Ok(());
        }
        let calls: Vec<RawObject> = match serde_json::from_str(&json) {
            Ok(calls) => calls,
            Err(_) => vec![serde_json::from_str(&json).map_err(|_| ())?],
        };
        let keys = |own: &[String], usual: &[&str]| -> Vec<String> {
            let usual = usual.iter().map(|key| (*key).to_owned());
            own.iter().cloned().chain(usual).collect()
        };
        let names = keys(&self.form.keys.name, &["name"]);
        let args = keys(&self.form.keys.args, &["arguments", "parameters"]);
        let mut found = Vec::new();
        for call in &calls {
            let get = |keys: &[String]| keys.iter().find_map(|key| call.get(key.as_str()));
            let text = |raw: &RawValue| serde_json::from_str::<String>(raw.get()).ok();
            let name = get(&names).and_then(|raw| text(raw)).ok_or(())?;
            let args = match get(&args) {
                Some(args) => Arguments::from_json(args.get()).map_err(|_| ())?,
                None => Arguments::new(),
            };
            found.push((name, call.get("id").and_then(|raw| text(raw)), args));
        }
        if found.is_empty() {
            return Err(());
        }
        // The body belongs to the first call, as it cannot be divided.
        let mut range = self.start..end;
        for (name, id, args) in found {
            report(out, name, id, args, range);
            range = end..end;
        }
        Ok(())
    }
}

/// An object whose values stay as they are written.
type RawObject = HashMap<String, Box<RawValue>>;

/// Reports a whole call.
fn report(
    out: &mut Findings,
    name: String,
    id: Option<String>,
    args: Arguments,
    range: std::ops::Range<usize>,
) {
    out.start(&name);
    out.delta(&args.to_json());
    out.piece(SpanKind::Call, range.clone());
    out.call(FoundCall {
        name,
        args,
        reasoning: None,
        id,
        status: Status::Complete,
        problems: Vec::new(),
        open_ended: false,
        range,
    });
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
                if self.tell(input, out, at).is_err() {
                    let message = "The arguments between the marks cannot be read".to_owned();
                    out.unreadable(ProblemCode::Malformed, message, 0..end, input.slice(0..end));
                }
                Step::Done(end)
            }
            // Without a closing mark in the form, the end of the reply closes.
            Err(Wait::Cut) if self.form.close.is_empty() && self.string.is_none() => {
                let end = cut_end(input, self.start);
                if self.tell(input, out, end).is_err() {
                    let message = "The arguments of the call cannot be read".to_owned();
                    out.unreadable(ProblemCode::Malformed, message, 0..end, input.slice(0..end));
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
