//! Values of tagged arguments: where they end, and what in them only looks
//! like an end.

use std::ops::Range;

use super::state::{Ended, MAX_NAME, Nest, TagReader, TagValue, TaggedState};
use crate::ProblemCode;
use crate::dialects::engine::json_marks::leading_name;
use crate::dialects::engine::tag_form::{NamePosition, Param, ValueLines};
use crate::dialects::engine::tags::{TagEnd, attribute, tag_end, trim_lines};
use crate::dialects::engine::tolerant::find_ignoring_case;
use crate::parse::{Findings, Input, MarkAt, Step, floor, mark_at, silent_marks};

const CDATA: &str = "<![CDATA[";
const CDATA_END: &str = "]]>";

/// A mark that ends a value, or may.
enum ValueEnd {
    /// The value's closing tag.
    Close(usize),
    /// The end of the call, the closing tag of the value missing.
    CallEnd(usize),
    /// The next argument, the closing tag of the value missing.
    Next,
    /// The opening tag of an argument in the value.
    Param,
    /// The opening mark of a call in the value, of this length.
    Call(usize),
    /// The end of the reasoning or fence around the construct.
    Stop,
}

/// The character of models' own tokens.
const TOKEN_BAR: char = '｜';
/// How far a value is read beyond a place where it may have ended.
const NESTED_LIMIT: usize = 16 * 1024;
/// How many arguments may stand open in a value.
const MAX_NESTED: usize = 16;

/// Whether what follows a closing tag confirms it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follows {
    Yes,
    No,
    More,
}

/// The beginning of a closing tag up to a model's own token, if it has one.
fn close_start(close: &str) -> Option<&str> {
    close.get(..close.rfind(TOKEN_BAR)? + TOKEN_BAR.len_utf8())
}

/// Where a misspelt closing tag may begin at the end of a value: it begins as
/// the right one does, with a model's own token, which no text has. Only the
/// last bytes are searched, as that is done with every chunk of the value.
fn misspelt_start(raw: &str, close: &str) -> Option<usize> {
    let start = close_start(close)?;
    let visible = raw.trim_end();
    let from = floor(visible, visible.len().saturating_sub(MAX_NAME));
    Some(from + visible.get(from..)?.rfind(start)?)
}

/// The value before a misspelt closing tag at its end.
fn misspelt_close<'t>(raw: &'t str, close: &str) -> Option<&'t str> {
    let at = misspelt_start(raw, close)?;
    let tag = raw.get(at..)?.strip_prefix(close_start(close)?)?;
    let name = tag.trim_end().strip_suffix('>')?;
    let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_name.then(|| raw.get(..at)).flatten()
}

impl TagReader {
    /// Reads the start of a value in XML: CDATA, or text.
    pub(super) fn lead(&mut self, input: &Input<'_>, value: TagValue) -> Option<Step> {
        self.space = input.skip_space(value.start.max(self.space));
        match mark_at(input.from(self.space), &[CDATA]) {
            MarkAt::Partial if !input.end => self.wait(TaggedState::Lead(value)),
            MarkAt::Finding { length, .. } => {
                self.at = self.space + length;
                let search = self.at;
                self.go(TaggedState::CData {
                    value: TagValue { search, ..value },
                    text: String::new(),
                })
            }
            MarkAt::Partial | MarkAt::None => self.go(TaggedState::TagValue(value)),
        }
    }

    pub(super) fn value(
        &mut self,
        input: &Input<'_>,
        out: &mut Findings,
        mut value: TagValue,
    ) -> Option<Step> {
        loop {
            let nest = &value.nest;
            if let Some(ended) = nest.ended
                && (value.search > ended.at + NESTED_LIMIT || nest.params > MAX_NESTED)
            {
                let ended = Ended {
                    cuts: true,
                    ..ended
                };
                return self.end(input, out, &value, ended);
            }
            let (at, mark) = match self.next_mark(input, &value) {
                Ok((at, ValueEnd::Stop)) => return self.stopped(input, out, &value, at),
                Err(safe) if input.end => return self.stopped(input, out, &value, safe),
                Err(safe) => return self.wait_in(input, out, value, safe),
                Ok(found) => found,
            };
            let follows = match mark {
                ValueEnd::Close(length) => self.follows(input, at + length, &mut value.gap, true),
                ValueEnd::CallEnd(length) => {
                    self.follows(input, at + length, &mut value.gap, false)
                }
                ValueEnd::Call(length) => self.is_call(input, &value, at, length),
                ValueEnd::Next if value.nest.calls == 0 => self.is_next_argument(input, &value, at),
                ValueEnd::Next | ValueEnd::Param | ValueEnd::Stop => Follows::No,
            };
            let is_behind_close = value.nest.is_closed && value.nest.params == 0;
            let argument = match mark {
                ValueEnd::Next if is_behind_close => self.begins_argument(input, at),
                _ => Follows::No,
            };
            if follows == Follows::More || argument == Follows::More {
                return self.wait_in(input, out, value, at);
            }
            value.search = at + 1;
            value.nest.has_argument |= argument == Follows::Yes;
            if let Some(ended) = self.meet(&mut value, at, &mark, follows == Follows::Yes) {
                return self.end(input, out, &value, ended);
            }
        }
    }

    /// Counts what opens and closes in the value. Returns where it ended, if
    /// that is known now.
    fn meet(
        &self,
        value: &mut TagValue,
        at: usize,
        mark: &ValueEnd,
        follows: bool,
    ) -> Option<Ended> {
        let nest = &mut value.nest;
        let (open, close) = match mark {
            ValueEnd::Call(_) => {
                nest.calls += 1;
                nest.is_call |= follows;
                return None;
            }
            ValueEnd::Param => {
                nest.params += 1;
                return None;
            }
            ValueEnd::Next if !follows => {
                nest.params += usize::from(!matches!(self.form.param, Param::Pair { .. }));
                return None;
            }
            ValueEnd::Close(length) => {
                nest.is_closed |= nest.params == 0 && !follows;
                (&mut nest.params, Some(*length))
            }
            ValueEnd::CallEnd(_) if nest.calls == 0 && nest.ended.is_some() => return nest.ended,
            ValueEnd::CallEnd(_) => (&mut nest.calls, None),
            ValueEnd::Next | ValueEnd::Stop => (&mut 0, None),
        };
        let is_inside = *open > 0;
        *open = open.saturating_sub(1);
        if !follows {
            return None;
        }
        let ended = Ended {
            at,
            close,
            // The tag that closes the value may stand before the last one.
            cuts: is_inside && nest.is_call
                || nest.has_argument
                || (close.is_none() && nest.is_closed),
        };
        if !is_inside {
            return Some(ended);
        }
        nest.ended.get_or_insert(ended);
        None
    }

    /// Whether a value may be made of elements whose tags have a prefix, so that
    /// it is not sent as a text while it grows.
    fn may_be_elements(&self, raw: &str) -> bool {
        let raw = raw.trim_start();
        match &self.form.param {
            Param::Element { prefix } if !prefix.is_empty() => {
                raw.starts_with(prefix.as_str()) || prefix.starts_with(raw)
            }
            _ => false,
        }
    }

    /// Waits for more of the value to know what stands at `at`.
    fn wait_in(
        &mut self,
        input: &Input<'_>,
        out: &mut Findings,
        mut value: TagValue,
        at: usize,
    ) -> Option<Step> {
        value.search = at;
        let known = value.nest.ended.map_or(at, |ended| ended.at);
        let raw = input.slice(value.start..value.visible_end(input, known));
        if !self.may_be_elements(raw) {
            let sure = misspelt_start(raw, &value.close).unwrap_or(raw.len());
            self.grow(input, out, value.start..value.start + sure);
        }
        self.wait(TaggedState::TagValue(value))
    }

    /// Ends the value, of which nothing follows behind `at`.
    fn stopped(
        &mut self,
        input: &Input<'_>,
        out: &mut Findings,
        value: &TagValue,
        at: usize,
    ) -> Option<Step> {
        if let Some(ended) = value.nest.ended {
            return self.end(input, out, value, ended);
        }
        self.grow(input, out, value.start..at);
        Some(self.cut(input, out, at))
    }

    fn end(
        &mut self,
        input: &Input<'_>,
        out: &mut Findings,
        value: &TagValue,
        ended: Ended,
    ) -> Option<Step> {
        let range = value.start..ended.at;
        let raw = input.slice(range.clone());
        if self.form.is_xml {
            self.check_swallowed(raw, range.clone(), &value.close);
        }
        if ended.cuts
            && let Some(values) = &mut self.values
        {
            let message = "A value shows a call, and where the value ends cannot be told";
            values.problem(ProblemCode::Malformed, message, range);
        }
        let raw = match self.form.lines {
            ValueLines::OfValue => raw,
            ValueLines::Dropped | ValueLines::OfForm => trim_lines(raw),
        };
        if let Some(length) = ended.close {
            self.end_value(input, out, &value.key, raw);
            self.at = ended.at + length;
        } else {
            let (raw, fault) = match misspelt_close(raw, &value.close) {
                Some(raw) => (raw, ProblemCode::WrongMark),
                None => (raw, ProblemCode::MissingCloser),
            };
            if let Some(values) = &mut self.values {
                values.note(fault, ended.at..ended.at);
            }
            self.end_value(input, out, &value.key, raw.trim_end());
            self.at = ended.at;
        }
        self.go(TaggedState::Between)
    }

    /// Finds the next mark that may end the value, or how far there is none.
    fn next_mark(&self, input: &Input<'_>, value: &TagValue) -> Result<(usize, ValueEnd), usize> {
        let bytes = input.text.as_bytes();
        let open = self.param_open();
        let first = value.close.bytes().next().unwrap_or(b'<');
        let stop = input.stops.first().map(String::as_str).unwrap_or_default();
        let stop_first = stop.bytes().next().unwrap_or(first);
        let mut at = value.search;
        while let Some(found) = bytes
            .get(at..)
            .and_then(|rest| memchr::memchr2(first, stop_first, rest))
        {
            at += found;
            let rest = input.from(at);
            let mut partial = false;
            match mark_at(rest, std::slice::from_ref(&value.close)) {
                MarkAt::Finding { length, .. } => return Ok((at, ValueEnd::Close(length))),
                MarkAt::Partial => partial = true,
                MarkAt::None => {}
            }
            match input.longest_mark(at, &self.close) {
                MarkAt::Finding { length, .. } => return Ok((at, ValueEnd::CallEnd(length))),
                MarkAt::Partial => partial = true,
                MarkAt::None => {}
            }
            match mark_at(rest, std::slice::from_ref(&open)) {
                MarkAt::Finding { .. } if self.may_follow_unclosed() => {
                    return Ok((at, ValueEnd::Next));
                }
                MarkAt::Partial if self.may_follow_unclosed() => partial = true,
                _ => {}
            }
            for (index, open) in value.opens.iter().enumerate() {
                match mark_at(rest, std::slice::from_ref(open)) {
                    MarkAt::Finding { .. } if index == 0 => return Ok((at, ValueEnd::Param)),
                    MarkAt::Finding { length, .. } => return Ok((at, ValueEnd::Call(length))),
                    MarkAt::Partial => partial = true,
                    MarkAt::None => {}
                }
            }
            if !stop.is_empty() {
                match mark_at(rest, &[stop]) {
                    MarkAt::Finding { .. } => return Ok((at, ValueEnd::Stop)),
                    MarkAt::Partial => partial = true,
                    MarkAt::None => {}
                }
            }
            if partial && !input.end {
                return Err(at);
            }
            at += 1;
        }
        Err(input.text.len())
    }

    /// Creates a value of this name that begins at `start`.
    pub(super) fn open_value(&self, key: String, start: usize, close: String) -> TagValue {
        let spaced = |open: &str, named: &NamePosition| match named {
            NamePosition::Attribute(_) => format!("{open} "),
            _ => open.to_owned(),
        };
        let param = match &self.form.param {
            Param::Tag { open, named, .. } => spaced(open, named),
            Param::Pair { value, .. } => value.0.clone(),
            Param::Element { prefix } => format!("{prefix}<{key}>"),
        };
        let calls = self.form.open.iter().map(|open| match &self.form.named {
            NamePosition::Tag => {
                let name = self.values.as_ref().map_or("", |values| values.name());
                format!("{open}{name}>")
            }
            named => spaced(open, named),
        });
        TagValue {
            opens: std::iter::once(param).chain(calls).collect(),
            key,
            start,
            search: start,
            close,
            nest: Nest::default(),
            seen: start,
            visible: start,
            gap: 0..0,
        }
    }

    /// Whether a call of a declared tool begins at `at`, at the start of a line.
    fn is_call(&self, input: &Input<'_>, value: &TagValue, at: usize, length: usize) -> Follows {
        let before = input.slice(value.start..at);
        if !before.trim_end_matches([' ', '\t']).ends_with('\n') {
            return Follows::No;
        }
        let rest = input.from(at + length);
        let window = rest.get(..floor(rest, MAX_NAME)).unwrap_or("");
        let name = match &self.form.named {
            NamePosition::Attribute(key) => match tag_end(window, &self.form.tag_end) {
                TagEnd::At(end) => attribute(window.get(..end).unwrap_or(""), key),
                TagEnd::Open => None,
                TagEnd::None => Some(String::new()),
            },
            NamePosition::Tag => return Follows::Yes,
            _ => leading_name(window).map(|(name, _)| name.to_owned()),
        };
        match name {
            Some(name) if input.declares(&name) => Follows::Yes,
            None if !input.end && rest.len() < MAX_NAME => Follows::More,
            _ => Follows::No,
        }
    }

    /// Whether a name without an opening mark has arguments behind it, or the end
    /// of the call.
    pub(super) fn arguments_follow(&self, behind: &str, end: bool) -> Follows {
        let mut rest = behind.trim_start();
        while let Some(next) = rest.strip_prefix("\\n") {
            rest = next.trim_start();
        }
        let marks = [&[self.param_open()], self.close.as_slice()].concat();
        match mark_at(rest, &marks) {
            MarkAt::Finding { .. } => Follows::Yes,
            _ if end => Follows::No,
            MarkAt::Partial => Follows::More,
            MarkAt::None if rest == "\\" => Follows::More,
            MarkAt::None => Follows::No,
        }
    }

    /// Whether the next argument may end a value whose closing tag is missing.
    /// Where every tag may be an argument's, it may not.
    fn may_follow_unclosed(&self) -> bool {
        self.declared && !matches!(self.form.param, Param::Element { .. })
    }

    /// Whether the next argument, the end of the call, another call or the end
    /// of the reply follows at `behind`. `in_call`: whether arguments may.
    fn follows(
        &self,
        input: &Input<'_>,
        behind: usize,
        gap: &mut Range<usize>,
        in_call: bool,
    ) -> Follows {
        if gap.start != behind {
            *gap = behind..behind;
        }
        gap.end = input.skip_space(gap.end);
        let mut at = gap.end;
        while input.from(at).starts_with("\\n")
            && matches!(self.form.named, NamePosition::Behind(_))
        {
            at = input.skip_space(at + 2);
        }
        let rest = input.from(at);
        if rest.is_empty() || rest == "\\" {
            return if input.end {
                Follows::Yes
            } else {
                Follows::More
            };
        }
        // The reasoning, the fence or the turn ends here.
        for ends in [mark_at(rest, input.stops), mark_at(rest, silent_marks())] {
            match ends {
                MarkAt::Finding { .. } => return Follows::Yes,
                MarkAt::Partial if !input.end => return Follows::More,
                MarkAt::Partial | MarkAt::None => {}
            }
        }
        let mut marks = Vec::new();
        if in_call {
            marks.extend(self.close.iter().cloned());
            marks.extend(self.form.groups.iter().cloned());
            match &self.form.param {
                Param::Element { prefix } => match self.element_follows(input, at, prefix) {
                    Follows::No => {}
                    follows => return follows,
                },
                _ => marks.push(self.param_open()),
            }
        }
        // In the middle of a line, a mark of another kind is part of the value.
        let apart = input.slice(behind..at);
        let is_marked = if apart.is_empty() || apart.contains('\n') {
            // Not every mark of a section is known to the parser.
            marks.extend(self.form.section_ends());
            input.is_marked(at)
        } else {
            Some(false)
        };
        match (mark_at(rest, &marks), is_marked) {
            (MarkAt::Finding { .. }, _) => Follows::Yes,
            // The reply ends within the next mark.
            (MarkAt::Partial, _) if input.end => Follows::Yes,
            (MarkAt::Partial, _) | (_, None) => Follows::More,
            (_, Some(true)) => Follows::Yes,
            (_, Some(false)) => Follows::No,
        }
    }

    /// Whether a tag with the name of an argument stands at `at`.
    fn element_follows(&self, input: &Input<'_>, at: usize, prefix: &str) -> Follows {
        let open = format!("{prefix}<");
        match mark_at(input.from(at), std::slice::from_ref(&open)) {
            MarkAt::Partial if !input.end => return Follows::More,
            MarkAt::Partial | MarkAt::None => return Follows::No,
            MarkAt::Finding { .. } => {}
        }
        let rest = input.from(at + open.len());
        let window = rest.get(..floor(rest, MAX_NAME)).unwrap_or("");
        match leading_name(window) {
            Some((name, _)) if self.is_element(name, input) => Follows::Yes,
            None if !input.end && rest.len() < MAX_NAME => Follows::More,
            _ => Follows::No,
        }
    }

    /// Whether an argument that was not given yet begins at `at`, at the start
    /// of a line.
    fn is_next_argument(&self, input: &Input<'_>, value: &TagValue, at: usize) -> Follows {
        let open = self.param_open();
        let before = input.slice(value.start..at);
        let line_start = before.trim_end_matches(|c: char| c.is_whitespace() && c != '\n');
        // What no text has but a model's own marks counts in the middle of a line.
        let is_token = open.contains(TOKEN_BAR);
        if !is_token && !line_start.ends_with('\n') {
            return Follows::No;
        }
        self.begins_argument(input, at)
    }

    /// Whether an argument that was not given yet begins at `at`.
    fn begins_argument(&self, input: &Input<'_>, at: usize) -> Follows {
        let rest = input.from(at + self.param_open().len());
        let window = rest.get(..floor(rest, MAX_NAME)).unwrap_or("");
        let end = match &self.form.param {
            Param::Pair { key, .. } => find_ignoring_case(window, 0, &key.1),
            _ => match tag_end(window, &self.form.tag_end) {
                TagEnd::At(end) => Some(end),
                TagEnd::Open => None,
                TagEnd::None => return Follows::No,
            },
        };
        let Some(end) = end else {
            let decided = input.end || rest.len() >= MAX_NAME;
            return if decided { Follows::No } else { Follows::More };
        };
        let tag = window.get(..end).unwrap_or("");
        let key = match &self.form.param {
            Param::Tag {
                named: NamePosition::Attribute(name),
                ..
            } => attribute(tag, name).unwrap_or_default(),
            _ => tag.trim().trim_matches(['"', '\'']).to_owned(),
        };
        let tool = self
            .values
            .as_ref()
            .and_then(|values| input.tools?.get(values.name()));
        let properties = tool.and_then(|tool| tool.properties());
        let declared = match properties.filter(|properties| !properties.is_empty()) {
            Some(properties) => properties.contains_key(&key),
            // No argument is declared, so that any may be given.
            None => tool.is_some() && !key.is_empty() && self.param_open().contains(TOKEN_BAR),
        };
        if declared && !self.given.contains(&key) {
            Follows::Yes
        } else {
            Follows::No
        }
    }

    /// Checks for a value that holds an end tag and then a start tag: it may
    /// have swallowed an argument or a call, and the model has to say which.
    fn check_swallowed(&mut self, raw: &str, range: Range<usize>, close: &str) {
        if matches!(self.form.param, Param::Element { .. }) {
            return;
        }
        let param = format!("{} ", self.param_open());
        let swallowed = find_ignoring_case(raw, 0, close).is_some_and(|end| {
            let behind = raw.get(end..).unwrap_or("");
            let calls = self.form.open.iter().map(|open| format!("{open} "));
            std::iter::once(param)
                .chain(calls)
                .any(|tag| find_ignoring_case(behind, 0, &tag).is_some())
        });
        if swallowed && let Some(values) = &mut self.values {
            values.problem(
                ProblemCode::Malformed,
                "A value holds tags of the call itself; put it into <![CDATA[ … ]]>",
                range,
            );
        }
    }

    /// Sends the text of a CDATA section up to `end`.
    fn take_section(&mut self, input: &Input<'_>, out: &mut Findings, end: usize) {
        if let Some(values) = &mut self.values
            && self.sure
            && values.is_text()
            && end > self.at
        {
            values.append(input.slice(self.at..end));
            values.send(out);
            self.at = end;
        }
    }

    pub(super) fn cdata(
        &mut self,
        input: &Input<'_>,
        out: &mut Findings,
        mut value: TagValue,
        mut text: String,
    ) -> Option<Step> {
        let rest = input.from(value.search).as_bytes();
        let Some(found) = memchr::memmem::find(rest, CDATA_END.as_bytes()) else {
            value.search = input.resume_at(value.search, CDATA_END.len());
            self.take_section(input, out, value.search);
            if !input.end {
                return self.wait(TaggedState::CData { value, text });
            }
            return Some(self.cut(input, out, input.text.len()));
        };
        let end = value.search + found;
        self.space = input.skip_space((end + CDATA_END.len()).max(self.space));
        let next = self.space;
        let mut marks = vec![CDATA, value.close.as_str()];
        marks.extend(self.close.iter().map(String::as_str));
        match mark_at(input.from(next), &marks) {
            MarkAt::Partial if !input.end => {
                value.search = end;
                self.take_section(input, out, end);
                self.wait(TaggedState::CData { value, text })
            }
            MarkAt::Finding { index: 0, length } => {
                self.take_section(input, out, end);
                text.push_str(input.slice(self.at..end));
                self.at = next + length;
                value.search = self.at;
                self.go(TaggedState::CData { value, text })
            }
            MarkAt::Finding { index, length } => {
                text.push_str(input.slice(self.at..end));
                if let Some(values) = &mut self.values {
                    values.close_verbatim(&text, input);
                    if index > 1 {
                        values.note(ProblemCode::MissingCloser, next..next);
                    }
                    if self.sure {
                        values.send(out);
                    }
                }
                self.at = if index > 1 { next } else { next + length };
                self.go(TaggedState::Between)
            }
            // The end of a section that nothing fitting follows is content.
            MarkAt::Partial | MarkAt::None => {
                value.search = end + CDATA_END.len();
                self.go(TaggedState::CData { value, text })
            }
        }
    }
}
