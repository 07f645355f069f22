//! Finds the nearest vectors.

use std::cmp::Ordering;

use super::quantised::{Quantised, product};

/// How many dot products are computed for each result.
const POOL_FACTOR: usize = 10;
/// The fewest dot products that are computed.
const MIN_POOL: usize = 1000;
/// The bits of a code's word.
const BITS: usize = 64;

/// Vectors in memory, each with the place of its text. See
/// [`Vectors::neighbours`](super::Vectors::neighbours).
#[derive(Debug, Clone, Default)]
pub struct Neighbours {
    places: Vec<u64>,
    vectors: Quantised,
    /// The mean of all vectors; they differ in the offset from it, so signs are
    /// taken relative to it.
    mean: Vec<f32>,
    /// One bit for each dimension of each vector.
    codes: Vec<u64>,
    /// The number of words of a code.
    words: usize,
}

impl Neighbours {
    pub(crate) fn new(places: Vec<u64>, vectors: Quantised) -> Self {
        let mean = mean(&vectors);
        let words = vectors.dimensions().div_ceil(BITS);
        let mut codes = Vec::with_capacity(words.saturating_mul(vectors.len()));
        for (scale, bytes) in vectors.iter() {
            let values = bytes.iter().map(|byte| f32::from(*byte) * scale);
            code(values, &mean, &mut codes);
        }
        Self {
            places,
            vectors,
            mean,
            codes,
            words,
        }
    }

    /// The number of vectors.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are no vectors.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The places of the vectors most similar to the query, the nearest first,
    /// each with its similarity: 1 is the same, 0 is unrelated. Of two equal
    /// ones, the lower place comes first.
    ///
    /// `keep` decides whether a place may be among them.
    #[must_use]
    pub fn nearest(
        &self,
        query: &[f32],
        count: usize,
        keep: Option<&dyn Fn(u64) -> bool>,
    ) -> Vec<(u64, f32)> {
        let wanted = count.saturating_mul(POOL_FACTOR).max(MIN_POOL);
        let found = self.pool(query, wanted, keep).into_iter();
        let found = found.filter_map(|at| {
            let (scale, bytes) = self.vectors.get(at)?;
            Some((*self.places.get(at)?, product(scale, bytes, query)))
        });
        best(found.collect(), count)
    }

    /// The same with the dot products of all vectors, as the reference for the
    /// accuracy of the search.
    #[must_use]
    pub fn nearest_of_all(&self, query: &[f32], count: usize) -> Vec<(u64, f32)> {
        let scored = self.places.iter().zip(self.vectors.iter());
        let scored = scored.map(|(place, (scale, bytes))| (*place, product(scale, bytes, query)));
        best(scored.collect(), count)
    }

    /// The vectors whose signs differ least from the query's.
    fn pool(&self, query: &[f32], wanted: usize, keep: Option<&dyn Fn(u64) -> bool>) -> Vec<usize> {
        let mut asked = Vec::with_capacity(self.words);
        code(query.iter().copied(), &self.mean, &mut asked);
        let codes = self.codes.chunks_exact(self.words.max(1));
        let mut distances: Vec<u16> = Vec::with_capacity(self.places.len());
        match <[u64; 4]>::try_from(asked.as_slice()) {
            // The code length of the built-in model, which the compiler
            // unrolls.
            Ok(asked) => distances.extend(codes.map(|code| {
                <&[u64; 4]>::try_from(code).map_or(u16::MAX, |code| apart(code, &asked))
            })),
            Err(_) => distances.extend(codes.map(|code| apart(code, &asked))),
        }
        if let Some(keep) = keep {
            for (distance, place) in distances.iter_mut().zip(&self.places) {
                if !keep(*place) {
                    *distance = u16::MAX;
                }
            }
        }
        within(&distances, self.words * BITS, wanted)
    }
}

/// The number of bits in which two codes differ.
fn apart(a: &[u64], b: &[u64]) -> u16 {
    let differ = a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones());
    u16::try_from(differ.sum::<u32>()).unwrap_or(u16::MAX)
}

/// The indexes of the least distances, about as many as wanted: all with the
/// same distance as the last are included, so that the result does not depend
/// on the order of the vectors.
fn within(distances: &[u16], greatest: usize, wanted: usize) -> Vec<usize> {
    let mut counts = vec![0_usize; greatest + 1];
    for distance in distances {
        if let Some(count) = counts.get_mut(usize::from(*distance)) {
            *count += 1;
        }
    }
    let mut sum = 0;
    let limit = counts.iter().position(|count| {
        sum += count;
        sum >= wanted
    });
    let limit = limit.unwrap_or(greatest);
    let near = distances.iter().enumerate();
    let near = near.filter(|(_, distance)| usize::from(**distance) <= limit);
    near.map(|(at, _)| at).collect()
}

/// The best results, in order.
fn best(mut found: Vec<(u64, f32)>, count: usize) -> Vec<(u64, f32)> {
    let order = |a: &(u64, f32), b: &(u64, f32)| -> Ordering {
        b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0))
    };
    if found.len() > count && count > 0 {
        found.select_nth_unstable_by(count - 1, order);
    }
    found.truncate(count);
    found.sort_unstable_by(order);
    found
}

/// The mean of all vectors.
fn mean(vectors: &Quantised) -> Vec<f32> {
    let mut sums = vec![0.0_f64; vectors.dimensions()];
    for (scale, bytes) in vectors.iter() {
        for (sum, byte) in sums.iter_mut().zip(bytes) {
            *sum += f64::from(f32::from(*byte) * scale);
        }
    }
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "a mean of so many small numbers is none that needs all digits"
    )]
    let means = sums
        .iter()
        .map(|sum| (sum / vectors.len().max(1) as f64) as f32);
    means.collect()
}

/// Appends the code of a vector: one bit for each dimension, set above the
/// mean.
fn code(vector: impl Iterator<Item = f32>, mean: &[f32], to: &mut Vec<u64>) {
    let mut vector = vector.chain(std::iter::repeat(0.0));
    for means in mean.chunks(BITS) {
        let mut word = 0;
        for (bit, (mean, value)) in means.iter().zip(vector.by_ref()).enumerate() {
            word |= u64::from(value > *mean) << bit;
        }
        to.push(word);
    }
}
