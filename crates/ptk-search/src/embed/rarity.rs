//! How much a word says. What stands in every piece of code says little.

use std::collections::HashMap;

/// The words that are most common in code, each with how little of it has them.
/// `examples/common_words` has made the list.
const COMMON: &str = include_str!("common.txt");

/// How rare words are.
#[derive(Debug)]
pub(crate) struct Rarity {
    common: HashMap<&'static str, f32>,
    /// That of every word which is not common.
    rest: f32,
}

impl Rarity {
    /// In code.
    pub(crate) fn of_code() -> Self {
        let lines = COMMON.lines().filter_map(|line| {
            let (word, weight) = line.split_once(' ')?;
            Some((word, weight.parse().ok()?))
        });
        let common: HashMap<&str, f32> = lines.collect();
        let rest = common.values().copied().fold(1.0, f32::max);
        Self { common, rest }
    }

    pub(crate) fn of(&self, word: &str) -> f32 {
        self.common.get(word).copied().unwrap_or(self.rest)
    }
}
