//! Chat completions, as OpenAI has them and most servers understand them.

use std::collections::BTreeSet;

use reqwest::RequestBuilder;
use serde_json::{Map, Value, json};

use super::{Key, Reading, Trouble, Wire, arguments, number, text};
use crate::{Delta, FinishReason, Message, Request, ResponseFormat, ToolChoice, Usage};

/// Chat completions.
#[derive(Debug, Default)]
pub(super) struct OpenAi {
    /// Whether it is OpenAI itself, which takes no settings that only others
    /// know.
    is_itself: bool,
}

impl OpenAi {
    pub(super) const fn itself() -> Self {
        Self { is_itself: true }
    }
}

impl Wire for OpenAi {
    fn request(&self, request: &Request, model: &str) -> (String, Value) {
        let system = request.system.iter();
        let system = system.map(|text| json!({"role": "system", "content": text}));
        let messages: Vec<Value> = system.chain(request.messages.iter().map(message)).collect();
        let mut body = Map::new();
        let mut put = |name: &str, value: Value| {
            if !value.is_null() {
                body.insert(name.to_owned(), value);
            }
        };
        put("model", json!(model));
        put("messages", json!(messages));
        put("stream", json!(true));
        put("stream_options", json!({"include_usage": true}));
        if !request.tools.is_empty() {
            let tools = request.tools.iter().map(|tool| {
                json!({"type": "function", "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                }})
            });
            put("tools", tools.collect());
            put("tool_choice", choice(&request.tool_choice));
        }
        let sampling = request.sampling;
        put("temperature", json!(sampling.temperature));
        put("top_p", json!(sampling.top_p));
        put("seed", json!(sampling.seed));
        let limit = if self.is_itself {
            "max_completion_tokens"
        } else {
            "max_tokens"
        };
        put(limit, json!(request.max_tokens));
        if !request.stop.is_empty() {
            put("stop", json!(request.stop));
        }
        if !self.is_itself {
            put("top_k", json!(sampling.top_k));
        }
        match &request.format {
            ResponseFormat::Text => {}
            ResponseFormat::Json => put("response_format", json!({"type": "json_object"})),
            ResponseFormat::Schema(schema) => put(
                "response_format",
                json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}),
            ),
            ResponseFormat::Grammar(grammar) => put("grammar", json!(grammar)),
        }
        ("/chat/completions".to_owned(), Value::Object(body))
    }

    fn with_key(&self, request: RequestBuilder, key: &Key) -> RequestBuilder {
        request.bearer_auth(key.as_str())
    }

    fn reading(&self) -> Box<dyn Reading> {
        Box::<ChatReading>::default()
    }
}

fn message(message: &Message) -> Value {
    match message {
        Message::System(text) => json!({"role": "system", "content": text}),
        Message::User(text) => json!({"role": "user", "content": text}),
        Message::Assistant { text, calls, .. } if calls.is_empty() => {
            json!({"role": "assistant", "content": text})
        }
        Message::Assistant { text, calls, .. } => {
            let calls = calls.iter().map(|call| {
                json!({"id": call.id, "type": "function", "function": {
                    "name": call.name,
                    "arguments": call.args.to_json(),
                }})
            });
            let calls: Vec<Value> = calls.collect();
            let text = (!text.is_empty()).then_some(text);
            json!({"role": "assistant", "content": text, "tool_calls": calls})
        }
        Message::Result { id, text, .. } => {
            json!({"role": "tool", "tool_call_id": id, "content": text})
        }
    }
}

fn choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Tool(name) => json!({"type": "function", "function": {"name": name}}),
    }
}

/// Reads chunks of a chat completion.
#[derive(Debug, Default)]
struct ChatReading {
    /// Calls that have begun, by their indices.
    begun: BTreeSet<usize>,
    finish: Option<FinishReason>,
}

impl ChatReading {
    /// What is in a chunk's delta, or in a whole message.
    fn part(&mut self, part: &Value, deltas: &mut Vec<Delta>) {
        let thoughts = text(part, "reasoning_content").or_else(|| text(part, "reasoning"));
        if let Some(thoughts) = thoughts.filter(|it| !it.is_empty()) {
            deltas.push(Delta::Reasoning(thoughts.to_owned()));
        }
        let words = text(part, "content").or_else(|| text(part, "refusal"));
        if let Some(words) = words.filter(|it| !it.is_empty()) {
            deltas.push(Delta::Text(words.to_owned()));
        }
        let calls = part.get("tool_calls").and_then(Value::as_array);
        for (position, call) in calls.into_iter().flatten().enumerate() {
            self.call(position, call, deltas);
        }
    }

    fn call(&mut self, position: usize, call: &Value, deltas: &mut Vec<Delta>) {
        let function = call.get("function").unwrap_or(call);
        let name = text(function, "name").unwrap_or_default();
        let index = call.get("index").and_then(Value::as_u64);
        let index = index.and_then(|index| usize::try_from(index).ok());
        // Some servers leave the index out: a name begins another call.
        let index = index.unwrap_or_else(|| match self.begun.last() {
            Some(last) if name.is_empty() => *last,
            Some(last) => last + 1,
            None => position,
        });
        if self.begun.insert(index) {
            deltas.push(Delta::CallStart {
                index,
                id: text(call, "id")
                    .filter(|id| !id.is_empty())
                    .map(str::to_owned),
                name: name.to_owned(),
            });
        }
        let json = arguments(function.get("arguments").unwrap_or(&Value::Null));
        if !json.is_empty() {
            deltas.push(Delta::Arguments { index, json });
        }
    }

    fn take(&mut self, answer: &Value, name: &str, deltas: &mut Vec<Delta>) {
        if let Some(choice) = answer.pointer("/choices/0") {
            if let Some(part) = choice.get(name) {
                self.part(part, deltas);
            }
            if let Some(reason) = text(choice, "finish_reason") {
                self.finish = Some(finish(reason));
            }
        }
        let usage = answer.get("usage").filter(|usage| usage.is_object());
        if let Some(usage) = usage {
            deltas.push(Delta::Usage(Usage {
                input_tokens: number(usage, "/prompt_tokens"),
                cached_tokens: number(usage, "/prompt_tokens_details/cached_tokens"),
                output_tokens: number(usage, "/completion_tokens"),
                reasoning_tokens: number(usage, "/completion_tokens_details/reasoning_tokens"),
            }));
        }
    }
}

fn finish(reason: &str) -> FinishReason {
    match reason {
        // The older name.
        "function_call" => FinishReason::ToolCalls,
        "eos" | "end_turn" => FinishReason::Stop,
        reason => FinishReason::from(reason),
    }
}

impl Reading for ChatReading {
    fn event(&mut self, event: &Value, deltas: &mut Vec<Delta>) -> Result<(), Trouble> {
        self.take(event, "delta", deltas);
        Ok(())
    }

    fn whole(&mut self, answer: &Value, deltas: &mut Vec<Delta>) -> Result<(), Trouble> {
        self.take(answer, "message", deltas);
        self.end(deltas);
        Ok(())
    }

    fn end(&mut self, deltas: &mut Vec<Delta>) {
        for index in std::mem::take(&mut self.begun) {
            deltas.push(Delta::CallEnd { index });
        }
        // Without a reason it broke off, whatever it said so far.
        if let Some(reason) = self.finish.take() {
            deltas.push(Delta::Finish(reason));
        }
    }
}
