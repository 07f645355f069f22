//! Writes a dialect as a template, for programs that read replies by one.
//!
//! The form is taken from what the dialect writes: calls with words that occur
//! nowhere else show where names, keys and values stand. Whether the template
//! reads what the dialect reads is then tried.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{ResponseTemplate, TemplateError};
use crate::dialects::{Dialect, Registry};
use crate::{Arguments, Grammar, ToolCall, ToolSpec, Toolset, parse};

/// Why a dialect cannot be written as a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The dialect is only read.
    #[error(
        "`{0}` is a dialect that PTK reads and does not write, so its form cannot be shown; export the one that models are taught"
    )]
    ReadOnly(String),
    /// A template has no words for the form.
    #[error("`{dialect}` cannot be written as a response template: {why}")]
    Form {
        /// The dialect.
        dialect: String,
        /// What a template cannot say.
        why: &'static str,
    },
    /// The template would be one that PTK does not read.
    #[error("`{dialect}` cannot be written as a response template: {error}")]
    Refused {
        /// The dialect.
        dialect: String,
        /// Why it is not read.
        error: TemplateError,
    },
    /// The template reads some calls otherwise.
    #[error(
        "`{dialect}` cannot be written as a response template: it would read {sample:?} otherwise"
    )]
    Unfaithful {
        /// The dialect.
        dialect: String,
        /// A reply that is read otherwise.
        sample: String,
    },
}

/// The name of the template while it is tried.
const OWN: &str = "exported-template";
const NAME: &str = "zqname";
const OTHER_NAME: &str = "zqother";
const KEY: &str = "zqkey";
const SECOND_KEY: &str = "zqsecond";
const VALUE: &str = "zqvalue";
const SECOND_VALUE: &str = "zqlast";

/// Writes a dialect as a template. The anchor and the marks of reasoning are not
/// part of a dialect; they are those of models with `ChatML`.
///
/// ```
/// use ptk_protocol::dialects::Registry;
/// use ptk_protocol::dialects::response_template::export;
///
/// let registry = Registry::builtin();
/// let template = export(registry.get("hermes")?)?;
/// assert_eq!(template["fields"]["tool_calls"]["close"], "</tool_call>");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If a template cannot say how the dialect is read.
pub fn export(dialect: &Arc<dyn Dialect>) -> Result<Value, ExportError> {
    let name = || dialect.name().to_owned();
    let writer = dialect.writer();
    let writer = writer.ok_or_else(|| ExportError::ReadOnly(name()))?;
    let written = |calls: &[ToolCall]| writer.calls(calls);
    let template = WrittenForm::of(&written)
        .and_then(|shape| shape.template())
        .map_err(|why| ExportError::Form {
            dialect: name(),
            why,
        })?;
    check(dialect, &template, &written)?;
    Ok(template)
}

/// A call with these arguments.
fn call(name: &str, args: &Value) -> ToolCall {
    let args = Arguments::from_json(&args.to_string());
    ToolCall::new(name, args.unwrap_or_default())
}

/// Tries whether the template reads what the dialect writes.
fn check(
    dialect: &Arc<dyn Dialect>,
    template: &Value,
    written: &dyn Fn(&[ToolCall]) -> String,
) -> Result<(), ExportError> {
    let samples = [
        vec![call(NAME, &json!({}))],
        vec![call(NAME, &json!({"path": "a.txt", "limit": 3}))],
        vec![call(NAME, &json!({"text": "two\nlines, \"quoted\""}))],
        vec![call(
            "read_file",
            &json!({"list": [1, "b", {"c": null}], "is": true}),
        )],
        vec![
            call(NAME, &json!({"a": "1"})),
            call(OTHER_NAME, &json!({"b": "x y"})),
        ],
    ];
    let unfaithful = |sample: &str| ExportError::Unfaithful {
        dialect: dialect.name().to_owned(),
        sample: sample.to_owned(),
    };
    let read = ResponseTemplate::from_value(template);
    let read = read.map_err(|error| ExportError::Refused {
        dialect: dialect.name().to_owned(),
        error,
    })?;
    let registry = Registry::builtin().register(Arc::clone(dialect));
    let tools = [NAME, OTHER_NAME, "read_file"]
        .map(|name| ToolSpec::new(name, "", json!({"type": "object"})));
    let tools = Toolset::new(tools).unwrap_or_default();
    let grammar = |registry: Registry, name: &str| {
        let builder = Grammar::builder().registry(registry).tools(tools.clone());
        builder.dialect(name).alone().build()
    };
    let theirs = grammar(registry.clone(), dialect.name());
    let ours = grammar(read.register(registry, OWN), OWN);
    let (Ok(theirs), Ok(ours)) = (theirs, ours) else {
        return Err(unfaithful(""));
    };
    for calls in samples {
        let text = written(&calls);
        let calls = |grammar: &Grammar| {
            let reply = parse(&text, grammar);
            let calls = reply.runnable().map(|parsed| {
                let call = &parsed.call;
                (call.name.clone(), call.args.as_map().clone())
            });
            (calls.collect::<Vec<_>>(), reply.text.trim().to_owned())
        };
        if calls(&theirs) != calls(&ours) {
            return Err(unfaithful(&text));
        }
    }
    Ok(())
}

/// How calls stand in a reply.
struct WrittenForm {
    /// The marks around all calls.
    section: (String, String),
    /// The marks around one call, up to its body.
    open: String,
    close: String,
    body: BodyShape,
}

enum BodyShape {
    /// Objects with these keys; several in one list, if the marks stand around
    /// a list.
    Object {
        name: String,
        args: String,
        is_list: bool,
    },
    /// The name between two texts, then the arguments as JSON.
    Named { behind: String },
    /// The name between two texts, then arguments in tags.
    Tags {
        behind: String,
        open: String,
        middle: String,
        close: String,
    },
}

type Found<T> = Result<T, &'static str>;

const NO_MARK: &str = "its calls do not begin with a mark of their own";
const NOT_SEEN: &str = "its calls are neither JSON nor arguments in tags";

impl WrittenForm {
    fn of(written: &dyn Fn(&[ToolCall]) -> String) -> Found<Self> {
        let args = json!({KEY: VALUE, SECOND_KEY: SECOND_VALUE});
        let one = written(&[call(NAME, &args)]);
        let two = written(&[call(NAME, &args), call(OTHER_NAME, &args)]);
        if let Some(at) = one.find(&args_start(&one)) {
            return Self::of_json(&one, &two, at);
        }
        Self::of_tags(&one, &two)
    }

    fn of_json(one: &str, two: &str, args_at: usize) -> Found<Self> {
        let object = json_at(one, args_at).ok_or(NOT_SEEN)?;
        // The object around the arguments names the tool, if it does.
        let whole = one
            .get(..args_at)
            .unwrap_or_default()
            .match_indices('{')
            .find_map(|(at, _)| Some((at, json_at(one, at)?)))
            .filter(|(_, text)| text.contains(&format!("\"{NAME}\"")));
        if let Some((at, text)) = whole {
            let fields: Map<String, Value> = serde_json::from_str(text).map_err(|_| NOT_SEEN)?;
            let key = |is: &dyn Fn(&Value) -> bool| {
                let mut fields = fields.iter();
                fields
                    .find(|(_, value)| is(value))
                    .map(|(key, _)| key.clone())
            };
            let name = key(&|value| value == NAME).ok_or(NOT_SEEN)?;
            let args = key(&|value| value.get(KEY).is_some()).ok_or(NOT_SEEN)?;
            let (mut before, mut behind) = around(one, at, text)?;
            let second = second_object(two, OTHER_NAME).ok_or(NOT_SEEN)?;
            let between = between(two, text, second)?;
            let is_list = before.trim_end().ends_with('[') && behind.trim_start().starts_with(']');
            if is_list {
                let open = before.trim_end().trim_end_matches('[').to_owned();
                let close = behind.trim_start().trim_start_matches(']').to_owned();
                (before, behind) = (open, close);
            }
            let body = BodyShape::Object {
                name,
                args,
                is_list,
            };
            if is_list && between.trim() == "," {
                return Self::whole("", &before, &behind, "", body);
            }
            return Self::split(&before, &behind, &between, body);
        }
        let (before, behind) = around(one, args_at, object)?;
        let (open, name_end) = before.split_once(NAME).ok_or(NOT_SEEN)?;
        let second = two.find(OTHER_NAME).ok_or(NOT_SEEN)?;
        let first_end = two
            .find(object)
            .map(|at| at + object.len())
            .ok_or(NOT_SEEN)?;
        let between = two.get(first_end..second).ok_or(NOT_SEEN)?;
        let body = BodyShape::Named {
            behind: name_end.to_owned(),
        };
        Self::split(open, &behind, between, body)
    }

    fn of_tags(one: &str, two: &str) -> Found<Self> {
        let parts = |text: &str| -> Option<Vec<String>> {
            let mut rest = text;
            let mut parts = Vec::new();
            for word in [NAME, KEY, VALUE, SECOND_KEY, SECOND_VALUE] {
                let (before, behind) = rest.split_once(word)?;
                parts.push(before.to_owned());
                rest = behind;
            }
            parts.push(rest.to_owned());
            Some(parts)
        };
        let parts = parts(one).ok_or(NOT_SEEN)?;
        let [before, to_key, middle, to_second, again, behind] = parts.as_slice() else {
            return Err(NOT_SEEN);
        };
        if middle != again || middle.is_empty() {
            return Err(NOT_SEEN);
        }
        let open = common_end(to_key, to_second);
        let name_end = to_key.strip_suffix(open).ok_or(NOT_SEEN)?;
        let close = to_second.strip_suffix(open).ok_or(NOT_SEEN)?;
        let behind = behind.strip_prefix(close.trim_end()).ok_or(NOT_SEEN)?;
        if open.trim().is_empty() || close.trim().is_empty() {
            return Err("its arguments do not stand between marks");
        }
        let body = BodyShape::Tags {
            behind: name_end.to_owned(),
            open: open.trim_start().to_owned(),
            middle: middle.clone(),
            close: close.trim().to_owned(),
        };
        let second = two.find(OTHER_NAME).ok_or(NOT_SEEN)?;
        let first_end = two.find(SECOND_VALUE).map(|at| at + SECOND_VALUE.len());
        let between = two
            .get(first_end.ok_or(NOT_SEEN)?..second)
            .ok_or(NOT_SEEN)?;
        let between = between.strip_prefix(close.trim_end()).ok_or(NOT_SEEN)?;
        Self::split(before, behind, between, body)
    }

    /// Tells the marks around each call from those around all calls, by what
    /// stands between two.
    fn split(before: &str, behind: &str, between: &str, body: BodyShape) -> Found<Self> {
        let open = common_end(before, between);
        let close = between.strip_suffix(open).unwrap_or_default();
        let section_open = before.strip_suffix(open).unwrap_or_default();
        let section_close = behind.trim().strip_prefix(close.trim());
        let section_close = section_close.ok_or("several calls are written otherwise than one")?;
        Self::whole(section_open, open, close, section_close, body)
    }

    fn whole(
        section_open: &str,
        open: &str,
        close: &str,
        section_close: &str,
        body: BodyShape,
    ) -> Found<Self> {
        let trimmed = |text: &str| text.trim().to_owned();
        if open.trim().len() < 2 {
            return Err(NO_MARK);
        }
        let close = trimmed(close);
        if close.is_empty() {
            return Err("its calls do not end with a mark");
        }
        Ok(Self {
            section: (trimmed(section_open), trimmed(section_close)),
            open: open.trim_start().to_owned(),
            close,
            body,
        })
    }

    fn template(&self) -> Found<Value> {
        let mut calls = Map::new();
        let mut put = |key: &str, value: Value| calls.insert(key.to_owned(), value);
        let named =
            json!({"type": "function", "function": {"name": "{name}", "arguments": "{content}"}});
        put("close", json!(self.close));
        put("repeats", json!(true));
        let lead = escaped(&self.open);
        let opens_with = |behind: &str| {
            let class = name_class(behind)?;
            Ok::<String, &'static str>(format!(
                r"\s*{lead}(?P<name>{class}){}",
                escaped(behind.trim_end())
            ))
        };
        match &self.body {
            BodyShape::Object {
                name,
                args,
                is_list,
            } => {
                put(
                    "open_pattern",
                    json!(format!(r"\s*{}", escaped(self.open.trim_end()))),
                );
                put("content", json!("json"));
                let is_usual = name == "name" && args == "arguments";
                let (name, args) = if *is_list {
                    (format!("{{{name}}}"), format!("{{{args}}}"))
                } else {
                    (format!("{{content.{name}}}"), format!("{{content.{args}}}"))
                };
                let function = if is_usual && !is_list {
                    json!("{content}")
                } else {
                    json!({"name": name, "arguments": args})
                };
                put(
                    "transform",
                    json!({"type": "function", "function": function}),
                );
                if *is_list {
                    // One list holds all calls.
                    put("transform_each", json!(true));
                    put("repeats", json!(false));
                }
            }
            BodyShape::Named { behind } => {
                put("open_pattern", json!(opens_with(behind)?));
                put("content", json!("json"));
                put("transform", named);
            }
            BodyShape::Tags {
                behind,
                open,
                middle,
                close,
            } => {
                put("open_pattern", json!(opens_with(behind)?));
                put("content", json!("xml-inline"));
                let class = name_class(middle)?;
                // Other attributes may follow the key.
                let middle = match middle.trim_end() {
                    "\">" => "\"[^>]*>".to_owned(),
                    middle => escaped(middle),
                };
                let tag = format!(
                    r"{}(?P<key>{class}){middle}\s*(?P<value>.*?)\s*{}",
                    escaped(open),
                    escaped(close),
                );
                // Programs that do not know the schema of the tool guess.
                let values = json!({"name": "json", "args": {"allow_non_json": true}});
                put(
                    "content_args",
                    json!({"tag_pattern": tag, "value_parser": values}),
                );
                put("transform", named);
            }
        }
        let (open, close) = &self.section;
        let sections: Vec<&String> = [open, close]
            .into_iter()
            .filter(|mark| !mark.is_empty())
            .collect();
        let ends = sections.iter().map(|mark| escaped(mark));
        let ends: Vec<String> = ends.chain([escaped("<|im_end|>")]).collect();
        let content = json!({"close_pattern": format!(r"\s*(?:{})", ends.join("|"))});
        Ok(json!({
            "version": 1,
            "defaults": {"role": "assistant"},
            "start_anchor": "<|im_start|>assistant\n",
            "fields": {
                "thinking": {"open": "<think>", "close": "</think>", "repeats": true, "join": "\n"},
                "tool_calls": calls,
                "content": content,
            },
        }))
    }
}

/// The JSON object at this place.
fn json_at(text: &str, at: usize) -> Option<&str> {
    let rest = text.get(at..)?;
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Map<String, Value>>();
    values.next()?.ok()?;
    rest.get(..values.byte_offset())
}

/// How the arguments begin where they are JSON.
fn args_start(text: &str) -> String {
    let forms = [format!("{{\"{KEY}\""), format!("{{ \"{KEY}\"")];
    let found = forms.iter().find(|form| text.contains(form.as_str()));
    found.cloned().unwrap_or_else(|| "\0".to_owned())
}

/// What stands before and behind a text at this place.
fn around(text: &str, at: usize, inner: &str) -> Found<(String, String)> {
    let before = text.get(..at).ok_or(NOT_SEEN)?;
    let behind = text.get(at + inner.len()..).ok_or(NOT_SEEN)?;
    Ok((before.to_owned(), behind.to_owned()))
}

/// Where the object of the second call begins.
fn second_object(two: &str, name: &str) -> Option<usize> {
    let before = two.get(..two.find(name)?)?;
    before.rfind('{')
}

/// What stands between the first object and the second.
fn between(two: &str, first: &str, second: usize) -> Found<String> {
    let end = two.find(first).map(|at| at + first.len()).ok_or(NOT_SEEN)?;
    two.get(end..second)
        .map(str::to_owned)
        .ok_or("several calls are written otherwise than one")
}

/// The longest mark, or marks, that both end with.
fn common_end<'t>(one: &'t str, other: &str) -> &'t str {
    let same = one.chars().rev().zip(other.chars().rev());
    let same = same.take_while(|(one, other)| one == other);
    let length: usize = same.map(|(c, _)| c.len_utf8()).sum();
    let common = one.get(one.len() - length..).unwrap_or_default();
    if common.len() == one.len() {
        return common;
    }
    // Another mark may end alike: `…ls>` and `…on>`.
    let start = common.find(['<', '[']).unwrap_or(common.len());
    common.get(start..).unwrap_or_default()
}

/// The characters of a name before this text.
fn name_class(behind: &str) -> Found<String> {
    match behind.chars().next() {
        Some(c) if !c.is_alphanumeric() && !c.is_whitespace() && c != '{' => {
            Ok(format!("[^{}\\n]+", regex_syntax::escape(&c.to_string())))
        }
        Some(c) if c.is_alphanumeric() => Err("a name ends with a letter there"),
        _ => Ok(r"[\w.:/$-]+".to_owned()),
    }
}

/// A text as a pattern, white space of any kind.
fn escaped(text: &str) -> String {
    let mut pattern = String::new();
    let mut was_space = false;
    for c in text.chars() {
        if c.is_whitespace() {
            if !was_space {
                pattern.push_str(if c == '\n' { r"\s*" } else { " " });
            }
            was_space = true;
        } else {
            pattern.push_str(&regex_syntax::escape(&c.to_string()));
            was_space = false;
        }
    }
    pattern
}
