//! Families that give each argument a tag of its own, with the value raw
//! between its tags. All are read by one engine; this is the table of their
//! marks.

mod forms;
mod write;

use std::sync::Arc;

use super::engine::section::Section;
use super::engine::tag_form::{JsonBody, NamePosition, Param, SPACES, TagForm, ValueLines};
use super::marked::hermes_text;
use super::{Dialect, Trigger, Writer};
use crate::ToolCall;
use crate::parse::Reader;

pub(crate) use forms::key_value_tags;
use forms::{element_form, function_form, invoke_form, key_value_form, marks, param_form};

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

/// The prefix of every tag of `MiniMax` M3.
const M3: &str = "]<]minimax[>[";

/// The form of K2 Horizon, which may give the type of a value.
fn ifm_form() -> TagForm {
    let tags = |name: &str| (format!("<ifm|{name}>"), format!("</ifm|{name}>"));
    let mut form = key_value_tags(|name| format!("ifm|{name}>"), &[]);
    form.param = Param::Pair {
        key: tags("arg_key"),
        kind: Some(tags("arg_type")),
        value: tags("arg_value"),
    };
    let (open, close) = tags("tool_calls");
    form.sections = vec![Section::new(open, close)];
    form
}

/// All families of this kind, in the order in which they are tried.
pub(crate) fn families() -> Vec<Tagged> {
    let dsml = "｜DSML｜";
    let mut families = vec![
        // GLM-4.5 to 5, Poolside.
        Tagged::new("glm", key_value_form(&[]))
            .also_called(&["glm-4.5", "glm-4.7", "poolside", "ling3", "spark25"]),
        Tagged::new(
            "iquest-q1",
            TagForm {
                open: vec!["<iquest_tool_call>".to_owned()],
                close: vec!["</iquest_tool_call>".to_owned()],
                ..key_value_form(&[])
            },
        ),
        // It writes JSON between the same marks, too.
        Tagged {
            forms: &["k2-horizon-json"],
            ..Tagged::new("k2-horizon", ifm_form())
        },
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
                    json_block: None,
                    ..function_form(&[])
                },
            )
        },
        // Nemotron-nano and Step 3.5 write the same.
        Tagged::new(
            "qwen3-coder",
            function_form(&[("<tool_call>", "</tool_call>")]),
        )
        .also_called(&["nemotron-nano", "step3.5", "nanbeige"]),
        Tagged::new(
            "mimo",
            TagForm {
                lines: ValueLines::OfValue,
                ..function_form(&[("<tool_call>", "</tool_call>")])
            },
        ),
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
            invoke_form(
                dsml,
                &[
                    ("<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>"),
                    // Misspelt ones.
                    ("<｜DSML｜toolcalls>", "</｜DSML｜toolcalls>"),
                    ("<｜DSML｜tool>", "</｜DSML｜tool>"),
                ],
            ),
        ),
        Tagged::new(
            "deepseek-v4.1",
            invoke_form("｜DSML｜ ", &[("<｜DSML｜ calls>", "</｜DSML｜ calls>")]),
        ),
        Tagged::new(
            "gigachat-3.5",
            invoke_form(
                "｜GCML｜",
                &[
                    ("<｜GCML｜function_calls>", "</｜GCML｜function_calls>"),
                    ("<｜GCML｜tool_calls>", "</｜GCML｜tool_calls>"),
                ],
            ),
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
        )
        .also_called(&["muse-spark"]),
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
                    ("<｜tool_call_begin｜>", "<｜tool_call_end｜>"),
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
                json_block: Some(("<|open|>json", "<|close|>json<|sep|>")),
                addresses: Vec::new(),
                lines: ValueLines::Dropped,
                spaces: SPACES,
            },
        ),
        Tagged::new("minicpm5", param_form(&[])),
        // The XML that the BFCL benchmark asks for.
        Tagged::new("bfcl-xml", param_form(&[("<functions>", "</functions>")])),
        Tagged::new("morph-xml", element_form()),
    ]
}
