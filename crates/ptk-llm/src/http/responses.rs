//! OpenAI's responses API: text, reasoning and calls as a list of items.

use std::collections::BTreeMap;

use ptk_protocol::Image;
use serde_json::{Map, Value, json};

use super::schema::is_strict;
use super::{
    Reading, Trouble, Wire, arguments, forwarded, json_bytes, named_status, number, others, text,
    usage,
};
use crate::{
    Api, Delta, FinishReason, Message, Passthrough, Request, ResponseFormat, ToolChoice,
    qualified_name,
};

/// The path of the endpoint.
const PATH: &str = "/responses";
/// The key under which its items are kept, so that they are not sent to other
/// servers.
const ITEMS: &str = "openai_responses";
/// Models without reasoning, which reject requests for it.
const THOUGHTLESS: [&str; 3] = ["gpt-3", "gpt-4", "chatgpt-"];

/// Fields of a response that are read; all others are passed through.
const ANSWER: [&str; 9] = [
    "id",
    "object",
    "created_at",
    "status",
    "error",
    "incomplete_details",
    "output",
    "usage",
    "model",
];

/// The wire format of OpenAI's responses API.
#[derive(Debug)]
pub(super) struct Responses;

impl Wire for Responses {
    fn tails(&self) -> &'static [&'static str] {
        &["/responses"]
    }

    fn speaks(&self) -> Option<Api> {
        Some(Api::Responses)
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
        put("instructions", json!(request.system));
        put("input", request.turns().flat_map(items).collect());
        put("stream", json!(true));
        // The conversation is kept here, and its reasoning comes with it.
        put("store", json!(false));
        if thinks(model) {
            put("include", json!(["reasoning.encrypted_content"]));
        }
        if !request.tools.is_empty() {
            let tools = request.tools.iter().map(|tool| {
                json!({
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                    "strict": false,
                })
            });
            put("tools", tools.collect());
            put("tool_choice", choice(&request.tool_choice));
        }
        put("temperature", json!(request.sampling.temperature));
        put("top_p", json!(request.sampling.top_p));
        put("max_output_tokens", json!(request.max_tokens));
        match &request.format {
            ResponseFormat::Text
            | ResponseFormat::Grammar(_)
            | ResponseFormat::StructuralTag(_) => {}
            ResponseFormat::Json => put("text", json!({"format": {"type": "json_object"}})),
            ResponseFormat::Schema(schema) => {
                let format = json!({
                    "type": "json_schema",
                    "name": "answer",
                    "schema": schema,
                    "strict": is_strict(schema),
                });
                put("text", json!({"format": format}));
            }
        }
        (PATH.to_owned(), json_bytes(&Value::Object(body)))
    }

    fn reading(&self, request: &Request) -> Box<dyn Reading> {
        Box::new(ItemReading {
            is_forwarded: request.verbatim.is_some(),
            ..ItemReading::default()
        })
    }
}

fn thinks(model: &str) -> bool {
    // `gpt-5-chat-latest` and the like have no reasoning, either.
    !THOUGHTLESS.iter().any(|name| model.starts_with(name)) && !model.contains("-chat")
}

fn choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Tool(name) => json!({"type": "function", "name": name}),
    }
}

/// The items of a message.
fn items(message: &Message) -> Vec<Value> {
    let said = |role: &str, text: &str| json!({"role": role, "content": text});
    match message {
        Message::System(text) => vec![said("system", text)],
        Message::User { text, images } if images.is_empty() => vec![said("user", text)],
        Message::User { text, images } => {
            let images = images.iter().map(Image::to_url);
            let images = images.map(|url| json!({"type": "input_image", "image_url": url}));
            let text = json!({"type": "input_text", "text": text});
            let parts: Vec<Value> = images.chain([text]).collect();
            vec![json!({"type": "message", "role": "user", "content": parts})]
        }
        Message::Result { id, text, .. } => {
            vec![json!({"type": "function_call_output", "call_id": id, "output": text})]
        }
        Message::Assistant { text, calls, state } => {
            let mut words = (!text.is_empty())
                .then(|| said("assistant", text))
                .into_iter();
            let mut calls = calls.iter().map(|call| {
                json!({
                    "type": "function_call",
                    "call_id": call.id,
                    "name": call.name,
                    "arguments": call.args.to_json(),
                })
            });
            // Reasoning stands before what follows from it, word for word; the
            // rest is sent as it was logged.
            let kept = state
                .as_ref()
                .and_then(|state| state.get(ITEMS)?.as_array());
            let mut items: Vec<Value> = Vec::new();
            for item in kept.into_iter().flatten() {
                match self::text(item, "type") {
                    Some("message") => items.extend(words.next()),
                    Some("function_call") => items.extend(calls.next()),
                    _ => items.push(item.clone()),
                }
            }
            items.extend(words);
            items.extend(calls);
            items
        }
    }
}

/// Parses the events of a response.
#[derive(Debug, Default)]
struct ItemReading {
    /// The state of each item, by its index.
    items: BTreeMap<usize, Item>,
    /// The ids of items, where their indices are left out.
    ids: Vec<String>,
    calls: usize,
    finish: Option<FinishReason>,
    /// Whether a client wrote the request, and gets the whole answer.
    is_forwarded: bool,
}

/// The state of an item.
#[derive(Debug, Default)]
struct Item {
    /// Whether its beginning was seen.
    has_begun: bool,
    /// The index of the call, if it is one.
    call: Option<usize>,
    /// Whether a part of it has been passed on.
    is_told: bool,
    /// The item that is sent back in its place.
    kept: Option<Value>,
}

impl ItemReading {
    fn item(&mut self, at: usize) -> &mut Item {
        self.items.entry(at).or_default()
    }

    /// The index of the item that an event is about.
    fn place(&mut self, event: &Value) -> usize {
        if let Some(at) = event.get("output_index").and_then(Value::as_u64) {
            return usize::try_from(at).unwrap_or(usize::MAX);
        }
        let id = event.pointer("/item/id").and_then(Value::as_str);
        let Some(id) = id.or_else(|| text(event, "item_id")) else {
            return self.ids.len().saturating_sub(1);
        };
        let known = self.ids.iter().position(|known| known == id);
        known.unwrap_or_else(|| {
            self.ids.push(id.to_owned());
            self.ids.len() - 1
        })
    }

    /// Passes on further text of an item.
    fn words(
        &mut self,
        at: usize,
        event: &Value,
        delta: fn(String) -> Delta,
        deltas: &mut Vec<Delta>,
    ) {
        if let Some(words) = text(event, "delta").filter(|words| !words.is_empty()) {
            self.item(at).is_told = true;
            deltas.push(delta(words.to_owned()));
        }
    }

    /// Passes on further text of a call's arguments.
    fn arguments(&mut self, at: usize, json: Option<&Value>, deltas: &mut Vec<Delta>) {
        let json = arguments(json.unwrap_or(&Value::Null));
        let item = self.item(at);
        if let Some(index) = item.call.filter(|_| !json.is_empty()) {
            item.is_told = true;
            deltas.push(Delta::Arguments { index, json });
        }
    }

    /// Begins an item.
    fn begin(&mut self, at: usize, item: &Value, deltas: &mut Vec<Delta>) {
        let kind = text(item, "type").unwrap_or_default();
        if std::mem::replace(&mut self.item(at).has_begun, true) {
            return;
        }
        if let Some(id) = text(item, "id").filter(|_| self.is_forwarded) {
            deltas.push(Delta::Passthrough(Passthrough::Id {
                kind: kind.to_owned(),
                id: id.to_owned(),
            }));
        }
        if !matches!(kind, "function_call" | "custom_tool_call") {
            return;
        }
        let index = self.calls;
        self.calls += 1;
        self.item(at).call = Some(index);
        let id = text(item, "call_id").or_else(|| text(item, "id"));
        deltas.push(Delta::CallStart {
            index,
            id: id.map(str::to_owned),
            name: match (
                text(item, "namespace"),
                text(item, "name").unwrap_or_default(),
            ) {
                (Some(namespace), name) => qualified_name(namespace, name),
                (None, name) => name.to_owned(),
            },
        });
    }

    /// Ends an item. If nothing of it was passed on before, all of it is now.
    fn done(&mut self, at: usize, item: &Value, deltas: &mut Vec<Delta>) {
        self.begin(at, item, deltas);
        let is_told = self.item(at).is_told;
        let parts = |name: &str| {
            let parts = item.get(name).and_then(Value::as_array);
            parts.into_iter().flatten().filter(|_| !is_told)
        };
        let words = |part: &Value, name: &str| text(part, name).map(str::to_owned);
        let kept = match text(item, "type").unwrap_or_default() {
            "function_call" => {
                let rest = item.get("arguments").filter(|_| !is_told);
                self.arguments(at, rest, deltas);
                deltas.extend(self.item(at).call.map(|index| Delta::CallEnd { index }));
                json!({"type": "function_call"})
            }
            "custom_tool_call" => {
                let input = json!({"input": text(item, "input").unwrap_or_default()});
                self.arguments(at, Some(&input), deltas);
                deltas.extend(self.item(at).call.map(|index| Delta::CallEnd { index }));
                json!({"type": "function_call"})
            }
            "message" => {
                deltas.extend(parts("content").filter_map(|part| {
                    let words = words(part, "text").or_else(|| words(part, "refusal"));
                    words.map(Delta::Text)
                }));
                if self.is_forwarded {
                    deltas.push(Delta::Passthrough(Passthrough::Part(item.clone())));
                }
                json!({"type": "message"})
            }
            "reasoning" => {
                let thoughts = parts("summary").chain(parts("content"));
                let thoughts = thoughts.filter_map(|part| words(part, "text"));
                deltas.extend(thoughts.map(Delta::Reasoning));
                if self.is_forwarded {
                    deltas.push(Delta::Passthrough(Passthrough::Part(item.clone())));
                }
                item.clone()
            }
            // Items of the server's own tools, passed on only to clients that
            // wrote the request themselves.
            _ if self.is_forwarded => {
                deltas.push(Delta::Passthrough(Passthrough::Part(item.clone())));
                return;
            }
            _ => return,
        };
        self.item(at).kept = Some(kept);
    }

    /// Ends the response.
    fn over(
        &mut self,
        response: &Value,
        status: &str,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), Trouble> {
        // A stream repeats its items here; a whole response has them only here.
        let output = response.get("output").and_then(Value::as_array);
        let output = output.filter(|_| self.items.is_empty());
        for (at, item) in output.into_iter().flatten().enumerate() {
            self.done(at, item, deltas);
        }
        deltas.extend(usage::of_response(response).map(Delta::Usage));
        if self.is_forwarded {
            deltas.push(Delta::Passthrough(Passthrough::Fields {
                answer: others(response, &ANSWER),
                choice: Map::new(),
                message: Map::new(),
            }));
        }
        let reason = response.pointer("/incomplete_details/reason");
        self.finish = match text(response, "status").unwrap_or(status) {
            "completed" if self.calls > 0 => Some(FinishReason::ToolCalls),
            "completed" => Some(FinishReason::Stop),
            "incomplete" => Some(match reason.and_then(Value::as_str) {
                Some("max_output_tokens" | "max_tokens") => FinishReason::Length,
                reason => FinishReason::from(reason.unwrap_or("incomplete")),
            }),
            "failed" | "cancelled" => return Err(failed(response)),
            _ => None,
        };
        Ok(())
    }
}

/// The error of a failed response.
fn failed(response: &Value) -> Trouble {
    let error = response.get("error").filter(|error| !error.is_null());
    let error = error.unwrap_or(response);
    Trouble::Error {
        status: text(error, "code").and_then(named_status),
        message: text(error, "message").unwrap_or_default().to_owned(),
    }
}

impl Reading for ItemReading {
    fn event(&mut self, event: &Value, deltas: &mut Vec<Delta>) -> Result<(), Trouble> {
        let item = event.get("item").unwrap_or(&Value::Null);
        let at = self.place(event);
        match text(event, "type").unwrap_or_default() {
            "response.output_item.added" => self.begin(at, item, deltas),
            "response.output_item.done" => self.done(at, item, deltas),
            "response.output_text.delta" | "response.refusal.delta" => {
                self.words(at, event, Delta::Text, deltas);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.words(at, event, Delta::Reasoning, deltas);
            }
            // Reasoning comes in paragraphs.
            "response.reasoning_summary_part.added" if number(event, "/summary_index") > 0 => {
                deltas.push(Delta::Reasoning("\n\n".to_owned()));
            }
            "response.function_call_arguments.delta" => {
                self.arguments(at, event.get("delta"), deltas);
            }
            "response.function_call_arguments.done" if !self.item(at).is_told => {
                self.arguments(at, event.get("arguments"), deltas);
            }
            kind @ ("response.completed" | "response.incomplete" | "response.failed") => {
                let response = event.get("response").unwrap_or(&Value::Null);
                let status = kind.trim_start_matches("response.");
                self.over(response, status, deltas)?;
            }
            "error" => return Err(failed(event)),
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, answer: &Value, deltas: &mut Vec<Delta>) -> Result<(), Trouble> {
        self.over(answer, "", deltas)?;
        self.end(deltas);
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.finish.is_some()
    }

    fn end(&mut self, deltas: &mut Vec<Delta>) {
        let kept: Vec<Value> = std::mem::take(&mut self.items)
            .into_values()
            .filter_map(|item| item.kept)
            .collect();
        let has_thoughts = kept
            .iter()
            .any(|item| text(item, "type") == Some("reasoning"));
        if let Some(reason) = self.finish.take() {
            if has_thoughts {
                deltas.push(Delta::State(json!({ITEMS: kept})));
            }
            deltas.push(Delta::Finish(reason));
        }
    }
}
