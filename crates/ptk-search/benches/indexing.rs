//! The cost of an index: building it, compared with plain tantivy on the same
//! text; updating it; querying it.
//!
//! ```sh
//! cargo bench -p ptk-search --bench indexing
//! ```
//!
//! The text is the sources of the packages in cargo's registry, in the order of
//! their names, up to ten thousand, a hundred thousand and a million lines;
//! `PTK_BENCH_LINES` limits how many. With `PTK_BENCH_MODEL`, the folder that
//! `ptk models pull wordllama` makes, the index by meaning is measured, too.

#![allow(clippy::print_stdout, reason = "it is a report")]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use cpu_time::{ProcessTime, ThreadTime};
use ignore::WalkBuilder;
use ptk_sandbox::Workspace;
use ptk_search::chunk::{Chunk, Chunker, Kind};
use ptk_search::embed::Table;
use ptk_search::words::Words;
use ptk_search::{Index, Language, Query, Report};
use tantivy::indexer::IndexWriterOptions;
use tantivy::schema::{
    FAST, IndexRecordOption, STORED, STRING, Schema, TEXT, TextFieldIndexing, TextOptions,
};
use tantivy::{IndexWriter, TantivyDocument};

const SIZES: [usize; 3] = [10_000, 100_000, 1_000_000];
/// How often each index is built.
const ROUNDS: usize = 9;
/// The most time that building may take, relative to tantivy given the chunks.
const AGAINST_TANTIVY: f64 = 2.5;
/// The most time that an update for one changed file may take.
const ONE_FILE: Duration = Duration::from_secs(1);
/// The most time that a query may take: by words, and by words and meaning.
const QUESTION: Duration = Duration::from_millis(20);
const MEANT: Duration = Duration::from_millis(60);
/// The memory of tantivy's threads, as in the index.
const ARENA: usize = 48 * 1024 * 1024;
/// How many queries are run.
const QUESTIONS: usize = 500;
/// The first argument of a process that measures how much memory a part of the
/// work takes; the part, the sources and the index follow.
const ALONE: &str = "--alone";

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [first, part, root, place] = words.as_slice()
        && first == ALONE
    {
        return work_alone(part, Path::new(root), Path::new(place));
    }
    let most = std::env::var("PTK_BENCH_LINES").map_or(Ok(usize::MAX), |lines| lines.parse())?;
    for lines in SIZES.into_iter().filter(|lines| *lines <= most) {
        let folder = tempfile::tempdir()?;
        let root = folder.path().join("project");
        let bytes = gather(&root, lines)?;
        println!("{lines} lines, {:.1} MB", megabytes(bytes));
        measure(folder.path(), &root)?;
        println!();
    }
    Ok(())
}

#[allow(clippy::cast_precision_loss, reason = "it is shown with one digit")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// Copies sources until there are this many lines.
fn gather(root: &Path, lines: usize) -> Result<u64, Box<dyn Error>> {
    let home = std::env::var_os("CARGO_HOME").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cargo"),
        PathBuf::from,
    );
    let mut walk = WalkBuilder::new(home.join("registry/src"));
    walk.standard_filters(false).sort_by_file_name(Ord::cmp);
    let (mut left, mut bytes, mut number) = (lines, 0, 0);
    for entry in walk.build() {
        let path = entry?.into_path();
        let is_source = path.extension().is_some_and(|it| it == "rs" || it == "md");
        let Some(text) = is_source.then(|| fs::read_to_string(&path).ok()).flatten() else {
            continue;
        };
        if text.len() > 500_000 {
            continue;
        }
        let name = path.file_name().unwrap_or_default();
        let folder = root.join(format!("p{}", number / 100));
        fs::create_dir_all(&folder)?;
        let target = folder.join(format!("{number}_{}", name.to_string_lossy()));
        fs::write(&target, &text)?;
        let long_ago = std::time::SystemTime::now() - Duration::from_secs(3600);
        fs::File::options()
            .write(true)
            .open(&target)?
            .set_modified(long_ago)?;
        number += 1;
        bytes += text.len() as u64;
        left = left.saturating_sub(text.lines().count());
        if left == 0 {
            return Ok(bytes);
        }
    }
    Err(format!("the registry has only {} lines", lines - left).into())
}

fn measure(folder: &Path, root: &Path) -> Result<(), Box<dyn Error>> {
    let workspace = Workspace::open(root)?;
    let place = folder.join("index");
    let index = Index::new(&place, workspace.clone());
    // The first pass loads all files into the page cache.
    let (chunks, chunking) = timed(|| chunked(root))?;
    println!(
        "{:<32} {:>10.1?} wall {:>10.1?} CPU, one thread",
        "reading and cutting", chunking.0, chunking.1
    );
    let fallen = chunks.iter().filter(|(path, chunk)| {
        chunk.kind == Kind::Text && path.extension().is_some_and(|it| it == "rs")
    });
    println!(
        "{:<32} {:>10} ({} of source not parsed)",
        "chunks",
        chunks.len(),
        fallen.count()
    );
    let raw = folder.join("raw");
    let mut rounds = Vec::new();
    // The candidates alternate, so that other load on the machine affects all
    // of them.
    for _ in 0..ROUNDS {
        let by_chunks = time(|| tantivy_of_chunks(&raw, &chunks, None))?;
        let by_words = time(|| tantivy_of_chunks(&raw, &chunks, Some(Words::default())))?;
        let by_files = time(|| tantivy_of_files(&raw, root))?;
        if place.exists() {
            fs::remove_dir_all(&place)?;
        }
        let ours = time(|| update(&index).map(drop))?;
        rounds.push([by_chunks, by_words, by_files, ours]);
    }
    drop(chunks);
    for (rival, name) in NAMES.iter().enumerate() {
        show(name, best(&rounds, rival));
    }
    let memory = alone("words", root, &folder.join("again"))?;
    println!("{:<32} {memory:>7.1} MB", "memory at most");
    println!(
        "{:<32} {:>7.1} MB",
        "size on disk",
        megabytes(size(&place)?)
    );
    println!("the index against");
    for (rival, name) in NAMES.iter().enumerate().take(OURS) {
        against(name, &rounds, rival);
    }
    let (_, nothing) = timed(|| update(&index))?;
    show("an update without changes", nothing);
    one_file(&index, root)?;
    questions(&index, QUESTION)?;
    match std::env::var_os("PTK_BENCH_MODEL") {
        Some(model) => meaning(&index, root, Path::new(&model)),
        None => Ok(()),
    }
}

fn model(folder: &Path) -> Result<Table, Box<dyn Error>> {
    let weights = folder.join("l2_supercat_256.safetensors");
    let tokenizer = folder.join("l2_supercat_tokenizer_config.json");
    Ok(Table::read(&weights, &tokenizer)?)
}

/// Measures the memory of a part of the work, in megabytes, in a process of its
/// own.
fn alone(part: &str, root: &Path, place: &Path) -> Result<f64, Box<dyn Error>> {
    let mut program = Command::new(std::env::current_exe()?);
    let output = program.arg(ALONE).arg(part).args([root, place]).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

/// Runs a part of the work, and prints how much memory it took.
fn work_alone(part: &str, root: &Path, place: &Path) -> Result<(), Box<dyn Error>> {
    let mut index = Index::new(place, Workspace::open(root)?);
    if part != "words" {
        let folder = std::env::var_os("PTK_BENCH_MODEL").ok_or("there is no model")?;
        index = index.with_embedder(Arc::new(model(Path::new(&folder))?));
    }
    let held = resident("VmRSS:")?;
    let memory = if part == "search" {
        let _searcher = index.searcher()?;
        resident("VmRSS:")? - held
    } else {
        update(&index)?;
        resident("VmHWM:")?
    };
    println!("{memory}");
    Ok(())
}

/// A memory figure of this process, in megabytes.
fn resident(what: &str) -> Result<f64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(what));
    let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kibibytes: f64 = number.ok_or("the system does not say it")?.parse()?;
    Ok(kibibytes * 1024.0 / 1e6)
}

/// Measures the index by meaning, on top of the index by words.
fn meaning(index: &Index, root: &Path, folder: &Path) -> Result<(), Box<dyn Error>> {
    let (table, opening) = timed(|| model(folder))?;
    show("the model, opened", opening);
    let index = index.clone().with_embedder(Arc::new(table));
    let vectors = index.folder().join("vectors");
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        if vectors.exists() {
            fs::remove_file(&vectors)?;
        }
        rounds.push(time(|| match update(&index)?.embedded {
            0 => Err("nothing was embedded".into()),
            _ => Ok(()),
        })?);
    }
    let fastest = rounds.into_iter().min().unwrap_or_default();
    show("vectors for all chunks, fastest", fastest);
    fs::remove_file(&vectors)?;
    let memory = alone("meaning", root, index.folder())?;
    println!(
        "{:<32} {memory:>7.1} MB, the model included",
        "memory at most"
    );
    let size = megabytes(fs::metadata(&vectors)?.len());
    println!("{:<32} {size:>7.1} MB", "vectors on disk");
    let (searcher, opening) = timed(|| Ok(index.searcher()?))?;
    show("the index, opened", opening);
    drop(searcher);
    let held = alone("search", root, index.folder())?;
    println!("{:<32} {held:>7.1} MB", "held for searching");
    questions(&index, MEANT)
}

/// The candidates that are measured in each round.
const NAMES: [&str; 4] = [
    "tantivy, given the chunks",
    "– and the same words",
    "tantivy, a file a document",
    "the index",
];
/// The position of our index among them.
const OURS: usize = 3;

type Round = [Times; NAMES.len()];

/// Prints how many times longer than a rival the index took. Other load changes
/// from round to round, so they are compared within each; the median counts.
#[allow(clippy::indexing_slicing, reason = "a round has all of them")]
fn against(name: &str, rounds: &[Round], rival: usize) {
    let ratio = |of: fn(Times) -> Duration| {
        let ratio = |round: &Round| of(round[OURS]).as_secs_f64() / of(round[rival]).as_secs_f64();
        let mut ratios: Vec<f64> = rounds.iter().map(ratio).collect();
        ratios.sort_by(f64::total_cmp);
        ratios[ratios.len() / 2]
    };
    let (wall, cpu) = (ratio(|it| it.0), ratio(|it| it.1));
    // The other rivals show where the difference comes from.
    let verdict = verdict(rival > 0 || wall <= AGAINST_TANTIVY);
    println!("{name:<32} {wall:>10.2} wall {cpu:>10.2} CPU {verdict}");
}

#[allow(clippy::indexing_slicing, reason = "a round has all of them")]
fn best(rounds: &[Round], which: usize) -> Times {
    let least = |of: fn(Times) -> Duration| rounds.iter().map(|round| of(round[which])).min();
    let (wall, cpu) = (least(|it| it.0), least(|it| it.1));
    (wall.unwrap_or_default(), cpu.unwrap_or_default())
}

/// Wall-clock time, and CPU time.
type Times = (Duration, Duration);

fn timed<T>(run: impl FnOnce() -> Result<T, Box<dyn Error>>) -> Result<(T, Times), Box<dyn Error>> {
    let (wall, cpu) = (Instant::now(), ProcessTime::now());
    let value = run()?;
    Ok((value, (wall.elapsed(), cpu.elapsed())))
}

fn time(run: impl FnOnce() -> Result<(), Box<dyn Error>>) -> Result<Times, Box<dyn Error>> {
    Ok(timed(run)?.1)
}

fn show(name: &str, (wall, cpu): Times) {
    println!("{name:<32} {wall:>10.1?} wall {cpu:>10.1?} CPU");
}

fn verdict(is_kept: bool) -> &'static str {
    if is_kept { "" } else { "MISSED" }
}

fn update(index: &Index) -> Result<Report, Box<dyn Error>> {
    Ok(index.update(&AtomicBool::new(false), &mut |_| {})?)
}

fn chunked(root: &Path) -> Result<Vec<(PathBuf, Chunk)>, Box<dyn Error>> {
    let mut chunker = Chunker::default();
    let mut chunks = Vec::new();
    for entry in WalkBuilder::new(root).build() {
        let path = entry?.into_path();
        if path.is_file() {
            let text = fs::read_to_string(&path)?;
            let language = Language::of(&path.to_string_lossy(), &text);
            let made = chunker.chunks(&text, language);
            chunks.extend(made.into_iter().map(|chunk| (path.clone(), chunk)));
        }
    }
    Ok(chunks)
}

/// A writer for a plain tantivy index, with as many threads as ours.
fn tantivy_writer(
    folder: &Path,
    schema: tantivy::schema::Schema,
) -> Result<IndexWriter, Box<dyn Error>> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir(folder)?;
    let options = IndexWriterOptions::builder()
        .num_worker_threads(thread::available_parallelism()?.get())
        .memory_budget_per_thread(ARENA)
        .build();
    let index = tantivy::Index::create_in_dir(folder, schema)?;
    Ok(index.writer_with_options(options)?)
}

/// Indexes the same files with plain tantivy, as a simple search for files by
/// words would.
fn tantivy_of_files(folder: &Path, root: &Path) -> Result<(), Box<dyn Error>> {
    let mut schema = Schema::builder();
    let path = schema.add_text_field("path", STRING | STORED);
    let body = schema.add_text_field("body", TEXT);
    let mut writer = tantivy_writer(folder, schema.build())?;
    for entry in WalkBuilder::new(root).build() {
        let file = entry?.into_path();
        if file.is_file() {
            let mut document = TantivyDocument::new();
            document.add_text(path, file.to_string_lossy());
            document.add_text(body, fs::read_to_string(&file)?);
            writer.add_document(document)?;
        }
    }
    writer.commit()?;
    writer.wait_merging_threads()?;
    Ok(())
}

/// Indexes the same chunks with tantivy: with its own words and their
/// positions, or with our words and their frequencies.
fn tantivy_of_chunks(
    folder: &Path,
    chunks: &[(PathBuf, Chunk)],
    words: Option<Words>,
) -> Result<(), Box<dyn Error>> {
    let own = TextFieldIndexing::default()
        .set_tokenizer("words")
        .set_index_option(IndexRecordOption::WithFreqs);
    let text = match words {
        Some(_) => TextOptions::default().set_indexing_options(own),
        None => TEXT,
    };
    let mut schema = Schema::builder();
    let path = schema.add_text_field("path", STRING | STORED);
    let path_words = schema.add_text_field("path_words", text.clone());
    let symbol = schema.add_text_field("symbol", text.clone() | STORED);
    let scope = schema.add_text_field("scope", text.clone() | STORED);
    let body = schema.add_text_field("body", text | STORED);
    let kind = schema.add_text_field("kind", STRING | STORED);
    let first = schema.add_u64_field("first", STORED);
    let last = schema.add_u64_field("last", STORED);
    let key = schema.add_u64_field("key", FAST);
    let mut writer = tantivy_writer(folder, schema.build())?;
    if let Some(words) = words {
        writer.index().tokenizers().register("words", words);
    }
    for (file, chunk) in chunks {
        let mut document = TantivyDocument::new();
        document.add_text(path, file.to_string_lossy());
        document.add_text(path_words, file.to_string_lossy());
        document.add_text(symbol, chunk.symbol.as_deref().unwrap_or_default());
        document.add_text(scope, &chunk.scope);
        document.add_text(body, &chunk.text);
        document.add_text(kind, chunk.kind.name());
        document.add_u64(first, chunk.lines.first as u64);
        document.add_u64(last, chunk.lines.last as u64);
        document.add_u64(key, chunk.text.len() as u64);
        writer.add_document(document)?;
    }
    writer.commit()?;
    writer.wait_merging_threads()?;
    Ok(())
}

fn one_file(index: &Index, root: &Path) -> Result<(), Box<dyn Error>> {
    let path = root.join("p0/changed.rs");
    let mut worst = (Duration::ZERO, Duration::ZERO);
    for round in 0..10 {
        fs::write(&path, format!("fn changed_{round}() {{}}\n").repeat(100))?;
        let (report, times) = timed(|| update(index))?;
        if report.added + report.changed != 1 {
            return Err("one file was changed".into());
        }
        worst = (worst.0.max(times.0), worst.1.max(times.1));
    }
    show("one changed file, worst of 10", worst);
    println!("{:<32} {}", "", verdict(worst.0 <= ONE_FILE));
    Ok(())
}

/// Runs queries taken from the chunks themselves: identifiers, and the words of
/// their first comment.
fn questions(index: &Index, bar: Duration) -> Result<(), Box<dyn Error>> {
    let searcher = index.searcher()?;
    let sample = searcher.search(&Query {
        top: QUESTIONS,
        ..Query::new("returns the first value of a map that was parsed from a file")
    })?;
    let (mut walls, mut times) = (Vec::new(), Vec::new());
    for hit in &sample {
        let symbol = hit.symbol.clone().unwrap_or_default();
        let prose = hit.text.lines().next().unwrap_or_default().to_owned();
        let long: String = hit.text.chars().take(400).collect();
        for text in [symbol, prose, long] {
            let (wall, cpu) = (Instant::now(), ThreadTime::now());
            searcher.search(&Query::new(text))?;
            walls.push(wall.elapsed());
            times.push(cpu.elapsed());
        }
    }
    println!("{:<32} {:>10} asked", "questions", times.len());
    let high = percentiles("a question, wall", walls);
    println!("{:<32} {}", "", verdict(high <= bar));
    percentiles("a question, CPU", times);
    Ok(())
}

fn percentiles(name: &str, mut times: Vec<Duration>) -> Duration {
    times.sort();
    let of = |share: usize| times.get(times.len() * share / 100).copied();
    let (median, high) = (of(50).unwrap_or_default(), of(99).unwrap_or_default());
    println!("{name:<32} {median:>10.1?} p50 {high:>10.1?} p99");
    high
}

fn size(folder: &Path) -> Result<u64, Box<dyn Error>> {
    let mut total = 0;
    for entry in WalkBuilder::new(folder).standard_filters(false).build() {
        let found = entry?.metadata()?;
        total += if found.is_file() { found.len() } else { 0 };
    }
    Ok(total)
}
