//! Writes answers of Ollama's API, whole and in lines.

use std::time::{Instant, SystemTime};

use ptk_llm::{FinishReason, Usage};
use ptk_protocol::Arguments;
use serde::Serialize;
use serde_json::{Value, json};

use super::super::{Writer, put};
use crate::failure::Failure;
use crate::response::{End, Note, ResponseEvent, ResponsePart, Whole};

/// A line of an answer, or all of it.
#[derive(Serialize)]
struct OllamaLine<'l> {
    model: &'l str,
    created_at: String,
    message: OllamaMessage<'l>,
    done: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    done_reason: Option<&'l str>,
    /// The duration in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_duration: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_eval_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    eval_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ptk: Option<Value>,
}

#[derive(Default, Serialize)]
struct OllamaMessage<'m> {
    role: Assistant,
    content: &'m str,
    #[serde(skip_serializing_if = "str::is_empty")]
    thinking: &'m str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<OllamaCall<'m>>,
}

/// The role of answers.
#[derive(Default, Serialize)]
#[serde(rename_all = "lowercase")]
enum Assistant {
    #[default]
    Assistant,
}

#[derive(Serialize)]
struct OllamaCall<'c> {
    id: &'c str,
    /// Some clients look for it here, others in the function.
    index: usize,
    function: OllamaFunction<'c>,
}

#[derive(Serialize)]
struct OllamaFunction<'f> {
    index: usize,
    name: &'f str,
    arguments: &'f Arguments,
}

impl<'c> OllamaCall<'c> {
    fn new(id: &'c str, index: usize, name: &'c str, arguments: &'c Arguments) -> Self {
        Self {
            id,
            index,
            function: OllamaFunction {
                index,
                name,
                arguments,
            },
        }
    }
}

impl<'l> OllamaLine<'l> {
    fn new(model: &'l str, message: OllamaMessage<'l>) -> Self {
        Self {
            model,
            created_at: humantime::format_rfc3339_nanos(SystemTime::now()).to_string(),
            message,
            done: false,
            done_reason: None,
            total_duration: None,
            prompt_eval_count: None,
            eval_count: None,
            ptk: None,
        }
    }

    /// Makes it the last line.
    fn last(mut self, end: &'l End, cut: &[Note], start: Instant) -> Self {
        let took = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let Usage {
            input_tokens,
            output_tokens,
            ..
        } = end.usage;
        let notes: Vec<&Note> = end.notes.iter().chain(cut).collect();
        self.done = true;
        self.done_reason = Some(reason(end));
        self.total_duration = Some(took);
        self.prompt_eval_count = Some(input_tokens);
        self.eval_count = Some(output_tokens);
        self.ptk = (!notes.is_empty()).then(|| json!({"problems": notes}));
        self
    }
}

/// Why an answer ended. This API has no reason for tool calls.
fn reason(end: &End) -> &str {
    match &end.finish {
        FinishReason::ToolCalls => FinishReason::Stop.as_str(),
        reason => reason.as_str(),
    }
}

/// The note for a call that breaks off. It cannot be sent: its arguments are an
/// object here, and would look complete.
fn broken_off(name: &str, json: &str) -> Note {
    Note {
        raw: json.to_owned(),
        ..Note::new(
            "truncated_tool_call",
            format!("The call of {name} breaks off before its arguments close"),
        )
    }
}

/// The answer to a request that only loads the model.
pub(super) fn loaded(model: &str) -> Vec<u8> {
    let line = OllamaLine {
        done: true,
        done_reason: Some("load"),
        ..OllamaLine::new(model, OllamaMessage::default())
    };
    let mut out = Vec::new();
    put_line(&line, &mut out);
    out
}

/// Writes the whole answer.
pub(super) fn message(model: &str, start: Instant, answer: &Whole) -> Vec<u8> {
    let (content, thinking) = (answer.text(), answer.reasoning());
    let mut calls = Vec::new();
    let mut cut = Vec::new();
    for part in &answer.parts {
        match part {
            ResponsePart::Call {
                name,
                json,
                is_cut: true,
                ..
            } => cut.push(broken_off(name, json)),
            ResponsePart::Call { id, name, args, .. } => {
                calls.push(OllamaCall::new(id, calls.len(), name, args));
            }
            ResponsePart::Text(_)
            | ResponsePart::Reasoning(_)
            | ResponsePart::Search(_)
            | ResponsePart::Passthrough(_) => {}
        }
    }
    let message = OllamaMessage {
        role: Assistant::Assistant,
        content: &content,
        thinking: &thinking,
        tool_calls: calls,
    };
    let line = OllamaLine::new(model, message).last(&answer.end, &cut, start);
    let mut out = Vec::new();
    put(&line, &mut out);
    out
}

fn put_line(line: &OllamaLine<'_>, out: &mut Vec<u8>) {
    put(line, out);
    out.push(b'\n');
}

/// Writes an answer line by line. A call is sent when it is complete.
pub(super) struct OllamaWriter {
    model: String,
    start: Instant,
    /// How many calls were sent.
    calls: usize,
    /// The incoming call: id, name, and its arguments so far.
    open: (String, String, String),
    /// Notes on calls that break off.
    cut: Vec<Note>,
}

impl OllamaWriter {
    pub(super) fn new(model: &str, start: Instant) -> Self {
        Self {
            model: model.to_owned(),
            start,
            calls: 0,
            open: Default::default(),
            cut: Vec::new(),
        }
    }

    fn line(&self, message: OllamaMessage<'_>, out: &mut Vec<u8>) {
        put_line(&OllamaLine::new(&self.model, message), out);
    }
}

impl Writer for OllamaWriter {
    fn event(&mut self, event: ResponseEvent<'_>, out: &mut Vec<u8>) {
        match event {
            ResponseEvent::Text(content) => self.line(
                OllamaMessage {
                    content,
                    ..OllamaMessage::default()
                },
                out,
            ),
            ResponseEvent::Reasoning(thinking) => self.line(
                OllamaMessage {
                    thinking,
                    ..OllamaMessage::default()
                },
                out,
            ),
            ResponseEvent::Call { id, name } => {
                self.open = (id.to_owned(), name.to_owned(), String::new());
            }
            ResponseEvent::Arguments(json) => self.open.2.push_str(json),
            ResponseEvent::CallEnd(args) => {
                let (id, name, _) = std::mem::take(&mut self.open);
                let call = OllamaCall::new(&id, self.calls, &name, args);
                self.line(
                    OllamaMessage {
                        tool_calls: vec![call],
                        ..OllamaMessage::default()
                    },
                    out,
                );
                self.calls += 1;
            }
            ResponseEvent::CallCut(_) => {
                let (_, name, json) = std::mem::take(&mut self.open);
                self.cut.push(broken_off(&name, &json));
            }
            ResponseEvent::Passthrough(_)
            | ResponseEvent::Search(_)
            | ResponseEvent::WasReasoning
            | ResponseEvent::WasRescued
            | ResponseEvent::WasText => {}
        }
    }

    fn end(&mut self, end: &End, out: &mut Vec<u8>) {
        let line = OllamaLine::new(&self.model, OllamaMessage::default());
        put_line(&line.last(end, &self.cut, self.start), out);
    }

    fn failed(&mut self, failure: &Failure, out: &mut Vec<u8>) {
        put(&failure.ollama(), out);
        out.push(b'\n');
    }
}
