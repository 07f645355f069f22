//! Writes answers of Anthropic's API, whole and streamed.

use ptk_llm::{FinishReason, Passthrough, Usage};
use ptk_protocol::Arguments;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::super::{Writer, put, quote};
use super::search::SearchTool;
use crate::chat_request::ChatRequest;
use crate::failure::Failure;
use crate::response::{End, ResponseEvent, ResponsePart, ToolSearch, Whole, new_id};

/// The field for what the server left out of the conversation.
const CONTEXT: &str = "context_management";

/// The id and the model of an answer.
pub(super) struct MessageInfo {
    id: String,
    model: String,
    /// How the client calls the search for tools.
    search: SearchTool,
}

impl MessageInfo {
    pub(super) fn new(chat: &ChatRequest, search: SearchTool) -> Self {
        Self {
            id: new_id("msg_"),
            model: chat.model.clone(),
            search,
        }
    }
}

/// A part of an answer.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicBlock<'b> {
    Thinking {
        thinking: &'b str,
        /// Empty if there is no signature.
        signature: &'b str,
    },
    Text {
        text: &'b str,
        #[serde(skip_serializing_if = "<[Value]>::is_empty")]
        citations: &'b [Value],
    },
    ToolUse {
        id: &'b str,
        name: &'b str,
        input: &'b Arguments,
    },
    /// A part that only this API has, from the model's server.
    #[serde(untagged)]
    Passthrough(&'b Value),
    /// A search for tools, or its result.
    #[serde(untagged)]
    Search(Value),
}

/// The parts of an answer in this API's format.
fn blocks(parts: &[ResponsePart], search: SearchTool) -> Vec<AnthropicBlock<'_>> {
    let mut blocks = Vec::with_capacity(parts.len());
    for part in parts {
        match (part, blocks.last_mut()) {
            (ResponsePart::Text(text), _) => blocks.push(AnthropicBlock::Text {
                text,
                citations: &[],
            }),
            (ResponsePart::Reasoning(thinking), _) => blocks.push(AnthropicBlock::Thinking {
                thinking,
                signature: "",
            }),
            (ResponsePart::Call { id, name, args, .. }, _) => {
                blocks.push(AnthropicBlock::ToolUse {
                    id,
                    name,
                    input: args,
                });
            }
            (ResponsePart::Search(made), _) => {
                let input = search.input(&made.args);
                blocks.push(AnthropicBlock::Search(search.call(made, &input)));
                blocks.push(AnthropicBlock::Search(SearchTool::result(made)));
            }
            (ResponsePart::Passthrough(Passthrough::Part(value)), _) => {
                blocks.push(AnthropicBlock::Passthrough(value));
            }
            (
                ResponsePart::Passthrough(Passthrough::Sources(sources)),
                Some(AnthropicBlock::Text { citations, .. }),
            ) if citations.is_empty() => {
                *citations = sources;
            }
            (
                ResponsePart::Passthrough(Passthrough::Signature(passthrough)),
                Some(AnthropicBlock::Thinking { signature, .. }),
            ) => {
                *signature = passthrough;
            }
            // Reasoning that is not shown is signed all the same.
            (ResponsePart::Passthrough(Passthrough::Signature(passthrough)), _)
                if !passthrough.is_empty() =>
            {
                blocks.push(AnthropicBlock::Thinking {
                    thinking: "",
                    signature: passthrough,
                });
            }
            (ResponsePart::Passthrough(_), _) => {}
        }
    }
    blocks
}

#[derive(Serialize)]
struct AnthropicMessage<'m> {
    id: &'m str,
    #[serde(rename = "type")]
    kind: &'static str,
    role: &'static str,
    model: &'m str,
    content: Vec<AnthropicBlock<'m>>,
    #[serde(flatten)]
    stop: Map<String, Value>,
    usage: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    ptk: Option<Value>,
}

impl<'m> AnthropicMessage<'m> {
    /// A message without content.
    fn of(info: &'m MessageInfo) -> Self {
        Self {
            id: &info.id,
            kind: "message",
            role: "assistant",
            model: &info.model,
            content: Vec::new(),
            stop: stopped(None, None),
            usage: usage_of(&Usage::default()),
            ptk: None,
        }
    }
}

/// Writes the whole answer.
pub(super) fn message(info: &MessageInfo, answer: &Whole) -> Vec<u8> {
    let message = AnthropicMessage {
        content: blocks(&answer.parts, info.search),
        stop: stop(&answer.end),
        usage: used(&answer.end),
        ptk: notes(&answer.end),
        ..AnthropicMessage::of(info)
    };
    let mut body = Vec::new();
    put(&message, &mut body);
    body
}

/// Why an answer ended, in this API's format, and its stop sequence.
fn stop(end: &End) -> Map<String, Value> {
    let passthrough = end
        .passthrough
        .reason
        .get("stop_reason")
        .and_then(Value::as_str);
    match (&end.finish, end.stopped_at.as_deref()) {
        (FinishReason::ToolCalls, _) => stopped(Some("tool_use"), None),
        (_, Some(sequence)) => stopped(Some("stop_sequence"), Some(sequence)),
        // The server's own reason is more precise, unless its call was not
        // passed on.
        _ if passthrough.is_some_and(|passthrough| passthrough != "tool_use") => {
            let mut stop = stopped(None, None);
            stop.extend(end.passthrough.reason.clone());
            stop
        }
        (FinishReason::Length, _) => stopped(Some("max_tokens"), None),
        (FinishReason::ContentFilter, _) => stopped(Some("refusal"), None),
        (_, None) => stopped(Some("end_turn"), None),
    }
}

fn stopped(reason: Option<&str>, sequence: Option<&str>) -> Map<String, Value> {
    Map::from_iter([
        ("stop_reason".to_owned(), reason.into()),
        ("stop_sequence".to_owned(), sequence.into()),
    ])
}

fn used(end: &End) -> Value {
    let passthrough = end.passthrough.usage.clone();
    passthrough.unwrap_or_else(|| usage_of(&end.usage))
}

fn usage_of(usage: &Usage) -> Value {
    // This API counts them apart.
    let cached = usage.cached_tokens + usage.cache_write_tokens;
    json!({
        "input_tokens": usage.input_tokens.saturating_sub(cached),
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
    })
}

fn notes(end: &End) -> Option<Value> {
    (!end.notes.is_empty()).then(|| json!({"problems": end.notes}))
}

/// The kind of the open part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenBlock {
    Thinking,
    /// Signed reasoning, which is complete.
    Signed,
    Text,
    Call,
    /// A part of the model's server.
    Passthrough,
}

/// Writes an answer as events.
pub(super) struct MessagesWriter {
    info: MessageInfo,
    has_begun: bool,
    open: Option<OpenBlock>,
    /// The index of the open part, or of the next one.
    index: u32,
}

impl MessagesWriter {
    pub(super) fn new(info: MessageInfo) -> Self {
        Self {
            info,
            has_begun: false,
            open: None,
            index: 0,
        }
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if self.has_begun {
            return;
        }
        self.has_begun = true;
        let message = AnthropicMessage::of(&self.info);
        out.extend_from_slice(
            b"event: message_start\ndata: {\"type\":\"message_start\",\"message\":",
        );
        put(&message, out);
        out.extend_from_slice(b"}\n\n");
        event("ping", &json!({"type": "ping"}), out);
    }

    /// Begins a part.
    fn start(&mut self, open: OpenBlock, block: &AnthropicBlock<'_>, out: &mut Vec<u8>) {
        self.begin(out);
        self.stop(out);
        self.open = Some(open);
        out.extend_from_slice(
            b"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":",
        );
        put(&self.index, out);
        out.extend_from_slice(b",\"content_block\":");
        put(block, out);
        out.extend_from_slice(b"}\n\n");
    }

    /// Writes further text of the open part.
    fn delta(&self, kind: &str, field: &str, text: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(
            b"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":",
        );
        put(&self.index, out);
        out.extend_from_slice(b",\"delta\":{\"type\":\"");
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(b"\",\"");
        out.extend_from_slice(field.as_bytes());
        out.extend_from_slice(b"\":");
        quote(text, out);
        out.extend_from_slice(b"}}\n\n");
    }

    /// Continues with text.
    fn text(&mut self, out: &mut Vec<u8>) {
        if self.open != Some(OpenBlock::Text) {
            let block = AnthropicBlock::Text {
                text: "",
                citations: &[],
            };
            self.start(OpenBlock::Text, &block, out);
        }
    }

    /// Continues with reasoning.
    fn thinking(&mut self, out: &mut Vec<u8>) {
        if self.open != Some(OpenBlock::Thinking) {
            let block = AnthropicBlock::Thinking {
                thinking: "",
                signature: "",
            };
            self.start(OpenBlock::Thinking, &block, out);
        }
    }

    /// Writes a search for tools, and its result.
    fn search(&mut self, made: &ToolSearch, out: &mut Vec<u8>) {
        let search = self.info.search;
        let call = AnthropicBlock::Search(search.call(made, &json!({})));
        self.start(OpenBlock::Passthrough, &call, out);
        let input = search.input(&made.args).to_string();
        self.delta("input_json_delta", "partial_json", &input, out);
        let result = AnthropicBlock::Search(SearchTool::result(made));
        self.start(OpenBlock::Passthrough, &result, out);
        self.stop(out);
    }

    /// Writes content that only this API has a field for.
    fn passthrough(&mut self, passthrough: &Passthrough, out: &mut Vec<u8>) {
        match passthrough {
            Passthrough::Part(value) => {
                self.start(
                    OpenBlock::Passthrough,
                    &AnthropicBlock::Passthrough(value),
                    out,
                );
                self.stop(out);
            }
            Passthrough::Signature(signature) if !signature.is_empty() => {
                self.thinking(out);
                self.delta("signature_delta", "signature", signature, out);
                self.open = Some(OpenBlock::Signed);
            }
            Passthrough::Signature(_) if self.open == Some(OpenBlock::Thinking) => self.stop(out),
            Passthrough::Sources(sources) => {
                for source in sources {
                    self.text(out);
                    let delta = json!({"type": "citations_delta", "citation": source});
                    let value =
                        json!({"type": "content_block_delta", "index": self.index, "delta": delta});
                    event("content_block_delta", &value, out);
                }
                if self.open == Some(OpenBlock::Text) {
                    self.stop(out);
                }
            }
            _ => {}
        }
    }

    /// Ends the open part.
    fn stop(&mut self, out: &mut Vec<u8>) {
        let Some(open) = self.open.take() else {
            return;
        };
        if open == OpenBlock::Thinking {
            self.delta("signature_delta", "signature", "", out);
        }
        let value = json!({"type": "content_block_stop", "index": self.index});
        event("content_block_stop", &value, out);
        self.index += 1;
    }
}

fn event(name: &str, value: &Value, out: &mut Vec<u8>) {
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\ndata: ");
    put(value, out);
    out.extend_from_slice(b"\n\n");
}

impl Writer for MessagesWriter {
    fn event(&mut self, event: ResponseEvent<'_>, out: &mut Vec<u8>) {
        match event {
            ResponseEvent::Text(text) => {
                self.text(out);
                self.delta("text_delta", "text", text, out);
            }
            ResponseEvent::Reasoning(text) => {
                self.thinking(out);
                self.delta("thinking_delta", "thinking", text, out);
            }
            ResponseEvent::Call { id, name } => {
                let input = &Arguments::new();
                self.start(
                    OpenBlock::Call,
                    &AnthropicBlock::ToolUse { id, name, input },
                    out,
                );
                self.delta("input_json_delta", "partial_json", "", out);
            }
            ResponseEvent::Arguments(json) => {
                self.delta("input_json_delta", "partial_json", json, out);
            }
            ResponseEvent::CallEnd(_) | ResponseEvent::CallCut(_) => self.stop(out),
            ResponseEvent::Search(search) => self.search(search, out),
            ResponseEvent::Passthrough(passthrough) => self.passthrough(passthrough, out),
            ResponseEvent::WasReasoning | ResponseEvent::WasRescued | ResponseEvent::WasText => {}
        }
    }

    fn end(&mut self, end: &End, out: &mut Vec<u8>) {
        self.begin(out);
        self.stop(out);
        let mut reason = stop(end);
        // In a stream it stands beside the reason.
        let context = reason.remove(CONTEXT);
        let mut value = json!({
            "type": "message_delta",
            "delta": reason,
            "usage": used(end),
        });
        if let (Some(context), Value::Object(value)) = (context, &mut value) {
            value.insert(CONTEXT.to_owned(), context);
        }
        if let (Some(notes), Value::Object(value)) = (notes(end), &mut value) {
            value.insert("ptk".to_owned(), notes);
        }
        event("message_delta", &value, out);
        event("message_stop", &json!({"type": "message_stop"}), out);
    }

    fn failed(&mut self, failure: &Failure, out: &mut Vec<u8>) {
        event("error", &failure.anthropic(), out);
    }
}
