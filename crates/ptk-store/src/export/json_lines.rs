//! A session as JSON lines: an entry each, word for word.

use std::io::{BufRead, Read as _, Write};

use super::unwritable;
use crate::copying::{Copying, PAGE};
use crate::{Entry, MAX_ENTRY, SessionId, Store, StoreError, Stretch};

/// The longest line that is read: an entry, and what stands around it.
const MAX_LINE: u64 = MAX_ENTRY as u64 + 64 * 1024;

/// Writes the log of a session, and says how many entries that are.
///
/// # Errors
///
/// If the store cannot be read, or `out` not be written.
pub async fn write_json_lines(
    store: &dyn Store,
    session: &SessionId,
    out: &mut (dyn Write + Send),
) -> Result<u64, StoreError> {
    let mut last = 0;
    loop {
        let page = store.read(session, Stretch::after(last, PAGE)).await?;
        let Some(end) = page.last() else {
            out.flush().map_err(unwritable)?;
            return Ok(last);
        };
        last = end.seq;
        for entry in &page {
            serde_json::to_writer(&mut *out, entry).map_err(|error| unwritable(error.into()))?;
            out.write_all(b"\n").map_err(unwritable)?;
        }
    }
}

/// What was taken in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// The sessions.
    pub sessions: Vec<SessionId>,
    /// How many entries they have.
    pub entries: u64,
}

/// Takes in the logs of sessions that the store does not have. Each has to be
/// there from its first entry, without gaps.
///
/// # Errors
///
/// If a line cannot be read or is out of place, if a session exists, or if the
/// store cannot be written. Then nothing of it is kept.
pub async fn import_json_lines(
    store: &dyn Store,
    lines: &mut (dyn BufRead + Send),
) -> Result<Imported, StoreError> {
    let mut import = Import {
        store,
        done: Imported::default(),
        copying: Copying::new(store),
        line: 0,
    };
    let result = import.run(lines).await;
    for session in &import.done.sessions {
        match &result {
            Ok(()) => store.release(session).await?,
            // What went wrong first is what has to be told.
            Err(_) => drop(store.delete(session).await),
        }
    }
    result.map(|()| import.done)
}

struct Import<'a> {
    store: &'a dyn Store,
    done: Imported,
    /// Entries of the last session.
    copying: Copying<'a>,
    line: u64,
}

impl Import<'_> {
    async fn run(&mut self, lines: &mut (dyn BufRead + Send)) -> Result<(), StoreError> {
        let mut next = 1;
        while let Some(entry) = self.read(lines)? {
            if self.done.sessions.last() != Some(&entry.session) {
                self.write().await?;
                self.begin(&entry).await?;
                next = 1;
            }
            if entry.seq != next {
                return Err(self.refuse(format!(
                    "entry {next} of session {} is due, and this is entry {}",
                    entry.session, entry.seq
                )));
            }
            next += 1;
            self.done.entries += 1;
            let session = entry.session.clone();
            self.copying.push(&session, entry).await?;
        }
        self.write().await
    }

    /// The next entry, past empty lines.
    fn read(&mut self, lines: &mut (dyn BufRead + Send)) -> Result<Option<Entry>, StoreError> {
        loop {
            self.line += 1;
            let mut line = String::new();
            let read = lines.take(MAX_LINE).read_line(&mut line);
            match read {
                Ok(0) => return Ok(None),
                Ok(_) if line.trim().is_empty() => {}
                Ok(_) => {
                    let entry = serde_json::from_str(&line);
                    return entry.map_err(|error| self.refuse(error.to_string()));
                }
                Err(error) => return Err(self.refuse(error.to_string())),
            }
        }
    }

    async fn begin(&mut self, entry: &Entry) -> Result<(), StoreError> {
        let session = &entry.session;
        if self.store.session(session).await?.is_some() {
            return Err(self.refuse(format!("session {session} exists already")));
        }
        self.done.sessions.push(session.clone());
        Ok(())
    }

    async fn write(&mut self) -> Result<(), StoreError> {
        match self.done.sessions.last() {
            Some(session) => self.copying.write(session).await,
            None => Ok(()),
        }
    }

    fn refuse(&self, reason: String) -> StoreError {
        let line = self.line;
        StoreError::Import { line, reason }
    }
}
