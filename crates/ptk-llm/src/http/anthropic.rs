//! Anthropic's messages API.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Reading, Trouble, Wire, forwarded, json_bytes, number, others, text, turns};
use crate::{
    Api, Delta, FinishReason, MAX_REPLY, Message, Passthrough, Request, ResponseFormat, ToolChoice,
    Usage,
};

/// The version of the API that this is written for.
const VERSION: &str = "2023-06-01";
/// The path of the endpoint.
const PATH: &str = "/messages";
/// Fields of a message that are read; all others are passed through.
const ANSWER: [&str; 6] = ["id", "type", "role", "model", "content", "usage"];
/// The estimated size of a piece without its text.
const PIECE: usize = 64;
/// The most tokens of a reply, which the API requires.
const MAX_TOKENS: u32 = 8192;

/// The wire format of Anthropic's messages API.
#[derive(Debug)]
pub(super) struct Anthropic;

impl Wire for Anthropic {
    fn tails(&self) -> &'static [&'static str] {
        &["/messages"]
    }

    fn speaks(&self) -> Option<Api> {
        Some(Api::Messages)
    }

    fn request(&self, request: &Request, model: &str) -> (String, Vec<u8>) {
        if let Some(body) = forwarded(request, model) {
            return (PATH.to_owned(), json_bytes(&Value::Object(body)));
        }
        let mut body = Map::new();
        let mut put = |name: &str, value: Value| {
            if !value.is_null() {
                body.insert(name.to_owned(), value);
            }
        };
        put("model", json!(model));
        put(
            "max_tokens",
            json!(request.max_tokens.unwrap_or(MAX_TOKENS)),
        );
        put("stream", json!(true));
        put("system", system(request));
        put("messages", json!(messages(request)));
        if !request.tools.is_empty() {
            put("tools", json!(tools(request)));
            put("tool_choice", choice(&request.tool_choice));
        }
        put("temperature", json!(request.sampling.temperature));
        put("top_p", json!(request.sampling.top_p));
        put("top_k", json!(request.sampling.top_k));
        if !request.stop.is_empty() {
            put("stop_sequences", json!(request.stop));
        }
        if let ResponseFormat::Schema(schema) = &request.format {
            let format = json!({"type": "json_schema", "schema": schema});
            put("output_config", json!({"format": format}));
        }
        (PATH.to_owned(), json_bytes(&Value::Object(body)))
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("x-api-key", "")
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("anthropic-version", VERSION)]
    }

    fn reading(&self, request: &Request) -> Box<dyn Reading> {
        Box::new(MessageReading {
            is_forwarded: request.verbatim.is_some(),
            ..MessageReading::default()
        })
    }
}

fn system(request: &Request) -> Value {
    let Some(text) = &request.system else {
        return Value::Null;
    };
    // Empty blocks cannot be marked.
    if !request.prompt_cache || text.trim().is_empty() {
        return json!(text);
    }
    let mut block = json!({"type": "text", "text": text});
    mark(&mut block);
    json!([block])
}

fn tools(request: &Request) -> Vec<Value> {
    let tools = request.tools.iter().map(|tool| {
        json!({
            "name": tool.name,
            "description": tool.description,
            "input_schema": tool.parameters,
        })
    });
    let mut tools: Vec<Value> = tools.collect();
    if let Some(last) = tools.last_mut().filter(|_| request.prompt_cache) {
        mark(last);
    }
    tools
}

/// The conversation: turns of user and assistant, with results in the turns of
/// the user.
fn messages(request: &Request) -> Vec<Value> {
    let mut all: Vec<(&str, Vec<Value>)> = turns(request.turns(), blocks).collect();
    if request.prompt_cache {
        mark_turns(request, &mut all);
    }
    all.into_iter()
        .map(|(role, parts)| json!({"role": role, "content": content(request, parts)}))
        .collect()
}

/// Marks up to where the conversation is cached: the last turn of the user; the
/// one before it, up to which the previous request was cached, because the
/// server looks back over 20 blocks only; and the end of the examples, which
/// other conversations begin with as well.
///
/// With the system prompt these are the four marks that the API allows: a model
/// that is shown examples is not sent tools.
fn mark_turns(request: &Request, turns: &mut [(&str, Vec<Value>)]) {
    let shared = self::turns(request.examples.iter(), blocks).count();
    let examples = shared.checked_sub(1).filter(|_| request.tools.is_empty());
    let own = turns.iter().enumerate().skip(shared).rev();
    let asked = own.filter(|(_, (role, _))| *role == "user");
    let last: Vec<usize> = asked.map(|(at, _)| at).take(2).collect();
    for at in last.into_iter().chain(examples) {
        let block = turns.get_mut(at).and_then(|(_, parts)| parts.last_mut());
        if let Some(block) = block {
            mark(block);
        }
    }
}

/// Has the server cache everything up to the end of this block.
fn mark(block: &mut Value) {
    if let Some(fields) = block.as_object_mut() {
        let _: Option<Value> =
            fields.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
    }
}

/// Content that is only text becomes a string: servers that pass it on to other
/// models expect that. In a string there is no place for marks, and a prompt is
/// cached only if it does not change with them.
fn content(request: &Request, parts: Vec<Value>) -> Value {
    match parts.as_slice() {
        [only] if !request.prompt_cache && text(only, "type") == Some("text") => {
            only.get("text").cloned().into()
        }
        _ => Value::Array(parts),
    }
}

fn blocks(message: &Message) -> (&'static str, Vec<Value>) {
    let words = |text: &str| {
        let block = (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}));
        block.into_iter().collect::<Vec<_>>()
    };
    match message {
        Message::System(text) => ("user", words(text)),
        Message::User { text, images } => {
            let images = images.iter().map(|image| {
                json!({"type": "image", "source": {
                    "type": "base64",
                    "media_type": image.media_type(),
                    "data": image.base64(),
                }})
            });
            ("user", images.chain(words(text)).collect())
        }
        Message::Assistant { text, calls, .. } => {
            let mut parts = words(text);
            parts.extend(calls.iter().map(|call| {
                json!({
                    "type": "tool_use",
                    "id": call.id,
                    "name": call.name,
                    "input": call.args.as_map(),
                })
            }));
            ("assistant", parts)
        }
        Message::Result {
            id, text, is_error, ..
        } => {
            let part = json!({
                "type": "tool_result",
                "tool_use_id": id,
                "content": text,
                "is_error": is_error,
            });
            ("user", vec![part])
        }
    }
}

fn choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!({"type": "auto"}),
        ToolChoice::None => json!({"type": "none"}),
        ToolChoice::Required => json!({"type": "any"}),
        ToolChoice::Tool(name) => json!({"type": "tool", "name": name}),
    }
}

/// Parses the events of a message.
#[derive(Debug, Default)]
struct MessageReading {
    calls: usize,
    /// Calls that are open, by the numbers of their blocks.
    open: BTreeMap<u64, Open>,
    usage: Usage,
    finish: Option<FinishReason>,
    /// Whether the server reported the end of the message.
    is_over: bool,
    /// Whether a client wrote the request, and gets the whole answer.
    is_forwarded: bool,
    /// Open parts that only this API has, by their numbers.
    own: BTreeMap<u64, ServerPart>,
    /// The size of these parts so far.
    own_size: usize,
    /// The usage so far, in the server's format.
    counted: Map<String, Value>,
}

/// An open part that only this API has.
#[derive(Debug)]
enum ServerPart {
    /// The sources of a text.
    Text(Vec<Value>),
    /// The signature of reasoning.
    Thoughts(String),
    /// Any other part, and its input so far.
    Other(Value, String),
}

/// An open call.
#[derive(Debug)]
struct Open {
    index: usize,
    /// The arguments in its first event. Some servers send them all at once
    /// there, and others again in pieces.
    given: Option<String>,
}

impl MessageReading {
    /// Begins a block.
    fn begin(&mut self, number: u64, block: &Value, deltas: &mut Vec<Delta>) {
        // Its number may be that of a block that was never ended.
        self.close(number, deltas);
        if self.is_forwarded {
            self.begin_own(number, block);
        }
        match text(block, "type") {
            Some("tool_use") => {
                let index = self.calls;
                self.calls += 1;
                deltas.push(Delta::CallStart {
                    index,
                    id: text(block, "id").map(str::to_owned),
                    name: text(block, "name").unwrap_or_default().to_owned(),
                });
                let given = block
                    .get("input")
                    .filter(|it| it.as_object().is_some_and(|members| !members.is_empty()));
                let given = given.map(Value::to_string);
                self.open.insert(number, Open { index, given });
            }
            Some("text") => words(block, "text", Delta::Text, deltas),
            Some("thinking") => words(block, "thinking", Delta::Reasoning, deltas),
            _ => {}
        }
    }

    /// Further text of a call's arguments.
    fn arguments(&mut self, number: u64, part: &Value, deltas: &mut Vec<Delta>) {
        let json = text(part, "partial_json").unwrap_or_default().to_owned();
        if let Some(open) = self.open.get_mut(&number).filter(|_| !json.is_empty()) {
            open.given = None;
            let index = open.index;
            deltas.push(Delta::Arguments { index, json });
        }
    }

    fn begin_own(&mut self, number: u64, block: &Value) {
        let part = match text(block, "type") {
            Some("tool_use") => return,
            Some("text") => {
                let sources = block.get("citations").and_then(Value::as_array);
                ServerPart::Text(sources.cloned().unwrap_or_default())
            }
            Some("thinking") => {
                ServerPart::Thoughts(text(block, "signature").unwrap_or_default().to_owned())
            }
            _ => ServerPart::Other(block.clone(), String::new()),
        };
        self.own.insert(number, part);
    }

    /// Adds a piece to a part that only this API has, which is bounded as a
    /// reply is.
    fn own_piece(&mut self, number: u64, piece: &Value) -> Result<(), Trouble> {
        if !self.is_forwarded {
            return Ok(());
        }
        let fields = piece.as_object().into_iter().flatten();
        let texts = fields.filter_map(|(_, value)| value.as_str());
        self.own_size += texts.map(str::len).sum::<usize>() + PIECE;
        if self.own_size > MAX_REPLY {
            return Err(Trouble::Error {
                status: None,
                message: "it goes on without an end".to_owned(),
            });
        }
        match (self.own.get_mut(&number), text(piece, "type")) {
            (Some(ServerPart::Text(sources)), Some("citations_delta")) => {
                sources.extend(piece.get("citation").cloned());
            }
            (Some(ServerPart::Thoughts(signature)), Some("signature_delta")) => {
                signature.push_str(text(piece, "signature").unwrap_or_default());
            }
            (Some(ServerPart::Other(_, input)), Some("input_json_delta")) => {
                input.push_str(text(piece, "partial_json").unwrap_or_default());
            }
            (Some(ServerPart::Other(block, _)), _) => grow(block, piece),
            _ => {}
        }
        Ok(())
    }

    fn close_own(&mut self, number: u64, deltas: &mut Vec<Delta>) {
        let Some(part) = self.own.remove(&number) else {
            return;
        };
        deltas.push(Delta::Passthrough(match part {
            ServerPart::Text(sources) => Passthrough::Sources(sources),
            ServerPart::Thoughts(signature) => Passthrough::Signature(signature),
            ServerPart::Other(mut block, input) => {
                if let (Ok(input), Some(fields)) =
                    (serde_json::from_str(&input), block.as_object_mut())
                {
                    let _: Option<Value> = fields.insert("input".to_owned(), input);
                }
                Passthrough::Part(block)
            }
        }));
    }

    /// Ends a block.
    fn close(&mut self, number: u64, deltas: &mut Vec<Delta>) {
        self.close_own(number, deltas);
        let Some(Open { index, given }) = self.open.remove(&number) else {
            return;
        };
        deltas.extend(given.map(|json| Delta::Arguments { index, json }));
        deltas.push(Delta::CallEnd { index });
    }

    fn count(&mut self, usage: &Value, deltas: &mut Vec<Delta>) {
        super::usage::add_of_message(&mut self.usage, usage);
        deltas.push(Delta::Usage(self.usage));
        if self.is_forwarded && usage.is_object() {
            self.counted.extend(others(usage, &[]));
            let counted = Value::Object(self.counted.clone());
            deltas.push(Delta::Passthrough(Passthrough::Usage(counted)));
        }
    }

    /// Takes the reason why the message ended, and the fields beside it.
    fn ended(&mut self, told: &Value, deltas: &mut Vec<Delta>) {
        let reason = text(told, "stop_reason").filter(|reason| !reason.is_empty());
        let Some(reason) = reason else {
            return;
        };
        self.finish = Some(finish(reason));
        if self.is_forwarded {
            deltas.push(Delta::Passthrough(Passthrough::Reason(others(
                told, &ANSWER,
            ))));
        }
    }
}

/// Adds a piece to a part that only this API has: texts are joined, other
/// values are replaced.
fn grow(part: &mut Value, piece: &Value) {
    let Some(fields) = part.as_object_mut() else {
        return;
    };
    for (name, value) in others(piece, &["type"]) {
        match (fields.get_mut(&name), value) {
            (Some(Value::String(all)), Value::String(more)) => all.push_str(&more),
            (_, value) => {
                fields.insert(name, value);
            }
        }
    }
}

fn words(part: &Value, name: &str, delta: fn(String) -> Delta, deltas: &mut Vec<Delta>) {
    let words = text(part, name).filter(|words| !words.is_empty());
    deltas.extend(words.map(|words| delta(words.to_owned())));
}

fn finish(reason: &str) -> FinishReason {
    match reason {
        "end_turn" | "stop_sequence" | "pause_turn" => FinishReason::Stop,
        "tool_use" => FinishReason::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "refusal" => FinishReason::ContentFilter,
        reason => FinishReason::from(reason),
    }
}

impl Reading for MessageReading {
    fn event(&mut self, event: &Value, deltas: &mut Vec<Delta>) -> Result<(), Trouble> {
        let at = number(event, "/index");
        match text(event, "type").unwrap_or_default() {
            "message_start" => {
                if let Some(usage) = event.pointer("/message/usage") {
                    self.count(usage, deltas);
                }
            }
            "content_block_start" => {
                if let Some(block) = event.get("content_block") {
                    self.begin(at, block, deltas);
                }
            }
            "content_block_delta" => {
                let part = event.get("delta").unwrap_or(&Value::Null);
                match text(part, "type") {
                    Some("text_delta") => words(part, "text", Delta::Text, deltas),
                    Some("thinking_delta") => words(part, "thinking", Delta::Reasoning, deltas),
                    Some("input_json_delta") => self.arguments(at, part, deltas),
                    _ => {}
                }
                self.own_piece(at, part)?;
            }
            "content_block_stop" => self.close(at, deltas),
            "message_delta" => {
                let mut told = event.get("delta").cloned().unwrap_or_default();
                if let Value::Object(told) = &mut told {
                    told.extend(others(event, &["type", "delta", "usage"]));
                }
                self.ended(&told, deltas);
                if let Some(usage) = event.get("usage") {
                    self.count(usage, deltas);
                }
            }
            "message_stop" => self.is_over = true,
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, answer: &Value, deltas: &mut Vec<Delta>) -> Result<(), Trouble> {
        let blocks = answer.get("content").and_then(Value::as_array);
        for (at, block) in (0..).zip(blocks.into_iter().flatten()) {
            self.begin(at, block, deltas);
            self.close(at, deltas);
        }
        if let Some(usage) = answer.get("usage") {
            self.count(usage, deltas);
        }
        self.ended(answer, deltas);
        self.is_over = true;
        self.end(deltas);
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn end(&mut self, deltas: &mut Vec<Delta>) {
        if let Some(reason) = self.finish.take().filter(|_| self.is_over) {
            deltas.push(Delta::Finish(reason));
        }
    }
}
