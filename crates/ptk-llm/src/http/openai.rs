//! The chat completions API, which OpenAI has and most servers support.

use std::borrow::Cow;

use ptk_protocol::{Image, ToolCall, Toolset};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use super::schema::is_strict;
use super::{
    Grammar, Reading, Trouble, Wire, arguments, finish, forwarded, json_bytes, others, put, text,
    usage,
};
use crate::{Api, Delta, FinishReason, Message, Passthrough, Request, ResponseFormat, ToolChoice};

/// The path of the endpoint.
const PATH: &str = "/chat/completions";

/// The most stop sequences that OpenAI accepts.
const MAX_STOPS: usize = 4;

/// The wire format of chat completions.
#[derive(Debug)]
pub(super) struct OpenAi {
    /// Whether it is OpenAI itself, which rejects settings that only other
    /// servers know.
    pub(super) is_itself: bool,
    pub(super) grammar: Grammar,
}

impl Wire for OpenAi {
    fn tails(&self) -> &'static [&'static str] {
        &["/chat/completions"]
    }

    fn speaks(&self) -> Option<Api> {
        Some(Api::ChatCompletions)
    }

    fn request(&self, request: &Request, model: &str) -> (String, Vec<u8>) {
        if let Some(mut body) = forwarded(request, model) {
            body.remove("stream_options");
            if !request.whole {
                body.insert("stream_options".to_owned(), json!({"include_usage": true}));
            }
            return (PATH.to_owned(), json_bytes(&Value::Object(body)));
        }
        let mut body = Map::new();
        let mut say = |name: &str, value: Value| {
            if !value.is_null() {
                body.insert(name.to_owned(), value);
            }
        };
        if !request.whole {
            say("stream", json!(true));
            say("stream_options", json!({"include_usage": true}));
        }
        if !request.tools.is_empty() {
            say("tools", tools(&request.tools));
            say("tool_choice", choice(&request.tool_choice));
        }
        let sampling = request.sampling;
        say("temperature", json!(sampling.temperature));
        say("top_p", json!(sampling.top_p));
        say("seed", json!(sampling.seed));
        let limit = if self.is_itself {
            "max_completion_tokens"
        } else {
            "max_tokens"
        };
        say(limit, json!(request.max_tokens));
        let stops = self.stops(request, model);
        if !stops.is_empty() {
            say("stop", json!(stops));
        }
        if !self.is_itself {
            say("top_k", json!(sampling.top_k));
        }
        match &request.format {
            format if self.grammar == Grammar::Vllm => say("structured_outputs", vllm(format)),
            ResponseFormat::Json => say("response_format", json!({"type": "json_object"})),
            // The one format that all servers of its kind accept.
            ResponseFormat::Schema(schema) if self.grammar == Grammar::LlamaCpp => {
                let format = json!({"type": "json_object", "schema": schema});
                say("response_format", format);
            }
            ResponseFormat::Schema(schema) => {
                let schema =
                    json!({"name": "answer", "schema": schema, "strict": is_strict(schema)});
                let format = json!({"type": "json_schema", "json_schema": schema});
                say("response_format", format);
            }
            ResponseFormat::Grammar(grammar) if self.grammar == Grammar::LlamaCpp => {
                say("grammar", json!(grammar));
            }
            ResponseFormat::Grammar(grammar) if self.grammar == Grammar::Sglang => {
                say("ebnf", json!(grammar));
            }
            ResponseFormat::StructuralTag(tag) if self.grammar == Grammar::Sglang => {
                say("response_format", tag.clone());
            }
            ResponseFormat::Text
            | ResponseFormat::Grammar(_)
            | ResponseFormat::StructuralTag(_) => {}
        }
        (PATH.to_owned(), written(request, model, &body))
    }

    fn reading(&self, request: &Request) -> Box<dyn Reading> {
        Box::new(ChatReading {
            is_forwarded: request.verbatim.is_some(),
            ..ChatReading::default()
        })
    }
}

impl OpenAi {
    /// The stop sequences, as far as the server accepts them: OpenAI's own
    /// accepts four, and none for reasoning models.
    fn stops<'r>(&self, request: &'r Request, model: &str) -> &'r [String] {
        if !self.is_itself {
            return &request.stop;
        }
        let thinks = ["o1", "o3", "o4", "gpt-5"];
        if thinks.iter().any(|name| model.starts_with(name)) {
            return &[];
        }
        let most = request.stop.len().min(MAX_STOPS);
        request.stop.get(..most).unwrap_or_default()
    }
}

/// The body: the model, the conversation, and further fields. Long
/// conversations are serialised once, without copying them.
fn written(request: &Request, model: &str, more: &Map<String, Value>) -> Vec<u8> {
    let texts = request.turns().map(|it| it.text().len());
    let length: usize = texts.chain(request.system.as_deref().map(str::len)).sum();
    let mut out = Vec::with_capacity(length + length / 8 + 512);
    out.extend_from_slice(b"{\"model\":");
    put(&model, &mut out);
    out.extend_from_slice(b",\"messages\":[");
    if let Some(system) = &request.system {
        put_said("system", system, &mut out);
    }
    for (at, message) in request.turns().enumerate() {
        if at > 0 || request.system.is_some() {
            out.push(b',');
        }
        put_message(message, &mut out);
    }
    out.push(b']');
    for (name, value) in more {
        out.push(b',');
        put(name, &mut out);
        out.push(b':');
        put(value, &mut out);
    }
    out.push(b'}');
    out
}

fn put_said(role: &str, text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"role\":");
    put(role, out);
    out.extend_from_slice(b",\"content\":");
    put(text, out);
    out.push(b'}');
}

fn put_message(message: &Message, out: &mut Vec<u8>) {
    match message {
        Message::System(text) => put_said("system", text, out),
        Message::User { text, images } if images.is_empty() => put_said("user", text, out),
        Message::User { text, images } => {
            let images = images.iter().map(Image::to_url);
            let images = images.map(|url| json!({"type": "image_url", "image_url": {"url": url}}));
            let parts: Vec<Value> = images
                .chain([json!({"type": "text", "text": text})])
                .collect();
            put(&json!({"role": "user", "content": parts}), out);
        }
        Message::Assistant { text, calls, .. } if calls.is_empty() => {
            put_said("assistant", text, out);
        }
        Message::Assistant { text, calls, .. } => put(&with_calls(text, calls), out),
        Message::Result { id, text, .. } => {
            put(
                &json!({"role": "tool", "tool_call_id": id, "content": text}),
                out,
            );
        }
    }
}

/// The tools in the format of chat completions.
pub(super) fn tools(tools: &Toolset) -> Value {
    let tools = tools.iter().map(|tool| {
        json!({"type": "function", "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        }})
    });
    tools.collect()
}

/// The response format in vLLM's own fields; null if there is none.
pub(super) fn vllm(format: &ResponseFormat) -> Value {
    match format {
        ResponseFormat::Text => Value::Null,
        ResponseFormat::Json => json!({"json_object": true}),
        ResponseFormat::Schema(schema) => json!({"json": schema}),
        ResponseFormat::Grammar(grammar) => json!({"grammar": grammar}),
        // The tag itself goes as text.
        ResponseFormat::StructuralTag(tag) => json!({"structural_tag": tag.to_string()}),
    }
}

fn with_calls(text: &str, calls: &[ToolCall]) -> Value {
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

fn choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Tool(name) => json!({"type": "function", "function": {"name": name}}),
    }
}

/// Parses chunks of a chat completion.
#[derive(Debug, Default)]
struct ChatReading {
    /// Calls that have begun, in this order.
    begun: Vec<Begun>,
    finish: Option<FinishReason>,
    /// Whether a client wrote the request, and gets the whole answer.
    is_forwarded: bool,
}

/// Fields of an answer, of its choice and of its message that are read; all
/// others are passed through.
const ANSWER: [&str; 7] = [
    "id", "object", "created", "model", "choices", "usage", "error",
];
const CHOICE: [&str; 4] = ["index", "delta", "message", "finish_reason"];
const MESSAGE: [&str; 6] = [
    "role",
    "content",
    "reasoning",
    "reasoning_content",
    "tool_calls",
    "function_call",
];

/// A call that has begun.
#[derive(Debug, Default)]
struct Begun {
    /// The server's index of the call.
    number: Option<u64>,
    id: Option<String>,
    name: String,
    has_arguments: bool,
}

impl Begun {
    /// Whether a piece with the same index is of another call: some servers
    /// give all calls of a reply the same index. Others give every piece its
    /// own id, so an id alone does not begin a call.
    fn is_other(&self, id: Option<&str>, name: &str) -> bool {
        if name.is_empty() || self.name.is_empty() {
            return false;
        }
        match (self.id.as_deref(), id) {
            (Some(own), Some(id)) => own != id,
            _ => self.has_arguments && self.name != name,
        }
    }

    /// The delta of its beginning.
    fn start(&self, index: usize) -> Delta {
        Delta::CallStart {
            index,
            id: self.id.clone(),
            name: self.name.clone(),
        }
    }
}

impl ChatReading {
    /// Parses the delta of a chunk, or a whole message.
    fn part(&mut self, part: &Value, form: Part, deltas: &mut Vec<Delta>) {
        let words = |name| text(part, name).filter(|words: &&str| !words.is_empty());
        let thoughts = words("reasoning_content").or_else(|| words("reasoning"));
        deltas.extend(thoughts.map(|it| Delta::Reasoning(it.to_owned())));
        // A client that wrote the request gets the refusal as a field of its
        // own.
        let refusal = words("refusal").filter(|_| !self.is_forwarded);
        let said = words("content").or(refusal);
        deltas.extend(said.map(|it| Delta::Text(it.to_owned())));
        // Some servers send a list there, with reasoning among the text.
        let pieces = part.get("content").and_then(Value::as_array);
        for piece in pieces.into_iter().flatten() {
            deltas.extend(text(piece, "text").map(|it| Delta::Text(it.to_owned())));
            let thoughts = piece.get("thinking").and_then(Value::as_array);
            let thoughts = thoughts.into_iter().flatten();
            let thoughts = thoughts.filter_map(|it| text(it, "text"));
            deltas.extend(thoughts.map(|it| Delta::Reasoning(it.to_owned())));
        }
        let calls = part.get("tool_calls").and_then(Value::as_array);
        for (place, call) in (0..).zip(calls.into_iter().flatten()) {
            self.call((form == Part::Message).then_some(place), call, deltas);
        }
        // The older format, before there could be several calls.
        if let Some(call) = part.get("function_call").filter(|call| call.is_object()) {
            self.call(Some(0), call, deltas);
        }
    }

    /// Parses a call, or a piece of one. In a whole message each has a position
    /// of its own.
    fn call(&mut self, place: Option<u64>, call: &Value, deltas: &mut Vec<Delta>) {
        let function = call.get("function").unwrap_or(call);
        let name = text(function, "name").unwrap_or_default();
        let id = text(call, "id").filter(|id| !id.is_empty());
        let number = call.get("index").and_then(Value::as_u64).or(place);
        let known = match number {
            Some(_) => self.begun.iter().rposition(|it| it.number == number),
            // Some servers leave it out: a name begins another call.
            None if name.is_empty() => self.begun.len().checked_sub(1),
            None => None,
        };
        let known = known.filter(|at| !self.begun.get(*at).is_some_and(|it| it.is_other(id, name)));
        let index = known.unwrap_or(self.begun.len());
        if known.is_none() {
            self.begun.push(Begun {
                number,
                ..Begun::default()
            });
        }
        let Some(begun) = self.begun.get_mut(index) else {
            return;
        };
        begun.id = begun.id.take().or(id.map(str::to_owned));
        // A name may come late, or in pieces; some repeat it with each piece.
        if !name.is_empty() && begun.name != name {
            begun.name.push_str(name);
            deltas.push(begun.start(index));
        }
        let json = arguments(function.get("arguments").unwrap_or(&Value::Null));
        if !json.is_empty() {
            begun.has_arguments = true;
            deltas.push(Delta::Arguments { index, json });
        }
    }

    fn take(&mut self, answer: &Value, form: Part, deltas: &mut Vec<Delta>) -> Result<(), Trouble> {
        let choice = answer.pointer("/choices/0");
        if self.is_forwarded {
            let choice = choice.unwrap_or(&Value::Null);
            let message = choice.get(form.name()).unwrap_or(&Value::Null);
            let own = [
                others(answer, &ANSWER),
                others(choice, &CHOICE),
                others(message, &MESSAGE),
            ];
            if own.iter().any(|fields| !fields.is_empty()) {
                let [answer, choice, message] = own;
                deltas.push(Delta::Passthrough(Passthrough::Fields {
                    answer,
                    choice,
                    message,
                }));
            }
        }
        if let Some(choice) = choice {
            if let Some(part) = choice.get(form.name()) {
                self.part(part, form, deltas);
            }
            if let Some(reason) = text(choice, "finish_reason") {
                self.finish = finish(reason)?.or(self.finish.take());
            }
        }
        deltas.extend(usage::of_completion(answer).map(Delta::Usage));
        Ok(())
    }
}

/// Whether a part of a reply is a piece or the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// A piece of the reply.
    Delta,
    /// The whole reply.
    Message,
}

impl Part {
    const fn name(self) -> &'static str {
        match self {
            Self::Delta => "delta",
            Self::Message => "message",
        }
    }
}

/// A chunk with text and nothing else.
#[derive(Deserialize)]
struct Words<'e> {
    #[serde(borrow)]
    choices: [WordsChoice<'e>; 1],
    usage: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct WordsChoice<'e> {
    #[serde(borrow)]
    delta: WordsDelta<'e>,
    finish_reason: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct WordsDelta<'e> {
    #[serde(borrow)]
    content: Cow<'e, str>,
    refusal: Option<IgnoredAny>,
    reasoning: Option<IgnoredAny>,
    reasoning_content: Option<IgnoredAny>,
    tool_calls: Option<IgnoredAny>,
    function_call: Option<IgnoredAny>,
}

impl<'e> Words<'e> {
    /// The text, if there is nothing else.
    fn alone(self) -> Option<Cow<'e, str>> {
        let [choice] = self.choices;
        let delta = choice.delta;
        let others = [
            self.usage,
            self.error,
            choice.finish_reason,
            delta.refusal,
            delta.reasoning,
            delta.reasoning_content,
            delta.tool_calls,
            delta.function_call,
        ];
        others.iter().all(Option::is_none).then_some(delta.content)
    }
}

impl Reading for ChatReading {
    fn words(&mut self, json: &str, deltas: &mut Vec<Delta>) -> bool {
        if self.is_forwarded {
            return false;
        }
        let words: Result<Words<'_>, _> = serde_json::from_str(json);
        let Some(words) = words.ok().and_then(Words::alone) else {
            return false;
        };
        if !words.is_empty() {
            deltas.push(Delta::Text(words.into_owned()));
        }
        true
    }

    fn event(&mut self, event: &Value, deltas: &mut Vec<Delta>) -> Result<(), Trouble> {
        self.take(event, Part::Delta, deltas)
    }

    fn whole(&mut self, answer: &Value, deltas: &mut Vec<Delta>) -> Result<(), Trouble> {
        self.take(answer, Part::Message, deltas)?;
        self.end(deltas);
        Ok(())
    }

    fn has_ended(&self) -> bool {
        self.finish.is_some()
    }

    fn end(&mut self, deltas: &mut Vec<Delta>) {
        for (index, begun) in std::mem::take(&mut self.begun).iter().enumerate() {
            if begun.name.is_empty() {
                deltas.push(begun.start(index));
            }
            deltas.push(Delta::CallEnd { index });
        }
        // Without a reason it broke off, whatever was received so far.
        if let Some(reason) = self.finish.take() {
            deltas.push(Delta::Finish(reason));
        }
    }
}
