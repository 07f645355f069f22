//! Calls whose arguments stand in tags of their own, with raw values:
//! `<function=f><parameter=k>v</parameter></function>` and variants.
//!
//! A value ends at its closing tag only where the next argument, the end of
//! the call, another call or the end of the reply follows; any other closing
//! tag in it is content. So a model can write a file about its own markup.

mod head;
mod nameless;
mod state;
mod values;

use std::sync::Arc;

use super::botched::unclosed_end;
use super::call_object::Called;
use super::elements::Elements;
use super::json_marks::{BEHIND_NAME, JsonMarks};
use super::marked_json::MarkedJson;
use super::named_values::{Says, Whole};
use super::section::Section;
use super::tag_form::{JsonBody, NamePosition, Param, TagForm};
use super::tags::{TagEnd, attribute, tag_end};
use super::tolerant::find_ignoring_case;
use nameless::Nameless;
use state::{MAX_NAME, TagReader, TaggedState};

use crate::ProblemCode;
use crate::dialects::{Claim, Trigger};
use crate::parse::{Findings, Input, MarkAt, Reader, Refusal, Step, floor, mark_at};

/// Types other than a string that a type attribute may name.
const JSON_TYPES: &[&str] = &["null", "boolean", "number", "integer", "array", "object"];
/// How far to search for the end of a call that holds something else than
/// arguments.
const BROKEN_LIMIT: usize = 4096;

impl TagForm {
    /// The triggers of calls and sections: first the calls, then the sections.
    pub(crate) fn triggers(&self) -> Vec<Trigger> {
        let mut triggers: Vec<Trigger> = Vec::new();
        for open in &self.open {
            match &self.named {
                NamePosition::Attribute(_) => {
                    for space in self.spaces {
                        triggers.push(Trigger::anywhere(format!("{open}{space}")));
                    }
                }
                NamePosition::Rest | NamePosition::Behind(_) => {
                    triggers.push(Trigger::anywhere(open));
                }
                NamePosition::Tag => triggers.push(Trigger::tool_name(open, "> \n\t/")),
            }
        }
        triggers.extend(self.sections.iter().map(Section::trigger));
        let addresses = self.addresses.iter();
        triggers.extend(addresses.map(|address| {
            let is_word = address.open.starts_with(|c: char| c.is_alphabetic());
            let trigger = if is_word {
                Trigger::at_line_start(&address.open)
            } else {
                Trigger::anywhere(&address.open)
            };
            trigger.claimed(Claim::Section)
        }));
        if self.named_first() {
            triggers.push(Trigger::tool_name("", BEHIND_NAME));
        }
        triggers.extend(self.first_key().map(Trigger::at_line_start));
        triggers
    }

    /// Whether a call may begin with the tool's name, its opening mark missing.
    fn named_first(&self) -> bool {
        matches!(self.named, NamePosition::Behind(_))
    }

    /// The mark before the first argument where that cannot be the beginning of
    /// a call.
    fn first_key(&self) -> Option<&str> {
        match &self.param {
            Param::Pair { key, .. } if self.named_first() => Some(&key.0),
            _ => None,
        }
    }

    /// A reader for the trigger of this index.
    pub(crate) fn reader(form: &Arc<Self>, trigger: usize) -> Box<dyn Reader> {
        let calls = match form.named {
            NamePosition::Attribute(_) => form.open.len() * form.spaces.len(),
            _ => form.open.len(),
        };
        let Some(section) = trigger.checked_sub(calls) else {
            return Box::new(TagReader::new(form));
        };
        if let Some(section) = form.sections.get(section) {
            return section.reader();
        }
        let behind = section - form.sections.len();
        match form.addresses.get(behind) {
            Some(address) => address.address_reader(),
            None if behind == form.addresses.len() => Box::new(TagReader::new(form)),
            None => Box::new(Nameless::new(form)),
        }
    }
}

/// A reader for the arguments of a call of this name, which start at `at`.
pub(crate) fn behind_name(
    form: &Arc<TagForm>,
    name: &str,
    at: usize,
    input: &Input<'_>,
) -> Box<dyn Reader> {
    let mut reader = TagReader::new(form);
    let values = reader.named(name.to_owned(), at, input);
    reader.values = Some(values);
    reader.state = TaggedState::Between;
    Box::new(reader)
}

impl Reader for TagReader {
    fn read(&mut self, input: &Input<'_>, out: &mut Findings) -> Step {
        loop {
            let step = match std::mem::take(&mut self.state) {
                TaggedState::Head => self.head(input, out),
                TaggedState::Between => self.between(input, out),
                TaggedState::Key => self.key(input, out),
                TaggedState::Lead(value) => self.lead(input, value),
                TaggedState::TagValue(value) => self.value(input, out, value),
                TaggedState::CData { value, text } => self.cdata(input, out, value, text),
                TaggedState::Json => match &mut self.json {
                    Some(json) => {
                        let step = json.read(input, out);
                        self.state = TaggedState::Json;
                        return step;
                    }
                    None => Some(Step::Reject),
                },
                TaggedState::Broken => self.broken(input, out),
            };
            if let Some(step) = step {
                return step;
            }
        }
    }
}

impl TagReader {
    /// The offset of the first byte behind `at` that is neither white space nor
    /// a line break written out as `\n`.
    fn skip_gap(&mut self, input: &Input<'_>) -> usize {
        let mut at = self.at.max(self.space);
        loop {
            at = input.skip_space(at);
            let literal = matches!(self.form.named, NamePosition::Behind(_))
                && input.byte(at) == Some(b'\\')
                && input.byte(at + 1) == Some(b'n');
            if !literal {
                self.space = at;
                return at;
            }
            at += 2;
        }
    }

    fn between(&mut self, input: &Input<'_>, out: &mut Findings) -> Option<Step> {
        let at = self.skip_gap(input);
        let rest = input.from(at);
        if rest.is_empty() && !input.end {
            return self.wait(TaggedState::Between);
        }
        // A line break that is written out may be cut.
        if rest == "\\" && !input.end {
            return self.wait(TaggedState::Between);
        }
        let form = Arc::clone(&self.form);
        let is_word = matches!(form.named, NamePosition::Behind(_)) && self.given.is_empty();
        match input.longest_mark(at, &self.close) {
            // `<tool_call> and </tool_call>` is prose.
            MarkAt::Finding { .. } if is_word && !self.declared && !self.is_tight(input, at) => {
                return Some(out.refuse(Refusal::UndeclaredTool));
            }
            MarkAt::Finding { length, .. } if form.json != JsonBody::Only => {
                return Some(self.finish(input, out, at, at + length, Whole::Yes));
            }
            MarkAt::Partial if !input.end => return self.wait(TaggedState::Between),
            MarkAt::Partial if self.is_sent() && !rest.is_empty() => {
                return Some(self.unended(input, out, at + rest.len()));
            }
            _ => {}
        }
        match mark_at(rest, &form.groups) {
            MarkAt::Finding { length, .. } => {
                self.at = at + length;
                return self.go(TaggedState::Between);
            }
            MarkAt::Partial if !input.end => return self.wait(TaggedState::Between),
            MarkAt::Partial | MarkAt::None => {}
        }
        if rest.starts_with('{') && form.json != JsonBody::No && self.given.is_empty() {
            return self.json_body(input, at);
        }
        if form.json == JsonBody::Only {
            return Some(out.refuse(Refusal::NoJson));
        }
        if let Some((open, close)) = form.json_block.filter(|_| self.given.is_empty()) {
            match mark_at(rest, &[open]) {
                MarkAt::Finding { length, .. } => {
                    return self.json_block(input, out, at + length, close);
                }
                MarkAt::Partial if !input.end => return self.wait(TaggedState::Between),
                MarkAt::Partial | MarkAt::None => {}
            }
        }
        match mark_at(rest, &[self.param_open()]) {
            MarkAt::Partial if !input.end => return self.wait(TaggedState::Between),
            MarkAt::Partial => {
                let whole = rest.is_empty() && self.is_sent();
                let end = at + rest.len();
                return Some(if whole {
                    self.unended(input, out, end)
                } else {
                    self.cut(input, out, end)
                });
            }
            MarkAt::Finding { length, .. } => {
                if let Param::Pair { .. } = form.param {
                    self.at = at + length;
                    return self.go(TaggedState::Key);
                }
                return self.param(input, out, at);
            }
            MarkAt::None => {}
        }
        self.foreign(input, out, at, TaggedState::Between)
    }

    /// Whether the name stands between the marks of a call without a space.
    fn is_tight(&self, input: &Input<'_>, at: usize) -> bool {
        let text = input.slice(0..at);
        self.at == at && !text.is_empty() && !text.contains(char::is_whitespace)
    }

    /// Handles something else than an argument or the end of the call. Where
    /// more text is needed to decide, `state` goes on.
    fn foreign(
        &mut self,
        input: &Input<'_>,
        out: &mut Findings,
        at: usize,
        state: TaggedState,
    ) -> Option<Step> {
        match input.is_marked(at) {
            None => return self.wait(state),
            Some(true) if self.is_sent() || (self.declared && Self::closes(input, at)) => {
                if let Some(values) = &mut self.values {
                    values.note(ProblemCode::MissingCloseMark, at..at);
                }
                return Some(self.finish(input, out, at, at, Whole::Yes));
            }
            _ => {}
        }
        // Words on the same line talk about the tags.
        let is_apart = input.slice(self.at..at).contains('\n');
        if self.is_sent() || (!self.declared && is_apart && self.is_meant(input)) {
            return Some(self.unended(input, out, self.at));
        }
        if self.declared && !self.form.shares_marks() {
            return self.go(TaggedState::Broken);
        }
        out.examined(at);
        Some(out.refuse(Refusal::NoCallBehind))
    }

    /// Whether a closing mark stands at `at`.
    fn closes(input: &Input<'_>, at: usize) -> bool {
        matches!(input.closing_mark(at), MarkAt::Finding { .. })
    }

    /// Handles a declared tool's name that is not followed by arguments. It is
    /// a broken call if it ends like one.
    fn broken(&mut self, input: &Input<'_>, out: &mut Findings) -> Option<Step> {
        let rest = input.from(self.at);
        let window = rest.get(..floor(rest, BROKEN_LIMIT)).unwrap_or("");
        // The closing mark of the section ends a call, too. Which of them came
        // first is known before the others have come.
        let section_ends = self.form.section_ends();
        let closes = self.close.iter().map(|close| (close, close.len()));
        let ends = closes.chain(section_ends.iter().map(|close| (close, 0)));
        let end = ends
            .filter_map(|(mark, length)| {
                let at = find_ignoring_case(window, 0, mark)?;
                Some((at + mark.len(), at, length))
            })
            .min_by_key(|(behind, at, _)| (*behind, *at))
            .map(|(_, at, length)| (at, length));
        let Some((end, length)) = end else {
            if input.end || rest.len() >= BROKEN_LIMIT {
                let name = self.values.as_ref().map_or("", |values| values.name());
                let is_own = self.form.named != NamePosition::Tag;
                if let Some(end) = unclosed_end(input, name, self.at).filter(|_| is_own) {
                    return Some(Self::unreadable(input, out, end));
                }
                out.examined(BROKEN_LIMIT.min(input.text.len()));
                let is_named = self.values.is_some();
                let why = if is_named {
                    Refusal::NeverCloses
                } else {
                    Refusal::NoName
                };
                return Some(out.refuse(why));
            }
            return self.wait(TaggedState::Broken);
        };
        let body = window.get(..end).unwrap_or("");
        let opens_again = || {
            let mut opens = self.form.open.iter();
            opens.any(|open| find_ignoring_case(body, 0, open).is_some())
        };
        // `<f>` may be an element of anything.
        if self.form.named == NamePosition::Tag || opens_again() {
            out.examined(self.at + end);
            return Some(out.refuse(Refusal::NoCallBehind));
        }
        let end = self.at + end + length;
        Some(Self::unreadable(input, out, end))
    }

    fn unreadable(input: &Input<'_>, out: &mut Findings, end: usize) -> Step {
        let message = "The text in the call is not an argument".to_owned();
        out.unreadable(ProblemCode::Malformed, message, 0..end, input.slice(0..end));
        Step::Done(end)
    }

    /// Reads the rest of the tag that opens arguments which are one JSON object
    /// between marks of their own.
    fn json_block(
        &mut self,
        input: &Input<'_>,
        out: &mut Findings,
        at: usize,
        close: &str,
    ) -> Option<Step> {
        match tag_end(input.from(at), &self.form.tag_end) {
            TagEnd::At(end) => {
                let calls = self.close.iter();
                let both: Vec<String> = calls.map(|call| format!("{close}{call}")).collect();
                self.close.splice(0..0, both);
                self.json_body(input, at + end + self.form.tag_end.len())
            }
            TagEnd::Open if !input.end => self.wait(TaggedState::Between),
            TagEnd::Open => Some(self.cut(input, out, input.text.len())),
            TagEnd::None => self.foreign(input, out, at, TaggedState::Between),
        }
    }

    /// Starts to read arguments that are one JSON object.
    fn json_body(&mut self, input: &Input<'_>, at: usize) -> Option<Step> {
        let values = self.values.take()?;
        let open = match self.form.named {
            NamePosition::Tag => vec![format!("<{}>", values.name())],
            _ => self.form.open.clone(),
        };
        let marks = JsonMarks::new(open, self.close.clone());
        let called = Called::new(values.name());
        if !self.sure && input.tools.is_some() && self.form.named == NamePosition::Tag {
            return Some(Step::Reject);
        }
        let mut json = MarkedJson::arguments_of(Arc::new(marks), called, at);
        if self.form.json == JsonBody::Repair {
            json.note(ProblemCode::FlatArguments, at..at);
        }
        self.json = Some(json);
        self.go(TaggedState::Json)
    }

    /// Reads the opening tag of an argument.
    fn param(&mut self, input: &Input<'_>, out: &mut Findings, at: usize) -> Option<Step> {
        let form = Arc::clone(&self.form);
        let open = self.param_open();
        let rest = input.from(at + open.len());
        match self.unclosed_param(rest, input) {
            Some(UnclosedParam::Undecided) => return self.wait(TaggedState::Between),
            Some(UnclosedParam::Named(key)) => {
                return self.begin_unclosed(key, at + open.len(), input);
            }
            None => {}
        }
        let end = match tag_end(rest, &form.tag_end) {
            TagEnd::At(end) => end,
            TagEnd::Open if !input.end => return self.wait(TaggedState::Between),
            TagEnd::Open => return Some(self.cut(input, out, input.text.len())),
            TagEnd::None => return self.foreign(input, out, at, TaggedState::Between),
        };
        let tag = rest.get(..end).unwrap_or("");
        let closed = tag.ends_with('/');
        let inner = tag.strip_suffix('/').unwrap_or(tag);
        let behind = at + open.len() + end + form.tag_end.len();
        let (key, close) = match &form.param {
            Param::Tag { named, close, .. } => {
                let key = match named {
                    NamePosition::Attribute(name) => attribute(inner, name),
                    _ => Some(inner.trim().trim_matches(['"', '\'']).to_owned())
                        .filter(|key| !key.is_empty()),
                };
                (key, close.clone())
            }
            Param::Element { prefix } => {
                let key = inner.split_whitespace().next().unwrap_or("").to_owned();
                let close = format!("{prefix}</{key}>");
                (Some(key).filter(|key| self.is_element(key, input)), close)
            }
            Param::Pair { .. } => (None, String::new()),
        };
        let Some(key) = key.filter(|key| key.len() <= MAX_NAME) else {
            return self.foreign(input, out, at, TaggedState::Between);
        };
        let says = says(inner);
        self.at = behind;
        let given = attribute(inner, "value");
        self.begin(&key, says, input);
        if closed || (given.is_some() && input.from(behind).starts_with(close.as_str())) {
            let skip = if closed { 0 } else { close.len() };
            self.end_value(input, out, &key, &given.unwrap_or_default());
            self.at = behind + skip;
            return self.go(TaggedState::Between);
        }
        let value = self.open_value(key, behind, close);
        self.go(if form.is_xml {
            TaggedState::Lead(value)
        } else {
            TaggedState::TagValue(value)
        })
    }

    /// The name of an argument whose opening tag does not end: the line ends
    /// behind it. `None` if it is another one.
    fn unclosed_param<'t>(&self, rest: &'t str, input: &Input<'_>) -> Option<UnclosedParam<'t>> {
        let Param::Tag {
            named: NamePosition::Rest,
            ..
        } = self.form.param
        else {
            return None;
        };
        let window = rest.get(..floor(rest, MAX_NAME)).unwrap_or("");
        let (key, behind) = window.split_once('\n')?;
        let tool = self.values.as_ref()?.name();
        if !input.has_parameter(tool, key.trim_end()) {
            return None;
        }
        let behind = behind.trim_start();
        if behind.is_empty() && window.len() == rest.len() && !input.end {
            return Some(UnclosedParam::Undecided);
        }
        (!behind.starts_with(&self.form.tag_end)).then_some(UnclosedParam::Named(key.trim_end()))
    }

    /// Begins an argument whose opening tag does not end.
    fn begin_unclosed(&mut self, key: &str, at: usize, input: &Input<'_>) -> Option<Step> {
        let Param::Tag { close, .. } = &self.form.param else {
            return Some(Step::Reject);
        };
        let close = close.clone();
        let behind = at + key.len();
        self.at = behind;
        if let Some(values) = &mut self.values {
            values.note(ProblemCode::MissingCloser, behind..behind);
        }
        self.begin(key, Says::Nothing, input);
        let value = self.open_value(key.to_owned(), behind, close);
        self.go(TaggedState::TagValue(value))
    }

    /// Reads the name of an argument that stands between two tags, and the tag
    /// of its value.
    fn key(&mut self, input: &Input<'_>, out: &mut Findings) -> Option<Step> {
        let form = Arc::clone(&self.form);
        let Param::Pair { key, kind, value } = &form.param else {
            return Some(Step::Reject);
        };
        let rest = input.from(self.at);
        let window = rest.get(..floor(rest, MAX_NAME)).unwrap_or("");
        let found = find_ignoring_case(window, 0, &key.1);
        // The tag that closes the name may be missing, or another one.
        let end = found.or_else(|| window.find('<'));
        let Some(end) = end else {
            if input.end {
                return Some(self.cut(input, out, input.text.len()));
            }
            if rest.len() >= MAX_NAME {
                return self.foreign(input, out, self.at, TaggedState::Key);
            }
            return self.wait(TaggedState::Key);
        };
        if found.is_none() && rest.len() < MAX_NAME {
            return if input.end {
                Some(self.cut(input, out, input.text.len()))
            } else {
                self.wait(TaggedState::Key)
            };
        }
        let name = window.get(..end).unwrap_or("").trim().to_owned();
        let behind = self.at + end + found.map_or(0, |_| key.1.len());
        let mut at = behind;
        let mut says = Says::Nothing;
        let mut marks = vec![value.0.as_str()];
        marks.extend(kind.iter().map(|(open, _)| open.as_str()));
        loop {
            at = input.skip_space(at);
            let rest = input.from(at);
            if rest.starts_with("\\n") {
                at += 2;
                continue;
            }
            match mark_at(rest, &marks) {
                _ if rest == "\\" && !input.end => return self.wait(TaggedState::Key),
                MarkAt::Partial if !input.end => return self.wait(TaggedState::Key),
                MarkAt::Partial => return Some(self.cut(input, out, input.text.len())),
                MarkAt::None if found.is_some() && self.declared => {
                    let message = format!("The argument `{name}` has no value");
                    if let Some(values) = &mut self.values {
                        let here = self.at..self.at;
                        values.problem(ProblemCode::InvalidArguments, &message, here);
                    }
                    self.given.insert(name);
                    self.at = at;
                    return self.go(TaggedState::Between);
                }
                MarkAt::None => return self.foreign(input, out, at, TaggedState::Key),
                MarkAt::Finding { index: 0, length } => {
                    at += length;
                    break;
                }
                MarkAt::Finding { length, .. } => {
                    let close = kind.as_ref().map_or("", |(_, close)| close);
                    let kind = rest.get(length..).unwrap_or("");
                    let window = kind.get(..floor(kind, MAX_NAME)).unwrap_or("");
                    let Some(end) = find_ignoring_case(window, 0, close) else {
                        let decided = kind.len() >= MAX_NAME;
                        return match input.end {
                            _ if decided => self.foreign(input, out, at, TaggedState::Key),
                            true => Some(self.cut(input, out, input.text.len())),
                            false => self.wait(TaggedState::Key),
                        };
                    };
                    says = says_kind(window.get(..end).unwrap_or("").trim());
                    at += length + end + close.len();
                }
            }
        }
        self.at = at;
        self.begin(&name, says, input);
        let value = self.open_value(name, at, value.1.clone());
        self.go(TaggedState::TagValue(value))
    }

    /// Begins an argument.
    fn begin(&mut self, key: &str, says: Says, input: &Input<'_>) {
        let is_list = matches!(self.form.param, Param::Element { .. })
            && self
                .values
                .as_ref()
                .and_then(|values| values.schema(key, input))
                .is_some_and(|schema| schema.resolved().items().is_some());
        if !self.given.insert(key.to_owned()) && !is_list {
            let message = format!("The argument `{key}` is given twice");
            if let Some(values) = &mut self.values {
                values.problem(ProblemCode::InvalidArguments, &message, self.at..self.at);
            }
        }
        let may_be_elements = match (&self.form.param, &self.values) {
            (Param::Element { prefix }, Some(values)) => {
                let is_xml = self.form.is_xml;
                let elements = Elements { prefix, is_xml };
                let schema = values.schema(key, input);
                schema.is_some_and(|schema| elements.may_replace_text(schema))
            }
            _ => false,
        };
        if let Some(values) = &mut self.values
            && !is_list
        {
            if may_be_elements {
                values.open_whole(key, self.form.is_xml);
            } else {
                values.open(key, says, self.form.is_xml, input);
            }
        }
    }

    /// Ends a call without an end tag, where something else follows or the
    /// reply ends. Its arguments count as whole, unless there are none.
    fn unended(&mut self, input: &Input<'_>, out: &mut Findings, end: usize) -> Step {
        if !self.is_sent() && !self.is_meant(input) {
            return Step::Reject;
        }
        if let Some(values) = &mut self.values {
            values.note(ProblemCode::MissingCloseMark, end..end);
        }
        self.finish(input, out, end, end, Whole::Unsure)
    }
}

/// An argument whose opening tag does not end.
enum UnclosedParam<'t> {
    Named(&'t str),
    /// More text is needed to decide.
    Undecided,
}

/// The type of a value, by the attributes of its tag.
fn says(tag: &str) -> Says {
    if let Some(string) = attribute(tag, "string") {
        return match string.as_str() {
            "true" => Says::Text,
            "false" => Says::Json,
            _ => Says::Nothing,
        };
    }
    attribute(tag, "type").map_or(Says::Nothing, |kind| says_kind(&kind))
}

/// What the name of a type says of a value.
fn says_kind(kind: &str) -> Says {
    match kind {
        "string" => Says::Text,
        kind if JSON_TYPES.contains(&kind) => Says::Json,
        _ => Says::Nothing,
    }
}
