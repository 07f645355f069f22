//! The endpoint `/v1/chat/completions`.

use std::sync::Arc;

use bytes::Bytes;
use ptk_llm::{Api, FinishReason, Passthrough, Sampling, Usage};
use ptk_protocol::{ToolCall, ToolSpec};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::choice::{FormatField, Texts, ToolChoice, check};
use super::content::{self, Content};
use super::talk::Talk;
use super::{Call, EVENTS, JSON, Reply, Writer, now, number, put, quote, streamed, sum, whole};
use crate::chat_request::{ChatRequest, Contract, OriginalRequest};
use crate::failure::Failure;
use crate::fields::{self, Fields};
use crate::gateway::Inner;
use crate::offer::Offer;
use crate::response::{End, Note, ResponseEvent, ResponsePart, Whole, new_id};

/// The most answers to one request.
const MAX_ANSWERS: u32 = 16;

/// The options of the client for its answer.
#[derive(Debug, Clone)]
struct CompletionInfo {
    id: String,
    created: u64,
    model: String,
    includes_usage: bool,
    /// Whether calls are in the older format, before there could be several.
    is_legacy: bool,
}

pub(super) async fn answer(call: Call) -> Result<Reply, Failure> {
    let (call, read) = super::read(call, |call| read(&call.gateway, &call.body)).await?;
    call.ticket.asked(&read.chat.model, read.streams);
    let chats = several(read.chat, read.answers);
    let info = read.info;
    if read.streams {
        let writers = (0_u32..)
            .zip(chats)
            .map(|(index, chat)| (chat, ChatWriter::new(&info, index)));
        let writers: Vec<(ChatRequest, ChatWriter)> = writers.collect();
        return streamed(call, EVENTS, writers, move |usage, out| {
            if info.includes_usage {
                put_head(&info, out);
                out.extend_from_slice(b"],\"usage\":");
                put(&usage_of(usage), out);
                out.extend_from_slice(b"}\n\n");
            }
            out.extend_from_slice(b"data: [DONE]\n\n");
        })
        .await;
    }
    let answers = whole(&call, &chats).await?;
    let body = completion(&info, &answers);
    Ok(Reply::whole(hyper::StatusCode::OK, JSON, body))
}

/// The same request so many times. Equal seeds would give equal answers, so
/// they differ.
fn several(chat: ChatRequest, answers: u32) -> Vec<ChatRequest> {
    let seeded = |index: u32| {
        let mut chat = chat.clone();
        chat.sampling.seed = chat
            .sampling
            .seed
            .map(|seed| seed.wrapping_add(u64::from(index)));
        chat
    };
    if answers == 1 {
        return vec![chat];
    }
    (0..answers).map(seeded).collect()
}

/// A parsed request.
struct ParsedChat {
    chat: ChatRequest,
    info: CompletionInfo,
    answers: u32,
    streams: bool,
}

#[derive(Default, Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: Option<bool>,
}

fn read(gateway: &Inner, body: &Bytes) -> Result<ParsedChat, Failure> {
    let mut fields = Fields::of(body)?;
    let model: String = fields.need("model")?;
    let (offer, is_legacy) = match (fields.raw("tools"), fields.raw("functions")) {
        (Some(tools), _) => (offer(gateway, tools)?, false),
        (None, Some(functions)) => (functions_offer(gateway, functions)?, true),
        (None, None) => (Arc::default(), false),
    };
    let mut contract = Contract {
        offer,
        one_call: is_legacy || fields.read("parallel_tool_calls")? == Some(false),
        ..Contract::default()
    };
    if let Some(choice) = fields.read::<ToolChoice>("tool_choice")? {
        choice.apply(&mut contract, |name| name)?;
    } else if let Some(choice) = fields
        .read::<ToolChoice>("function_call")?
        .filter(|_| is_legacy)
    {
        choice.apply(&mut contract, |name| name)?;
    }
    check(&contract)?;
    if let Some(format) = fields.read::<FormatField>("response_format")? {
        contract.format = format.format("response_format")?;
    }
    let messages: Vec<ChatMessage> = fields.need("messages")?;
    let mut talk = talk(messages)?;
    let answers = fields.read("n")?.unwrap_or(1);
    if !(1..=MAX_ANSWERS).contains(&answers) {
        return Err(Failure::invalid(
            "n",
            format!("`n` is {answers}; it has to be from 1 to {MAX_ANSWERS}"),
        ));
    }
    let stop = fields.read::<Texts>("stop")?;
    let stop = stop.map_or(Ok(Vec::new()), |stop| stop.stops("stop"))?;
    let seed: Option<i64> = fields.read("seed")?;
    let sampling = Sampling {
        temperature: number(&mut fields, "temperature", 0.0, 2.0)?,
        top_p: number(&mut fields, "top_p", 0.0, 1.0)?,
        top_k: fields.read("top_k")?,
        seed: seed.map(i64::unsigned_abs),
    };
    let older: Option<u32> = fields.read("max_tokens")?;
    let max_tokens = fields.read("max_completion_tokens")?.or(older);
    if max_tokens == Some(0) {
        return Err(Failure::invalid(
            "max_tokens",
            "`max_tokens` is 0; it has to be at least 1",
        ));
    }
    let options: StreamOptions = fields.read("stream_options")?.unwrap_or_default();
    Ok(ParsedChat {
        streams: fields.read("stream")?.unwrap_or(false),
        answers,
        info: CompletionInfo {
            id: new_id("chatcmpl-"),
            created: now(),
            model: model.clone(),
            includes_usage: options.include_usage.unwrap_or(false),
            is_legacy,
        },
        chat: ChatRequest {
            model,
            system: talk.system.take(),
            messages: talk.messages,
            contract,
            sampling,
            max_tokens,
            stop,
            written: Some(OriginalRequest {
                api: Api::ChatCompletions,
                body: body.clone(),
                headers: Vec::new(),
            }),
            unsupported_content: talk.beyond,
            left_out: Vec::new(),
            loaded: Vec::new(),
        },
    })
}

#[derive(Deserialize)]
struct ChatToolField {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    function: Option<ChatFunctionField>,
}

#[derive(Deserialize)]
struct ChatFunctionField {
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    parameters: Option<Value>,
    #[serde(default)]
    strict: Option<bool>,
}

impl ChatFunctionField {
    fn tool(self) -> (ToolSpec, bool) {
        let parameters = self.parameters.filter(Value::is_object);
        let parameters = parameters.unwrap_or_else(|| json!({"type": "object", "properties": {}}));
        let spec = ToolSpec::new(self.name, self.description.unwrap_or_default(), parameters);
        (spec, self.strict == Some(true))
    }
}

pub(super) fn offer(gateway: &Inner, raw: &RawValue) -> Result<Arc<Offer>, Failure> {
    gateway.offers.get("chat", raw.get(), || {
        let tools: Vec<ChatToolField> = fields::read("tools", raw)?;
        let tools = tools
            .into_iter()
            .enumerate()
            .map(|(at, tool)| match tool.function {
                Some(function) => Ok(function.tool()),
                None => Err(Failure::invalid(
                    format!("tools[{at}]"),
                    format!(
                        "Only tools of the type `function` can be called here, not `{}`",
                        tool.kind.unwrap_or_default()
                    ),
                )),
            });
        Offer::new(tools.collect::<Result<_, _>>()?)
    })
}

fn functions_offer(gateway: &Inner, raw: &RawValue) -> Result<Arc<Offer>, Failure> {
    gateway.offers.get("functions", raw.get(), || {
        let functions: Vec<ChatFunctionField> = fields::read("functions", raw)?;
        Offer::new(functions.into_iter().map(ChatFunctionField::tool).collect())
    })
}

#[derive(Deserialize)]
struct ChatMessage {
    role: String,
    #[serde(default)]
    content: Content,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<ChatCallField>>,
    #[serde(default)]
    function_call: Option<CalledField>,
    #[serde(default)]
    tool_call_id: Option<String>,
}

#[derive(Deserialize)]
struct ChatCallField {
    #[serde(default)]
    id: String,
    function: CalledField,
}

#[derive(Deserialize)]
struct CalledField {
    name: String,
    #[serde(default)]
    arguments: String,
}

fn talk(messages: Vec<ChatMessage>) -> Result<Talk, Failure> {
    if messages.is_empty() {
        return Err(Failure::invalid(
            "messages",
            "`messages` is empty; send at least one",
        ));
    }
    let mut talk = Talk::default();
    for (at, message) in messages.into_iter().enumerate() {
        let text = message.content.text;
        talk.beyond(format!("messages[{at}].content"), message.content.beyond);
        match message.role.as_str() {
            "system" | "developer" => talk.system(text),
            "user" => talk.user(text),
            "assistant" => {
                let made = message.tool_calls.unwrap_or_default().into_iter();
                let made = made.map(|call| (call.id, call.function));
                let older = message.function_call.map(|call| (call.name.clone(), call));
                let made: Vec<ToolCall> = made
                    .chain(older)
                    .map(|(id, called)| content::call(&id, &called.name, &called.arguments))
                    .collect();
                talk.reply(text, made);
            }
            "tool" | "function" => {
                let id = message.tool_call_id.or(message.name).unwrap_or_default();
                let Some(made) = talk.by_id(&id) else {
                    return Err(Failure::invalid(
                        format!("messages[{at}].tool_call_id"),
                        format!(
                            "The result belongs to the call `{id}`, and the reply before it made no such call"
                        ),
                    ));
                };
                talk.result(made, text, false);
            }
            role => {
                return Err(Failure::invalid(
                    format!("messages[{at}].role"),
                    format!(
                        "`{role}` is not a role; expected one of: system, developer, user, assistant, tool, function"
                    ),
                ));
            }
        }
    }
    Ok(talk)
}

/// Why an answer ended, in this API's format.
fn finish(end: &End, is_legacy: bool) -> &str {
    match &end.finish {
        FinishReason::ToolCalls if is_legacy => "function_call",
        reason => reason.as_str(),
    }
}

fn usage_of(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    })
}

/// Writes the whole answer.
fn completion(info: &CompletionInfo, answers: &[Whole]) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    out.extend_from_slice(b"{\"id\":");
    quote(&info.id, &mut out);
    out.extend_from_slice(b",\"object\":\"chat.completion\",\"created\":");
    put(&info.created, &mut out);
    out.extend_from_slice(b",\"model\":");
    quote(&info.model, &mut out);
    out.extend_from_slice(b",\"choices\":[");
    let mut answer_fields = Map::new();
    for (index, answer) in answers.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        let passthrough = PassthroughFields::of(answer);
        out.extend_from_slice(b"{\"index\":");
        put(&index, &mut out);
        out.extend_from_slice(b",\"message\":");
        put_message(info, answer, &passthrough, &mut out);
        passthrough.put_choice(&mut out);
        out.extend_from_slice(b",\"finish_reason\":");
        quote(finish(&answer.end, info.is_legacy), &mut out);
        out.push(b'}');
        answer_fields.extend(passthrough.answer);
    }
    out.push(b']');
    put_fields(&answer_fields, &mut out);
    out.extend_from_slice(b",\"usage\":");
    let usage = sum(answers.iter().map(|answer| answer.end.usage));
    put(&usage_of(&usage), &mut out);
    let notes: Vec<&Note> = answers
        .iter()
        .flat_map(|answer| &answer.end.notes)
        .collect();
    if !notes.is_empty() {
        out.extend_from_slice(b",\"ptk\":");
        put(&json!({"problems": notes}), &mut out);
    }
    out.push(b'}');
    out
}

/// Fields of the model's server, by their position.
#[derive(Debug, Default)]
struct PassthroughFields {
    answer: Map<String, Value>,
    choice: Map<String, Value>,
    message: Map<String, Value>,
}

impl PassthroughFields {
    fn of(answer: &Whole) -> Self {
        let mut all = Self::default();
        for part in &answer.parts {
            if let ResponsePart::Passthrough(passthrough) = part {
                all.add(passthrough);
            }
        }
        all
    }

    fn add(&mut self, passthrough: &Passthrough) {
        if let Passthrough::Fields {
            answer,
            choice,
            message,
        } = passthrough
        {
            self.answer.extend(answer.clone());
            self.choice.extend(choice.clone());
            self.message.extend(message.clone());
        }
    }

    /// Writes the fields of a choice, which always has `logprobs`.
    fn put_choice(&self, out: &mut Vec<u8>) {
        if !self.choice.contains_key("logprobs") {
            out.extend_from_slice(b",\"logprobs\":null");
        }
        put_fields(&self.choice, out);
    }
}

fn put_fields(fields: &Map<String, Value>, out: &mut Vec<u8>) {
    for (name, value) in fields {
        out.push(b',');
        quote(name, out);
        out.push(b':');
        put(value, out);
    }
}

fn put_message(
    info: &CompletionInfo,
    answer: &Whole,
    passthrough: &PassthroughFields,
    out: &mut Vec<u8>,
) {
    let (text, reasoning) = (answer.text(), answer.reasoning());
    let has_calls = answer.calls().next().is_some();
    out.extend_from_slice(b"{\"role\":\"assistant\",\"content\":");
    let is_refused = passthrough.message.contains_key("refusal");
    if text.is_empty() && (has_calls || is_refused) {
        out.extend_from_slice(b"null");
    } else {
        quote(&text, out);
    }
    if !is_refused {
        out.extend_from_slice(b",\"refusal\":null");
    }
    put_fields(&passthrough.message, out);
    if !reasoning.is_empty() {
        out.extend_from_slice(b",\"reasoning_content\":");
        quote(&reasoning, out);
    }
    let put_function = |name: &str, arguments: &str, out: &mut Vec<u8>| {
        out.extend_from_slice(b"{\"name\":");
        quote(name, out);
        out.extend_from_slice(b",\"arguments\":");
        quote(arguments, out);
        out.push(b'}');
    };
    for (at, (id, name, arguments)) in answer.calls().enumerate() {
        if info.is_legacy {
            out.extend_from_slice(b",\"function_call\":");
            put_function(name, arguments, out);
            break;
        }
        let begins: &[u8] = if at == 0 { b",\"tool_calls\":[" } else { b"," };
        out.extend_from_slice(begins);
        out.extend_from_slice(b"{\"id\":");
        quote(id, out);
        out.extend_from_slice(b",\"type\":\"function\",\"function\":");
        put_function(name, arguments, out);
        out.push(b'}');
    }
    if has_calls && !info.is_legacy {
        out.push(b']');
    }
    out.push(b'}');
}

/// Writes the beginning of every chunk.
fn put_head(info: &CompletionInfo, out: &mut Vec<u8>) {
    out.extend_from_slice(b"data: {\"id\":");
    quote(&info.id, out);
    out.extend_from_slice(b",\"object\":\"chat.completion.chunk\",\"created\":");
    put(&info.created, out);
    out.extend_from_slice(b",\"model\":");
    quote(&info.model, out);
    out.extend_from_slice(b",\"choices\":[");
}

/// Writes one answer as chunks.
struct ChatWriter {
    head: Vec<u8>,
    info: CompletionInfo,
    index: u32,
    has_role: bool,
    /// How many calls have begun.
    calls: u32,
    /// Fields that are sent with the next chunk.
    passthrough: Option<PassthroughFields>,
}

impl ChatWriter {
    fn new(info: &CompletionInfo, index: u32) -> Self {
        let mut head = Vec::with_capacity(160);
        put_head(info, &mut head);
        head.extend_from_slice(b"{\"index\":");
        put(&index, &mut head);
        head.extend_from_slice(b",\"delta\":{");
        Self {
            head,
            info: info.clone(),
            index,
            has_role: false,
            calls: 0,
            passthrough: None,
        }
    }

    /// Writes a chunk with this delta.
    fn chunk(&mut self, out: &mut Vec<u8>, delta: impl FnOnce(&mut Self, &mut Vec<u8>)) {
        out.extend_from_slice(&self.head);
        if !self.has_role {
            self.has_role = true;
            out.extend_from_slice(b"\"role\":\"assistant\",");
        }
        delta(self, out);
        let Some(passthrough) = self.passthrough.take() else {
            out.extend_from_slice(b"},\"logprobs\":null,\"finish_reason\":null}]");
            return self.close(out);
        };
        put_fields(&passthrough.message, out);
        out.push(b'}');
        passthrough.put_choice(out);
        out.extend_from_slice(b",\"finish_reason\":null}]");
        put_fields(&passthrough.answer, out);
        self.close(out);
    }

    /// Keeps fields of the model's server for the chunk that they came with.
    fn passthrough(&mut self, passthrough: &Passthrough, out: &mut Vec<u8>) {
        if self.passthrough.is_some() {
            self.nothing(out);
        }
        self.passthrough.get_or_insert_default().add(passthrough);
    }

    /// Writes a chunk without text.
    fn nothing(&mut self, out: &mut Vec<u8>) {
        self.chunk(out, |_, out| out.extend_from_slice(b"\"content\":\"\""));
    }

    fn close(&self, out: &mut Vec<u8>) {
        if self.info.includes_usage {
            out.extend_from_slice(b",\"usage\":null");
        }
        out.extend_from_slice(b"}\n\n");
    }

    fn call(&mut self, id: &str, name: &str, out: &mut Vec<u8>) {
        let is_legacy = self.info.is_legacy;
        self.calls += 1;
        let is_first = !self.has_role;
        self.chunk(out, |chunk, out| {
            if is_first {
                out.extend_from_slice(b"\"content\":null,");
            }
            if is_legacy {
                out.extend_from_slice(b"\"function_call\":{\"name\":");
                quote(name, out);
                out.extend_from_slice(b",\"arguments\":\"\"}");
                return;
            }
            out.extend_from_slice(b"\"tool_calls\":[{\"index\":");
            put(&(chunk.calls - 1), out);
            out.extend_from_slice(b",\"id\":");
            quote(id, out);
            out.extend_from_slice(b",\"type\":\"function\",\"function\":{\"name\":");
            quote(name, out);
            out.extend_from_slice(b",\"arguments\":\"\"}}]");
        });
    }

    fn arguments(&mut self, json: &str, out: &mut Vec<u8>) {
        let is_legacy = self.info.is_legacy;
        self.chunk(out, |chunk, out| {
            if is_legacy {
                out.extend_from_slice(b"\"function_call\":{\"arguments\":");
                quote(json, out);
                out.push(b'}');
                return;
            }
            out.extend_from_slice(b"\"tool_calls\":[{\"index\":");
            put(&chunk.calls.saturating_sub(1), out);
            out.extend_from_slice(b",\"function\":{\"arguments\":");
            quote(json, out);
            out.extend_from_slice(b"}}]");
        });
    }
}

impl Writer for ChatWriter {
    fn event(&mut self, event: ResponseEvent<'_>, out: &mut Vec<u8>) {
        match event {
            ResponseEvent::Text(text) => self.chunk(out, |_, out| {
                out.extend_from_slice(b"\"content\":");
                quote(text, out);
            }),
            ResponseEvent::Reasoning(text) => self.chunk(out, |_, out| {
                out.extend_from_slice(b"\"reasoning_content\":");
                quote(text, out);
            }),
            ResponseEvent::Call { id, name } => self.call(id, name, out),
            ResponseEvent::Arguments(json) => self.arguments(json, out),
            ResponseEvent::Passthrough(passthrough) => self.passthrough(passthrough, out),
            ResponseEvent::CallEnd(_)
            | ResponseEvent::CallCut(_)
            | ResponseEvent::Search(_)
            | ResponseEvent::WasReasoning
            | ResponseEvent::WasRescued
            | ResponseEvent::WasText => {}
        }
    }

    fn end(&mut self, end: &End, out: &mut Vec<u8>) {
        if !self.has_role || self.passthrough.is_some() {
            self.nothing(out);
        }
        put_head(&self.info, out);
        out.extend_from_slice(b"{\"index\":");
        put(&self.index, out);
        out.extend_from_slice(b",\"delta\":{},\"logprobs\":null,\"finish_reason\":");
        quote(finish(end, self.info.is_legacy), out);
        out.extend_from_slice(b"}]");
        if !end.notes.is_empty() {
            out.extend_from_slice(b",\"ptk\":");
            put(&json!({"problems": end.notes}), out);
        }
        self.close(out);
    }

    fn failed(&mut self, failure: &Failure, out: &mut Vec<u8>) {
        out.extend_from_slice(b"data: ");
        put(&failure.openai(), out);
        out.extend_from_slice(b"\n\n");
    }
}
