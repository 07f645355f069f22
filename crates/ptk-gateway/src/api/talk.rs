//! A conversation that is being parsed, in any API.

use ptk_llm::Message;
use ptk_protocol::ToolCall;

use crate::chat_request::{LoadedTools, UnsupportedContent};

/// A conversation that is being parsed.
#[derive(Debug, Default)]
pub(super) struct Talk {
    /// The system prompt.
    pub(super) system: Option<String>,
    pub(super) messages: Vec<Message>,
    /// The first part that is not text.
    pub(super) beyond: Option<UnsupportedContent>,
    /// Deferred tools that results made known.
    pub(super) loaded: Vec<LoadedTools>,
    /// The calls of the last reply.
    calls: Vec<Made>,
}

/// A call in the conversation.
#[derive(Debug, Clone)]
pub(super) struct Made {
    id: String,
    name: String,
    has_result: bool,
}

impl Made {
    fn of(call: &ToolCall) -> Self {
        Self {
            id: call.id.clone().unwrap_or_default(),
            name: call.name.clone(),
            has_result: false,
        }
    }
}

impl Talk {
    /// Notes a part of this type, which is not text, if there is one.
    pub(super) fn beyond(&mut self, at: impl Into<String>, kind: Option<String>) {
        if let (None, Some(kind)) = (&self.beyond, kind) {
            let at = at.into();
            self.beyond = Some(UnsupportedContent { at, kind });
        }
    }

    /// Adds instructions. Those at the beginning are joined.
    pub(super) fn system(&mut self, text: String) {
        if !self.messages.is_empty() {
            return self.messages.push(Message::System(text));
        }
        match &mut self.system {
            Some(system) => {
                system.push_str("\n\n");
                system.push_str(&text);
            }
            None => self.system = Some(text),
        }
    }

    pub(super) fn user(&mut self, text: String) {
        self.messages.push(Message::user(text));
    }

    /// Adds a reply of the model. Consecutive messages count as one reply.
    pub(super) fn reply(&mut self, text: String, calls: Vec<ToolCall>) {
        if !matches!(self.messages.last(), Some(Message::Assistant { .. })) {
            self.calls.clear();
        }
        self.calls.extend(calls.iter().map(Made::of));
        self.messages.push(Message::Assistant {
            text,
            calls,
            state: None,
        });
    }

    /// Adds a call to the last reply.
    pub(super) fn call(&mut self, call: ToolCall) {
        match self.messages.last_mut() {
            Some(Message::Assistant { calls, .. }) => {
                self.calls.push(Made::of(&call));
                calls.push(call);
            }
            _ => self.reply(String::new(), vec![call]),
        }
    }

    /// The call of the last reply that has this id.
    pub(super) fn by_id(&self, id: &str) -> Option<Made> {
        self.calls.iter().find(|call| call.id == id).cloned()
    }

    /// The first call of the last reply that has no result yet, among those
    /// of a tool if one is named.
    pub(super) fn next(&self, tool: Option<&str>) -> Option<Made> {
        let is_it = |call: &&Made| !call.has_result && tool.is_none_or(|tool| call.name == tool);
        self.calls.iter().find(is_it).cloned()
    }

    /// Notes that the result of a call makes deferred tools known.
    pub(super) fn load(&mut self, by: &Made, names: Vec<String>, has_text: bool) {
        self.loaded.push(LoadedTools {
            call: by.id.clone(),
            names,
            has_text,
        });
    }

    /// Adds the result of a call.
    pub(super) fn result(&mut self, of: Made, text: String, is_error: bool) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.id == of.id) {
            call.has_result = true;
        }
        self.messages.push(Message::Result {
            id: of.id,
            name: of.name,
            text,
            is_error,
        });
    }
}
