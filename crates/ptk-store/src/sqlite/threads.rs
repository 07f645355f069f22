//! The threads on which SQLite works, so that nobody's runtime is blocked.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::sync::mpsc;

use super::failure;
use super::ledger::{Append, Ledger};
use super::place::Place;
use crate::StoreError;

/// Requests that wait for the writer; whoever comes then waits in front.
const WAITING: usize = 256;
/// Requests that are written in one transaction.
const MAX_BATCH: usize = 128;
/// Readers, so that one long search does not hold up everything else.
const READERS: usize = 2;

/// Something for the thread that writes.
pub(super) enum Request {
    /// Entries; those that wait together are written together.
    Append(Append),
    /// Anything else.
    Work(Box<dyn FnOnce(&mut Ledger) + Send>),
}

/// The thread that writes.
#[derive(Debug)]
pub(super) struct WriterThread {
    requests: Option<mpsc::Sender<Request>>,
    thread: Option<JoinHandle<()>>,
}

impl WriterThread {
    /// Starts it. What is made or mended when the database is opened is done
    /// there, too; blocks until it is.
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

    /// Hands something over; `false` if the thread is gone.
    pub(super) async fn send(&self, request: Request) -> bool {
        match &self.requests {
            Some(requests) => requests.send(request).await.is_ok(),
            None => false,
        }
    }
}

impl Drop for WriterThread {
    /// Everything that was handed over is written, and the sessions are free.
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

/// Something for a thread that reads.
pub(super) type Reading = Box<dyn FnOnce(Result<&Connection, StoreError>) + Send>;

/// The threads that read.
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

    /// Hands something over; `false` if the threads are gone.
    pub(super) async fn send(&self, reading: Reading) -> bool {
        match &self.readings {
            Some(readings) => readings.send(reading).await.is_ok(),
            None => false,
        }
    }
}

impl Drop for ReaderThreads {
    /// The last one to close a database tidies up, which only a writer can.
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
        // One waits for work, the other for its turn to wait.
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
