//! Handles text without quotes: literals, numbers, words, keys.

use crate::ProblemCode;

use super::RepairError;
use super::blank::{blank_end, fence_length, is_comment};
use super::escapes::{Limit, copy_content};
use super::frame::{FrameState, Kind};
use super::literals::literal;
use super::lookahead::StringPosition;
use super::numbers::{self, Number};
use super::quotes::QuoteFamily;
use super::repair::Repairer;

/// Whether the brackets in a string without quotes mean anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pairing {
    Tracked,
    Ignored,
}

impl Repairer<'_> {
    /// Reads a value that does not begin with a quote, brace or bracket.
    pub(super) fn word(&mut self) -> Result<(), RepairError> {
        let start = self.pos;
        let rest = self.bytes.get(start..).unwrap_or_default();
        let length = rest
            .iter()
            .take_while(|byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_' | b'$')
            })
            .count();
        let end = start + length;
        if length > 0 {
            let named = rest.first().is_some_and(|byte| !byte.is_ascii_digit());
            if named && self.byte(end) == Some(b'(') && self.look.is_value(end + 1) {
                let position = self.writer.position(start);
                self.begin_value();
                self.push(Kind::Group, b')', position)?;
                self.drop_input(length + 1, ProblemCode::SurroundingText);
                return Ok(());
            }
            if self.is_string_prefix(start, end) {
                self.drop_input(length, ProblemCode::SurroundingText);
                return Ok(());
            }
            if self.ends_scalar(end) && self.scalar(start, end) {
                self.drop_stray_quote();
                return Ok(());
            }
        }
        self.unquoted(start);
        Ok(())
    }

    /// Whether this is a prefix such as the `b` of Python's `b'bytes'`.
    fn is_string_prefix(&mut self, start: usize, end: usize) -> bool {
        let prefix = self.text.get(start..end).unwrap_or_default();
        let known = matches!(
            prefix,
            "b" | "B" | "f" | "F" | "r" | "R" | "u" | "U" | "rb" | "br"
        );
        match self.byte(end) {
            Some(b'"' | b'\'') if known => {
                !self
                    .look
                    .closes(&self.stack, StringPosition::Value, end + 1, true)
            }
            _ => false,
        }
    }

    /// The end of a regular expression between slashes, flags included.
    fn regex_end(&self, start: usize) -> Option<usize> {
        let rest = self.bytes.get(start + 1..)?;
        let mut at = 0;
        loop {
            match *rest.get(at)? {
                b'/' => break,
                b'\n' => return None,
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
        let flags = rest.get(at + 1..)?;
        let flags = flags
            .iter()
            .take_while(|byte| byte.is_ascii_lowercase())
            .count();
        let end = start + 1 + at + 1 + flags;
        let next = self.byte(blank_end(self.text, end));
        matches!(next, None | Some(b',' | b'}' | b']')).then_some(end)
    }

    /// Whether a number or literal that stops at `end` is the whole value.
    fn ends_scalar(&mut self, end: usize) -> bool {
        let next = blank_end(self.text, end);
        let gap = self.text.get(end..next).unwrap_or_default();
        match self.byte(next) {
            None | Some(b',' | b'}' | b']' | b')' | b'{' | b'[' | b';') => true,
            Some(b':') => self.kind() != Kind::Object,
            Some(_) => {
                gap.contains('\n')
                    || is_comment(self.text, next)
                    || QuoteFamily::opening(self.text, next).is_some()
                    || (!gap.is_empty() && self.kind() == Kind::Object && self.look.is_key(next))
                    || (!gap.is_empty() && self.kind() == Kind::Array && self.look.is_number(next))
            }
        }
    }

    fn scalar(&mut self, start: usize, end: usize) -> bool {
        let token = self.text.get(start..end).unwrap_or_default();
        let (new, code) = match literal(token) {
            Some(json) if json == token => (None, ProblemCode::ForeignLiteral),
            Some(json) => (Some(json.to_owned()), ProblemCode::ForeignLiteral),
            None => match numbers::read(token) {
                Number::Exact => (None, ProblemCode::BadNumber),
                Number::Rewritten(new) => (Some(new), ProblemCode::BadNumber),
                Number::Text => return self.cut_off_scalar(start, end),
            },
        };
        self.begin_value();
        if let Some(new) = new {
            self.writer.note(code, start);
            self.writer.replace(start, end, &new);
        }
        self.pos = end;
        true
    }

    /// Reads a literal or number of which the text holds only the beginning.
    fn cut_off_scalar(&mut self, start: usize, end: usize) -> bool {
        if blank_end(self.text, end) < self.bytes.len() {
            return false;
        }
        let token = self.text.get(start..end).unwrap_or_default();
        if matches!(token, "-" | "+") {
            self.drop_input(end - start, ProblemCode::BadNumber);
            return true;
        }
        let whole = ["true", "false", "null"]
            .into_iter()
            .find_map(|word| word.strip_prefix(token));
        match whole {
            Some(rest) if self.stack.len() > 1 && end == self.bytes.len() => {
                self.begin_value();
                self.writer.note(ProblemCode::ForeignLiteral, start);
                self.writer.insert(end, rest);
                self.pos = end;
                true
            }
            _ => false,
        }
    }

    /// Drops the quote of `12"`, whose opening quote was forgotten.
    fn drop_stray_quote(&mut self) {
        if let Some((_, length)) = QuoteFamily::opening(self.text, self.pos)
            && fence_length(self.text, self.pos).is_none()
            && self
                .look
                .closes(&self.stack, StringPosition::Value, self.pos + length, true)
        {
            self.drop_input(length, ProblemCode::MissingQuotes);
        }
    }

    /// Reads a string without quotes.
    fn unquoted(&mut self, start: usize) {
        let regex = match self.byte(start) {
            Some(b'/') => self.regex_end(start).map(|end| (end, end)),
            _ => None,
        };
        let (stop, resume) = regex.unwrap_or_else(|| self.unquoted_end(start));
        let content = self.text.get(start..stop).unwrap_or_default().trim_end();
        let end = start + content.len();
        if content.is_empty()
            || (self.kind() == Kind::Root && !content.contains(char::is_alphanumeric))
        {
            self.drop_input((stop - start).max(1), ProblemCode::SurroundingText);
            return;
        }
        self.begin_value();
        self.mark_string();
        self.writer.note(ProblemCode::MissingQuotes, start);
        self.writer.insert(start, "\"");
        copy_content(
            &mut self.writer,
            self.text,
            start..end,
            Limit::Whole,
            ProblemCode::UnescapedQuote,
        );
        self.writer.insert(end, "\"");
        self.pos = end;
        if resume > stop {
            self.writer.skip(end, resume);
            self.pos = resume;
        }
    }

    /// Where a string without quotes ends, and where to read on. Brackets that
    /// it opens and closes on the same line belong to it: `hello {name}, you`.
    fn unquoted_end(&mut self, start: usize) -> (usize, usize) {
        if start < self.unpaired {
            return self.unquoted_end_of(start, Pairing::Ignored);
        }
        let (stop, resume) = self.unquoted_end_of(start, Pairing::Tracked);
        if resume >= self.unpaired {
            return (stop, resume);
        }
        self.unquoted_end_of(start, Pairing::Ignored)
    }

    fn unquoted_end_of(&mut self, start: usize, brackets: Pairing) -> (usize, usize) {
        let kind = self.kind();
        let mut open: Vec<u8> = Vec::new();
        let mut at = start;
        while let Some(byte) = self.byte(at) {
            if brackets == Pairing::Tracked {
                match byte {
                    b'{' => open.push(b'}'),
                    b'[' => open.push(b']'),
                    b'(' => open.push(b')'),
                    _ if open.last() == Some(&byte) => {
                        open.pop();
                        at += 1;
                        continue;
                    }
                    b',' if !open.is_empty() && !self.ends_member(at) => {
                        at += 1;
                        continue;
                    }
                    _ => {}
                }
            }
            let spaced = at
                .checked_sub(1)
                .and_then(|before| self.byte(before))
                .is_none_or(|b| b.is_ascii_whitespace());
            let ends = match byte {
                b',' if kind == Kind::Object => {
                    if let Some(quote) = self.look.quote_after_comma(&self.stack, at) {
                        return (quote, quote + 1);
                    }
                    true
                }
                b',' | b'}' | b']' => kind != Kind::Root,
                b')' => kind == Kind::Group,
                b'\n' => kind != Kind::Object || self.ends_line(at),
                b'/' | b'#' => at > start && spaced && is_comment(self.text, at),
                b'`' if fence_length(self.text, at).is_some() => at > start,
                b'"' | b'\'' | b'`' | 0xe2 => {
                    if let Some((_, length)) = QuoteFamily::opening(self.text, at) {
                        if self
                            .look
                            .closes(&self.stack, StringPosition::Value, at + length, false)
                        {
                            return (at, at + length);
                        }
                        spaced
                            && match kind {
                                Kind::Object => self.look.is_key(at),
                                Kind::Array | Kind::Group => true,
                                Kind::Root => false,
                            }
                    } else {
                        false
                    }
                }
                _ => false,
            };
            if ends {
                if !open.is_empty() {
                    self.unpaired = at + 1;
                }
                return (at, at);
            }
            at += 1;
        }
        if !open.is_empty() {
            self.unpaired = at + 1;
        }
        (at, at)
    }

    /// Whether a comma between brackets of a string without quotes ends it all
    /// the same, as the next key follows.
    fn ends_member(&mut self, comma: usize) -> bool {
        self.kind() == Kind::Object && self.look.is_key(blank_end(self.text, comma + 1))
    }

    /// Whether a line break ends a value in an object, rather than belonging
    /// to it.
    fn ends_line(&mut self, at: usize) -> bool {
        let next = blank_end(self.text, at);
        match self.byte(next) {
            None | Some(b'}' | b']' | b',') => true,
            Some(_) => is_comment(self.text, next) || self.look.is_key(next),
        }
    }

    /// Reads a key without quotes.
    pub(super) fn bare_key(&mut self) {
        let start = self.pos;
        let mut stop = start;
        while let Some(byte) = self.byte(stop) {
            let quote = matches!(byte, b'"' | b'\'' | b'`' | 0xe2)
                && QuoteFamily::opening(self.text, stop).is_some()
                && !(byte == b'\'' && self.look.is_apostrophe(stop));
            if quote
                || matches!(byte, b':' | b',' | b'{' | b'}' | b'[' | b']' | b'=' | b'\n')
                || (stop > start && is_comment(self.text, stop))
            {
                break;
            }
            stop += 1;
        }
        let content = self.text.get(start..stop).unwrap_or_default().trim_end();
        let end = start + content.len();
        if content.is_empty() {
            self.skip_character();
            return;
        }
        if stop > end && self.look.is_sure_key(stop) {
            self.drop_input(end - start, ProblemCode::SurroundingText);
            return;
        }
        self.begin_value();
        self.writer.note(ProblemCode::MissingQuotes, start);
        self.writer.insert(start, "\"");
        copy_content(
            &mut self.writer,
            self.text,
            start..end,
            Limit::Whole,
            ProblemCode::UnescapedQuote,
        );
        self.writer.insert(end, "\"");
        self.pos = end;
        if let Some((_, length)) = QuoteFamily::opening(self.text, end)
            && self.byte(blank_end(self.text, end + length)) == Some(b':')
        {
            self.writer.skip(end, end + length);
            self.pos = end + length;
        }
        self.set_state(FrameState::Colon);
    }
}
