//! Writes calls with tagged arguments.

use serde_json::Value;

use crate::dialects::engine::json_marks::is_tool_name;
use crate::dialects::engine::tag_form::{JsonBody, NamePosition, Param, TagForm, ValueLines};
use crate::dialects::engine::tags::trim_lines;
use crate::{Arguments, ToolCall};

impl TagForm {
    /// Whether values can stand raw between the tags and read back as
    /// themselves, and the rest of the call as well.
    pub(crate) fn can_hold(&self, call: &ToolCall) -> bool {
        let close = match &self.param {
            Param::Tag { close, .. } => close.as_str(),
            Param::Pair { value, .. } => value.1.as_str(),
            Param::Element { .. } => "</",
        };
        let plain = |text: &str| {
            !text.is_empty()
                && !text.contains(['<', '>', '"', '\'', '&', '=', '\n', '\\', '/'])
                && text.trim() == text
        };
        let is_name = |key: &str| {
            key.starts_with(|c: char| c.is_alphabetic() || c == '_') && is_tool_name(key)
        };
        let holds = |key: &str, value: &Value| {
            let raw = value.as_str().unwrap_or_default();
            let lowered = raw.to_ascii_lowercase();
            plain(key)
                && !raw.ends_with('\r')
                // Most readers of this form drop line breaks around a value.
                && (self.lines != ValueLines::OfValue || trim_lines(raw) == raw)
                && (is_name(key) || !matches!(self.param, Param::Element { .. }))
                && !lowered.contains(&close.to_ascii_lowercase())
                && !self
                    .close
                    .iter()
                    .any(|mark| lowered.contains(&mark.to_ascii_lowercase()))
                && !lowered.contains(&self.param_start().to_ascii_lowercase())
                && !(self.is_xml && raw.contains(['<', '&']))
        };
        plain(&call.name)
            && call
                .args
                .as_map()
                .iter()
                .all(|(key, value)| holds(key, value))
    }

    fn param_start(&self) -> &str {
        match &self.param {
            Param::Tag { open, .. } => open,
            Param::Pair { key, .. } => &key.0,
            Param::Element { prefix } if prefix.is_empty() => "<![",
            Param::Element { prefix } => prefix,
        }
    }

    pub(super) fn write(&self, calls: &[ToolCall]) -> String {
        let calls: Vec<String> = calls.iter().map(|call| self.write_call(call)).collect();
        calls.join("\n")
    }

    fn write_call(&self, call: &ToolCall) -> String {
        let empty = String::new();
        let open = self.open.first().unwrap_or(&empty);
        let end = &self.tag_end;
        let name = &call.name;
        let head = match &self.named {
            NamePosition::Attribute(key) => format!("{open} {key}=\"{name}\"{end}"),
            NamePosition::Behind(ends) if !self.sections.is_empty() => {
                format!("{open}{name}{}", ends.first().unwrap_or(&empty))
            }
            NamePosition::Behind(_) => format!("{open}{name}"),
            NamePosition::Rest | NamePosition::Tag => format!("{open}{name}{end}"),
        };
        self.write_behind(head, call)
    }

    /// Writes a call whose opening tag is written already.
    pub(crate) fn write_behind(&self, head: String, call: &ToolCall) -> String {
        let empty = String::new();
        let close = self.close.first().unwrap_or(&empty);
        let mut text = head;
        if self.json == JsonBody::Only {
            text.push_str(&call.args.to_json());
        } else {
            text.push('\n');
            self.write_arguments(&call.args, &mut text);
        }
        // The marks around one call belong to its form.
        format!("{text}{close}")
    }

    fn write_arguments(&self, args: &Arguments, text: &mut String) {
        let end = &self.tag_end;
        for (key, value, json) in args.members() {
            // In JSON a mark can be escaped.
            let json = || json.replace('<', "\\u003c").replace('&', "\\u0026");
            let raw = value.as_str().map_or_else(json, str::to_owned);
            let is_padded =
                raw.starts_with(char::is_whitespace) || raw.ends_with(char::is_whitespace);
            let value = match self.lines {
                ValueLines::OfValue => raw,
                ValueLines::Dropped if !is_padded => raw,
                ValueLines::Dropped | ValueLines::OfForm => format!("\n{raw}\n"),
            };
            match &self.param {
                Param::Tag {
                    open,
                    named: NamePosition::Attribute(name),
                    close,
                } => text.push_str(&format!(
                    "{open} {name}=\"{key}\"{}{end}{value}{close}\n",
                    self.type_of(args, key)
                )),
                Param::Tag { open, close, .. } => {
                    text.push_str(&format!("{open}{key}{end}{value}{close}\n"));
                }
                Param::Pair {
                    key: keys,
                    kind,
                    value: values,
                } => {
                    text.push_str(&format!("{}{key}{}\n", keys.0, keys.1));
                    if let Some((open, close)) = kind {
                        text.push_str(&format!("{open}{}{close}\n", kind_of(args, key)));
                    }
                    text.push_str(&format!("{}{value}{}\n", values.0, values.1));
                }
                Param::Element { prefix } => {
                    text.push_str(&format!("{prefix}<{key}>{value}{prefix}</{key}>\n"));
                }
            }
        }
    }

    /// The attribute that gives the type of a value, in families that have one.
    fn type_of(&self, args: &Arguments, key: &str) -> String {
        let kind = kind_of(args, key);
        let says_string = |open: &String| open.contains("DSML") || open.contains("GCML");
        if self.open.iter().any(says_string) {
            format!(" string=\"{}\"", kind == "string")
        } else if self.open.iter().any(|open| open.contains("<|open|>")) {
            format!(" type=\"{kind}\"")
        } else {
            String::new()
        }
    }
}

/// The type of an argument, as JSON Schema names it.
fn kind_of(args: &Arguments, key: &str) -> &'static str {
    match args.get(key) {
        Some(Value::String(_)) | None => "string",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "boolean",
        Some(Value::Number(_)) => "number",
        Some(Value::Array(_)) => "array",
        Some(Value::Object(_)) => "object",
    }
}
