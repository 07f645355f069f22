//! What a store does, whatever it keeps its entries in.

use std::fmt;
use std::ops::Range;
use std::time::SystemTime;

use futures_util::future::BoxFuture;

use crate::{Entry, NewEntry, Overview, SessionId, StoreError, Writer};

/// Something that is under way in a store.
pub type Pending<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// Conversations and their log.
///
/// The log is only ever appended to; whatever else can be asked for follows
/// from it. A session is written by one process at a time: the first entry
/// that a process appends makes it the writer, until it [releases] the session,
/// closes the store or dies. Reading is for everybody at any time.
///
/// [releases]: Self::release
pub trait Store: Send + Sync + fmt::Debug {
    /// Appends entries, all of them or none, and says so once no end of this
    /// process can lose them. A session that does not exist begins with them.
    ///
    /// Whoever drops the future does not know whether they were written.
    fn append<'a>(
        &'a self,
        session: &'a SessionId,
        entries: Vec<NewEntry>,
    ) -> Pending<'a, Appended>;

    /// A stretch of a session's log, in order. It may be shorter than asked
    /// for where entries are large; only if it is empty there is no more.
    fn read<'a>(&'a self, session: &'a SessionId, stretch: Stretch) -> Pending<'a, Vec<Entry>>;

    /// What is known of a session; `None` if there is none of that id.
    fn session<'a>(&'a self, session: &'a SessionId) -> Pending<'a, Option<Overview>>;

    /// The sessions, those that were last written to first.
    fn sessions(&self, listing: Listing) -> Pending<'_, Vec<Overview>>;

    /// Where the words stand in what was said, the newest first.
    fn search(&self, search: Search) -> Pending<'_, Vec<Hit>>;

    /// Removes a session with all that was said in it. Says whether there was
    /// one.
    fn delete<'a>(&'a self, session: &'a SessionId) -> Pending<'a, bool>;

    /// Who writes a session, if anybody does.
    fn writer<'a>(&'a self, session: &'a SessionId) -> Pending<'a, Option<Writer>>;

    /// Lets other processes write a session.
    fn release<'a>(&'a self, session: &'a SessionId) -> Pending<'a, ()>;

    /// Makes everything anew that follows from the log.
    fn rebuild(&self) -> Pending<'_, ()>;

    /// Looks whether everything is as it was written, entry by entry. The
    /// time that takes grows with the log.
    fn check(&self) -> Pending<'_, Checked>;
}

/// The numbers of entries that were appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// The first.
    pub first: u64,
    /// The last; before the first if there were none.
    pub last: u64,
}

/// A stretch of a session's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// Only entries with larger numbers.
    pub after: u64,
    /// Only entries with smaller numbers.
    pub before: u64,
    /// At most so many.
    pub limit: usize,
    /// Whether the last of them are wanted, and not the first.
    pub from_the_end: bool,
}

/// The most entries that are read at once.
pub(crate) const MAX_STRETCH: usize = 1000;
/// No more entries are read at once after so many bytes.
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
    /// At most so many.
    pub limit: usize,
    /// Only those of this workspace.
    pub workspace: Option<String>,
    /// Only those whose ids begin so.
    pub prefix: Option<String>,
    /// Only those behind the one with this time and id.
    pub after: Option<(SystemTime, SessionId)>,
}

/// The most sessions that are listed at once.
pub(crate) const MAX_LISTED: usize = 1000;

impl Listing {
    /// So many.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit: limit.min(MAX_LISTED),
            workspace: None,
            prefix: None,
            after: None,
        }
    }

    /// Only those of one workspace.
    #[must_use]
    pub fn workspace(mut self, folder: impl Into<String>) -> Self {
        self.workspace = Some(folder.into());
        self
    }

    /// Only those whose ids begin so.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }

    /// Only those behind this one, which ended the list before.
    #[must_use]
    pub fn after(mut self, last: &Overview) -> Self {
        self.after = Some((last.updated, last.id.clone()));
        self
    }
}

/// What is searched for: messages that have all the words, or words that begin
/// so; case and accents do not matter. What stands in quotation marks has to
/// stand so, one word behind the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// The words, and phrases in quotation marks.
    pub words: String,
    /// Only in sessions of this workspace.
    pub workspace: Option<String>,
    /// Only in this session.
    pub session: Option<SessionId>,
    /// At most so many.
    pub limit: usize,
    /// Without the first ones.
    pub skip: usize,
}

/// The most that one search finds.
pub(crate) const MAX_HITS: usize = 1000;

impl Search {
    /// Messages with these words, at most so many.
    pub fn new(words: impl Into<String>, limit: usize) -> Self {
        Self {
            words: words.into(),
            workspace: None,
            session: None,
            limit: limit.min(MAX_HITS),
            skip: 0,
        }
    }

    /// Only in sessions of one workspace.
    #[must_use]
    pub fn workspace(mut self, folder: impl Into<String>) -> Self {
        self.workspace = Some(folder.into());
        self
    }

    /// Only in one session.
    #[must_use]
    pub fn session(mut self, session: SessionId) -> Self {
        self.session = Some(session);
        self
    }

    /// Without the first ones.
    #[must_use]
    pub fn skip(mut self, count: usize) -> Self {
        self.skip = count;
        self
    }
}

/// A message in which the words stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Its session.
    pub session: SessionId,
    /// The number of its entry.
    pub seq: u64,
    /// When it was said.
    pub ts: SystemTime,
    /// The kind of the entry.
    pub kind: String,
    /// The words and what stands around them.
    pub excerpt: String,
    /// Where the words stand in the excerpt.
    pub matches: Vec<Range<usize>>,
}

/// What was looked at, and what was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// Sessions looked at.
    pub sessions: u64,
    /// Entries looked at.
    pub entries: u64,
    /// What is not as it was written; the first of it, if it is much.
    pub damage: Vec<String>,
}
