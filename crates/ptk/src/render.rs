//! Renders the conversation as the model is shown it.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use ptk_events::CallId;
use ptk_llm::{Form, Message};
use ptk_model::{TokenCounter, cost, most, result_message, with_calls};
use ptk_protocol::schema::example;
use ptk_protocol::{Formatter, Image, Message as Said, ProblemCode, Role, ToolCall, ToolResult};
use ptk_store::{Call, Content, Item, LoggedProblem, ModelReply, Transcript};
use ptk_tools::ResultLimit;
use serde_json::{Map, Value};

use crate::cut_results::CutResults;
use crate::engine::TurnConfig;
use crate::find_tools;
use crate::turn::is_fault;

/// The notice in the place of what was left out.
pub(crate) const LEFT_OUT: &str = "The beginning of this conversation was left out, to make room.";
/// The notice in the place of images.
const IMAGES_LEFT_OUT: &str = "(Images were attached here, which you cannot see.)";
/// The text beside the images of a prompt that a summary repeats.
const ASKED_WITH: &str = "(The images that were attached to this request.)";

/// Renders messages as one model wants them.
pub(crate) struct Renderer<'a> {
    config: &'a TurnConfig,
    cut_results: Option<&'a CutResults>,
}

/// A rendered item, and its cost in tokens.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) messages: Vec<Message>,
    /// The most tokens it can take.
    pub(crate) most: u64,
    /// Its tokens, counted only if that matters.
    cost: OnceLock<u64>,
}

impl Shown {
    /// How many tokens it takes.
    pub(crate) fn cost(&self, tokens: &dyn TokenCounter) -> u64 {
        let count = || self.messages.iter().map(|message| cost(tokens, message));
        *self.cost.get_or_init(|| count().sum())
    }
}

impl<'a> Renderer<'a> {
    /// Renders what is no result of a call.
    pub(crate) const fn new(config: &'a TurnConfig) -> Self {
        Self {
            config,
            cut_results: None,
        }
    }

    /// Renders results, too. Those that are too long are cut.
    pub(crate) const fn with_results(config: &'a TurnConfig, cut_results: &'a CutResults) -> Self {
        Self {
            config,
            cut_results: Some(cut_results),
        }
    }

    pub(crate) const fn config(&self) -> &TurnConfig {
        self.config
    }

    /// Renders an item of a conversation. Before the first one stand definitions
    /// of tools that were found in what was left out.
    pub(crate) fn shown(&self, items: &[Item], item: &Item) -> Shown {
        let is_first = items.first().is_some_and(|first| first.seq == item.seq);
        let recalled = is_first.then(|| find_tools::recalled(self, items));
        let recalled = recalled.flatten().into_iter();
        let messages: Vec<Message> = recalled.chain(self.item(item)).collect();
        Shown {
            most: messages.iter().map(most).sum(),
            messages,
            cost: OnceLock::new(),
        }
    }

    /// Renders an item. A call and its result are in one item, so they stay
    /// together.
    pub(crate) fn item(&self, item: &Item) -> Vec<Message> {
        match &item.content {
            Content::Message(message) => vec![self.message(message, self.shows_images(item))],
            Content::Reply(reply) => self.reply(reply),
            Content::Rejected(text) if self.config.prompt.form == Form::Prompt => {
                vec![Message::tool(text)]
            }
            Content::Rejected(text) => vec![self.note(text)],
            Content::Summary { text, images } => {
                self.summary(&summary(text), images, self.shows_images(item))
            }
            Content::RanByHand(text) => {
                // It quotes what a program has printed.
                let text = self.config.prompt.formatter.break_marks(text);
                vec![Message::user(text)]
            }
            _ => Vec::new(),
        }
    }

    /// A message that the user did not write. Many models know instructions
    /// only at the beginning of a conversation.
    pub(crate) fn note(&self, text: &str) -> Message {
        if self.config.prompt.is_native {
            Message::system(text)
        } else {
            Message::user(text)
        }
    }

    /// Whether the images of an item are shown: the model takes images, and its
    /// server did not refuse these.
    pub(crate) fn shows_images(&self, item: &Item) -> bool {
        self.config.approach.can.takes_images
            && !item.is_refused
            && item.seq >= self.config.images_from
    }

    /// Renders a summary, and the images of the prompt that it repeats.
    fn summary(&self, text: &str, images: &[Image], shows_images: bool) -> Vec<Message> {
        if images.is_empty() {
            return vec![self.note(text)];
        }
        if !shows_images {
            return vec![self.note(&without_images(text))];
        }
        let images = images.to_vec();
        match self.note(text) {
            Message::User { text, .. } => vec![Message::User { text, images }],
            note => {
                let text = ASKED_WITH.to_owned();
                vec![note, Message::User { text, images }]
            }
        }
    }

    /// Renders a message of the conversation.
    pub(crate) fn said(&self, message: &Said) -> Message {
        self.message(message, self.config.approach.can.takes_images)
    }

    fn message(&self, message: &Said, shows_images: bool) -> Message {
        let text = message.content.clone();
        match message.role {
            Role::System => self.note(&text),
            Role::User => prompt(text, &message.images, shows_images),
            Role::Assistant => self.assistant(text, message.tool_calls.clone(), None),
            Role::Tool => match &message.tool_call_id {
                Some(id) if self.config.prompt.is_native => Message::Result {
                    id: id.clone(),
                    name: String::new(),
                    text,
                    is_error: false,
                },
                _ => Message::user(text),
            },
        }
    }

    fn assistant(&self, text: String, calls: Vec<ToolCall>, state: Option<Value>) -> Message {
        if self.config.prompt.is_native {
            return Message::Assistant { text, calls, state };
        }
        Message::assistant(with_calls(&*self.config.prompt.formatter, text, &calls))
    }

    fn reply(&self, reply: &ModelReply) -> Vec<Message> {
        let said = &reply.reply;
        let is_native = !said.calls.is_empty();
        let calls = if is_native {
            reply.calls.iter().map(Call::to_call).collect()
        } else {
            Vec::new()
        };
        let told = reply.told();
        let mut messages = Vec::new();
        if told.is_some() || is_native {
            let text = told.unwrap_or_default().to_owned();
            messages.push(self.assistant(text, calls, said.state.clone()));
        }
        if is_native && self.config.prompt.is_native {
            messages.extend(reply.calls.iter().map(|call| self.native_result(call)));
            messages.extend(failed(&reply.calls).map(Message::System));
        } else if !reply.calls.is_empty() && reply.has_results() {
            let several = reply.calls.len() > 1;
            let results = reply.calls.iter().map(|call| {
                let id = several.then_some(call.id.as_str());
                let told =
                    |result: &ToolResult| self.config.prompt.formatter.tool_result(result, id);
                let mut told = self.fitting(call, told);
                told.extend(self.right_call(call));
                told
            });
            let results: Vec<String> = results.collect();
            let results = results.join("\n\n");
            messages.push(result_message(self.config.prompt.form, results));
        }
        messages
    }

    /// A right call in the taught dialect, for one that cannot run as it was
    /// written.
    fn right_call(&self, call: &Call) -> Option<String> {
        let is_unfit = |problem: &LoggedProblem| {
            is_fault(problem) && problem.code != ProblemCode::CopiedFromResult.as_str()
        };
        if call.result().success || !call.problems.iter().any(is_unfit) {
            return None;
        }
        let right = example::call(self.config.meant(call)?);
        let right = self.config.prompt.formatter.tool_calls(&[right]);
        Some(format!("\nA right call looks like this:\n{right}"))
    }

    /// Renders a result without a call of the model.
    pub(crate) fn result(&self, result: &ToolResult) -> String {
        if self.config.prompt.is_native {
            native(result)
        } else {
            self.config.prompt.formatter.tool_result(result, None)
        }
    }

    fn native_result(&self, call: &Call) -> Message {
        let result = call.result();
        Message::Result {
            id: call.id.to_string(),
            name: call.name.clone(),
            text: self.fitting(call, native),
            is_error: !result.success,
        }
    }

    /// Renders the result of a call, which is cut if it would fill the window.
    pub(crate) fn fitting(&self, call: &Call, told: impl Fn(&ToolResult) -> String) -> String {
        let text = told(&call.result());
        let most = self.config.budget.of_a_result();
        // No token has less than a byte.
        if text.len() as u64 <= most || self.config.tokens.count(&text) <= most {
            return text;
        }
        let tokens = Arc::clone(&self.config.tokens);
        let limit = ResultLimit::new(most, move |text| tokens.count(text));
        let cut = self
            .cut_results
            .and_then(|results| results.cut(call, &limit));
        cut.map_or(text, |cut| told(&cut))
    }
}

/// Renders a message of the user. A model that is not shown its images is told
/// that there were some.
fn prompt(text: String, images: &[Image], shows_images: bool) -> Message {
    if images.is_empty() {
        return Message::user(text);
    }
    if shows_images {
        let images = images.to_vec();
        return Message::User { text, images };
    }
    Message::user(without_images(&text))
}

/// A text whose images are left out.
pub(crate) fn without_images(text: &str) -> String {
    format!("{text}\n\n{IMAGES_LEFT_OUT}")
}

fn summary(text: &str) -> String {
    if text.starts_with(LEFT_OUT) {
        return text.to_owned();
    }
    format!("Summary of the conversation so far:\n{text}")
}

/// A note about the native calls that failed, if there are any.
fn failed(calls: &[Call]) -> Option<String> {
    let names: Vec<&str> = calls
        .iter()
        .filter(|call| !call.result().success)
        .map(|call| call.name.as_str())
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "Calls that failed: {}. See what their results say before you go on.",
            names.join(", ")
        )
    })
}

/// A result as raw JSON: whether it went well, and the fields.
fn native(result: &ToolResult) -> String {
    let mut fields = Map::from_iter([("ok".to_owned(), Value::Bool(result.success))]);
    if !result.success {
        fields.insert("error".to_owned(), result.error.clone().into());
    }
    if let Some(suggestion) = &result.suggestion {
        fields.insert("suggestion".to_owned(), suggestion.clone().into());
    }
    fields.extend(result.fields.clone());
    Value::Object(fields).to_string()
}

/// A result as plain text: what it consists of, if that is but one text, else
/// a line or a paragraph for each field.
pub(crate) fn plain_text(result: &ToolResult) -> String {
    let fields = match result.payload() {
        Value::String(text) => return text,
        Value::Object(fields) => fields,
        value => return value.to_string(),
    };
    let texts = fields.iter().map(|(name, value)| match value {
        Value::String(text) => format!("{name}:\n{text}"),
        value => format!("{name}: {value}"),
    });
    let texts: Vec<String> = texts.collect();
    texts.join("\n")
}

/// The conversation in PTK's own format, for the caller. Results are as the
/// model was shown them.
pub(crate) fn conversation(
    formatter: &dyn Formatter,
    system: &str,
    transcript: &Transcript,
    shown: &HashMap<u64, Arc<Shown>>,
) -> Vec<Said> {
    let first = (!system.is_empty()).then(|| Said::system(system));
    let told = transcript.items().iter().filter_map(|item| {
        let Content::Reply(reply) = &item.content else {
            return None;
        };
        let [call] = reply.calls.as_slice() else {
            return None;
        };
        match shown.get(&item.seq)?.messages.last() {
            Some(Message::User { text, .. }) => Some((&call.id, text)),
            Some(Message::Result { id, text, .. }) if id.is_empty() => Some((&call.id, text)),
            _ => None,
        }
    });
    let told: HashMap<&CallId, &String> = told.collect();
    let messages = transcript.messages_of(|call| match told.get(&call.id) {
        Some(text) => String::clone(text),
        None => formatter.tool_result(&call.result(), None),
    });
    first.into_iter().chain(messages).collect()
}
