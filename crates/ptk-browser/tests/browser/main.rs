//! A model behind a page, in a real Chromium.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

#[path = "../chat/mod.rs"]
mod chat;

mod answering;
mod costs;
mod failing;
mod reading;
mod starting;

use std::sync::Arc;

use chat::Chat;
use futures_util::StreamExt as _;
use ptk_browser::{Browser, BrowserProvider, Page};
use ptk_llm::{Completion, Delta, LlmError, Message, Provider as _, Request, complete};
use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;

/// A chat page and a model behind it.
struct Scene {
    chat: Chat,
    model: Arc<BrowserProvider>,
    folder: TempDir,
}

impl Scene {
    async fn new() -> Self {
        Self::with("", |_, _| {}).await
    }

    /// With these options of the page, its description and browser changed.
    async fn with(query: &str, change: impl FnOnce(&mut Page, &mut Browser)) -> Self {
        let chat = Chat::start().await;
        let url = format!("{}{query}", chat.url);
        let mut page: Page = toml::from_str(&chat::description(&url)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut browser = Browser::new(folder.path().join("profile"));
        change(&mut page, &mut browser);
        Self {
            chat,
            model: Arc::new(BrowserProvider::new(page, browser)),
            folder,
        }
    }

    /// Asks, and goes on with the test meanwhile.
    fn ask(&self, request: &Request) -> JoinHandle<Result<Completion, LlmError>> {
        let (model, request) = (Arc::clone(&self.model), request.clone());
        tokio::spawn(async move { complete(&*model, &request).await })
    }

    /// Asks, and gives what comes in as it does. Dropping it drops the reply.
    fn listen(&self, request: &Request) -> UnboundedReceiver<Result<Delta, LlmError>> {
        let (model, request) = (Arc::clone(&self.model), request.clone());
        let (tell, told) = unbounded_channel();
        tokio::spawn(async move {
            let mut deltas = model.stream(&request);
            loop {
                tokio::select! {
                    delta = deltas.next() => match delta {
                        Some(delta) => tell.send(delta).unwrap_or_default(),
                        None => return,
                    },
                    () = tell.closed() => return,
                }
            }
        });
        told
    }

    /// Asks, is answered so, and gives the answer as it was read.
    async fn read(&mut self, show: impl FnOnce(&Chat)) -> String {
        let asked = self.ask(&user("Well?"));
        self.chat.prompt().await;
        show(&self.chat);
        self.chat.finish();
        asked.await.unwrap().unwrap().text
    }
}

fn user(text: &str) -> Request {
    Request::new([Message::user(text)])
}

/// The same request, and what follows.
fn and_then(request: &Request, answer: &str, next: &str) -> Request {
    let mut request = request.clone();
    request.messages.push(Message::assistant(answer));
    request.messages.push(Message::user(next));
    request
}
