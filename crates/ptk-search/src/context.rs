//! Selects the lines of code that fit a token budget.

use std::path::Path;

use ptk_protocol::snippet::Snippet;
use serde::Serialize;

use crate::chunk::{Kind, Lines};
use crate::{Hit, State};

/// One result is searched for each of this many tokens.
const TOKENS_A_RESULT: u64 = 200;
/// The fewest and the most results that are searched.
const RESULTS: (u64, u64) = (5, 20);
/// The fewest lines that a passage is cut to.
const MIN_LINES: usize = 3;
/// Scores are rounded to six decimal places.
const DIGITS: f64 = 1e6;

/// How many results to search for with this token budget.
///
/// ```
/// use ptk_search::context::top_k;
///
/// let budgets = [1, 1000, 1200, 2048, 4000, 100_000];
/// assert_eq!(budgets.map(top_k), [5, 5, 6, 10, 20, 20]);
/// ```
#[must_use]
pub fn top_k(token_budget: u64) -> usize {
    let (least, most) = RESULTS;
    let results = (token_budget / TOKENS_A_RESULT).clamp(least, most);
    usize::try_from(results).unwrap_or(usize::MAX)
}

/// Some lines of a file that answer a question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Passage {
    /// Its id: `path#first:last`, relative to the workspace.
    pub id: String,
    /// Its score, to six decimal places.
    pub score: f64,
    /// The name that is defined there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// The kind of its chunk.
    pub kind: Kind,
    /// The last line of the chunk, if only its beginning fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goes_on_to: Option<usize>,
    /// The lines, in the [snippet format](ptk_protocol::snippet).
    pub snippet: String,
}

/// Selects the search results that fit a budget: whole definitions as long as
/// they fit, best first, then the beginning of the best that does not. Adjacent
/// lines of a file become one passage. Files that have changed since they were
/// indexed are left out.
///
/// All passages together, as JSON, have no more tokens than the budget, as
/// counted by `count`.
#[must_use]
pub fn within(
    hits: Vec<Hit>,
    root: &Path,
    budget: u64,
    count: &dyn Fn(&str) -> u64,
) -> Vec<Passage> {
    let hits = hits.into_iter().filter(|hit| hit.state == State::Current);
    let mut left = budget;
    let (mut chosen, mut others) = (Vec::new(), Vec::new());
    for hit in hits.map(Stretch::from) {
        let cost = hit.cost(root, count);
        if cost <= left {
            left -= cost;
            chosen.push(hit);
        } else {
            others.push(hit);
        }
    }
    let cut = others.iter().find_map(|it| it.cut(root, left, count));
    chosen.extend(cut);
    let mut merged = merge(chosen);
    loop {
        let passages: Vec<Passage> = merged.iter().map(|it| it.passage(root)).collect();
        let fits = count(&json(&passages)) <= budget;
        if fits || merged.pop().is_none() {
            return passages;
        }
    }
}

/// A range of adjacent lines.
#[derive(Debug, Clone)]
struct Stretch {
    path: String,
    lines: Lines,
    score: f32,
    symbol: Option<String>,
    kind: Kind,
    goes_on_to: Option<usize>,
    text: String,
}

impl From<Hit> for Stretch {
    fn from(hit: Hit) -> Self {
        Self {
            path: hit.path,
            lines: hit.lines,
            score: hit.score,
            symbol: hit.symbol,
            kind: hit.kind,
            goes_on_to: None,
            text: hit.text,
        }
    }
}

impl Stretch {
    fn passage(&self, root: &Path) -> Passage {
        let path = root.join(&self.path).to_string_lossy().into_owned();
        let text = self.text.trim_end_matches('\n');
        Passage {
            id: format!("{}#{}", self.path, self.lines),
            score: (f64::from(self.score) * DIGITS).round() / DIGITS,
            symbol: self.symbol.clone(),
            kind: self.kind,
            goes_on_to: self.goes_on_to,
            snippet: Snippet::new(path, self.lines.first as u64, text).to_string(),
        }
    }

    /// The number of its tokens as JSON, including the comma after it.
    fn cost(&self, root: &Path, count: &dyn Fn(&str) -> u64) -> u64 {
        count(&json(&self.passage(root))).saturating_add(1)
    }

    /// Its first lines that fit, unless they are fewer than [`MIN_LINES`].
    fn cut(&self, root: &Path, budget: u64, count: &dyn Fn(&str) -> u64) -> Option<Self> {
        let lines: Vec<&str> = self.text.split_inclusive('\n').collect();
        let first = |number: usize| {
            let text: String = lines.iter().take(number).copied().collect();
            Self {
                lines: Lines {
                    first: self.lines.first,
                    last: self.lines.first + number.saturating_sub(1),
                },
                goes_on_to: Some(self.lines.last),
                text,
                ..self.clone()
            }
        };
        // More lines never take fewer tokens.
        let (mut fits, mut too_long) = (0, lines.len());
        while fits + 1 < too_long {
            let middle = fits.midpoint(too_long);
            if first(middle).cost(root, count) <= budget {
                fits = middle;
            } else {
                too_long = middle;
            }
        }
        (fits >= MIN_LINES).then(|| first(fits))
    }
}

/// Merges ranges that touch or overlap, best first.
fn merge(mut stretches: Vec<Stretch>) -> Vec<Stretch> {
    stretches.sort_by(|a, b| {
        let place = |it: &Stretch| (it.lines.first, it.lines.last);
        (a.path.as_str(), place(a)).cmp(&(b.path.as_str(), place(b)))
    });
    let mut merged: Vec<Stretch> = Vec::new();
    for next in stretches {
        match merged.last_mut() {
            Some(last) if last.path == next.path && next.lines.first <= last.lines.last + 1 => {
                last.join(next);
            }
            _ => merged.push(next),
        }
    }
    merged.sort_by(|a, b| {
        let by_score = b.score.total_cmp(&a.score);
        by_score
            .then_with(|| a.path.cmp(&b.path))
            .then_with(|| a.lines.first.cmp(&b.lines.first))
    });
    merged
}

impl Stretch {
    /// Adds a range that begins within this one, or right after it.
    fn join(&mut self, next: Self) {
        let known = (self.lines.last + 1).saturating_sub(next.lines.first);
        if !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        let new = next.text.split_inclusive('\n').skip(known);
        self.text.extend(new);
        self.lines.last = self.lines.last.max(next.lines.last);
        self.goes_on_to = next.goes_on_to;
        // The merged range is described by its better part.
        if next.score > self.score {
            self.score = next.score;
            self.symbol = next.symbol;
            self.kind = next.kind;
        }
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
