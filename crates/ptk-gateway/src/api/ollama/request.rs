//! Requests of Ollama's API.

use std::sync::Arc;

use ptk_llm::Sampling;
use ptk_protocol::ToolCall;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::chat::offer;
use super::super::choice::{Texts, check, format_schema};
use super::super::content;
use super::super::talk::Talk;
use super::super::{Call, number};
use crate::chat_request::{ChatRequest, Contract, Format};
use crate::failure::Failure;
use crate::fields::{self, Fields};
use crate::gateway::Inner;

/// Parses a request, and whether its answer is streamed.
pub(super) fn read(call: &Call) -> Result<(ChatRequest, bool), Failure> {
    let mut fields = Fields::of(&call.body)?;
    let model = known(&call.gateway, fields.need("model")?);
    let contract = Contract {
        offer: match fields.raw("tools") {
            Some(tools) => offer(&call.gateway, tools)?,
            None => Arc::default(),
        },
        format: format(&mut fields)?,
        whole_calls: true,
        ..Contract::default()
    };
    check(&contract)?;
    let messages: Vec<OllamaMessageField> = fields.read("messages")?.unwrap_or_default();
    let mut talk = Talk::default();
    for (at, message) in messages.into_iter().enumerate() {
        message.tell(at, &mut talk)?;
    }
    let streams = fields.read("stream")?.unwrap_or(true);
    let chat = ChatRequest {
        model,
        system: talk.system,
        messages: talk.messages,
        contract,
        unsupported_content: talk.beyond,
        ..ChatRequest::default()
    };
    let chat = match fields.raw("options") {
        Some(options) => with_options(chat, options)?,
        None => chat,
    };
    Ok((chat, streams))
}

/// The name of the model: clients add `:latest` to names without a tag.
pub(super) fn known(gateway: &Inner, name: String) -> String {
    match name.strip_suffix(":latest") {
        Some(bare) if gateway.routes.names().any(|known| known == bare) => bare.to_owned(),
        _ => name,
    }
}

/// The field `format`: a keyword or a schema.
#[derive(Deserialize)]
#[serde(untagged)]
enum OllamaFormatField {
    Word(String),
    Schema(Value),
}

/// The format of the answer: the keyword `json`, or a schema.
fn format(fields: &mut Fields<'_>) -> Result<Format, Failure> {
    match fields.read::<OllamaFormatField>("format")? {
        None => Ok(Format::Text),
        Some(OllamaFormatField::Word(word)) if word.is_empty() => Ok(Format::Text),
        Some(OllamaFormatField::Word(word)) if word == "json" => Ok(Format::Json),
        Some(OllamaFormatField::Schema(schema)) if schema.is_object() => {
            format_schema("format", schema)
        }
        Some(_) => Err(Failure::invalid(
            "format",
            "The format is neither `json` nor a JSON Schema",
        )),
    }
}

fn with_options(chat: ChatRequest, raw: &RawValue) -> Result<ChatRequest, Failure> {
    if !raw.get().starts_with('{') {
        return Err(Failure::invalid(
            "options",
            "The options have to be a JSON object",
        ));
    }
    let mut options = Fields::of(raw.get().as_bytes())?;
    let seed: Option<i64> = options.read("seed")?;
    // Below 1 it means as many as there is room for.
    let most: Option<i64> = options.read("num_predict")?;
    let most = most.filter(|most| *most > 0);
    let stop = options.read::<Texts>("stop")?;
    Ok(ChatRequest {
        sampling: Sampling {
            temperature: number(&mut options, "temperature", 0.0, 2.0)?,
            top_p: number(&mut options, "top_p", 0.0, 1.0)?,
            top_k: options.read("top_k")?,
            seed: seed.map(i64::unsigned_abs),
        },
        max_tokens: most.map(|most| u32::try_from(most).unwrap_or(u32::MAX)),
        stop: stop.map_or(Ok(Vec::new()), |stop| stop.stops("options.stop"))?,
        ..chat
    })
}

#[derive(Deserialize)]
struct OllamaMessageField {
    role: String,
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    images: Option<Vec<String>>,
    #[serde(default)]
    tool_calls: Option<Vec<OllamaCallField>>,
    #[serde(default)]
    tool_call_id: Option<String>,
    #[serde(default)]
    tool_name: Option<String>,
    /// The older name of `tool_name`.
    #[serde(default)]
    name: Option<String>,
}

#[derive(Deserialize)]
struct OllamaCallField {
    #[serde(default)]
    id: Option<String>,
    function: OllamaFunctionField,
}

#[derive(Deserialize)]
struct OllamaFunctionField {
    name: String,
    #[serde(default)]
    arguments: Option<Box<RawValue>>,
}

impl OllamaCallField {
    /// The call, under its own id or one made from its position.
    fn call(self, at: usize, index: usize) -> Result<ToolCall, Failure> {
        let place = format!("messages[{at}].tool_calls[{index}].function.arguments");
        let id = self.id.filter(|id| !id.is_empty());
        let id = id.unwrap_or_else(|| format!("call_{at}_{index}"));
        let arguments = match &self.function.arguments {
            None => String::new(),
            Some(raw) if raw.get().starts_with('"') => fields::read(&place, raw)?,
            Some(raw) if raw.get().starts_with('{') => raw.get().to_owned(),
            Some(raw) if raw.get() == "null" => String::new(),
            Some(_) => {
                return Err(Failure::invalid(
                    place.as_str(),
                    format!("{place} has to be a JSON object"),
                ));
            }
        };
        Ok(content::call(&id, &self.function.name, &arguments))
    }
}

impl OllamaMessageField {
    /// Adds the message to a conversation.
    fn tell(self, at: usize, talk: &mut Talk) -> Result<(), Failure> {
        let text = self.content.unwrap_or_default();
        if self.images.is_some_and(|images| !images.is_empty()) {
            talk.beyond(format!("messages[{at}].images"), Some("image".to_owned()));
        }
        match self.role.as_str() {
            "system" => talk.system(text),
            "user" => talk.user(text),
            "assistant" => {
                let calls = self.tool_calls.unwrap_or_default().into_iter().enumerate();
                let calls = calls.map(|(index, call)| call.call(at, index));
                talk.reply(text, calls.collect::<Result<_, _>>()?);
            }
            "tool" => {
                let tool = self.tool_name.or(self.name);
                let tool = tool.as_deref().filter(|tool| !tool.is_empty());
                let id = self.tool_call_id.as_deref().filter(|id| !id.is_empty());
                let of = id.and_then(|id| talk.by_id(id));
                let Some(of) = of.or_else(|| talk.next(tool)) else {
                    let of = tool.or(id).unwrap_or("a tool");
                    return Err(Failure::invalid(
                        format!("messages[{at}]"),
                        format!(
                            "messages[{at}] is a result of {of}, and the reply before it made no such call, or it has its result already"
                        ),
                    ));
                };
                talk.result(of, text, false);
            }
            role => {
                return Err(Failure::invalid(
                    format!("messages[{at}].role"),
                    format!(
                        "messages[{at}]: `{role}` is not a role; expected one of: system, user, assistant, tool"
                    ),
                ));
            }
        }
        Ok(())
    }
}
