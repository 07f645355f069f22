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

    /// Sets up a page with these query options, after changing its description
    /// and browser.
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

    /// Sends a request in the background.
    fn ask(&self, request: &Request) -> JoinHandle<Result<Completion, LlmError>> {
        let (model, request) = (Arc::clone(&self.model), request.clone());
        tokio::spawn(async move { complete(&*model, &request).await })
    }

    /// Sends a request and returns its deltas. Dropping them drops the reply.
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

    /// Sends a request, has the page show an answer, and returns the answer.
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

/// The request with an answer and a further prompt appended.
fn and_then(request: &Request, answer: &str, next: &str) -> Request {
    let mut request = request.clone();
    request.messages.push(Message::assistant(answer));
    request.messages.push(Message::user(next));
    request
}
