//! A session as Markdown, for people.

use std::collections::HashMap;
use std::io::Write;

use ptk_events::CallId;
use ptk_protocol::{Role, ToolResult};

use super::{PAGE, unwritable};
use crate::kind::ModelReplied;
use crate::{
    CallBegan, CallEnded, Entry, EntryKind, HelperReplied, HelperTask, Overview, SessionId, Store,
    StoreError, Stretch, TurnEnded, TurnOutcome, time,
};

/// Characters shown of what a tool was given, and of what it gave back.
const MAX_SHOWN: usize = 4000;

/// Writes a session for people. Says whether there is one.
///
/// # Errors
///
/// If the store cannot be read, or `out` not be written.
pub async fn write_markdown(
    store: &dyn Store,
    session: &SessionId,
    out: &mut (dyn Write + Send),
) -> Result<bool, StoreError> {
    let Some(overview) = store.session(session).await? else {
        return Ok(false);
    };
    let mut page = Page::default();
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
    page.end();
    out.write_all(page.text.as_bytes()).map_err(unwritable)?;
    out.flush().map_err(unwritable)?;
    Ok(true)
}

#[derive(Default)]
struct Page {
    text: String,
    /// A reply that nobody has read so far: then it is shown as it is.
    reply: Option<ModelReplied>,
    /// Calls that have not ended, in the order in which they began.
    open: HashMap<CallId, (u64, CallBegan)>,
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
            ("Workspace", info.workspace.clone()),
            ("Provider", info.provider.clone()),
            ("Model", info.model.clone()),
            ("Began", Some(time::shown(overview.created))),
            ("Last entry", Some(time::shown(overview.updated))),
            (
                "Tokens",
                Some(format!(
                    "{} in, {} out",
                    usage.input_tokens, usage.output_tokens
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
        if let EntryKind::ReplyParsed(parsed) = &kind {
            self.reply = None;
            self.section("Model", &parsed.text);
            return;
        }
        self.unread_reply();
        match kind {
            EntryKind::Message(message) => {
                let speaker = match message.role {
                    Role::User => "You",
                    Role::Assistant => "Model",
                    Role::System => "Instructions",
                    Role::Tool => "Tool",
                };
                self.section(speaker, &message.text);
            }
            EntryKind::ModelReplied(reply) => self.reply = Some(reply),
            EntryKind::CallBegan(call) => {
                if let Some(id) = entry.correlation.call_id.clone() {
                    self.open.insert(id, (entry.seq, call));
                }
            }
            EntryKind::CallEnded(ended) => {
                let id = entry.correlation.call_id.as_ref();
                let began = id.and_then(|id| self.open.remove(id));
                self.call(&ended, began.map(|(_, call)| call).as_ref());
            }
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

    fn section(&mut self, speaker: &str, text: &str) {
        if !text.trim().is_empty() {
            self.text
                .push_str(&format!("\n## {speaker}\n\n{}\n", text.trim_end()));
        }
    }

    fn unread_reply(&mut self) {
        if let Some(reply) = self.reply.take() {
            self.section("Model", &reply.text);
        }
    }

    fn call(&mut self, ended: &CallEnded, began: Option<&CallBegan>) {
        self.text
            .push_str(&format!("\n### {}\n", one_line(&ended.tool)));
        if let Some(began) = began {
            self.fenced("json", &began.arguments.to_json());
        }
        let result = &ended.result;
        if result.success {
            self.result(result);
        } else {
            self.remark("Failed", &result.error);
        }
    }

    /// One text is shown as text, everything else as JSON.
    fn result(&mut self, result: &ToolResult) {
        let payload = result.payload();
        match payload.as_str() {
            Some(text) => self.fenced("text", text),
            None => self.fenced("json", &payload.to_string()),
        }
    }

    /// What another model did.
    fn helped(&mut self, helped: &HelperReplied) {
        let name = helped.model.as_deref().unwrap_or(&helped.provider);
        let files: Vec<&str> = helped.files.iter().map(|file| file.path.as_str()).collect();
        let done = match (&helped.error, helped.task) {
            (Some(error), task) => {
                format!("could not {}: {error}", task.as_str().replace('_', " "))
            }
            (None, HelperTask::ChooseFiles) => format!("chose {}", files.join(", ")),
            (None, _) => "shortened the result of a call".to_owned(),
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
            TurnOutcome::Cancelled => self.remark("Stopped", "somebody stopped it"),
        }
    }

    fn remark(&mut self, what: &str, text: &str) {
        let quoted = text.trim_end().replace('\n', "\n> ");
        self.text.push_str(&format!("\n> **{what}:** {quoted}\n"));
    }

    fn fenced(&mut self, language: &str, text: &str) {
        let shown: String = text.chars().take(MAX_SHOWN).collect();
        let missing = text.len() - shown.len();
        let fence = "`".repeat(longest_run(&shown).max(2) + 1);
        let shown = shown.trim_end_matches('\n');
        self.text
            .push_str(&format!("\n{fence}{language}\n{shown}\n{fence}\n"));
        if missing > 0 {
            self.text
                .push_str(&format!("\n({missing} more bytes are in the log.)\n"));
        }
    }

    /// What is still open when the log ends.
    fn end(&mut self) {
        self.unread_reply();
        let mut open: Vec<(u64, CallBegan)> = self.open.drain().map(|(_, call)| call).collect();
        open.sort_by_key(|(seq, _)| *seq);
        for (_, call) in open {
            self.text
                .push_str(&format!("\n### {}\n", one_line(&call.tool)));
            self.fenced("json", &call.arguments.to_json());
            self.remark(
                "Unknown",
                "this call has no end; it may or may not have happened",
            );
        }
    }
}

/// The most backticks in a row.
fn longest_run(text: &str) -> usize {
    let runs = text.split(|char| char != '`').map(str::len);
    runs.max().unwrap_or(0)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
