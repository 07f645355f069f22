//! A call written as a JSON object: `{"tool": …, "args": …}` and variants.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

use crate::json::decode::Decoded;
use crate::json::scan::{Member, Scan, Scanner};
use crate::parse::{Findings, FoundCall, Input};
use crate::{Arguments, Problem, ProblemCode, Span, Status, ToolSpec};

/// Keys under which models give the tool's name.
const NAME_KEYS: &[&str] = &["tool", "name", "tool_name", "function", "function_name"];
/// Keys under which models give the arguments.
const ARGS_KEYS: &[&str] = &["args", "arguments", "parameters", "params", "input"];
/// Keys that say something about the call and are not arguments.
const REASON_KEYS: &[&str] = &["reasoning", "reason", "thought"];
const ID_KEYS: &[&str] = &["id", "call_id", "tool_call_id"];
const OTHER_KEYS: &[&str] = &["type", "index"];

/// Whether the tool's name stands under this key.
fn is_name_key(key: &str, input: &Input<'_>) -> bool {
    NAME_KEYS.contains(&key) || input.keys.name.iter().any(|known| known == key)
}

/// Whether the arguments stand under this key.
fn is_args_key(key: &str, input: &Input<'_>) -> bool {
    ARGS_KEYS.contains(&key) || input.keys.args.iter().any(|known| known == key)
}

/// Whether what stands under this key says something about the call.
fn is_about_the_call(key: &str) -> bool {
    [REASON_KEYS, ID_KEYS, OTHER_KEYS]
        .iter()
        .any(|keys| keys.contains(&key))
}

/// Whether an object that starts with this key may be a call.
pub(crate) fn is_call_key(key: &str) -> bool {
    [NAME_KEYS, ARGS_KEYS, REASON_KEYS, ID_KEYS, OTHER_KEYS]
        .iter()
        .any(|keys| keys.contains(&key))
}

/// Whether an object that has begun with these members can be nothing but a
/// call: it names a declared tool, and its arguments begin with one of the
/// tool's parameters.
pub(crate) fn begins_call(members: &[Member], input: &Input<'_>) -> bool {
    let key = |member: &Member| text_of(input.slice(member.key.clone()));
    let tool = members.iter().find_map(|member| {
        let is_name = member.closed && NAME_KEYS.contains(&&*key(member)?);
        let name = is_name.then(|| text_of(input.slice(member.value.clone())))??;
        input.tools?.get(&name)
    });
    let args = members.iter().find(|member| {
        key(member).is_some_and(|key| ARGS_KEYS.contains(&&*key))
            && member.value.start > member.key.end
    });
    let (Some(tool), Some(args)) = (tool, args) else {
        return false;
    };
    begins_arguments(input.from(args.value.start), tool) == Some(true)
}

/// Whether the name among these members is a declared tool's. `None` if there
/// is none yet.
pub(crate) fn names_declared(members: &[Member], input: &Input<'_>) -> Option<bool> {
    let key = |member: &Member| text_of(input.slice(member.key.clone()));
    let mut names = members
        .iter()
        .filter(|member| member.closed && key(member).is_some_and(|key| is_name_key(&key, input)))
        .filter_map(|member| text_of(input.slice(member.value.clone())))
        .peekable();
    names.peek()?;
    Some(names.any(|name| input.declares(&name)))
}

/// Whether an object begins like the arguments of a tool: with one of its
/// parameters, or empty. `None` if more text is needed to decide.
pub(crate) fn begins_arguments(object: &str, tool: &ToolSpec) -> Option<bool> {
    let inner = object.strip_prefix('{').unwrap_or("").trim_start();
    match inner.chars().next() {
        None => None,
        Some('}') => Some(true),
        Some('"') => {
            let (key, _) = inner.get(1..)?.split_once('"')?;
            let all = tool.properties();
            // A name with an escape in it is not compared.
            Some(
                key.contains('\\') || all.is_none_or(|all| all.is_empty() || all.contains_key(key)),
            )
        }
        Some(_) => Some(false),
    }
}

/// A call, as read from the members of an object.
#[derive(Debug)]
pub(crate) struct ObjectCall<'t> {
    pub(crate) name: String,
    pub(crate) args: Arguments,
    /// The arguments as they stand in the text.
    pub(crate) args_json: Cow<'t, str>,
    pub(crate) reasoning: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) problems: Vec<Problem>,
    /// Whether the arguments have an object of their own that closed.
    pub(crate) args_closed: bool,
    /// Whether the keys are PTK's own, `tool` and `args`.
    pub(crate) own_keys: bool,
}

impl ObjectCall<'_> {
    /// Converts it into a call, with the given problems before its own.
    pub(crate) fn into_call(
        self,
        status: Status,
        mut problems: Vec<Problem>,
        range: Range<usize>,
    ) -> FoundCall {
        problems.extend(self.problems);
        FoundCall {
            name: self.name,
            args: self.args,
            reasoning: self.reasoning,
            id: self.id,
            status,
            problems,
            open_ended: false,
            range,
        }
    }
}

/// Reads one call object while it arrives: announces the call as soon as its
/// name is known, and passes on its arguments as far as they are settled.
#[derive(Debug)]
pub(crate) struct CallObject {
    start: usize,
    scanner: Scanner,
    seen: usize,
    /// The tool's name, until the call is announced.
    name: Option<String>,
    /// The index of the member that holds the arguments.
    args: Option<usize>,
    live: Option<Live>,
    /// Whether the object is nothing but the arguments, and what it calls.
    called: Option<Called>,
    /// Whether the key is the tool's name: `{"f": {…}}`.
    by_key: bool,
}

/// The call whose name stands before its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Called {
    pub(crate) name: String,
    pub(crate) id: Option<String>,
    /// A mark that stands behind the arguments, before the closing mark.
    pub(crate) tail: Option<String>,
}

impl Called {
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            id: None,
            tail: None,
        }
    }

    pub(crate) fn with_id(mut self, id: Option<&str>) -> Self {
        self.id = id.map(str::to_owned);
        self
    }
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
            scanner: Scanner::decoding(start),
            seen: 0,
            name: None,
            args: None,
            live: None,
            called: None,
            by_key: false,
        }
    }

    /// A reader for an object whose key is the tool's name.
    pub(crate) fn by_key(start: usize) -> Self {
        Self {
            by_key: true,
            ..Self::new(start)
        }
    }

    /// A reader for the object that starts at `start` and is the arguments of
    /// a call whose name is known.
    pub(crate) fn arguments_of(called: Called, start: usize) -> Self {
        Self {
            called: Some(called),
            ..Self::new(start)
        }
    }

    /// Where the object starts.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// Reads on, and announces what became known.
    pub(crate) fn advance(&mut self, input: &Input<'_>, out: &mut Findings) -> Scan {
        let scan = self.scanner.scan(input.text);
        match &self.called {
            None => self.announce(input, out),
            Some(called) if input.knows(&called.name) => {
                let live = self.live.get_or_insert_with(|| {
                    out.start(&called.name);
                    Live {
                        name: called.name.clone(),
                        args_start: self.start,
                        sent: self.start,
                    }
                });
                let end = self.scanner.settled();
                if end > live.sent {
                    out.delta_at(live.sent..end);
                    live.sent = end;
                }
            }
            Some(_) => {}
        }
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
            if self.by_key && self.seen == 0 && input.knows(&key) {
                let start = member.value.start;
                if start == member.key.end {
                    break;
                }
                if input.byte(start) == Some(b'{') {
                    self.name = Some(key.into_owned());
                    self.args = Some(self.seen);
                }
            } else if is_name_key(&key, input) && self.name.is_none() && self.live.is_none() {
                if !member.closed {
                    break;
                }
                if let Some(name) = text_of(input.slice(member.value.clone()))
                    && input.knows(&name)
                {
                    self.name = Some(name.into_owned());
                }
            } else if is_args_key(&key, input) && self.args.is_none() {
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
            && let Some(name) = self.name.take()
        {
            out.start(&name);
            self.live = Some(Live {
                name,
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
                out.delta_at(live.sent..end);
                live.sent = end;
            }
        }
    }

    /// Reads the call, once the object is whole.
    pub(crate) fn reading<'t>(
        &mut self,
        input: &Input<'t>,
        end: usize,
    ) -> Result<ObjectCall<'t>, Problem> {
        let span = Span::new(self.start, end);
        let decoded = std::mem::take(&mut self.scanner.decoded);
        let members = &self.scanner.members;
        match &self.called {
            None if self.by_key => keyed_call(input.text, members, span).map_or_else(
                || read_members(input.text, members, decoded, input, span),
                Ok,
            ),
            None => read_members(input.text, members, decoded, input, span),
            Some(called) => {
                let json = input.slice(self.start..end);
                let args = Arguments::from_json_at(json, self.start, decoded);
                reading_of(called, json, args, span)
            }
        }
    }

    /// Sends what is left of the arguments. `None` if what was sent already
    /// contradicts them: the call can then no longer be reported correctly.
    pub(crate) fn complete(
        &self,
        reading: &ObjectCall<'_>,
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
        // Arguments that stand in the text as they are need no comparison.
        let end = live.args_start + reading.args_json.len();
        let stands = input.slice(live.args_start..end);
        if std::ptr::eq(stands, &raw const *reading.args_json) {
            out.delta_at(live.sent..end);
            return Some(());
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

/// Reads `{"f": {…}}`.
fn keyed_call<'t>(text: &'t str, members: &[Member], span: Span) -> Option<ObjectCall<'t>> {
    let [member] = members else {
        return None;
    };
    let name = text_of(text.get(member.key.clone())?)?.into_owned();
    let json = text.get(member.value.clone())?;
    let called = Called::new(name);
    let reading = json
        .starts_with('{')
        .then(|| read_arguments(&called, json, span));
    reading?.ok().map(|reading| ObjectCall {
        args_closed: true,
        ..reading
    })
}

/// Reads `{"f": {…}}` that stands alone, such as the outcome of a repair.
pub(crate) fn read_keyed(json: &str, span: Span) -> Option<ObjectCall<'_>> {
    let mut scanner = Scanner::new(0);
    match scanner.scan(json) {
        Scan::Done(_) => keyed_call(json, &scanner.members, span),
        Scan::More | Scan::Fault(_) => None,
    }
}

/// Reads a JSON object that is the arguments of a call.
pub(crate) fn read_arguments<'t>(
    called: &Called,
    json: &'t str,
    span: Span,
) -> Result<ObjectCall<'t>, Problem> {
    reading_of(called, json, Arguments::from_json(json), span)
}

/// Builds the call of a known name with these arguments.
fn reading_of<'t>(
    called: &Called,
    json: &'t str,
    args: Result<Arguments, serde_json::Error>,
    span: Span,
) -> Result<ObjectCall<'t>, Problem> {
    Ok(ObjectCall {
        name: called.name.clone(),
        args: args.map_err(|error| unreadable_arguments(&error, span))?,
        args_json: Cow::Borrowed(json),
        reasoning: None,
        id: called.id.clone(),
        problems: Vec::new(),
        args_closed: false,
        own_keys: false,
    })
}

/// Reads a JSON object that stands alone, such as the outcome of a repair.
pub(crate) fn read_object<'t>(
    json: &'t str,
    input: &Input<'_>,
    span: Span,
) -> Result<ObjectCall<'t>, Problem> {
    let mut scanner = Scanner::new(0);
    match scanner.scan(json) {
        Scan::Done(_) => read_members(json, &scanner.members, Vec::new(), input, span),
        Scan::More | Scan::Fault(_) => Err(malformed(
            "The call is not a JSON object",
            span.start,
            span.end,
        )),
    }
}

/// A member of a call object.
struct Entry<'t> {
    key: Cow<'t, str>,
    json: &'t str,
    /// Where its value stands.
    at: usize,
}

/// Reads the members of an object in `text`, some strings of which are decoded
/// already.
fn read_members<'t>(
    text: &'t str,
    members: &[Member],
    decoded: Vec<Decoded>,
    input: &Input<'_>,
    span: Span,
) -> Result<ObjectCall<'t>, Problem> {
    let members: Vec<Entry<'t>> = members
        .iter()
        .filter_map(|member| {
            Some(Entry {
                key: text_of(text.get(member.key.clone())?)?,
                json: text.get(member.value.clone())?,
                at: member.value.start,
            })
        })
        .collect();
    let (name, name_at) = find_name(&members, input);
    let text_member = |keys: &[&str]| {
        members
            .iter()
            .enumerate()
            .find(|(at, entry)| Some(*at) != name_at && keys.contains(&&*entry.key))
            .and_then(|(_, entry)| text_of(entry.json))
            .map(Cow::into_owned)
    };
    let Some(name) = name else {
        if let Some(inner) = members
            .iter()
            .find(|entry| is_name_key(&entry.key, input) && entry.json.starts_with('{'))
        {
            let mut reading = read_object(inner.json, input, span)?;
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
    let mut reading = ObjectCall {
        name: name.into_owned(),
        args: Arguments::new(),
        args_json: Cow::Borrowed("{}"),
        reasoning: text_member(REASON_KEYS),
        id: text_member(ID_KEYS),
        problems: Vec::new(),
        args_closed: false,
        own_keys: members.iter().any(|entry| entry.key == "tool")
            && members.iter().any(|entry| entry.key == "args"),
    };
    let is_args =
        |at: usize, entry: &Entry<'_>| Some(at) != name_at && is_args_key(&entry.key, input);
    let args = members
        .iter()
        .enumerate()
        .find(|(at, entry)| is_args(*at, entry) && entry.json.starts_with('{'))
        .or_else(|| {
            members
                .iter()
                .enumerate()
                .find(|(at, entry)| is_args(*at, entry))
        });
    let mut args_at = args.map(|(at, _)| at);
    match args.map(|(_, entry)| (entry, entry.json)) {
        Some((_, "null" | "\"\"")) => {}
        Some((entry, object)) if object.starts_with('{') => {
            reading.args = Arguments::from_json_at(object, entry.at, decoded)
                .map_err(|error| unreadable_arguments(&error, span))?;
            reading.args_json = Cow::Borrowed(object);
            reading.args_closed = true;
            ignored_arguments(&members, name_at, args_at, input, span, &mut reading);
            return Ok(reading);
        }
        Some((Entry { key, .. }, string)) if string.starts_with('"') => {
            let is_argument = is_parameter(&reading.name, key, input);
            if !string_arguments(key, string, is_argument, span, &mut reading) {
                flat_arguments(&members, name_at, span, &mut reading);
                args_at = None;
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
    reading.args = Arguments::from_json(&reading.args_json)
        .map_err(|error| unreadable_arguments(&error, span))?;
    ignored_arguments(&members, name_at, args_at, input, span, &mut reading);
    Ok(reading)
}

/// Finds arguments that stand beside those of the call: under a further key for
/// them, or under a parameter's name. Without them the call may do something
/// else than was meant.
fn ignored_arguments(
    members: &[Entry<'_>],
    name_at: Option<usize>,
    args_at: Option<usize>,
    input: &Input<'_>,
    span: Span,
    reading: &mut ObjectCall<'_>,
) {
    let Some(args) = args_at.and_then(|at| members.get(at)) else {
        return;
    };
    let is_left_out = |(at, entry): &(usize, &Entry<'_>)| {
        let Entry { key, json, .. } = entry;
        if Some(*at) == name_at || Some(*at) == args_at || is_about_the_call(key) {
            return false;
        }
        let value = || serde_json::from_str::<Value>(json).ok();
        if input.has_parameter(&reading.name, key) {
            return value().is_none_or(|value| reading.args.get(key) != Some(&value));
        }
        is_args_key(key, input)
            && !matches!(*json, "null" | "\"\"" | "{}")
            && *json != args.json
            && value().is_none_or(|value| value.as_object() != Some(reading.args.as_map()))
    };
    if let Some((_, ignored)) = members.iter().enumerate().find(is_left_out) {
        let message = format!(
            "`{}` stands beside `{}`; put all arguments into one object",
            ignored.key, args.key
        );
        reading.problems.push(invalid_args(&message, span));
    }
}

/// The tool's name and the index of the member that gave it: the first that
/// names a declared tool, or else the first at all.
fn find_name<'a>(
    members: &[Entry<'a>],
    input: &Input<'_>,
) -> (Option<Cow<'a, str>>, Option<usize>) {
    let mut first = (None, None);
    for (at, entry) in members.iter().enumerate() {
        if !is_name_key(&entry.key, input) {
            continue;
        }
        let Some(name) = text_of(entry.json) else {
            continue;
        };
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
    members: &[Entry<'_>],
    name_at: Option<usize>,
    span: Span,
    reading: &mut ObjectCall<'_>,
) {
    let mut json = String::from("{");
    for (
        at,
        Entry {
            key, json: value, ..
        },
    ) in members.iter().enumerate()
    {
        if Some(at) == name_at || is_about_the_call(key) {
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
        reading.args_json = Cow::Owned(json);
        reading.problems.push(Problem::new(
            ProblemCode::FlatArguments,
            "The arguments stand beside the name; put them into `args`",
            span,
        ));
    }
}

/// Reads arguments that are a string. `false` if the string is an argument
/// itself.
fn string_arguments(
    key: &str,
    string: &str,
    is_argument: bool,
    span: Span,
    reading: &mut ObjectCall<'_>,
) -> bool {
    match text_of(string).as_deref().and_then(object_in_string) {
        Some((json, repairs)) => {
            reading.args_json = Cow::Owned(json);
            reading.problems.push(Problem::new(
                ProblemCode::StringifiedArguments,
                format!("`{key}` is a string of JSON; write the object itself"),
                span,
            ));
            let notes = repairs
                .into_iter()
                .map(|code| Problem::new(code, super::repair_message(code), span));
            reading.problems.extend(notes);
        }
        None if is_argument => return false,
        None => {
            let message =
                format!("`{key}` is a string that is not a JSON object; write the object itself");
            let problem = malformed(&message, span.start, span.end);
            reading.problems.push(problem);
        }
    }
    true
}

/// Whether a key beside the tool's name is one of its parameters, although
/// models also write the arguments under it.
fn is_parameter(name: &str, key: &str, input: &Input<'_>) -> bool {
    match input.tools {
        Some(tools) => {
            let properties = tools.get(name).and_then(ToolSpec::properties);
            properties.is_some_and(|properties| properties.contains_key(key))
        }
        None => key == "input",
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

fn unreadable_arguments(error: &serde_json::Error, span: Span) -> Problem {
    let message = format!("Arguments cannot be read: {error}");
    malformed(&message, span.start, span.end)
}

fn malformed(message: &str, start: usize, end: usize) -> Problem {
    Problem::new(ProblemCode::Malformed, message, Span::new(start, end))
}
