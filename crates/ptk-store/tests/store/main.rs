//! Stores through their public API.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod contract;
mod conversations;
mod damage;
mod exports;
mod folding;
mod forking;
mod killing;
mod places;
mod random;
mod resuming;
mod schemas;
mod sharing;

use std::path::PathBuf;
use std::sync::Arc;

use ptk_events::{CallId, Correlation, RequestId};
use ptk_protocol::{Arguments, Message, ToolResult};
use ptk_store::{
    CallBegan, CallEnded, Entry, EntryKind, MemoryStore, ModelReplied, NewEntry, RequestBegan,
    SessionId, SqliteStore, Store, Stretch, TurnBegan, TurnEnded, TurnOutcome, Usage,
};
use serde_json::json;
use tempfile::TempDir;

/// A folder for a database.
struct Scene {
    folder: TempDir,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("state/sessions.db")
    }

    fn open(&self) -> SqliteStore {
        SqliteStore::open(self.path()).unwrap()
    }

    /// A database with a few sessions, closed again.
    async fn filled(self) -> Self {
        let store = self.open();
        for name in ["one", "two", "three"] {
            for number in 0..10 {
                let prompt = format!("Question {number} of {name}");
                store.append(&id(name), turn(&prompt)).await.unwrap();
            }
        }
        drop(store);
        self
    }

    /// Edits the database directly.
    fn edit(&self, sql: &str) {
        let connection = rusqlite::Connection::open(self.path()).unwrap();
        connection.execute_batch(sql).unwrap();
    }

    /// The first pages of the tables and indexes of which the schema says this,
    /// counted from one.
    fn pages_of(&self, condition: &str) -> Vec<usize> {
        let connection = rusqlite::Connection::open(self.path()).unwrap();
        let sql =
            format!("SELECT rootpage FROM sqlite_schema WHERE ({condition}) AND rootpage > 0");
        let mut statement = connection.prepare(&sql).unwrap();
        let pages = statement.query_map([], |row| row.get::<_, i64>(0)).unwrap();
        pages
            .map(|page| usize::try_from(page.unwrap()).unwrap())
            .collect()
    }

    /// The text without the path of this test's folder.
    fn neutral(&self, text: &str) -> String {
        text.replace(self.folder.path().to_str().unwrap(), "/…")
    }
}

/// Both kinds of stores: the contract holds for either.
fn both(scene: &Scene) -> [Arc<dyn Store>; 2] {
    [Arc::new(MemoryStore::new()), Arc::new(scene.open())]
}

fn id(name: &str) -> SessionId {
    name.parse().unwrap()
}

fn note(text: impl Into<String>) -> NewEntry {
    NewEntry::new(ptk_store::Note::new(text))
}

fn arguments(json: &serde_json::Value) -> Arguments {
    Arguments::from_json(&json.to_string()).unwrap()
}

/// A whole turn: a prompt, a call, an answer.
fn turn(prompt: &str) -> Vec<NewEntry> {
    let turn = Correlation::of_request(RequestId::new());
    let call = CallId::new();
    let usage = Usage {
        input_tokens: 100,
        output_tokens: 10,
        cost_micros: 7,
        ..Usage::default()
    };
    let kinds: Vec<(EntryKind, Option<&CallId>)> = vec![
        (TurnBegan::default().into(), None),
        (Message::user(prompt).into(), None),
        (asked(1), None),
        (
            ModelReplied {
                usage: Some(usage),
                ..ModelReplied::new("Let me look.\n<PTK_CALL>…</PTK_CALL>")
            }
            .into(),
            None,
        ),
        (began("read_file", "notes.txt"), Some(&call)),
        (ended("read_file", "Buy milk."), Some(&call)),
        (asked(2), None),
        (
            ModelReplied::new(format!("The answer to: {prompt}")).into(),
            None,
        ),
        (TurnEnded::new(TurnOutcome::Answered).into(), None),
    ];
    kinds
        .into_iter()
        .map(|(kind, call)| {
            let entry = NewEntry::new(kind).of(&turn);
            match call {
                Some(call) => entry.about(call.clone()),
                None => entry,
            }
        })
        .collect()
}

fn asked(iteration: u32) -> EntryKind {
    let request = RequestBegan {
        iteration,
        ..RequestBegan::default()
    };
    request.into()
}

fn began(tool: &str, path: &str) -> EntryKind {
    CallBegan {
        tool: tool.to_owned(),
        arguments: arguments(&json!({ "path": path })),
    }
    .into()
}

fn ended(tool: &str, data: &str) -> EntryKind {
    CallEnded {
        state: None,
        tool: tool.to_owned(),
        duration_ms: 3,
        result: ToolResult::data(data.into()),
    }
    .into()
}

/// The whole log of a session.
async fn log(store: &dyn Store, session: &SessionId) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    loop {
        let last = entries.last().map_or(0, |entry| entry.seq);
        let page = store
            .read(session, Stretch::after(last, 100))
            .await
            .unwrap();
        if page.is_empty() {
            return entries;
        }
        entries.extend(page);
    }
}
