//! A web server with a conversation for each visitor:
//!
//! ```sh
//! cargo run -p ptk --example web -- ollama/qwen3:4b
//! curl http://127.0.0.1:3000/chat/ada --data "I like tea."
//! curl http://127.0.0.1:3000/chat/ada --data "What do I like?"
//! ```

#![allow(clippy::print_stdout, reason = "the examples show what they got")]

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::post;
use ptk::{Ptk, Session};
use tokio::net::TcpListener;
use tokio::sync::Mutex;

struct Server {
    ptk: Ptk,
    /// One conversation at a time for each visitor; visitors do not wait for
    /// each other.
    sessions: Mutex<HashMap<String, Arc<Mutex<Session>>>>,
}

async fn chat(
    State(server): State<Arc<Server>>,
    Path(visitor): Path<String>,
    prompt: String,
) -> Result<String, (StatusCode, String)> {
    let id = visitor
        .parse()
        .map_err(|error: ptk::store::InvalidSessionId| {
            (StatusCode::BAD_REQUEST, error.to_string())
        })?;
    let session = {
        let mut sessions = server.sessions.lock().await;
        let session = sessions.entry(visitor);
        let new = || Arc::new(Mutex::new(server.ptk.session(id)));
        Arc::clone(session.or_insert_with(new))
    };
    let answer = session.lock().await.run(prompt).await;
    answer.map_err(|error| (StatusCode::BAD_GATEWAY, error.to_string()))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let model = arguments.next();
    let address = arguments
        .next()
        .unwrap_or_else(|| "127.0.0.1:3000".to_owned());
    let server = Server {
        ptk: Ptk::model(model.as_deref().unwrap_or("openai/gpt-5-mini"))?.build()?,
        sessions: Mutex::default(),
    };
    let routes = Router::new()
        .route("/chat/{visitor}", post(chat))
        .with_state(Arc::new(server));
    let listener = TcpListener::bind(address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, routes).await?;
    Ok(())
}
