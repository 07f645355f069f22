//! The log of a session, and what follows from it: the conversation, and the
//! turn that runs. Whatever happens is written down first.

use std::sync::Arc;

use ptk_protocol::{Copies, ErrorType, Message, Role, ToolResult};
use ptk_store::{
    Call, CallState, Content, EntryKind, InfoChanged, NewEntry, Next, SessionId, SessionInfo,
    Store, Stretch, Transcript, Window, resume,
};
use ptk_tools::{SeenFile, highest_output};
use serde_json::{Value, json};

use crate::turn::Turn;
use crate::{RunError, find_tools};

/// Entries that are read at once.
const PAGE: usize = 200;
/// The most bytes of a log that are read to remember results of tools.
const MAX_REMEMBERED: usize = 8 * 1024 * 1024;
/// The kinds of entries that hold results of tools.
const GIVEN_BACK: [&str; 5] = [
    "call_ended",
    "call_cut",
    "ran_by_hand",
    "helper_replied",
    "compacted",
];
/// The key of the files that a call has seen, in the state of a call.
const FILES: &str = "files";

#[derive(Debug)]
pub(crate) struct Log {
    store: Arc<dyn Store>,
    pub(crate) session: SessionId,
    info: SessionInfo,
    pub(crate) transcript: Transcript,
    pub(crate) turn: Turn,
    /// Results of tools, to recognise calls that were copied from them.
    pub(crate) copies: Copies,
    /// The tools that were found or called, in that order.
    pub(crate) found: Vec<String>,
    /// Whether all that was written is known here. False at the beginning, and
    /// after a write whose future was dropped.
    is_current: bool,
    is_new: bool,
    /// The number of the last entry that was read, and not written here.
    read_through: u64,
}

/// What a log that was loaded says of the calls before.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    /// The files that they have seen.
    pub(crate) seen: Vec<SeenFile>,
    /// Those of them that the model was not shown in full.
    pub(crate) hidden: Vec<SeenFile>,
    /// The highest number of the outputs that their results name.
    pub(crate) outputs: u64,
}

impl Log {
    pub(crate) fn new(store: Arc<dyn Store>, session: SessionId, info: SessionInfo) -> Self {
        Self {
            store,
            session,
            info,
            transcript: Transcript::new(),
            turn: Turn::default(),
            copies: Copies::default(),
            found: Vec::new(),
            is_current: false,
            is_new: false,
            read_through: 0,
        }
    }

    /// Becomes the writer of the session. What is read before that may not be
    /// the end of the log any more.
    pub(crate) async fn claim(&self) -> Result<(), RunError> {
        if !self.is_current {
            self.store.append(&self.session, Vec::new()).await?;
        }
        Ok(())
    }

    /// Loads the log, unless it is known.
    pub(crate) async fn load(&mut self) -> Result<Option<Loaded>, RunError> {
        if self.is_current {
            return Ok(None);
        }
        let found = resume(&*self.store, &self.session, Window::default()).await?;
        self.is_new = found.is_none();
        self.transcript = found.unwrap_or_else(Transcript::new);
        self.read_through = self.transcript.last();
        self.turn = Turn::default();
        self.remember_log().await?;
        let mut loaded = Loaded::default();
        for call in calls(&self.transcript) {
            let files = files_of(call);
            if call.shortened.is_some() {
                loaded.hidden.extend(files.iter().cloned());
            }
            loaded.seen.extend(files);
            if let CallState::Ended { result, .. } = &call.state {
                let fields = result.fields.values().map(highest_in);
                loaded.outputs = loaded.outputs.max(fields.max().unwrap_or(0));
            }
        }
        if self.transcript.next() != Next::Prompt {
            self.turn = self.open_turn().await?;
        }
        self.is_current = true;
        Ok(Some(loaded))
    }

    /// Remembers results of tools in the whole session, also in turns that were
    /// summarised or left out: what was made of them may hold a call, and the
    /// tools that were found stay.
    async fn remember_log(&mut self) -> Result<(), RunError> {
        let mut kinds = Vec::new();
        let (mut before, mut bytes) = (u64::MAX, 0);
        'pages: loop {
            let stretch = Stretch::before(before, PAGE);
            let page = self.store.read(&self.session, stretch).await?;
            let Some(first) = page.first() else { break };
            before = first.seq;
            for entry in page.into_iter().rev() {
                bytes += entry.body.json().len() - entry.image_bytes();
                if entry.body.kind() == "cleared" || bytes > MAX_REMEMBERED {
                    break 'pages;
                }
                if GIVEN_BACK.contains(&entry.body.kind()) {
                    kinds.push(entry.kind());
                }
            }
        }
        self.copies = Copies::default();
        self.found.clear();
        for kind in kinds.iter().rev() {
            remember_entry(&mut self.copies, kind);
            find_tools::absorb(&mut self.found, kind);
        }
        Ok(())
    }

    /// Whether a reply of this number was read from the log, where secrets may
    /// have been left out.
    pub(crate) fn has_read(&self, reply: u64) -> bool {
        reply <= self.read_through
    }

    /// The first entry of a new session. A session that is only looked up is
    /// not written.
    pub(crate) fn beginning(&self) -> Option<NewEntry> {
        self.is_new.then(|| NewEntry::new(self.info.clone()))
    }

    /// Changes what is known about the session.
    pub(crate) async fn change(&mut self, change: InfoChanged) -> Result<(), RunError> {
        if self.is_new {
            self.info.change(&change.0);
            return Ok(());
        }
        self.append(vec![NewEntry::new(change)]).await
    }

    /// The turn that has not ended, from its beginning.
    async fn open_turn(&self) -> Result<Turn, RunError> {
        let mut entries = Vec::new();
        let mut before = u64::MAX;
        'pages: loop {
            let stretch = Stretch::before(before, PAGE);
            let page = self.store.read(&self.session, stretch).await?;
            let Some(first) = page.first() else { break };
            before = first.seq;
            for entry in page.into_iter().rev() {
                let kind = entry.kind();
                let is_first = matches!(kind, EntryKind::TurnBegan(_));
                entries.push((entry.correlation, kind));
                if is_first {
                    break 'pages;
                }
            }
        }
        let mut turn = Turn::default();
        for (correlation, kind) in entries.iter().rev() {
            turn.absorb(correlation, kind);
        }
        Ok(turn)
    }

    /// Appends entries of the turn to the log, and applies them.
    pub(crate) async fn append(&mut self, entries: Vec<NewEntry>) -> Result<(), RunError> {
        let copy = entries.clone();
        self.is_current = false;
        let appended = self.store.append(&self.session, entries).await?;
        if appended.first != self.transcript.last() + 1 {
            return Err(RunError::Interleaved(self.session.clone()));
        }
        for (seq, entry) in (appended.first..).zip(copy) {
            self.turn.absorb(&entry.correlation, &entry.kind);
            remember_entry(&mut self.copies, &entry.kind);
            find_tools::absorb(&mut self.found, &entry.kind);
            self.transcript.absorb_new(seq, entry);
        }
        self.is_current = true;
        self.is_new = false;
        Ok(())
    }

    /// The last prompt of the user.
    pub(crate) fn prompt(&self) -> Option<Arc<str>> {
        let message = self.prompt_message();
        message.map(|message| message.content.as_str().into())
    }

    /// The message with the last prompt of the user.
    pub(crate) fn prompt_message(&self) -> Option<&Message> {
        let mut items = self.transcript.items().iter().rev();
        items.find_map(|item| match &item.content {
            Content::Message(message) if message.role == Role::User => Some(message),
            _ => None,
        })
    }

    /// An entry of the turn that runs.
    pub(crate) fn entry(&self, kind: impl Into<EntryKind>) -> NewEntry {
        NewEntry::new(kind).of(&self.turn.correlation())
    }
}

pub(crate) fn calls(transcript: &Transcript) -> impl Iterator<Item = &Call> {
    let replies = transcript
        .items()
        .iter()
        .filter_map(|item| match &item.content {
            Content::Reply(reply) => Some(&reply.calls),
            _ => None,
        });
    replies.flatten()
}

/// The state of a call that the tools need again.
pub(crate) fn state_of(files: &[SeenFile]) -> Option<Value> {
    let files = (!files.is_empty()).then(|| serde_json::to_value(files).ok());
    Some(json!({ FILES: files.flatten()? }))
}

/// The files that a call has seen. Those written by another version are left
/// out.
pub(crate) fn files_of(call: &Call) -> Vec<SeenFile> {
    let CallState::Ended {
        state: Some(state), ..
    } = &call.state
    else {
        return Vec::new();
    };
    let files = state.get(FILES).and_then(Value::as_array);
    let read = |file: &Value| serde_json::from_value(file.clone()).ok();
    files.into_iter().flatten().filter_map(read).collect()
}

/// The highest number of a kept output that a value names.
fn highest_in(value: &Value) -> u64 {
    match value {
        Value::String(text) => highest_output(text),
        Value::Array(items) => items.iter().map(highest_in).max().unwrap_or(0),
        Value::Object(members) => members.values().map(highest_in).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Remembers the results of tools in an entry.
pub(crate) fn remember_entry(copies: &mut Copies, kind: &EntryKind) {
    match kind {
        // Definitions of tools name them and their arguments.
        EntryKind::CallEnded(ended) if find_tools::is_search(ended) => {}
        EntryKind::CallEnded(ended) => remember(copies, &ended.tool, &ended.result),
        EntryKind::CallCut(cut) => remember(copies, &cut.tool, &cut.result),
        EntryKind::RanByHand(ran) => remember(copies, &ran.tool, &ran.result),
        EntryKind::HelperReplied(helped) => {
            let contents = helped.files.iter().filter_map(|file| file.content.as_ref());
            contents.for_each(|content| copies.remember_field("content", content));
            copies.remember_field("summary", &helped.text);
        }
        EntryKind::Compacted(compacted) => copies.remember_field("summary", &compacted.text),
        _ => {}
    }
}

/// Remembers every text in the fields of a result, and what went wrong: an
/// error may quote a file. That a call was not allowed quotes only the call.
fn remember(copies: &mut Copies, tool: &str, result: &ToolResult) {
    for (field, value) in &result.fields {
        remember_value(copies, field, value);
    }
    if result.error_type != Some(ErrorType::PermissionError) {
        copies.remember_field("error", without_call(tool, &result.error));
    }
}

/// An error without the failed call that it begins with: `tool(name=value, …): `.
/// Its arguments are the model's own, so that making the call again copies
/// nothing.
fn without_call<'e>(tool: &str, error: &'e str) -> &'e str {
    let after_call = || {
        let mut rest = error.strip_prefix(tool)?.strip_prefix('(')?;
        while let Some((name, value)) = rest.split_once('=') {
            if !name.chars().all(|it| it.is_alphanumeric() || it == '_') {
                break;
            }
            let mut values = serde_json::Deserializer::from_str(value).into_iter::<Value>();
            values.next()?.ok()?;
            rest = value.get(values.byte_offset()..)?;
            match rest.strip_prefix(", ") {
                Some(more) => rest = more,
                None => break,
            }
        }
        rest.strip_prefix("): ")
    };
    after_call().unwrap_or(error)
}

fn remember_value(copies: &mut Copies, field: &str, value: &Value) {
    match value {
        Value::String(text) => copies.remember_field(field, text),
        Value::Array(items) => items
            .iter()
            .for_each(|item| remember_value(copies, field, item)),
        Value::Object(members) => members
            .iter()
            .for_each(|(name, member)| remember_value(copies, name, member)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
