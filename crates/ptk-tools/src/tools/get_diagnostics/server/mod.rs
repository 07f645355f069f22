//! Language servers: started, given some files, asked for their diagnostics,
//! and ended.
//!
//! The few messages that this takes are implemented here directly. A client
//! library would bring every other message too, and reads as many bytes as a
//! server announces, whatever their number.

mod answers;
mod frame;
mod heard;
mod messages;
mod talk;

use std::path::PathBuf;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use self::frame::FrameError;
use self::heard::Heard;
use self::messages::Document;
use self::talk::{Talk, TalkError};
use super::check::{self, CheckOutcome, Checked, Status};
use super::checkers::command;
use super::config;
use super::places;
use super::programs::SearchPath;
use super::project::{Scope, name};
use crate::process::{Ended, Program, Reason, Running};
use crate::{CallContext, ToolError};

/// Files that are sent to a server at once.
const MAX_FILES: usize = 50;
/// Bytes of the files that are sent.
const MAX_TEXT: usize = 16 * 1024 * 1024;
/// How long a server may take to end after `exit`.
const LEAVE: Duration = Duration::from_secs(2);

/// A server, and the files whose diagnostics it is asked for.
#[derive(Debug)]
pub(super) struct Visit {
    server: config::Server,
    files: Vec<PathBuf>,
    /// How many more files it would have known.
    left_out: usize,
    workspace: ptk_sandbox::Workspace,
    folder: PathBuf,
}

impl Visit {
    /// The visit, if there are files for the server.
    pub(super) fn new(server: &config::Server, scope: &Scope) -> Option<Self> {
        let mut files = scope.matching(|name| server.knows(name));
        let left_out = files.len().saturating_sub(MAX_FILES);
        files.truncate(MAX_FILES);
        (!files.is_empty()).then(|| Self {
            server: server.clone(),
            files,
            left_out,
            workspace: scope.workspace.clone(),
            folder: scope.root.clone(),
        })
    }

    pub(super) fn command(&self) -> String {
        let words = self.server.command.iter();
        command(words.map(|word| word.as_str().into()))
    }

    /// Gets the diagnostics from the server.
    pub(super) async fn run(
        &self,
        context: &CallContext,
        search: &SearchPath,
        time: Duration,
    ) -> Result<CheckOutcome, ToolError> {
        let Some((program, arguments)) = self.server.command.split_first() else {
            let note = "its `command` in ptk.toml is empty".to_owned();
            return Ok(self.outcome(Status::Failed, &[note]));
        };
        let homes = [
            self.folder.join(".venv/bin"),
            self.folder.join("node_modules/.bin"),
        ];
        let Some(program) = search.find(program, &homes, &self.folder) else {
            let note = format!(
                "{program} is not installed: install it, or mend [[diagnostics.servers]] in ptk.toml"
            );
            return Ok(self.outcome(Status::Missing, &[note]));
        };
        let (documents, unread) = self.documents(context).await?;
        // Ends with the call, or with this function, however that ends.
        let stop = context.cancellation().child_token();
        let _guard = stop.clone().drop_guard();
        let server = Program::new(program, arguments, &self.folder).timeout(time);
        let mut running = match server.dialogue().start(context).await {
            Ok(running) => running,
            Err(error) => return Ok(self.outcome(Status::Failed, &[error.to_string()])),
        };
        let Some(line) = running.talk() else {
            let note = "there is no line to it".to_owned();
            return Ok(self.outcome(Status::Failed, &[note]));
        };
        let mut heard = Heard::default();
        let talk = Talk::new(line, &self.folder, documents, &mut heard);
        let met = meet(talk, running, &stop);
        let (talked, ended) = check::with_progress(context, &self.server.name, met).await;
        if context.is_cancelled() {
            return Err(check::cancelled());
        }
        let is_late = talked.is_none() && ended.reason == Reason::TimedOut;
        let failure = match talked {
            Some(Ok(())) => None,
            Some(Err(error)) => Some(with_words(&error.to_string(), &ended)),
            None if is_late => Some(check::stopped(time, &ended)),
            None => Some(with_words("it ended before it had answered", &ended)),
        };
        let status = if failure.is_some() {
            Status::Failed
        } else {
            Status::Ok
        };
        let mut notes: Vec<String> = failure
            .into_iter()
            .chain(heard.note.take())
            .chain(unread)
            .collect();
        if self.left_out > 0 {
            notes.push(format!(
                "{} more files were not shown to it; ask about one file",
                self.left_out
            ));
        }
        let reading = heard.reading();
        if reading.left_out > 0 {
            notes.push(format!(
                "{} more diagnostics were left out",
                reading.left_out
            ));
        }
        let mut outcome = self.outcome(status, &notes);
        outcome.found = reading.found;
        outcome.is_late = is_late;
        Ok(outcome)
    }

    fn outcome(&self, status: Status, notes: &[String]) -> CheckOutcome {
        CheckOutcome {
            source: self.server.name.clone(),
            folder: self.folder.clone(),
            checked: Checked {
                name: self.server.name.clone(),
                command: self.command(),
                status,
                note: (!notes.is_empty()).then(|| notes.join("; ")),
            },
            found: Vec::new(),
            is_late: false,
        }
    }

    /// The files with their content, and a note on those that have none.
    async fn documents(
        &self,
        context: &CallContext,
    ) -> Result<(Vec<Document>, Option<String>), ToolError> {
        let (files, workspace) = (self.files.clone(), self.workspace.clone());
        let server = self.server.clone();
        let read = move || {
            let mut room = MAX_TEXT;
            let all = files.iter().filter_map(|path| {
                let place = workspace.resolve(path.to_str()?).ok()?;
                let text = places::text(&place)?;
                room = room.checked_sub(text.len())?;
                Some(Document {
                    text,
                    language: server.language(name(path)?),
                    path: path.clone(),
                })
            });
            let documents: Vec<_> = all.collect();
            let unread = files.len() - documents.len();
            let unread = (unread > 0).then(|| format!("{unread} files are no text, or too large"));
            Ok((documents, unread))
        };
        context.blocking(read).await
    }
}

/// Runs the dialogue with a server to its end, and ends the server. Without a
/// result of the dialogue, the server ended first.
async fn meet(
    mut talk: Talk<'_>,
    running: Running,
    stop: &CancellationToken,
) -> (Option<Result<(), TalkError>>, Ended) {
    let ended = running.end(stop, None);
    tokio::pin!(ended);
    let talked = tokio::select! {
        talked = talk.whole() => talked,
        ended = &mut ended => return (None, ended),
    };
    if matches!(talked, Err(TalkError::Frame(FrameError::Line(_)))) {
        // Most likely because the server ends.
        tokio::select! {
            () = tokio::time::sleep(LEAVE) => {}
            ended = &mut ended => return (None, ended),
        }
    } else if talked.is_ok() {
        let leave = async {
            talk.goodbye().await;
            tokio::time::sleep(LEAVE).await;
        };
        tokio::select! {
            () = leave => {}
            ended = &mut ended => return (Some(talked), ended),
        }
    }
    stop.cancel();
    (Some(talked), ended.await)
}

fn with_words(what: &str, ended: &Ended) -> String {
    match check::said(ended) {
        Some(said) => format!("{what}: {said}"),
        None => what.to_owned(),
    }
}
