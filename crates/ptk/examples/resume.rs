//! A conversation that outlives the program. Run it twice:
//!
//! ```sh
//! cargo run -p ptk --example resume -- ollama/qwen3:4b "I am Ada."
//! cargo run -p ptk --example resume -- ollama/qwen3:4b "What is my name?"
//! ```

#![allow(clippy::print_stdout, reason = "the examples show what they got")]

use std::sync::Arc;

use ptk::Ptk;
use ptk::store::SqliteStore;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let model = arguments.next();
    let prompt = arguments.next().unwrap_or_else(|| "Hello.".to_owned());
    let file = arguments
        .next()
        .unwrap_or_else(|| "conversation.db".to_owned());
    let ptk = Ptk::model(model.as_deref().unwrap_or("openai/gpt-5-mini"))?
        .store(Arc::new(SqliteStore::open(file)?))
        .build()?;
    // A run that was interrupted goes on where it was.
    if let Some(finished) = ptk.resume("example".parse()?).await {
        println!("(earlier) {}", finished.into_result()?);
    }
    let mut session = ptk.session("example".parse()?);
    println!("{}", session.run(prompt).await?);
    Ok(())
}
