//! Folds events into the conversation.

use ptk_events::{Delivery, Event, EventKind, MessagePart, OutputStream, Step};
use serde_json::Value;

use super::{CallState, CallView, Conversation, Item, ItemKind, Said, Standing};

/// The mark where events were missed.
const GAP: &str = "\u{fffd}";

impl Conversation {
    /// Applies what a subscriber receives.
    pub fn deliver(&mut self, delivery: &Delivery) {
        match delivery {
            Delivery::Event(event) => self.event(event),
            // Only a reply that is streaming can have a gap: the rest arrives
            // again as a whole.
            Delivery::Missed(_) => {
                if self.reply.is_some() {
                    self.stream(MessagePart::Text, GAP);
                }
            }
        }
    }

    /// Applies an event.
    pub fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::TurnBegan { prompt } => self.prompt(prompt),
            EventKind::MessageChunk { part, chunk } => self.stream(*part, chunk),
            EventKind::MessageRestarted { reason } => {
                self.settle(Standing::Broken);
                self.note(reason.clone());
            }
            EventKind::Iteration { call_type, .. } => self.replied(call_type),
            EventKind::Note { message } => self.note(message.clone()),
            EventKind::Compacted { way, messages } => self.left_out(*way, *messages),
            EventKind::HelperReplied {
                task, files, error, ..
            } => self.helped(task, files, error.as_deref()),
            EventKind::ReceiveMessage { message, .. } => self.answered(message),
            EventKind::Error {
                tool: None,
                message,
                ..
            } => {
                self.end();
                self.fail(message.clone());
            }
            _ => self.call_event(event),
        }
    }

    fn call_event(&mut self, event: &Event) {
        let Some(id) = &event.correlation.call_id else {
            return;
        };
        match &event.kind {
            EventKind::ToolCallRequested {
                tool,
                arguments,
                reasoning,
                repairs,
            } => {
                let at = self.call_at(id, tool, arguments);
                self.with_call(at, |call| {
                    call.reasoning.clone_from(reasoning);
                    call.repairs.clone_from(repairs);
                });
            }
            EventKind::ToolCallStart { tool, arguments } => {
                let at = self.call_at(id, tool, arguments);
                let by_hand = event.correlation.request_id.is_none();
                self.with_call(at, |call| {
                    call.by_hand = by_hand;
                    call.begin(event.ts);
                });
            }
            EventKind::ToolCallHeld { tool } => {
                let at = self.call_at(id, tool, &Value::Null);
                self.with_call(at, |call| call.state = CallState::Asked);
            }
            EventKind::ToolStep(step) if step.step == Step::Permission => {
                if let Some(at) = self.calls.get(id).copied() {
                    self.with_call(at, |call| {
                        if call.state == CallState::Asked {
                            call.state = CallState::Running;
                        }
                    });
                }
            }
            EventKind::ToolOutputChunk { stream, chunk } => {
                if let Some(at) = self.calls.get(id).copied() {
                    self.with_call(at, |call| match stream {
                        OutputStream::Progress => call.progress = Some(chunk.clone()),
                        _ => call.output.push(chunk),
                    });
                }
            }
            EventKind::ToolCallEnd {
                tool,
                duration_ms,
                result,
                ..
            } => {
                let at = self.call_at(id, tool, &Value::Null);
                self.with_call(at, |call| call.end(result, *duration_ms));
            }
            _ => {}
        }
    }

    /// The position of a call; a new one is added at the end.
    pub(super) fn call_at(
        &mut self,
        id: &ptk_events::CallId,
        tool: &str,
        arguments: &Value,
    ) -> usize {
        if let Some(at) = self.calls.get(id) {
            return *at;
        }
        self.settle(Standing::Said);
        self.close();
        let call = CallView::new(id.clone(), tool, arguments.clone());
        let at = self.push(ItemKind::Call(Box::new(call)));
        self.calls.insert(id.clone(), at);
        at
    }

    pub(super) fn with_call(&mut self, at: usize, change: impl FnOnce(&mut CallView)) {
        if let Some(ItemKind::Call(call)) = self.change(at) {
            change(call);
        }
    }

    /// Appends a streamed chunk of the model's reply.
    fn stream(&mut self, part: MessagePart, chunk: &str) {
        if self.reply.is_none() {
            let going_on = self.answer.take().filter(|_| part == MessagePart::Text);
            self.reply = Some(going_on.unwrap_or(self.items.len()));
            if let Some(at) = going_on
                && let Some(ItemKind::Text(said)) = self.change(at)
            {
                said.standing = Standing::Streaming;
            }
        }
        let last = self.items.len().checked_sub(1);
        let last = last.filter(|last| self.reply.is_some_and(|start| start <= *last));
        if let Some(last) = last {
            let is_same = matches!(
                (self.items.get(last).map(|item| &item.kind), part),
                (Some(ItemKind::Text(_)), MessagePart::Text)
                    | (Some(ItemKind::Thought(_)), MessagePart::Reasoning)
            );
            if is_same
                && let Some(ItemKind::Text(said) | ItemKind::Thought(said)) = self.change(last)
            {
                said.text.push_str(chunk);
                return;
            }
        }
        let said = Said {
            text: chunk.to_owned(),
            standing: Standing::Streaming,
        };
        let kind = match part {
            MessagePart::Reasoning => ItemKind::Thought(said),
            _ => ItemKind::Text(said),
        };
        self.push(kind);
    }

    /// Completes a reply that was parsed.
    fn replied(&mut self, call_type: &str) {
        self.settle(Standing::Said);
        match call_type {
            "text" => self.may_go_on(),
            "malformed" => self.malformed(),
            _ => self.close(),
        }
    }

    /// Marks the last text as an answer, or the beginning of one.
    pub(super) fn may_go_on(&mut self) {
        let last = self.items.len().checked_sub(1);
        let is_text = |at: &usize| {
            let item = self.items.get(*at);
            item.is_some_and(|item| matches!(item.kind, ItemKind::Text(_)))
        };
        self.answer = last.filter(is_text);
    }

    /// Ends the turn with its answer, which replaces what was streamed of it.
    fn answered(&mut self, message: &str) {
        self.end();
        let of_turn = self.turn_start();
        let is_said = |item: &Item| matches!(&item.kind, ItemKind::Text(said) if said.standing == Standing::Said);
        let last = self.items.iter().rposition(is_said);
        let last = last.filter(|at| *at >= of_turn);
        let text = message.trim();
        match last {
            Some(at) => {
                if let Some(ItemKind::Text(said)) = self.change(at)
                    && said.text != text
                    && (said.text.contains(GAP) || text.starts_with(said.text.as_str()))
                {
                    text.clone_into(&mut said.text);
                }
            }
            None => self.say("", text, Standing::Said),
        }
        self.check_code(message);
    }

    pub(super) fn helped(&mut self, task: &str, files: &[String], error: Option<&str>) {
        match (error, files) {
            (Some(error), _) => self.note(format!("The helping model failed ({task}): {error}")),
            (None, []) => {}
            (None, files) => self.note(format!("Files chosen beforehand: {}", files.join(", "))),
        }
    }
}
