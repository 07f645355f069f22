//! Google's Gemini API, as used with keys of AI Studio.

use serde_json::{Map, Value, json};

use super::{Reading, Trouble, Wire, error_in, json_bytes, text, turns, usage};
use crate::{Delta, FinishReason, Message, Request, ResponseFormat, ToolChoice};

/// The wire format of Google's Gemini API.
#[derive(Debug)]
pub(super) struct Gemini;

/// Values that mean that there is no reason yet.
const UNSAID: [&str; 2] = ["", "FINISH_REASON_UNSPECIFIED"];

impl Wire for Gemini {
    fn request(&self, request: &Request, model: &str) -> (String, Vec<u8>) {
        let mut body = Map::new();
        let contents: Vec<Value> = contents(request.turns());
        body.insert("contents".to_owned(), json!(contents));
        if let Some(system) = &request.system {
            let system = json!({"parts": [{"text": system}]});
            body.insert("systemInstruction".to_owned(), system);
        }
        if !request.tools.is_empty() {
            let tools = request.tools.iter().map(|tool| {
                json!({
                    "name": tool.name,
                    "description": tool.description,
                    // Its own schema format does not support much of JSON
                    // Schema: several types, references, `oneOf`.
                    "parametersJsonSchema": tool.parameters,
                })
            });
            let tools: Vec<Value> = tools.collect();
            body.insert("tools".to_owned(), json!([{"functionDeclarations": tools}]));
            body.insert("toolConfig".to_owned(), choice(&request.tool_choice));
        }
        let mut settings = Map::new();
        let mut put = |name: &str, value: Value| {
            if !value.is_null() {
                settings.insert(name.to_owned(), value);
            }
        };
        put("temperature", json!(request.sampling.temperature));
        put("topP", json!(request.sampling.top_p));
        put("topK", json!(request.sampling.top_k));
        put("seed", json!(request.sampling.seed));
        put("maxOutputTokens", json!(request.max_tokens));
        if !request.stop.is_empty() {
            put("stopSequences", json!(request.stop));
        }
        match &request.format {
            ResponseFormat::Json => put("responseMimeType", json!("application/json")),
            ResponseFormat::Schema(schema) => {
                put("responseMimeType", json!("application/json"));
                put("responseJsonSchema", schema.clone());
            }
            ResponseFormat::Text
            | ResponseFormat::Grammar(_)
            | ResponseFormat::StructuralTag(_) => {}
        }
        if !settings.is_empty() {
            body.insert("generationConfig".to_owned(), Value::Object(settings));
        }
        let model = model.strip_prefix("models/").unwrap_or(model);
        let path = format!("/models/{model}:streamGenerateContent?alt=sse");
        (path, json_bytes(&Value::Object(body)))
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("x-goog-api-key", "")
    }

    fn reading(&self, _request: &Request) -> Box<dyn Reading> {
        Box::<ContentReading>::default()
    }
}

/// The conversation: turns of user and model.
fn contents<'m>(messages: impl Iterator<Item = &'m Message>) -> Vec<Value> {
    turns(messages, parts)
        .map(|(role, parts)| json!({"role": role, "parts": parts}))
        .collect()
}

fn parts(message: &Message) -> (&'static str, Vec<Value>) {
    let words = |text: &str| {
        let part = (!text.is_empty()).then(|| json!({"text": text}));
        part.into_iter().collect::<Vec<_>>()
    };
    match message {
        Message::System(text) => ("user", words(text)),
        Message::User { text, images } => {
            let images = images.iter().map(|image| {
                json!({"inlineData": {
                    "mimeType": image.media_type(),
                    "data": image.base64(),
                }})
            });
            ("user", images.chain(words(text)).collect())
        }
        // The state that the server wants back is its own parts, word for word.
        Message::Assistant {
            state: Some(Value::Array(parts)),
            ..
        } => ("model", parts.clone()),
        Message::Assistant { text, calls, .. } => {
            let mut parts = words(text);
            parts.extend(calls.iter().map(
                |call| json!({"functionCall": {"name": call.name, "args": call.args.as_map()}}),
            ));
            ("model", parts)
        }
        Message::Result {
            name,
            text,
            is_error,
            ..
        } => {
            let field = if *is_error { "error" } else { "output" };
            let part = json!({"functionResponse": {"name": name, "response": {field: text}}});
            ("user", vec![part])
        }
    }
}

fn choice(choice: &ToolChoice) -> Value {
    let config = match choice {
        ToolChoice::Auto => json!({"mode": "AUTO"}),
        ToolChoice::None => json!({"mode": "NONE"}),
        ToolChoice::Required => json!({"mode": "ANY"}),
        ToolChoice::Tool(name) => json!({"mode": "ANY", "allowedFunctionNames": [name]}),
    };
    json!({"functionCallingConfig": config})
}

/// Parses the pieces of a content.
#[derive(Debug, Default)]
struct ContentReading {
    calls: usize,
    /// All parts, if one of them is signed: the server wants them back.
    parts: Vec<Value>,
    is_signed: bool,
    finish: Option<FinishReason>,
}

impl ContentReading {
    fn part(&mut self, part: &Value, deltas: &mut Vec<Delta>) {
        self.is_signed |= part.get("thoughtSignature").is_some();
        self.parts.push(part.clone());
        let is_thought = part.get("thought") == Some(&Value::Bool(true));
        if let Some(words) = text(part, "text").filter(|words| !words.is_empty()) {
            deltas.push(if is_thought {
                Delta::Reasoning(words.to_owned())
            } else {
                Delta::Text(words.to_owned())
            });
        }
        if let Some(call) = part.get("functionCall") {
            let index = self.calls;
            self.calls += 1;
            deltas.push(Delta::CallStart {
                index,
                id: text(call, "id").map(str::to_owned),
                name: text(call, "name").unwrap_or_default().to_owned(),
            });
            let args = call.get("args").filter(|args| !args.is_null());
            let json = args.map_or_else(|| "{}".to_owned(), Value::to_string);
            deltas.push(Delta::Arguments { index, json });
            deltas.push(Delta::CallEnd { index });
        }
    }
}

fn finish(reason: &str) -> FinishReason {
    match reason {
        "STOP" => FinishReason::Stop,
        "MAX_TOKENS" => FinishReason::Length,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE" => {
            FinishReason::ContentFilter
        }
        reason => FinishReason::Other(reason.to_lowercase()),
    }
}

impl Reading for ContentReading {
    fn event(&mut self, event: &Value, deltas: &mut Vec<Delta>) -> Result<(), Trouble> {
        if let Some(blocked) = event.pointer("/promptFeedback/blockReason") {
            tracing::debug!(%blocked, "the prompt was blocked");
            self.finish = Some(FinishReason::ContentFilter);
        }
        let parts = event.pointer("/candidates/0/content/parts");
        for part in parts.and_then(Value::as_array).into_iter().flatten() {
            self.part(part, deltas);
        }
        let reason = event.pointer("/candidates/0/finishReason");
        let reason = reason.and_then(Value::as_str);
        if let Some(reason) = reason.filter(|reason| !UNSAID.contains(reason)) {
            self.finish = Some(finish(reason));
        }
        if let Some(usage) = event.get("usageMetadata") {
            deltas.push(Delta::Usage(usage::of_content(usage)));
        }
        Ok(())
    }

    fn whole(&mut self, answer: &Value, deltas: &mut Vec<Delta>) -> Result<(), Trouble> {
        let events = match answer {
            Value::Array(events) => events.as_slice(),
            answer => std::slice::from_ref(answer),
        };
        for event in events {
            if let Some(trouble) = error_in(event) {
                return Err(trouble);
            }
            self.event(event, deltas)?;
        }
        self.end(deltas);
        Ok(())
    }

    fn has_ended(&self) -> bool {
        self.finish.is_some()
    }

    fn end(&mut self, deltas: &mut Vec<Delta>) {
        if self.is_signed {
            deltas.push(Delta::State(Value::Array(std::mem::take(&mut self.parts))));
        }
        if let Some(reason) = self.finish.take() {
            let reason = match reason {
                FinishReason::Stop if self.calls > 0 => FinishReason::ToolCalls,
                reason => reason,
            };
            deltas.push(Delta::Finish(reason));
        }
    }
}
