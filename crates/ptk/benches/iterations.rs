//! What a loop iteration costs, without the model's and the tools' own time.
//!
//! ```sh
//! cargo bench -p ptk --bench iterations
//! ```

#![allow(clippy::print_stdout, reason = "it is a report")]

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use futures_util::{StreamExt as _, stream};
use ptk::llm::{Delta, Deltas, FinishReason, Message, Provider, Request};
use ptk::protocol::{Arguments, ToolCall};
use ptk::store::{MemoryStore, SessionId, SqliteStore, Store};
use ptk::tools::{CallContext, Effects, ToolError, tool_fn};
use ptk::{Ptk, RunOptions};

/// Iterations of a run, the answer included.
const ITERATIONS: u32 = 10;
const RUNS: usize = 200;
/// The time limits of an iteration.
const IN_MEMORY: Duration = Duration::from_micros(50);
const WITH_THE_LOG: Duration = Duration::from_millis(1);

/// Calls a tool until it is asked for the last time.
#[derive(Debug)]
struct Model;

impl Provider for Model {
    fn name(&self) -> &'static str {
        "model"
    }

    fn stream<'a>(&'a self, request: &'a Request) -> Deltas<'a> {
        let is_said = |message: &&Message| matches!(message, Message::Assistant { .. });
        let said = request.messages.iter().filter(is_said).count();
        let text = if said + 1 < ITERATIONS as usize {
            format!(
                "I'll look it up.\n<PTK_CALL>{{\"tool\": \"look_up\", \"args\": {{\"word\": \"word {said}\"}}}}</PTK_CALL>"
            )
        } else {
            "That is all I know.".to_owned()
        };
        let deltas = [Delta::Text(text), Delta::Finish(FinishReason::Stop)];
        stream::iter(deltas.map(Ok)).boxed()
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Word {
    /// The word
    word: String,
}

fn ptk(store: Arc<dyn Store>) -> Result<Ptk, Box<dyn Error>> {
    let look_up = |_: CallContext, args: Word| async move {
        Ok::<_, ToolError>(format!("{}: {}", args.word, "a meaning of it. ".repeat(60)))
    };
    Ok(Ptk::builder()
        .provider(Model)
        .workspace(std::env::temp_dir())
        .tool(tool_fn("look_up", "Look a word up", Effects::NONE, look_up))
        .store(store)
        .build()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Runtime::new()?;
    let folder = tempfile::tempdir()?;
    runtime.block_on(async {
        let tool = tool_time(&ptk(Arc::new(MemoryStore::new()))?).await?;
        println!("A call through the tools' pipeline: {tool:.1?}");
        let memory = Arc::new(MemoryStore::new());
        iterations("in memory", &ptk(memory)?, tool, IN_MEMORY).await?;
        let file = SqliteStore::open(folder.path().join("sessions.db"))?;
        iterations("with the log", &ptk(Arc::new(file))?, tool, WITH_THE_LOG).await
    })
}

/// The median of a call without a loop.
async fn tool_time(ptk: &Ptk) -> Result<Duration, Box<dyn Error>> {
    let mut times = Vec::new();
    for number in 0..RUNS * 5 {
        let args = Arguments::from_json(&format!(r#"{{"word": "word {number}"}}"#))?;
        let start = Instant::now();
        ptk.call(ToolCall::new("look_up", args)).await;
        times.push(start.elapsed());
    }
    Ok(median(times))
}

async fn iterations(
    name: &str,
    ptk: &Ptk,
    tool: Duration,
    bar: Duration,
) -> Result<(), Box<dyn Error>> {
    let mut times = Vec::new();
    let cpu = ProcessTime::now();
    for _ in 0..RUNS {
        let mut session = ptk.session(SessionId::new());
        let options = RunOptions {
            max_iterations: ITERATIONS + 1,
            ..RunOptions::default()
        };
        let start = Instant::now();
        let run = session.execute("What does it mean?", options).await;
        let calls = tool * run.total_tool_calls;
        times.push(start.elapsed().saturating_sub(calls) / run.iterations);
        run.into_result()?;
    }
    let cpu = cpu.elapsed() / (u32::try_from(RUNS)? * ITERATIONS);
    let median = median(times);
    let verdict = if median <= bar { "" } else { "  MISSED" };
    println!(
        "{name:<14} {median:>9.1?} an iteration, {cpu:.1?} CPU with the tool (bar {bar:?}){verdict}"
    );
    Ok(())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
