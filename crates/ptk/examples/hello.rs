//! A question to a model:
//!
//! ```sh
//! cargo run -p ptk --example hello -- ollama/qwen3:4b
//! ```

#![allow(clippy::print_stdout, reason = "the examples show what they got")]

use ptk::Ptk;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let model = std::env::args().nth(1);
    let ptk = Ptk::model(model.as_deref().unwrap_or("openai/gpt-5-mini"))?.build()?;
    println!("{}", ptk.run("Say hello in French.").await?);
    Ok(())
}
