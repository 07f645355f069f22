//! Compares the prompt and generation speed of a local model with llama.cpp's
//! own server, with the same file and as many threads, alternating in one run.
//!
//! ```sh
//! scripts/bench local
//! ```
//!
//! `PTK_TEST_MODEL` is the file, `PTK_TEST_LLAMA_SERVER` a Python that has
//! xllamacpp. Arguments: the number of rounds, the number of threads (default:
//! all cores), and words that select work by its name.

#![allow(clippy::print_stdout, reason = "it is a report")]

use std::env;
use std::error::Error;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use futures_util::StreamExt as _;
use ptk_llm::{Delta, Message, Provider as _, Request, ResponseFormat, Sampling, Usage};
use ptk_local::{Local, Settings};
use serde::Deserialize;
use serde_json::json;

const ROUNDS: usize = 5;
const WINDOW: u32 = 4096;
/// The most tokens of a reply.
const REPLY: u32 = 64;
/// The share of the server's speed that passes.
const BAR: f64 = 0.95;
/// A grammar for any JSON.
const GRAMMAR: &str = include_str!("../../src/llama/json.gbnf");

/// A prompt that both sides answer.
struct Work {
    name: &'static str,
    /// How often the prompt repeats a sentence.
    sentences: usize,
    grammar: Option<&'static str>,
}

const WORK: [Work; 6] = [
    work("short prompt", 4, None),
    work("middle prompt", 16, None),
    work("long prompt", 64, None),
    work("short prompt, grammar", 4, Some(GRAMMAR)),
    work("middle prompt, grammar", 16, Some(GRAMMAR)),
    work("long prompt, grammar", 64, Some(GRAMMAR)),
];

const fn work(name: &'static str, sentences: usize, grammar: Option<&'static str>) -> Work {
    Work {
        name,
        sentences,
        grammar,
    }
}

impl Work {
    /// The prompt, which differs from its first word on in each round, so that
    /// nothing of it is cached.
    fn prompt(&self, round: usize) -> String {
        let mut prompt = format!("{round} notes.\n");
        for number in 0..self.sentences {
            let line = "The keeper of the lighthouse counts the ships that pass,";
            prompt.push_str(&format!("{line} and today it was {number}.\n"));
        }
        let wish = match self.grammar {
            Some(_) => "Write a long list of ships as JSON objects with name and length.",
            None => "Write a long story about a lighthouse.",
        };
        prompt.push_str(wish);
        prompt
    }
}

/// The time that something took.
#[derive(Debug, Clone, Copy, Deserialize)]
struct Took {
    tokens: u32,
    clock: f64,
    cpu: f64,
}

/// The times for reading a prompt up to the first token, and for the others.
#[derive(Debug, Clone, Copy, Deserialize)]
struct Reply {
    reading: Took,
    writing: Took,
}

fn main() -> Result<(), Box<dyn Error>> {
    let (numbers, words): (Vec<String>, Vec<String>) = env::args()
        .skip(1)
        .filter(|text| !text.starts_with('-'))
        .partition(|text| text.parse::<usize>().is_ok());
    let mut numbers = numbers.iter().filter_map(|text| text.parse().ok());
    let rounds = numbers.next().unwrap_or(ROUNDS);
    let cores = std::thread::available_parallelism()?.get();
    let threads = numbers.next().unwrap_or(cores);
    let file = PathBuf::from(env::var_os("PTK_TEST_MODEL").ok_or("PTK_TEST_MODEL is not set")?);
    let python = env::var_os("PTK_TEST_LLAMA_SERVER").ok_or("PTK_TEST_LLAMA_SERVER is not set")?;
    let settings = Settings::new(&file).context_window(WINDOW).threads(threads);
    let ours = Local::open(settings)?;
    let mut theirs = Rival::start(&python, &file, threads)?;
    let runtime = tokio::runtime::Runtime::new()?;
    println!("tokens a second, ours / theirs, medians of {rounds}, threads: {threads}");
    let is_chosen = |work: &Work| words.iter().all(|word| work.name.contains(word.as_str()));
    for work in WORK.into_iter().filter(is_chosen) {
        let mut pairs = Vec::new();
        // The first round loads the models and does not count.
        for round in 0..=rounds {
            let prompt = work.prompt(round);
            let our = runtime.block_on(reply(&ours, &prompt, work.grammar))?;
            let their = theirs.reply(&prompt, work.grammar)?;
            if round > 0 {
                pairs.push((our, their));
            }
        }
        report(work.name, "reading", &pairs, |reply| reply.reading);
        report(work.name, "writing", &pairs, |reply| reply.writing);
    }
    theirs.end()
}

async fn reply(
    model: &Local,
    prompt: &str,
    grammar: Option<&str>,
) -> Result<Reply, Box<dyn Error>> {
    let format = grammar.map_or(ResponseFormat::Text, |grammar| {
        ResponseFormat::Grammar(grammar.to_owned())
    });
    let sampling = Sampling {
        temperature: Some(0.0),
        ..Sampling::default()
    };
    let request = Request::new([Message::user(prompt)])
        .system("")
        .sampling(sampling)
        .max_tokens(REPLY);
    let request = Request { format, ..request };
    let begin = Stopwatch::start();
    let mut first = None;
    let mut usage = Usage::default();
    let mut deltas = model.stream(&request);
    while let Some(delta) = deltas.next().await {
        match delta? {
            Delta::Text(_) if first.is_none() => first = Some((begin.stop(), Stopwatch::start())),
            Delta::Usage(counted) => usage = counted,
            _ => {}
        }
    }
    let (reading, writing) = first.ok_or("nothing was said")?;
    let took = |(clock, cpu): (Duration, Duration), tokens: u64| -> Result<Took, Box<dyn Error>> {
        Ok(Took {
            tokens: u32::try_from(tokens)?,
            clock: clock.as_secs_f64(),
            cpu: cpu.as_secs_f64(),
        })
    };
    Ok(Reply {
        reading: took(reading, usage.input_tokens - usage.cached_tokens)?,
        writing: took(writing.stop(), usage.output_tokens.saturating_sub(1))?,
    })
}

struct Stopwatch {
    clock: Instant,
    cpu: ProcessTime,
}

impl Stopwatch {
    fn start() -> Self {
        Self {
            clock: Instant::now(),
            cpu: ProcessTime::now(),
        }
    }

    fn stop(&self) -> (Duration, Duration) {
        (self.clock.elapsed(), self.cpu.elapsed())
    }
}

/// llama.cpp's server, controlled by lines of JSON.
struct Rival {
    process: Child,
    asks: ChildStdin,
    hears: BufReader<ChildStdout>,
}

impl Rival {
    fn start(python: &OsStr, file: &Path, threads: usize) -> Result<Self, Box<dyn Error>> {
        let mut process = Command::new(python)
            .args(["-c", include_str!("rival.py")])
            .arg(file)
            .args([WINDOW.to_string(), threads.to_string(), REPLY.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // The server logs every request there.
            .stderr(Stdio::null())
            .spawn()?;
        let asks = process.stdin.take().ok_or("it has no input")?;
        let hears = process.stdout.take().ok_or("it has no output")?;
        Ok(Self {
            process,
            asks,
            hears: BufReader::new(hears),
        })
    }

    fn reply(&mut self, prompt: &str, grammar: Option<&str>) -> Result<Reply, Box<dyn Error>> {
        writeln!(
            self.asks,
            "{}",
            json!({"prompt": prompt, "grammar": grammar})
        )?;
        let mut line = String::new();
        self.hears.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }

    /// Ends the server by closing its input.
    fn end(self) -> Result<(), Box<dyn Error>> {
        let Self {
            mut process, asks, ..
        } = self;
        drop(asks);
        process.wait()?;
        Ok(())
    }
}

/// Prints one line: both speeds, and their ratio.
fn report(name: &str, part: &str, pairs: &[(Reply, Reply)], of: fn(&Reply) -> Took) {
    let speed = |is_ours: bool, time: fn(&Took) -> f64| {
        let replies = pairs
            .iter()
            .map(|(our, their)| if is_ours { our } else { their });
        let speeds = replies
            .map(of)
            .map(|took| f64::from(took.tokens) / time(&took));
        median(speeds.collect())
    };
    let tokens = |is_ours: bool| {
        let replies = pairs
            .iter()
            .map(|(our, their)| if is_ours { our } else { their });
        median(replies.map(|reply| f64::from(of(reply).tokens)).collect())
    };
    let mut line = format!(
        "{name:<24} {part} {:>5.0} / {:>5.0} tokens",
        tokens(true),
        tokens(false)
    );
    let mut is_met = true;
    for (how, time) in [
        ("clock", (|took| took.clock) as fn(&Took) -> f64),
        ("CPU", |took| took.cpu),
    ] {
        let (our, their) = (speed(true, time), speed(false, time));
        is_met &= our >= BAR * their;
        line.push_str(&format!(
            "   {how} {our:>6.1} / {their:>6.1} = {:.2}",
            our / their
        ));
    }
    println!("{line}{}", if is_met { "" } else { "   MISSED" });
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
