//! What is known of a session without reading its log.

use std::time::SystemTime;

use ptk_protocol::Role;
use serde::{Deserialize, Serialize};

use crate::{EntryKind, Fork, SessionId, SessionImported, SessionInfo, Usage, time};

/// Characters that are shown of the first prompt.
const PREVIEW_CHARS: usize = 200;

/// What is known of a session without reading its log. It is derived from the
/// log, entry by entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Overview {
    /// The session.
    pub id: SessionId,
    /// The workspace, model and other settings.
    pub info: SessionInfo,
    /// The session it was forked from, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<Fork>,
    /// How much of it was imported from a file, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<SessionImported>,
    /// When its first entry was made.
    #[serde(with = "time")]
    pub created: SystemTime,
    /// When its last entry was made.
    #[serde(with = "time")]
    pub updated: SystemTime,
    /// How many entries there are, which is the number of the last.
    pub entries: u64,
    /// How many prompts were worked on.
    pub turns: u64,
    /// Whether work on the last one has not ended: it goes on, or its process
    /// died and it can be resumed.
    pub is_open: bool,
    /// How many messages there are, replies included.
    pub messages: u64,
    /// How many calls have begun.
    pub calls: u64,
    /// How many calls failed.
    pub failed_calls: u64,
    /// How many other errors there were.
    pub errors: u64,
    /// The tokens and cost of all requests.
    pub usage: Usage,
    /// The beginning of the first prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
}

impl Overview {
    /// Creates the overview of a session without entries.
    #[must_use]
    pub fn new(id: SessionId) -> Self {
        Self {
            id,
            info: SessionInfo::default(),
            forked_from: None,
            imported: None,
            created: SystemTime::UNIX_EPOCH,
            updated: SystemTime::UNIX_EPOCH,
            entries: 0,
            turns: 0,
            is_open: false,
            messages: 0,
            calls: 0,
            failed_calls: 0,
            errors: 0,
            usage: Usage::default(),
            preview: None,
        }
    }

    /// The title, or what to show in its place.
    #[must_use]
    pub fn name(&self) -> &str {
        let title = self.info.title.as_deref().or(self.preview.as_deref());
        title.unwrap_or(self.id.as_str())
    }

    /// Updates the overview with the next entry.
    pub fn absorb(&mut self, seq: u64, ts: SystemTime, kind: &EntryKind) {
        if self.entries == 0 {
            self.created = ts;
        }
        // Clocks are set back; the order of entries is not.
        self.updated = self.updated.max(ts);
        self.entries = seq;
        match kind {
            EntryKind::SessionCreated(info) => self.info.change(info),
            EntryKind::SessionChanged(info) => self.info.change(&info.0),
            EntryKind::SessionForked(fork) => self.forked_from = Some(fork.clone()),
            EntryKind::SessionImported(imported) => self.imported = Some(imported.clone()),
            EntryKind::TurnBegan(_) => {
                self.turns += 1;
                self.is_open = true;
            }
            EntryKind::TurnEnded(_) => self.is_open = false,
            EntryKind::Message(message) => {
                self.messages += 1;
                if message.role == Role::User && self.preview.is_none() {
                    self.preview = preview(&message.text);
                }
            }
            EntryKind::ModelReplied(reply) => {
                self.messages += 1;
                self.usage.add(reply.usage.unwrap_or_default());
            }
            EntryKind::ReplyBroken(broken) => self.usage.add(broken.usage.unwrap_or_default()),
            EntryKind::HelperReplied(helped) => self.usage.add(helped.usage.unwrap_or_default()),
            EntryKind::CallBegan(_) => self.calls += 1,
            EntryKind::CallEnded(call) if !call.result.success => self.failed_calls += 1,
            EntryKind::Failure(_) => self.errors += 1,
            _ => {}
        }
    }
}

/// The beginning of a text, on one line.
fn preview(text: &str) -> Option<String> {
    let start: String = text.chars().take(4 * PREVIEW_CHARS).collect();
    let words: Vec<&str> = start.split_whitespace().collect();
    let line: String = words.join(" ").chars().take(PREVIEW_CHARS).collect();
    (!line.is_empty()).then_some(line)
}
