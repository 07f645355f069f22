//! The reply as the model writes it, and the calls as they run:
//!
//! ```sh
//! cargo run -p ptk --example streaming -- ollama/qwen3:4b
//! ```

#![allow(clippy::print_stdout, reason = "the examples show what they got")]

use std::io::Write as _;

use ptk::{CallAction, Ptk, Streamed};

/// Roll a die.
#[ptk::tool(effects = "none")]
async fn roll(
    /// How many sides it has
    sides: u32,
) -> u32 {
    // Chosen by a fair roll.
    4.min(sides)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let model = std::env::args().nth(1);
    let ptk = Ptk::model(model.as_deref().unwrap_or("openai/gpt-5-mini"))?
        .tool(roll())
        .on_stream(|piece| {
            if let Streamed::Text(text) = piece {
                print!("{text}");
                // Shown at once, also in a pipe.
                let _ = std::io::stdout().flush();
            }
        })
        .on_tool_call(|call| {
            println!("[{} {}]", call.tool, call.arguments.to_json());
            CallAction::Run
        })
        .build()?;
    ptk.run("Roll a die with six sides.").await?;
    println!();
    Ok(())
}
