//! A chat page, served by the test and controlled by it: it renders Markdown as
//! such pages do, and waits for orders.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::{Path as InPath, State};
use axum::http::HeaderMap;
use axum::response::Html;
use axum::routing::{get, post};
use axum::{Json, Router};
use pulldown_cmark::{Options, Parser, html};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The timeout of any wait, longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A report from a page: its kind, and the text.
type News = (String, String);

#[derive(Clone)]
struct Server {
    news: UnboundedSender<News>,
    orders: Arc<Mutex<Orders>>,
    cookies: Arc<Mutex<Vec<String>>>,
}

/// The orders for each document, by its number.
#[derive(Default)]
struct Orders {
    last: usize,
    senders: HashMap<usize, UnboundedSender<String>>,
    receivers: HashMap<usize, Arc<tokio::sync::Mutex<UnboundedReceiver<String>>>>,
}

/// The page, as the test sees it.
pub(crate) struct Chat {
    pub(crate) url: String,
    server: Server,
    news: UnboundedReceiver<News>,
}

async fn page(State(server): State<Server>, headers: HeaderMap) -> Html<String> {
    let cookies = headers.get("cookie").and_then(|it| it.to_str().ok());
    let cookies = cookies.unwrap_or_default().to_owned();
    server.cookies.lock().unwrap().push(cookies);
    let mut orders = server.orders.lock().unwrap();
    orders.last += 1;
    let number = orders.last;
    let (sender, receiver) = unbounded_channel();
    orders.senders.insert(number, sender);
    let receiver = Arc::new(tokio::sync::Mutex::new(receiver));
    orders.receivers.insert(number, receiver);
    Html(include_str!("page.html").replace("DOCUMENT", &number.to_string()))
}

async fn order(State(server): State<Server>, InPath(number): InPath<usize>) -> String {
    let receiver = Arc::clone(&server.orders.lock().unwrap().receivers[&number]);
    let order = receiver.lock().await.recv().await;
    order.unwrap_or_default()
}

async fn tell(State(server): State<Server>, Json(news): Json<Value>) {
    let text = |name: &str| news[name].as_str().unwrap().to_owned();
    let _ = server.news.send((text("what"), text("text")));
}

impl Chat {
    pub(crate) async fn start() -> Self {
        let (tell_news, news) = unbounded_channel();
        let server = Server {
            news: tell_news,
            orders: Arc::default(),
            cookies: Arc::default(),
        };
        let router = Router::new()
            .route("/", get(page))
            .route(
                "/login",
                get(|| async { Html("<form id=login>Who are you?</form>") }),
            )
            .route("/order/{number}", get(order))
            .route("/tell", post(tell))
            .with_state(server.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, server, news }
    }

    /// Waits for the next report of this kind.
    pub(crate) async fn news(&mut self, what: &str) -> String {
        let next = async {
            loop {
                let (it, text) = self.news.recv().await.unwrap();
                if it == what {
                    return text;
                }
            }
        };
        let next = tokio::time::timeout(PATIENCE, next).await;
        next.unwrap_or_else(|_| panic!("the page does not tell of a {what}"))
    }

    /// Waits for the next prompt that the page receives.
    pub(crate) async fn prompt(&mut self) -> String {
        self.news("prompt").await
    }

    /// All reports that were not read yet.
    pub(crate) fn heard(&mut self) -> Vec<News> {
        std::iter::from_fn(|| self.news.try_recv().ok()).collect()
    }

    /// The cookies that came with each document.
    pub(crate) fn cookies(&self) -> Vec<String> {
        self.server.cookies.lock().unwrap().clone()
    }

    /// How many documents were loaded.
    pub(crate) fn documents(&self) -> usize {
        self.server.orders.lock().unwrap().last
    }

    /// Runs a script in the last document.
    pub(crate) fn run(&self, script: &str) {
        let orders = self.server.orders.lock().unwrap();
        let _ = orders.senders[&orders.last].send(script.to_owned());
    }

    /// Shows this HTML as the answer so far.
    pub(crate) fn show_html(&self, html: &str) {
        self.run(&format!("page.show({})", json!(html)));
    }

    /// Shows this Markdown as the answer so far, rendered.
    pub(crate) fn show(&self, markdown: &str) {
        self.show_html(&rendered(markdown));
    }

    /// Ends the answer.
    pub(crate) fn finish(&self) {
        self.run("page.finish()");
    }

    /// Shows a whole answer.
    pub(crate) fn answer(&self, markdown: &str) {
        self.show(markdown);
        self.finish();
    }
}

/// Renders Markdown as HTML.
pub(crate) fn rendered(markdown: &str) -> String {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut out = String::new();
    html::push_html(&mut out, Parser::new_ext(markdown, options));
    out
}

/// A description of the page, in TOML.
pub(crate) fn description(url: &str) -> String {
    format!(
        r##"
        name = "test"
        title = "The chat"
        url = "{url}"
        input = "form textarea, form [contenteditable]"
        send = {{ button = "#send" }}
        answer = ".answer"
        busy = ".busy"
        stop = "#stop"
        login = ["#login"]
        times = {{ load = "20s", first = "20s", answer = "60s", still = "20ms" }}
        "##
    )
}

/// The ids of the processes that use a profile.
pub(crate) fn processes(profile: &Path) -> Vec<u32> {
    let profile = format!("--user-data-dir={}", profile.display());
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers
        .filter(|number: &u32| {
            let line = std::fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            line.split('\0').any(|word| word == profile)
        })
        .collect()
}
