//! A custom gateway, in front of a server of chat completions:
//!
//! ```text
//! cargo run -p ptk-gateway --example serve -- http://127.0.0.1:8080/v1
//! ```

#![allow(clippy::print_stderr, reason = "whoever starts it waits for the line")]

use std::error::Error;

use ptk_gateway::Gateway;
use ptk_llm::http::{HttpProvider, Kind};
use ptk_model::{Mode, Model};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let upstream = std::env::args().nth(1).ok_or("usage: serve URL")?;
    let gateway = Gateway::builder()
        .server(Model::new(HttpProvider::at(Kind::OpenAi, &upstream)?))
        .mode(Mode::Text)
        .build()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("listening on http://{}", listener.local_addr()?);
    gateway.serve(listener, std::future::pending()).await;
    Ok(())
}
