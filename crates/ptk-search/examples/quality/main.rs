//! Measures how well code is found: by words, by meaning, and by both.
//!
//! ```text
//! quality TABLE TOKENIZER [--tune] [--crates]
//! ```
//!
//! The two files are those of the model, as `ptk models pull wordllama` keeps
//! them. `--tune` uses the other crates, with which settings were tuned;
//! `--crates` prints the figures of each crate, too. The exit code is 1 unless
//! both together are better than each alone.

#![allow(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it prints means of what it counts"
)]

mod crates;
mod pairs;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crates::{REPORTED, TUNED_ON};
use pairs::Pair;
use ptk_sandbox::Workspace;
use ptk_search::embed::Table;
use ptk_search::{Hit, Index, Query, Searcher, Which};

/// How many results count.
const TOP: usize = 10;
/// The fewest questions that give a meaningful result.
const ENOUGH: usize = 3000;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let (flags, files): (Vec<String>, Vec<String>) = std::env::args()
        .skip(1)
        .partition(|it| it.starts_with("--"));
    let [table, tokenizer] = files.as_slice() else {
        return Err("usage: quality TABLE TOKENIZER [--tune] [--crates]".into());
    };
    let has = |flag: &str| flags.iter().any(|it| it == flag);
    let names = if has("--tune") {
        &TUNED_ON[..]
    } else {
        &REPORTED
    };
    let folder = tempfile::tempdir()?;
    let sources = folder.path().join("sources");
    let pairs = pairs::make(names, &sources)?;
    println!(
        "{} documented functions, {} questions that fit, {} asked",
        pairs.documented,
        pairs.fitting,
        pairs.asked.len()
    );
    let began = Instant::now();
    let embedder = Arc::new(Table::read(Path::new(table), Path::new(tokenizer))?);
    println!("the model was read in {:.0?}", began.elapsed());
    let index = Index::new(folder.path().join("index"), Workspace::open(&sources)?);
    let by_words = took(|| index.update(&AtomicBool::new(false), &mut |_| {}))?;
    let index = index.with_embedder(embedder);
    let by_meaning = took(|| index.update(&AtomicBool::new(false), &mut |_| {}))?;
    let (report, chunks) = (by_meaning.0, by_words.0.chunks);
    println!(
        "{} files, {chunks} chunks by words in {:.1?}; {} vectors in {:.1?}\n",
        report.files, by_words.1, report.embedded, by_meaning.1
    );
    let searcher = index.searcher()?;
    println!("| By | MRR@10 | Recall@10 | p50 | p99 |\n|---|---|---|---|---|");
    let mut figures = Vec::new();
    let lists = [
        ("words (BM25)", Which::Lexical),
        ("meaning", Which::Dense),
        ("both", Which::Both),
    ];
    for (name, which) in lists {
        let asked = ask(&searcher, &pairs.asked, which)?;
        println!("| {name} | {} |", asked.row());
        figures.push(asked);
    }
    if has("--crates") {
        by_crate(&figures);
    }
    let all: Vec<(f64, f64)> = figures.iter().map(|it| it.total.means()).collect();
    let is_better = match all.as_slice() {
        [words, meaning, both] => [words, meaning]
            .iter()
            .all(|one| both.0 > one.0 && both.1 > one.1),
        _ => false,
    };
    let is_enough = has("--tune") || pairs.asked.len() >= ENOUGH;
    Ok(if is_better && is_enough {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn took<T, E>(run: impl FnOnce() -> Result<T, E>) -> Result<(T, Duration), E> {
    let began = Instant::now();
    Ok((run()?, began.elapsed()))
}

/// The results of a set of questions.
#[derive(Default, Clone, Copy)]
struct Sum {
    asked: usize,
    /// The sum of the reciprocal ranks of the answers.
    reciprocal: f64,
    found: usize,
}

impl Sum {
    fn add(&mut self, rank: Option<usize>) {
        self.asked += 1;
        self.found += usize::from(rank.is_some());
        self.reciprocal += rank.map_or(0.0, |rank| 1.0 / rank as f64);
    }

    fn means(&self) -> (f64, f64) {
        let asked = self.asked.max(1) as f64;
        (self.reciprocal / asked, self.found as f64 / asked)
    }
}

struct Figures {
    total: Sum,
    of_crates: BTreeMap<String, Sum>,
    times: Vec<Duration>,
}

impl Figures {
    fn row(&self) -> String {
        let (mrr, recall) = self.total.means();
        let mut times = self.times.clone();
        times.sort();
        let at = |share: f64| {
            let place = (share * times.len() as f64) as usize;
            times.get(place).copied().unwrap_or_default()
        };
        format!(
            "{mrr:.3} | {recall:.3} | {:.1?} | {:.1?}",
            at(0.5),
            at(0.99)
        )
    }
}

fn ask(searcher: &Searcher, pairs: &[Pair], which: Which) -> Result<Figures, Box<dyn Error>> {
    let mut figures = Figures {
        total: Sum::default(),
        of_crates: BTreeMap::new(),
        times: Vec::new(),
    };
    for pair in pairs {
        let query = Query {
            which,
            top: TOP,
            ..Query::new(&pair.question)
        };
        let (hits, time) = took(|| searcher.search(&query))?;
        let rank = hits.iter().position(|hit| answers(hit, pair));
        let rank = rank.map(|at| at + 1);
        figures.total.add(rank);
        let of_crate = figures.of_crates.entry(pair.krate.clone()).or_default();
        of_crate.add(rank);
        figures.times.push(time);
    }
    Ok(figures)
}

/// Whether a result is the function, or a piece of it.
fn answers(hit: &Hit, pair: &Pair) -> bool {
    let (first, last) = pair.lines;
    hit.path == pair.path && hit.lines.first <= last && hit.lines.last >= first
}

fn by_crate(figures: &[Figures]) {
    println!("\n| Crate | Questions | MRR@10 by words, meaning, both |\n|---|---|---|");
    let Some(first) = figures.first() else { return };
    for (name, sum) in &first.of_crates {
        let all = figures.iter().filter_map(|it| it.of_crates.get(name));
        let all: Vec<String> = all.map(|it| format!("{:.3}", it.means().0)).collect();
        println!("| {name} | {} | {} |", sum.asked, all.join(", "));
    }
}
