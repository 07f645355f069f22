//! The threads on which SQLite works, so that no async runtime is blocked.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::sync::mpsc;

use super::failure;
use super::ledger::{Append, Ledger};
use super::place::Place;
use crate::StoreError;

/// How many requests may be queued; further senders wait.
const WAITING: usize = 256;
/// How many requests are written in one transaction.
const MAX_BATCH: usize = 128;
/// How many readers there are, so that one long search does not hold up
/// everything else.
const READERS: usize = 2;

/// A request to the writer thread.
pub(super) enum Request {
    /// Entries to append; those that are queued together are written together.
    Append(Append),
    /// Any other work.
    Work(Box<dyn FnOnce(&mut Ledger) + Send>),
}

/// The writer thread.
#[derive(Debug)]
pub(super) struct WriterThread {
    requests: Option<mpsc::Sender<Request>>,
    thread: Option<JoinHandle<()>>,
}

impl WriterThread {
    /// Starts the thread. The database is created or repaired there, too;
    /// blocks until it is open.
    pub(super) fn start(
        place: &Place,
        open: impl FnOnce() -> Result<Ledger, StoreError> + Send + 'static,
    ) -> Result<Self, StoreError> {
        let (requests, mut waiting) = mpsc::channel(WAITING);
        let (opened, result) = std::sync::mpsc::channel();
        let work = move || {
            let mut ledger = match open() {
                Ok(ledger) => ledger,
                Err(error) => return drop(opened.send(Err(error))),
            };
            drop(opened.send(Ok(())));
            while let Some(request) = waiting.blocking_recv() {
                serve(&mut ledger, request, &mut waiting);
                ledger.settle();
            }
        };
        let thread = thread::Builder::new()
            .name("ptk-log-write".to_owned())
            .spawn(work)
            .map_err(|error| failure::of_system("start a thread for", place.path(), error))?;
        result.recv().unwrap_or_else(|_| Err(place.closed()))?;
        Ok(Self {
            requests: Some(requests),
            thread: Some(thread),
        })
    }

    /// Sends a request; `false` if the thread has ended.
    pub(super) async fn send(&self, request: Request) -> bool {
        match &self.requests {
            Some(requests) => requests.send(request).await.is_ok(),
            None => false,
        }
    }
}

impl Drop for WriterThread {
    /// Waits until every request is written and the sessions are released.
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(ledger: &mut Ledger, request: Request, waiting: &mut mpsc::Receiver<Request>) {
    let mut batch = Vec::new();
    let mut next = Some(request);
    while let Some(request) = next.take() {
        match request {
            Request::Append(append) => batch.push(append),
            Request::Work(work) => {
                if !batch.is_empty() {
                    ledger.append(std::mem::take(&mut batch));
                }
                return work(ledger);
            }
        }
        if batch.len() < MAX_BATCH {
            next = waiting.try_recv().ok();
        }
    }
    ledger.append(batch);
}

/// A request to a reader thread.
pub(super) type Reading = Box<dyn FnOnce(Result<&Connection, StoreError>) + Send>;

/// The reader threads.
#[derive(Debug)]
pub(super) struct ReaderThreads {
    readings: Option<mpsc::Sender<Reading>>,
    threads: Vec<JoinHandle<()>>,
}

impl ReaderThreads {
    pub(super) fn start(place: &Arc<Place>) -> std::io::Result<Self> {
        let (readings, waiting) = mpsc::channel::<Reading>(WAITING);
        let waiting = Arc::new(Mutex::new(waiting));
        let mut threads = Vec::with_capacity(READERS);
        for number in 0..READERS {
            let (place, waiting) = (Arc::clone(place), Arc::clone(&waiting));
            let thread = thread::Builder::new()
                .name(format!("ptk-log-read-{number}"))
                .spawn(move || read(&place, &waiting))?;
            threads.push(thread);
        }
        Ok(Self {
            readings: Some(readings),
            threads,
        })
    }

    /// Sends a request; `false` if the threads have ended.
    pub(super) async fn send(&self, reading: Reading) -> bool {
        match &self.readings {
            Some(readings) => readings.send(reading).await.is_ok(),
            None => false,
        }
    }
}

impl Drop for ReaderThreads {
    /// Waits for the readers: the last connection to close a database cleans
    /// up, which only a writer can.
    fn drop(&mut self) {
        self.readings = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn read(place: &Place, waiting: &Mutex<mpsc::Receiver<Reading>>) {
    let mut connection: Option<Connection> = None;
    loop {
        // One thread waits for work, the other one for the lock.
        let next = waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .blocking_recv();
        let Some(reading) = next else { return };
        if connection.is_none() {
            connection = match place.reader() {
                Ok(opened) => Some(opened),
                Err(error) => {
                    reading(Err(error));
                    continue;
                }
            };
        }
        if let Some(connection) = &connection {
            reading(Ok(connection));
        }
    }
}
