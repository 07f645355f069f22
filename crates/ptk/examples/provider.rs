//! A model of your own: any function from a text to a text.
//!
//! ```sh
//! cargo run -p ptk --example provider
//! ```

#![allow(clippy::print_stdout, reason = "the examples show what they got")]

use ptk::Ptk;
use ptk::llm::provider_fn;

/// Add two numbers.
#[ptk::tool(effects = "none")]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    // Here you would ask your model. This one calls the tool, and then repeats
    // its result.
    let model = provider_fn("parrot", |prompt: String| async move {
        let result = prompt.rsplit_once("PTK_RESULT: ");
        let reply = match result {
            Some((_, result)) => format!("The tool says: {}", result.trim()),
            None => r#"<PTK_CALL>{"tool": "add", "args": {"a": 2, "b": 3}}</PTK_CALL>"#.to_owned(),
        };
        Ok::<_, std::io::Error>(reply)
    });
    let ptk = Ptk::builder().provider(model).tool(add()).build()?;
    println!("{}", ptk.run("What is 2 + 3?").await?);
    Ok(())
}
