//! Words of a request or of a text, and what of them is compared.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Longer words are nobody's: an encoded blob, for instance.
const LONGEST_WORD: usize = 256;

/// A word, without the punctuation around it, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word<'a> {
    /// Its first byte.
    pub(super) start: usize,
    /// The byte behind it.
    pub(super) end: usize,
    /// As it is written.
    pub(super) text: &'a str,
    /// In small letters, without accents.
    pub(super) folded: String,
    /// The punctuation right behind it.
    pub(super) after: &'a str,
}

/// The words of a text, at most so many.
pub(super) fn words(text: &str, most: usize) -> Vec<Word<'_>> {
    let mut found = Vec::new();
    for piece in text.split_whitespace() {
        if found.len() == most {
            break;
        }
        let start = piece.as_ptr() as usize - text.as_ptr() as usize;
        let core = piece.trim_start_matches(|letter: char| is_opening(letter, piece));
        let start = start + (piece.len() - core.len());
        let word = core.trim_end_matches(is_closing);
        if word.is_empty() || word.len() > LONGEST_WORD {
            continue;
        }
        found.push(Word {
            start,
            end: start + word.len(),
            text: word,
            folded: fold(word),
            after: core.get(word.len()..).unwrap_or_default(),
        });
    }
    found
}

/// A dot opens the name of a hidden file or an extension, and is kept.
fn is_opening(letter: char, piece: &str) -> bool {
    match letter {
        '.' => piece.starts_with("..."),
        '*' | '/' | '_' | '@' | '#' | '$' | '~' | '{' | '-' | '+' | '<' | '!' => false,
        letter => !letter.is_alphanumeric(),
    }
}

fn is_closing(letter: char) -> bool {
    match letter {
        '*' | '/' | '_' | '}' | '>' | '%' | '#' | '+' | '$' | '€' | '£' => false,
        letter => !letter.is_alphanumeric(),
    }
}

/// Small letters, without accents, with plain apostrophes.
pub(super) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfkd()
        .filter(|letter| !is_combining_mark(*letter))
        .map(|letter| if letter == '’' { '\'' } else { letter })
        .flat_map(char::to_lowercase)
        .collect()
}

/// Forms that endings do not tell.
const IRREGULAR: &[(&str, &str)] = &[
    ("uses", "use"),
    ("used", "use"),
    ("using", "use"),
    ("wrote", "write"),
    ("written", "write"),
    ("kept", "keep"),
    ("said", "say"),
    ("made", "make"),
    ("paid", "pay"),
    ("spent", "spend"),
    ("bought", "buy"),
    ("began", "begin"),
    ("begun", "begin"),
    ("people", "person"),
    ("children", "child"),
];

/// A folded word without its ending, so that "mentions" is "mentioned".
pub(super) fn stem(word: &str) -> String {
    let word = word.strip_suffix("'s").unwrap_or(word);
    let irregular = IRREGULAR.iter().find(|(form, _)| *form == word);
    let word = irregular.map_or(word, |(_, root)| *root);
    let without = |ending: &str, shortest: usize| {
        word.strip_suffix(ending)
            .filter(|rest| rest.chars().count() >= shortest)
    };
    if let Some(rest) = without("ies", 3) {
        return format!("{rest}y");
    }
    for ending in ["ing", "ed"] {
        if let Some(rest) = without(ending, 3) {
            return undoubled(rest).trim_end_matches('e').to_owned();
        }
    }
    for ending in ["sses", "shes", "ches", "xes"] {
        if without(ending, 2).is_some() {
            return word.strip_suffix("es").unwrap_or(word).to_owned();
        }
    }
    let word = match word.strip_suffix('s') {
        Some(rest) if rest.len() >= 3 && !rest.ends_with(['s', 'u', 'i']) => rest,
        _ => word,
    };
    if word.len() > 3 {
        return word.trim_end_matches('e').to_owned();
    }
    word.to_owned()
}

/// "running" is of "run".
fn undoubled(word: &str) -> &str {
    let mut letters = word.chars().rev();
    match (letters.next(), letters.next()) {
        (Some(last), Some(before)) if last == before && !"lsaeiou".contains(last) => {
            word.strip_suffix(last).unwrap_or(word)
        }
        _ => word,
    }
}

/// Words that say nothing about what is asked for.
const PLAIN: &[&str] = &[
    "a",
    "about",
    "all",
    "also",
    "am",
    "an",
    "and",
    "any",
    "anything",
    "are",
    "as",
    "at",
    "be",
    "been",
    "but",
    "by",
    "can",
    "could",
    "did",
    "do",
    "does",
    "doing",
    "done",
    "each",
    "every",
    "exactly",
    "for",
    "from",
    "get",
    "give",
    "go",
    "got",
    "had",
    "has",
    "have",
    "having",
    "hello",
    "here",
    "hey",
    "hi",
    "how",
    "i",
    "i'd",
    "i'll",
    "i'm",
    "if",
    "in",
    "inside",
    "into",
    "is",
    "it",
    "it's",
    "its",
    "just",
    "know",
    "let",
    "like",
    "me",
    "my",
    "need",
    "of",
    "off",
    "on",
    "or",
    "our",
    "out",
    "over",
    "please",
    "say",
    "said",
    "see",
    "set",
    "shall",
    "should",
    "so",
    "some",
    "something",
    "such",
    "tell",
    "than",
    "that",
    "that's",
    "the",
    "their",
    "them",
    "then",
    "there",
    "there's",
    "these",
    "they",
    "this",
    "those",
    "to",
    "up",
    "us",
    "use",
    "want",
    "was",
    "we",
    "were",
    "what",
    "what's",
    "when",
    "where",
    "which",
    "who",
    "who's",
    "whose",
    "why",
    "will",
    "with",
    "would",
    "you",
    "your",
    "again",
    "quickly",
    "currently",
    "now",
    "actually",
];

/// Whether a folded word says nothing about what is asked for.
pub(super) fn is_plain(folded: &str) -> bool {
    PLAIN.contains(&folded)
}

/// A number of things, for reckoning. Beyond what such a number holds exactly,
/// there are just very many.
pub(super) fn many(count: usize) -> f32 {
    u16::try_from(count).map_or(f32::from(u16::MAX), f32::from)
}

#[cfg(test)]
mod tests {
    use super::{fold, stem, words};

    #[test]
    fn words_stand_without_the_punctuation_around_them() {
        let text = "Read (“src/main.rs”), then .gitignore… *.md?";
        let found: Vec<&str> = words(text, 10).iter().map(|word| word.text).collect();
        assert_eq!(found, ["Read", "src/main.rs", "then", ".gitignore", "*.md"]);
    }

    #[test]
    fn no_more_words_are_read_than_are_wanted() {
        assert_eq!(words(&"word ".repeat(1000), 7).len(), 7);
    }

    #[test]
    fn accents_and_capitals_do_not_count() {
        assert_eq!(fold("Crème-BRÛLÉE"), "creme-brulee");
        assert_eq!(fold("Übersetzung"), "ubersetzung");
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for (one, other) in [
            ("mentions", "mentioned"),
            ("authors", "author"),
            ("running", "run"),
            ("using", "used"),
            ("entries", "entry"),
            ("defined", "defines"),
            ("anna's", "anna"),
        ] {
            assert_eq!(stem(one), stem(other), "{one} {other}");
        }
    }
}
