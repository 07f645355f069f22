//! Calls whose arguments are named one by one, with values as raw text: the
//! JSON of the arguments is put together while they come in.

use serde_json::Value;

use crate::json::{End, repair};
use crate::parse::{Findings, FoundCall, Input};
use crate::schema::{Schema, allows_string, coerce_plain, coerce_text};
use crate::{Arguments, Problem, ProblemCode, Span, SpanKind, Status};

/// The arguments of one call, as far as they have come in.
#[derive(Debug)]
pub(crate) struct NamedValues {
    name: String,
    json: String,
    sent: usize,
    started: bool,
    reasoning: Option<String>,
    problems: Vec<Problem>,
}

impl NamedValues {
    /// A call of the tool `name` without arguments yet.
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            json: String::from("{"),
            sent: 0,
            started: false,
            reasoning: None,
            problems: Vec::new(),
        }
    }

    /// The tool's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The model's reason for the call.
    pub(crate) fn set_reasoning(&mut self, reasoning: String) {
        self.reasoning = Some(reasoning);
    }

    /// Notes a repair or a fault; `range` is relative to the construct.
    pub(crate) fn note(&mut self, code: ProblemCode, range: std::ops::Range<usize>) {
        self.problem(code, super::repair_message(code), range);
    }

    /// Notes a problem in words of its own.
    pub(crate) fn problem(
        &mut self,
        code: ProblemCode,
        message: &str,
        range: std::ops::Range<usize>,
    ) {
        let span = Span::new(range.start, range.end);
        self.problems.push(Problem::new(code, message, span));
    }

    /// Adds an argument given as raw text; the tool's schema decides its type.
    pub(crate) fn text(&mut self, key: &str, raw: &str, input: &Input<'_>) {
        let schema = self.schema(key, input);
        if !allows_string(schema) && self.mended(key, raw) {
            return;
        }
        let typed = coerce_text(raw, schema);
        self.json(key, &typed.to_json());
    }

    /// Adds a list or object that is not quite JSON, such as Python's. `false`
    /// where it is neither, or was cut off.
    pub(crate) fn mended(&mut self, key: &str, raw: &str) -> bool {
        let raw = raw.trim();
        let is_json = || serde_json::from_str::<serde::de::IgnoredAny>(raw).is_ok();
        if !raw.starts_with(['[', '{']) || is_json() {
            return false;
        }
        match repair(raw) {
            Ok(repaired)
                if repaired.end == End::Closed && repaired.json.starts_with(['[', '{']) =>
            {
                self.json(key, &repaired.json);
                for fix in repaired.fixes {
                    self.note(fix.code, 0..0);
                }
                true
            }
            _ => false,
        }
    }

    /// Adds an argument given as plain text, in a form that has quotes for
    /// strings.
    pub(crate) fn plain(&mut self, key: &str, raw: &str, input: &Input<'_>) {
        let typed = coerce_plain(raw, self.schema(key, input));
        self.json(key, &typed.to_json());
    }

    /// Adds an argument given as a quoted string: a string, unless the schema
    /// allows none there.
    pub(crate) fn verbatim(&mut self, key: &str, value: &str, input: &Input<'_>) {
        if allows_string(self.schema(key, input)) {
            self.json(key, &Value::String(value.to_owned()).to_string());
        } else {
            self.text(key, value, input);
        }
    }

    /// Adds an argument given as JSON.
    pub(crate) fn json(&mut self, key: &str, json: &str) {
        if self.json.len() > 1 {
            self.json.push(',');
        }
        self.json
            .push_str(&Value::String(key.to_owned()).to_string());
        self.json.push(':');
        self.json.push_str(json);
    }

    /// Takes a whole object of arguments, given as JSON.
    pub(crate) fn object(&mut self, json: &str) {
        let members = json.trim();
        let members = members.strip_prefix('{').unwrap_or(members);
        let members = members.strip_suffix('}').unwrap_or(members).trim();
        if members.is_empty() {
            return;
        }
        if self.json.len() > 1 {
            self.json.push(',');
        }
        self.json.push_str(members);
    }

    /// Announces the call and sends what has come in since the last time.
    pub(crate) fn send(&mut self, out: &mut Findings) {
        if !self.started {
            out.start(&self.name);
            self.started = true;
        }
        out.delta(self.json.get(self.sent..).unwrap_or(""));
        self.sent = self.json.len();
    }

    /// Whether the call was announced, so that it can no longer be rejected.
    pub(crate) fn is_sent(&self) -> bool {
        self.started
    }

    /// Ends the call: its body stands at `range`.
    pub(crate) fn finish(
        mut self,
        out: &mut Findings,
        range: std::ops::Range<usize>,
        whole: Whole,
    ) {
        if whole != Whole::No {
            self.json.push('}');
        }
        self.send(out);
        if whole == Whole::No {
            self.json.push('}');
            self.problem(
                ProblemCode::Truncated,
                "The call was cut off before its arguments closed; send it again, whole",
                range.clone(),
            );
        }
        let mut status = if self.problems.is_empty() {
            Status::Complete
        } else {
            Status::Repaired
        };
        let args = Arguments::from_json(&self.json).unwrap_or_else(|_| {
            let span = Span::new(range.start, range.end);
            let message = "The arguments are nested too deeply to be read";
            self.problems
                .push(Problem::new(ProblemCode::Malformed, message, span));
            Arguments::new()
        });
        if whole == Whole::No {
            status = Status::Truncated;
        }
        out.piece(SpanKind::Call, range.clone());
        out.call(FoundCall {
            name: self.name,
            args,
            reasoning: self.reasoning,
            id: None,
            status,
            problems: self.problems,
            open_ended: whole == Whole::Unsure,
            range,
        });
    }

    /// The schema of a parameter.
    pub(crate) fn schema<'a>(&self, key: &str, input: &Input<'a>) -> Option<Schema<'a>> {
        input.tools?.get(&self.name)?.schema().property(key)
    }
}

/// Whether a call came in to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whole {
    /// Its arguments closed.
    Yes,
    /// Every argument closed, but nothing says that it was the last.
    Unsure,
    /// It was cut off.
    No,
}
