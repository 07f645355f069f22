//! The words that are most common in code: the list in `src/embed/common.txt`.
//!
//! ```text
//! common_words FOLDER…
//! ```
//!
//! Code in these folders is cut into pieces of 30 lines, and it is counted how
//! many of a language's pieces have a word. What is common in one language is
//! common. Crates that the quality is measured by are left out.

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

/// How many words are told.
const COUNT: usize = 300;
/// Lines of a piece.
const PIECE: usize = 30;
/// A language with fewer pieces says nothing.
const MIN_PIECES: usize = 1000;
/// Words of a piece beyond these are not looked at.
const MAX_WORDS: usize = 2000;

#[derive(Default)]
struct Count {
    pieces: usize,
    with: HashMap<String, usize>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut counts: BTreeMap<&'static str, Count> = BTreeMap::new();
    for folder in std::env::args_os().skip(1) {
        count(&PathBuf::from(folder), &mut counts)?;
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

fn count(folder: &Path, to: &mut BTreeMap<&'static str, Count>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_measured_by = |it: &&str| {
            let version = name
                .strip_prefix(it)
                .and_then(|rest| rest.strip_prefix('-'));
            version.is_some_and(|it| it.starts_with(|c: char| c.is_ascii_digit()))
        };
        if kind.is_dir() {
            if !REPORTED.iter().chain(&TUNED_ON).any(is_measured_by) {
                count(&path, to)?;
            }
        } else if kind.is_file()
            && let Ok(text) = fs::read_to_string(&path)
        {
            let count = to.entry(Language::of(&name, &text).name()).or_default();
            let lines: Vec<&str> = text.lines().collect();
            for piece in lines.chunks(PIECE) {
                let mut seen = HashSet::new();
                Words::parts_only().each(&piece.join("\n"), MAX_WORDS, |word| {
                    seen.insert(word.to_owned());
                });
                count.pieces += 1;
                for word in seen {
                    *count.with.entry(word).or_default() += 1;
                }
            }
        }
    }
    Ok(())
}
