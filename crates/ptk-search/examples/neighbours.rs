//! Measures the speed and accuracy of the search by meaning.
//!
//! ```text
//! neighbours TABLE TOKENIZER COUNT… [--dump FILE]
//! ```
//!
//! The vectors are those of real code: windows of 12 lines over the sources in
//! cargo's registry. Queries are comments of that code. The exact results come
//! from the full dot products, before the vectors are quantised to bytes.

#![allow(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it prints means of what it counts"
)]

use std::error::Error;
use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ptk_search::dense::{Neighbours, Vectors};
use ptk_search::embed::{Embedder as _, Table};

/// Lines of a window.
const WINDOW: usize = 12;
/// How many queries are run.
const QUESTIONS: usize = 200;
/// How many results are compared.
const TOP: usize = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [table, tokenizer, counts @ ..] = arguments.as_slice() else {
        return Err("usage: neighbours TABLE TOKENIZER COUNT… [--dump FILE]".into());
    };
    let dump = counts.iter().position(|it| it == "--dump");
    let (counts, dump) = match dump {
        Some(at) => (counts.get(..at).unwrap_or_default(), counts.get(at + 1)),
        None => (counts, None),
    };
    let counts: Vec<usize> = counts
        .iter()
        .map(|it| it.parse())
        .collect::<Result<_, _>>()?;
    let most = counts.iter().copied().max().unwrap_or(0);
    let model = Table::read(Path::new(table), Path::new(tokenizer))?;
    let (texts, questions) = texts(most)?;
    let began = Instant::now();
    let vectors = embed(&model, &texts)?;
    let rate = texts.len() as f64 / began.elapsed().as_secs_f64();
    println!("{} texts embedded, {rate:.0} a second", texts.len());
    let questions = embed(&model, &questions)?;
    if let Some(path) = dump {
        let mut to = BufWriter::new(fs::File::create(path)?);
        for number in questions.iter().chain(&vectors).flatten() {
            to.write_all(&number.to_le_bytes())?;
        }
    }
    println!("| Vectors | open | p50 | p99 | recall@10 | multiplying all out: p50 | recall@10 |");
    println!("|---|---|---|---|---|---|---|");
    for count in counts {
        let some = vectors.get(..count).ok_or("there is too little code")?;
        println!("{}", row(&model, some, &questions)?);
    }
    Ok(())
}

fn row(model: &Table, some: &[Vec<f32>], asked: &[Vec<f32>]) -> Result<String, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let mut kept = Vectors::open(folder.path(), model.id(), model.dimensions())?;
    let keyed: Vec<(u64, Vec<f32>)> = (0..).zip(some.iter().cloned()).collect();
    kept.append(&keyed)?;
    drop((kept, keyed));
    let began = Instant::now();
    let kept = Vectors::open(folder.path(), model.id(), model.dimensions())?;
    let neighbours = kept.neighbours((0..some.len() as u64).map(|key| (key, key)));
    let open = began.elapsed();
    let exact: Vec<Vec<u64>> = asked.iter().map(|query| exact(some, query)).collect();
    let near = measure(asked, &exact, |query| neighbours.nearest(query, TOP, None));
    let all = measure(asked, &exact, |query| all(&neighbours, query));
    let count = some.len();
    Ok(format!(
        "| {count} | {open:.0?} | {:.2?} | {:.2?} | {:.4} | {:.2?} | {:.4} |",
        near.0, near.1, near.2, all.0, all.2
    ))
}

fn all(neighbours: &Neighbours, query: &[f32]) -> Vec<(u64, f32)> {
    neighbours.nearest_of_all(query, TOP)
}

/// Measures p50, p99, and the recall of the exact results.
fn measure(
    asked: &[Vec<f32>],
    exact: &[Vec<u64>],
    search: impl Fn(&[f32]) -> Vec<(u64, f32)>,
) -> (Duration, Duration, f64) {
    let mut times = Vec::new();
    let (mut found, mut of) = (0, 0);
    for (query, exact) in asked.iter().zip(exact) {
        let began = Instant::now();
        let nearest = search(query);
        times.push(began.elapsed());
        of += exact.len();
        let is_found = |place: &&u64| nearest.iter().any(|(it, _)| it == *place);
        found += exact.iter().filter(is_found).count();
    }
    times.sort();
    let at = |share: f64| {
        let place = (share * times.len() as f64) as usize;
        times.get(place).copied().unwrap_or_default()
    };
    (at(0.5), at(0.99), found as f64 / of.max(1) as f64)
}

/// The nearest vectors by full precision.
fn exact(vectors: &[Vec<f32>], query: &[f32]) -> Vec<u64> {
    let mut scored: Vec<(f32, u64)> = vectors
        .iter()
        .zip(0..)
        .map(|(vector, place)| {
            let product = vector.iter().zip(query).map(|(a, b)| a * b);
            (product.sum(), place)
        })
        .collect();
    scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    scored
        .into_iter()
        .take(TOP)
        .map(|(_, place)| place)
        .collect()
}

fn embed(model: &Table, texts: &[String]) -> Result<Vec<Vec<f32>>, Box<dyn Error>> {
    let mut vectors = Vec::with_capacity(texts.len());
    for batch in texts.chunks(2048) {
        let batch: Vec<&str> = batch.iter().map(String::as_str).collect();
        vectors.extend(model.embed(&batch)?);
    }
    Ok(vectors)
}

/// Collects this many different windows of code, and some comments.
fn texts(count: usize) -> Result<(Vec<String>, Vec<String>), Box<dyn Error>> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let mut files = Vec::new();
    sources(
        &home.ok_or("there is no home")?.join("registry/src"),
        &mut files,
    )?;
    // Shuffled by hash, so that any part of the files is like the whole.
    files.sort_by_cached_key(|path| *blake3::hash(path.as_os_str().as_encoded_bytes()).as_bytes());
    let (mut windows, mut questions) = (Vec::new(), Vec::new());
    let mut seen = std::collections::HashSet::new();
    for path in files {
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        let lines: Vec<&str> = text.lines().collect();
        let comment = lines.iter().find_map(|line| {
            let comment = line.trim().strip_prefix("/// ")?;
            (comment.split(' ').count() > 4).then(|| comment.to_owned())
        });
        if let Some(comment) = comment.filter(|_| questions.len() < QUESTIONS) {
            questions.push(comment);
        }
        for window in lines.chunks(WINDOW) {
            let window = window.join("\n");
            if window.len() > 100
                && windows.len() < count
                && seen.insert(blake3::hash(window.as_bytes()))
            {
                windows.push(window);
            }
        }
        if windows.len() >= count && questions.len() >= QUESTIONS {
            break;
        }
    }
    Ok((windows, questions))
}

fn sources(folder: &Path, to: &mut Vec<PathBuf>) -> Result<(), std::io::Error> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, to)?;
        } else if path
            .extension()
            .is_some_and(|it| it == "rs" || it == "c" || it == "h")
        {
            to.push(path);
        }
    }
    Ok(())
}
