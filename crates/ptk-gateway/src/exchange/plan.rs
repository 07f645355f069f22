//! Plans the request to one model for one answer, and how its reply is parsed.

use std::sync::Arc;

use ptk_llm::{Constraint, Form, Message, Request, ResponseFormat, Sampling, ToolChoice};
use ptk_model::{Approach, Candidate, DeferredTools, ToolPrompt, result_message, with_calls};
use ptk_protocol::{Arguments, Copies, ErrorType, Formatter, ToolResult};
use serde_json::{Map, Value};

use crate::chat_request::{ChatRequest, Choice, Format, LoadedTools, UnsupportedContent};
use crate::failure::Failure;
use crate::gateway::Inner;

/// The request to one model for one answer, and how its reply is parsed.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) request: Request,
    /// What the model is told of its tools, and how its text is parsed.
    pub(super) prompt: Arc<ToolPrompt>,
    /// Whether the gateway has to check the format of an answer, because the
    /// model's server does not.
    pub(super) keeps_format: bool,
    /// Whether a call can only be judged once it is complete: results hold
    /// marks that were broken, or something that may be copied, or the client's
    /// API cannot stream it.
    pub(super) holds_calls: bool,
    /// The results of tools, where a call may be a copy of them.
    pub(super) copies: Option<Copies>,
}

impl Plan {
    pub(super) async fn new(
        gateway: &Inner,
        chat: &ChatRequest,
        candidate: &Candidate,
        approach: &Arc<Approach>,
        is_whole: bool,
    ) -> Result<Self, Failure> {
        let contract = &chat.contract;
        let is_native = approach.is_native;
        let names = contract.taught().filter(|_| !is_native);
        let prompt = contract
            .offer
            .tool_prompt(&gateway.workers, &gateway.teacher, approach, names)
            .await?;
        let found = chat.found();
        let prompt = if prompt.deferred.is_none() || found.is_empty() {
            prompt
        } else {
            Arc::new(prompt.with_found(found))
        };
        let passes_format = is_native || approach.can.constraint != Constraint::None;
        let keeps_format = contract.format != Format::Text && !passes_format;
        let has_tools = !contract.offer.tools.is_empty();
        let is_passed = !keeps_format && (is_native || !has_tools) && prompt.form == Form::Chat;
        let api = candidate.provider().speaks().filter(|_| is_passed);
        let model = candidate.model();
        let sampling = sampling(chat.sampling, model.sampling);
        let max_tokens = chat.max_tokens.or(model.max_tokens);
        let verbatim = api.map_or(Ok(None), |api| chat.verbatim(api, sampling, max_tokens))?;
        if verbatim.is_none() {
            in_words(chat)?;
        }
        let conversation = if is_native {
            Conversation::native(chat, &prompt)
        } else {
            Conversation::told(chat, &prompt, keeps_format)
        };
        let mut request = prompt.request(approach, conversation.system, conversation.messages);
        request.sampling = sampling;
        request.max_tokens = max_tokens;
        request.prompt_cache = model.prompt_cache;
        request.verbatim = verbatim;
        request.whole = is_whole;
        if passes_format {
            request.format = match &contract.format {
                Format::Text => ResponseFormat::Text,
                Format::Json => ResponseFormat::Json,
                Format::Schema(schema) => ResponseFormat::Schema((**schema).clone()),
            };
        }
        // Where calls stand in the text, they may contain a stop sequence.
        if is_native || !has_tools {
            request.stop.splice(0..0, chat.stop.iter().cloned());
        }
        if is_native {
            if let Some(names) = &contract.allowed {
                request.tools = contract.offer.only(names);
            } else if let Choice::Tool(name) = &contract.choice {
                let chosen = contract.offer.tools.named([name.as_str()]);
                request.tools = request.tools.followed_by(&chosen);
            }
            request.tool_choice = match &contract.choice {
                Choice::Auto => ToolChoice::Auto,
                Choice::None => ToolChoice::None,
                Choice::Required => ToolChoice::Required,
                Choice::Tool(name) => ToolChoice::Tool(name.clone()),
            };
        }
        Ok(Self {
            request,
            prompt,
            keeps_format,
            holds_calls: contract.whole_calls || conversation.holds_calls,
            copies: conversation.copies,
        })
    }

    /// The same request again, after the model's reply and its correction.
    pub(super) fn again(&self, reply: &str, correction: &str) -> Request {
        let mut request = self.request.clone();
        if let Some(verbatim) = &mut request.verbatim {
            let body = &mut verbatim.body;
            // The responses API may have a text there.
            if let Some(Value::String(text)) = body.get_mut("input") {
                let first = message("user", text);
                body.insert("input".to_owned(), Value::Array(vec![first]));
            }
            let lists = ["messages", "input"];
            let list = lists.into_iter().find(|name| body.contains_key(*name));
            if let Some(Value::Array(messages)) = list.and_then(|name| body.get_mut(name)) {
                messages.push(message("assistant", reply));
                messages.push(message("user", correction));
            }
            return request;
        }
        if let [Message::User { text: prompt, .. }] = request.messages.as_mut_slice()
            && !self.request.stop.is_empty()
            && self.request.system.is_none()
            && prompt.ends_with(&self.prompt.formatter.cue())
        {
            let cue = self.prompt.formatter.cue();
            prompt.push_str(&format!(" {reply}\n\nUSER: {correction}\n\n{cue}"));
            return request;
        }
        request.messages.push(Message::assistant(reply));
        request.messages.push(Message::user(correction));
        request
    }

    /// The arguments with marks restored that were broken in results.
    pub(super) fn restored(&self, args: Arguments) -> Arguments {
        if self.prompt.is_native {
            return args;
        }
        self.prompt.formatter.restore(args)
    }
}

/// A conversation as the model is shown it, and what follows for its calls.
#[derive(Default)]
struct Conversation {
    system: String,
    messages: Vec<Message>,
    holds_calls: bool,
    copies: Option<Copies>,
}

impl Conversation {
    /// The conversation as the client sent it.
    fn native(chat: &ChatRequest, prompt: &ToolPrompt) -> Self {
        let system = chat.system.as_deref().into_iter();
        let system = system.chain(Some(&*prompt.instructions));
        let system: Vec<&str> = system.filter(|it| !it.is_empty()).collect();
        Self {
            system: system.join("\n\n"),
            messages: chat.messages.clone(),
            ..Self::default()
        }
    }

    /// The conversation as text.
    fn told(chat: &ChatRequest, prompt: &ToolPrompt, keeps_format: bool) -> Self {
        let formatter = &*prompt.formatter;
        let system = chat.system.as_deref().into_iter();
        let system = system.chain(Some(&*prompt.instructions)).map(str::to_owned);
        let system: Vec<String> = system
            .chain(duties(chat, keeps_format))
            .filter(|it| !it.is_empty())
            .collect();
        let mut holds_calls = false;
        let mut copies = Copies::default();
        let mut several = false;
        let mut messages = Vec::with_capacity(chat.messages.len());
        for message in &chat.messages {
            messages.push(match message {
                Message::System(text) | Message::User { text, .. } => Message::user(text),
                Message::Assistant { text, calls, .. } => {
                    several = calls.len() > 1;
                    Message::assistant(with_calls(formatter, text.clone(), calls))
                }
                Message::Result {
                    id, text, is_error, ..
                } => {
                    let loaded = chat.loaded_by(id);
                    if loaded.is_none() {
                        copies.remember(text);
                    }
                    let loaded = loaded.filter(|loaded| !loaded.names.is_empty());
                    let result = match loaded {
                        Some(loaded) => known(chat, loaded, text, formatter),
                        None => result(text, *is_error),
                    };
                    let shown = formatter.tool_result(&result, several.then_some(id.as_str()));
                    // A mark was broken, so a quote of it has to be restored.
                    holds_calls |= shown.matches('~').count() > text.matches('~').count();
                    result_message(prompt.form, shown)
                }
            });
        }
        messages.retain(|message| !message.text().is_empty());
        let mut names = chat.contract.offer.tools.names();
        let may_copy = names.any(|name| copies.mentions(name));
        Self {
            system: system.join("\n\n"),
            messages,
            holds_calls: holds_calls || may_copy,
            copies: may_copy.then_some(copies),
        }
    }
}

/// Checks whether a request can be sent as text, or by the API of another kind
/// of server.
fn in_words(chat: &ChatRequest) -> Result<(), Failure> {
    if let Some(UnsupportedContent { at, kind }) = &chat.unsupported_content {
        return Err(Failure::invalid(
            at.clone(),
            format!(
                "{} is shown words only here, and this is a part of the type `{kind}`; leave it out, or ask a model whose server takes this API's requests as they are",
                chat.model
            ),
        ));
    }
    match &chat.contract.offer.unsupported_content {
        Some(failure) => Err(failure.clone()),
        None => Ok(()),
    }
}

fn message(role: &str, text: &str) -> Value {
    Value::Object(Map::from_iter([
        ("role".to_owned(), Value::from(role)),
        ("content".to_owned(), Value::from(text)),
    ]))
}

/// The result of a tool: JSON where it is JSON, text otherwise.
fn result(text: &str, is_error: bool) -> ToolResult {
    if is_error {
        return ToolResult::failure(ErrorType::UserError, text);
    }
    let is_data = text.trim_start().starts_with(['{', '[']);
    let data = is_data.then(|| serde_json::from_str(text).ok()).flatten();
    ToolResult::data(data.unwrap_or_else(|| Value::from(text)))
}

/// A result that makes deferred tools known, with their definitions.
fn known(
    chat: &ChatRequest,
    loaded: &LoadedTools,
    text: &str,
    formatter: &dyn Formatter,
) -> ToolResult {
    let names = loaded.names.iter().map(String::as_str);
    let found = chat.contract.offer.tools.named(names);
    let mut result = DeferredTools::defined(&found, formatter);
    if loaded.has_text {
        result.fields.insert("content".to_owned(), text.into());
    }
    result
}

/// Instructions that follow from the contract, beside those about tools.
fn duties(chat: &ChatRequest, keeps_format: bool) -> impl Iterator<Item = String> {
    let contract = &chat.contract;
    let has_tools = !contract.offer.tools.is_empty() && contract.choice != Choice::None;
    let choice = match &contract.choice {
        Choice::Required => {
            Some("In this reply you must call a tool; do not answer in words.".to_owned())
        }
        Choice::Tool(name) => Some(format!(
            "In this reply you must call the tool {name}; do not answer in words."
        )),
        Choice::Auto | Choice::None => None,
    };
    let one =
        (has_tools && contract.one_call).then(|| "Call at most one tool in a reply.".to_owned());
    let format = match &contract.format {
        _ if !keeps_format => None,
        Format::Text => None,
        Format::Json => Some(String::new()),
        Format::Schema(schema) => Some(format!(" It has to fit this JSON Schema:\n{schema}")),
    };
    let format = format.map(|schema| {
        let when = if has_tools { "When you do not call a tool, answer" } else { "Answer" };
        format!("{when} with one JSON object and nothing else: no words around it, no code fence.{schema}")
    });
    choice.into_iter().chain(one).chain(format)
}

/// The settings of `here`, with those of `elsewhere` as defaults.
fn sampling(here: Sampling, elsewhere: Sampling) -> Sampling {
    Sampling {
        temperature: here.temperature.or(elsewhere.temperature),
        top_p: here.top_p.or(elsewhere.top_p),
        top_k: here.top_k.or(elsewhere.top_k),
        seed: here.seed.or(elsewhere.seed),
    }
}
