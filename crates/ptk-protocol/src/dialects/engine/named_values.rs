//! Calls whose arguments are named one by one, with values as raw text: the
//! JSON of the arguments is put together while they come in.

use serde_json::{Map, Value};

use super::elements::{Elements, MixedElements};
use super::tags::decode;
use crate::arguments::has_inexact_number;
use crate::json::scan::{Scan, Scanner};
use crate::json::{End, escape_into, repair};
use crate::parse::{Findings, FoundCall, Input, floor};
use crate::schema::{
    Schema, TextKind, allows_string, coerce_plain, coerce_text, is_open, text_kind,
};
use crate::{Arguments, Problem, ProblemCode, Span, SpanKind, Status};

/// The arguments of one call, as far as they have come in.
#[derive(Debug)]
pub(crate) struct NamedValues {
    name: String,
    started: bool,
    /// JSON of the arguments that was not sent yet.
    pending: String,
    members: Map<String, Value>,
    /// The JSON of members whose numbers would lose digits otherwise.
    exact: Vec<(String, String)>,
    /// The string that is coming in, and its name.
    string: Option<(String, String)>,
    is_too_deep: bool,
    reasoning: Option<String>,
    problems: Vec<Problem>,
    open: Option<OpenValue>,
}

/// A value that is coming in as raw text.
#[derive(Debug)]
struct OpenValue {
    key: String,
    stage: Stage,
    /// How many bytes of the raw text were processed.
    taken: usize,
    /// Whether entities of XML are decoded.
    decodes: bool,
}

/// What is known of the type of a value while it comes in.
#[derive(Debug)]
enum Stage {
    /// A string, which is sent as it comes in.
    Text,
    /// The type is not known yet: it may be JSON, or a string.
    Undecided(Option<Scanner>),
    /// A value of another type, which is sent as a whole.
    Typed { as_json: bool },
}

/// What the markup around a value says of its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Says {
    /// The type is not given: the tool's schema decides, or else the value
    /// itself.
    Nothing,
    /// The value is a string.
    Text,
    /// The value is JSON.
    Json,
}

/// From this length on a string grows in small steps.
const LONG_TEXT: usize = 1 << 20;

/// The longest entity of XML that is decoded.
const MAX_ENTITY: usize = 12;

impl NamedValues {
    /// A call of the tool `name` without arguments yet.
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            started: false,
            pending: String::from("{"),
            members: Map::new(),
            exact: Vec::new(),
            string: None,
            is_too_deep: false,
            reasoning: None,
            problems: Vec::new(),
            open: None,
        }
    }

    /// Begins an argument whose value comes in as raw text.
    pub(crate) fn open(&mut self, key: &str, says: Says, decodes: bool, input: &Input<'_>) {
        let schema = self.schema(key, input);
        let stage = match says {
            Says::Json => Stage::Typed { as_json: true },
            Says::Text if allows_string(schema) => Stage::Text,
            Says::Text => Stage::Typed { as_json: false },
            Says::Nothing => match text_kind(schema) {
                TextKind::String => Stage::Text,
                TextKind::Typed if is_open(schema) => Stage::Undecided(None),
                TextKind::Typed => Stage::Typed { as_json: false },
            },
        };
        self.open = Some(OpenValue {
            key: key.to_owned(),
            stage,
            taken: 0,
            decodes,
        });
        if let Some(OpenValue {
            stage: Stage::Text, ..
        }) = &self.open
        {
            self.open_string(key);
        }
    }

    /// Begins an argument that is not sent before it has ended.
    pub(crate) fn open_whole(&mut self, key: &str, decodes: bool) {
        self.open = Some(OpenValue {
            key: key.to_owned(),
            stage: Stage::Typed { as_json: false },
            taken: 0,
            decodes,
        });
    }

    /// Takes more of the open value: `raw` starts with all that was given
    /// before.
    pub(crate) fn grow(&mut self, raw: &str) {
        let Some(open) = &mut self.open else {
            return;
        };
        if let Stage::Undecided(scanner) = &mut open.stage {
            if !is_surely_text(raw, scanner, &mut open.taken) {
                return;
            }
            open.taken = 0;
            open.stage = Stage::Text;
            let key = open.key.clone();
            self.open_string(&key);
        }
        self.take_text(raw, false);
    }

    /// Appends further text of a string to the JSON.
    fn take_text(&mut self, raw: &str, whole: bool) {
        let Some(open) = &mut self.open else {
            return;
        };
        if !matches!(open.stage, Stage::Text) {
            return;
        }
        let mut rest = raw.get(open.taken..).unwrap_or("");
        if open.decodes {
            if !whole {
                let tail = floor(rest, rest.len().saturating_sub(MAX_ENTITY));
                let cut = rest.get(tail..).and_then(|tail| tail.rfind('&'));
                rest = rest
                    .get(..cut.map_or(rest.len(), |cut| tail + cut))
                    .unwrap_or("");
            }
            open.taken += rest.len();
            self.append(&decode(rest));
        } else {
            open.taken += rest.len();
            self.append(rest);
        }
    }

    /// Closes the open value, which is whole.
    pub(crate) fn close(&mut self, raw: &str, input: &Input<'_>) {
        self.grow(raw);
        self.take_text(raw, true);
        let Some(open) = self.open.take() else {
            return;
        };
        let decoded = if open.decodes {
            decode(raw)
        } else {
            raw.into()
        };
        match open.stage {
            Stage::Text => self.close_string(),
            Stage::Typed { as_json: true } => self.declared_json(&open.key, &decoded, input),
            Stage::Typed { .. } | Stage::Undecided(_) => self.text(&open.key, &decoded, input),
        }
    }

    /// Begins an argument that is a string and comes in piece by piece.
    pub(crate) fn open_string(&mut self, key: &str) {
        self.begin_member(key);
        self.pending.push('"');
        self.string = Some((key.to_owned(), String::new()));
    }

    /// Appends the next piece of the string that is coming in.
    pub(crate) fn append(&mut self, text: &str) {
        escape_into(&mut self.pending, text);
        if let Some((_, string)) = &mut self.string {
            reserve(string, text.len());
            string.push_str(text);
        }
    }

    /// Closes the string that was coming in.
    pub(crate) fn close_string(&mut self) {
        self.pending.push('"');
        if let Some((key, string)) = self.string.take() {
            self.members.insert(key, Value::String(string));
        }
    }

    /// Whether the open value is a string, so that pieces of it can be given
    /// with [`append`](Self::append).
    pub(crate) fn is_text(&self) -> bool {
        let open = self.open.as_ref();
        open.is_some_and(|open| matches!(open.stage, Stage::Text))
    }

    /// Closes the open value, which is a quoted string: a string, unless the
    /// schema allows none there. Where it is one, `value` is what is left.
    pub(crate) fn close_verbatim(&mut self, value: &str, input: &Input<'_>) {
        let Some(open) = self.open.take() else {
            return;
        };
        if matches!(open.stage, Stage::Text) {
            self.append(value);
            self.close_string();
        } else {
            self.verbatim(&open.key, value, input);
        }
    }

    /// Adds a list whose items came one by one. A single item that is a list
    /// itself, or nothing but elements, is the whole list.
    pub(crate) fn list(
        &mut self,
        key: &str,
        items: &[String],
        elements: Elements<'_>,
        input: &Input<'_>,
    ) {
        let schema = self.schema(key, input);
        let item = schema.and_then(|schema| schema.resolved().items());
        let found = match items {
            [only] => elements.json(only, schema),
            several => elements.parts(several, item).map(Some),
        };
        match found {
            Ok(Some(json)) => self.json(key, &json),
            Ok(None) => self.text(key, &items.concat(), input),
            Err(mixed) => {
                self.text(key, &items.concat(), input);
                self.mixed(key, mixed);
            }
        }
    }

    /// Notes that a value is neither elements nor a plain text.
    pub(crate) fn mixed(&mut self, key: &str, _: MixedElements) {
        let message = format!(
            "`{key}` has text between its elements, or elements that do not fit; write an element for each item and nothing between them"
        );
        self.problem(ProblemCode::InvalidArguments, &message, 0..0);
    }

    /// Closes the open value, which is this JSON. What was given of it before
    /// was not sent.
    pub(crate) fn close_json(&mut self, json: &str) {
        if let Some(open) = self.open.take() {
            self.json(&open.key, json);
        }
    }

    /// Whether an argument is coming in.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Adds an argument that the markup declares as JSON.
    fn declared_json(&mut self, key: &str, raw: &str, input: &Input<'_>) {
        let literal = raw.trim();
        if serde_json::from_str::<serde::de::IgnoredAny>(literal).is_ok() {
            self.json(key, literal);
        } else if !self.mended(key, literal) {
            self.text(key, raw, input);
        }
    }

    /// The tool's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Sets the model's reason for the call.
    pub(crate) fn set_reasoning(&mut self, reasoning: String) {
        self.reasoning = Some(reasoning);
    }

    /// Notes a repair or a fault; `range` is relative to the construct.
    pub(crate) fn note(&mut self, code: ProblemCode, range: std::ops::Range<usize>) {
        self.problem(code, super::repair_message(code), range);
    }

    /// Notes a problem with a message of its own.
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
            self.open_string(key);
            self.append(value);
            self.close_string();
        } else {
            self.text(key, value, input);
        }
    }

    /// Adds an argument given as JSON.
    pub(crate) fn json(&mut self, key: &str, json: &str) {
        self.begin_member(key);
        self.pending.push_str(json);
        if let Ok(value) = serde_json::from_str(json) {
            self.members.insert(key.to_owned(), value)
        } else {
            self.is_too_deep = true;
            None
        };
        self.exact.retain(|(known, _)| known != key);
        if has_inexact_number(json) {
            self.exact.push((key.to_owned(), json.to_owned()));
        }
    }

    /// Begins the next member of the JSON.
    fn begin_member(&mut self, key: &str) {
        if !self.members.is_empty() {
            self.pending.push(',');
        }
        self.pending.push('"');
        escape_into(&mut self.pending, key);
        self.pending.push_str("\":");
    }

    /// Takes a whole object of arguments, given as JSON.
    pub(crate) fn object(&mut self, json: &str) {
        match Arguments::from_json(json) {
            Ok(object) => {
                for (key, _, json) in object.members() {
                    self.json(key, &json);
                }
            }
            Err(_) => self.is_too_deep = true,
        }
    }

    /// Announces the call and sends what has come in since the last time.
    pub(crate) fn send(&mut self, out: &mut Findings) {
        if !self.started {
            out.start(&self.name);
            self.started = true;
        }
        out.delta(&self.pending);
        self.pending.clear();
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
            self.pending.push('}');
        }
        self.send(out);
        if whole == Whole::No {
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
        if self.is_too_deep {
            let span = Span::new(range.start, range.end);
            let message = "The arguments are nested too deeply to be read";
            self.problems
                .push(Problem::new(ProblemCode::Malformed, message, span));
            self.members.clear();
        }
        let args = Arguments::with_exact(self.members, &self.exact);
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

/// Makes room for more text. A long string grows in small steps, so that it
/// takes no more room than it needs.
fn reserve(string: &mut String, more: usize) {
    let needed = string.len() + more;
    if needed > string.capacity() {
        let step = if needed > LONG_TEXT {
            needed / 128
        } else {
            needed
        };
        string.reserve_exact(more + step);
    }
}

/// Whether a value that starts with `raw` cannot be JSON, whatever follows.
/// `checked` keeps how much of a number was looked at.
fn is_surely_text(raw: &str, scanner: &mut Option<Scanner>, checked: &mut usize) -> bool {
    let lead = raw.trim_start();
    let start = raw.len() - lead.len();
    let may_become = |word: &str| {
        let lead = lead.get(..floor(lead, word.len() + 1)).unwrap_or("");
        word.starts_with(lead.trim_end())
            && !lead.is_empty()
            && lead.get(word.len()..).unwrap_or("").trim().is_empty()
    };
    match lead.bytes().next() {
        None => false,
        Some(b'{' | b'[') => {
            let scanner = scanner.get_or_insert_with(|| Scanner::new(start));
            match scanner.scan(raw) {
                Scan::More => false,
                Scan::Fault(_) => true,
                Scan::Done(end) => !raw.get(end..).unwrap_or("").trim().is_empty(),
            }
        }
        Some(b'-' | b'0'..=b'9') => {
            let from = (*checked).max(start);
            *checked = raw.len();
            raw.bytes().skip(from).any(|byte| {
                !matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')
                    && !byte.is_ascii_whitespace()
            })
        }
        Some(b't') => !may_become("true"),
        Some(b'f') => !may_become("false"),
        Some(b'n') => !may_become("null"),
        Some(_) => true,
    }
}

/// Whether a call is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whole {
    /// The arguments closed.
    Yes,
    /// Every argument closed, but nothing says that it was the last.
    Unsure,
    /// The call was cut off.
    No,
}
