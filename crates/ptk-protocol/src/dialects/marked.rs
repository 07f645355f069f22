//! Families that write JSON between marks: the whole call, or the arguments
//! behind the tool's name. All are read by one engine; this is the table of
//! their marks.

use std::sync::Arc;

use serde_json::Value;

use super::engine::call_object::Called;
use super::engine::json_marks::{BEHIND_NAME, Head, HeadAt, JsonMarks, leading_name, name_head};
use super::engine::marked_json::MarkedJson;
use super::engine::named_first::NamedFirst;
use super::engine::section::Section;
use super::plamo::plamo3;
use super::{Dialect, Trigger, Writer};
use crate::ToolCall;
use crate::parse::{MarkAt, Reader, mark_at};

/// A dialect that writes JSON between marks.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "families differ in independent ways"
)]
pub(crate) struct Marked {
    name: &'static str,
    aliases: &'static [&'static str],
    marks: Arc<JsonMarks>,
    sections: Vec<Section>,
    at_line_start: bool,
    /// Whether a call begins with the tool's name and a line break.
    by_name: bool,
    /// How a call is read that begins with the tool's name, its opening mark
    /// missing.
    unmarked: Option<Arc<JsonMarks>>,
    /// Whether models write its calls as often without marks, as bare JSON.
    marks_are_optional: bool,
    /// Whether its calls may stand behind prose. There, and before a lone
    /// object, they have to name a declared tool.
    is_word: bool,
    /// Whether its models also make calls while they think.
    calls_in_reasoning: bool,
    /// Dialects that the same models write as well, bare JSON aside.
    beside: &'static [&'static str],
    write: fn(&[ToolCall]) -> String,
}

impl Marked {
    pub(super) fn new(
        name: &'static str,
        marks: JsonMarks,
        write: fn(&[ToolCall]) -> String,
    ) -> Self {
        Self {
            name,
            aliases: &[],
            marks: Arc::new(marks),
            sections: Vec::new(),
            at_line_start: false,
            by_name: false,
            unmarked: None,
            marks_are_optional: false,
            is_word: false,
            calls_in_reasoning: false,
            beside: &[],
            write,
        }
    }

    fn also_called(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    pub(super) fn in_section(mut self, open: &str, close: &str) -> Self {
        self.sections.push(Section::new(open, close));
        self
    }

    fn at_line_start(mut self) -> Self {
        self.at_line_start = true;
        self
    }

    fn word(mut self) -> Self {
        self.is_word = true;
        self.at_line_start()
    }

    fn with_optional_marks(mut self) -> Self {
        self.marks_are_optional = true;
        self
    }
}

impl Dialect for Marked {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> Vec<&str> {
        self.aliases.to_vec()
    }

    fn triggers(&self) -> Vec<Trigger> {
        let trigger = if self.at_line_start {
            |mark: &str| Trigger::at_line_start(mark)
        } else {
            |mark: &str| Trigger::anywhere(mark)
        };
        let mut triggers = self.marks.triggers(trigger);
        if self.by_name {
            triggers.push(Trigger::tool_name("", BEHIND_NAME));
            triggers.push(Trigger::tool_name(">>>", BEHIND_NAME));
        }
        triggers.extend(self.sections.iter().map(Section::trigger));
        let unmarked = self.unmarked.iter();
        triggers.extend(unmarked.map(|_| Trigger::tool_name("", BEHIND_NAME)));
        if self.is_word {
            let words = self.marks.open.iter().filter(|open| !open.contains(' '));
            triggers.extend(words.map(Trigger::behind_prose));
        }
        triggers
    }

    fn reader(&self, trigger: usize) -> Box<dyn Reader> {
        if self.is_word {
            let words = self.marks.open.len() + self.sections.len();
            let open = trigger.checked_sub(words).unwrap_or(trigger);
            let call = MarkedJson::new(Arc::clone(&self.marks), open);
            let mark = self.marks.open.get(open).map_or("", String::as_str);
            if trigger >= words || mark.ends_with('{') {
                let at = mark.len().saturating_sub(1);
                return Box::new(NamedFirst::new(call, at, trigger >= words));
            }
            return Box::new(call);
        }
        let section = trigger.checked_sub(self.marks.open.len());
        match section.and_then(|section| self.sections.get(section)) {
            Some(section) => section.reader(),
            None if self.by_name => Box::new(MarkedJson::new(Arc::clone(&self.marks), 0)),
            None => match (&self.unmarked, section) {
                (Some(unmarked), Some(_)) => Box::new(MarkedJson::new(Arc::clone(unmarked), 0)),
                _ => Box::new(MarkedJson::new(Arc::clone(&self.marks), trigger)),
            },
        }
    }

    fn closers(&self) -> Vec<String> {
        let closers = self.marks.close.iter().filter(|close| close.len() > 2);
        closers.cloned().collect()
    }

    fn section_ends(&self) -> Vec<String> {
        let sections = self.sections.iter();
        sections.map(|section| section.close.clone()).collect()
    }

    fn other_forms(&self) -> Vec<String> {
        let bare = self.marks_are_optional.then(|| "json".to_owned());
        bare.into_iter().collect()
    }

    fn also_reads(&self) -> Vec<String> {
        let bare = (!self.marks_are_optional).then_some("json");
        let all = bare.into_iter().chain(self.beside.iter().copied());
        all.map(str::to_owned).collect()
    }

    fn calls_in_reasoning(&self) -> bool {
        self.calls_in_reasoning
    }

    fn writer(&self) -> Option<&dyn Writer> {
        Some(self)
    }
}

impl Writer for Marked {
    fn rules(&self) -> Vec<String> {
        vec!["Valid JSON only: double quotes, no comments, no trailing commas.".to_owned()]
    }

    fn reasoning_rule(&self) -> String {
        String::new()
    }

    fn call(&self, call: &ToolCall) -> String {
        (self.write)(std::slice::from_ref(call))
    }

    fn calls(&self, calls: &[ToolCall]) -> String {
        (self.write)(calls)
    }

    fn takes_several(&self) -> bool {
        true
    }
}

/// Writes a call as a JSON object with these keys.
fn object(call: &ToolCall, name: &str, args: &str) -> String {
    let tool = Value::String(call.name.clone());
    format!(
        "{{\"{name}\": {tool}, \"{args}\": {}}}",
        call.args.to_json()
    )
}

/// Writes each call between two marks of its own.
pub(super) fn each(calls: &[ToolCall], join: &str, write: impl Fn(&ToolCall) -> String) -> String {
    let calls: Vec<String> = calls.iter().map(write).collect();
    calls.join(join)
}

/// Writes all calls in one list.
fn list(calls: &[ToolCall], open: &str, close: &str) -> String {
    let calls = each(calls, ", ", |call| object(call, "name", "arguments"));
    format!("{open}[{calls}]{close}")
}

/// Writes calls as Hermes and Qwen do.
pub(super) fn hermes_text(calls: &[ToolCall]) -> String {
    each(calls, "\n", |call| {
        let json = object(call, "name", "arguments");
        format!("<tool_call>\n{json}\n</tool_call>")
    })
}

/// All families of this kind, in the order in which they are tried.
pub(crate) fn families() -> Vec<Marked> {
    let mut families = whole_calls();
    families.extend(calls_of_their_own());
    families.extend(named_calls());
    families.extend(other_forms());
    families
}

/// Families with one object, or a list of them, between two marks.
fn whole_calls() -> Vec<Marked> {
    vec![
        Marked::new("hermes", JsonMarks::tag("tool_call"), hermes_text).also_called(&[
            "qwen",
            "qwen2.5",
            "qwen3",
            "granite4",
            "reka",
            "ernie-4.5",
        ]),
        Marked {
            calls_in_reasoning: true,
            ..Marked::new("trinity", JsonMarks::tag("tool_call"), hermes_text)
        },
        Marked::new(
            "longcat",
            JsonMarks::exact(&["<longcat_tool_call>"], &["</longcat_tool_call>"]),
            |calls| {
                each(calls, "\n", |call| {
                    let json = object(call, "name", "arguments");
                    format!("<longcat_tool_call>{json}</longcat_tool_call>")
                })
            },
        ),
        // Hunyuan-A13B and Apriel write the same.
        Marked::new(
            "jamba",
            JsonMarks::exact(&["<tool_calls>"], &["</tool_calls>"]),
            |calls| list(calls, "<tool_calls>", "</tool_calls>"),
        )
        .also_called(&["hunyuan-a13b", "apriel"]),
        Marked::new(
            "nemotron",
            JsonMarks::exact(&["<TOOLCALL>"], &["</TOOLCALL>"]),
            |calls| list(calls, "<TOOLCALL>", "</TOOLCALL>"),
        )
        .also_called(&["nemotron-v2", "deci"]),
        Marked {
            beside: &["hermes"],
            ..Marked::new(
                "granite3",
                JsonMarks::exact(&["<|tool_call|>"], &[]),
                |calls| list(calls, "<|tool_call|> ", ""),
            )
        }
        .also_called(&["granite"]),
        Marked::new(
            "granite-20b-fc",
            joined(JsonMarks::exact(&["<function_call>"], &[])),
            |calls| {
                each(calls, "\n", |call| {
                    format!("<function_call> {}", object(call, "name", "arguments"))
                })
            },
        ),
        // Python's quotes or JSON's.
        Marked::new(
            "sarashina",
            JsonMarks::exact(&["<|tool_calls|>"], &[]),
            |calls| list(calls, "<|tool_calls|>", ""),
        )
        .with_optional_marks(),
        // Phi-4-mini and Firefunction.
        Marked::new(
            "functools",
            JsonMarks {
                overlap: 1,
                ..JsonMarks::exact(&["functools[", "functools{", "functools ["], &[])
            },
            |calls| list(calls, "functools", ""),
        )
        .word()
        .also_called(&["phi4-mini", "phi4", "firefunction"]),
        Marked::new(
            "llama3-json",
            joined(JsonMarks::exact(&["<|python_tag|>"], &[])),
            |calls| {
                let calls = each(calls, "; ", |call| object(call, "name", "parameters"));
                format!("<|python_tag|>{calls}")
            },
        )
        .with_optional_marks()
        .also_called(&["llama3", "llama-3"]),
    ]
}

/// Families whose calls have heads or keys of their own.
fn calls_of_their_own() -> Vec<Marked> {
    vec![
        Marked::new(
            "mistral",
            JsonMarks {
                may_stay_open: true,
                ..JsonMarks::exact(&MISTRAL, &["[/TOOL_CALLS]"]).headed(Head::Read(mistral_head))
            },
            |calls| {
                each(calls, "", |call| {
                    let id = call.id.as_ref();
                    let id = id.map(|id| format!("[CALL_ID]{id}")).unwrap_or_default();
                    let (name, args) = (&call.name, call.args.to_json());
                    format!("[TOOL_CALLS]{name}{id}[ARGS]{args}")
                })
            },
        ),
        Marked::new(
            "cohere",
            JsonMarks::exact(&["<|START_ACTION|>"], &["<|END_ACTION|>"]),
            |calls| {
                let calls: Vec<String> = calls
                    .iter()
                    .enumerate()
                    .map(|(index, call)| {
                        let id = call.id.clone().unwrap_or_else(|| index.to_string());
                        let id = Value::String(id);
                        let json = object(call, "tool_name", "parameters");
                        json.replacen('{', &format!("{{\"tool_call_id\": {id}, "), 1)
                    })
                    .collect();
                format!("<|START_ACTION|>[{}]<|END_ACTION|>", calls.join(", "))
            },
        )
        .also_called(&["command-r7b", "command-a", "cohere_command4"]),
        Marked::new(
            "internlm2",
            JsonMarks::exact(
                &[
                    "<|action_start|> <|plugin|>",
                    "<|action_start|><|plugin|>",
                    "<|action_start|>\n<|plugin|>",
                    "<|action_start|>",
                ],
                &["<|action_end|>"],
            ),
            |calls| {
                each(calls, "\n", |call| {
                    let json = object(call, "name", "parameters");
                    format!("<|action_start|> <|plugin|>\n{json}<|action_end|>")
                })
            },
        ),
        Marked::new(
            "gigachat",
            JsonMarks::exact(
                &[
                    "<|function_call|>",
                    "<|message_sep|>\n\nfunction call<|role_sep|>",
                    "<|message_sep|>\nfunction call<|role_sep|>",
                    "<|message_sep|>function call<|role_sep|>",
                ],
                &[],
            ),
            |calls| {
                each(calls, "\n", |call| {
                    format!("<|function_call|>{}", object(call, "name", "arguments"))
                })
            },
        ),
        Marked::new(
            "apertus",
            JsonMarks {
                by_key: true,
                ..JsonMarks::exact(&["<|tools_prefix|>"], &["<|tools_suffix|>"])
            },
            |calls| {
                let calls = each(calls, ", ", |call| {
                    let name = Value::String(call.name.clone());
                    format!("{{{name}: {}}}", call.args.to_json())
                });
                format!("<|tools_prefix|>[{calls}]<|tools_suffix|>")
            },
        ),
    ]
}

/// Families with the tool's name, and its arguments as JSON behind it.
fn named_calls() -> Vec<Marked> {
    vec![
        Marked {
            unmarked: Some(Arc::new(
                JsonMarks::exact(&[], &["<|end_message|>"])
                    .headed(Head::Read(unmarked_inkling_head)),
            )),
            ..Marked::new(
            "inkling",
            JsonMarks::exact(
                &["<|message_model|>", "<|content_invoke_tool_json|>"],
                &["<|end_message|>"],
            )
            .headed(Head::Read(inkling_head)),
            |calls| {
                each(calls, "", |call| {
                    let json = object(call, "name", "args");
                    let name = &call.name;
                    format!(
                        "<|message_model|>{name}<|content_invoke_tool_json|>{json}<|end_message|>"
                    )
                })
            },
        )
        },
        // DeepSeek R1 writes the same.
        Marked::new(
            "deepseek-v3",
            JsonMarks {
                fenced: true,
                ..deepseek_marks(deepseek_v3_head)
            },
            |calls| {
                let calls = each(calls, "", |call| {
                    let (name, args) = (&call.name, call.args.to_json());
                    format!("<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{args}\n```<｜tool▁call▁end｜>")
                });
                format!("<｜tool▁calls▁begin｜>{calls}<｜tool▁calls▁end｜>")
            },
        )
        .also_called(&["deepseek-r1"])
        .in_section("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
        Marked::new("deepseek-v3.1", deepseek_marks(deepseek_v31_head), |calls| {
            let calls = each(calls, "", |call| {
                let (name, args) = (&call.name, call.args.to_json());
                format!("<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{args}<｜tool▁call▁end｜>")
            });
            format!("<｜tool▁calls▁begin｜>{calls}<｜tool▁calls▁end｜>")
        })
        .in_section("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
        Marked::new(
            "kimi-k2",
            JsonMarks::exact(&["<|tool_call_begin|>"], &["<|tool_call_end|>"])
                .headed(Head::Read(kimi_head)),
            |calls| {
                let calls: Vec<String> = calls
                    .iter()
                    .enumerate()
                    .map(|(index, call)| {
                        let (name, args) = (&call.name, call.args.to_json());
                        format!("<|tool_call_begin|>functions.{name}:{index}<|tool_call_argument_begin|>{args}<|tool_call_end|>")
                    })
                    .collect();
                let calls = calls.concat();
                format!("<|tool_calls_section_begin|>{calls}<|tool_calls_section_end|>")
            },
        )
        .in_section("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>")
        .in_section("<|tool_call_section_begin|>", "<|tool_call_section_end|>"),
        plamo3(),
    ]
}

/// Families of other forms that were observed.
fn other_forms() -> Vec<Marked> {
    vec![
        // LFM2 writes Python or JSON between the same marks.
        Marked::new(
            "lfm2-json",
            JsonMarks::exact(&["<|tool_call_start|>"], &["<|tool_call_end|>"]),
            |calls| list(calls, "<|tool_call_start|>", "<|tool_call_end|>"),
        ),
        // K2 Horizon writes keys and values or JSON between the same marks.
        Marked::new(
            "k2-horizon-json",
            JsonMarks::exact(&["<ifm|tool_call>"], &["</ifm|tool_call>"]),
            |calls| {
                let calls = each(calls, "\n", |call| {
                    let json = object(call, "name", "arguments");
                    format!("<ifm|tool_call>{json}</ifm|tool_call>")
                });
                format!("<ifm|tool_calls>{calls}</ifm|tool_calls>")
            },
        )
        .in_section("<ifm|tool_calls>", "</ifm|tool_calls>"),
        // The tool's name as a tag, and JSON in it.
        Marked::new(
            "toolcall",
            JsonMarks::exact(&["<toolcall>"], &["</toolcall>"]).headed(Head::Read(element_head)),
            |calls| {
                each(calls, "\n", |call| {
                    let (name, args) = (&call.name, call.args.to_json());
                    format!("<toolcall><{name}>{args}</{name}></toolcall>")
                })
            },
        ),
        // Functionary 3.2: the name on a line of its own, JSON below it.
        Marked {
            by_name: true,
            ..Marked::new(
                "functionary-3.2",
                JsonMarks::exact(&[], &[]).headed(Head::Read(line_head)),
                |calls| {
                    each(calls, "\n>>>", |call| {
                        format!("{}\n{}", call.name, call.args.to_json())
                    })
                },
            )
        },
        Marked::new(
            "calling-tool",
            JsonMarks::exact(&["[Calling tool:"], &[")]"]).headed(Head::Name(vec!["(".to_owned()])),
            |calls| {
                each(calls, "\n", |call| {
                    format!("[Calling tool: {}({})]", call.name, call.args.to_json())
                })
            },
        ),
    ]
}

fn joined(marks: JsonMarks) -> JsonMarks {
    JsonMarks {
        joined: true,
        ..marks
    }
}

/// Mistral's mark, and how it is misspelt.
const MISTRAL: [&str; 4] = [
    "[TOOL_CALLS]",
    "[TOOL CALLS]",
    "[TOOL-CALLS]",
    "[TOOLCALLS]",
];

/// Parses `f[ARGS]`, `f[CALL_ID]123456789[ARGS]`, or the arguments right behind
/// `f`.
fn mistral_head(text: &str) -> HeadAt {
    let rest = text.trim_start();
    let lead = text.len() - rest.len();
    if rest.starts_with(['[', '{']) {
        return HeadAt::Finding(None, lead);
    }
    let Some((name, behind)) = leading_name(rest) else {
        return HeadAt::More;
    };
    let at = |rest: &str| text.len() - rest.len();
    let found = |id: Option<&str>, rest: &str| {
        HeadAt::Finding(Some(Called::new(name).with_id(id)), at(rest))
    };
    if name.is_empty() {
        return HeadAt::None;
    }
    let behind = behind.trim_start();
    match mark_at(behind, &["{", "[ARGS]", "[CALL_ID]"]) {
        MarkAt::Finding { index: 0, .. } => found(None, behind),
        MarkAt::Finding { index: 1, length } => found(None, behind.get(length..).unwrap_or("")),
        MarkAt::Finding { length, .. } => {
            let id = behind.get(length..).unwrap_or("");
            let Some(end) = id.find(['[', '{']) else {
                return HeadAt::More;
            };
            let (id, args) = id.split_at_checked(end).unwrap_or((id, ""));
            match mark_at(args, &["{", "[ARGS]"]) {
                MarkAt::Finding { index: 0, .. } => found(Some(id), args),
                MarkAt::Finding { length, .. } => found(Some(id), args.get(length..).unwrap_or("")),
                MarkAt::Partial => HeadAt::More,
                MarkAt::None => HeadAt::None,
            }
        }
        MarkAt::Partial => HeadAt::More,
        MarkAt::None => HeadAt::None,
    }
}

const INKLING_CALL: &str = "<|content_invoke_tool_json|>";

/// Parses a head whose name the JSON repeats.
fn inkling_head(text: &str) -> HeadAt {
    if text.trim_start().starts_with('{') {
        return HeadAt::Finding(None, 0);
    }
    match name_head(text, &[INKLING_CALL]) {
        HeadAt::Finding(_, length) => HeadAt::Finding(None, length),
        other => other,
    }
}

/// Parses the same head where the call's opening mark is missing.
fn unmarked_inkling_head(text: &str) -> HeadAt {
    match name_head(text, &[INKLING_CALL]) {
        HeadAt::Finding(_, length) => HeadAt::Finding(None, length),
        HeadAt::More => HeadAt::More,
        _ => HeadAt::Other,
    }
}

fn deepseek_marks(head: fn(&str) -> HeadAt) -> JsonMarks {
    JsonMarks::exact(&["<｜tool▁call▁begin｜>"], &["<｜tool▁call▁end｜>"]).headed(Head::Read(head))
}

const DEEPSEEK_SEPARATOR: &str = "<｜tool▁sep｜>";

/// Parses `function<｜tool▁sep｜>f` and a line break. Another word may stand for
/// `function` where the name is that of a declared tool.
fn deepseek_v3_head(text: &str) -> HeadAt {
    let (is_function, length) = match name_head(text, &[DEEPSEEK_SEPARATOR]) {
        HeadAt::Finding(Some(kind), length) => (kind.name == "function", length),
        HeadAt::Finding(None, _) => return HeadAt::Other,
        other => return other,
    };
    let rest = text.get(length..).unwrap_or("").trim_start();
    let Some((name, behind)) = leading_name(rest) else {
        return HeadAt::More;
    };
    let json = behind.trim_start().chars().next();
    let (called, length) = (Called::new(name), text.len() - behind.len());
    match (name, json) {
        // With JSON and no fence, `function` may be a tool of DeepSeek V3.1.
        ("", Some('`')) if is_function => HeadAt::None,
        ("", _) => HeadAt::Other,
        _ if is_function => HeadAt::Finding(Some(called), length),
        (_, None) => HeadAt::More,
        (_, Some('{' | '`')) => HeadAt::IfDeclared(called, length),
        (_, Some(_)) => HeadAt::Other,
    }
}

/// Parses `f<｜tool▁sep｜>`.
fn deepseek_v31_head(text: &str) -> HeadAt {
    name_head(text, &[DEEPSEEK_SEPARATOR])
}

/// Parses `functions.f:0<|tool_call_argument_begin|>`.
fn kimi_head(text: &str) -> HeadAt {
    match name_head(text, &["<|tool_call_argument_begin|>"]) {
        HeadAt::Finding(Some(Called { name: id, .. }), length) => {
            let name = id.strip_prefix("functions.").unwrap_or(&id);
            let name = match name.rsplit_once(':') {
                Some((name, counter)) if counter.chars().all(|c| c.is_ascii_digit()) => name,
                _ => name,
            };
            HeadAt::Finding(Some(Called::new(name).with_id(Some(&id))), length)
        }
        other => other,
    }
}

/// Parses `<f>`, with `</f>` behind the JSON.
fn element_head(text: &str) -> HeadAt {
    let rest = text.trim_start();
    let Some(name) = rest.strip_prefix('<') else {
        return if rest.is_empty() {
            HeadAt::More
        } else {
            HeadAt::None
        };
    };
    match leading_name(name) {
        None => HeadAt::More,
        Some((name, behind)) => match behind.strip_prefix('>') {
            Some(behind) if behind.trim_start().starts_with('{') && !name.is_empty() => {
                let mut called = Called::new(name);
                called.tail = Some(format!("</{name}>"));
                HeadAt::Finding(Some(called), text.len() - behind.len())
            }
            Some(behind) if behind.trim().is_empty() => HeadAt::More,
            _ => HeadAt::None,
        },
    }
}

/// Parses `f` and a line break, before an object.
fn line_head(text: &str) -> HeadAt {
    let rest = text.strip_prefix(">>>").unwrap_or(text);
    match leading_name(rest) {
        None => HeadAt::More,
        Some((name, behind)) => {
            let object = behind.trim_start();
            let lines = behind.len() - object.len();
            let own_line = behind
                .get(..lines)
                .is_some_and(|space| space.contains('\n'));
            match object.chars().next() {
                None => HeadAt::More,
                Some('{') if own_line => {
                    HeadAt::Finding(Some(Called::new(name)), text.len() - object.len())
                }
                Some(_) => HeadAt::None,
            }
        }
    }
}
