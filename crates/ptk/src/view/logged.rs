//! Folds the entries of the log into the conversation.

use ptk_events::CompactionWay;
use ptk_protocol::Role;
use ptk_store::{
    Entry, EntryKind, HelperReplied, LoggedCall, LoggedMessage, ModelReplied, ReplyBroken,
    ReplyOutcome, ReplyParsed, TurnEnded, TurnOutcome,
};
use serde_json::Value;

use super::{CallState, Conversation, ItemKind, Notice, Standing, Tone};
use crate::prompt::with_images;
use crate::turn::is_fault;

impl Conversation {
    /// Applies an entry of the log.
    pub fn entry(&mut self, entry: &Entry) {
        match entry.kind() {
            EntryKind::Message(message) => self.message(&message),
            EntryKind::ModelReplied(reply) => self.model_replied(reply),
            EntryKind::ReplyBroken(broken) => self.broken(&broken),
            EntryKind::ReplyParsed(parsed) => self.parsed(parsed),
            EntryKind::HelperReplied(helped) => self.helper(&helped),
            EntryKind::Compacted(_) => self.left_out(CompactionWay::Summarised, None),
            EntryKind::Cleared(_) => {
                *self = Self {
                    count: self.count,
                    changes: self.changes + 1,
                    usage: self.usage,
                    ..Self::default()
                }
            }
            EntryKind::Failure(failure) => self.note(failure.message),
            EntryKind::Note(note) => self.note(note.text),
            EntryKind::TurnBegan(_) => self.end(),
            EntryKind::TurnEnded(ended) => self.turn_ended(ended),
            _ => self.call_entry(entry),
        }
    }

    fn call_entry(&mut self, entry: &Entry) {
        let Some(id) = &entry.correlation.call_id else {
            return;
        };
        match entry.kind() {
            EntryKind::CallBegan(began) => {
                let arguments = Value::Object(began.arguments.as_map().clone());
                let at = self.read_call(id, &began.tool, Some(arguments));
                self.with_call(at, |call| call.begin(entry.ts));
            }
            EntryKind::CallHeld(held) => {
                let at = self.read_call(id, &held.tool, None);
                self.with_call(at, |call| call.state = CallState::Asked);
            }
            EntryKind::CallAllowed(allowed) => {
                let at = self.read_call(id, &allowed.tool, None);
                self.with_call(at, |call| call.state = CallState::Running);
            }
            EntryKind::CallCut(cut) => {
                let at = self.read_call(id, &cut.tool, None);
                self.with_call(at, |call| call.end(&cut.result, cut.duration_ms));
            }
            EntryKind::RanByHand(ran) => {
                let arguments = Value::Object(ran.arguments.as_map().clone());
                let at = self.call_at(id, &ran.tool, &arguments);
                self.with_call(at, |call| {
                    call.by_hand = true;
                    call.end(&ran.result, ran.duration_ms);
                });
            }
            EntryKind::CallEnded(ended) => {
                let at = self.read_call(id, &ended.tool, None);
                self.with_call(at, |call| call.end(&ended.result, ended.duration_ms));
            }
            _ => {}
        }
    }

    /// The position of a call, completed with what was parsed of it in the
    /// reply.
    fn read_call(
        &mut self,
        id: &ptk_events::CallId,
        tool: &str,
        arguments: Option<Value>,
    ) -> usize {
        let read = self.read.remove(id);
        let own = |call: &LoggedCall| Value::Object(call.arguments.as_map().clone());
        let arguments = arguments.or_else(|| read.as_ref().map(own));
        let at = self.call_at(id, tool, &arguments.unwrap_or(Value::Null));
        if let Some(read) = read {
            self.with_call(at, |call| {
                call.reasoning = read.reasoning;
                let repairs = read.problems.into_iter().filter(|it| !is_fault(it));
                call.repairs = repairs.map(|problem| problem.message).collect();
            });
        }
        at
    }

    fn message(&mut self, message: &LoggedMessage) {
        match message.role {
            Role::User => self.prompt(&with_images(&message.text, message.images.len())),
            Role::Assistant => self.say("", &message.text, Standing::Said),
            // Not for users.
            _ => {}
        }
    }

    fn model_replied(&mut self, reply: ModelReplied) {
        if let Some(usage) = reply.usage {
            self.usage.add(usage);
        }
        self.thought = reply.reasoning;
    }

    fn broken(&mut self, broken: &ReplyBroken) {
        if let Some(usage) = broken.usage {
            self.usage.add(usage);
        }
        self.say(&broken.reasoning, &broken.text, Standing::Broken);
    }

    fn parsed(&mut self, parsed: ReplyParsed) {
        let mut thought = std::mem::take(&mut self.thought);
        thought.push_str(&parsed.reasoning);
        let going_on = self.answer.take().filter(|_| thought.trim().is_empty());
        match going_on.and_then(|at| self.change(at)) {
            Some(ItemKind::Text(said)) => said.text.push_str(&parsed.text),
            _ => self.say(&thought, &parsed.text, Standing::Said),
        }
        match parsed.outcome {
            ReplyOutcome::Text => self.may_go_on(),
            ReplyOutcome::Malformed => self.malformed(),
            ReplyOutcome::Calls => self.close(),
        }
        let calls = parsed.calls.into_iter();
        self.read = calls.map(|call| (call.id.clone(), call)).collect();
    }

    fn helper(&mut self, helped: &HelperReplied) {
        if let Some(usage) = helped.usage {
            self.usage.add(usage);
        }
        let files: Vec<String> = helped.files.iter().map(|file| file.path.clone()).collect();
        self.helped(helped.task.as_str(), &files, helped.error.as_deref());
    }

    fn turn_ended(&mut self, ended: TurnEnded) {
        self.end();
        if ended.outcome == TurnOutcome::Answered {
            let items = self.items.iter().skip(self.turn_start()).rev();
            let mut said = items.filter_map(|item| match &item.kind {
                ItemKind::Text(said) if said.standing == Standing::Said => Some(&said.text),
                _ => None,
            });
            if let Some(answer) = said.next().cloned() {
                self.check_code(&answer);
            }
            return;
        }
        let Some(message) = ended.message else { return };
        // The failure was logged before the end of the turn.
        let last = self.items.len().checked_sub(1);
        if let Some(at) = last
            && let Some(ItemKind::Notice(Notice { tone, text })) = self.change(at)
            && *text == message
        {
            *tone = Tone::Error;
            return;
        }
        self.fail(message);
    }
}
