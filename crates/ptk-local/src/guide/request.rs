//! A request as it is understood: read, compared, and seen as one action.

use super::examples::{Action, Compared, Examples};
use super::names::NameIndex;
use super::quotes;
use super::slots::{Ends, Kind, Mention, Piece, Reading, Role};
use super::spans::{self, Span};
use super::words::fold;

/// A request, seen as a request for one action.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'a> {
    /// The words of the person.
    pub(super) text: &'a str,
    /// What they name.
    pub(super) reading: &'a Reading,
    /// The same, ready to be compared.
    pub(super) compared: &'a Compared,
    /// The names that exist.
    pub(super) names: &'a NameIndex,
    /// What others asked for.
    pub(super) examples: &'a Examples,
    /// What is asked for, if examples tell.
    pub(super) action: Option<&'a Action>,
}

/// How many words are searched for at most, unless they are quoted.
const MOST_SEARCHED: usize = 6;

/// What stands before what is searched for, and is no part of it.
const LEADING: &[&str] = &[
    "a",
    "an",
    "any",
    "all",
    "about",
    "class",
    "constant",
    "every",
    "for",
    "function",
    "method",
    "mention",
    "mentions",
    "my",
    "of",
    "our",
    "phrase",
    "something",
    "string",
    "struct",
    "term",
    "text",
    "the",
    "variable",
    "word",
    "words",
    "named",
    "called",
    "name",
    "that",
    "to",
    "is",
];

/// What stands behind what is searched for, and is no part of it.
const TRAILING: &[&str] = &[
    "anywhere",
    "somewhere",
    "please",
    "function",
    "method",
    "variable",
    "class",
    "comment",
    "comments",
    "word",
    "everywhere",
    "in",
    "the",
    "here",
    "at",
    "all",
    "is",
    "are",
];

impl<'a> Request<'a> {
    /// The words that fill one of these places.
    pub(super) fn span(&self, marks: &[&str]) -> Option<Span> {
        self.spans(marks).into_iter().next()
    }

    fn spans(&self, marks: &[&str]) -> Vec<Span> {
        let Some(action) = self.action else {
            return Vec::new();
        };
        spans::likeliest(self.reading, self.examples, action, self.compared, marks)
    }

    /// The words of a span.
    pub(super) fn words(&self, span: &Span) -> &'a str {
        let words = self.text.get(span.start..span.end).unwrap_or_default();
        words.trim()
    }

    /// The words of a span with the punctuation that belongs to them, and to
    /// the end of the request if it goes so far.
    fn whole(&self, span: &Span) -> &'a str {
        let before = self.text.get(..span.start).unwrap_or_default();
        let opening = before
            .rfind(char::is_whitespace)
            .map_or(0, |space| space + 1)
            .max(
                before
                    .trim_end_matches(|letter: char| "([<".contains(letter))
                    .len(),
            );
        let is_last = self
            .reading
            .pieces
            .last()
            .is_some_and(|last| last.end == span.end);
        let end = if is_last { self.text.len() } else { span.end };
        let words = self.text.get(opening..end).unwrap_or_default().trim();
        let is_one_sentence = words.matches(['.', '!', '?']).count() == 1;
        let is_open = words.matches('"').count() % 2 == 1;
        let bare = if is_open {
            words.trim_matches('"')
        } else {
            words
        };
        match bare.strip_suffix(['.', '?']) {
            Some(rest) if is_last && is_one_sentence => rest,
            _ => bare,
        }
    }

    /// The surest mention of this kind, and of those the first.
    pub(super) fn first(&self, mark: &str) -> Option<&'a Mention> {
        let mentions = self.reading.mentions.iter().rev();
        mentions
            .filter(|mention| mention.kind.mark() == mark)
            .max_by_key(|mention| mention.sureness)
    }

    /// The quoted texts.
    pub(super) fn quotes(&self) -> Vec<&'a Mention> {
        let mentions = self.reading.mentions.iter();
        mentions
            .filter(|mention| mention.kind == Kind::Quote)
            .collect()
    }

    /// What is searched for.
    pub(super) fn searched(&self) -> Option<(String, Manner)> {
        if let Some(quote) = self.quotes().first() {
            return Some((quote.value.clone(), Manner::Exact));
        }
        let mut mentions = self.reading.mentions.iter();
        if let Some(name) = mentions.find(|mention| mention.kind == Kind::Identifier) {
            return Some((name.value.clone(), Manner::Exact));
        }
        let spans = self.spans(&["{text}"]).into_iter();
        let mut spans = spans
            .filter(|span| span.is_phrase && span.says_something && span.count <= MOST_SEARCHED);
        let words = match spans.next() {
            Some(span) => self.words(&span),
            None => self.unusual()?,
        };
        let words = stripped(words);
        (!words.is_empty()).then(|| (words.to_owned(), Manner::Spoken))
    }

    /// The longest run of words that no example has: what a request is about,
    /// however it is put.
    fn unusual(&self) -> Option<&'a str> {
        self.action?;
        let is_new = |piece: &Piece| piece.role == Role::Word && self.examples.is_new(&piece.token);
        let runs = self
            .reading
            .pieces
            .chunk_by(|one, other| is_new(one) && is_new(other) && one.ends == Ends::Nothing);
        let runs = runs.filter(|run| run.iter().all(is_new) && run.len() <= MOST_SEARCHED);
        let longest = runs.rev().max_by_key(|run| run.len())?;
        let (first, last) = (longest.first()?, longest.last()?);
        self.text.get(first.start..last.end)
    }

    /// What is to be written.
    pub(super) fn content(&self) -> Option<String> {
        let quotes = self.quotes();
        let behind = quotes::behind_colon(self.text).filter(|(start, behind)| {
            let is_path = self.reading.mentions.iter().any(|mention| {
                mention.start <= *start
                    && mention.end >= start + behind.len()
                    && mention.kind != Kind::Quote
            });
            let is_said = quotes.iter().any(|quote| {
                quote.start < *start || quote.start == *start && quote.end == start + behind.len()
            });
            !is_path && !is_said
        });
        if let Some(lines) = super::lines::spoken(self.text) {
            return Some(lines);
        }
        if let Some((_, behind)) = behind {
            return Some(behind.to_owned());
        }
        if let Some((first, rest)) = quotes.split_first()
            && !self.is_within_code(first)
        {
            if rest.is_empty() || !fold(self.text).contains("line") {
                return Some(first.value.clone());
            }
            let lines: Vec<&str> = quotes.iter().map(|quote| quote.value.as_str()).collect();
            return Some(lines.join("\n"));
        }
        let span = self.span(&["{text}"])?;
        Some(unannounced(self.whole(&span)).to_owned())
    }
}

impl Request<'_> {
    /// Whether a quotation is a text of code, as in `a = "b"`: then what is
    /// meant goes beyond it.
    fn is_within_code(&self, quote: &Mention) -> bool {
        let before = self.text.get(..quote.start).unwrap_or_default();
        before.trim_end().ends_with(['=', '(', ',']) && !before.trim_end().ends_with(", ")
    }
}

/// Nouns that announce a text: "the line X".
const ANNOUNCING: &[&str] = &[
    "text",
    "word",
    "words",
    "line",
    "sentence",
    "number",
    "string",
    "message",
    "content",
    "phrase",
    "following",
    "note",
    "value",
    "name",
];

/// A text without the noun that announces it.
fn unannounced(text: &str) -> &str {
    let mut words = text.splitn(3, char::is_whitespace);
    match (words.next(), words.next(), words.next()) {
        (Some(the), Some(noun), Some(rest))
            if fold(the) == "the" && ANNOUNCING.contains(&fold(noun).as_str()) =>
        {
            rest.trim_start()
        }
        _ => text,
    }
}

/// How something searched for was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// As it stands in the files.
    Exact,
    /// As people speak: capitals may differ.
    Spoken,
}

/// A span without words that only lead to it or away from it.
pub(super) fn stripped(words: &str) -> &str {
    let is_around = |letter: char| !letter.is_alphanumeric() && !"_-#@$".contains(letter);
    let mut rest = words.trim_matches(is_around);
    while let Some((first, behind)) = rest.split_once(char::is_whitespace) {
        if !LEADING.contains(&fold(first).as_str()) {
            break;
        }
        rest = behind.trim_start();
    }
    while let Some((before, last)) = rest.rsplit_once(char::is_whitespace) {
        if !TRAILING.contains(&fold(last).as_str()) {
            break;
        }
        rest = before.trim_end();
    }
    rest
}
