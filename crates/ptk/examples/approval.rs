//! A person decides about calls that change something:
//!
//! ```sh
//! cargo run -p ptk --example approval -- ollama/qwen3:4b
//! ```

#![allow(clippy::print_stdout, reason = "the examples show what they got")]

use std::io::{BufRead as _, Write as _};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ptk::Ptk;
use ptk::tools::{ApprovalRequest, Approver, Decision};

/// Send a message to a colleague.
#[ptk::tool(effects = "network")]
async fn send(
    /// The colleague's name
    to: String,
    /// The message
    text: String,
) -> String {
    format!("{to} has read: {text}")
}

/// Asks on the terminal.
struct Terminal;

impl Approver for Terminal {
    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        async move {
            print!(
                "{} {} – allow? [y/N] ",
                request.tool,
                request.args.to_json()
            );
            let _ = std::io::stdout().flush();
            let read = tokio::task::spawn_blocking(|| {
                let mut line = String::new();
                std::io::stdin().lock().read_line(&mut line).map(|_| line)
            });
            match read.await {
                Ok(Ok(line)) if line.trim() == "y" => Decision::Allow,
                _ => Decision::Deny("the user said no".to_owned()),
            }
        }
        .boxed()
    }

    fn is_person(&self) -> bool {
        true
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let model = std::env::args().nth(1);
    let ptk = Ptk::model(model.as_deref().unwrap_or("openai/gpt-5-mini"))?
        .tool(send())
        .approver(Terminal)
        .build()?;
    println!("{}", ptk.run("Tell Ada that lunch is ready.").await?);
    Ok(())
}
