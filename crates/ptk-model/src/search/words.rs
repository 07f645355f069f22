//! Splits names and descriptions of tools into words, so that `createIssue`,
//! `create_issue` and "creating issues" have the same ones.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// The most words that are taken from one text.
const MAX_WORDS: usize = 400;
/// The most letters of a word; a longer one is data.
const MAX_LETTERS: usize = 60;
/// The letters that are left of an English word without its ending, at least.
const STEM: usize = 3;

/// The words of a text, in order: lower case, without accents and without the
/// endings of English words.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = None;
    let letters = text.nfkd().filter(|letter| !is_combining_mark(*letter));
    let mut letters = letters.peekable();
    while let Some(letter) = letters.next() {
        if words.len() >= MAX_WORDS {
            return words;
        }
        if !letter.is_alphanumeric() {
            end(&mut word, &mut words);
            before = None;
            continue;
        }
        // `createIssue`, and `HTTPServer`.
        let is_inner = letter.is_uppercase()
            && before.is_some_and(|before: char| {
                before.is_lowercase()
                    || (before.is_uppercase() && letters.peek().is_some_and(|it| it.is_lowercase()))
            });
        if is_inner || stands_alone(letter) {
            end(&mut word, &mut words);
        }
        word.extend(letter.to_lowercase());
        if stands_alone(letter) {
            end(&mut word, &mut words);
        }
        before = Some(letter);
    }
    end(&mut word, &mut words);
    words
}

fn end(word: &mut String, words: &mut Vec<String>) {
    let word = std::mem::take(word);
    if !word.is_empty() && word.chars().count() <= MAX_LETTERS {
        words.push(stem(&word).to_owned());
    }
}

/// Whether a character is a word: in these scripts nothing stands between words.
const fn stands_alone(letter: char) -> bool {
    matches!(
        letter,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}'
    )
}

/// The word without an English ending. What is left need not be a word, as long
/// as all forms of a word give the same.
fn stem(word: &str) -> &str {
    let singular = if word.ends_with("ss") {
        word
    } else {
        without_ending(word, &["ing", "ed", "es", "s"])
    };
    without_ending(singular, &["e", "y", "i"])
}

/// The word without the first of these endings that it has.
fn without_ending<'w>(word: &'w str, endings: &[&str]) -> &'w str {
    let shorter = endings.iter().find_map(|ending| word.strip_suffix(ending));
    shorter.filter(|it| it.len() >= STEM).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_prose_have_the_same_words() {
        assert_eq!(
            words("github__create_issue"),
            words("github: creating issues")
        );
        assert_eq!(words("createIssue"), words("create issue"));
        assert_eq!(words("HTTPServer"), words("http server"));
        assert_eq!(words("list-repositories"), words("lists repository"));
    }

    #[test]
    fn forms_of_a_word_are_the_same() {
        for forms in [
            ["message", "messages"],
            ["delete", "deleted"],
            ["query", "queries"],
            ["address", "addresses"],
            ["file", "files"],
            ["list", "listing"],
        ] {
            assert_eq!(words(forms[0]), words(forms[1]));
        }
        assert_ne!(words("list"), words("last"));
    }

    #[test]
    fn accents_and_scripts_do_not_matter() {
        assert_eq!(words("Événement"), words("evenement"));
        assert_eq!(words("e\u{301}ve\u{301}nement"), words("Événement"));
        assert_eq!(words("天気を"), ["天", "気", "を"]);
        assert_eq!(words("Календарь СОБЫТИЙ"), words("календарь событий"));
        assert!(words("  …!? ").is_empty());
    }
}
