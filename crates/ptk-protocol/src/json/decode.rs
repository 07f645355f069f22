//! Decodes strings of strict JSON.

use std::ops::Range;

use super::undoubled::{Doubt, doubt};

/// How many bytes at the start of `text` a string can hold as they are: up to
/// a quote, a backslash or a control character.
pub(crate) fn plain_run(text: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let (words, tail) = text.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // Each sets the highest bit of a byte that it is about; bits behind
        // the first such byte may be wrong.
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let quote = word ^ (ONES * u64::from(b'"'));
        let quote = quote.wrapping_sub(ONES) & !quote;
        let backslash = word ^ (ONES * u64::from(b'\\'));
        let backslash = backslash.wrapping_sub(ONES) & !backslash;
        let special = (control | quote | backslash) & HIGHS;
        if special != 0 {
            return index * 8 + special.trailing_zeros() as usize / 8;
        }
    }
    let is_special = |byte: &u8| matches!(byte, 0..0x20 | b'"' | b'\\');
    let length = tail.iter().position(is_special).unwrap_or(tail.len());
    words.len() * 8 + length
}

/// An escape behind a backslash.
pub(crate) enum Escape {
    /// The escape of this character, in so many bytes, the backslash included.
    Char(char, usize),
    /// The text ends within the escape.
    Cut,
    /// The escape is invalid.
    Bad,
}

/// What the escapes of one letter stand for; zero where there is none. A table,
/// as it cannot be foreseen which one comes.
#[expect(clippy::indexing_slicing, reason = "there is a place for every byte")]
const LETTERS: [u8; 256] = {
    let mut letters = [0; 256];
    letters[b'"' as usize] = b'"';
    letters[b'\\' as usize] = b'\\';
    letters[b'/' as usize] = b'/';
    letters[b'b' as usize] = 0x8;
    letters[b'f' as usize] = 0xc;
    letters[b'n' as usize] = b'\n';
    letters[b'r' as usize] = b'\r';
    letters[b't' as usize] = b'\t';
    letters
};

/// Reads the escape at the start of `bytes`. A pair of surrogates is one
/// escape; a lone one is bad, as no string can hold it.
pub(crate) fn escape(bytes: &[u8]) -> Escape {
    let Some(&letter) = bytes.get(1) else {
        return Escape::Cut;
    };
    match LETTERS.get(usize::from(letter)) {
        Some(&plain @ 1..) => Escape::Char(char::from(plain), 2),
        _ if letter == b'u' => unicode_escape(bytes),
        _ => Escape::Bad,
    }
}

/// Reads `\u` with four digits, or a pair of them.
fn unicode_escape(bytes: &[u8]) -> Escape {
    let first = match unit(bytes, 2) {
        Unit::Value(first) => first,
        Unit::Cut => return Escape::Cut,
        Unit::Bad => return Escape::Bad,
    };
    if let Some(plain) = char::from_u32(first) {
        return Escape::Char(plain, 6);
    }
    let second = match (first, bytes.get(6), bytes.get(7)) {
        (0xDC00.., _, _) => return Escape::Bad,
        (_, None, _) | (_, Some(b'\\'), None) => return Escape::Cut,
        (_, Some(b'\\'), Some(b'u')) => unit(bytes, 8),
        _ => return Escape::Bad,
    };
    match second {
        Unit::Value(second @ 0xDC00..=0xDFFF) => {
            let paired = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            char::from_u32(paired).map_or(Escape::Bad, |paired| Escape::Char(paired, 12))
        }
        Unit::Cut => Escape::Cut,
        Unit::Value(_) | Unit::Bad => Escape::Bad,
    }
}

enum Unit {
    Value(u32),
    Cut,
    Bad,
}

/// The four hexadecimal digits at `at`.
fn unit(bytes: &[u8], at: usize) -> Unit {
    let mut value = 0;
    for offset in 0..4 {
        match bytes.get(at + offset) {
            None => return Unit::Cut,
            Some(&digit) => match char::from(digit).to_digit(16) {
                Some(digit) => value = value * 16 + digit,
                None => return Unit::Bad,
            },
        }
    }
    Unit::Value(value)
}

/// A decoded string, and where its content stands.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) range: Range<usize>,
    pub(crate) text: String,
}

/// A string that is being decoded.
#[derive(Debug)]
pub(crate) struct Decoding {
    /// How far the string was read.
    pub(crate) at: usize,
    /// Where its content starts.
    start: usize,
    /// The first escape that a repair may read otherwise.
    pub(crate) doubtful: Option<usize>,
    /// The offset behind its last escape.
    pub(crate) escaped: usize,
    /// The text decoded so far.
    pub(crate) text: String,
}

/// Why the reading of a string stops.
pub(crate) enum StringStop {
    /// The quote that closes the string was reached.
    Quote,
    /// The buffer is full; so many bytes come next.
    Full(usize),
    /// The text ends, or cuts an escape.
    Cut,
    /// An invalid character or escape was reached.
    Fault,
}

impl Decoding {
    /// Starts with the string whose content starts at `at`.
    pub(crate) fn new(at: usize, room: usize) -> Self {
        Self {
            at,
            start: at,
            doubtful: None,
            escaped: at,
            text: String::with_capacity(room),
        }
    }

    /// Reads on in `text`. The buffer does not grow: the caller knows best how
    /// much more may come.
    pub(crate) fn read(&mut self, text: &str) -> StringStop {
        let bytes = text.as_bytes();
        loop {
            let rest = bytes.get(self.at..).unwrap_or_default();
            let run = plain_run(rest);
            let needed = run + char::MAX.len_utf8();
            if self.text.capacity() - self.text.len() < needed {
                return StringStop::Full(needed);
            }
            let behind = self.at + run;
            self.text
                .push_str(text.get(self.at..behind).unwrap_or_default());
            self.at = behind;
            match rest.get(run) {
                Some(b'\\') => match escape(rest.get(run..).unwrap_or_default()) {
                    Escape::Char(plain, length) => {
                        let content = bytes.get(self.start..).unwrap_or_default();
                        match doubt(content, self.at - self.start) {
                            Doubt::No => {}
                            Doubt::Yes => {
                                self.doubtful.get_or_insert(self.at);
                            }
                            Doubt::Cut => return StringStop::Cut,
                        }
                        self.text.push(plain);
                        self.at += length;
                        self.escaped = self.at;
                    }
                    Escape::Cut => return StringStop::Cut,
                    Escape::Bad => return StringStop::Fault,
                },
                Some(b'"') => return StringStop::Quote,
                Some(_) => return StringStop::Fault,
                None => return StringStop::Cut,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_run_ends_at_the_first_byte_that_is_none() {
        for special in [b'"', b'\\', b'\n', 0, 0x1f] {
            for at in 0..40 {
                let mut text = "é~ x\u{7f}".repeat(8).into_bytes();
                text.insert(at, special);
                assert_eq!(plain_run(&text), at, "{special}");
            }
        }
        assert_eq!(plain_run("é~ x\u{7f}".repeat(9).as_bytes()), 54);
    }
}
