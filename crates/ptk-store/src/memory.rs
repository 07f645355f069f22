//! A store that forgets everything with its process: for tests, and for
//! sessions that must leave no trace.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::future::{FutureExt as _, ready};

use crate::redact::{Prepared, prepare};
use crate::store::{MAX_STRETCH_BYTES, Pending, already_there};
use crate::words::Words;
use crate::{
    Appended, Beginning, Checked, Entry, Hit, Listing, NewEntry, Overview, Redaction, Search,
    SessionId, Store, StoreError, Stretch, Writer, time,
};

/// A store in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    redaction: Redaction,
    sessions: Mutex<BTreeMap<SessionId, Session>>,
}

#[derive(Debug)]
struct Session {
    overview: Overview,
    log: Vec<Entry>,
}

impl Session {
    fn new(id: &SessionId) -> Self {
        Self {
            overview: Overview::new(id.clone()),
            log: Vec::new(),
        }
    }

    fn push(&mut self, entry: Prepared) {
        let seq = self.overview.entries + 1;
        let ts = time::from_millis(entry.ts);
        self.overview.absorb(seq, ts, &entry.kind);
        self.log.push(Entry {
            session: self.overview.id.clone(),
            seq,
            ts,
            correlation: entry.correlation,
            body: entry.body,
        });
    }
}

impl MemoryStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the redaction that removes secrets.
    #[must_use]
    pub fn redacting(mut self, redaction: Redaction) -> Self {
        self.redaction = redaction;
        self
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, Session>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append_now(&self, id: &SessionId, entries: Vec<NewEntry>) -> Result<Appended, StoreError> {
        let entries = self.prepared(entries)?;
        let mut sessions = self.lock();
        if entries.is_empty() {
            let last = sessions
                .get(id)
                .map_or(0, |session| session.overview.entries);
            return Ok(Appended {
                first: last + 1,
                last,
            });
        }
        let session = sessions.entry(id.clone());
        let session = session.or_insert_with(|| Session::new(id));
        let first = session.overview.entries + 1;
        for entry in entries {
            session.push(entry);
        }
        Ok(Appended {
            first,
            last: session.overview.entries,
        })
    }

    fn copy_now(
        &self,
        beginning: &Beginning,
        into: &SessionId,
        behind: Vec<NewEntry>,
    ) -> Result<Appended, StoreError> {
        let behind = self.prepared(behind)?;
        let mut sessions = self.lock();
        if sessions.contains_key(into) {
            return Err(already_there(&beginning.session, into));
        }
        let mut session = Session::new(into);
        let original = sessions.get(&beginning.session);
        let entries = original.map_or(&[][..], |original| &original.log).iter();
        for entry in entries.take_while(|entry| entry.seq <= beginning.through) {
            session.push(entry.clone().into());
        }
        for entry in behind {
            session.push(entry);
        }
        let last = session.overview.entries;
        sessions.insert(into.clone(), session);
        Ok(Appended { first: 1, last })
    }

    fn prepared(&self, entries: Vec<NewEntry>) -> Result<Vec<Prepared>, StoreError> {
        let entries = entries.into_iter();
        entries
            .map(|entry| prepare(&self.redaction, entry))
            .collect()
    }

    fn read_now(&self, id: &SessionId, stretch: Stretch) -> Vec<Entry> {
        let sessions = self.lock();
        let log = sessions.get(id).map_or(&[][..], |session| &session.log);
        let start = log.partition_point(|entry| entry.seq <= stretch.after);
        let end = log.partition_point(|entry| entry.seq < stretch.before);
        let part = log.get(start..end).unwrap_or_default();
        let mut bytes = 0;
        let mut fits = |entry: &&Entry| {
            let is_room = bytes < MAX_STRETCH_BYTES;
            bytes += entry.size();
            is_room
        };
        let taken = if stretch.from_the_end {
            let mut taken: Vec<&Entry> = part
                .iter()
                .rev()
                .take_while(&mut fits)
                .take(stretch.limit)
                .collect();
            taken.reverse();
            taken
        } else {
            part.iter()
                .take_while(&mut fits)
                .take(stretch.limit)
                .collect()
        };
        taken.into_iter().cloned().collect()
    }

    fn list_now(&self, listing: &Listing) -> Vec<Overview> {
        let sessions = self.lock();
        let mut all: Vec<&Overview> = sessions
            .values()
            .map(|session| &session.overview)
            .filter(|overview| {
                let key = (overview.updated, &overview.id);
                let is_behind = listing
                    .after
                    .as_ref()
                    .is_none_or(|(updated, id)| key < (*updated, id));
                let is_there =
                    listing.workspace.is_none() || overview.info.workspace == listing.workspace;
                let prefix = listing.prefix.as_deref().unwrap_or_default();
                is_behind && is_there && overview.id.as_str().starts_with(prefix)
            })
            .collect();
        all.sort_by(|a, b| (b.updated, &b.id).cmp(&(a.updated, &a.id)));
        all.into_iter().take(listing.limit).cloned().collect()
    }

    fn search_now(&self, search: &Search) -> Vec<Hit> {
        let Some(words) = Words::new(&search.words) else {
            return Vec::new();
        };
        let sessions = self.lock();
        let range = match &search.session {
            Some(id) => (Bound::Included(id.clone()), Bound::Included(id.clone())),
            None => (Bound::Unbounded, Bound::Unbounded),
        };
        let mut hits: Vec<Hit> = sessions
            .range(range)
            .filter(|(_, session)| {
                search.workspace.is_none() || session.overview.info.workspace == search.workspace
            })
            .flat_map(|(_, session)| &session.log)
            .filter_map(|entry| words.find(entry))
            .collect();
        hits.sort_by_key(|hit| Reverse((hit.ts, hit.seq)));
        hits.into_iter()
            .skip(search.skip)
            .take(search.limit)
            .collect()
    }

    fn check_now(&self) -> Checked {
        let sessions = self.lock();
        Checked {
            sessions: sessions.len() as u64,
            entries: sessions
                .values()
                .map(|session| session.log.len() as u64)
                .sum(),
            damage: Vec::new(),
        }
    }
}

impl Store for MemoryStore {
    fn append<'a>(
        &'a self,
        session: &'a SessionId,
        entries: Vec<NewEntry>,
    ) -> Pending<'a, Appended> {
        async move { self.append_now(session, entries) }.boxed()
    }

    fn copy<'a>(
        &'a self,
        beginning: Beginning,
        into: &'a SessionId,
        behind: Vec<NewEntry>,
    ) -> Pending<'a, Appended> {
        async move { self.copy_now(&beginning, into, behind) }.boxed()
    }

    fn read<'a>(&'a self, session: &'a SessionId, stretch: Stretch) -> Pending<'a, Vec<Entry>> {
        async move { Ok(self.read_now(session, stretch)) }.boxed()
    }

    fn session<'a>(&'a self, session: &'a SessionId) -> Pending<'a, Option<Overview>> {
        let overview = self
            .lock()
            .get(session)
            .map(|session| session.overview.clone());
        ready(Ok(overview)).boxed()
    }

    fn sessions(&self, listing: Listing) -> Pending<'_, Vec<Overview>> {
        async move { Ok(self.list_now(&listing)) }.boxed()
    }

    fn search(&self, search: Search) -> Pending<'_, Vec<Hit>> {
        async move { Ok(self.search_now(&search)) }.boxed()
    }

    fn delete<'a>(&'a self, session: &'a SessionId) -> Pending<'a, bool> {
        async move { Ok(self.lock().remove(session).is_some()) }.boxed()
    }

    fn writer<'a>(&'a self, _: &'a SessionId) -> Pending<'a, Option<Writer>> {
        ready(Ok(None)).boxed()
    }

    fn release<'a>(&'a self, _: &'a SessionId) -> Pending<'a, ()> {
        ready(Ok(())).boxed()
    }

    fn rebuild(&self) -> Pending<'_, ()> {
        ready(Ok(())).boxed()
    }

    fn check(&self) -> Pending<'_, Checked> {
        async move { Ok(self.check_now()) }.boxed()
    }
}
