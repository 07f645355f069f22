//! A session as JSON lines, one entry per line, word for word.

use std::io::{BufRead, Read as _, Write};

use super::data::without_settings;
use super::unwritable;
use crate::copying::{Copying, PAGE};
use crate::{
    Entry, InfoChanged, MAX_ENTRY, NewEntry, SessionId, SessionImported, SessionInfo, Store,
    StoreError, Stretch, TurnEnded, TurnOutcome,
};

/// The longest line that is read: an entry and the JSON around it.
const MAX_LINE: u64 = MAX_ENTRY as u64 + 64 * 1024;

/// Writes the log of a session, and returns how many entries that are.
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

/// The result of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// The sessions that were imported.
    pub sessions: Vec<SessionId>,
    /// How many entries they have.
    pub entries: u64,
}

/// Imports the logs of sessions that the store does not have, as sessions of
/// `workspace`. Each has to be there from its first entry, without gaps.
///
/// What was said and done is kept word for word. The settings are not: where
/// the model is, its name, the workspace, tools, limits and whatever else a
/// turn was begun with. A turn that was open is ended as cancelled, so that no
/// call of the file is run when the session goes on. Behind all of it stands an
/// entry that says that it was imported.
///
/// # Errors
///
/// If a line cannot be read or is out of place, if a session exists, or if the
/// store cannot be written. Then nothing of it is kept.
pub async fn import_json_lines(
    store: &dyn Store,
    lines: &mut (dyn BufRead + Send),
    workspace: Option<&str>,
) -> Result<Imported, StoreError> {
    let mut import = Import {
        store,
        workspace,
        done: Imported::default(),
        copying: Copying::new(store),
        line: 0,
    };
    let result = import.run(lines).await;
    for session in &import.done.sessions {
        match &result {
            Ok(()) => store.release(session).await?,
            // The first error is the one to report.
            Err(_) => drop(store.delete(session).await),
        }
    }
    result.map(|()| import.done)
}

struct Import<'a> {
    store: &'a dyn Store,
    workspace: Option<&'a str>,
    done: Imported,
    /// Entries of the last session that are not written yet.
    copying: Copying<'a>,
    line: u64,
}

impl Import<'_> {
    async fn run(&mut self, lines: &mut (dyn BufRead + Send)) -> Result<(), StoreError> {
        let mut next = 1;
        while let Some(entry) = self.read(lines)? {
            if self.done.sessions.last() != Some(&entry.session) {
                self.end(next).await?;
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
            let (session, size) = (entry.session.clone(), entry.size());
            let entry = without_settings(entry);
            self.copying.push(&session, entry, size).await?;
        }
        self.end(next).await
    }

    /// Reads the next entry, and skips empty lines.
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

    /// Ends the last session, whose next entry would be number `next`.
    async fn end(&mut self, next: u64) -> Result<(), StoreError> {
        let Some(session) = self.done.sessions.last() else {
            return Ok(());
        };
        self.copying.write(session).await?;
        let is_open = self
            .store
            .session(session)
            .await?
            .is_some_and(|it| it.is_open);
        let cancelled = is_open.then(|| NewEntry::new(TurnEnded::new(TurnOutcome::Cancelled)));
        let workspace = self
            .workspace
            .map(|folder| NewEntry::new(InfoChanged(SessionInfo::new().workspace(folder))));
        let imported = NewEntry::new(SessionImported { through: next - 1 });
        let last = cancelled.into_iter().chain(workspace).chain([imported]);
        self.copying.end_with(session, last).await?;
        Ok(())
    }

    fn refuse(&self, reason: String) -> StoreError {
        let line = self.line;
        StoreError::Import { line, reason }
    }
}
