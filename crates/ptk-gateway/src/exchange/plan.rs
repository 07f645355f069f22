//! Plans the request to one model for one answer, and how its reply is parsed.

use std::sync::Arc;

use ptk::llm::{Constraint, Form, Message, Request, ResponseFormat, Sampling, ToolChoice};
use ptk::protocol::{Arguments, Copies, ErrorType, Formatter, Grammar, ToolResult};
use ptk::{Approach, Candidate, merged, one_prompt};
use serde_json::{Map, Value};

use crate::chat_request::{ChatRequest, Choice, Format, UnsupportedContent};
use crate::failure::Failure;
use crate::gateway::Inner;

/// The request to one model for one answer, and how its reply is parsed.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) request: Request,
    /// The grammar that parses its text.
    pub(super) grammar: Grammar,
    pub(super) formatter: Arc<dyn Formatter>,
    pub(super) is_native: bool,
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
        approach: &Approach,
        is_whole: bool,
    ) -> Result<Self, Failure> {
        let formatter = gateway.formatter(approach)?;
        let contract = &chat.contract;
        let is_native = approach.is_native;
        let names = if is_native {
            Some(Vec::new())
        } else {
            contract.taught()
        };
        let only = approach.only.as_deref().or(gateway.dialect.as_deref());
        let only = only.filter(|_| !is_native);
        let dialects = &gateway.dialects;
        let form = approach.can.form;
        let tool_prompt = contract
            .offer
            .tool_prompt(&gateway.workers, &formatter, dialects, only, names, form)
            .await?;
        let passes_format = is_native || approach.can.constraint != Constraint::None;
        let keeps_format = contract.format != Format::Text && !passes_format;
        let has_tools = !contract.offer.tools.is_empty();
        let is_passed =
            !keeps_format && (is_native || !has_tools) && approach.can.form == Form::Chat;
        let api = candidate.provider().speaks().filter(|_| is_passed);
        let sampling = sampling(chat.sampling, candidate.sampling());
        let max_tokens = chat.max_tokens.or(candidate.max_tokens());
        let verbatim = api.map_or(Ok(None), |api| chat.verbatim(api, sampling, max_tokens))?;
        if verbatim.is_none() {
            in_words(chat)?;
        }
        let mut plan = Self {
            request: Request {
                model: approach.model.clone(),
                sampling,
                max_tokens,
                context_window: approach.context_window,
                verbatim,
                whole: is_whole,
                ..Request::default()
            },
            grammar: tool_prompt.grammar.clone(),
            formatter,
            is_native,
            keeps_format,
            holds_calls: contract.whole_calls,
            copies: None,
        };
        if passes_format {
            plan.request.format = match &contract.format {
                Format::Text => ResponseFormat::Text,
                Format::Json => ResponseFormat::Json,
                Format::Schema(schema) => ResponseFormat::Schema((**schema).clone()),
            };
        }
        // Where calls stand in the text, they may contain a stop sequence.
        if is_native || !has_tools {
            plan.request.stop.clone_from(&chat.stop);
        }
        if is_native {
            plan.request.system.clone_from(&chat.system);
            plan.request.messages.clone_from(&chat.messages);
            plan.request.tools = match &contract.allowed {
                Some(names) => contract.offer.only(names),
                None => contract.offer.tools.clone(),
            };
            plan.request.tool_choice = match &contract.choice {
                Choice::Auto => ToolChoice::Auto,
                Choice::None => ToolChoice::None,
                Choice::Required => ToolChoice::Required,
                Choice::Tool(name) => ToolChoice::Tool(name.clone()),
            };
            return Ok(plan);
        }
        if has_tools {
            plan.request.stop = plan.formatter.result_stops();
        }
        let messages = plan.told(chat, approach.can.form);
        let system = chat.system.as_deref().into_iter();
        let system = system.chain(Some(&*tool_prompt.system)).map(str::to_owned);
        let system: Vec<String> = system
            .chain(duties(chat, keeps_format))
            .filter(|it| !it.is_empty())
            .collect();
        let system = system.join("\n\n");
        if approach.can.form == Form::Prompt {
            plan.grammar = plan.grammar.for_transcript();
            plan.request.messages = vec![one_prompt(&*plan.formatter, &system, &messages)];
            plan.request.stop.extend(plan.formatter.stops());
        } else {
            plan.request.examples = Arc::clone(&tool_prompt.examples);
            plan.request.messages = merged(messages);
            plan.request.system = (!system.is_empty()).then_some(system);
        }
        Ok(plan)
    }

    /// The conversation as text.
    fn told(&mut self, chat: &ChatRequest, form: Form) -> Vec<Message> {
        let offer = &chat.contract.offer;
        let mut copies = Copies::default();
        let mut several = false;
        let mut told = Vec::with_capacity(chat.messages.len());
        for message in &chat.messages {
            told.push(match message {
                Message::System(text) | Message::User(text) => Message::User(text.clone()),
                Message::Assistant { text, calls, .. } => {
                    several = calls.len() > 1;
                    let mut text = text.clone();
                    if !calls.is_empty() {
                        if !text.is_empty() {
                            text.push('\n');
                        }
                        text.push_str(&self.formatter.tool_calls(calls));
                    }
                    Message::assistant(text)
                }
                Message::Result {
                    id, text, is_error, ..
                } => {
                    copies.remember(text);
                    let result = result(text, *is_error);
                    let shown = self
                        .formatter
                        .tool_result(&result, several.then_some(id.as_str()));
                    // A mark was broken, so a quote of it has to be restored.
                    self.holds_calls |= shown.matches('~').count() > text.matches('~').count();
                    match form {
                        Form::Chat => Message::User(shown),
                        Form::Prompt => Message::tool(shown),
                    }
                }
            });
        }
        told.retain(|message| !message.text().is_empty());
        let may_copy = offer.tools.names().any(|name| copies.mentions(name));
        self.holds_calls |= may_copy;
        self.copies = may_copy.then_some(copies);
        told
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
        if let [Message::User(prompt)] = request.messages.as_mut_slice()
            && !self.request.stop.is_empty()
            && self.request.system.is_none()
            && prompt.ends_with(&self.formatter.cue())
        {
            let cue = self.formatter.cue();
            prompt.push_str(&format!(" {reply}\n\nUSER: {correction}\n\n{cue}"));
            return request;
        }
        request.messages.push(Message::assistant(reply));
        request.messages.push(Message::user(correction));
        request
    }

    /// The arguments with marks restored that were broken in results.
    pub(super) fn restored(&self, args: Arguments) -> Arguments {
        if self.is_native {
            return args;
        }
        self.formatter.restore(args)
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
