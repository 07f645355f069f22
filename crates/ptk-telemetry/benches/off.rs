//! The cost of telemetry for a loop iteration, while it is off and while it is
//! on.
//!
//! ```sh
//! cargo bench -p ptk-telemetry --bench off
//! ```

#![allow(clippy::print_stdout, reason = "it is a report")]

use std::error::Error;
use std::hint::black_box;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use futures_util::stream;
use ptk::Ptk;
use ptk::llm::{Delta, Deltas, FinishReason, Provider, Request};
use ptk::store::SessionId;
use ptk_telemetry::{Settings, Telemetry};

const RUNS: usize = 3000;
const SPANS: u32 = 1_000_000;
/// The most time that spans of an iteration may take without a subscriber.
const OFF: Duration = Duration::from_nanos(100);

/// A model that answers at once, so that only the loop takes time.
#[derive(Debug)]
struct Model;

impl Provider for Model {
    fn name(&self) -> &'static str {
        "model"
    }

    fn stream<'a>(&'a self, _request: &'a Request) -> Deltas<'a> {
        let deltas = [
            Delta::Text("Yes.".to_owned()),
            Delta::Finish(FinishReason::Stop),
        ];
        Box::pin(stream::iter(deltas.map(Ok)))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    for number in 0..SPANS {
        let span = tracing::info_span!(target: "ptk", "chat", number, text = %black_box(number));
        black_box(span.is_disabled());
    }
    let span = start.elapsed() / SPANS;
    // A run, an iteration, a request and a call.
    let verdict = if 4 * span <= OFF { "" } else { "  MISSED" };
    println!("A span while nobody listens: {span:?} (bar for four: {OFF:?}){verdict}");
    let runtime = tokio::runtime::Runtime::new()?;
    let ptk = Ptk::builder()
        .provider(Model)
        .workspace(std::env::temp_dir())
        .build()?;
    let off = runtime.block_on(median(&ptk))?;
    println!("A run of one iteration, off: {off:.1?}");
    // The receiver does not answer: spans are dropped once the queue is full.
    let silent = TcpListener::bind("127.0.0.1:0")?;
    let address = format!("http://{}", silent.local_addr()?);
    let telemetry = Telemetry::new(Settings::new(address))?;
    telemetry.install()?;
    let on = runtime.block_on(median(&ptk))?;
    println!("A run of one iteration, on:  {on:.1?}");
    // The receiver does not answer, so this fails.
    let _ = telemetry.shut_down(Duration::from_millis(10));
    Ok(())
}

async fn median(ptk: &Ptk) -> Result<Duration, Box<dyn Error>> {
    let mut times = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let mut session = ptk.session(SessionId::new());
        let start = Instant::now();
        session.run("Is it so?").await?;
        times.push(start.elapsed());
    }
    times.sort();
    Ok(times.get(RUNS / 2).copied().unwrap_or_default())
}
