//! Values of tagged arguments: where they end, and what in them only looks
//! like an end.

use std::ops::Range;

use super::{CDATA, CDATA_END, MAX_NAME, State, TagReader, Value};
use crate::ProblemCode;
use crate::dialects::engine::json_marks::leading_name;
use crate::dialects::engine::tag_form::{Named, Param};
use crate::dialects::engine::tags::{TagEnd, attribute, tag_end, trim_lines};
use crate::dialects::engine::tolerant::find_ignoring_case;
use crate::parse::{Findings, Input, MarkAt, Step, floor, mark_at};

/// What ends a value, or may.
enum Mark {
    /// The value's closing tag.
    Close(usize),
    /// The end of the call, the closing tag of the value missing.
    CallEnd(usize),
    /// The next argument, the closing tag of the value missing.
    Next,
    /// The end of what surrounds the construct.
    Stop,
}

/// Whether what follows a closing tag makes it one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Follows {
    Yes,
    No,
    More,
}

impl TagReader {
    /// The start of a value in XML: CDATA, or text.
    pub(super) fn lead(&mut self, input: &Input<'_>, value: Value) -> Option<Step> {
        self.space = input.skip_space(value.start.max(self.space));
        match mark_at(input.from(self.space), &[CDATA]) {
            MarkAt::Partial if !input.end => self.wait(State::Lead(value)),
            MarkAt::Found { length, .. } => {
                self.at = self.space + length;
                let search = self.at;
                self.go(State::CData {
                    value: Value { search, ..value },
                    text: String::new(),
                })
            }
            MarkAt::Partial | MarkAt::None => self.go(State::Value(value)),
        }
    }

    pub(super) fn value(
        &mut self,
        input: &Input<'_>,
        out: &mut Findings,
        mut value: Value,
    ) -> Option<Step> {
        loop {
            let (at, mark) = match self.next_mark(input, &value) {
                Ok(found) => found,
                Err(safe) => {
                    value.search = safe;
                    self.grow(input, out, value.start..safe);
                    return if input.end {
                        Some(self.cut(input, out, input.text.len()))
                    } else {
                        self.wait(State::Value(value))
                    };
                }
            };
            let follows = match mark {
                Mark::Close(length) => self.follows(input, at + length, true),
                Mark::CallEnd(length) => self.follows(input, at + length, false),
                Mark::Next => self.is_next_argument(input, &value, at),
                Mark::Stop => return Some(self.cut(input, out, at)),
            };
            match follows {
                Follows::More => {
                    value.search = at;
                    self.grow(input, out, value.start..at);
                    return self.wait(State::Value(value));
                }
                Follows::No => {
                    value.search = at + 1;
                    continue;
                }
                Follows::Yes => {}
            }
            let raw = input.slice(value.start..at);
            if self.form.is_xml {
                self.check_swallowed(raw, value.start..at, &value.close);
            }
            if let Mark::Close(length) = mark {
                self.end_value(input, out, &value.key, trim_lines(raw));
                self.at = at + length;
                return self.go(State::Between);
            }
            if let Some(values) = &mut self.values {
                values.note(ProblemCode::MissingCloser, at..at);
            }
            let raw = trim_lines(raw).trim_end();
            self.end_value(input, out, &value.key, raw);
            self.at = at;
            return self.go(State::Between);
        }
    }

    /// The next mark that may end the value, or how far there is none.
    fn next_mark(&self, input: &Input<'_>, value: &Value) -> Result<(usize, Mark), usize> {
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
                MarkAt::Found { length, .. } => return Ok((at, Mark::Close(length))),
                MarkAt::Partial => partial = true,
                MarkAt::None => {}
            }
            match mark_at(rest, &self.close) {
                MarkAt::Found { length, .. } => return Ok((at, Mark::CallEnd(length))),
                MarkAt::Partial => partial = true,
                MarkAt::None => {}
            }
            match mark_at(rest, std::slice::from_ref(&open)) {
                MarkAt::Found { .. } if self.may_follow_unclosed() => return Ok((at, Mark::Next)),
                MarkAt::Partial if self.may_follow_unclosed() => partial = true,
                _ => {}
            }
            if !stop.is_empty() {
                match mark_at(rest, &[stop]) {
                    MarkAt::Found { .. } => return Ok((at, Mark::Stop)),
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

    /// Whether the next argument may end a value whose closing tag is missing.
    /// Where every tag may be an argument's, it may not.
    fn may_follow_unclosed(&self) -> bool {
        self.declared && !matches!(self.form.param, Param::Element { .. })
    }

    /// Whether the next argument, the end of the call, another call or the end
    /// of the reply follows at `at`. `in_call`: whether arguments may.
    fn follows(&self, input: &Input<'_>, behind: usize, in_call: bool) -> Follows {
        let mut at = input.skip_space(behind);
        while input.from(at).starts_with("\\n") && matches!(self.form.named, Named::Behind(_)) {
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
        if input
            .stops
            .iter()
            .any(|stop| rest.starts_with(stop.as_str()))
        {
            return Follows::Yes;
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
            input.is_marked(at)
        } else {
            Some(false)
        };
        match (mark_at(rest, &marks), is_marked) {
            (MarkAt::Found { .. }, _) => Follows::Yes,
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
            MarkAt::Found { .. } => {}
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
    fn is_next_argument(&self, input: &Input<'_>, value: &Value, at: usize) -> Follows {
        let before = input.slice(value.start..at);
        let line_start = before.trim_end_matches(|c: char| c.is_whitespace() && c != '\n');
        if !line_start.ends_with('\n') {
            return Follows::No;
        }
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
                named: Named::Attribute(name),
                ..
            } => attribute(tag, name).unwrap_or_default(),
            _ => tag.trim().trim_matches(['"', '\'']).to_owned(),
        };
        let declared = self
            .values
            .as_ref()
            .and_then(|values| input.tools?.get(values.name()))
            .and_then(|tool| tool.properties())
            .is_some_and(|properties| properties.contains_key(&key));
        if declared && !self.given.contains(&key) {
            Follows::Yes
        } else {
            Follows::No
        }
    }

    /// A value that holds an end tag and then a start tag may have swallowed an
    /// argument or a call: the model has to say which.
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
        mut value: Value,
        mut text: String,
    ) -> Option<Step> {
        let rest = input.from(value.search).as_bytes();
        let Some(found) = memchr::memmem::find(rest, CDATA_END.as_bytes()) else {
            if !input.end {
                value.search = input.resume_at(value.search, CDATA_END.len());
                self.take_section(input, out, value.search);
                return self.wait(State::CData { value, text });
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
                self.wait(State::CData { value, text })
            }
            MarkAt::Found { index: 0, length } => {
                self.take_section(input, out, end);
                text.push_str(input.slice(self.at..end));
                self.at = next + length;
                value.search = self.at;
                self.go(State::CData { value, text })
            }
            MarkAt::Found { index, length } => {
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
                self.go(State::Between)
            }
            // The end of a section that nothing fitting follows is content.
            MarkAt::Partial | MarkAt::None => {
                value.search = end + CDATA_END.len();
                self.go(State::CData { value, text })
            }
        }
    }
}
