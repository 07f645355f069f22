//! The items of a conversation.

use std::borrow::Cow;
use std::time::SystemTime;

use ptk_events::{CallId, RequestId};
use ptk_protocol::{Arguments, ErrorType, Image, Message, ProblemCode, ToolCall, ToolResult};
use serde_json::{Map, Value};

use super::Place;
use crate::kind::{LoggedCall, LoggedProblem, ModelReplied, ReplyOutcome};

/// An item of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The number of its entry.
    pub seq: u64,
    /// When the item was written.
    pub ts: SystemTime,
    /// The request it belongs to.
    pub request_id: Option<RequestId>,
    /// The content of the item.
    pub content: Content,
    /// Whether it is of a turn that failed before any reply because its images
    /// were refused.
    pub is_refused: bool,
}

/// The content of an item.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Content {
    /// A message of a person or another program.
    Message(Message),
    /// A reply of the model, with its calls and their results.
    Reply(Box<ModelReply>),
    /// A message to the model about a reply that could not be used.
    Rejected(String),
    /// A summary of the beginning of the conversation.
    Summary {
        /// The text.
        text: String,
        /// The images of the prompt that it repeats.
        images: Vec<Image>,
    },
    /// What the model is told of a tool that a person has run by hand.
    RanByHand(String),
}

/// A reply of the model, with its calls and their results.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelReply {
    /// The reply, as it came.
    pub reply: ModelReplied,
    /// The prose, once the reply has been parsed.
    pub prose: Option<String>,
    /// What the reply means for the loop, once it has been parsed.
    pub outcome: Option<ReplyOutcome>,
    /// The calls, in the order in which the model wrote them.
    pub calls: Vec<Call>,
    /// The text without reasoning, if it had any.
    pub told: Option<String>,
}

/// A call and its state.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The id under which it is run.
    pub id: CallId,
    /// The tool's name.
    pub name: String,
    /// The arguments.
    pub arguments: Arguments,
    /// The model's reason for the call.
    pub reasoning: Option<String>,
    /// Repairs made and faults found.
    pub problems: Vec<LoggedProblem>,
    /// Whether the call has begun or ended.
    pub state: CallState,
    /// The result as shortened by another model.
    pub shortened: Option<String>,
}

/// The state of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallState {
    /// The call has not begun, so it has not happened.
    Waiting,
    /// The call began, and its end is unknown: it may or may not have happened.
    Uncertain {
        /// When it began.
        since: SystemTime,
    },
    /// The call has ended, and must not be run again.
    Ended {
        /// The result.
        result: ToolResult,
        /// The state that the tools need again when the session goes on.
        state: Option<Value>,
    },
}

impl Item {
    pub(super) fn new(entry: &Place<'_>, content: Content) -> Self {
        Self {
            seq: entry.seq,
            ts: entry.ts,
            request_id: entry.correlation.request_id,
            content,
            is_refused: false,
        }
    }

    pub(super) fn messages(&self, written: &impl Fn(&Call) -> String, messages: &mut Vec<Message>) {
        match &self.content {
            Content::Message(message) => messages.push(message.clone()),
            Content::Reply(reply) => reply.messages(written, messages),
            Content::Rejected(text) => messages.push(Message::tool(text.clone())),
            Content::Summary { text, .. } => messages.push(Message::system(format!(
                "Summary of the conversation so far:\n{text}"
            ))),
            Content::RanByHand(text) => messages.push(Message::user(text.clone())),
        }
    }
}

impl ModelReply {
    pub(super) fn new(reply: ModelReplied) -> Self {
        Self {
            reply,
            prose: None,
            outcome: None,
            calls: Vec::new(),
            told: None,
        }
    }

    /// The text that the model is shown as its own; `None` if it only thought.
    #[must_use]
    pub fn told(&self) -> Option<&str> {
        match self.told.as_deref() {
            Some("") => None,
            Some(told) => Some(told),
            None => Some(&self.reply.text),
        }
    }

    /// Whether the calls have results. Those of a reply that cannot be used
    /// have none, unless the API wants one for each: one message says what was
    /// wrong with the whole reply.
    #[must_use]
    pub fn has_results(&self) -> bool {
        self.is_native() || self.outcome != Some(ReplyOutcome::Malformed)
    }

    /// Whether the calls came through a native tool API and not in the text.
    fn is_native(&self) -> bool {
        !self.reply.calls.is_empty() || self.reply.text.is_empty()
    }

    fn messages(&self, written: &impl Fn(&Call) -> String, messages: &mut Vec<Message>) {
        let mut said = Message::assistant(self.told().unwrap_or_default());
        if self.is_native() {
            said.tool_calls = self.calls.iter().map(Call::to_call).collect();
        }
        if self.told().is_some() || !said.tool_calls.is_empty() {
            messages.push(said);
        }
        let answered = self.calls.iter().filter(|_| self.has_results());
        messages.extend(answered.map(|call| Message {
            tool_call_id: Some(call.id.to_string()),
            ..Message::tool(written(call))
        }));
    }
}

impl Call {
    /// The result that the model is shown: the tool's own, shortened if another
    /// model has shortened it, or that the outcome is unknown.
    #[must_use]
    pub fn result(&self) -> Cow<'_, ToolResult> {
        Cow::Owned(match &self.state {
            CallState::Ended { result, .. } if self.shortened.is_some() => ToolResult {
                fields: Map::from_iter([("shortened".to_owned(), self.shortened.clone().into())]),
                ..result.clone()
            },
            CallState::Ended { result, .. } => return Cow::Borrowed(result),
            CallState::Waiting if self.has_been_cut() => ToolResult::failure(
                ErrorType::ValidationError,
                "This call was not run: it was cut off before its arguments closed",
            )
            .with_suggestion("Send it again, shorter."),
            CallState::Waiting => ToolResult::failure(
                ErrorType::SystemError,
                "This call was not run: the session was interrupted before it began",
            )
            .with_suggestion("Call the tool again if the result is still needed."),
            CallState::Uncertain { .. } => ToolResult::failure(
                ErrorType::SystemError,
                "The outcome of this call is unknown: the session was interrupted while it ran, so it may or may not have happened",
            )
            .with_suggestion("Look at what it would have changed before calling the tool again."),
        })
    }

    fn has_been_cut(&self) -> bool {
        let cut = ProblemCode::Truncated.as_str();
        self.problems.iter().any(|problem| problem.code == cut)
    }

    /// The call as the model made it.
    #[must_use]
    pub fn to_call(&self) -> ToolCall {
        ToolCall {
            id: Some(self.id.to_string()),
            name: self.name.clone(),
            args: self.arguments.clone(),
            reasoning: self.reasoning.clone(),
        }
    }
}

impl From<LoggedCall> for Call {
    fn from(call: LoggedCall) -> Self {
        Self {
            id: call.id,
            name: call.name,
            arguments: call.arguments,
            reasoning: call.reasoning,
            problems: call.problems,
            state: CallState::Waiting,
            shortened: None,
        }
    }
}
