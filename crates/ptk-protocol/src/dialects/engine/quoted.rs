//! Strings in quotes, with escapes, read while they come in.

use memchr::memchr2;

/// A string that is coming in: where it is, and what ends it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quoted {
    quote: u8,
    triple: bool,
    raw: bool,
    /// Whether a character may be written by its number in octal digits, as in
    /// Python.
    octal: bool,
    at: usize,
}

/// The result of looking at an opening quote.
#[derive(Debug)]
pub(crate) enum QuoteAt {
    /// A string.
    Finding(Quoted),
    /// More text is needed to decide whether the quote is tripled.
    More,
}

impl Quoted {
    /// Opens Python's string whose opening quote stands at `at`; in a raw one,
    /// escapes stand for themselves.
    pub(crate) fn open(text: &str, at: usize, end: bool, raw: bool) -> QuoteAt {
        let rest = text.as_bytes().get(at..).unwrap_or_default();
        let quote = rest.first().copied().unwrap_or(b'"');
        let run = rest.iter().take(3).take_while(|b| **b == quote).count();
        if run == rest.len() && run < 3 && !end {
            return QuoteAt::More;
        }
        let triple = run == 3;
        QuoteAt::Finding(Self {
            quote,
            triple,
            raw,
            octal: true,
            at: at + if triple { 3 } else { 1 },
        })
    }

    /// Creates the string behind the quote at `at`, which is never tripled.
    pub(crate) fn simple(quote: u8, at: usize) -> Self {
        Self {
            quote,
            triple: false,
            raw: false,
            octal: false,
            at: at + 1,
        }
    }

    /// Passes on what has come in, escapes decoded, and returns the offset
    /// behind the closing quote, or `None` before that has come. `closes` says
    /// whether a quote before this offset closes the string, or `None` if more
    /// text is needed to decide.
    pub(crate) fn read(
        &mut self,
        text: &str,
        end: bool,
        append: &mut dyn FnMut(&str),
        closes: &mut dyn FnMut(usize) -> Option<bool>,
    ) -> Option<usize> {
        loop {
            let rest = text.get(self.at..).unwrap_or("");
            let Some(found) = memchr2(self.quote, b'\\', rest.as_bytes()) else {
                append(rest);
                self.at += rest.len();
                return None;
            };
            append(rest.get(..found).unwrap_or(""));
            self.at += found;
            let rest = rest.get(found..).unwrap_or("");
            if rest.starts_with('\\') {
                self.at += self.escape(rest, end, append)?;
                continue;
            }
            let run = rest
                .bytes()
                .take(3)
                .take_while(|byte| *byte == self.quote)
                .count();
            if !self.triple {
                if closes(self.at + 1)? {
                    return Some(self.at + 1);
                }
                append(rest.get(..1).unwrap_or(""));
                self.at += 1;
            } else if run == 3 {
                return Some(self.at + 3);
            } else if run == rest.len() && !end {
                return None;
            } else {
                append(rest.get(..run).unwrap_or(""));
                self.at += run;
            }
        }
    }

    /// Decodes the escape at the start of `rest` and returns its length; `None`
    /// if it is not complete.
    fn escape(&self, rest: &str, end: bool, append: &mut dyn FnMut(&str)) -> Option<usize> {
        let escaped = rest.get(1..)?.chars().next()?;
        let plain = match escaped {
            _ if self.raw => "",
            'n' => "\n",
            't' => "\t",
            'r' => "\r",
            'b' => "\u{8}",
            'f' => "\u{c}",
            'v' => "\u{b}",
            'a' => "\u{7}",
            '0'..='7' if self.octal => return octal(rest, end, append),
            '0' => "\0",
            '"' => "\"",
            '\'' => "'",
            '\\' => "\\",
            '/' => "/",
            '\n' => return Some(2),
            'x' => return code_point(rest, 2, end, append),
            'u' => return code_point(rest, 4, end, append),
            'U' => return code_point(rest, 8, end, append),
            _ => "",
        };
        let length = 1 + escaped.len_utf8();
        if plain.is_empty() {
            append(rest.get(..length).unwrap_or(""));
        } else {
            append(plain);
        }
        Some(length)
    }
}

/// Decodes a character by its number in up to three octal digits; a number that
/// takes more than a byte is kept as it is.
fn octal(rest: &str, end: bool, append: &mut dyn FnMut(&str)) -> Option<usize> {
    let digits = rest.bytes().skip(1).take(3);
    let count = digits
        .take_while(|byte| (b'0'..=b'7').contains(byte))
        .count();
    let length = 1 + count;
    if count < 3 && rest.len() == length && !end {
        return None;
    }
    let number = u8::from_str_radix(rest.get(1..length)?, 8).map(char::from);
    match number {
        Ok(c) => append(c.encode_utf8(&mut [0; 4])),
        Err(_) => append(rest.get(..length).unwrap_or("")),
    }
    Some(length)
}

/// Decodes a character by its number; an invalid number is kept as it is.
fn code_point(rest: &str, digits: usize, end: bool, append: &mut dyn FnMut(&str)) -> Option<usize> {
    let hex = |at: usize, digits: usize| {
        let digits = rest.get(at..at + digits)?;
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)
    };
    let length = 2 + digits;
    if rest.len() < length && !end {
        return None;
    }
    let Some(value) = hex(2, digits) else {
        append(rest.get(..2).unwrap_or(""));
        return Some(2);
    };
    // A pair of surrogates, as JSON writes characters beyond 16 bits.
    if (0xD800..0xDC00).contains(&value) {
        let behind = rest.get(length..).unwrap_or("");
        if behind.len() < 6 && !end && "\\u".starts_with(behind.get(..2).unwrap_or(behind)) {
            return None;
        }
        let low = if behind.starts_with("\\u") {
            let low = hex(length + 2, 4).filter(|low| (0xDC00..0xE000).contains(low));
            low.map(|low| low - 0xDC00)
        } else {
            None
        };
        if let Some(pair) =
            low.and_then(|low| char::from_u32(0x10000 + ((value - 0xD800) << 10) + low))
        {
            append(pair.encode_utf8(&mut [0; 4]));
            return Some(length + 6);
        }
    }
    let c = char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER);
    append(c.encode_utf8(&mut [0; 4]));
    Some(length)
}

/// The unescaped quotes inside a string, as in `'print('x')'`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct InnerQuotes {
    /// Whether a quotation was opened and not closed yet.
    is_open: bool,
}

impl InnerQuotes {
    /// Whether the quote before `at` closes the string, and not just a quotation
    /// in it. `None` if more text is needed to decide.
    pub(crate) fn close(&mut self, text: &str, at: usize, end: bool) -> Option<bool> {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let behind = text.get(at..).unwrap_or_default();
        let next = match behind.chars().next() {
            None if !end => return None,
            next => next,
        };
        if next.is_some_and(is_word) {
            let before = text.get(..at.saturating_sub(1)).unwrap_or_default();
            // Not the apostrophe of `it's`.
            self.is_open |= !before.chars().next_back().is_some_and(is_word);
            return Some(false);
        }
        if !self.is_open {
            return Some(true);
        }
        let quote = text.as_bytes().get(at.saturating_sub(1)).copied();
        let ends = ends_argument(behind, quote.unwrap_or(b'"'), end)?;
        self.is_open = false;
        Some(ends)
    }
}

/// Whether an argument can end before `behind`: a named one follows, or brackets
/// that no quote follows. `None` if more text is needed to decide.
fn ends_argument(behind: &str, quote: u8, end: bool) -> Option<bool> {
    /// What stands further away does not count, so that waiting for it takes
    /// no longer than the text is.
    const FARTHEST: usize = 128;
    let near = behind.as_bytes();
    let is_cut = near.len() <= FARTHEST && !end;
    let near = near.get(..FARTHEST).unwrap_or(near).trim_ascii_start();
    let undecided = |fits: bool| if is_cut { None } else { Some(fits) };
    match near {
        [] => undecided(true),
        [b',', rest @ ..] => {
            let name = rest.trim_ascii_start();
            let length = name
                .iter()
                .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
                .count();
            let sign = name.get(length..).unwrap_or_default().trim_ascii_start();
            match sign {
                [] => undecided(false),
                [b'=', b'=', ..] => Some(false),
                [first, ..] => Some(length > 0 && *first == b'='),
            }
        }
        [b')' | b']' | b'}', ..] => {
            let rest = near.iter();
            let mut rest = rest.skip_while(|byte| {
                byte.is_ascii_whitespace() || matches!(byte, b')' | b']' | b'}')
            });
            match rest.next() {
                None => undecided(true),
                Some(next) => Some(*next != quote),
            }
        }
        _ => Some(false),
    }
}
