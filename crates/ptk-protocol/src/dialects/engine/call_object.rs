//! A call written as a JSON object: `{"tool": …, "args": …}` and its cousins.

use std::borrow::Cow;

use serde_json::Value;

use crate::json::scan::{Member, Scan, Scanner};
use crate::parse::{Findings, Input};
use crate::{Arguments, Problem, ProblemCode, Span};

/// Keys under which models give the tool's name.
const NAME_KEYS: &[&str] = &["tool", "name", "tool_name", "function", "function_name"];
/// Keys under which models give the arguments.
const ARGS_KEYS: &[&str] = &["args", "arguments", "parameters", "params", "input"];
/// Keys that say something about the call and are no arguments.
const REASON_KEYS: &[&str] = &["reasoning", "reason", "thought"];
const ID_KEYS: &[&str] = &["id", "call_id", "tool_call_id"];
const OTHER_KEYS: &[&str] = &["type", "index"];

/// Whether an object that starts with this key may be a call.
pub(crate) fn is_call_key(key: &str) -> bool {
    [NAME_KEYS, ARGS_KEYS, REASON_KEYS, ID_KEYS, OTHER_KEYS]
        .iter()
        .any(|keys| keys.contains(&key))
}

/// What the members of an object say as a call.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) name: String,
    pub(crate) args: Arguments,
    /// The arguments as they stand in the text.
    pub(crate) args_json: String,
    pub(crate) reasoning: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) problems: Vec<Problem>,
    /// Whether the arguments have an object of their own that closed.
    pub(crate) args_closed: bool,
    /// Whether the keys are PTK's own, `tool` and `args`.
    pub(crate) own_keys: bool,
}

/// Reads one call object while it arrives: announces the call as soon as its
/// name is known, and passes on its arguments as far as they are settled.
#[derive(Debug)]
pub(crate) struct CallObject {
    start: usize,
    scanner: Scanner,
    seen: usize,
    name: Option<String>,
    /// The index of the member that holds the arguments.
    args: Option<usize>,
    live: Option<Live>,
}

/// A call that was announced: its name, and where the next fragment starts.
#[derive(Debug, Clone)]
pub(crate) struct Live {
    name: String,
    args_start: usize,
    sent: usize,
}

impl CallObject {
    /// A reader for the object that starts at `start`.
    pub(crate) fn new(start: usize) -> Self {
        Self {
            start,
            scanner: Scanner::new(start),
            seen: 0,
            name: None,
            args: None,
            live: None,
        }
    }

    /// Where the object starts.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// Reads on.
    pub(crate) fn advance(&mut self, input: &Input<'_>, out: &mut Findings) -> Scan {
        let scan = self.scanner.scan(input.text);
        self.announce(input, out);
        scan
    }

    /// From where on the object may have been misread.
    pub(crate) fn doubtful_from(&self) -> usize {
        self.scanner.doubtful_from()
    }

    fn announce(&mut self, input: &Input<'_>, out: &mut Findings) {
        while let Some(member) = self.scanner.members.get(self.seen) {
            let Some(key) = text_of(input.slice(member.key.clone())) else {
                self.seen += 1;
                continue;
            };
            if NAME_KEYS.contains(&&*key) && self.name.is_none() {
                if !member.closed {
                    break;
                }
                if let Some(name) = text_of(input.slice(member.value.clone()))
                    && input.knows(&name)
                {
                    self.name = Some(name.into_owned());
                }
            } else if ARGS_KEYS.contains(&&*key) && self.args.is_none() {
                let start = member.value.start;
                if start == member.key.end {
                    break;
                }
                if input.byte(start) == Some(b'{') {
                    self.args = Some(self.seen);
                }
            }
            self.seen += 1;
        }
        let Some(args) = self.args.and_then(|args| self.scanner.members.get(args)) else {
            return;
        };
        if self.live.is_none()
            && let Some(name) = &self.name
        {
            out.start(name);
            self.live = Some(Live {
                name: name.clone(),
                args_start: args.value.start,
                sent: args.value.start,
            });
        }
        if let Some(live) = &mut self.live {
            let mut end = self.scanner.settled();
            if args.closed {
                end = end.min(args.value.end);
            }
            if end > live.sent {
                out.delta(input.slice(live.sent..end));
                live.sent = end;
            }
        }
    }

    /// What the object says, once it is whole.
    pub(crate) fn reading(&self, input: &Input<'_>, end: usize) -> Result<Reading, Problem> {
        let span = Span::new(self.start, end);
        read_members(input.text, &self.scanner.members, input, span)
    }

    /// Sends what is left of the arguments. `None` if what was sent already
    /// contradicts them: the call can then no longer be told right.
    pub(crate) fn complete(
        &self,
        reading: &Reading,
        input: &Input<'_>,
        out: &mut Findings,
    ) -> Option<()> {
        let Some(live) = &self.live else {
            out.start(&reading.name);
            out.delta(&reading.args_json);
            return Some(());
        };
        if live.name != reading.name {
            return None;
        }
        let rest = reading
            .args_json
            .strip_prefix(input.slice(live.args_start..live.sent))?;
        out.delta(rest);
        Some(())
    }

    /// The name under which the call was announced.
    pub(crate) fn announced(&self) -> Option<&str> {
        self.live.as_ref().map(|live| live.name.as_str())
    }
}

/// Reads a JSON object that stands alone, such as the outcome of a repair.
pub(crate) fn read_object(json: &str, input: &Input<'_>, span: Span) -> Result<Reading, Problem> {
    let mut scanner = Scanner::new(0);
    match scanner.scan(json) {
        Scan::Done(_) => read_members(json, &scanner.members, input, span),
        Scan::More | Scan::Fault(_) => Err(malformed(
            "The call is not a JSON object",
            span.start,
            span.end,
        )),
    }
}

fn read_members(
    text: &str,
    members: &[Member],
    input: &Input<'_>,
    span: Span,
) -> Result<Reading, Problem> {
    let members: Vec<(Cow<'_, str>, &str)> = members
        .iter()
        .filter_map(|member| {
            let key = text_of(text.get(member.key.clone())?)?;
            Some((key, text.get(member.value.clone())?))
        })
        .collect();
    let (name, name_at) = find_name(&members, input);
    let text_member = |keys: &[&str]| {
        members
            .iter()
            .enumerate()
            .find(|(at, (key, _))| Some(*at) != name_at && keys.contains(&&**key))
            .and_then(|(_, (_, value))| text_of(value))
            .map(Cow::into_owned)
    };
    let Some(name) = name else {
        if let Some(inner) = members
            .iter()
            .find(|(key, value)| NAME_KEYS.contains(&&**key) && value.starts_with('{'))
        {
            let mut reading = read_object(inner.1, input, span)?;
            reading.reasoning = reading.reasoning.or_else(|| text_member(REASON_KEYS));
            reading.id = reading.id.or_else(|| text_member(ID_KEYS));
            return Ok(reading);
        }
        return Err(Problem::new(
            ProblemCode::MissingToolName,
            "Missing or invalid tool name",
            span,
        ));
    };
    let mut reading = Reading {
        name: name.into_owned(),
        args: Arguments::new(),
        args_json: "{}".to_owned(),
        reasoning: text_member(REASON_KEYS),
        id: text_member(ID_KEYS),
        problems: Vec::new(),
        args_closed: false,
        own_keys: members.iter().any(|(key, _)| key == "tool")
            && members.iter().any(|(key, _)| key == "args"),
    };
    let is_args = |at: usize, key: &str| Some(at) != name_at && ARGS_KEYS.contains(&key);
    let args = members
        .iter()
        .enumerate()
        .find(|(at, (key, value))| is_args(*at, key) && value.starts_with('{'))
        .or_else(|| {
            members
                .iter()
                .enumerate()
                .find(|(at, (key, _))| is_args(*at, key))
        });
    match args.map(|(_, (key, value))| (key, *value)) {
        Some((_, "null" | "\"\"")) => {}
        Some((_, object)) if object.starts_with('{') => {
            object.clone_into(&mut reading.args_json);
            reading.args_closed = true;
        }
        Some((key, string)) if string.starts_with('"') => {
            match text_of(string).as_deref().and_then(object_in_string) {
                Some((json, repairs)) => {
                    reading.args_json = json;
                    reading.problems.push(Problem::new(
                        ProblemCode::StringifiedArguments,
                        format!("`{key}` is a string of JSON; write the object itself"),
                        span,
                    ));
                    reading.problems.extend(
                        repairs
                            .into_iter()
                            .map(|code| Problem::new(code, super::repair_message(code), span)),
                    );
                }
                None => flat_arguments(&members, name_at, span, &mut reading),
            }
        }
        Some((_, list)) if list.starts_with('[') => {
            reading
                .problems
                .push(invalid_args("args cannot be an array", span));
        }
        Some(_) => reading
            .problems
            .push(invalid_args("Missing or invalid args", span)),
        None => flat_arguments(&members, name_at, span, &mut reading),
    }
    reading.args = Arguments::from_json(&reading.args_json).map_err(|error| {
        malformed(
            &format!("Arguments cannot be read: {error}"),
            span.start,
            span.end,
        )
    })?;
    Ok(reading)
}

/// The tool's name and the index of the member that gave it: the first that
/// names a declared tool, or else the first at all.
fn find_name<'a>(
    members: &[(Cow<'a, str>, &'a str)],
    input: &Input<'_>,
) -> (Option<Cow<'a, str>>, Option<usize>) {
    let mut first = (None, None);
    for (at, (key, value)) in members.iter().enumerate() {
        if !NAME_KEYS.contains(&&**key) {
            continue;
        }
        let Some(name) = text_of(value) else { continue };
        if name.trim().is_empty() {
            continue;
        }
        if input.knows(&name) {
            return (Some(name), Some(at));
        }
        if first.1.is_none() {
            first = (Some(name), Some(at));
        }
    }
    first
}

/// Arguments that stand beside the tool's name.
fn flat_arguments(
    members: &[(Cow<'_, str>, &str)],
    name_at: Option<usize>,
    span: Span,
    reading: &mut Reading,
) {
    let mut json = String::from("{");
    for (at, (key, value)) in members.iter().enumerate() {
        let about_the_call = [REASON_KEYS, ID_KEYS, OTHER_KEYS]
            .iter()
            .any(|keys| keys.contains(&&**key));
        if Some(at) == name_at || about_the_call {
            continue;
        }
        if json.len() > 1 {
            json.push(',');
        }
        json.push_str(&Value::String(key.to_string()).to_string());
        json.push(':');
        json.push_str(value);
    }
    json.push('}');
    if json.len() > 2 {
        reading.args_json = json;
        reading.problems.push(Problem::new(
            ProblemCode::FlatArguments,
            "The arguments stand beside the name; put them into `args`",
            span,
        ));
    }
}

/// The JSON object that a string holds, with the repairs it needed.
fn object_in_string(text: &str) -> Option<(String, Vec<ProblemCode>)> {
    let text = text.trim();
    if !text.starts_with('{') {
        return None;
    }
    let repaired = crate::json::repair(text).ok()?;
    if repaired.end != crate::json::End::Closed || !repaired.json.starts_with('{') {
        return None;
    }
    let codes = repaired.fixes.iter().map(|fix| fix.code).collect();
    Some((repaired.json, codes))
}

/// The text of a JSON string, borrowed where nothing in it is escaped.
fn text_of(json: &str) -> Option<Cow<'_, str>> {
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        serde_json::from_str(json).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

fn invalid_args(message: &str, span: Span) -> Problem {
    Problem::new(ProblemCode::InvalidArguments, message, span)
}

fn malformed(message: &str, start: usize, end: usize) -> Problem {
    Problem::new(ProblemCode::Malformed, message, Span::new(start, end))
}
