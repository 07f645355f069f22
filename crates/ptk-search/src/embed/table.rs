//! Embeds texts by a table: a text's vector is the sum of its words', each
//! weighted by how rare it is. No layer of a network is run, so it is thousands
//! of times faster than a model that reads sentences.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::thread;

use safetensors::{Dtype, SafeTensors};
use serde::Deserialize;

use super::rarity::Rarity;
use super::{EmbedError, Embedder};
use crate::words::Words;

/// Changed whenever the same files would give other vectors.
const VERSION: u32 = 1;
/// The name of the table's tensor in its file.
const TENSOR: &str = "embedding.weight";
/// The largest table, in bytes.
const MAX_TABLE: u64 = 512 * 1024 * 1024;
/// The largest list of pieces, in bytes.
const MAX_PIECES: u64 = 64 * 1024 * 1024;
/// The most dimensions of a vector.
const MAX_DIMENSIONS: usize = 4096;
/// The mark before the beginning of a word in the list of pieces.
const BEGINNING: char = '\u{2581}';
/// The fewest texts for a thread.
const MIN_SHARE: usize = 64;
/// The most words of a text that are used. A chunk of code has some hundred.
const MAX_WORDS: usize = 20_000;

/// A table of word pieces with a vector for each, as in the package
/// `wordllama`.
#[derive(Debug)]
pub struct Table {
    id: String,
    dimensions: usize,
    pieces: HashMap<Box<str>, usize>,
    /// The length of the longest piece, in bytes.
    longest: usize,
    /// The vectors, in half precision as they are in the file.
    halves: Vec<u16>,
    rarity: Rarity,
}

/// The part of `tokenizer.json` that is used.
#[derive(Deserialize)]
struct Tokenizer {
    model: Model,
}

#[derive(Deserialize)]
struct Model {
    vocab: HashMap<Box<str>, usize>,
}

impl Table {
    /// Reads a table (`.safetensors`) and the pieces of its rows
    /// (`tokenizer.json`).
    ///
    /// # Errors
    ///
    /// If a file cannot be read or is not valid.
    pub fn read(weights: &Path, tokenizer: &Path) -> Result<Self, EmbedError> {
        let table = bytes(weights, MAX_TABLE)?;
        let list = bytes(tokenizer, MAX_PIECES)?;
        let mut hasher = blake3::Hasher::new();
        hasher.update(&table).update(&list);
        let hash = hasher.finalize().to_hex();
        let (halves, rows, dimensions) = halves(&table).map_err(|why| damaged(weights, why))?;
        drop(table);
        let list: Tokenizer =
            serde_json::from_slice(&list).map_err(|error| damaged(tokenizer, error.to_string()))?;
        let pieces = list.model.vocab;
        if let Some((piece, row)) = pieces.iter().find(|(_, row)| **row >= rows) {
            let why = format!("`{piece}` is in row {row}, and there are {rows}");
            return Err(damaged(tokenizer, why));
        }
        Ok(Self {
            id: format!("table {VERSION} {hash}"),
            dimensions,
            longest: pieces.keys().map(|piece| piece.len()).max().unwrap_or(0),
            pieces,
            halves,
            rarity: Rarity::of_code(),
        })
    }

    /// The vectors of some texts, computed on this thread.
    fn sums(&self, texts: &[&str]) -> Vec<Vec<f32>> {
        let mut known = HashMap::new();
        texts
            .iter()
            .map(|text| self.sum(text, &mut known))
            .collect()
    }

    /// The vector of a text; `known` caches the vectors of words.
    fn sum(&self, text: &str, known: &mut HashMap<String, Vec<f32>>) -> Vec<f32> {
        let mut counts: HashMap<String, f32> = HashMap::new();
        Words::parts_only().each(text, MAX_WORDS, |word| {
            if let Some(count) = counts.get_mut(word) {
                *count += 1.0;
            } else {
                counts.insert(word.to_owned(), 1.0);
            }
        });
        // Sorted, so that the order of words does not change the sum.
        let mut counts: Vec<(String, f32)> = counts.into_iter().collect();
        counts.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let mut sum = vec![0.0; self.dimensions];
        for (word, count) in counts {
            // Ten occurrences of a word count little more than two.
            let weight = 1.0 + count.ln();
            let vector = known
                .entry(word)
                .or_insert_with_key(|word| self.vector(word));
            add(&mut sum, vector, weight);
        }
        normalise(&mut sum);
        sum
    }

    /// The vector of a word: the sum of its longest pieces' vectors, weighted
    /// by how rare the word is.
    fn vector(&self, word: &str) -> Vec<f32> {
        let mut sum = vec![0.0; self.dimensions];
        let marked = format!("{BEGINNING}{word}");
        let mut rest = marked.as_str();
        let weight = self.rarity.of(word);
        while let Some(first) = rest.chars().next() {
            let longest = self.longest.min(rest.len());
            let found = (1..=longest).rev().find_map(|end| {
                let piece = rest.get(..end)?;
                Some((end, *self.pieces.get(piece)?))
            });
            if let Some((_, row)) = found {
                let begin = row * self.dimensions;
                let halves = self.halves.get(begin..begin + self.dimensions);
                let values = halves.unwrap_or_default().iter().map(|half| single(*half));
                for (sum, value) in sum.iter_mut().zip(values) {
                    *sum += weight * value;
                }
            }
            let end = found.map_or(first.len_utf8(), |(end, _)| end);
            rest = rest.get(end..).unwrap_or_default();
        }
        sum
    }
}

impl Embedder for Table {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let share = texts.len().div_ceil(threads).max(MIN_SHARE);
        if texts.len() <= share {
            return Ok(self.sums(texts));
        }
        thread::scope(|scope| {
            let shares = texts.chunks(share);
            let begun: Vec<_> = shares
                .map(|share| scope.spawn(|| self.sums(share)))
                .collect();
            let mut vectors = Vec::with_capacity(texts.len());
            for thread in begun {
                let sums = thread.join();
                vectors.extend(sums.map_err(|_| EmbedError::Failed("a thread ended".to_owned()))?);
            }
            Ok(vectors)
        })
    }
}

fn add(sum: &mut [f32], vector: &[f32], weight: f32) {
    for (sum, value) in sum.iter_mut().zip(vector) {
        *sum += weight * value;
    }
}

/// Scales a vector to length 1, unless it is zero.
fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 && length.is_finite() {
        for value in vector {
            *value /= length;
        }
    } else {
        vector.fill(0.0);
    }
}

/// Reads a whole file, within a limit.
fn bytes(path: &Path, limit: u64) -> Result<Vec<u8>, EmbedError> {
    let unreadable = |error: io::Error| EmbedError::Io {
        path: path.to_owned(),
        error,
    };
    let file = File::open(path).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len();
    if length > limit {
        return Err(damaged(path, format!("{length} bytes are too many")));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    let mut limited = file.take(limit);
    limited.read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}

/// The values of the table, its number of rows, and their length.
fn halves(bytes: &[u8]) -> Result<(Vec<u16>, usize, usize), String> {
    let file = SafeTensors::deserialize(bytes).map_err(|error| error.to_string())?;
    let tensor = file.tensor(TENSOR).map_err(|error| error.to_string())?;
    let [rows, dimensions] = tensor.shape() else {
        return Err(format!("`{TENSOR}` is not a table"));
    };
    if tensor.dtype() != Dtype::F16 {
        return Err(format!(
            "`{TENSOR}` has numbers of the kind {:?}, not F16",
            tensor.dtype()
        ));
    }
    if *rows == 0 || !(1..=MAX_DIMENSIONS).contains(dimensions) {
        return Err(format!("`{TENSOR}` has {rows} rows of {dimensions}"));
    }
    let (pairs, _) = tensor.data().as_chunks();
    let halves = pairs.iter().map(|pair| u16::from_le_bytes(*pair));
    Ok((halves.collect(), *rows, *dimensions))
}

/// Converts a half-precision number; infinities and NaN become 0.
fn single(half: u16) -> f32 {
    let sign = if half & 0x8000 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from((half >> 10) & 0x1f);
    let fraction = f32::from(half & 0x3ff);
    match exponent {
        0 => sign * fraction * 2.0_f32.powi(-24),
        31 => 0.0,
        _ => sign * (1024.0 + fraction) * 2.0_f32.powi(exponent - 25),
    }
}

fn damaged(path: &Path, why: String) -> EmbedError {
    EmbedError::Damaged {
        path: path.to_owned(),
        why,
    }
}
