//! Resumes a conversation from the end of its log: it is read backwards, as far
//! as the model can be shown it anyway.

use ptk_protocol::Role;

use super::Transcript;
use crate::{Entry, EntryKind, Overview, SessionId, Store, StoreError, Stretch};

/// How many entries are read at once.
const PAGE: usize = 200;
/// No further turn is added after so many bytes of images. They are not counted
/// as bytes of the [`Window`], as they take few tokens.
const MAX_IMAGES: usize = 64 * 1024 * 1024;

/// How much of a conversation is resumed: whole turns, the last one in any
/// case, until one of the limits is reached. A conversation with more turns
/// begins with the same one until half as many have been added: servers cache
/// prompts by their beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// At most so many turns, and more than half as many.
    pub turns: usize,
    /// No further turn is added after so many bytes, without images.
    pub bytes: usize,
}

impl Default for Window {
    /// More than fits into the context of models.
    fn default() -> Self {
        Self {
            turns: 200,
            bytes: 8 * 1024 * 1024,
        }
    }
}

impl Window {
    /// How many of so many turns are resumed.
    fn turns_of(self, all: u64) -> usize {
        let all = usize::try_from(all).unwrap_or(usize::MAX);
        let beyond = all.saturating_sub(self.turns);
        if beyond == 0 {
            return self.turns;
        }
        let step = (self.turns / 2).max(1);
        all.saturating_sub(beyond.div_ceil(step).saturating_mul(step))
    }
}

/// Resumes a conversation. Entries that were cleared or summarized are not
/// read, nor those beyond the window, so that time and memory do not grow with
/// the log. `None` if there is no such session.
///
/// # Errors
///
/// If the store cannot be read.
pub async fn resume(
    store: &dyn Store,
    session: &SessionId,
    window: Window,
) -> Result<Option<Transcript>, StoreError> {
    let Some(overview) = store.session(session).await? else {
        return Ok(None);
    };
    let mut tail = Tail::new(window, overview);
    let mut before = u64::MAX;
    while !tail.is_complete {
        let page = store.read(session, Stretch::before(before, PAGE)).await?;
        let Some(first) = page.first() else { break };
        before = first.seq;
        for entry in page.into_iter().rev() {
            tail.take(entry);
        }
    }
    Ok(Some(tail.fold()))
}

/// The end of a log, from the last entry backwards.
struct Tail {
    window: Window,
    overview: Overview,
    entries: Vec<Entry>,
    bytes: usize,
    image_bytes: usize,
    turns: usize,
    /// Entries up to this one are replaced by a summary.
    told: u64,
    is_complete: bool,
    is_whole: bool,
}

impl Tail {
    fn new(window: Window, overview: Overview) -> Self {
        let turns = window.turns_of(overview.turns);
        Self {
            window: Window { turns, ..window },
            overview,
            entries: Vec::new(),
            bytes: 0,
            image_bytes: 0,
            turns: 0,
            told: 0,
            is_complete: false,
            is_whole: true,
        }
    }

    fn take(&mut self, entry: Entry) {
        if self.is_complete {
            return;
        }
        if entry.seq <= self.told {
            // A turn that goes on may have begun in the summarized part, and is
            // understood only from its beginning.
            let has_turns = self.overview.turns > 0;
            self.is_complete = match entry.body.kind() {
                "turn_began" | "turn_ended" | "cleared" => true,
                kind => kind == "message" && !has_turns,
            };
            self.entries.push(entry);
            return;
        }
        let image_bytes = entry.image_bytes();
        self.image_bytes += image_bytes;
        self.bytes += entry.size() - image_bytes;
        match entry.body.kind() {
            "cleared" => self.is_complete = true,
            "compacted" if self.told == 0 => {
                if let EntryKind::Compacted(compacted) = entry.kind() {
                    self.told = compacted.through.min(entry.seq - 1);
                }
            }
            "turn_began" => self.boundary(entry.seq),
            "message" if self.overview.turns == 0 => {
                if matches!(entry.kind(), EntryKind::Message(message) if message.role == Role::User)
                {
                    self.boundary(entry.seq);
                }
            }
            _ => {}
        }
        self.entries.push(entry);
    }

    /// Counts a place where the conversation can begin.
    fn boundary(&mut self, seq: u64) {
        self.turns += 1;
        if self.turns >= self.window.turns
            || self.bytes >= self.window.bytes
            || self.image_bytes >= MAX_IMAGES
        {
            self.is_complete = true;
            self.is_whole = seq <= 1 || seq == self.told + 1;
        }
    }

    fn fold(self) -> Transcript {
        let mut transcript: Transcript = self.entries.iter().rev().collect();
        transcript.info = self.overview.info;
        transcript.is_whole = self.is_whole;
        transcript
    }
}
