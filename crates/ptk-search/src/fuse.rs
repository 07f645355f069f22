//! Merges several lists of results: reciprocal rank fusion, and a choice of
//! diverse results.

use std::collections::BTreeMap;

/// The rank constant: the larger, the less the first ranks stand out.
pub const K: f32 = 60.0;
/// The weight of relevance against diversity.
pub const LAMBDA: f32 = 0.7;
/// How many results diverse ones are chosen from.
pub const POOL: usize = 50;

/// Fuses lists, each best first and with its weight: an entry's score is the
/// sum of `weight / (K + rank)` over the lists that have it, ranks counted from
/// one. Best first; of equal ones the smaller id.
///
/// ```
/// use ptk_search::fuse::reciprocal_rank;
///
/// let fused = reciprocal_rank(&[(1.0, &["b", "a"][..]), (1.0, &["a", "c"][..])]);
/// assert_eq!(fused[0], ("a", 1.0 / 62.0 + 1.0 / 61.0));
/// assert_eq!(fused[1].0, "b");
/// ```
#[must_use]
pub fn reciprocal_rank<T: Ord + Clone>(lists: &[(f32, &[T])]) -> Vec<(T, f32)> {
    let mut scores: BTreeMap<&T, f32> = BTreeMap::new();
    for (weight, list) in lists {
        let mut rank = K;
        for entry in *list {
            rank += 1.0;
            *scores.entry(entry).or_default() += weight / rank;
        }
    }
    let mut fused: Vec<(T, f32)> = scores
        .into_iter()
        .map(|(entry, score)| (entry.clone(), score))
        .collect();
    // The sort is stable, and entries are in the order of ids until now.
    fused.sort_by(|a, b| b.1.total_cmp(&a.1));
    fused
}

/// Chooses `top` of the first [`POOL`] entries, by maximal marginal relevance:
/// each next one has a high score and is unlike those before it. `likeness` of
/// two entries is between zero and one. Returns their positions in the list.
#[must_use]
pub fn diversify(scores: &[f32], top: usize, likeness: impl Fn(usize, usize) -> f32) -> Vec<usize> {
    let pool = scores.get(..POOL.min(scores.len())).unwrap_or_default();
    let highest = pool.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
    // The likeness of each entry to the most similar one that was chosen.
    let mut likest = vec![0.0_f32; pool.len()];
    let mut left: Vec<usize> = (0..pool.len()).collect();
    let mut chosen = Vec::new();
    while chosen.len() < top && !left.is_empty() {
        let value = |at: usize| {
            let score = pool.get(at).copied().unwrap_or_default() / highest;
            let like = likest.get(at).copied().unwrap_or_default();
            LAMBDA * score - (1.0 - LAMBDA) * like
        };
        let best = left
            .iter()
            .enumerate()
            .max_by(|(_, a), (_, b)| value(**a).total_cmp(&value(**b)).then(b.cmp(a)))
            .map_or(0, |(at, _)| at);
        let next = left.remove(best);
        for other in &left {
            if let Some(like) = likest.get_mut(*other) {
                *like = like.max(likeness(*other, next));
            }
        }
        chosen.push(next);
    }
    chosen.extend(POOL..scores.len());
    chosen.truncate(top);
    chosen
}
