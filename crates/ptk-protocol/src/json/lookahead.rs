//! Whether a quote closes a string: it does if what follows fits the grammar.
//!
//! Every look ahead ends at most three quotes further on, or at a place that
//! is remembered, so the whole stays linear.

use super::blank::{blank_end, fence_length, is_comment, operand_start};
use super::frame::{Frame, Kind};
use super::literals::literal;
use super::quotes::QuoteFamily;

/// The position of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StringPosition {
    Key,
    Value,
}

pub(super) struct Lookahead<'a> {
    pub(super) text: &'a str,
    bytes: &'a [u8],
    /// For each kind of quote: from where it was looked for, and where it is.
    closings: [Option<(usize, Option<usize>)>; QuoteFamily::COUNT],
    /// The latest quote that could end a bare word, whether it does, and the
    /// last character before it that no bare word holds.
    word_quote: Option<(usize, bool, usize)>,
    /// From where the next structural character was looked for, and where it is.
    stop: Option<(usize, usize)>,
}

impl<'a> Lookahead<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            closings: [None; QuoteFamily::COUNT],
            word_quote: None,
            stop: None,
        }
    }

    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    /// Whether a string of which the closing quote ends at `at` can end there.
    /// `plain`: no unescaped quote was seen in it.
    pub(super) fn closes(
        &mut self,
        stack: &[Frame],
        place: StringPosition,
        at: usize,
        plain: bool,
    ) -> bool {
        let next = blank_end(self.text, at);
        if place == StringPosition::Key {
            return match self.byte(next) {
                None | Some(b':' | b',' | b'}' | b'=') => true,
                Some(_) => is_comment(self.text, next) || self.key_ends(at),
            };
        }
        let mut level = stack.len().saturating_sub(1);
        let mut popped = false;
        let mut closed_array = false;
        let mut p = next;
        loop {
            let kind = stack.get(level).map_or(Kind::Root, |frame| frame.kind);
            if popped && self.reopens(p) {
                return false;
            }
            if popped && kind == Kind::Root {
                return true;
            }
            match self.byte(p) {
                None => return true,
                Some(b',') => {
                    let next = blank_end(self.text, p + 1);
                    return (popped && QuoteFamily::opening(self.text, next).is_some())
                        || (closed_array && self.opens_array(next))
                        || (plain && kind == Kind::Object && self.is_noted_key(next))
                        || self.fits_after_comma(stack, level, p + 1);
                }
                Some(closer @ (b'}' | b']' | b')')) => {
                    let below = stack
                        .iter()
                        .take(level + 1)
                        .rposition(|frame| frame.closer == closer);
                    match below {
                        Some(index) => {
                            level = index.saturating_sub(1);
                            popped = true;
                        }
                        None if closer == b')' => return false,
                        None => {}
                    }
                    closed_array = below.is_some() && closer == b']';
                    p = blank_end(self.text, p + 1);
                }
                Some(_) if popped => {
                    return (closed_array && self.opens_array(p))
                        || self.fits_after_closer(kind, p);
                }
                Some(byte) => {
                    if self.fits_after_string(kind, at, p, plain) {
                        return true;
                    }
                    let apart = p > at || byte == b'(';
                    if !plain || !apart {
                        return false;
                    }
                    match self.note_end(kind, p) {
                        Some(end) if QuoteFamily::opening(self.text, end).is_some() => return true,
                        Some(end) => p = end,
                        None => return false,
                    }
                }
            }
        }
    }

    /// Whether, as in `"}",`, the closers are content and the quote behind them
    /// closes.
    fn reopens(&self, p: usize) -> bool {
        QuoteFamily::opening(self.text, p).is_some_and(|(_, length)| {
            let next = self.byte(blank_end(self.text, p + length));
            matches!(next, Some(b',' | b'}' | b']' | b':'))
        })
    }

    /// Whether a key ends here. A quote inside a key is followed by more of the
    /// key, up to a quote with a colon behind it.
    fn key_ends(&mut self, at: usize) -> bool {
        let stop = match self.stop {
            Some((from, stop)) if from <= at && at <= stop => stop,
            _ => {
                let found = self.bytes.get(at..).and_then(|rest| {
                    rest.iter().position(|byte| {
                        matches!(byte, b':' | b',' | b'{' | b'}' | b'[' | b']' | b'\n')
                    })
                });
                let stop = found.map_or(self.bytes.len(), |offset| at + offset);
                self.stop = Some((at, stop));
                stop
            }
        };
        let quoted = stop > at
            && stop
                .checked_sub(1)
                .and_then(|before| self.byte(before))
                .is_some_and(|byte| matches!(byte, b'"' | b'\''));
        !(self.byte(stop) == Some(b':') && quoted)
    }

    /// The quote that ends a bare word with a comma at `at`, as in
    /// `{a: Rome, IT", b: 1}`.
    pub(super) fn quote_after_comma(&mut self, stack: &[Frame], at: usize) -> Option<usize> {
        let quote = self.next_closing(QuoteFamily::Double, at)?;
        let (ends, last) = match self.word_quote {
            Some((known, ends, last)) if known == quote => (ends, last),
            _ => {
                let between = self.bytes.get(at..quote).unwrap_or_default();
                let last = between
                    .iter()
                    .rposition(|byte| matches!(byte, b':' | b'{' | b'}' | b'[' | b']' | b'\n'));
                let last = last.map_or(0, |offset| at + offset);
                let ends = self.closes(stack, StringPosition::Value, quote + 1, false);
                self.word_quote = Some((quote, ends, last));
                (ends, last)
            }
        };
        (ends && last < at).then_some(quote)
    }

    fn fits_after_closer(&mut self, kind: Kind, p: usize) -> bool {
        if is_comment(self.text, p) || fence_length(self.text, p).is_some() {
            return true;
        }
        match kind {
            Kind::Object => self.is_key(p),
            _ => {
                QuoteFamily::opening(self.text, p).is_some()
                    || matches!(self.byte(p), Some(b'{' | b'['))
            }
        }
    }

    fn fits_after_string(&mut self, kind: Kind, at: usize, p: usize, plain: bool) -> bool {
        let gap = self.text.get(at..p).unwrap_or_default();
        let own_line = gap.contains('\n');
        if is_comment(self.text, p) {
            return true;
        }
        if let Some(length) = fence_length(self.text, p) {
            let after = p + length;
            return self.byte(after) == Some(b'\n')
                || matches!(
                    self.byte(blank_end(self.text, after)),
                    None | Some(b'}' | b']')
                );
        }
        if self.byte(p) == Some(b'+') {
            let operand = operand_start(self.text, p);
            return operand >= self.bytes.len()
                || QuoteFamily::opening(self.text, operand).is_some();
        }
        let quote = QuoteFamily::opening(self.text, p);
        match kind {
            Kind::Object => match self.byte(p) {
                Some(b'{') => self.opens_object(p),
                Some(b':') => plain && self.is_member(at, p),
                Some(b';') => self.is_whole_key(blank_end(self.text, p + 1)),
                _ if quote.is_some() => self.is_whole_key(p),
                _ => own_line && self.is_key(p),
            },
            Kind::Array | Kind::Group => match (quote, self.byte(p)) {
                (Some(_), _) if !gap.is_empty() => true,
                (Some((_, length)), _) => !matches!(
                    self.byte(blank_end(self.text, p + length)),
                    None | Some(b',' | b']' | b'}')
                ),
                (None, Some(b'{')) => self.opens_object(p),
                (None, Some(b'[')) => own_line,
                (None, Some(b':')) => plain && kind == Kind::Array && self.is_value(p + 1),
                _ => self.is_stray_word(p),
            },
            Kind::Root => match self.byte(p) {
                Some(b';') => blank_end(self.text, p + 1) >= self.bytes.len(),
                Some(b':') => plain && self.is_value(p + 1),
                _ => own_line && self.is_value(p),
            },
        }
    }

    fn fits_after_comma(&mut self, stack: &[Frame], level: usize, at: usize) -> bool {
        let p = blank_end(self.text, at);
        let kind = stack.get(level).map_or(Kind::Root, |frame| frame.kind);
        let Some(byte) = self.byte(p) else {
            return true;
        };
        if matches!(byte, b',' | b'}' | b']') || is_comment(self.text, p) || self.is_ellipsis(p) {
            return true;
        }
        match kind {
            Kind::Object => match byte {
                b'{' => self.opens_object(p),
                _ => self.is_key(p),
            },
            Kind::Array | Kind::Group => self.is_value(p) || self.is_listed_word(p),
            Kind::Root => self.is_value(p),
        }
    }

    /// Whether a key with its colon stands at `p`; or a part of one, cut off.
    pub(super) fn is_key(&mut self, p: usize) -> bool {
        if let Some((quote, length)) = QuoteFamily::opening(self.text, p) {
            return self.is_quoted_key(quote, p + length);
        }
        let end = self.name_end(p);
        if end == p {
            return self.byte(p) == Some(b'\\') && self.byte(p + 1) == Some(b'"');
        }
        let end = end + QuoteFamily::opening(self.text, end).map_or(0, |(_, length)| length);
        let colon = blank_end(self.text, end);
        if self.byte(colon) != Some(b':') {
            return false;
        }
        self.is_value(colon + 1) || {
            let rest = self.bytes.get(colon + 1..).unwrap_or_default();
            let stop = rest
                .iter()
                .find(|byte| matches!(byte, b',' | b'}' | b']' | b'\n' | b'"' | b'\''));
            !matches!(stop, Some(b'"' | b'\''))
        }
    }

    /// Whether a key in quotes stands at `p` that the text does not cut off.
    fn is_whole_key(&mut self, p: usize) -> bool {
        let Some((quote, length)) = QuoteFamily::opening(self.text, p) else {
            return false;
        };
        self.next_closing(quote, p + length).is_some() && self.is_quoted_key(quote, p + length)
    }

    fn is_quoted_key(&mut self, quote: QuoteFamily, mut from: usize) -> bool {
        if let Some(length) = quote.closing(self.text, from) {
            if self.byte(blank_end(self.text, from + length)) == Some(b':') {
                return true;
            }
            from += length;
        }
        let Some(end) = self.next_closing(quote, from) else {
            return true;
        };
        let mut after = end + quote.closing(self.text, end).unwrap_or(1);
        let single = blank_end(self.text, after);
        if let Some(length) = quote.closing(self.text, after) {
            after += length;
        }
        let content = self.text.get(from..end).unwrap_or_default();
        let next = blank_end(self.text, after);
        matches!(self.byte(next), None | Some(b':'))
            || swallowed_colon(content).is_some()
            || (is_name(content) && self.is_value_of_key(single))
    }

    /// Whether only the colon is missing: `"key" 1`, `"key" {`, `"key" "text"`.
    fn is_value_of_key(&self, p: usize) -> bool {
        match QuoteFamily::opening(self.text, p) {
            Some(_) => !self.reopens(p),
            None => self.is_value(p),
        }
    }

    /// Whether a name in quotes, which ends at `at`, with a colon behind it,
    /// has lost the brace before it: `"args": "key": 1`.
    fn is_member(&self, at: usize, colon: usize) -> bool {
        const LONGEST: usize = 64;
        let before = self
            .bytes
            .get(at.saturating_sub(LONGEST)..at)
            .unwrap_or_default();
        let Some((b'"', name)) = before.split_last() else {
            return false;
        };
        let length = name
            .iter()
            .rev()
            .take_while(|&&byte| is_name_byte(byte))
            .count();
        let opened = name
            .len()
            .checked_sub(length + 1)
            .and_then(|open| name.get(open));
        length > 0 && opened == Some(&b'"') && self.is_value(colon + 1)
    }

    /// The next quote from `from` on that would close `quote` and is not escaped.
    pub(super) fn next_closing(&mut self, quote: QuoteFamily, from: usize) -> Option<usize> {
        let memo = self.closings.get_mut(quote.index())?;
        if let Some((since, found)) = *memo
            && since <= from
            && found.is_none_or(|at| from <= at)
        {
            return found;
        }
        let (one, other) = quote.closing_bytes();
        let mut at = from;
        let found = loop {
            let rest = self.bytes.get(at..).unwrap_or_default();
            let Some(offset) = memchr::memchr2(one, other, rest) else {
                break None;
            };
            at += offset;
            let before = self.bytes.get(from..at).unwrap_or_default();
            let slashes = before
                .iter()
                .rev()
                .take_while(|&&byte| byte == b'\\')
                .count();
            if slashes % 2 == 0 && quote.closing(self.text, at).is_some() {
                break Some(at);
            }
            at += 1;
        };
        *memo = Some((from, found));
        found
    }

    /// Whether something other than a bare word can be read as a value at `p`.
    pub(super) fn is_value(&self, p: usize) -> bool {
        let p = blank_end(self.text, p);
        match self.byte(p) {
            Some(b'{' | b'[') => true,
            Some(b'\\') => self.byte(p + 1) == Some(b'"'),
            Some(b'-' | b'.' | b'0'..=b'9') => {
                let end = self.name_end(p);
                self.ends_value(end)
            }
            _ if QuoteFamily::opening(self.text, p).is_some() => true,
            _ => {
                let end = self.name_end(p);
                let name = self.text.get(p..end).unwrap_or_default();
                literal(name).is_some() && self.ends_value(end)
            }
        }
    }

    /// Whether a number begins at `p`, whatever follows it.
    pub(super) fn is_number(&self, p: usize) -> bool {
        let token = self.bytes.get(p..self.name_end(p)).unwrap_or_default();
        let length = super::numbers::strict_length(token);
        length > 0 && length == token.len()
    }

    fn ends_value(&self, end: usize) -> bool {
        let next = blank_end(self.text, end);
        let own_line = || {
            self.text
                .get(end..next)
                .is_some_and(|gap| gap.contains('\n'))
        };
        matches!(self.byte(next), None | Some(b',' | b'}' | b']' | b')')) || own_line()
    }

    pub(super) fn name_end(&self, p: usize) -> usize {
        let rest = self.bytes.get(p..).unwrap_or_default();
        let curly = |at: usize| QuoteFamily::opening(self.text, at).is_some();
        let mut end = p;
        for &byte in rest {
            let part = byte.is_ascii_alphanumeric()
                || matches!(byte, b'_' | b'-' | b'+' | b'$' | b'.')
                || (byte >= 0x80 && !(byte == 0xe2 && curly(end)));
            if !part {
                break;
            }
            end += 1;
        }
        end
    }

    pub(super) fn opens_object(&mut self, p: usize) -> bool {
        let inside = blank_end(self.text, p + 1);
        matches!(self.byte(inside), None | Some(b'}')) || self.is_key(inside)
    }

    fn is_ellipsis(&self, p: usize) -> bool {
        self.text
            .get(p..)
            .is_some_and(|rest| rest.starts_with("...") || rest.starts_with('…'))
    }

    /// Whether a word, number or ellipsis stands between a string and the end
    /// of its array.
    fn is_stray_word(&self, p: usize) -> bool {
        let end = self.name_end(p);
        let next = blank_end(self.text, end);
        if end == p {
            return false;
        }
        if self.byte(next) == Some(b']') {
            let beyond = blank_end(self.text, next + 1);
            return matches!(self.byte(beyond), None | Some(b',' | b']' | b'}'));
        }
        self.is_value(p) || self.is_ellipsis(p)
    }

    /// Whether a bare word after a comma is an element: the array ends, or
    /// another string begins behind a comma, before a quote could close a
    /// longer one.
    fn is_listed_word(&self, p: usize) -> bool {
        let rest = self.bytes.get(p..).unwrap_or_default();
        let stop = rest
            .iter()
            .position(|byte| matches!(byte, b']' | b'"' | b'\'' | b'\n'));
        match stop {
            Some(offset) if matches!(rest.get(offset), Some(b'"' | b'\'')) => {
                let before = rest.get(..offset).unwrap_or_default();
                before.trim_ascii_end().ends_with(b",")
            }
            _ => true,
        }
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'$')
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_name_byte)
}

/// Where the key ends in `key: `, `key: {` or `key: 1, `, which were read as
/// the content of one string because its closing quote is missing.
pub(super) fn swallowed_colon(content: &str) -> Option<usize> {
    let (key, value) = content.split_once(':')?;
    let key = key.trim_end();
    let value = value.trim();
    let begins = value.is_empty()
        || value.starts_with(['{', '['])
        || (is_name(key)
            && value.ends_with([',', '}'])
            && is_scalar(value.trim_end_matches([',', '}', ']', ' ', '\n'])));
    begins.then_some(key.len())
}

fn is_scalar(value: &str) -> bool {
    let value = value.trim_end();
    literal(value).is_some() || super::numbers::read(value) == super::numbers::Number::Exact
}
