//! What was said, piece by piece.

use std::borrow::Cow;
use std::time::SystemTime;

use ptk_events::{CallId, RequestId};
use ptk_protocol::{Arguments, ErrorType, Message, ProblemCode, Role, ToolCall, ToolResult};
use serde_json::{Map, Value};

use super::Place;
use crate::kind::{LoggedCall, LoggedProblem, ModelReplied, ReplyOutcome};

/// Something that was said.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The number of its entry.
    pub seq: u64,
    /// When it was said.
    pub ts: SystemTime,
    /// The request it was said in.
    pub request_id: Option<RequestId>,
    /// What was said.
    pub content: Content,
}

/// What was said.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Content {
    /// By a person or another program.
    Message(Message),
    /// By the model, with the calls it made and what came of them.
    Reply(Box<ModelReply>),
    /// To the model, about a reply that could not be used.
    Rejected(String),
    /// The beginning of the conversation in short.
    Summary(String),
}

/// What the model said, and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelReply {
    /// What it said, as it said it.
    pub reply: ModelReplied,
    /// The prose, once somebody has read it.
    pub prose: Option<String>,
    /// What it means, once somebody has read it.
    pub outcome: Option<ReplyOutcome>,
    /// The calls, in the order in which it wrote them.
    pub calls: Vec<Call>,
    /// What it said without its thoughts, if it had any.
    pub told: Option<String>,
}

/// A call, and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The id under which it is run.
    pub id: CallId,
    /// The tool's name.
    pub name: String,
    /// What the tool works on.
    pub arguments: Arguments,
    /// Why the model wants it.
    pub reasoning: Option<String>,
    /// Repairs made and faults found.
    pub problems: Vec<LoggedProblem>,
    /// What came of it.
    pub state: CallState,
    /// The result in short, as another model told it.
    pub shortened: Option<String>,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallState {
    /// It has not begun, so it has not happened.
    Waiting,
    /// It began, and nobody knows its end: it may or may not have happened.
    Uncertain {
        /// When it began.
        since: SystemTime,
    },
    /// It has ended, and must not be run again.
    Ended {
        /// What it gave back.
        result: ToolResult,
        /// What the tools want to know again.
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
        }
    }

    pub(super) fn messages(&self, written: &impl Fn(&Call) -> String, messages: &mut Vec<Message>) {
        match &self.content {
            Content::Message(message) => messages.push(message.clone()),
            Content::Reply(reply) => reply.messages(written, messages),
            Content::Rejected(text) => messages.push(Message::tool(text.clone())),
            Content::Summary(text) => messages.push(Message::system(format!(
                "Summary of the conversation so far:\n{text}"
            ))),
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

    /// What the model is told that it said; `None` if it only thought.
    #[must_use]
    pub fn told(&self) -> Option<&str> {
        match self.told.as_deref() {
            Some("") => None,
            Some(told) => Some(told),
            None => Some(&self.reply.text),
        }
    }

    /// Whether its calls have results. Those of a reply that cannot be used
    /// have none, unless the API wants one for each: the model is told all at
    /// once what was wrong.
    #[must_use]
    pub fn has_results(&self) -> bool {
        self.is_native() || self.outcome != Some(ReplyOutcome::Malformed)
    }

    /// Whether its calls came through a native tool API and not in the text.
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
            role: Role::Tool,
            content: written(call),
            tool_calls: Vec::new(),
            tool_call_id: Some(call.id.to_string()),
        }));
    }
}

impl Call {
    /// What the model is told of it: what it gave back, in short if another
    /// model has told it so, or that nobody knows.
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
