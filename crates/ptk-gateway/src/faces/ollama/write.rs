//! Answers of Ollama's API, whole and in lines.

use std::time::{Instant, SystemTime};

use ptk::llm::{FinishReason, Usage};
use ptk::protocol::Arguments;
use serde::Serialize;
use serde_json::{Value, json};

use super::super::{Writer, put};
use crate::failure::Failure;
use crate::said::{End, Note, Part, Said, Whole};

/// A line of an answer, or all of it.
#[derive(Serialize)]
struct Line<'l> {
    model: &'l str,
    created_at: String,
    message: Message<'l>,
    done: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    done_reason: Option<&'l str>,
    /// Nanoseconds.
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
struct Message<'m> {
    role: Assistant,
    content: &'m str,
    #[serde(skip_serializing_if = "str::is_empty")]
    thinking: &'m str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'m>>,
}

/// Who speaks.
#[derive(Default, Serialize)]
#[serde(rename_all = "lowercase")]
enum Assistant {
    #[default]
    Assistant,
}

#[derive(Serialize)]
struct Call<'c> {
    id: &'c str,
    /// Some clients look for it here, others in the function.
    index: usize,
    function: Function<'c>,
}

#[derive(Serialize)]
struct Function<'f> {
    index: usize,
    name: &'f str,
    arguments: &'f Arguments,
}

impl<'c> Call<'c> {
    fn new(id: &'c str, index: usize, name: &'c str, arguments: &'c Arguments) -> Self {
        Self {
            id,
            index,
            function: Function {
                index,
                name,
                arguments,
            },
        }
    }
}

impl<'l> Line<'l> {
    fn new(model: &'l str, message: Message<'l>) -> Self {
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

    /// The same as the last one.
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

/// Why an answer ended. That tools are to be called is not said here.
fn reason(end: &End) -> &str {
    match &end.finish {
        FinishReason::ToolCalls => FinishReason::Stop.as_str(),
        reason => reason.as_str(),
    }
}

/// A call that breaks off cannot go out: its arguments are an object here, and
/// would look whole.
fn broken_off(name: &str, json: &str) -> Note {
    Note {
        raw: json.to_owned(),
        ..Note::new(
            "truncated_tool_call",
            format!("The call of {name} breaks off before its arguments close"),
        )
    }
}

/// The answer to a request that only wants the model to be there.
pub(super) fn loaded(model: &str) -> Vec<u8> {
    let line = Line {
        done: true,
        done_reason: Some("load"),
        ..Line::new(model, Message::default())
    };
    let mut out = Vec::new();
    put_line(&line, &mut out);
    out
}

/// The whole answer.
pub(super) fn message(model: &str, start: Instant, answer: &Whole) -> Vec<u8> {
    let (content, thinking) = (answer.text(), answer.reasoning());
    let mut calls = Vec::new();
    let mut cut = Vec::new();
    for part in &answer.parts {
        match part {
            Part::Call {
                name,
                json,
                is_cut: true,
                ..
            } => cut.push(broken_off(name, json)),
            Part::Call { id, name, args, .. } => {
                calls.push(Call::new(id, calls.len(), name, args));
            }
            Part::Text(_) | Part::Reasoning(_) | Part::Own(_) => {}
        }
    }
    let said = Message {
        role: Assistant::Assistant,
        content: &content,
        thinking: &thinking,
        tool_calls: calls,
    };
    let line = Line::new(model, said).last(&answer.end, &cut, start);
    let mut out = Vec::new();
    put(&line, &mut out);
    out
}

fn put_line(line: &Line<'_>, out: &mut Vec<u8>) {
    put(line, out);
    out.push(b'\n');
}

/// Writes an answer line by line. A call goes out when it is whole.
pub(super) struct Lines {
    model: String,
    start: Instant,
    /// Calls that went out.
    calls: usize,
    /// The call that comes in: id, name, and its arguments so far.
    open: (String, String, String),
    /// Calls that break off.
    cut: Vec<Note>,
}

impl Lines {
    pub(super) fn new(model: &str, start: Instant) -> Self {
        Self {
            model: model.to_owned(),
            start,
            calls: 0,
            open: Default::default(),
            cut: Vec::new(),
        }
    }

    fn line(&self, message: Message<'_>, out: &mut Vec<u8>) {
        put_line(&Line::new(&self.model, message), out);
    }
}

impl Writer for Lines {
    fn said(&mut self, said: Said<'_>, out: &mut Vec<u8>) {
        match said {
            Said::Text(content) => self.line(
                Message {
                    content,
                    ..Message::default()
                },
                out,
            ),
            Said::Reasoning(thinking) => self.line(
                Message {
                    thinking,
                    ..Message::default()
                },
                out,
            ),
            Said::Call { id, name } => {
                self.open = (id.to_owned(), name.to_owned(), String::new());
            }
            Said::Arguments(json) => self.open.2.push_str(json),
            Said::CallEnd(args) => {
                let (id, name, _) = std::mem::take(&mut self.open);
                let call = Call::new(&id, self.calls, &name, args);
                self.line(
                    Message {
                        tool_calls: vec![call],
                        ..Message::default()
                    },
                    out,
                );
                self.calls += 1;
            }
            Said::CallCut(_) => {
                let (_, name, json) = std::mem::take(&mut self.open);
                self.cut.push(broken_off(&name, &json));
            }
            Said::Own(_) => {}
        }
    }

    fn end(&mut self, end: &End, out: &mut Vec<u8>) {
        let line = Line::new(&self.model, Message::default());
        put_line(&line.last(end, &self.cut, self.start), out);
    }

    fn failed(&mut self, failure: &Failure, out: &mut Vec<u8>) {
        put(&failure.ollama(), out);
        out.push(b'\n');
    }
}
