//! The marks that a pattern stands for, where they can be listed.

use regex_syntax::hir::literal::Extractor;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

use super::error::TemplateFault;

/// The most marks that a pattern may stand for.
pub(super) const MAX_MARKS: usize = 32;
/// The most bytes of a text that a pattern stands for.
const MAX_TEXT: usize = 512;
/// The most characters of a class that are listed one by one.
const MAX_CLASS: usize = 4;

/// All texts that the pattern matches, white space around them left out. The
/// end of the reply is none of them, as it closes whatever is open.
pub(super) fn list(pattern: &Hir) -> Result<Vec<String>, TemplateFault> {
    let mut marks: Vec<String> = Vec::new();
    let pattern = without_edges(pattern);
    if pattern.properties().minimum_len() > Some(MAX_TEXT) {
        return Err(TOO_LONG);
    }
    for text in expand(&pattern).ok_or(ENDLESS)? {
        let mark = text.trim();
        if !mark.is_empty() && !marks.iter().any(|known| known == mark) {
            marks.push(mark.to_owned());
        }
    }
    Ok(marks)
}

const ENDLESS: TemplateFault = TemplateFault::Pattern(
    "the pattern matches more than a few texts; only `open_pattern` of `tool_calls` may",
);

const TOO_LONG: TemplateFault =
    TemplateFault::Pattern("the pattern matches only texts of more than 512 bytes");

/// Whether the pattern matches nothing but white space.
pub(super) fn is_space(pattern: &Hir) -> bool {
    match pattern.kind() {
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0);
            text.is_ok_and(|text| text.trim().is_empty())
        }
        HirKind::Class(Class::Unicode(class)) => {
            let mut ranges = class.iter();
            let is_space =
                ranges.all(|range| (range.start()..=range.end()).all(char::is_whitespace));
            is_space && !class.ranges().is_empty()
        }
        HirKind::Repetition(repetition) => is_space(&repetition.sub),
        HirKind::Capture(capture) if capture.name.is_none() => is_space(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().all(is_space),
        _ => false,
    }
}

/// The pattern without the white space that it begins with.
pub(super) fn without_lead(pattern: &Hir) -> Hir {
    match pattern.kind() {
        HirKind::Concat(parts) => {
            let parts = parts.iter().skip_while(|part| is_space(part));
            Hir::concat(parts.cloned().collect())
        }
        _ => pattern.clone(),
    }
}

/// The pattern without white space, and the end of the reply, around it.
fn without_edges(pattern: &Hir) -> Hir {
    let pattern = without_lead(pattern);
    let HirKind::Concat(parts) = pattern.kind() else {
        return pattern;
    };
    let is_edge = |part: &&Hir| is_space(part) || matches!(part.kind(), HirKind::Look(Look::End));
    let behind = parts.iter().rev().take_while(is_edge).count();
    let kept = parts.len() - behind;
    Hir::concat(parts.iter().take(kept).cloned().collect())
}

/// Whether the pattern matches at the start of the message, and what else it
/// matches.
pub(super) fn at_start(pattern: &Hir) -> (bool, Vec<Hir>) {
    let is_start = |part: &Hir| matches!(part.kind(), HirKind::Look(Look::Start));
    match pattern.kind() {
        HirKind::Look(Look::Start) => (true, Vec::new()),
        HirKind::Capture(capture) if capture.name.is_none() => at_start(&capture.sub),
        HirKind::Alternation(parts) if parts.iter().any(is_start) => {
            let others = parts.iter().filter(|part| !is_start(part));
            (true, others.cloned().collect())
        }
        _ => (false, vec![pattern.clone()]),
    }
}

/// The texts one of which every match begins with.
pub(super) fn beginnings(pattern: &Hir) -> Result<Vec<String>, TemplateFault> {
    let found = Extractor::new().extract(pattern);
    let literals = found.literals().unwrap_or_default();
    let mut beginnings: Vec<String> = Vec::new();
    for literal in literals {
        let bytes = literal.as_bytes();
        // A character may be cut.
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => bytes
                .get(..error.valid_up_to())
                .and_then(|whole| std::str::from_utf8(whole).ok())
                .unwrap_or_default(),
        };
        let line = text.split(['\n', '\r']).next().unwrap_or_default();
        let mark = line.trim_end();
        if mark.is_empty() {
            return Err(UNMARKED);
        }
        if !beginnings.iter().any(|known| known == mark) {
            beginnings.push(mark.to_owned());
        }
    }
    if beginnings.is_empty() {
        return Err(UNMARKED);
    }
    Ok(beginnings)
}

const UNMARKED: TemplateFault = TemplateFault::Pattern(
    "the pattern does not begin with a fixed text, which a mark has to do to be found in a reply",
);

/// All texts of a pattern, if they are few and none is long. Each part of the
/// pattern is expanded once, and nothing is kept that is larger than the result
/// may be.
pub(super) fn expand(pattern: &Hir) -> Option<Vec<String>> {
    let found = match pattern.kind() {
        HirKind::Empty => vec![String::new()],
        HirKind::Literal(literal) => vec![String::from_utf8(literal.0.to_vec()).ok()?],
        HirKind::Capture(capture) => expand(&capture.sub)?,
        HirKind::Class(_) if is_space(pattern) => vec![" ".to_owned(), "\n".to_owned()],
        HirKind::Class(Class::Unicode(class)) => {
            let mut chars = Vec::new();
            for range in class.iter() {
                chars.extend((range.start()..=range.end()).take(MAX_CLASS + 1));
                if chars.len() > MAX_CLASS {
                    return None;
                }
            }
            chars.into_iter().map(String::from).collect()
        }
        HirKind::Repetition(_) if is_space(pattern) => {
            let least = pattern.properties().minimum_len().unwrap_or(0);
            let none = (least == 0).then(String::new);
            let some = [" ", "\n"].map(str::to_owned);
            none.into_iter().chain(some).collect()
        }
        HirKind::Repetition(repetition) if repetition.min == 0 && repetition.max == Some(1) => {
            let mut texts = expand(&repetition.sub)?;
            texts.push(String::new());
            texts
        }
        HirKind::Repetition(repetition) if repetition.max == Some(repetition.min) => {
            let count = usize::try_from(repetition.min).ok();
            let count = count.filter(|count| *count <= MAX_TEXT)?;
            let part = expand(&repetition.sub)?;
            product(std::iter::repeat_n(Some(part), count))?
        }
        HirKind::Concat(parts) => product(parts.iter().map(expand))?,
        HirKind::Alternation(parts) => {
            let ends = |part: &&Hir| matches!(part.kind(), HirKind::Look(Look::End));
            let mut texts = Vec::new();
            for part in parts.iter().filter(|part| !ends(part)) {
                texts.extend(expand(part)?);
            }
            texts
        }
        HirKind::Class(Class::Bytes(_)) | HirKind::Repetition(_) | HirKind::Look(_) => return None,
    };
    (found.len() <= MAX_MARKS).then_some(found)
}

/// One text of each part, behind each other, in every combination.
fn product(parts: impl Iterator<Item = Option<Vec<String>>>) -> Option<Vec<String>> {
    let mut texts = vec![String::new()];
    for part in parts {
        let next = part?;
        if texts.len() * next.len() > MAX_MARKS * 8 {
            return None;
        }
        let joined = texts
            .iter()
            .flat_map(|text| next.iter().map(move |next| format!("{text}{next}")));
        texts = joined.collect();
        if texts.iter().any(|text| text.len() > MAX_TEXT) {
            return None;
        }
        // White space in several places makes many texts that differ in nothing
        // that matters.
        texts.sort();
        texts.dedup();
    }
    Some(texts)
}
