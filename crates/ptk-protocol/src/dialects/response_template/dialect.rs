//! The dialect of a template, and how it is written.

use std::sync::Arc;

use serde_json::Value;

use super::Template;
use super::form::{CallBody, CallForm, Loose};
use super::opening::Opened;
use super::reader::{BrokenReader, CallReader};
use crate::ToolCall;
use crate::dialects::marked::hermes_text;
use crate::dialects::{CallKeys, Claim, Dialect, Frame, NO_KEYS, Trigger, Writer};
use crate::json::quote;
use crate::parse::{Findings, Input, Opening, Reader, Step};

/// A dialect that a template describes.
#[derive(Debug)]
pub(super) struct TemplateDialect {
    name: String,
    template: Arc<Template>,
}

impl TemplateDialect {
    pub(super) fn new(name: String, template: Arc<Template>) -> Self {
        Self { name, template }
    }
}

impl Dialect for TemplateDialect {
    fn name(&self) -> &str {
        &self.name
    }

    fn triggers(&self) -> Vec<Trigger> {
        let Some(form) = &self.template.calls else {
            return Vec::new();
        };
        let marks = form.opening.marks.iter();
        let opens = marks.clone().map(Trigger::anywhere);
        // What opens like a call and is none is looked at last.
        let broken = marks.map(|mark| Trigger::anywhere(mark).claimed(Claim::Misspelt));
        opens.chain(broken).collect()
    }

    fn reader(&self, trigger: usize) -> Box<dyn Reader> {
        let Some(form) = &self.template.calls else {
            return Box::new(NoCalls);
        };
        match trigger.checked_sub(form.opening.marks.len()) {
            None => Box::new(CallReader::new(form)),
            Some(mark) => Box::new(BrokenReader::new(form, mark)),
        }
    }

    fn closers(&self) -> Vec<String> {
        let Some(form) = &self.template.calls else {
            return Vec::new();
        };
        let closes = match &form.body {
            CallBody::Tags(tags) => &tags.close,
            _ => &form.close,
        };
        // A short one occurs in any prose, and is not markup there.
        let closes = closes.iter().filter(|close| close.len() > 2);
        let closes = closes.filter(|close| !close.contains(['\n', '\r', '~']));
        closes.cloned().collect()
    }

    fn silent(&self) -> Vec<Trigger> {
        self.template.silent.iter().map(Trigger::anywhere).collect()
    }

    fn frames(&self) -> Vec<Frame> {
        self.template.frames.clone()
    }

    fn opening(&self) -> Opening {
        self.template.opening
    }

    fn also_reads(&self) -> Vec<String> {
        ["json", "hermes"].map(str::to_owned).to_vec()
    }

    fn keys(&self) -> &CallKeys {
        self.template
            .calls
            .as_ref()
            .map_or(&NO_KEYS, |form| &form.keys)
    }

    fn writer(&self) -> Option<&dyn Writer> {
        self.template.calls.as_ref().map(|_| self as &dyn Writer)
    }
}

/// Reads nothing, as there is no form of calls.
struct NoCalls;

impl Reader for NoCalls {
    fn read(&mut self, _: &Input<'_>, _: &mut Findings) -> Step {
        Step::Reject
    }
}

impl Writer for TemplateDialect {
    fn rules(&self) -> Vec<String> {
        let form = self.template.calls.as_ref();
        let rule = match form.map(|form| &form.body) {
            Some(CallBody::Tags(_)) => "Write each value raw between its tags. Escape nothing.",
            Some(CallBody::Lines { .. }) => {
                "Write each argument on a line of its own, without quotes."
            }
            _ => "Valid JSON only: double quotes, no comments, no trailing commas.",
        };
        vec![rule.to_owned()]
    }

    fn reasoning_rule(&self) -> String {
        String::new()
    }

    fn shows_long_text(&self) -> bool {
        let form = self.template.calls.as_ref();
        form.is_some_and(|form| matches!(form.body, CallBody::Tags(_)))
    }

    fn call(&self, call: &ToolCall) -> String {
        self.calls(std::slice::from_ref(call))
    }

    fn calls(&self, calls: &[ToolCall]) -> String {
        let form = self.template.calls.as_ref();
        // Calls that this form cannot hold are written as JSON, which is read
        // beside it.
        let written = form.and_then(|form| form.write(calls));
        written.unwrap_or_else(|| hermes_text(calls))
    }

    fn takes_several(&self) -> bool {
        true
    }
}

impl CallForm {
    /// Writes calls, if the form can hold them.
    fn write(&self, calls: &[ToolCall]) -> Option<String> {
        if self.is_list {
            let objects: Vec<String> = calls.iter().map(|call| self.object(call)).collect();
            return Some(self.between_marks("", &format!("[{}]", objects.join(", "))));
        }
        let calls: Option<Vec<String>> = calls.iter().map(|call| self.write_one(call)).collect();
        Some(calls?.join("\n"))
    }

    fn write_one(&self, call: &ToolCall) -> Option<String> {
        if self.name.is_none() {
            return Some(self.between_marks("", &self.object(call)));
        }
        let body = match &self.body {
            CallBody::Json(_) => call.args.to_json(),
            CallBody::Loose(notation) => self.loose(notation, call),
            CallBody::Lines { between, colon } => self.lines(call, between, colon)?,
            CallBody::Tags(tags) => {
                if !tags.can_hold(call) {
                    return None;
                }
                let close = tags.close.first()?;
                let text = tags.write_behind(self.opened(&call.name)?, call);
                let text = text.strip_suffix(close.as_str())?;
                let groups = tags.groups.iter().map(|group| format!("{group}\n"));
                return Some(format!("{text}{}{close}", groups.collect::<String>()));
            }
        };
        self.opened(&call.name)?;
        Some(self.between_marks(&call.name, &body))
    }

    /// The opening with this name, if it is one that can be read back.
    fn opened(&self, name: &str) -> Option<String> {
        let written = &self.opening.written;
        let text = format!("{}{name}{}", written.before, written.behind);
        let mut cache = self.opening.cache();
        let whole = format!("{text}\n");
        let is_read = matches!(
            self.opening.match_at(&mut cache, whole.trim_start(), true),
            Opened::At(end) if end + 1 >= whole.trim_start().len()
        );
        let group = self.opening.group(text.trim_start(), self.name.as_deref()?);
        (is_read && group.as_deref() == Some(name)).then_some(text)
    }

    fn between_marks(&self, name: &str, body: &str) -> String {
        let written = &self.opening.written;
        let close = self.close.first().map_or("", String::as_str);
        format!("{}{name}{}{body}{close}", written.before, written.behind)
    }

    /// A call as a JSON object.
    fn object(&self, call: &ToolCall) -> String {
        let key = |keys: &[String], usual: &str| quote(keys.first().map_or(usual, String::as_str));
        format!(
            "{{{}: {}, {}: {}}}",
            key(&self.keys.name, "name"),
            quote(&call.name),
            key(&self.keys.args, "arguments"),
            call.args.to_json()
        )
    }

    /// Arguments in the notation of the form. What its marks cannot hold is
    /// written as JSON.
    fn loose(&self, notation: &Loose, call: &ToolCall) -> String {
        let is_plain = |key: &str| {
            !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        let holds = |text: &str| {
            let marks = notation
                .strings
                .iter()
                .flat_map(|(open, close)| [open, close]);
            !marks
                .chain(&self.close)
                .any(|mark| text.contains(mark.as_str()))
        };
        let members = call.args.members().map(|(key, value, json)| {
            let key = if notation.bare_keys && is_plain(key) {
                key.to_owned()
            } else {
                quote(key)
            };
            let value = match (value, notation.strings.first()) {
                (Value::String(text), Some((open, close))) if holds(text) => {
                    format!("{open}{text}{close}")
                }
                _ => json,
            };
            format!("{key}:{value}")
        });
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    }

    /// Arguments line by line, if each can stand on one.
    fn lines(&self, call: &ToolCall, between: &str, colon: &str) -> Option<String> {
        let mut text = String::new();
        for (key, value, json) in call.args.members() {
            let value = value.as_str().unwrap_or(&json);
            let is_held = |text: &str| {
                let mut marks = self.close.iter().map(String::as_str).chain([between]);
                text.trim() == text
                    && !text.contains('\n')
                    && !marks.any(|mark| text.contains(mark))
            };
            if key.is_empty() || key.contains(colon) || !is_held(key) || !is_held(value) {
                return None;
            }
            text.push_str(between);
            text.push_str(&format!("{key}{colon} {value}"));
        }
        text.push_str(between);
        Some(text)
    }
}
