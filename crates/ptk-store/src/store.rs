//! The interface of stores, whatever they keep their entries in.

use std::fmt;
use std::ops::Range;
use std::time::SystemTime;

use futures_util::future::BoxFuture;

use crate::{Entry, NewEntry, Overview, SessionId, StoreError, Writer};

/// A future of a store's result.
pub type Pending<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// A store of conversations and their log.
///
/// The log is only ever appended to; whatever else can be queried is derived
/// from it. A session is written by one process at a time: the first entry that
/// a process appends makes it the writer, until it [releases] the session,
/// closes the store or dies. Any process can read at any time.
///
/// [releases]: Self::release
pub trait Store: Send + Sync + fmt::Debug {
    /// Appends entries, all of them or none, and completes once no end of this
    /// process can lose them. A session that does not exist begins with them.
    ///
    /// If the future is dropped, it is unknown whether they were written.
    fn append<'a>(
        &'a self,
        session: &'a SessionId,
        entries: Vec<NewEntry>,
    ) -> Pending<'a, Appended>;

    /// Begins a session with the entries of another one up to a number, word for
    /// word and under the same numbers, and with more entries behind them: all
    /// of them or none.
    fn copy<'a>(
        &'a self,
        beginning: Beginning,
        into: &'a SessionId,
        behind: Vec<NewEntry>,
    ) -> Pending<'a, Appended>;

    /// Reads a stretch of a session's log, in order. It may be shorter than
    /// requested if entries are large; only an empty one means that there are
    /// no more.
    fn read<'a>(&'a self, session: &'a SessionId, stretch: Stretch) -> Pending<'a, Vec<Entry>>;

    /// The overview of a session; `None` if there is none of that id.
    fn session<'a>(&'a self, session: &'a SessionId) -> Pending<'a, Option<Overview>>;

    /// Lists the sessions, those that were last written to first.
    fn sessions(&self, listing: Listing) -> Pending<'_, Vec<Overview>>;

    /// Searches messages for words, the newest first.
    fn search(&self, search: Search) -> Pending<'_, Vec<Hit>>;

    /// Removes a session with all its entries. Returns whether it existed.
    fn delete<'a>(&'a self, session: &'a SessionId) -> Pending<'a, bool>;

    /// The process that writes a session, if there is one.
    fn writer<'a>(&'a self, session: &'a SessionId) -> Pending<'a, Option<Writer>>;

    /// Lets other processes write a session.
    fn release<'a>(&'a self, session: &'a SessionId) -> Pending<'a, ()>;

    /// Rebuilds everything that is derived from the log.
    fn rebuild(&self) -> Pending<'_, ()>;

    /// Checks whether everything is as it was written, entry by entry. The time
    /// that takes grows with the log.
    fn check(&self) -> Pending<'_, Checked>;
}

/// The numbers of entries that were appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// The number of the first entry.
    pub first: u64,
    /// The number of the last entry; before the first if there were none.
    pub last: u64,
}

/// The beginning of a session's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beginning {
    /// The session.
    pub session: SessionId,
    /// The number of the last entry.
    pub through: u64,
}

/// The error if a session that is to begin as a copy exists.
pub(crate) fn already_there(from: &SessionId, into: &SessionId) -> StoreError {
    StoreError::NotForked {
        session: from.clone(),
        reason: format!("there is a session {into} already"),
    }
}

/// A stretch of a session's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// Only entries with larger numbers than this.
    pub after: u64,
    /// Only entries with smaller numbers than this.
    pub before: u64,
    /// At most so many entries.
    pub limit: usize,
    /// Whether the last of them are wanted, and not the first.
    pub from_the_end: bool,
}

/// The most entries that are read at once.
pub(crate) const MAX_STRETCH: usize = 1000;
/// No further entry is read after so many bytes.
pub(crate) const MAX_STRETCH_BYTES: usize = 4 * 1024 * 1024;

impl Stretch {
    /// The first entries behind the one with this number; 0 is before all.
    #[must_use]
    pub fn after(seq: u64, limit: usize) -> Self {
        Self {
            after: seq,
            before: u64::MAX,
            limit: limit.min(MAX_STRETCH),
            from_the_end: false,
        }
    }

    /// The last entries before the one with this number, in order.
    #[must_use]
    pub fn before(seq: u64, limit: usize) -> Self {
        Self {
            after: 0,
            before: seq,
            limit: limit.min(MAX_STRETCH),
            from_the_end: true,
        }
    }

    /// The last entries, in order.
    #[must_use]
    pub fn last(limit: usize) -> Self {
        Self::before(u64::MAX, limit)
    }
}

/// Which sessions are listed.
///
/// ```
/// use ptk_store::Listing;
///
/// let listing = Listing::new(20).workspace("/home/ada/engine");
/// # let _ = listing;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// At most so many sessions.
    pub limit: usize,
    /// Only sessions of this workspace.
    pub workspace: Option<String>,
    /// Only sessions whose ids begin so.
    pub prefix: Option<String>,
    /// Only sessions behind the one with this time and id.
    pub after: Option<(SystemTime, SessionId)>,
}

/// The most sessions that are listed at once.
pub(crate) const MAX_LISTED: usize = 1000;

impl Listing {
    /// Lists so many sessions.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit: limit.min(MAX_LISTED),
            workspace: None,
            prefix: None,
            after: None,
        }
    }

    /// Lists only sessions of one workspace.
    #[must_use]
    pub fn workspace(mut self, folder: impl Into<String>) -> Self {
        self.workspace = Some(folder.into());
        self
    }

    /// Lists only sessions whose ids begin so.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }

    /// Lists only sessions behind this one, the last of the previous page.
    #[must_use]
    pub fn after(mut self, last: &Overview) -> Self {
        self.after = Some((last.updated, last.id.clone()));
        self
    }
}

/// A search for messages that have all the words, or words that begin so; case
/// and accents do not matter. Words in quotation marks have to stand so, one
/// behind the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// The words, and phrases in quotation marks.
    pub words: String,
    /// Only messages in sessions of this workspace.
    pub workspace: Option<String>,
    /// Only messages in this session.
    pub session: Option<SessionId>,
    /// At most so many messages.
    pub limit: usize,
    /// How many of the first messages are skipped.
    pub skip: usize,
}

/// The most messages that one search returns.
pub(crate) const MAX_HITS: usize = 1000;

impl Search {
    /// Searches for messages with these words, at most so many.
    pub fn new(words: impl Into<String>, limit: usize) -> Self {
        Self {
            words: words.into(),
            workspace: None,
            session: None,
            limit: limit.min(MAX_HITS),
            skip: 0,
        }
    }

    /// Searches only sessions of one workspace.
    #[must_use]
    pub fn workspace(mut self, folder: impl Into<String>) -> Self {
        self.workspace = Some(folder.into());
        self
    }

    /// Searches only one session.
    #[must_use]
    pub fn session(mut self, session: SessionId) -> Self {
        self.session = Some(session);
        self
    }

    /// Skips the first messages.
    #[must_use]
    pub fn skip(mut self, count: usize) -> Self {
        self.skip = count;
        self
    }
}

/// A message that matches a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The session of the message.
    pub session: SessionId,
    /// The number of its entry.
    pub seq: u64,
    /// When the message was written.
    pub ts: SystemTime,
    /// The kind of the entry.
    pub kind: String,
    /// The words and what stands around them.
    pub excerpt: String,
    /// Where the words stand in the excerpt.
    pub matches: Vec<Range<usize>>,
}

/// The result of checking a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// How many sessions were checked.
    pub sessions: u64,
    /// How many entries were checked.
    pub entries: u64,
    /// What is not as it was written; only the first findings, if there are
    /// many.
    pub damage: Vec<String>,
}
