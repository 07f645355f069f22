//! Words of code: identifiers whole and in parts, prose in any script.
//!
//! An identifier of several parts gives a word for the whole of it, without
//! regard to how it is written, and one for each part: `parse_json`,
//! `parseJson` and `ParseJSON` all are `parsejson`, `parse`, `json`. Han
//! characters and kana are words each, because nothing separates them.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use unicode_normalization::UnicodeNormalization as _;

/// Changes whenever the words of some text do: an index with other words is
/// built anew.
pub const VERSION: u32 = 1;
/// A longer word is data, not a name.
const MAX_WORD: usize = 100;

/// What is done to words besides lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stemming {
    /// Nothing.
    Off,
    /// English plurals become singulars.
    #[default]
    Plurals,
}

/// Whether identifiers of several parts are told as a whole, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum HasWholes {
    #[default]
    Yes,
    No,
}

/// Splits text into words. A tokenizer of tantivy, too.
///
/// ```
/// use ptk_search::words::Words;
///
/// let words = Words::default().list("fn parseJson(http2: &HTTPServer)");
/// assert_eq!(
///     words,
///     [
///         "fn", "parsejson", "parse", "json", "http2", "http", "2", "httpserver", "http",
///         "server"
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
    /// Words with or without their endings.
    #[must_use]
    pub fn new(stemming: Stemming) -> Self {
        Self {
            stemming,
            ..Self::default()
        }
    }

    /// The parts of identifiers alone, as they are written.
    #[must_use]
    pub fn parts_only() -> Self {
        Self {
            stemming: Stemming::Off,
            has_wholes: HasWholes::No,
            ..Self::default()
        }
    }

    /// The first words of a text, in order, no more than `limit`.
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
        }
    }
}

/// The words of one text. Made by [`Words`].
#[derive(Debug)]
pub struct WordStream<'a> {
    text: &'a str,
    /// How far it was looked at.
    at: usize,
    stemming: Stemming,
    has_wholes: HasWholes,
    token: &'a mut Token,
    /// Those of the identifier at hand.
    parts: &'a mut Vec<(usize, usize)>,
    next: usize,
    /// The identifier at hand, where it is yet to be told as a whole.
    whole: Option<(usize, usize)>,
}

/// What a character is to the splitting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Digit,
    /// Belongs to the letter before it.
    Mark,
    /// A word by itself.
    Ideograph,
    Underscore,
    Other,
}

/// The classes of the characters that code is mostly made of.
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
    fn of(c: char) -> Self {
        match ASCII.get(c as usize) {
            Some(class) => *class,
            None => Self::beyond_ascii(c),
        }
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

impl WordStream<'_> {
    /// Finds the next identifier, and its parts. False at the end of the text.
    fn scan(&mut self) -> bool {
        self.parts.clear();
        self.next = 0;
        self.whole = None;
        let rest = self.text.get(self.at..).unwrap_or_default();
        let mut chars = rest.char_indices().map(|(at, c)| (self.at + at, c));
        let mut start = None;
        for (at, c) in chars.by_ref() {
            match Class::of(c) {
                Class::Other | Class::Mark | Class::Underscore => {}
                Class::Ideograph => {
                    self.at = at + c.len_utf8();
                    self.parts.push((at, self.at));
                    return true;
                }
                class => {
                    start = Some((at, class));
                    break;
                }
            }
        }
        let Some((begin, mut before)) = start else {
            self.at = self.text.len();
            return false;
        };
        let mut part = Some(begin);
        // Where the letter before this one begins, if it is a capital after
        // another: in `HTTPServer` the `S` belongs to what follows.
        let mut capital = None;
        let mut end = self.text.len();
        for (at, c) in chars {
            let class = Class::of(c);
            match (before, class) {
                (_, Class::Other | Class::Ideograph) => {
                    end = at;
                    break;
                }
                (_, Class::Mark) => continue,
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
        }
        if let Some(from) = part {
            self.parts.push((from, end));
        }
        self.at = end;
        if self.parts.len() > 1 && self.has_wholes == HasWholes::Yes {
            self.whole = Some((begin, end));
        }
        true
    }

    /// Puts a word into the token. False if it is none that is kept.
    fn tell(&mut self, from: usize, to: usize, is_whole: bool) -> bool {
        let Some(word) = self.text.get(from..to) else {
            return false;
        };
        if word.len() > MAX_WORD {
            return false;
        }
        let text = &mut self.token.text;
        text.clear();
        if word.is_ascii() {
            text.push_str(word);
            text.make_ascii_lowercase();
            // Parts have none of them.
            if is_whole {
                text.retain(|c| c != '_');
            }
        } else {
            let letters = word.nfc().filter(|c| *c != '_');
            text.extend(letters.flat_map(char::to_lowercase));
        }
        if !is_whole && self.stemming == Stemming::Plurals {
            singular(text);
        }
        self.token.offset_from = from;
        self.token.offset_to = to;
        self.token.position = self.token.position.wrapping_add(1);
        true
    }
}

/// Makes an English plural a singular, by the rules of Harman's "S" stemmer.
fn singular(word: &mut String) {
    let has = |ending: &str, but: [&str; 2]| {
        word.ends_with(ending) && !but.iter().any(|but| word.ends_with(but))
    };
    if word.len() < 4 || !word.ends_with('s') {
        return;
    }
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
            if !self.scan() {
                return false;
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
