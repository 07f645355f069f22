//! Ollama's own API: JSON by the line.

use ptk_protocol::Image;
use serde_json::{Map, Value, json};

use super::{Framing, Reading, Trouble, Wire, arguments, json_bytes, openai, text, usage};
use crate::{Delta, FinishReason, Message, Request, ResponseFormat, ToolChoice};

/// The wire format of Ollama's own API.
#[derive(Debug)]
pub(super) struct Ollama;

impl Wire for Ollama {
    fn tails(&self) -> &'static [&'static str] {
        &["/api/chat", "/api", "/v1"]
    }

    fn request(&self, request: &Request, model: &str) -> (String, Vec<u8>) {
        let system = request.system.iter();
        let system = system.map(|text| json!({"role": "system", "content": text}));
        let messages: Vec<Value> = system.chain(request.turns().map(message)).collect();
        let mut body = Map::new();
        body.insert("model".to_owned(), json!(model));
        body.insert("messages".to_owned(), json!(messages));
        body.insert("stream".to_owned(), json!(true));
        // A prompt that does not fit is an error, instead of being truncated
        // silently.
        body.insert("truncate".to_owned(), json!(false));
        // It has no way to forbid calls, so it is offered no tools then.
        if !request.tools.is_empty() && request.tool_choice != ToolChoice::None {
            body.insert("tools".to_owned(), openai::tools(&request.tools));
        }
        match &request.format {
            ResponseFormat::Json => {
                body.insert("format".to_owned(), json!("json"));
            }
            ResponseFormat::Schema(schema) => {
                body.insert("format".to_owned(), schema.clone());
            }
            ResponseFormat::Text
            | ResponseFormat::Grammar(_)
            | ResponseFormat::StructuralTag(_) => {}
        }
        let mut options = Map::new();
        let mut put = |name: &str, value: Value| {
            if !value.is_null() {
                options.insert(name.to_owned(), value);
            }
        };
        put("temperature", json!(request.sampling.temperature));
        put("top_p", json!(request.sampling.top_p));
        put("top_k", json!(request.sampling.top_k));
        put("seed", json!(request.sampling.seed));
        put("num_predict", json!(request.max_tokens));
        put("num_ctx", json!(request.context_window));
        if !request.stop.is_empty() {
            put("stop", json!(request.stop));
        }
        if !options.is_empty() {
            body.insert("options".to_owned(), Value::Object(options));
        }
        ("/api/chat".to_owned(), json_bytes(&Value::Object(body)))
    }

    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn reading(&self, _request: &Request) -> Box<dyn Reading> {
        Box::<LineReading>::default()
    }
}

fn message(message: &Message) -> Value {
    match message {
        Message::System(text) => json!({"role": "system", "content": text}),
        Message::User { text, images } if images.is_empty() => {
            json!({"role": "user", "content": text})
        }
        Message::User { text, images } => {
            let images: Vec<&str> = images.iter().map(Image::base64).collect();
            json!({"role": "user", "content": text, "images": images})
        }
        Message::Assistant { text, calls, .. } if calls.is_empty() => {
            json!({"role": "assistant", "content": text})
        }
        Message::Assistant { text, calls, .. } => {
            let calls = calls.iter().map(|call| {
                json!({"id": call.id, "function": {
                    "name": call.name,
                    "arguments": call.args.as_map(),
                }})
            });
            let calls: Vec<Value> = calls.collect();
            json!({"role": "assistant", "content": text, "tool_calls": calls})
        }
        Message::Result { id, name, text, .. } => {
            json!({"role": "tool", "tool_name": name, "tool_call_id": id, "content": text})
        }
    }
}

/// Parses the lines of a reply.
#[derive(Debug, Default)]
struct LineReading {
    calls: usize,
    finish: Option<FinishReason>,
}

impl LineReading {
    fn call(&mut self, call: &Value, deltas: &mut Vec<Delta>) {
        let function = call.get("function").unwrap_or(call);
        let index = self.calls;
        self.calls += 1;
        let id = text(call, "id").filter(|id| !id.is_empty());
        deltas.push(Delta::CallStart {
            index,
            id: id.map(str::to_owned),
            name: text(function, "name").unwrap_or_default().to_owned(),
        });
        let json = arguments(function.get("arguments").unwrap_or(&Value::Null));
        if !json.is_empty() {
            deltas.push(Delta::Arguments { index, json });
        }
        deltas.push(Delta::CallEnd { index });
    }
}

impl Reading for LineReading {
    fn event(&mut self, event: &Value, deltas: &mut Vec<Delta>) -> Result<(), Trouble> {
        if let Some(message) = event.get("message") {
            let words = |name| text(message, name).filter(|words: &&str| !words.is_empty());
            deltas.extend(words("thinking").map(|it| Delta::Reasoning(it.to_owned())));
            deltas.extend(words("content").map(|it| Delta::Text(it.to_owned())));
            let calls = message.get("tool_calls").and_then(Value::as_array);
            for call in calls.into_iter().flatten() {
                self.call(call, deltas);
            }
        }
        if event.get("done") == Some(&Value::Bool(true)) {
            deltas.push(Delta::Usage(usage::of_line(event)));
            // Older servers send no reason.
            let reason = text(event, "done_reason").filter(|reason| !reason.is_empty());
            self.finish = Some(match reason.unwrap_or("stop") {
                "stop" if self.calls > 0 => FinishReason::ToolCalls,
                reason => FinishReason::from(reason),
            });
        }
        Ok(())
    }

    fn whole(&mut self, answer: &Value, deltas: &mut Vec<Delta>) -> Result<(), Trouble> {
        self.event(answer, deltas)?;
        self.end(deltas);
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.finish.is_some()
    }

    fn end(&mut self, deltas: &mut Vec<Delta>) {
        deltas.extend(self.finish.take().map(Delta::Finish));
    }
}
