//! Declared dialects, read by the engines of the built-in ones.

use std::sync::Arc;

use serde_json::Value;

use super::declaration::{Body, Declaration, DeclarationFault, check_mark};
use super::template::{param_marks, tag_form};
use crate::ToolCall;
use crate::dialects::engine::json_marks::{Head, JsonMarks, is_tool_name};
use crate::dialects::engine::marked_json::MarkedJson;
use crate::dialects::engine::python::write_python;
use crate::dialects::engine::python_calls::PythonCalls;
use crate::dialects::engine::section::Section;
use crate::dialects::engine::tag_form::{NamePosition, TagForm};
use crate::dialects::marked::hermes_text;
use crate::dialects::{CallKeys, Claim, Dialect, Trigger, Writer};
use crate::parse::Reader;

/// A dialect that was declared.
#[derive(Debug)]
pub(super) struct Declared {
    name: String,
    aliases: Vec<String>,
    keys: CallKeys,
    section: Option<Section>,
    form: Form,
}

#[derive(Debug)]
enum Form {
    Json(Arc<JsonMarks>),
    /// A name and JSON, with the text between them when a call is written.
    NameJson(Arc<JsonMarks>, String),
    Tags(Arc<TagForm>),
    Python(Vec<String>, Arc<[String]>),
}

impl Declared {
    pub(super) fn new(declaration: &Declaration) -> Result<Self, DeclarationFault> {
        let marks = || JsonMarks {
            right: 1,
            ..JsonMarks::new(declaration.open.clone(), declaration.close.clone())
        };
        let form = match declaration.body {
            Body::Json => Form::Json(Arc::new(marks())),
            Body::NameJson => {
                let ends = declaration.name_end.clone();
                let end = ends.first().cloned().unwrap_or_else(|| " ".to_owned());
                Form::NameJson(Arc::new(marks().headed(Head::Name(ends))), end)
            }
            Body::Tags => Form::Tags(Arc::new(tag_form(declaration)?)),
            Body::Python => Form::Python(
                declaration.open.clone(),
                declaration.close.as_slice().into(),
            ),
        };
        let section = declaration.section.as_ref();
        Ok(Self {
            name: declaration.name.clone(),
            aliases: declaration.aliases.clone(),
            keys: CallKeys {
                name: declaration.name_keys.clone(),
                args: declaration.args_keys.clone(),
            },
            section: section.map(|[open, close]| Section::new(open, close)),
            form,
        })
    }

    /// Checks that every mark is distinct from prose, and given only once.
    pub(super) fn check(&self) -> Result<(), DeclarationFault> {
        let mut marks: Vec<(&'static str, &str)> = Vec::new();
        marks.extend(self.opens().iter().map(|mark| ("open", mark.as_str())));
        marks.extend(self.closes().iter().map(|mark| ("close", mark.as_str())));
        if let Some(section) = &self.section {
            marks.push(("section", &section.open));
            marks.push(("section", &section.close));
        }
        if let Form::Tags(form) = &self.form {
            marks.extend(
                param_marks(&form.param)
                    .into_iter()
                    .map(|mark| ("argument", mark)),
            );
        }
        let mut known: Vec<String> = Vec::new();
        for (field, mark) in marks {
            check_mark(field, mark)?;
            // Marks are compared regardless of case.
            let lowered = mark.to_ascii_lowercase();
            if known.contains(&lowered) {
                return Err(DeclarationFault::Twice(mark.to_owned()));
            }
            known.push(lowered);
        }
        Ok(())
    }

    fn opens(&self) -> &[String] {
        match &self.form {
            Form::Json(marks) | Form::NameJson(marks, _) => &marks.open,
            Form::Tags(form) => &form.open,
            Form::Python(open, _) => open,
        }
    }

    fn closes(&self) -> &[String] {
        match &self.form {
            Form::Json(marks) | Form::NameJson(marks, _) => &marks.close,
            Form::Tags(form) => &form.close,
            Form::Python(_, close) => close,
        }
    }

    /// Where a call may begin, sections aside.
    fn call_triggers(&self) -> Vec<Trigger> {
        match &self.form {
            Form::Json(marks) | Form::NameJson(marks, _) => {
                marks.triggers(|mark| Trigger::anywhere(mark))
            }
            Form::Tags(form) => form.triggers(),
            Form::Python(open, _) => {
                let claims = std::iter::once(Claim::Own).chain(std::iter::repeat(Claim::Misspelt));
                let triggers = open.iter().map(Trigger::anywhere);
                triggers
                    .zip(claims)
                    .map(|(trigger, claim)| trigger.claimed(claim))
                    .collect()
            }
        }
    }
}

impl Dialect for Declared {
    fn name(&self) -> &str {
        &self.name
    }

    fn aliases(&self) -> Vec<&str> {
        self.aliases.iter().map(String::as_str).collect()
    }

    fn triggers(&self) -> Vec<Trigger> {
        let mut triggers = self.call_triggers();
        if !matches!(self.form, Form::Tags(_)) {
            triggers.extend(self.section.iter().map(Section::trigger));
        }
        triggers
    }

    fn reader(&self, trigger: usize) -> Box<dyn Reader> {
        if let Form::Tags(form) = &self.form {
            return TagForm::reader(form, trigger);
        }
        if let Some(section) = self
            .section
            .as_ref()
            .filter(|_| trigger >= self.opens().len())
        {
            return section.reader();
        }
        match &self.form {
            Form::Json(marks) | Form::NameJson(marks, _) => {
                Box::new(MarkedJson::new(Arc::clone(marks), trigger))
            }
            Form::Tags(form) => TagForm::reader(form, trigger),
            Form::Python(open, close) => {
                let length = open.get(trigger).map_or(0, String::len);
                let may_stay_open = close.is_empty();
                Box::new(PythonCalls::behind(
                    length,
                    Arc::clone(close),
                    may_stay_open,
                ))
            }
        }
    }

    fn closers(&self) -> Vec<String> {
        // A short one occurs in any prose, and is not markup there.
        let closes = self.closes().iter().filter(|close| close.len() > 2);
        closes.cloned().collect()
    }

    fn section_ends(&self) -> Vec<String> {
        let section = self.section.iter();
        section.map(|section| section.close.clone()).collect()
    }

    fn also_reads(&self) -> Vec<String> {
        let mut beside = vec!["json".to_owned()];
        if matches!(self.form, Form::Tags(_)) {
            beside.push("hermes".to_owned());
        }
        beside
    }

    fn keys(&self) -> &CallKeys {
        &self.keys
    }

    fn writer(&self) -> Option<&dyn Writer> {
        Some(self)
    }
}

impl Writer for Declared {
    fn rules(&self) -> Vec<String> {
        let rule = match &self.form {
            Form::Json(_) | Form::NameJson(..) => {
                "Valid JSON only: double quotes, no comments, no trailing commas."
            }
            Form::Tags(_) => "Write each value raw between its tags. Escape nothing.",
            Form::Python(..) => "Write the calls in Python's form, every argument by name.",
        };
        vec![rule.to_owned()]
    }

    fn reasoning_rule(&self) -> String {
        String::new()
    }

    fn shows_long_text(&self) -> bool {
        matches!(self.form, Form::Tags(_))
    }

    fn call(&self, call: &ToolCall) -> String {
        self.calls(std::slice::from_ref(call))
    }

    fn calls(&self, calls: &[ToolCall]) -> String {
        let written = match &self.form {
            Form::Json(_) => self.each(calls, |call| self.object(call)),
            Form::NameJson(_, end) => self.each(calls, |call| {
                if is_tool_name(&call.name) {
                    format!("{}{end}{}", call.name, call.args.to_json())
                } else {
                    self.object(call)
                }
            }),
            // A call that these tags cannot hold is written as JSON.
            Form::Tags(form) if !calls.iter().all(|call| form.can_hold(call)) => {
                return hermes_text(calls);
            }
            Form::Tags(form) => {
                let calls: Vec<String> = calls
                    .iter()
                    .map(|call| form.write_behind(head(form, &call.name), call))
                    .collect();
                calls.join("\n")
            }
            Form::Python(..) => {
                let calls: Vec<String> = calls.iter().map(write_python).collect();
                self.between_marks(&format!("[{}]", calls.join(", ")))
            }
        };
        match &self.section {
            Some(section) => format!("{}\n{written}\n{}", section.open, section.close),
            None => written,
        }
    }

    fn takes_several(&self) -> bool {
        true
    }
}

impl Declared {
    /// Each call between marks of its own.
    fn each(&self, calls: &[ToolCall], write: impl Fn(&ToolCall) -> String) -> String {
        let calls: Vec<String> = calls
            .iter()
            .map(|call| self.between_marks(&write(call)))
            .collect();
        calls.join("\n")
    }

    fn between_marks(&self, body: &str) -> String {
        let open = self.opens().first().map_or("", String::as_str);
        let close = self.closes().first().map_or("", String::as_str);
        format!("{open}{body}{close}")
    }

    /// A call as a JSON object.
    fn object(&self, call: &ToolCall) -> String {
        let key = |keys: &[String], usual: &str| {
            let key = keys.first().map_or(usual, String::as_str);
            Value::String(key.to_owned())
        };
        let name = Value::String(call.name.clone());
        format!(
            "{{{}: {name}, {}: {}}}",
            key(&self.keys.name, "name"),
            key(&self.keys.args, "arguments"),
            call.args.to_json()
        )
    }
}

/// The opening tag of a call.
fn head(form: &TagForm, name: &str) -> String {
    let open = form.open.first().map_or("", String::as_str);
    let end = &form.tag_end;
    match &form.named {
        NamePosition::Attribute(key) => format!("{open} {key}=\"{name}\"{end}"),
        NamePosition::Behind(ends) => format!("{open}{name}{}", ends.concat()),
        NamePosition::Rest | NamePosition::Tag => format!("{open}{name}{end}"),
    }
}
