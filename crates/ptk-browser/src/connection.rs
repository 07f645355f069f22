//! The DevTools protocol: calls and their answers as JSON messages, each
//! terminated by a zero byte, on a pair of pipes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// The longest message, in bytes: several times the longest reply.
const MAX_MESSAGE: u64 = 64 * 1024 * 1024;
/// How many messages may wait to be sent.
const WAITING: usize = 16;
/// The most characters of a dialog's message that are kept.
const MAX_DIALOG: usize = 300;

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallError {
    /// The browser, or the page in it, is gone.
    Gone(String),
    /// The browser answered with an error.
    Refused(String),
}

/// A connection to a browser. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    shared: Arc<Shared>,
    outbox: mpsc::Sender<Vec<u8>>,
}

#[derive(Debug, Default)]
struct Shared {
    last_id: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    waiting: HashMap<u64, oneshot::Sender<Result<Value, CallError>>>,
    /// Why the connection has ended, if it has.
    gone: Option<String>,
    /// The message of the last dialog that was closed.
    dialog: Option<String>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks the connection as ended and fails all pending calls.
    fn end(&self, why: &str) {
        let mut state = self.state();
        state.gone.get_or_insert_with(|| why.to_owned());
        for (_, waiter) in state.waiting.drain() {
            let _ = waiter.send(Err(CallError::Gone(why.to_owned())));
        }
    }
}

#[derive(Debug, Deserialize)]
struct Incoming {
    id: Option<u64>,
    #[serde(default)]
    result: Value,
    error: Option<Refusal>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    #[serde(rename = "sessionId")]
    session: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Refusal {
    message: String,
}

impl Connection {
    /// Starts a connection on a pair of pipes. The task ends when they close.
    pub(crate) fn on(
        sender: impl AsyncWrite + Unpin + Send + 'static,
        receiver: impl AsyncRead + Unpin + Send + 'static,
    ) -> (Self, JoinHandle<()>) {
        let (outbox, letters) = mpsc::channel(WAITING);
        let connection = Self {
            shared: Arc::default(),
            outbox,
        };
        let answering = Answering {
            shared: Arc::clone(&connection.shared),
            outbox: connection.outbox.downgrade(),
        };
        tokio::spawn(send(sender, letters));
        let task = tokio::spawn(answering.receive(receiver));
        (connection, task)
    }

    /// Calls a method of the browser, or of an attached page.
    pub(crate) async fn call(
        &self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<Value, CallError> {
        let id = self.shared.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (tell, told) = oneshot::channel();
        {
            let mut state = self.shared.state();
            if let Some(why) = &state.gone {
                return Err(CallError::Gone(why.clone()));
            }
            state.waiting.insert(id, tell);
        }
        let sent = self.outbox.send(letter(id, session, method, &params)).await;
        let gone = || CallError::Gone("it no longer listens".to_owned());
        sent.map_err(|_| gone())?;
        told.await.map_err(|_| gone())?
    }

    /// Takes the message of the last dialog, if there was one.
    pub(crate) fn take_dialog(&self) -> Option<String> {
        self.shared.state().dialog.take()
    }
}

fn letter(id: u64, session: Option<&str>, method: &str, params: &Value) -> Vec<u8> {
    let mut message = json!({"id": id, "method": method, "params": params});
    if let (Some(session), Value::Object(fields)) = (session, &mut message) {
        fields.insert("sessionId".to_owned(), session.into());
    }
    let mut bytes = message.to_string().into_bytes();
    bytes.push(0);
    bytes
}

async fn send(mut pipe: impl AsyncWrite + Unpin, mut letters: mpsc::Receiver<Vec<u8>>) {
    while let Some(letter) = letters.recv().await {
        if pipe.write_all(&letter).await.is_err() {
            return;
        }
    }
}

/// Passes answers to the pending calls, and closes dialogs.
struct Answering {
    shared: Arc<Shared>,
    /// Weak, so that the pipe closes with the last connection.
    outbox: mpsc::WeakSender<Vec<u8>>,
}

impl Answering {
    async fn receive(self, pipe: impl AsyncRead + Unpin) {
        let mut reader = BufReader::new(pipe);
        let mut message = Vec::new();
        loop {
            message.clear();
            let mut bounded = (&mut reader).take(MAX_MESSAGE);
            match bounded.read_until(0, &mut message).await {
                Ok(0) | Err(_) => return self.shared.end("its pipe is closed"),
                Ok(_) if message.pop() != Some(0) => {
                    return self.shared.end("it said more than can be read");
                }
                Ok(_) => {}
            }
            let Ok(incoming) = serde_json::from_slice::<Incoming>(&message) else {
                continue;
            };
            self.take(incoming).await;
        }
    }

    async fn take(&self, incoming: Incoming) {
        if let Some(id) = incoming.id {
            let waiter = self.shared.state().waiting.remove(&id);
            if let Some(waiter) = waiter {
                let answer = match incoming.error {
                    Some(refusal) => Err(CallError::Refused(refusal.message)),
                    None => Ok(incoming.result),
                };
                // The caller may have been dropped; then the answer is not
                // needed.
                let _ = waiter.send(answer);
            }
            return;
        }
        match incoming.method.as_deref() {
            Some("Target.targetCrashed" | "Inspector.targetCrashed") => {
                self.shared.end("the page crashed");
            }
            Some("Target.detachedFromTarget") => self.shared.end("the page was closed"),
            Some("Page.javascriptDialogOpening") => self.close_dialog(incoming).await,
            _ => {}
        }
    }

    /// Closes a dialog, which blocks the page while it is open. Questions are
    /// declined, except whether to leave the page.
    async fn close_dialog(&self, incoming: Incoming) {
        let field = |name| incoming.params.get(name).and_then(Value::as_str);
        let is_leaving = field("type") == Some("beforeunload");
        if !is_leaving {
            let said: String = field("message")
                .unwrap_or_default()
                .chars()
                .take(MAX_DIALOG)
                .collect();
            self.shared.state().dialog = Some(said);
        }
        let id = self.shared.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let accept = is_leaving || field("type") == Some("alert");
        let method = "Page.handleJavaScriptDialog";
        let letter = letter(
            id,
            incoming.session.as_deref(),
            method,
            &json!({"accept": accept}),
        );
        if let Some(outbox) = self.outbox.upgrade() {
            let _ = outbox.send(letter).await;
        }
    }
}
