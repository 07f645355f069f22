//! The words that are most common in code: the list in `src/embed/common.txt`.
//!
//! ```text
//! common_words FOLDER…
//! ```
//!
//! Each folder holds packages. Some code of each is cut into pieces of 30
//! lines, and for each language the pieces with a word are counted. A word that
//! is common in one language counts as common. Crates that are used to measure
//! the quality are left out.

#![allow(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "it prints what it counts"
)]

#[path = "quality/crates.rs"]
mod crates;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use crates::{REPORTED, TUNED_ON};
use ptk_search::Language;
use ptk_search::words::Words;

/// How many words are printed.
const COUNT: usize = 300;
/// Lines of a piece.
const PIECE: usize = 30;
/// The most pieces of a package, so that none dominates.
const MAX_PIECES: usize = 50;
/// Languages with fewer pieces are ignored.
const MIN_PIECES: usize = 1000;
/// The most words of a piece that are read.
const MAX_WORDS: usize = 2000;

#[derive(Default)]
struct Count {
    pieces: usize,
    with: HashMap<String, usize>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut counts: BTreeMap<&'static str, Count> = BTreeMap::new();
    for folder in std::env::args_os().skip(1) {
        for package in fs::read_dir(folder)? {
            let package = package?.path();
            if !is_measured_by(&package) {
                count(&package, &mut counts)?;
            }
        }
    }
    counts
        .retain(|name, count| count.pieces >= MIN_PIECES && !matches!(*name, "text" | "markdown"));
    let mut weights: HashMap<String, f64> = HashMap::new();
    for count in counts.values() {
        for (word, with) in &count.with {
            let (with, of) = (*with as f64, count.pieces as f64);
            let weight = (1.0 + (of - with + 0.5) / (with + 0.5)).ln();
            let least = weights.entry(word.clone()).or_insert(weight);
            *least = least.min(weight);
        }
    }
    let mut weights: Vec<(String, f64)> = weights.into_iter().collect();
    weights.sort_by(|a, b| a.1.total_cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
    for (word, weight) in weights.into_iter().take(COUNT) {
        println!("{word} {weight:.2}");
    }
    Ok(())
}

/// Counts the pieces of one package: a crate, a module or a header.
fn count(package: &Path, to: &mut BTreeMap<&'static str, Count>) -> Result<(), Box<dyn Error>> {
    let mut files = Vec::new();
    find(package, &mut files)?;
    files.sort_by_cached_key(|path| *blake3::hash(path.as_os_str().as_encoded_bytes()).as_bytes());
    let mut left = MAX_PIECES;
    for path in files {
        let name = path.to_string_lossy();
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        let count = to.entry(Language::of(&name, &text).name()).or_default();
        let lines: Vec<&str> = text.lines().collect();
        for piece in lines.chunks(PIECE).take(left) {
            let mut seen = HashSet::new();
            Words::parts_only().each(&piece.join("\n"), MAX_WORDS, |word| {
                seen.insert(word.to_owned());
            });
            left -= 1;
            count.pieces += 1;
            for word in seen {
                *count.with.entry(word).or_default() += 1;
            }
        }
        if left == 0 {
            break;
        }
    }
    Ok(())
}

fn find(path: &Path, to: &mut Vec<PathBuf>) -> Result<(), std::io::Error> {
    let about = fs::symlink_metadata(path)?;
    if about.is_file() {
        to.push(path.to_owned());
    } else if about.is_dir() {
        for entry in fs::read_dir(path)? {
            find(&entry?.path(), to)?;
        }
    }
    Ok(())
}

/// Whether this crate is used to measure the quality.
fn is_measured_by(package: &Path) -> bool {
    let name = package.file_name().unwrap_or_default().to_string_lossy();
    REPORTED.iter().chain(&TUNED_ON).any(|it| {
        let version = name.strip_prefix(it).and_then(|it| it.strip_prefix('-'));
        version.is_some_and(|it| it.starts_with(|c: char| c.is_ascii_digit()))
    })
}
