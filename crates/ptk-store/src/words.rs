//! The words of a search: parsed, sent to the full-text index, or matched
//! without it.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use crate::{Entry, Hit};

/// Characters of an excerpt before the first match.
const BEFORE: usize = 60;
/// The most characters of an excerpt.
const EXCERPT: usize = 200;
/// The most words of one search; more narrow nothing down.
const MAX_WORDS: usize = 32;

/// The kinds of entries whose texts and titles can be searched, by the names
/// under which they are written.
pub(crate) const SPOKEN: [&str; 6] = [
    "message",
    "model_replied",
    "compacted",
    "note",
    "session_created",
    "session_changed",
];

/// The words and phrases of a search.
#[derive(Debug, PartialEq)]
pub(crate) struct Words(Vec<Vec<String>>);

impl Words {
    /// Parses a search text; `None` if it has no words.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let mut phrases = Vec::new();
        for (number, part) in text.split('"').enumerate() {
            let words = tokens(part).into_iter().map(|(word, _)| word);
            if number % 2 == 1 {
                phrases.push(words.collect());
            } else {
                phrases.extend(words.map(|word| vec![word]));
            }
        }
        phrases.retain(|phrase: &Vec<String>| !phrase.is_empty());
        phrases.truncate(MAX_WORDS);
        (!phrases.is_empty()).then_some(Self(phrases))
    }

    /// The words in the syntax of the full-text index.
    pub(crate) fn query(&self) -> String {
        let phrases = self
            .0
            .iter()
            .map(|phrase| format!("\"{}\"*", phrase.join(" ")));
        phrases.collect::<Vec<_>>().join(" ")
    }

    /// Finds all of the words in an entry's text; `None` if one is missing.
    pub(crate) fn find(&self, entry: &Entry) -> Option<Hit> {
        let text = spoken(entry)?;
        let tokens = tokens(&text);
        let mut found = Vec::new();
        for phrase in &self.0 {
            let places: Vec<Range<usize>> = tokens
                .windows(phrase.len())
                .filter(|window| stands_in(phrase, window))
                .filter_map(|window| Some(window.first()?.1.start..window.last()?.1.end))
                .collect();
            if places.is_empty() {
                return None;
            }
            found.extend(places);
        }
        found.sort_by_key(|place| place.start);
        Some(hit(entry, &text, &found))
    }

    /// The hit for an entry that the index found. The index and this code agree
    /// on what a word is but for a few letters; then the beginning is shown.
    pub(crate) fn hit(&self, entry: &Entry) -> Hit {
        self.find(entry)
            .unwrap_or_else(|| hit(entry, &spoken(entry).unwrap_or_default(), &[]))
    }
}

fn spoken(entry: &Entry) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Spoken {
        text: Option<String>,
        title: Option<String>,
    }
    let is_spoken = SPOKEN.contains(&entry.body.kind());
    let spoken: Spoken = is_spoken.then(|| entry.body.read())??;
    spoken.text.or(spoken.title)
}

fn hit(entry: &Entry, text: &str, places: &[Range<usize>]) -> Hit {
    let (excerpt, matches) = excerpt(text, places);
    Hit {
        session: entry.session.clone(),
        seq: entry.seq,
        ts: entry.ts,
        kind: entry.body.kind().to_owned(),
        excerpt,
        matches,
    }
}

/// Whether a phrase matches word by word; the last word may be a prefix.
fn stands_in(phrase: &[String], window: &[(String, Range<usize>)]) -> bool {
    let last = phrase.len().saturating_sub(1);
    phrase
        .iter()
        .zip(window)
        .enumerate()
        .all(|(at, (word, (token, _)))| {
            token == word || (at == last && token.starts_with(word.as_str()))
        })
}

/// The words of a text without case and accents, and where they stand.
fn tokens(text: &str) -> Vec<(String, Range<usize>)> {
    let mut tokens: Vec<(String, Range<usize>)> = Vec::new();
    for (at, char) in text.char_indices() {
        let end = at + char.len_utf8();
        if is_combining_mark(char) {
            if let Some((_, place)) = tokens.last_mut().filter(|(_, place)| place.end == at) {
                place.end = end;
            }
        } else if char.is_alphanumeric() {
            let plain = char.nfd().filter(|char| !is_combining_mark(*char));
            let plain = plain.flat_map(char::to_lowercase);
            match tokens.last_mut() {
                Some((word, place)) if place.end == at => {
                    word.extend(plain);
                    place.end = end;
                }
                _ => tokens.push((plain.collect(), at..end)),
            }
        }
    }
    tokens
}

/// The text around the first match, and where the matches stand in it.
fn excerpt(text: &str, places: &[Range<usize>]) -> (String, Vec<Range<usize>>) {
    let first = places.first().map_or(0, |place| place.start);
    let before = text.get(..first).unwrap_or_default();
    let start = before
        .char_indices()
        .rev()
        .nth(BEFORE)
        .map_or(0, |(at, _)| at);
    let rest = text.get(start..).unwrap_or_default();
    let end = rest
        .char_indices()
        .nth(EXCERPT)
        .map_or(rest.len(), |(at, _)| at);
    let mut excerpt = rest.get(..end).unwrap_or_default().to_owned();
    let mut shift = 0;
    if start > 0 {
        excerpt.insert(0, '…');
        shift = '…'.len_utf8();
    }
    if end < rest.len() {
        excerpt.push('…');
    }
    let within = |place: &&Range<usize>| place.end <= start + end;
    let matches = places.iter().filter(within);
    let matches = matches.map(|place| place.start - start + shift..place.end - start + shift);
    (excerpt, apart(matches.collect()))
}

/// The ranges in order, with overlapping ones merged.
fn apart(mut places: Vec<Range<usize>>) -> Vec<Range<usize>> {
    places.sort_unstable_by_key(|place| (place.start, place.end));
    let mut apart: Vec<Range<usize>> = Vec::with_capacity(places.len());
    for place in places {
        match apart.last_mut() {
            Some(last) if place.start < last.end => last.end = last.end.max(place.end),
            _ => apart.push(place),
        }
    }
    apart
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_holds_nothing_that_the_index_could_take_for_an_operator() {
        let words = Words::new(r#"Đọc NOT (file* "two words" col:x -y"#).unwrap();
        assert_eq!(
            words.query(),
            r#""đoc"* "not"* "file"* "two words"* "col"* "x"* "y"*"#
        );
        assert_eq!(Words::new("\"\" -- *"), None);
    }
}
