//! A tool that is a function:
//!
//! ```sh
//! cargo run -p ptk --example tool -- ollama/qwen3:4b
//! ```

#![allow(clippy::print_stdout, reason = "the examples show what they got")]

use ptk::Ptk;
use ptk::tools::ToolError;

/// Tell the weather in a city.
#[ptk::tool(effects = "none")]
async fn weather(
    /// The city, for example "Berlin"
    city: String,
    /// The unit of the temperature: "celsius" or "fahrenheit"
    unit: Option<String>,
) -> Result<String, ToolError> {
    let temperature = match unit.as_deref() {
        None | Some("celsius") => "21 °C",
        Some("fahrenheit") => "70 °F",
        Some(unit) => {
            // The model reads this, and tries again.
            return Err(ToolError::validation(format!("There is no unit {unit}"))
                .suggest("Use celsius or fahrenheit."));
        }
    };
    Ok(format!("{city}: sunny, {temperature}"))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let model = std::env::args().nth(1);
    let ptk = Ptk::model(model.as_deref().unwrap_or("openai/gpt-5-mini"))?
        .tool(weather())
        .build()?;
    println!("{}", ptk.run("What is the weather like in Berlin?").await?);
    Ok(())
}
