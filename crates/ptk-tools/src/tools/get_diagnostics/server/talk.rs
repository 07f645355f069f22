//! The dialogue with a server, from `initialize` to `exit`.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ptk_sandbox::command::{ProgramInput, ProgramOutput};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

use super::answers;
use super::frame::{FrameError, Frames, framed};
use super::heard::Heard;
use super::messages::{Document, Published, Pulled, initialize, opened, path, uri};
use crate::tools::get_diagnostics::diagnostic::shortened;

/// How long a server that has reported on every file has to be silent: some
/// report at first that there is nothing.
const SETTLED: Duration = Duration::from_millis(500);
/// How long a server may be silent that has not reported on every file, and
/// reports no progress.
const PATIENCE: Duration = Duration::from_secs(10);
/// The pause before a request is repeated to a server that was not ready.
const AGAIN: Duration = Duration::from_millis(250);
/// Error codes of a server that was not ready: cancelled, or the content
/// changed.
const NOT_READY: [i64; 2] = [-32802, -32801];
/// Characters of the reason for a refusal.
const MAX_REASON: usize = 500;
/// Kinds of work that a server may report at a time.
const MAX_BUSY: usize = 1_000;
/// How long it may take to answer `shutdown`.
const GOODBYE: Duration = Duration::from_secs(2);

/// Why a dialogue broke off.
#[derive(Debug, thiserror::Error)]
pub(super) enum TalkError {
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error("it refused {method}: {message}")]
    Refused { method: String, message: String },
}

/// A request that waits for its response.
#[derive(Debug)]
struct Asked {
    method: &'static str,
    about: Option<PathBuf>,
}

pub(super) struct Talk<'a> {
    to: ProgramInput,
    from: Frames<ProgramOutput>,
    folders: Value,
    documents: Vec<Document>,
    asked: HashMap<u64, Asked>,
    next: u64,
    /// Files whose request is to be repeated.
    again: Vec<PathBuf>,
    /// The work that the server reports.
    busy: HashSet<String>,
    heard: &'a mut Heard,
}

impl<'a> Talk<'a> {
    pub(super) fn new(
        (to, from): (ProgramInput, ProgramOutput),
        folder: &Path,
        documents: Vec<Document>,
        heard: &'a mut Heard,
    ) -> Self {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        Self {
            to,
            from: Frames::new(from),
            folders: json!([{"uri": uri(folder), "name": name}]),
            documents,
            asked: HashMap::new(),
            next: 0,
            again: Vec::new(),
            busy: HashSet::new(),
            heard,
        }
    }

    /// Runs the whole dialogue, up to `shutdown`.
    pub(super) async fn whole(&mut self) -> Result<(), TalkError> {
        let greeting = initialize(&self.folders);
        self.ask("initialize", greeting, None).await?;
        let mut abilities = Value::Null;
        while !self.asked.is_empty() {
            if let Some(result) = self.hear().await? {
                abilities = result;
            }
        }
        let answers = abilities.pointer("/capabilities/diagnosticProvider");
        let answers = answers.is_some_and(|ability| !ability.is_null());
        self.tell("initialized", json!({})).await?;
        for document in std::mem::take(&mut self.documents) {
            self.tell("textDocument/didOpen", opened(&document)).await?;
            if answers {
                self.ask_about(document.path).await?;
            } else {
                self.documents.push(document);
            }
        }
        while !self.asked.is_empty() {
            self.hear().await?;
            for path in std::mem::take(&mut self.again) {
                tokio::time::sleep(AGAIN).await;
                self.ask_about(path).await?;
            }
        }
        self.listen().await
    }

    async fn ask_about(&mut self, path: PathBuf) -> Result<(), TalkError> {
        let about = json!({"textDocument": {"uri": uri(&path)}});
        self.ask("textDocument/diagnostic", about, Some(path)).await
    }

    /// Receives what the server sends by itself, until it is complete.
    async fn listen(&mut self) -> Result<(), TalkError> {
        loop {
            let silent = |document: &&Document| !self.heard.has(&document.path);
            let missing = self.documents.iter().filter(silent).count();
            let is_done = missing == 0 && self.busy.is_empty();
            if is_done && self.documents.is_empty() {
                return Ok(());
            }
            let wait = match (is_done, self.busy.is_empty()) {
                (true, _) => SETTLED,
                (false, true) => PATIENCE,
                // The time of the whole visit is the limit.
                (false, false) => Duration::MAX,
            };
            match timeout(wait, self.hear()).await {
                Ok(heard) => drop(heard?),
                Err(_) if missing == 0 => return Ok(()),
                Err(_) => {
                    self.heard.note = Some(format!("it said nothing about {missing} files"));
                    return Ok(());
                }
            }
        }
    }

    /// Sends `shutdown` and `exit`, as far as the server takes them.
    pub(super) async fn goodbye(mut self) {
        let goodbye = async {
            self.ask("shutdown", Value::Null, None).await?;
            while !self.asked.is_empty() {
                self.hear().await?;
            }
            self.tell("exit", Value::Null).await
        };
        let goodbye: Result<Result<(), TalkError>, _> = timeout(GOODBYE, goodbye).await;
        if !matches!(goodbye, Ok(Ok(()))) {
            tracing::debug!(?goodbye, "a language server did not take leave");
        }
    }

    /// Sends a message. What the server sends meanwhile is read, so that
    /// neither waits for the other.
    async fn send(&mut self, message: &Value) -> Result<(), TalkError> {
        let bytes = framed(message);
        let written = self.to.write_all(&bytes);
        tokio::pin!(written);
        loop {
            tokio::select! {
                written = &mut written => return Ok(written.map_err(FrameError::from)?),
                filled = self.from.fill() => filled?,
            }
        }
    }

    async fn ask(
        &mut self,
        method: &'static str,
        parameters: Value,
        about: Option<PathBuf>,
    ) -> Result<(), TalkError> {
        self.next += 1;
        self.asked.insert(self.next, Asked { method, about });
        let message =
            json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": parameters});
        self.send(&message).await
    }

    async fn tell(&mut self, method: &str, parameters: Value) -> Result<(), TalkError> {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": parameters});
        self.send(&message).await
    }

    /// Receives one message. Returns the result, if it is a response.
    async fn hear(&mut self) -> Result<Option<Value>, TalkError> {
        let mut message = self.from.next().await?;
        let mut part = |name: &str| message.get_mut(name).map(Value::take);
        let parameters = part("params").unwrap_or_default();
        let (id, method) = (part("id"), part("method"));
        match (method.as_ref().and_then(Value::as_str), id) {
            (Some(method), Some(id)) => {
                let answer = answers::to(&id, method, &parameters, &self.folders);
                self.send(&answer).await?;
                Ok(None)
            }
            (Some(method), None) => {
                self.told(method, parameters);
                Ok(None)
            }
            (None, id) => {
                let id = id.as_ref().and_then(Value::as_u64).unwrap_or_default();
                let (result, error) = (part("result"), part("error"));
                self.answered(id, result, error)
            }
        }
    }

    fn told(&mut self, method: &str, parameters: Value) {
        if method == "$/progress" {
            let token = parameters
                .get("token")
                .map(Value::to_string)
                .unwrap_or_default();
            match parameters.pointer("/value/kind").and_then(Value::as_str) {
                Some("begin") if self.busy.len() < MAX_BUSY => drop(self.busy.insert(token)),
                Some("end") => drop(self.busy.remove(&token)),
                _ => {}
            }
        }
        if method == "textDocument/publishDiagnostics" {
            let published = serde_json::from_value::<Published>(parameters);
            if let Some((path, items)) = published
                .ok()
                .and_then(|published| Some((path(&published.uri)?, published.diagnostics)))
            {
                self.heard.remember(path, items);
            }
        }
    }

    fn answered(
        &mut self,
        id: u64,
        result: Option<Value>,
        error: Option<Value>,
    ) -> Result<Option<Value>, TalkError> {
        let Some(asked) = self.asked.remove(&id) else {
            return Ok(None);
        };
        if let Some(error) = error.filter(|error| !error.is_null()) {
            let code = error.get("code").and_then(Value::as_i64);
            let is_ready = code.is_none_or(|code| !NOT_READY.contains(&code));
            if let (false, Some(path)) = (is_ready, &asked.about) {
                self.again.push(path.clone());
                return Ok(None);
            }
            let message = error.get("message").and_then(Value::as_str);
            return Err(TalkError::Refused {
                method: asked.method.to_owned(),
                message: shortened(message.unwrap_or("no reason given"), MAX_REASON),
            });
        }
        let result = result.unwrap_or_default();
        if let Some(path) = asked.about {
            let pulled = serde_json::from_value::<Pulled>(result);
            let items = pulled.map_err(FrameError::from)?.items;
            self.heard.remember(path, items);
            return Ok(None);
        }
        Ok(Some(result))
    }
}
