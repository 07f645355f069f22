//! The lines of a text that answer a question.

use super::lines::{Line, Shape, lines};
use super::question::{Expected, Question, Term};
use crate::guide::words::many;

/// How many lines are told.
const MOST_LINES: usize = 12;

/// A line that comes so near to the best is told, too.
const NEAR: f32 = 0.86;

/// What a word in a heading, or in what a line is indented under, counts.
const ABOVE: f32 = 0.6;

/// What a word elsewhere in the block counts.
const BESIDE: f32 = 0.35;

/// The lines that answer a question; none if nothing in particular is asked,
/// or if no line has anything to do with it.
pub(super) fn answer(question: &Question, text: &str, path: Option<&str>) -> Option<String> {
    if question.terms.is_empty() {
        return None;
    }
    let lines = lines(text);
    let scores = scores(question, &lines);
    let best = scores.iter().copied().fold(0.0_f32, f32::max);
    if best <= 0.0 {
        return None;
    }
    let mut chosen: Vec<usize> = Vec::new();
    for (at, score) in scores.iter().enumerate() {
        if *score >= NEAR * best && !chosen.contains(&at) {
            chosen.push(at);
            chosen.extend(belonging(at, &lines));
        }
    }
    chosen.sort_unstable();
    chosen.dedup();
    Some(told(question, &lines, &chosen, path))
}

fn told(question: &Question, lines: &[Line<'_>], chosen: &[usize], path: Option<&str>) -> String {
    let chosen: Vec<&Line<'_>> = chosen.iter().filter_map(|at| lines.get(*at)).collect();
    let mut told: Vec<&str> = chosen
        .iter()
        .take(MOST_LINES)
        .map(|line| line.text)
        .collect();
    if chosen.len() > MOST_LINES {
        told.push("…");
    }
    let mut told = told.join("\n");
    let items = chosen
        .iter()
        .filter(|line| matches!(line.shape, Shape::Item))
        .count();
    if question.is_count && items > 1 {
        told = format!("{items}:\n{told}");
    }
    if let (Some(path), Some(first)) = (path, chosen.first()) {
        told.push_str(&format!("\n({path}:{})", first.number));
    }
    told
}

/// The lines that a chosen one is nothing without.
fn belonging(at: usize, lines: &[Line<'_>]) -> Vec<usize> {
    let Some(line) = lines.get(at) else {
        return Vec::new();
    };
    match line.shape {
        Shape::Heading(_) => (at + 1..lines.len())
            .take_while(|below| {
                let below = lines.get(*below);
                below.is_some_and(|below| below.above.contains(&at))
            })
            .take(MOST_LINES)
            .collect(),
        Shape::Label => labelled(at, lines),
        Shape::Row => {
            let is_head = lines
                .get(at + 1)
                .is_some_and(|next| next.shape == Shape::Nothing);
            let rows = (at + 1..lines.len()).take_while(|below| {
                let below = lines.get(*below);
                below.is_some_and(|below| below.block == line.block)
            });
            rows.filter(|_| is_head).take(MOST_LINES).collect()
        }
        Shape::Words => {
            let is_prose = |other: usize| {
                let other = lines.get(other);
                other.is_some_and(|other| {
                    other.block == line.block
                        && other.shape == Shape::Words
                        && ends_open(other.text)
                })
            };
            let mut more = Vec::new();
            if at > 0 && is_prose(at - 1) && line.text.starts_with(char::is_lowercase) {
                more.push(at - 1);
            }
            if ends_open(line.text)
                && lines.get(at + 1).is_some_and(|next| {
                    next.block == line.block
                        && next.shape == Shape::Words
                        && next.text.starts_with(char::is_lowercase)
                })
            {
                more.push(at + 1);
            }
            more
        }
        Shape::Item | Shape::Pair | Shape::Nothing => Vec::new(),
    }
}

/// What follows a line that ends with a colon: the rest of its block, or the
/// next one.
fn labelled(at: usize, lines: &[Line<'_>]) -> Vec<usize> {
    let Some(block) = lines.get(at).map(|line| line.block) else {
        return Vec::new();
    };
    let own = lines.get(at + 1).map_or(block, |next| next.block);
    let is_next = own <= block + 1;
    let below = (at + 1..lines.len()).take_while(|below| {
        let below = lines.get(*below);
        below.is_some_and(|below| is_next && below.block == own)
    });
    below.take(MOST_LINES).collect()
}

/// Whether a sentence goes on in the next line.
fn ends_open(line: &str) -> bool {
    line.ends_with(|last: char| last.is_alphanumeric() || ",-–".contains(last))
}

/// How well each line answers.
fn scores(question: &Question, lines: &[Line<'_>]) -> Vec<f32> {
    let matches: Vec<Vec<f32>> = lines
        .iter()
        .map(|line| {
            question
                .terms
                .iter()
                .map(|term| likeness(term, &line.stems))
                .collect()
        })
        .collect();
    let weights: Vec<f32> = (0..question.terms.len())
        .map(|term| {
            let count = matches
                .iter()
                .filter(|line| line.get(term).is_some_and(|fit| *fit > 0.5))
                .count();
            (1.0 + many(lines.len()) / (1.0 + many(count))).ln()
        })
        .collect();
    let fit = |line: usize, term: usize| {
        matches
            .get(line)
            .and_then(|line| line.get(term))
            .copied()
            .unwrap_or(0.0)
    };
    let mean = weights.iter().sum::<f32>() / many(weights.len().max(1));
    lines
        .iter()
        .enumerate()
        .map(|(at, line)| {
            if line.shape == Shape::Nothing {
                return 0.0;
            }
            let mut score = 0.0;
            let mut own = 0.0;
            for (term, weight) in weights.iter().enumerate() {
                let here = fit(at, term);
                let above = line
                    .above
                    .iter()
                    .map(|above| fit(*above, term))
                    .fold(0.0, f32::max);
                let beside = block(lines, at)
                    .map(|other| fit(other, term))
                    .fold(0.0, f32::max);
                own += here;
                score += weight * here.max(ABOVE * above).max(BESIDE * beside);
            }
            if score <= 0.0 {
                return 0.0;
            }
            let is_expected = expected(question.expected, line.text);
            if own <= 0.0 && !is_expected {
                score *= 0.5;
            }
            if is_expected && question.expected != Expected::Anything {
                score += 0.5 * mean;
            }
            let is_key = !line.key.is_empty()
                && question.terms.iter().any(|term| {
                    line.key
                        .iter()
                        .all(|part| *part == term.stem || term.likes.contains(part))
                });
            if is_key {
                score += 0.7 * mean;
            }
            score
        })
        .collect()
}

/// The other lines of a block, near enough.
fn block<'a>(lines: &'a [Line<'_>], at: usize) -> impl Iterator<Item = usize> + 'a {
    let line = lines.get(at);
    let from = at.saturating_sub(MOST_LINES);
    (from..lines.len().min(at + MOST_LINES)).filter(move |other| {
        let other = lines.get(*other);
        line.zip(other).is_some_and(|(line, other)| {
            line.block == other.block && line.above.last() == other.above.last()
        })
    })
}

/// How like one of these words a word of the question is.
fn likeness(term: &Term, stems: &[String]) -> f32 {
    let mut best = 0.0_f32;
    for stem in stems {
        let fit = if *stem == term.stem {
            1.0
        } else if term.likes.contains(stem) {
            0.6
        } else if shares_beginning(stem, &term.stem) {
            0.7
        } else {
            0.0
        };
        best = best.max(fit);
    }
    best
}

fn shares_beginning(one: &str, other: &str) -> bool {
    let common = one
        .chars()
        .zip(other.chars())
        .take_while(|(one, other)| one == other)
        .count();
    let longest = one.chars().count().max(other.chars().count());
    common >= 4 && common * 10 >= longest * 7 || common >= 5 && common * 10 >= longest * 6
}

/// Whether a line has the kind of thing that would answer.
fn expected(expected: Expected, line: &str) -> bool {
    let has_digit = line.chars().any(|letter| letter.is_ascii_digit());
    match expected {
        Expected::Anything => true,
        Expected::Number => has_digit,
        Expected::Time => {
            let days = [
                "day", "jan", "feb", "march", "april", "may", "june", "july", "aug", "sept", "oct",
                "nov", "dec", "week", "noon", "month",
            ];
            let folded = line.to_lowercase();
            has_digit || days.iter().any(|day| folded.contains(day))
        }
        Expected::Address => line.contains('@') || line.contains("://") || line.contains("www."),
        Expected::Person => {
            let mut words = line.split_whitespace().skip(1);
            words.any(|word| {
                word.trim_start_matches(|letter: char| !letter.is_alphabetic())
                    .starts_with(char::is_uppercase)
            })
        }
    }
}
