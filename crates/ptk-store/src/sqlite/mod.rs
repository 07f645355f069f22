//! The store in an SQLite file.
//!
//! ```text
//! sessions.db          the log, and what follows from it
//! sessions.db-wal      what was written last
//! sessions.db-shm      shared by those who have it open
//! sessions.db.writers/ a file for each process that may write, locked by it
//! ```

mod derived;
mod failure;
mod inspection;
mod ledger;
mod place;
mod queries;
mod rows;
mod schema;
mod system;
mod threads;
mod writers;

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::FutureExt as _;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::redact::{Prepared, prepare};
use crate::store::Pending;
use crate::{
    Appended, Beginning, Checked, Entry, Hit, Listing, NewEntry, Overview, Redaction, Search,
    SessionId, Store, StoreError, Stretch, Writer,
};
use inspection::{Found, Wanted};
use ledger::{Append, Ledger};
use place::{PATIENCE, Place};
use threads::{ReaderThreads, Request, WriterThread};

/// How long to wait before trying again.
const PAUSE: Duration = Duration::from_millis(5);

/// A store in an SQLite file. Clones share it.
///
/// Several processes may have one file open, and each writes sessions of its
/// own. Once the last clone is dropped, everything that was handed over is
/// written.
#[derive(Debug, Clone)]
pub struct SqliteStore {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    place: Arc<Place>,
    redaction: Redaction,
    /// The readers, which are closed before the writer.
    readers: OnceLock<ReaderThreads>,
    /// The writer; `None` if the store was opened read-only.
    writer: Option<WriterThread>,
}

impl SqliteStore {
    /// Opens a database, and creates it if there is none.
    ///
    /// # Errors
    ///
    /// If the file is not such a database, is damaged, or was made by a newer
    /// version; then it is left as it is.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_redacting(path, Redaction::default())
    }

    /// Opens a database, and removes secrets from everything that is written.
    ///
    /// # Errors
    ///
    /// As with [`open`](Self::open).
    pub fn open_redacting(
        path: impl AsRef<Path>,
        redaction: Redaction,
    ) -> Result<Self, StoreError> {
        Self::open_wanting(path.as_ref(), redaction, Wanted::Whole)
    }

    /// Opens a database, and rebuilds everything that is derived from its log,
    /// even if that is damaged. Blocks until it is rebuilt.
    ///
    /// # Errors
    ///
    /// As with [`open`](Self::open), and if the log itself is damaged.
    pub fn open_rebuilding(
        path: impl AsRef<Path>,
        redaction: Redaction,
    ) -> Result<Self, StoreError> {
        Self::open_wanting(path.as_ref(), redaction, Wanted::Log)
    }

    fn open_wanting(path: &Path, redaction: Redaction, wanted: Wanted) -> Result<Self, StoreError> {
        let place = Arc::new(Place::new(path));
        let opened = Arc::clone(&place);
        let open = move || {
            let mut ledger = patiently(|| {
                let found = opened.look(wanted)?;
                opened.create()?;
                opened.close_to_others();
                Ledger::open(Arc::clone(&opened), found)
            })?;
            if wanted == Wanted::Log {
                ledger.rebuild()?;
            }
            Ok(ledger)
        };
        let writer = WriterThread::start(&place, open)?;
        Ok(Self::new(place, redaction, Some(writer)))
    }

    /// Opens a database read-only. Others may write it meanwhile.
    ///
    /// # Errors
    ///
    /// If there is no database, or none that can be read.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let place = Arc::new(Place::new(path.as_ref()));
        match patiently(|| place.look(Wanted::Whole))? {
            Found::Schema(schema::NEWEST) => Ok(Self::new(place, Redaction::default(), None)),
            Found::Schema(found) => Err(StoreError::OlderSchema {
                place: place.shown(),
                found,
            }),
            Found::DamagedIndex => Err(StoreError::IndexDamaged {
                place: place.shown(),
                detail: "it was not made anew".to_owned(),
            }),
            Found::Nothing => Err(StoreError::Missing {
                place: place.shown(),
            }),
        }
    }

    fn new(place: Arc<Place>, redaction: Redaction, writer: Option<WriterThread>) -> Self {
        Self {
            inner: Arc::new(Inner {
                place,
                redaction,
                writer,
                readers: OnceLock::new(),
            }),
        }
    }

    /// The path of the database.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.inner.place.path()
    }

    fn writer(&self) -> Result<&WriterThread, StoreError> {
        let opened = self.inner.writer.as_ref();
        opened.ok_or_else(|| StoreError::OpenedReadOnly {
            place: self.inner.place.shown(),
        })
    }

    fn prepared(&self, entries: Vec<NewEntry>) -> Result<Vec<Prepared>, StoreError> {
        let redaction = &self.inner.redaction;
        let entries = entries.into_iter();
        entries.map(|entry| prepare(redaction, entry)).collect()
    }

    /// Runs `work` on the writer thread.
    fn change<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Ledger) -> Result<T, StoreError> + Send + 'static,
    ) -> Pending<'_, T> {
        async move {
            let (done, result) = oneshot::channel();
            let work = Box::new(move |ledger: &mut Ledger| {
                let _ = done.send(work(ledger));
            });
            self.writer()?.send(Request::Work(work)).await;
            result.await.map_err(|_| self.inner.place.closed())?
        }
        .boxed()
    }

    /// Runs `ask` on one of the reader threads.
    fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Place, &Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Pending<'_, T> {
        async move {
            let place = Arc::clone(&self.inner.place);
            let (done, result) = oneshot::channel();
            let reading = Box::new(move |connection: Result<&Connection, StoreError>| {
                let asked = connection.and_then(|connection| {
                    ask(&place, connection).map_err(|error| place.blame(connection, error))
                });
                let _ = done.send(asked);
            });
            self.readers()?.send(reading).await;
            result.await.map_err(|_| self.inner.place.closed())?
        }
        .boxed()
    }

    /// Returns the readers, started on first use: many stores only write.
    fn readers(&self) -> Result<&ReaderThreads, StoreError> {
        let inner = &*self.inner;
        if let Some(readers) = inner.readers.get() {
            return Ok(readers);
        }
        let started = ReaderThreads::start(&inner.place)
            .map_err(|error| failure::of_system("start a thread for", inner.place.path(), error))?;
        Ok(inner.readers.get_or_init(|| started))
    }
}

/// Retries while others open or close the same file: SQLite does not wait for
/// them in every case.
fn patiently<T>(mut open: impl FnMut() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let start = Instant::now();
    loop {
        match open() {
            Err(StoreError::Busy { .. }) if start.elapsed() < PATIENCE => {
                thread::sleep(PAUSE);
            }
            result => return result,
        }
    }
}

impl Store for SqliteStore {
    fn append<'a>(
        &'a self,
        session: &'a SessionId,
        entries: Vec<NewEntry>,
    ) -> Pending<'a, Appended> {
        async move {
            let entries = self.prepared(entries)?;
            let (done, result) = oneshot::channel();
            let append = Append {
                session: session.clone(),
                entries,
                done,
            };
            self.writer()?.send(Request::Append(append)).await;
            result.await.map_err(|_| self.inner.place.closed())?
        }
        .boxed()
    }

    fn copy<'a>(
        &'a self,
        beginning: Beginning,
        into: &'a SessionId,
        behind: Vec<NewEntry>,
    ) -> Pending<'a, Appended> {
        async move {
            let behind = self.prepared(behind)?;
            let into = into.clone();
            self.change(move |ledger| ledger.copy(&beginning, &into, &behind))
                .await
        }
        .boxed()
    }

    fn read<'a>(&'a self, session: &'a SessionId, stretch: Stretch) -> Pending<'a, Vec<Entry>> {
        let session = session.clone();
        self.ask(move |place, connection| queries::read(place, connection, &session, stretch))
    }

    fn session<'a>(&'a self, session: &'a SessionId) -> Pending<'a, Option<Overview>> {
        let session = session.clone();
        self.ask(move |place, connection| derived::get(place, connection, &session))
    }

    fn sessions(&self, listing: Listing) -> Pending<'_, Vec<Overview>> {
        self.ask(move |place, connection| queries::sessions(place, connection, &listing))
    }

    fn search(&self, search: Search) -> Pending<'_, Vec<Hit>> {
        self.ask(move |place, connection| queries::search(place, connection, &search))
    }

    fn delete<'a>(&'a self, session: &'a SessionId) -> Pending<'a, bool> {
        let session = session.clone();
        self.change(move |ledger| ledger.delete(&session))
    }

    fn writer<'a>(&'a self, session: &'a SessionId) -> Pending<'a, Option<Writer>> {
        let session = session.clone();
        self.ask(move |place, connection| writers::of(place, connection, &session))
    }

    fn release<'a>(&'a self, session: &'a SessionId) -> Pending<'a, ()> {
        let session = session.clone();
        self.change(move |ledger| ledger.release(&session))
    }

    fn rebuild(&self) -> Pending<'_, ()> {
        self.change(Ledger::rebuild)
    }

    fn check(&self) -> Pending<'_, Checked> {
        self.ask(queries::check)
    }
}
