//! Requests of the responses API.

use std::borrow::Cow;

use bytes::Bytes;
use ptk_llm::{Api, Message, Sampling};
use ptk_protocol::{Arguments, ToolCall};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::super::choice::{FormatField, ToolChoice, check};
use super::super::content::{self, Content};
use super::super::number;
use super::super::talk::Talk;
use super::tools::{ToolNames, Tools};
use super::write::SEARCH;
use crate::chat_request::{ChatRequest, Contract, OriginalRequest};
use crate::failure::Failure;
use crate::fields::{self, Fields};
use crate::gateway::Inner;

/// The parameter of tools that take a text and no arguments.
pub(super) const INPUT: &str = "input";

/// A parsed request.
pub(super) struct ParsedResponses {
    pub(super) chat: ChatRequest,
    /// Fields of the request that the answer repeats.
    pub(super) about: Map<String, Value>,
    /// How its tools are called.
    pub(super) names: ToolNames,
    pub(super) streams: bool,
}

#[derive(Deserialize)]
struct TextField {
    format: Option<Value>,
}

pub(super) fn read(gateway: &Inner, body: &Bytes) -> Result<ParsedResponses, Failure> {
    let mut fields = Fields::of(body)?;
    let model: String = fields.need("model")?;
    if fields.raw("previous_response_id").is_some() || fields.raw("conversation").is_some() {
        return Err(Failure::invalid(
            "previous_response_id",
            "Answers are not kept here; send the whole conversation in `input`",
        ));
    }
    let raw_tools = fields.raw("tools");
    let mut tools = Tools::read(raw_tools)?;
    let instructions: Option<String> = fields.read("instructions")?;
    let mut talk = Talk::default();
    talk.system.clone_from(&instructions);
    match fields.raw("input") {
        Some(input) => tell(&mut talk, &mut tools, input)?,
        None => {
            return Err(Failure {
                code: "missing_required_parameter".into(),
                ..Failure::invalid("input", "The field `input` is missing")
            });
        }
    }
    let mut contract = Contract {
        offer: tools.offer(gateway)?,
        one_call: fields.read("parallel_tool_calls")? == Some(false),
        ..Contract::default()
    };
    let raw_choice: Option<Value> = fields.read("tool_choice")?;
    if let Some(choice) = &raw_choice {
        let choice: ToolChoice = serde_json::from_value(choice.clone()).map_err(|_| {
            Failure::invalid("tool_choice", "The field `tool_choice` cannot be read")
        })?;
        choice.apply(&mut contract, |name| tools.names.chosen(name))?;
    }
    check(&contract)?;
    let format = fields
        .read::<TextField>("text")?
        .and_then(|text| text.format);
    if let Some(format) = &format {
        let field: FormatField = serde_json::from_value(format.clone())
            .map_err(|_| Failure::invalid("text.format", "The format cannot be read"))?;
        contract.format = field.format("text.format")?;
    }
    let sampling = Sampling {
        temperature: number(&mut fields, "temperature", 0.0, 2.0)?,
        top_p: number(&mut fields, "top_p", 0.0, 1.0)?,
        ..Sampling::default()
    };
    let max_tokens: Option<u32> = fields.read("max_output_tokens")?;
    if max_tokens == Some(0) {
        let message = "`max_output_tokens` is 0; it has to be at least 1";
        return Err(Failure::invalid("max_output_tokens", message));
    }
    let about = json!({
        "model": model,
        "instructions": instructions,
        "max_output_tokens": max_tokens,
        "parallel_tool_calls": !contract.one_call,
        "previous_response_id": null,
        "reasoning": {"effort": null, "summary": null},
        "store": false,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "text": {"format": format.unwrap_or_else(|| json!({"type": "text"}))},
        "tool_choice": raw_choice.unwrap_or_else(|| json!("auto")),
        "tools": raw_tools.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_else(|| json!([])),
        "truncation": "disabled",
        "metadata": fields.read::<Value>("metadata")?.unwrap_or_else(|| json!({})),
        "user": fields.read::<Value>("user")?,
    });
    let mut read = ParsedResponses {
        streams: fields.read("stream")?.unwrap_or(false),
        about: about.as_object().cloned().unwrap_or_default(),
        names: tools.names,
        chat: ChatRequest {
            model,
            system: talk.system,
            messages: talk.messages,
            contract,
            sampling,
            max_tokens,
            stop: Vec::new(),
            written: Some(OriginalRequest {
                api: Api::Responses,
                body: body.clone(),
                headers: Vec::new(),
            }),
            unsupported_content: talk.beyond,
            left_out: tools.notes,
            loaded: talk.loaded,
        },
    };
    read.chat.tell_searches();
    Ok(read)
}

/// An item of a conversation.
#[derive(Deserialize)]
struct Item {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    role: String,
    #[serde(default)]
    content: Content,
    #[serde(default)]
    call_id: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    arguments: Value,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    output: Option<Content>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    namespace: Option<String>,
    #[serde(default)]
    tools: Option<Box<RawValue>>,
}

/// Parses a conversation.
fn tell(talk: &mut Talk, tools: &mut Tools<'_>, raw: &RawValue) -> Result<(), Failure> {
    if raw.get().starts_with('"') {
        talk.user(fields::read("input", raw)?);
        return Ok(());
    }
    let items: Vec<Item> = fields::read("input", raw)?;
    if items.is_empty() && talk.system.is_none() {
        return Err(Failure::invalid("input", "There is nothing in `input`"));
    }
    for (at, item) in items.into_iter().enumerate() {
        item.tell(at, talk, tools)?;
    }
    Ok(())
}

impl Item {
    /// Adds the item to a conversation.
    fn tell(self, at: usize, talk: &mut Talk, tools: &mut Tools<'_>) -> Result<(), Failure> {
        let invalid =
            |what: &str, message: String| Failure::invalid(format!("input[{at}]{what}"), message);
        match self.kind.as_str() {
            "message" | "" => {
                talk.beyond(format!("input[{at}].content"), self.content.beyond);
                let text = self.content.text;
                match self.role.as_str() {
                    "system" | "developer" => talk.system(text),
                    "user" => talk.user(text),
                    "assistant" => talk.reply(text, Vec::new()),
                    role => {
                        return Err(invalid(
                            ".role",
                            format!(
                                "`{role}` is not a role; expected one of: system, developer, user, assistant"
                            ),
                        ));
                    }
                }
            }
            "function_call" | "custom_tool_call" => {
                let (Some(id), Some(name)) = (self.call_id, self.name) else {
                    return Err(invalid(
                        "",
                        "A call lacks its `call_id` or its `name`".to_owned(),
                    ));
                };
                let name = Tools::called(self.namespace.as_deref(), &name);
                talk.call(match self.input {
                    text @ Value::String(_) if self.kind == "custom_tool_call" => {
                        let args = Map::from_iter([(INPUT.to_owned(), text)]);
                        ToolCall::new(name, Arguments::from(args)).with_id(id)
                    }
                    _ => content::call(&id, &name, &written(&self.arguments)),
                });
            }
            "function_call_output" | "custom_tool_call_output" => {
                let id = self.call_id.unwrap_or_default();
                let Some(name) = called(talk, &id) else {
                    return Err(invalid(
                        ".call_id",
                        format!(
                            "The result belongs to the call `{id}`, but no call before it has this id"
                        ),
                    ));
                };
                let output = self.output.unwrap_or_default();
                talk.beyond(format!("input[{at}].output"), output.beyond);
                talk.messages.push(Message::Result {
                    id,
                    name,
                    text: output.text,
                    is_error: false,
                });
            }
            "tool_search_call" => {
                let id = self.search_id(at);
                let args = match self.arguments {
                    Value::Object(args) => Arguments::from(args),
                    other => content::call(&id, "", &written(&other)).args,
                };
                talk.call(ToolCall::new(tools.search_name(), args).with_id(id));
            }
            "tool_search_output" => {
                let given = self.call_id.clone().and_then(|id| talk.by_id(&id));
                let name = tools.search_name();
                let Some(made) = given.or_else(|| talk.next(Some(name))) else {
                    return Err(invalid(
                        ".call_id",
                        "The result belongs to no search for tools before it".to_owned(),
                    ));
                };
                let names = match &self.tools {
                    Some(raw) => tools.load(&format!("input[{at}].tools"), raw)?,
                    None => Vec::new(),
                };
                talk.load(&made, names, false);
                talk.result(made, String::new(), false);
            }
            "additional_tools" => {
                if let Some(raw) = &self.tools {
                    tools.add(&format!("input[{at}].tools"), raw)?;
                }
            }
            // The reasoning of a model is not sent to it again.
            "reasoning" => {}
            kind => talk.beyond(format!("input[{at}].type"), Some(kind.to_owned())),
        }
        Ok(())
    }
}

impl Item {
    /// The id of a search: a server's has no id of its call.
    fn search_id(&self, at: usize) -> String {
        let id = self.call_id.as_deref().or(self.id.as_deref());
        let id = id.map(|id| id.strip_prefix(SEARCH).unwrap_or(id));
        id.map_or_else(|| format!("search_{at}"), str::to_owned)
    }
}

/// Arguments as JSON text, whether they were sent as text or as JSON.
fn written(arguments: &Value) -> Cow<'_, str> {
    match arguments {
        Value::String(text) => text.into(),
        Value::Null => "".into(),
        other => other.to_string().into(),
    }
}

/// The name of the tool that was called under an id, however long ago.
fn called(talk: &Talk, id: &str) -> Option<String> {
    let replies = talk.messages.iter().rev();
    let calls = replies.filter_map(|message| match message {
        Message::Assistant { calls, .. } => Some(calls),
        _ => None,
    });
    let mut calls = calls.flatten();
    let call = calls.find(|call| call.id.as_deref() == Some(id))?;
    Some(call.name.clone())
}
