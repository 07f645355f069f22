//! A session as Markdown, for people.

use std::io::Write;

use ptk_events::CallId;
use ptk_protocol::Role;

use super::calls::Calls;
use super::form::{Thoughts, one_line, remark};
use super::unwritable;
use crate::copying::PAGE;
use crate::kind::ModelReplied;
use crate::{
    Entry, EntryKind, Fork, HelperReplied, HelperTask, Overview, ReplyBroken, ReplyParsed,
    SessionId, SessionImported, Store, StoreError, Stretch, TurnEnded, TurnOutcome, time,
};

/// Writes a session for people. Returns whether the session exists.
///
/// # Errors
///
/// If the store cannot be read, or `out` not be written.
pub async fn write_markdown(
    store: &dyn Store,
    session: &SessionId,
    thoughts: Thoughts,
    out: &mut (dyn Write + Send),
) -> Result<bool, StoreError> {
    let Some(overview) = store.session(session).await? else {
        return Ok(false);
    };
    let mut page = Page {
        text: String::new(),
        thoughts,
        reply: None,
        calls: Calls::default(),
        behind: String::new(),
    };
    page.heading(&overview);
    let mut last = 0;
    loop {
        out.write_all(page.text.as_bytes()).map_err(unwritable)?;
        page.text.clear();
        let entries = store.read(session, Stretch::after(last, PAGE)).await?;
        let Some(end) = entries.last() else { break };
        last = end.seq;
        for entry in &entries {
            page.entry(entry);
        }
    }
    page.unread_reply();
    page.leave_reply();
    out.write_all(page.text.as_bytes()).map_err(unwritable)?;
    out.flush().map_err(unwritable)?;
    Ok(true)
}

struct Page {
    text: String,
    thoughts: Thoughts,
    /// A reply that has not been parsed so far: then it is shown as it is.
    reply: Option<ModelReplied>,
    /// The calls of the last reply, until work on it is over.
    calls: Calls,
    /// What was said while the calls ran.
    behind: String,
}

impl Page {
    fn heading(&mut self, overview: &Overview) {
        self.text
            .push_str(&format!("# {}\n\n", one_line(overview.name())));
        let info = &overview.info;
        let usage = overview.usage;
        let cost = match usage.cost_micros {
            0 => None,
            micros => Some(format!(
                "{}.{:06} US dollars",
                micros / 1_000_000,
                micros % 1_000_000
            )),
        };
        let lines = [
            ("Session", Some(overview.id.to_string())),
            ("Forked from", overview.forked_from.as_ref().map(origin)),
            ("Imported", overview.imported.as_ref().map(imported)),
            ("Workspace", info.workspace.clone()),
            ("Provider", info.provider.clone()),
            ("Model", info.model.clone()),
            ("Began", Some(time::shown(overview.created))),
            ("Last entry", Some(time::shown(overview.updated))),
            (
                "Tokens",
                Some(format!(
                    "{} in{}, {} out",
                    usage.input_tokens,
                    usage.cached_part(),
                    usage.output_tokens
                )),
            ),
            ("Cost", cost),
        ];
        for (name, value) in lines {
            if let Some(value) = value {
                self.text
                    .push_str(&format!("- {name}: {}\n", one_line(&value)));
            }
        }
    }

    fn entry(&mut self, entry: &Entry) {
        let kind = entry.kind();
        if let EntryKind::ReplyParsed(parsed) = kind {
            self.parsed(parsed);
            return;
        }
        self.unread_reply();
        let Some(kind) = self.of_a_call(entry.correlation.call_id.as_ref(), kind) else {
            return;
        };
        let is_over = matches!(
            kind,
            EntryKind::TurnBegan(_)
                | EntryKind::RequestBegan(_)
                | EntryKind::ModelReplied(_)
                | EntryKind::Cleared(_)
                | EntryKind::TurnEnded(_)
        );
        if is_over || self.calls.have_ended() {
            self.leave_reply();
        }
        match kind {
            EntryKind::Message(message) => {
                let speaker = match message.role {
                    Role::User => "You",
                    Role::Assistant => "Model",
                    Role::System => "Instructions",
                    Role::Tool => "Tool",
                };
                self.section(speaker, &message.text);
                if !message.images.is_empty() {
                    self.remark(
                        "Images that were sent with it",
                        &message.images.len().to_string(),
                    );
                }
            }
            EntryKind::ModelReplied(reply) => self.reply = Some(reply),
            EntryKind::ReplyBroken(broken) => self.broken(&broken),
            EntryKind::ReplyRejected(rejected) => {
                self.remark(
                    "The reply could not be used. The model was told",
                    &rejected.text,
                );
            }
            EntryKind::Compacted(compacted) => {
                self.remark("From here on, the model knows in short", &compacted.text);
            }
            EntryKind::Cleared(_) => self.text.push_str("\n---\n"),
            EntryKind::Failure(failure) => self.remark("Error", &failure.message),
            EntryKind::Note(note) => self.remark("Note", &note.text),
            EntryKind::HelperReplied(helped) => self.helped(&helped),
            EntryKind::TurnEnded(turn) => self.turn_ended(&turn),
            _ => {}
        }
    }

    /// Handles an entry about a call; returns any other entry's kind.
    fn of_a_call(&mut self, id: Option<&CallId>, kind: EntryKind) -> Option<EntryKind> {
        let Some(id) = id else { return Some(kind) };
        match kind {
            EntryKind::CallBegan(began) => self.calls.began(id, &began),
            EntryKind::CallHeld(_) => self.calls.held(id),
            EntryKind::CallAllowed(_) => self.calls.allowed(id),
            EntryKind::CallCut(cut) => self.calls.cut(id, &cut),
            EntryKind::CallEnded(ended) => self.calls.ended(id, &ended),
            EntryKind::RanByHand(ran) => {
                self.leave_reply();
                self.calls.ran_by_hand(id, &ran);
                self.leave_reply();
            }
            kind => return Some(kind),
        }
        None
    }

    /// Where the next text is written: behind the calls while there are any.
    fn out(&mut self) -> &mut String {
        if self.calls.is_empty() {
            &mut self.text
        } else {
            &mut self.behind
        }
    }

    fn section(&mut self, speaker: &str, text: &str) {
        if !text.trim().is_empty() {
            let section = format!("\n## {speaker}\n\n{}\n", text.trim_end());
            self.out().push_str(&section);
        }
    }

    fn unread_reply(&mut self) {
        if let Some(reply) = self.reply.take() {
            self.thought(&reply.reasoning);
            self.section("Model", &reply.text);
        }
    }

    fn parsed(&mut self, parsed: ReplyParsed) {
        self.leave_reply();
        if let Some(reply) = self.reply.take() {
            self.thought(&reply.reasoning);
        }
        self.thought(&parsed.reasoning);
        self.section("Model", &parsed.text);
        self.calls.found(parsed.calls);
    }

    /// Shows the text of a broken reply, which people may have seen.
    fn broken(&mut self, broken: &ReplyBroken) {
        self.thought(&broken.reasoning);
        self.section("Model", &broken.text);
        self.remark("Not a whole reply", &broken.reason);
    }

    fn thought(&mut self, thought: &str) {
        if self.thoughts == Thoughts::Shown && !thought.trim().is_empty() {
            self.remark("Thoughts", thought);
        }
    }

    /// Ends work on a reply: shows its calls, in the order in which the model
    /// made them, and behind them what was said meanwhile.
    fn leave_reply(&mut self) {
        let shown = self.calls.take(self.thoughts);
        self.text.push_str(&shown);
        self.text.push_str(&std::mem::take(&mut self.behind));
    }

    /// Shows what another model did.
    fn helped(&mut self, helped: &HelperReplied) {
        let name = helped.model.as_deref().unwrap_or(&helped.provider);
        let files: Vec<&str> = helped.files.iter().map(|file| file.path.as_str()).collect();
        let done = match (&helped.error, helped.task) {
            (Some(error), task) => {
                format!("could not {}: {error}", task.as_str().replace('_', " "))
            }
            (None, HelperTask::ChooseFiles) => format!("chose {}", files.join(", ")),
            (None, HelperTask::SumUp) => "summed up the conversation".to_owned(),
            (None, HelperTask::Shorten) => "shortened the result of a call".to_owned(),
        };
        self.remark("Note", &format!("{name} {done}"));
    }

    fn turn_ended(&mut self, turn: &TurnEnded) {
        match turn.outcome {
            TurnOutcome::Answered => {}
            TurnOutcome::Failed => {
                self.remark(
                    "Failed",
                    turn.message.as_deref().unwrap_or("no reason is known"),
                );
            }
            TurnOutcome::Cancelled => self.remark("Stopped", "it was stopped"),
        }
    }

    fn remark(&mut self, what: &str, text: &str) {
        let remark = remark(what, text);
        self.out().push_str(&remark);
    }
}

fn origin(fork: &Fork) -> String {
    let turns = match fork.turns {
        1 => "its first turn".to_owned(),
        turns => format!("its first {turns} turns"),
    };
    format!("{}, {turns}", fork.session)
}

fn imported(imported: &SessionImported) -> String {
    match imported.through {
        1 => "1 entry".to_owned(),
        entries => format!("{entries} entries"),
    }
}
