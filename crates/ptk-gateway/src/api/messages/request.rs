//! Requests of Anthropic's API.

use std::sync::Arc;

use ptk_llm::Sampling;
use ptk_model::DeferredTools;
use ptk_protocol::{Arguments, ToolCall, ToolSpec};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::choice::{FormatField, Texts, check};
use super::super::content::Content;
use super::super::number;
use super::super::talk::Talk;
use super::search::SearchTool;
use crate::chat_request::{ChatRequest, Choice, Contract, Format};
use crate::failure::Failure;
use crate::fields::{self, Fields};
use crate::gateway::Inner;
use crate::offer::{FoundBy, Offer};

/// The name of searches in a conversation whose request has none.
const SEARCH: &str = "find_tools";

/// Parses a request, except for its token limit.
pub(super) fn chat(gateway: &Inner, fields: &mut Fields<'_>) -> Result<ChatRequest, Failure> {
    let model: String = fields.need("model")?;
    if fields.raw("thread").is_some() {
        // The code that makes Anthropic's SDKs continue without a thread.
        return Err(Failure {
            code: "thread_unsupported_request".into(),
            ..Failure::invalid(
                "thread",
                "Threads are not kept here; send the whole conversation in `messages`",
            )
        });
    }
    let mut contract = Contract {
        offer: match fields.raw("tools") {
            Some(tools) => offer(gateway, tools)?,
            None => Arc::default(),
        },
        format: format(fields)?,
        ..Contract::default()
    };
    if let Some(choice) = fields.read::<ChoiceField>("tool_choice")? {
        contract.one_call = choice.disable_parallel_tool_use == Some(true);
        contract.choice = choice.choice(&contract.offer)?;
    }
    check(&contract)?;
    let mut talk = Talk::default();
    if let Some(system) = fields.read::<Content>("system")? {
        talk.beyond("system", system.beyond);
        talk.system(system.text);
    }
    let messages: Vec<AnthropicMessageField> = fields.need("messages")?;
    if messages.is_empty() {
        return Err(Failure::invalid(
            "messages",
            "`messages` is empty; send at least one",
        ));
    }
    let search = contract.offer.searched().and_then(DeferredTools::search);
    let search = search.map_or(SEARCH, |search| search.name.as_str());
    for (at, message) in messages.into_iter().enumerate() {
        message.tell(&format!("messages[{at}]"), &mut talk, search)?;
    }
    let stop = fields.read::<Texts>("stop_sequences")?;
    let mut chat = ChatRequest {
        model,
        system: talk.system.filter(|system| !system.is_empty()),
        messages: talk.messages,
        contract,
        sampling: Sampling {
            temperature: number(fields, "temperature", 0.0, 2.0)?,
            top_p: number(fields, "top_p", 0.0, 1.0)?,
            top_k: fields.read("top_k")?,
            seed: None,
        },
        stop: stop.map_or(Ok(Vec::new()), |stop| stop.stops("stop_sequences"))?,
        unsupported_content: talk.beyond,
        loaded: talk.loaded,
        ..ChatRequest::default()
    };
    chat.tell_searches();
    Ok(chat)
}

/// The format of the answer, under its current name or an older one.
fn format(fields: &mut Fields<'_>) -> Result<Format, Failure> {
    #[derive(Deserialize)]
    struct Output {
        #[serde(default)]
        format: Option<FormatField>,
    }
    let today = fields.read::<Output>("output_config")?;
    let today = today.and_then(|output| output.format);
    let before = fields.read::<FormatField>("output_format")?;
    match (today, before) {
        (Some(format), _) => format.format("output_config.format"),
        (None, Some(format)) => format.format("output_format"),
        (None, None) => Ok(Format::Text),
    }
}

#[derive(Deserialize)]
struct AnthropicToolField {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    input_schema: Option<Value>,
    #[serde(default)]
    strict: Option<bool>,
    #[serde(default)]
    defer_loading: Option<bool>,
}

fn offer(gateway: &Inner, raw: &RawValue) -> Result<Arc<Offer>, Failure> {
    gateway.offers.get("messages", raw.get(), || {
        let mut tools: Vec<AnthropicToolField> = fields::read("tools", raw)?;
        let is_search =
            |tool: &AnthropicToolField| tool.kind.as_deref().is_some_and(SearchTool::is_name);
        let found_by = if tools.iter().any(is_search) {
            FoundBy::Gateway
        } else {
            FoundBy::Client
        };
        tools.retain(|tool| !is_search(tool));
        let deferred = tools.iter().filter(|tool| tool.defer_loading == Some(true));
        let deferred: Vec<String> = deferred.map(|tool| tool.name.clone()).collect();
        let mut passthrough = tools.iter().enumerate();
        let passthrough =
            passthrough.find_map(|(at, tool)| tool.unsupported_content(&format!("tools[{at}]")));
        let tools = tools.into_iter().enumerate();
        // A toolset of the server has no name.
        let tools = tools.filter(|(_, tool)| tool.own_kind().is_none() || !tool.name.is_empty());
        let tools = tools.map(|(at, tool)| tool.tool(&format!("tools[{at}]")));
        let offer = Offer::new(tools.collect::<Result<_, _>>()?)?;
        let mut offer = offer.deferring(&deferred, found_by)?;
        offer.unsupported_content = passthrough;
        Ok(offer)
    })
}

impl AnthropicToolField {
    /// The type of a tool that Anthropic's servers run.
    fn own_kind(&self) -> Option<&str> {
        self.kind.as_deref().filter(|kind| *kind != "custom")
    }

    /// Why it cannot be offered in text, if Anthropic's servers run it.
    fn unsupported_content(&self, at: &str) -> Option<Failure> {
        let kind = self.own_kind()?;
        let message = format!(
            "`{}` is a tool of the type `{kind}`, which only Anthropic's models know; other models are offered tools with a name, a description and an input_schema",
            self.name
        );
        Some(Failure::invalid(at, message))
    }

    fn tool(self, at: &str) -> Result<(ToolSpec, bool), Failure> {
        if self.own_kind().is_some() {
            let anything = json!({"type": "object"});
            return Ok((ToolSpec::new(self.name, "", anything), false));
        }
        if self.name.is_empty() {
            return Err(Failure::invalid(format!("{at}.name"), "A tool has no name"));
        }
        let Some(schema) = self.input_schema.filter(Value::is_object) else {
            return Err(Failure::invalid(
                format!("{at}.input_schema"),
                format!(
                    "The tool `{}` lacks its input_schema, a JSON Schema of the type object",
                    self.name
                ),
            ));
        };
        let spec = ToolSpec::new(self.name, self.description.unwrap_or_default(), schema);
        Ok((spec, self.strict == Some(true)))
    }
}

#[derive(Deserialize)]
struct ChoiceField {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    disable_parallel_tool_use: Option<bool>,
}

impl ChoiceField {
    fn choice(self, offer: &Offer) -> Result<Choice, Failure> {
        const PARAM: &str = "tool_choice";
        match self.kind.as_str() {
            "auto" => Ok(Choice::Auto),
            "any" => Ok(Choice::Required),
            "none" => Ok(Choice::None),
            "tool" => {
                let missing = || Failure::invalid(PARAM, "The tool to be called is not named");
                let search = offer.searched().and_then(DeferredTools::search);
                let name = self.name.ok_or_else(missing)?;
                Ok(Choice::Tool(match search {
                    Some(search) if SearchTool::is_name(&name) => search.name.clone(),
                    _ => name,
                }))
            }
            other => Err(Failure::invalid(
                PARAM,
                format!("`{other}` is not a choice; expected one of: auto, any, tool, none"),
            )),
        }
    }
}

#[derive(Deserialize)]
struct AnthropicMessageField {
    role: String,
    content: Box<RawValue>,
}

/// A part of a message.
#[derive(Deserialize)]
struct BlockField {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    input: Option<Box<RawValue>>,
    #[serde(default)]
    tool_use_id: Option<String>,
    #[serde(default)]
    content: Option<Content>,
    #[serde(default)]
    is_error: Option<bool>,
}

/// The role of a message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    System,
    User,
    Assistant,
}

impl AnthropicMessageField {
    /// Adds the message to a conversation.
    fn tell(self, at: &str, talk: &mut Talk, search: &str) -> Result<(), Failure> {
        let role = match self.role.as_str() {
            "system" => Role::System,
            "user" => Role::User,
            "assistant" => Role::Assistant,
            role => {
                return Err(Failure::invalid(
                    format!("{at}.role"),
                    format!("`{role}` is not a role; expected one of: user, assistant, system"),
                ));
            }
        };
        let place = format!("{at}.content");
        let mut turn = MessageTurn {
            role,
            text: String::new(),
            calls: Vec::new(),
            talk,
            search,
        };
        if self.content.get().starts_with('"') {
            turn.text = fields::read(&place, &self.content)?;
        } else {
            let blocks: Vec<BlockField> = fields::read(&place, &self.content)?;
            for (index, block) in blocks.into_iter().enumerate() {
                turn.take(&format!("{place}[{index}]"), block)?;
            }
        }
        turn.end();
        Ok(())
    }
}

/// A message that is being parsed.
struct MessageTurn<'t> {
    role: Role,
    text: String,
    calls: Vec<ToolCall>,
    talk: &'t mut Talk,
    /// The name under which the model searches for tools.
    search: &'t str,
}

impl MessageTurn<'_> {
    fn take(&mut self, at: &str, block: BlockField) -> Result<(), Failure> {
        match (block.kind.as_str(), self.role) {
            ("text", _) => {
                let text = needed(at, "text", block.text)?;
                if !self.text.is_empty() && !text.is_empty() {
                    self.text.push('\n');
                }
                self.text.push_str(&text);
            }
            // The reasoning of a model is not sent to it again.
            ("thinking" | "redacted_thinking", _) => {}
            ("tool_use", Role::Assistant) => {
                let id = needed(at, "id", block.id)?;
                let name = needed(at, "name", block.name)?;
                let input = needed(at, "input", block.input)?;
                let args = Arguments::from_json(input.get()).map_err(|_| {
                    Failure::invalid(
                        format!("{at}.input"),
                        "The input of a call has to be a JSON object",
                    )
                })?;
                self.calls.push(ToolCall::new(name, args).with_id(id));
            }
            ("tool_result", Role::User) => {
                let id = needed(at, "tool_use_id", block.tool_use_id)?;
                self.flush();
                let content = block.content.unwrap_or_default();
                self.talk.beyond(at, content.beyond);
                let Some(made) = self.talk.by_id(&id) else {
                    return Err(Failure::invalid(
                        format!("{at}.tool_use_id"),
                        format!(
                            "The result belongs to the call `{id}`, and the reply before it made no such call"
                        ),
                    ));
                };
                let is_error = block.is_error == Some(true);
                if !content.references.is_empty() {
                    let has_text = !content.text.is_empty();
                    self.talk.load(&made, content.references, has_text);
                }
                self.talk.result(made, content.text, is_error);
            }
            ("server_tool_use", Role::Assistant)
                if block.name.as_deref().is_some_and(SearchTool::is_name) =>
            {
                let id = needed(at, "id", block.id)?;
                let input = needed(at, "input", block.input)?;
                let input = serde_json::from_str(input.get()).unwrap_or_default();
                let call = ToolCall::new(self.search, SearchTool::args(input));
                self.calls.push(call.with_id(SearchTool::id(&id)));
            }
            ("tool_search_tool_result", Role::Assistant) => {
                let id = needed(at, "tool_use_id", block.tool_use_id)?;
                self.end();
                let content = block.content.unwrap_or_default();
                if let Some(made) = self.talk.by_id(&SearchTool::id(&id)) {
                    self.talk.load(&made, content.references, false);
                    self.talk.result(made, String::new(), false);
                }
            }
            ("tool_use" | "tool_result", _) => {
                return Err(Failure::invalid(
                    at,
                    "A `tool_use` stands in a message of the assistant, and a `tool_result` in one of the user",
                ));
            }
            _ => self.talk.beyond(at, Some(block.kind)),
        }
        Ok(())
    }

    /// Adds the text so far as a message of its own.
    fn flush(&mut self) {
        let text = std::mem::take(&mut self.text);
        match self.role {
            _ if text.is_empty() => {}
            Role::User => self.talk.user(text),
            Role::System => self.talk.system(text),
            Role::Assistant => self.talk.reply(text, Vec::new()),
        }
    }

    fn end(&mut self) {
        if self.role == Role::Assistant && !self.calls.is_empty() {
            let text = std::mem::take(&mut self.text);
            let calls = std::mem::take(&mut self.calls);
            return self.talk.reply(text, calls);
        }
        self.flush();
    }
}

/// A required field of a part.
fn needed<T>(at: &str, name: &str, value: Option<T>) -> Result<T, Failure> {
    let missing = || Failure {
        code: "missing_required_parameter".into(),
        ..Failure::invalid(format!("{at}.{name}"), format!("{at} lacks its `{name}`"))
    };
    value.ok_or_else(missing)
}
