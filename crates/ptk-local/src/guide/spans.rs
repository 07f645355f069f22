//! Words of a request that fill a place, found by the words around that place
//! in example requests.

use super::examples::{Action, COURTESY, Compared, Examples};
use super::slots::{Ends, Reading, Role};
use super::words::many;

/// How many words around a place are looked at.
const REACH: usize = 3;

/// Words that fill a place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Span {
    /// The first byte.
    pub(super) start: usize,
    /// The byte behind.
    pub(super) end: usize,
    /// Which place it is.
    pub(super) mark: String,
    /// How many words it has.
    pub(super) count: usize,
    /// Whether it is part of one phrase, and names nothing else.
    pub(super) is_phrase: bool,
    /// Whether it has a word that tells something.
    pub(super) says_something: bool,
    /// How well the words around it fit.
    pub(super) score: f32,
}

/// How many ways to fill a place are told.
const MOST_SPANS: usize = 8;

/// The words that may fill one of these places, in the light of the examples
/// for an action, the likeliest first.
pub(super) fn likeliest(
    reading: &Reading,
    examples: &Examples,
    action: &Action,
    compared: &Compared,
    marks: &[&str],
) -> Vec<Span> {
    let mut tokens: Vec<&str> = reading
        .pieces
        .iter()
        .map(|piece| piece.token.as_str())
        .collect();
    let polite = tokens.iter().rev();
    let polite = polite.take_while(|token| COURTESY.contains(token)).count();
    tokens.truncate(tokens.len() - polite);
    let mut spans: Vec<Span> = Vec::new();
    for example in &action.examples {
        let places = example.tokens.iter().enumerate();
        let places = places.filter(|(_, token)| marks.contains(&token.as_str()));
        for (place, mark) in places {
            let Some((first, last, fit)) = placed(&tokens, &example.tokens, place, examples) else {
                continue;
            };
            let inside = reading.pieces.get(first..=last).unwrap_or_default();
            let foreign = inside
                .iter()
                .filter(|piece| piece.role == Role::Mention && piece.token != "{text}")
                .count();
            let fit = fit - 2.0 * many(foreign);
            let score = fit * (0.3 + compared.similarity(example));
            if let (Some(first), Some(last)) = (inside.first(), inside.last())
                && score > 0.0
            {
                spans.push(Span {
                    start: first.start,
                    end: last.end,
                    mark: mark.clone(),
                    count: inside.len(),
                    says_something: !inside.iter().all(|piece| piece.role == Role::Plain),
                    is_phrase: foreign == 0
                        && !inside
                            .iter()
                            .rev()
                            .skip(1)
                            .any(|piece| piece.ends != Ends::Nothing),
                    score,
                });
            }
        }
    }
    spans.sort_by(|one, other| other.score.total_cmp(&one.score));
    spans.truncate(MOST_SPANS);
    spans
}

/// From where to where the place of an example goes in a request, and how well
/// the words around fit.
fn placed(
    tokens: &[&str],
    example: &[String],
    place: usize,
    examples: &Examples,
) -> Option<(usize, usize, f32)> {
    let before: Vec<&str> = example
        .iter()
        .take(place)
        .map(String::as_str)
        .rev()
        .take(REACH)
        .collect();
    let behind: Vec<&str> = example
        .iter()
        .skip(place + 1)
        .map(String::as_str)
        .take(REACH)
        .collect();
    let at_start = before.len() < REACH;
    let at_end = behind.len() < REACH;
    let left = |first: usize| {
        let tokens = tokens.iter().take(first).rev().copied();
        fit(tokens, &before, at_start, examples)
    };
    let right = |last: usize| {
        let tokens = tokens.iter().skip(last + 1).copied();
        fit(tokens, &behind, at_end, examples)
    };
    let mut best: Option<(usize, usize, f32)> = None;
    // The best end at or behind each beginning, from the last to the first.
    let mut end: Option<(usize, f32)> = None;
    for first in (0..tokens.len()).rev() {
        let behind = right(first);
        if behind > 0.0 && end.is_none_or(|(_, best)| behind >= best) {
            end = Some((first, behind));
        }
        let ahead = left(first);
        if let Some((last, behind)) = end
            && ahead > 0.0
            && best.is_none_or(|(_, _, best)| ahead + behind >= best)
        {
            best = Some((first, last, ahead + behind));
        }
    }
    best
}

/// How far the words on one side are those of the example; none if not even
/// the nearest is.
fn fit<'a>(
    tokens: impl Iterator<Item = &'a str>,
    wanted: &[&str],
    reaches_edge: bool,
    examples: &Examples,
) -> f32 {
    let mut tokens = tokens;
    let mut score = 0.0;
    for wanted in wanted {
        match tokens.next() {
            Some(token) if token == *wanted => score += examples.weight_of(token).max(0.2),
            _ => return score,
        }
    }
    if reaches_edge && tokens.next().is_none() {
        score += 2.0;
    }
    score
}
