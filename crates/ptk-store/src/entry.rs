//! Entries of the log: what was said, when, and what it belongs to.

use std::sync::Arc;
use std::time::SystemTime;

use ptk_events::{CallId, Correlation, RequestId};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{Body, EntryKind, SessionId, time};

/// The name of the field with images, as it is written.
const IMAGES: &str = "\"images\":";

/// An entry of the log.
///
/// As JSON it is one object, a line of an export.
///
/// ```
/// use ptk_store::{Entry, EntryKind};
///
/// let line = r#"{"session":"s","seq":1,"ts":"2026-01-31T08:00:00.250Z","kind":"note","version":1,"body":{"text":"Hi."}}"#;
/// let entry: Entry = serde_json::from_str(line)?;
/// assert!(matches!(entry.kind(), EntryKind::Note(note) if note.text == "Hi."));
/// assert_eq!(serde_json::to_string(&entry)?, line);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "Line", from = "Line")]
pub struct Entry {
    /// The session it belongs to.
    pub session: SessionId,
    /// Its number in the session, counted from one without gaps.
    pub seq: u64,
    /// When it was made.
    pub ts: SystemTime,
    /// The request and the call it belongs to.
    pub correlation: Correlation,
    /// The stored content.
    pub body: Body,
}

impl Entry {
    /// The content, as a typed kind.
    #[must_use]
    pub fn kind(&self) -> EntryKind {
        EntryKind::of_body(&self.body)
    }

    /// How many bytes of the entry are images. They take none of the model's
    /// window as text.
    #[must_use]
    pub fn image_bytes(&self) -> usize {
        #[derive(Deserialize)]
        struct Images<'a> {
            #[serde(borrow, default)]
            images: Vec<&'a RawValue>,
        }

        let json = self.body.json();
        if !matches!(self.body.kind(), "message" | "compacted") || !json.contains(IMAGES) {
            return 0;
        }
        let found: Option<Images<'_>> = serde_json::from_str(json).ok();
        let images = found.map_or_else(Vec::new, |found| found.images);
        images.iter().map(|image| image.get().len()).sum()
    }

    /// About how much memory the entry takes, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.body.json().len() + size_of::<Self>()
    }
}

/// The form in which an entry is exported. Nothing of it is flattened: JSON
/// that is kept word for word does not survive that.
#[derive(Serialize, Deserialize)]
struct Line {
    session: SessionId,
    seq: u64,
    #[serde(with = "time")]
    ts: SystemTime,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request_id: Option<RequestId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call_id: Option<CallId>,
    kind: Box<str>,
    version: u32,
    body: Box<RawValue>,
}

impl From<Entry> for Line {
    fn from(entry: Entry) -> Self {
        let (kind, version, body) = entry.body.into_parts();
        Self {
            session: entry.session,
            seq: entry.seq,
            ts: entry.ts,
            request_id: entry.correlation.request_id,
            parent_id: entry.correlation.parent_id,
            call_id: entry.correlation.call_id,
            kind,
            version,
            body,
        }
    }
}

impl From<Line> for Entry {
    fn from(line: Line) -> Self {
        Self {
            session: line.session,
            seq: line.seq,
            ts: line.ts,
            correlation: Correlation {
                request_id: line.request_id,
                parent_id: line.parent_id,
                call_id: line.call_id,
            },
            body: Body::new(line.kind, line.version, line.body),
        }
    }
}

/// An entry that is to be written. The store assigns its number.
///
/// ```
/// use ptk_events::{Correlation, RequestId};
/// use ptk_protocol::Message;
/// use ptk_store::{NewEntry, TurnBegan};
///
/// let turn = Correlation::of_request(RequestId::new());
/// let began = NewEntry::new(TurnBegan::default()).of(&turn);
/// let prompt = NewEntry::new(Message::user("Read notes.txt")).of(&turn);
/// assert_eq!(prompt.kind.name(), "message");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct NewEntry {
    /// When it was made.
    pub ts: SystemTime,
    /// The request and the call it belongs to.
    pub correlation: Correlation,
    /// The content. Shared, so that the store and the transcript need no copy.
    pub kind: Arc<EntryKind>,
}

impl NewEntry {
    /// Creates an entry with the current time.
    pub fn new(kind: impl Into<EntryKind>) -> Self {
        Self {
            ts: time::now(),
            correlation: Correlation::default(),
            kind: Arc::new(kind.into()),
        }
    }

    /// Sets the request and the call that the entry belongs to.
    #[must_use]
    pub fn of(mut self, correlation: &Correlation) -> Self {
        self.correlation = correlation.clone();
        self
    }

    /// Sets the call that the entry is about.
    #[must_use]
    pub fn about(mut self, call: impl Into<CallId>) -> Self {
        self.correlation.call_id = Some(call.into());
        self
    }
}

impl From<Entry> for NewEntry {
    /// Keeps the entry word for word.
    fn from(entry: Entry) -> Self {
        Self {
            ts: entry.ts,
            correlation: entry.correlation,
            kind: Arc::new(EntryKind::Unknown(entry.body)),
        }
    }
}
