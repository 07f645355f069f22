//! Strings in quotes: where they end, and what is written for them.

use crate::ProblemCode;

use super::blank::blank_end;
use super::escapes::{Limit, copy_content, unescape_once, write_content};
use super::lookahead::{StringPosition, swallowed_colon};
use super::quotes::QuoteFamily;
use super::repair::Repairer;
use super::undoubled::{Doubt, doubt};

/// Where a string ends.
struct Extent {
    /// The end of its content.
    end: usize,
    /// Where to read on.
    resume: usize,
    how: Ending,
    /// Whether the content can be copied without checking it.
    clean: bool,
    /// The first quote of the string's own kind that did not close it.
    first_inner: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Quote,
    /// The closing quote is missing, and the string would have swallowed what
    /// comes after it.
    Swallowing,
    /// The text ended.
    CutOff,
}

/// The brackets that a string with unescaped quotes has opened: until they are
/// closed, it quotes code or JSON, and closers belong to that.
struct Embedded {
    counted: usize,
    open: isize,
}

impl Repairer<'_> {
    /// Reads a string from its opening quote.
    pub(super) fn string(&mut self, place: StringPosition) {
        self.quoted(place, true);
    }

    /// Reads a further string that continues the one written last.
    pub(super) fn continue_string(&mut self) {
        self.quoted(StringPosition::Value, false);
    }

    fn quoted(&mut self, place: StringPosition, opens: bool) {
        let open = self.pos;
        let Some((quote, length)) = QuoteFamily::opening(self.text, open) else {
            return;
        };
        let run = self.opening_run(quote, open, length, place);
        let mut start = open + run * length;
        let extent = self.extent(quote, start, run, place);
        // As in `''one' two'`, the second quote opens a quotation.
        if run == 2 && extent.first_inner.is_some() && extent.resume == extent.end + length {
            start = open + length;
        }
        if !opens {
            self.writer.skip(open, start);
        } else if self.text.get(open..start) != Some("\"") {
            self.writer.note(ProblemCode::WrongQuotes, open);
            self.writer.replace(open, start, "\"");
        }
        let limit = match extent.how {
            Ending::CutOff => Limit::CutOff,
            Ending::Quote | Ending::Swallowing => Limit::Whole,
        };
        if !extent.clean {
            if quote != QuoteFamily::Double
                && let Some(at) = extent.first_inner
            {
                self.writer.note(ProblemCode::UnescapedQuote, at);
            }
            // A double quote in a string of other quotes is not the model's fault.
            let inner = match quote {
                QuoteFamily::Double => ProblemCode::UnescapedQuote,
                _ => ProblemCode::WrongQuotes,
            };
            copy_content(&mut self.writer, self.text, start..extent.end, limit, inner);
        }
        if self.text.get(extent.end..extent.resume) != Some("\"") {
            self.writer.replace(extent.end, extent.resume, "\"");
        }
        if extent.how != Ending::Quote {
            self.writer.note(ProblemCode::MissingQuotes, extent.end);
        }
        self.in_string |= extent.how == Ending::CutOff;
        self.pos = extent.resume;
    }

    /// How many quotes open the string: some models double or triple them.
    fn opening_run(
        &mut self,
        quote: QuoteFamily,
        open: usize,
        length: usize,
        place: StringPosition,
    ) -> usize {
        let mut quotes = 1;
        while quotes < 7 && quote.closing(self.text, open + quotes * length) == Some(length) {
            quotes += 1;
        }
        match quotes {
            1 => 1,
            2 if self
                .look
                .closes(&self.stack, place, open + 2 * length, true) =>
            {
                1
            }
            2 | 4 => 2,
            _ => 3,
        }
    }

    fn extent(
        &mut self,
        quote: QuoteFamily,
        start: usize,
        run: usize,
        place: StringPosition,
    ) -> Extent {
        let (one, other) = quote.closing_bytes();
        let mut embedded: Option<Embedded> = None;
        let mut inner = 0_usize;
        let mut first_inner = None;
        let mut clean = quote == QuoteFamily::Double && run == 1;
        let mut at = start;
        loop {
            let rest = self.bytes.get(at..).unwrap_or_default();
            let special = if quote == QuoteFamily::Double {
                let special = memchr::memchr2(b'"', b'\\', rest);
                clean &= !has_control(rest.get(..special.unwrap_or(0)).unwrap_or_default());
                special
            } else {
                memchr::memchr3(one, other, b'\\', rest)
            };
            let Some(offset) = special else {
                if embedded.is_some() {
                    // The brackets mean nothing after all; trying again for every
                    // string would take quadratic time.
                    self.embedding = false;
                    return self.extent(quote, start, run, place);
                }
                return self.cut_off(start, place);
            };
            at += offset;
            if self.byte(at) == Some(b'\\') {
                let simple = matches!(
                    self.byte(at + 1),
                    Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't')
                );
                clean &= simple && {
                    let content = self.bytes.get(start..).unwrap_or_default();
                    doubt(content, at - start) == Doubt::No
                };
                at += 2;
                continue;
            }
            let Some(length) = quote.closing(self.text, at) else {
                clean = false;
                at += 1;
                continue;
            };
            let closing = (1..run)
                .take_while(|n| quote.closing(self.text, at + n * length) == Some(length))
                .count()
                + 1;
            let closed = |resume: usize| Extent {
                end: at,
                resume,
                how: Ending::Quote,
                clean,
                first_inner,
            };
            if run == 3 {
                if closing == 3 {
                    return closed(at + 3 * length);
                }
                clean = false;
                at += length;
                continue;
            }
            let inside = embedded
                .as_mut()
                .is_some_and(|json| self.bytes.is_open(json, at));
            if !inside {
                let resume = at + closing * length;
                if self.look.closes(&self.stack, place, resume, inner == 0)
                    && !self.is_swallowed_key(place, start, at)
                {
                    return closed(resume);
                }
                if let Some(end) = self.swallowed(quote, start, at, inner, place) {
                    return Extent {
                        end,
                        resume: end,
                        how: Ending::Swallowing,
                        clean,
                        first_inner,
                    };
                }
            }
            inner += 1;
            first_inner.get_or_insert(at);
            clean = false;
            if embedded.is_none() && self.embedding && place == StringPosition::Value {
                embedded = Some(Embedded {
                    counted: start,
                    open: 0,
                });
            }
            at += length;
        }
    }

    /// Whether what was read as a key holds its colon: `{"key: "value"}`.
    fn is_swallowed_key(&self, place: StringPosition, start: usize, at: usize) -> bool {
        let next = self.byte(blank_end(self.text, at + 1));
        place == StringPosition::Key
            && self
                .text
                .get(start..at)
                .is_some_and(|key| key.trim_end().ends_with(':'))
            && !matches!(next, None | Some(b':' | b',' | b'}'))
    }

    /// Where the string that begins at `start` should have ended, if the quote
    /// at `at` opens the next one.
    fn swallowed(
        &mut self,
        quote: QuoteFamily,
        start: usize,
        at: usize,
        inner: usize,
        place: StringPosition,
    ) -> Option<usize> {
        let content = self.text.get(start..at)?;
        let trimmed = content.trim_end();
        if place == StringPosition::Key {
            // Only at the first quote: the content is read from its beginning.
            return match inner {
                0 => swallowed_colon(content).map(|length| start + length),
                _ => None,
            };
        }
        let own_line = content.get(trimmed.len()..)?.contains('\n');
        let last = trimmed.chars().next_back();
        let before = match last {
            Some(',' | '+') => trimmed.get(..trimmed.len() - 1)?.trim_end(),
            _ if own_line => trimmed,
            _ => return None,
        };
        let length = quote.closing(self.text, at)?;
        let close = self.look.next_closing(quote, at + length)?;
        let after = close + quote.closing(self.text, close)?;
        let next = self.byte(blank_end(self.text, after));
        let top = self.kind();
        let fits = match (last, top) {
            (Some('+'), _) => inner == 0 && matches!(next, None | Some(b',' | b'}' | b']' | b'+')),
            (_, super::frame::Kind::Object) => next == Some(b':'),
            (Some(','), super::frame::Kind::Array) => {
                inner == 0 && matches!(next, Some(b',' | b']'))
            }
            _ => false,
        };
        if !fits {
            return None;
        }
        let end = start + before.len();
        if last == Some('+') {
            return Some(end);
        }
        Some(
            self.before_closers(start, end, Closers::Some)
                .unwrap_or(end),
        )
    }

    /// Handles a text that ended inside the string. If it ends with just the
    /// closers that are open, only the quote was forgotten.
    fn cut_off(&mut self, start: usize, place: StringPosition) -> Extent {
        let content = self.text.get(start..).unwrap_or_default();
        if place == StringPosition::Key
            && content.trim_end().ends_with('}')
            && let Some(length) = swallowed_colon(content)
        {
            let end = start + length;
            return Extent {
                end,
                resume: end,
                how: Ending::Swallowing,
                clean: false,
                first_inner: None,
            };
        }
        let tail = content.trim_end().trim_end_matches([';', '`']).trim_end();
        if let Some(end) = self.before_closers(start, start + tail.len(), Closers::All) {
            // `["a +]`: nothing is left to join.
            let content = self.text.get(start..end).unwrap_or_default();
            let end = match content.strip_suffix('+') {
                Some(joined) if joined.ends_with(' ') => start + joined.trim_end().len(),
                _ => end,
            };
            return Extent {
                end,
                resume: end,
                how: Ending::Swallowing,
                clean: false,
                first_inner: None,
            };
        }
        let end = self.text.len();
        Extent {
            end,
            resume: end,
            how: Ending::CutOff,
            clean: false,
            first_inner: None,
        }
    }

    /// The end of the content without the closers at its end, if these belong
    /// to what is open around the string and not to the string itself.
    fn before_closers(&self, start: usize, end: usize, which: Closers) -> Option<usize> {
        let content = self.bytes.get(start..end)?;
        let mut open = self
            .stack
            .iter()
            .rev()
            .filter(|frame| frame.kind.is_container());
        let depth = open.clone().count();
        let mut rest = content;
        let mut found = Vec::new();
        while let Some((&closer @ (b'}' | b']'), before)) = rest.split_last() {
            if found.len() == depth {
                return None;
            }
            found.push(closer);
            rest = before.trim_ascii_end();
        }
        let enough = match which {
            Closers::All => found.len() == depth,
            Closers::Some => true,
        };
        let matching = found
            .iter()
            .rev()
            .all(|&closer| open.next().is_some_and(|frame| frame.closer == closer));
        let own = |opener: u8, closer: u8| {
            let count = |wanted: u8| memchr::memchr_iter(wanted, rest).count();
            found.contains(&closer) && count(opener) > count(closer)
        };
        let fits = !found.is_empty() && enough && matching && !own(b'{', b'}') && !own(b'[', b']');
        fits.then(|| start + rest.len())
    }

    /// Reads a string whose quotes are escaped: the text was encoded as a
    /// string once too often.
    pub(super) fn escaped_string(&mut self) {
        let open = self.pos;
        let start = open + 2;
        let mut at = start;
        let mut end = None;
        while let Some(offset) = memchr::memchr(b'"', self.bytes.get(at..).unwrap_or_default()) {
            at += offset;
            let before = self.bytes.get(start..at).unwrap_or_default();
            let slashes = before
                .iter()
                .rev()
                .take_while(|&&byte| byte == b'\\')
                .count();
            if slashes == 0 || (slashes / 2) % 2 == 0 {
                end = Some((at - slashes % 2, at + 1));
                break;
            }
            at += 1;
        }
        self.writer.note(ProblemCode::WrongQuotes, open);
        let (end, resume, limit) = match end {
            Some((end, resume)) => (end, resume, Limit::Whole),
            None => (self.text.len(), self.text.len(), Limit::CutOff),
        };
        self.writer.replace(open, resume, "\"");
        let content = unescape_once(self.text.get(start..end).unwrap_or_default());
        write_content(&mut self.writer, &content, resume, limit);
        self.writer.insert(resume, "\"");
        if limit == Limit::CutOff {
            self.writer.note(ProblemCode::MissingQuotes, resume);
            self.in_string = true;
        }
        self.pos = resume;
    }
}

/// Whether the run has a control character. There is no early exit, so that it
/// compiles to vector instructions.
fn has_control(run: &[u8]) -> bool {
    run.iter().fold(u8::MAX, |least, &byte| least.min(byte)) < 0x20
}

/// How many of the open containers have to be closed at the end of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closers {
    Some,
    All,
}

trait Brackets {
    fn is_open(&self, json: &mut Embedded, at: usize) -> bool;
}

impl Brackets for [u8] {
    /// Counts brackets up to `at`, and returns whether any are open.
    fn is_open(&self, json: &mut Embedded, at: usize) -> bool {
        for byte in self.get(json.counted..at).unwrap_or_default() {
            match byte {
                b'{' | b'[' => json.open += 1,
                b'}' | b']' => json.open -= 1,
                _ => {}
            }
        }
        json.counted = json.counted.max(at);
        json.open > 0
    }
}
