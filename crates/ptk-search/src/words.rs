//! Splits code into words: identifiers whole and in parts, prose in any script.
//!
//! An identifier of several parts gives a word for the whole of it, regardless
//! of its naming style, and one for each part of more than a letter or digit:
//! `parse_json`, `parseJson` and `ParseJSON` all are `parsejson`, `parse`,
//! `json`. A single digit is not a word. Han characters and kana are words
//! each, because nothing separates them.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use unicode_normalization::UnicodeNormalization as _;

/// The version of the word rules: an index with another version is rebuilt.
pub const VERSION: u32 = 2;
/// The longest word; longer ones are data, not names.
const MAX_WORD: usize = 100;

/// How words are stemmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stemming {
    /// Words are kept as they are.
    Off,
    /// English plurals become singulars.
    #[default]
    Plurals,
}

/// Whether identifiers of several parts also give a word for the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum HasWholes {
    #[default]
    Yes,
    No,
}

/// Splits text into words. Also a tokenizer for tantivy.
///
/// ```
/// use ptk_search::words::Words;
///
/// let words = Words::default().list("fn parseJson(http2: &HTTPServer)");
/// assert_eq!(
///     words,
///     [
///         "fn", "parsejson", "parse", "json", "http2", "http", "httpserver", "http", "server"
///     ]
/// );
/// ```
#[derive(Debug, Clone, Default)]
pub struct Words {
    stemming: Stemming,
    has_wholes: HasWholes,
    token: Token,
    parts: Vec<(usize, usize)>,
}

impl Words {
    /// A tokenizer with this stemming.
    #[must_use]
    pub fn new(stemming: Stemming) -> Self {
        Self {
            stemming,
            ..Self::default()
        }
    }

    /// A tokenizer for the parts of identifiers only, without stemming.
    #[must_use]
    pub fn parts_only() -> Self {
        Self {
            stemming: Stemming::Off,
            has_wholes: HasWholes::No,
            ..Self::default()
        }
    }

    /// Calls `see` for the first words of a text, at most `limit`.
    pub fn each(&mut self, text: &str, limit: usize, mut see: impl FnMut(&str)) {
        let mut stream = self.token_stream(text);
        for _ in 0..limit {
            if !stream.advance() {
                return;
            }
            see(&stream.token().text);
        }
    }

    /// The words of a text, in order.
    #[must_use]
    pub fn list(&mut self, text: &str) -> Vec<String> {
        let mut words = Vec::new();
        let mut stream = self.token_stream(text);
        while stream.advance() {
            words.push(stream.token().text.clone());
        }
        words
    }
}

impl Tokenizer for Words {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        self.token.reset();
        self.parts.clear();
        WordStream {
            text,
            at: 0,
            stemming: self.stemming,
            has_wholes: self.has_wholes,
            token: &mut self.token,
            parts: &mut self.parts,
            next: 0,
            whole: None,
            letters: Letters::Keep,
        }
    }
}

/// The words of one text, created by [`Words`].
#[derive(Debug)]
pub struct WordStream<'a> {
    text: &'a str,
    /// The position in the text.
    at: usize,
    stemming: Stemming,
    has_wholes: HasWholes,
    token: &'a mut Token,
    /// The parts of the current identifier.
    parts: &'a mut Vec<(usize, usize)>,
    next: usize,
    /// The current identifier, if its whole is still to be returned.
    whole: Option<(usize, usize)>,
    letters: Letters,
}

/// How the letters of an identifier are normalised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Letters {
    /// They are in lower case already.
    Keep,
    /// They are ASCII, with capitals.
    Lower,
    /// Some are not ASCII.
    Normalise,
}

impl Letters {
    fn of(word: &str) -> Self {
        if !word.is_ascii() {
            Self::Normalise
        } else if word.bytes().any(|byte| byte.is_ascii_uppercase()) {
            Self::Lower
        } else {
            Self::Keep
        }
    }
}

/// The class of a character, for splitting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Digit,
    /// Combines with the letter before it.
    Mark,
    /// A word of its own.
    Ideograph,
    Underscore,
    Other,
}

/// The classes of ASCII characters.
const ASCII: [Class; 128] = {
    let mut classes = [Class::Other; 128];
    let mut byte = 0;
    while byte < 128 {
        #[allow(clippy::cast_possible_truncation, reason = "it is below 128")]
        let class = match byte as u8 {
            b'a'..=b'z' => Class::Lower,
            b'A'..=b'Z' => Class::Upper,
            b'0'..=b'9' => Class::Digit,
            b'_' => Class::Underscore,
            _ => Class::Other,
        };
        #[allow(
            clippy::indexing_slicing,
            reason = "a constant: wrong, it does not compile"
        )]
        {
            classes[byte] = class;
        }
        byte += 1;
    }
    classes
};

impl Class {
    /// The class of the character at this position, and its length in bytes.
    /// `None` at the end.
    #[inline]
    fn at(text: &str, at: usize) -> Option<(Self, usize)> {
        let byte = *text.as_bytes().get(at)?;
        match ASCII.get(usize::from(byte)) {
            Some(class) => Some((*class, 1)),
            None => Self::beyond_ascii_at(text, at),
        }
    }

    #[cold]
    fn beyond_ascii_at(text: &str, at: usize) -> Option<(Self, usize)> {
        let c = text.get(at..)?.chars().next()?;
        Some((Self::beyond_ascii(c), c.len_utf8()))
    }

    fn beyond_ascii(c: char) -> Self {
        match c {
            '\u{300}'..='\u{36f}' | '\u{200c}' | '\u{200d}' => Self::Mark,
            '\u{3040}'..='\u{30ff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3134f}' => Self::Ideograph,
            c if c.is_uppercase() => Self::Upper,
            c if c.is_alphabetic() => Self::Lower,
            c if c.is_numeric() => Self::Digit,
            _ => Self::Other,
        }
    }
}

/// The next match in a text.
enum Found {
    /// The end.
    Nothing,
    /// A word in lower case, as most are.
    Word(usize, usize),
    /// An identifier, whose parts are in the stream.
    Parts,
}

/// How many bytes from here on are ASCII characters of these classes.
#[inline]
fn run(text: &str, from: usize, is_such: impl Fn(Class) -> bool) -> usize {
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    let is_such = |byte: &u8| ASCII.get(usize::from(*byte)).is_some_and(|it| is_such(*it));
    let end = rest.iter().position(|byte| !is_such(byte));
    end.unwrap_or(rest.len())
}

impl WordStream<'_> {
    /// Finds the next identifier.
    fn scan(&mut self) -> Found {
        self.parts.clear();
        self.next = 0;
        self.whole = None;
        let text = self.text;
        self.at += run(text, self.at, |class| {
            matches!(class, Class::Other | Class::Underscore)
        });
        let begin = self.at;
        self.at += run(text, begin, |class| class == Class::Lower);
        let next = Class::at(text, self.at).map(|(class, _)| class);
        if self.at > begin && next.is_none_or(|it| matches!(it, Class::Other | Class::Ideograph)) {
            self.letters = Letters::Keep;
            return Found::Word(begin, self.at);
        }
        self.at = begin;
        if self.scan_parts() {
            Found::Parts
        } else {
            Found::Nothing
        }
    }

    /// Finds the parts of the next identifier, with any letters. False at the
    /// end of the text.
    fn scan_parts(&mut self) -> bool {
        let text = self.text;
        let (begin, mut before) = loop {
            let Some((class, length)) = Class::at(text, self.at) else {
                return false;
            };
            let at = self.at;
            self.at += length;
            match class {
                Class::Other | Class::Mark | Class::Underscore => {}
                Class::Ideograph => {
                    self.parts.push((at, self.at));
                    self.letters = Letters::Normalise;
                    return true;
                }
                class => break (at, class),
            }
        };
        let mut part = Some(begin);
        // The position of the last capital, if it follows another: in
        // `HTTPServer` the `S` belongs to the next part.
        let mut capital = None;
        let mut end = self.at;
        loop {
            if before == Class::Lower {
                end += run(text, end, |class| class == Class::Lower);
            }
            let Some((class, length)) = Class::at(text, end) else {
                break;
            };
            let at = end;
            match (before, class) {
                (_, Class::Other | Class::Ideograph) => break,
                (_, Class::Mark) => {
                    end += length;
                    continue;
                }
                (_, Class::Underscore) => {
                    if let Some(from) = part.take() {
                        self.parts.push((from, at));
                    }
                }
                (Class::Underscore, _) => part = Some(at),
                (Class::Upper, Class::Lower) => {
                    if let (Some(from), Some(capital)) = (part, capital) {
                        self.parts.push((from, capital));
                        part = Some(capital);
                    }
                }
                (Class::Lower, Class::Upper)
                | (Class::Digit, Class::Lower | Class::Upper)
                | (Class::Lower | Class::Upper, Class::Digit) => {
                    if let Some(from) = part {
                        self.parts.push((from, at));
                    }
                    part = Some(at);
                }
                _ => {}
            }
            capital = (before == Class::Upper && class == Class::Upper).then_some(at);
            before = class;
            end += length;
        }
        if let Some(from) = part {
            self.parts.push((from, end));
        }
        self.at = end;
        self.letters = Letters::of(text.get(begin..end).unwrap_or_default());
        if self.parts.len() > 1 && self.has_wholes == HasWholes::Yes {
            self.whole = Some((begin, end));
        }
        true
    }

    /// Puts a word into the token. False if the word is dropped.
    fn tell(&mut self, from: usize, to: usize, is_whole: bool) -> bool {
        let Some(word) = self.text.get(from..to) else {
            return false;
        };
        // Single digits are everywhere, and a single letter of an identifier
        // that is returned as a whole adds nothing.
        let is_sign = word.len() == 1 && self.has_wholes == HasWholes::Yes;
        let says_nothing =
            is_sign && (self.parts.len() > 1 || word.bytes().all(|it| it.is_ascii_digit()));
        if word.len() > MAX_WORD || says_nothing {
            return false;
        }
        let text = &mut self.token.text;
        text.clear();
        if self.letters == Letters::Normalise {
            let letters = word.nfc().filter(|c| *c != '_');
            text.extend(letters.flat_map(char::to_lowercase));
        } else if is_whole {
            // There are only underscores between the parts.
            let parts = self.parts.iter();
            text.extend(parts.filter_map(|(from, to)| self.text.get(*from..*to)));
        } else {
            text.push_str(word);
        }
        if self.letters == Letters::Lower {
            text.make_ascii_lowercase();
        }
        let is_plural = text.len() >= 4 && text.as_bytes().last() == Some(&b's');
        if is_plural && !is_whole && self.stemming == Stemming::Plurals {
            singular(text);
        }
        self.token.offset_from = from;
        self.token.offset_to = to;
        self.token.position = self.token.position.wrapping_add(1);
        true
    }
}

/// Turns an English plural that ends with `s` into a singular, by the rules of
/// Harman's "S" stemmer.
fn singular(word: &mut String) {
    let has = |ending: &str, but: [&str; 2]| {
        word.ends_with(ending) && !but.iter().any(|but| word.ends_with(but))
    };
    if has("ies", ["eies", "aies"]) {
        word.truncate(word.len() - 3);
        word.push('y');
    } else if has("es", ["aes", "ees"]) && !word.ends_with("oes") {
        // `boxes`, `matches`, `classes` and `pushes` have an `e` of their own.
        let short = ["xes", "ches", "shes", "sses", "zes"]
            .iter()
            .any(|ending| word.ends_with(ending));
        word.truncate(word.len() - if short { 2 } else { 1 });
    } else if has("s", ["us", "ss"]) && !word.ends_with("is") {
        word.truncate(word.len() - 1);
    }
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        loop {
            if let Some((from, to)) = self.whole.take() {
                if self.tell(from, to, true) {
                    return true;
                }
                continue;
            }
            if let Some((from, to)) = self.parts.get(self.next).copied() {
                self.next += 1;
                if self.tell(from, to, false) {
                    return true;
                }
                continue;
            }
            match self.scan() {
                Found::Nothing => return false,
                Found::Word(from, to) if self.tell(from, to, false) => return true,
                Found::Word(..) | Found::Parts => {}
            }
        }
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}
