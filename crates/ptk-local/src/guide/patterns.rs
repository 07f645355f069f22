//! Patterns of paths, built from what a request says of names.

use super::names::base;
use super::request::{Request, stripped};
use super::slots::{Kind, Mention};
use super::spans::Span;

/// How well the words around must fit before words are taken for a part of a
/// name.
const SURE: f32 = 2.0;

/// The pattern of the paths that a request is about.
pub(super) fn pattern(request: &Request<'_>) -> Option<String> {
    if let Some(glob) = request.first("{glob}") {
        return Some(anywhere(&glob.value));
    }
    let endings = endings(request).map(ending_pattern);
    if let Some(part) = part(request) {
        return Some(match endings {
            Some(ending) if part.ends_with('*') && !part.contains('.') => {
                format!("**/{part}{}", ending.trim_start_matches('*'))
            }
            _ => format!("**/{part}"),
        });
    }
    if let Some(ending) = endings {
        return Some(format!("**/{ending}"));
    }
    let named = request.first("{file}").or_else(|| request.first("{new}"))?;
    Some(format!("**/{}", base(&named.value)))
}

/// The pattern of a kind of files, or one that the request gives itself.
pub(super) fn stated(request: &Request<'_>) -> Option<String> {
    if let Some(glob) = request.first("{glob}") {
        return Some(anywhere(&glob.value));
    }
    let endings = endings(request)?;
    Some(format!("**/{}", ending_pattern(endings)))
}

fn anywhere(glob: &str) -> String {
    if glob.contains('/') {
        glob.to_owned()
    } else {
        format!("**/{glob}")
    }
}

fn endings<'a>(request: &Request<'a>) -> Option<&'a [String]> {
    let mentions = &request.reading.mentions;
    mentions.iter().find_map(|Mention { kind, .. }| match kind {
        Kind::Endings(endings) => Some(endings.as_slice()),
        _ => None,
    })
}

fn ending_pattern(endings: &[String]) -> String {
    match endings {
        [one] => format!("*.{one}"),
        several => format!("*.{{{}}}", several.join(",")),
    }
}

/// What is said of the names: how they begin, end, or what they hold.
fn part(request: &Request<'_>) -> Option<String> {
    let marks = ["{part}", "{prefix}", "{suffix}"];
    let mut spans: Vec<Span> = marks
        .iter()
        .filter_map(|mark| request.span(&[mark]))
        .collect();
    spans.retain(|span| span.score >= SURE && span.says_something);
    spans.sort_by(|one, other| other.score.total_cmp(&one.score));
    let mut said: [Option<(Span, String)>; 3] = [None, None, None];
    for span in spans {
        let is_taken = said
            .iter()
            .flatten()
            .any(|(other, _)| span.start < other.end && other.start < span.end);
        let words = stripped_part(request.words(&span));
        let is_name = !words.is_empty() && !words.contains(['*', '/', '{', '}', '[', ']', '?']);
        let place = marks.iter().position(|mark| *mark == span.mark);
        if let Some(place) = place.and_then(|place| said.get_mut(place))
            && is_name
            && !is_taken
        {
            *place = Some((span.clone(), as_written(request, words)));
        }
    }
    match said.map(|said| said.map(|(_, words)| words)) {
        [None, None, None] => None,
        [Some(part), None, None] if part.contains('.') => Some(part),
        [Some(part), None, None] => Some(format!("*{part}*")),
        [_, prefix, suffix] => Some(format!(
            "{}*{}",
            prefix.unwrap_or_default(),
            suffix.unwrap_or_default()
        )),
    }
}

/// A part of a name as names have it.
fn as_written(request: &Request<'_>, words: &str) -> String {
    let written = request.names.part_as_written(words);
    let is_ending = words.starts_with('.');
    written
        .filter(|_| !is_ending)
        .unwrap_or_else(|| words.to_owned())
}

fn stripped_part(words: &str) -> &str {
    let words = words.trim_matches(|letter: char| "\"'`“”‘’".contains(letter));
    if words.starts_with('.') {
        return words;
    }
    stripped(words)
}
