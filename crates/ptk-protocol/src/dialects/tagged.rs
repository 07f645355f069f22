//! Families that give each argument a tag of its own, with the value raw
//! between its tags. All are read by one engine; this is the table of their
//! marks.

use std::sync::Arc;

use super::engine::json_marks::is_tool_name;
use super::engine::section::Section;
use super::engine::tag_form::{JsonBody, NamePosition, Param, TagForm};
use super::marked::hermes_text;
use super::{Dialect, Trigger, Writer};
use crate::parse::Reader;
use crate::{Arguments, ToolCall};

/// A dialect that writes each argument in a tag.
#[derive(Debug)]
pub(crate) struct Tagged {
    name: &'static str,
    aliases: &'static [&'static str],
    form: Arc<TagForm>,
    /// Dialects that are other forms of this one.
    forms: &'static [&'static str],
}

impl Tagged {
    fn new(name: &'static str, form: TagForm) -> Self {
        Self {
            name,
            aliases: &[],
            form: Arc::new(form),
            forms: &[],
        }
    }

    fn also_called(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }
}

impl Dialect for Tagged {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> Vec<&str> {
        self.aliases.to_vec()
    }

    fn triggers(&self) -> Vec<Trigger> {
        self.form.triggers()
    }

    fn reader(&self, trigger: usize) -> Box<dyn Reader> {
        TagForm::reader(&self.form, trigger)
    }

    fn closers(&self) -> Vec<String> {
        self.form.close.clone()
    }

    fn section_ends(&self) -> Vec<String> {
        self.form.section_ends()
    }

    fn other_forms(&self) -> Vec<String> {
        self.forms.iter().map(|name| (*name).to_owned()).collect()
    }

    fn also_reads(&self) -> Vec<String> {
        vec!["hermes".to_owned(), "json".to_owned()]
    }

    fn writer(&self) -> Option<&dyn Writer> {
        (self.form.named != NamePosition::Tag).then_some(self)
    }
}

impl Writer for Tagged {
    fn rules(&self) -> Vec<String> {
        vec!["Write each value raw between its tags. Escape nothing.".to_owned()]
    }

    fn reasoning_rule(&self) -> String {
        String::new()
    }

    fn shows_long_text(&self) -> bool {
        true
    }

    fn call(&self, call: &ToolCall) -> String {
        self.calls(std::slice::from_ref(call))
    }

    fn calls(&self, calls: &[ToolCall]) -> String {
        // A call that these tags cannot hold is written as JSON, which the same
        // models write.
        if !calls.iter().all(|call| self.form.can_hold(call)) {
            return hermes_text(calls);
        }
        let written = self.form.write(calls);
        match self.form.sections.first() {
            Some(section) => format!("{}\n{written}\n{}", section.open, section.close),
            None => written,
        }
    }

    fn takes_several(&self) -> bool {
        true
    }
}

/// The form `<parameter=k>v</parameter>` in `<function=f>`.
fn function_form(sections: &[(&str, &str)]) -> TagForm {
    TagForm {
        open: vec!["<function=".to_owned()],
        named: NamePosition::Rest,
        tag_end: ">".to_owned(),
        close: vec!["</function>".to_owned()],
        param: Param::Tag {
            open: "<parameter=".to_owned(),
            named: NamePosition::Rest,
            close: "</parameter>".to_owned(),
        },
        groups: Vec::new(),
        sections: marks(sections),
        is_xml: false,
        json: JsonBody::Read,
        addresses: Vec::new(),
    }
}

/// The form `<parameter name="k">v</parameter>` in `<invoke name="f">`, every
/// tag with a prefix.
fn invoke_form(prefix: &str, sections: &[(&str, &str)]) -> TagForm {
    TagForm {
        open: vec![format!("<{prefix}invoke")],
        named: NamePosition::Attribute("name".to_owned()),
        tag_end: ">".to_owned(),
        close: vec![format!("</{prefix}invoke>")],
        param: Param::Tag {
            open: format!("<{prefix}parameter"),
            named: NamePosition::Attribute("name".to_owned()),
            close: format!("</{prefix}parameter>"),
        },
        groups: Vec::new(),
        sections: marks(sections),
        is_xml: false,
        json: JsonBody::Read,
        addresses: Vec::new(),
    }
}

/// The form `<arg_key>k</arg_key><arg_value>v</arg_value>` behind the tool's
/// name.
fn key_value_form(sections: &[(&str, &str)]) -> TagForm {
    let tags = |tag: &str| (format!("<{tag}>"), format!("</{tag}>"));
    TagForm {
        open: vec!["<tool_call>".to_owned()],
        named: NamePosition::Behind(vec!["<tool_sep>".to_owned()]),
        tag_end: ">".to_owned(),
        close: vec!["</tool_call>".to_owned()],
        param: Param::Pair {
            key: tags("arg_key"),
            value: tags("arg_value"),
        },
        groups: Vec::new(),
        sections: marks(sections),
        is_xml: false,
        json: JsonBody::Read,
        addresses: Vec::new(),
    }
}

/// The form `<param name="k">v</param>` in `<function name="f">`.
fn param_form(sections: &[(&str, &str)]) -> TagForm {
    let groups = ["<params>", "</params>", "<parameters>", "</parameters>"];
    TagForm {
        open: vec!["<function".to_owned()],
        named: NamePosition::Attribute("name".to_owned()),
        tag_end: ">".to_owned(),
        close: vec!["</function>".to_owned()],
        param: Param::Tag {
            open: "<param".to_owned(),
            named: NamePosition::Attribute("name".to_owned()),
            close: "</param>".to_owned(),
        },
        groups: groups.map(str::to_owned).to_vec(),
        sections: marks(sections),
        is_xml: true,
        json: JsonBody::Read,
        addresses: Vec::new(),
    }
}

/// The form `<k>v</k>` in `<f>`.
fn element_form() -> TagForm {
    TagForm {
        open: vec!["<".to_owned()],
        named: NamePosition::Tag,
        tag_end: ">".to_owned(),
        close: Vec::new(),
        param: Param::Element {
            prefix: String::new(),
        },
        groups: Vec::new(),
        sections: Vec::new(),
        is_xml: true,
        json: JsonBody::Read,
        addresses: Vec::new(),
    }
}

fn marks(sections: &[(&str, &str)]) -> Vec<Section> {
    sections
        .iter()
        .map(|(open, close)| Section::new(*open, *close))
        .collect()
}

/// The prefix of every tag of `MiniMax` M3.
const M3: &str = "]<]minimax[>[";

/// All families of this kind, in the order in which they are tried.
pub(crate) fn families() -> Vec<Tagged> {
    let dsml = "｜DSML｜";
    let mut families = vec![
        // GLM-4.5 to 5, Poolside.
        Tagged::new("glm", key_value_form(&[])).also_called(&["glm-4.5", "glm-4.7", "poolside"]),
        Tagged::new(
            "hunyuan-v3",
            key_value_form(&[("<tool_calls>", "</tool_calls>")]),
        ),
        // Functionary 3.1: JSON between the tags.
        Tagged {
            forms: &["functionary-3.2"],
            ..Tagged::new(
                "functionary",
                TagForm {
                    json: JsonBody::Only,
                    ..function_form(&[])
                },
            )
        },
        // Nemotron-nano, MiMo and Step 3.5 write the same.
        Tagged::new(
            "qwen3-coder",
            function_form(&[("<tool_call>", "</tool_call>")]),
        )
        .also_called(&["nemotron-nano", "mimo", "step3.5"]),
        Tagged::new(
            "seed-oss",
            function_form(&[("<seed:tool_call>", "</seed:tool_call>")]),
        ),
        Tagged::new(
            "deepseek-v3.2",
            invoke_form(
                dsml,
                &[("<｜DSML｜function_calls>", "</｜DSML｜function_calls>")],
            ),
        ),
        Tagged::new(
            "deepseek-v4",
            invoke_form(dsml, &[("<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>")]),
        ),
        Tagged::new(
            "minimax-m2",
            invoke_form("", &[("<minimax:tool_call>", "</minimax:tool_call>")]),
        )
        .also_called(&["minimax"]),
    ];
    families.extend(further_families());
    families
}

fn further_families() -> Vec<Tagged> {
    vec![
        Tagged::new(
            "minimax-m3",
            TagForm {
                open: vec![format!("{M3}<invoke")],
                close: vec![format!("{M3}</invoke>")],
                param: Param::Element {
                    prefix: M3.to_owned(),
                },
                sections: vec![Section::new(
                    format!("{M3}<tool_call>"),
                    format!("{M3}</tool_call>"),
                )],
                ..invoke_form("", &[])
            },
        ),
        Tagged::new(
            "dots",
            invoke_form("", &[("<dots_function_call>", "</dots_function_call>")]),
        ),
        Tagged::new(
            "muse-glimmer",
            TagForm {
                addresses: marks(&[
                    ("<|start|>assistant to=", "<|message|>"),
                    ("to=", "<|message|>"),
                ]),
                ..invoke_form(
                    "atem:",
                    &[("<atem:function_calls>", "</atem:function_calls>")],
                )
            },
        ),
        Tagged::new(
            "step3",
            invoke_form(
                "steptml:",
                &[
                    ("<｜tool_calls_begin｜>", "<｜tool_calls_end｜>"),
                    (
                        "<｜tool_call_begin｜>function<｜tool_sep｜>",
                        "<｜tool_call_end｜>",
                    ),
                ],
            ),
        ),
        // Wherever none of the sections above stands around it.
        Tagged::new(
            "invoke",
            invoke_form("", &[("<function_calls>", "</function_calls>")]),
        ),
        Tagged::new(
            "kimi-k3",
            TagForm {
                open: vec!["<|open|>call".to_owned()],
                named: NamePosition::Attribute("tool".to_owned()),
                tag_end: "<|sep|>".to_owned(),
                close: vec!["<|close|>call<|sep|>".to_owned()],
                param: Param::Tag {
                    open: "<|open|>argument".to_owned(),
                    named: NamePosition::Attribute("key".to_owned()),
                    close: "<|close|>argument<|sep|>".to_owned(),
                },
                groups: Vec::new(),
                sections: marks(&[("<|open|>tools<|sep|>", "<|close|>tools<|sep|>")]),
                is_xml: false,
                json: JsonBody::No,
                addresses: Vec::new(),
            },
        ),
        Tagged::new("minicpm5", param_form(&[])),
        // The XML that the BFCL benchmark asks for.
        Tagged::new("bfcl-xml", param_form(&[("<functions>", "</functions>")])),
        Tagged::new("morph-xml", element_form()),
    ]
}

impl TagForm {
    /// Whether values can stand raw between the tags and read back as
    /// themselves, and the rest of the call as well.
    pub(super) fn can_hold(&self, call: &ToolCall) -> bool {
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
        let holds = |key: &str, value: &serde_json::Value| {
            let raw = value.as_str().unwrap_or_default();
            let lowered = raw.to_ascii_lowercase();
            plain(key)
                && !raw.ends_with('\r')
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

    fn write(&self, calls: &[ToolCall]) -> String {
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
    pub(super) fn write_behind(&self, head: String, call: &ToolCall) -> String {
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
            let on_own_lines = matches!(
                self.param,
                Param::Tag {
                    named: NamePosition::Rest,
                    ..
                }
            );
            let value = if is_padded || on_own_lines {
                format!("\n{raw}\n")
            } else {
                raw
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
                    value: values,
                } => text.push_str(&format!(
                    "{}{key}{}\n{}{value}{}\n",
                    keys.0, keys.1, values.0, values.1
                )),
                Param::Element { prefix } => {
                    text.push_str(&format!("{prefix}<{key}>{value}{prefix}</{key}>\n"));
                }
            }
        }
    }

    /// The attribute that gives the type of a value, in families that have one.
    fn type_of(&self, args: &Arguments, key: &str) -> String {
        let kind = match args.get(key) {
            Some(serde_json::Value::String(_)) | None => "string",
            Some(serde_json::Value::Null) => "null",
            Some(serde_json::Value::Bool(_)) => "boolean",
            Some(serde_json::Value::Number(_)) => "number",
            Some(serde_json::Value::Array(_)) => "array",
            Some(serde_json::Value::Object(_)) => "object",
        };
        if self.open.iter().any(|open| open.contains("DSML")) {
            format!(" string=\"{}\"", kind == "string")
        } else if self.open.iter().any(|open| open.contains("<|open|>")) {
            format!(" type=\"{kind}\"")
        } else {
            String::new()
        }
    }
}
