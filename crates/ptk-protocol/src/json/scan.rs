//! A strict JSON scanner that can stop at any byte and go on later. It finds
//! where a value ends and what its top-level members are, and says how much of
//! it can no longer be changed by a repair.

use std::ops::Range;

/// Nesting beyond this is refused; `serde_json` refuses it at 128, and there is
/// a bit for each bracket.
const MAX_DEPTH: usize = 120;

/// Bytes at the end of an unfinished string that a repair may still take out
/// of it: `"a.txt}}` may turn out to be `"a.txt"}}`.
const UNSETTLED: &[u8] = b"}],: \t";

/// A member of the root object: ranges of its key (with quotes) and value.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) key: Range<usize>,
    pub(crate) value: Range<usize>,
    pub(crate) closed: bool,
}

/// Where the scan stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scan {
    /// The value goes on behind the text seen so far.
    More,
    /// The value ends before this offset.
    Done(usize),
    /// The byte at this offset is not valid JSON here.
    Fault(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Value,
    FirstElement,
    FirstKey,
    Key,
    Colon,
    AfterValue,
    Text { key: bool },
    Word,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frame {
    Object,
    Array,
}

/// The brackets that are open, innermost last: a bit each, so that no room has
/// to be made for them.
#[derive(Debug, Default)]
struct Frames {
    arrays: u128,
    depth: usize,
}

impl Frames {
    fn push(&mut self, frame: Frame) {
        self.arrays = self.arrays << 1 | u128::from(frame == Frame::Array);
        self.depth += 1;
    }

    fn pop(&mut self) -> Option<Frame> {
        let last = self.last()?;
        self.arrays >>= 1;
        self.depth -= 1;
        Some(last)
    }

    fn last(&self) -> Option<Frame> {
        match (self.depth, self.arrays & 1) {
            (0, _) => None,
            (_, 0) => Some(Frame::Object),
            _ => Some(Frame::Array),
        }
    }
}

/// Scans one JSON object or array that starts at a given offset.
#[derive(Debug)]
pub(crate) struct Scanner {
    at: usize,
    token: usize,
    state: State,
    stack: Frames,
    settled: usize,
    /// The members of the root object seen so far.
    pub(crate) members: Vec<Member>,
}

impl Scanner {
    /// A scanner for the value that starts at `at`.
    pub(crate) fn new(at: usize) -> Self {
        Self {
            at,
            token: at,
            state: State::Value,
            stack: Frames::default(),
            settled: at,
            members: Vec::new(),
        }
    }

    /// The offset up to which the text is what any repair would keep.
    pub(crate) fn settled(&self) -> usize {
        self.settled
    }

    /// From where on the text may have been misread: the start of a string
    /// that did not close, or else the place that the scan has come to.
    pub(crate) fn doubtful_from(&self) -> usize {
        match self.state {
            State::Text { .. } => self.token,
            _ => self.at,
        }
    }

    /// How far the text is known to be valid: up to a number or literal that
    /// did not end yet.
    pub(crate) fn position(&self) -> usize {
        match self.state {
            State::Word => self.token,
            _ => self.at,
        }
    }

    /// Goes on in `text`, which must start with all text given before.
    pub(crate) fn scan(&mut self, text: &str) -> Scan {
        let bytes = text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            let step = match self.state {
                State::Text { key } => self.text(bytes, key),
                State::Word => self.word(bytes),
                _ if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') => {
                    self.at += 1;
                    Ok(true)
                }
                State::Value | State::FirstElement => self.value(byte),
                State::FirstKey | State::Key => self.key(byte),
                State::Colon => self.colon(byte),
                State::AfterValue => self.after_value(byte),
            };
            match step {
                Ok(true) => {}
                Ok(false) => return Scan::More,
                Err(()) => return Scan::Fault(self.at),
            }
            if self.stack.depth == 0 {
                return Scan::Done(self.at);
            }
        }
        Scan::More
    }

    fn value(&mut self, byte: u8) -> Result<bool, ()> {
        if self.state == State::FirstElement && byte == b']' {
            return self.close(Frame::Array);
        }
        match byte {
            b'{' | b'[' if self.stack.depth >= MAX_DEPTH => return Err(()),
            b'{' => {
                self.open_member_value();
                self.stack.push(Frame::Object);
                self.state = State::FirstKey;
            }
            b'[' => {
                self.open_member_value();
                self.stack.push(Frame::Array);
                self.state = State::FirstElement;
            }
            _ if self.stack.depth == 0 => return Err(()),
            b'"' => {
                self.open_member_value();
                self.token = self.at;
                self.state = State::Text { key: false };
            }
            b'-' | b'0'..=b'9' | b'a'..=b'z' => {
                self.open_member_value();
                self.token = self.at;
                self.state = State::Word;
                return Ok(true);
            }
            _ => return Err(()),
        }
        self.at += 1;
        Ok(true)
    }

    fn key(&mut self, byte: u8) -> Result<bool, ()> {
        match byte {
            b'"' => {
                self.token = self.at;
                self.state = State::Text { key: true };
                self.at += 1;
                Ok(true)
            }
            b'}' if self.state == State::FirstKey => self.close(Frame::Object),
            _ => Err(()),
        }
    }

    fn colon(&mut self, byte: u8) -> Result<bool, ()> {
        if byte != b':' {
            return Err(());
        }
        self.at += 1;
        self.settled = self.at;
        self.state = State::Value;
        Ok(true)
    }

    fn after_value(&mut self, byte: u8) -> Result<bool, ()> {
        match (byte, self.stack.last()) {
            (b',', Some(Frame::Object)) => {
                self.at += 1;
                self.state = State::Key;
                Ok(true)
            }
            (b',', Some(Frame::Array)) => {
                self.settled = self.at;
                self.at += 1;
                self.state = State::Value;
                Ok(true)
            }
            (b'}', Some(Frame::Object)) => self.close(Frame::Object),
            (b']', Some(Frame::Array)) => self.close(Frame::Array),
            _ => Err(()),
        }
    }

    fn close(&mut self, frame: Frame) -> Result<bool, ()> {
        if self.stack.pop() != Some(frame) {
            return Err(());
        }
        self.at += 1;
        self.end_value();
        Ok(true)
    }

    /// Reads on in a string. `Ok(false)` if an escape is cut by the end of the text.
    fn text(&mut self, bytes: &[u8], key: bool) -> Result<bool, ()> {
        let start = self.at;
        // Behind the last escape.
        let mut escaped = start;
        let stop = loop {
            self.at += plain_run(bytes.get(self.at..).unwrap_or_default());
            match bytes.get(self.at) {
                Some(b'"') => break Ok(true),
                Some(b'\\') => match escape_length(bytes.get(self.at..).unwrap_or_default()) {
                    Escape::Valid(length) => {
                        self.at += length;
                        escaped = self.at;
                    }
                    Escape::Cut => break Ok(false),
                    Escape::Bad => break Err(()),
                },
                Some(_) => break Err(()),
                None => break Ok(false),
            }
        };
        self.settle_text(bytes, key, start, escaped);
        if stop != Ok(true) {
            return stop;
        }
        self.at += 1;
        if key {
            if self.stack.depth == 1 {
                self.members.push(Member {
                    key: self.token..self.at,
                    value: self.at..self.at,
                    closed: false,
                });
            }
            self.state = State::Colon;
        } else {
            self.end_value();
        }
        Ok(true)
    }

    /// Whether the current string's content settles while it is read: only the
    /// value of an object's member does, as a repair may turn a string in an
    /// array into a key.
    fn is_live(&self, key: bool) -> bool {
        !key && self.stack.last() == Some(Frame::Object)
    }

    /// Takes note of how much of the string, which was read on from `start` and
    /// has its last escape before `escaped`, is settled.
    fn settle_text(&mut self, bytes: &[u8], key: bool, start: usize, escaped: usize) {
        if !self.is_live(key) {
            return;
        }
        if escaped > start {
            self.settled = escaped;
        }
        let run = bytes.get(escaped..self.at).unwrap_or_default();
        if let Some(last) = run.iter().rposition(|byte| !UNSETTLED.contains(byte)) {
            self.settled = escaped + last + 1;
        }
    }

    fn word(&mut self, bytes: &[u8]) -> Result<bool, ()> {
        let rest = bytes.get(self.at..).unwrap_or_default();
        let length = rest.iter().position(
            |byte| !matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'+' | b'-' | b'.'),
        );
        let Some(length) = length else {
            self.at = bytes.len();
            return Ok(false);
        };
        self.at += length;
        let word = bytes.get(self.token..self.at).unwrap_or_default();
        if !matches!(word, b"true" | b"false" | b"null") && !is_number(word) {
            self.at = self.token;
            return Err(());
        }
        self.end_value();
        Ok(true)
    }

    fn open_member_value(&mut self) {
        if self.stack.depth == 1
            && let Some(member) = self.members.last_mut()
            && !member.closed
        {
            member.value = self.at..self.at;
        }
    }

    fn end_value(&mut self) {
        self.state = State::AfterValue;
        if self.stack.depth == 1
            && self.stack.last() == Some(Frame::Object)
            && let Some(member) = self.members.last_mut()
        {
            member.value.end = self.at;
            member.closed = true;
        }
    }
}

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

enum Escape {
    Valid(usize),
    Cut,
    Bad,
}

/// Measures the escape at the start of `bytes`. A pair of surrogates is one
/// escape; a lone one is bad, as no string can hold it.
fn escape_length(bytes: &[u8]) -> Escape {
    match bytes.get(1) {
        None => Escape::Cut,
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Escape::Valid(2),
        Some(b'u') => match unit(bytes, 2) {
            Unit::Value(0xD800..=0xDBFF) => match (bytes.get(6), bytes.get(7)) {
                (None, _) | (Some(b'\\'), None) => Escape::Cut,
                (Some(b'\\'), Some(b'u')) => match unit(bytes, 8) {
                    Unit::Value(0xDC00..=0xDFFF) => Escape::Valid(12),
                    Unit::Cut => Escape::Cut,
                    Unit::Value(_) | Unit::Bad => Escape::Bad,
                },
                _ => Escape::Bad,
            },
            Unit::Value(0xDC00..=0xDFFF) | Unit::Bad => Escape::Bad,
            Unit::Value(_) => Escape::Valid(6),
            Unit::Cut => Escape::Cut,
        },
        Some(_) => Escape::Bad,
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

/// The value of the four hexadecimal digits at `at`.
pub(crate) fn hex_unit(bytes: &[u8], at: usize) -> Option<u32> {
    match unit(bytes, at) {
        Unit::Value(value) => Some(value),
        Unit::Cut | Unit::Bad => None,
    }
}

/// Whether `word` is a JSON number.
fn is_number(word: &[u8]) -> bool {
    fn digits(bytes: &[u8]) -> (usize, &[u8]) {
        let count = bytes
            .iter()
            .position(|byte| !byte.is_ascii_digit())
            .unwrap_or(bytes.len());
        (count, bytes.get(count..).unwrap_or_default())
    }

    let word = word.strip_prefix(b"-").unwrap_or(word);
    let leading_zero = word.first() == Some(&b'0');
    let (count, mut rest) = digits(word);
    if count == 0 || (leading_zero && count > 1) {
        return false;
    }
    if let Some(fraction) = rest.strip_prefix(b".") {
        let (count, behind) = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = behind;
    }
    if let Some(exponent) = rest.strip_prefix(b"e").or_else(|| rest.strip_prefix(b"E")) {
        let exponent = exponent
            .strip_prefix(b"+")
            .or_else(|| exponent.strip_prefix(b"-"))
            .unwrap_or(exponent);
        let (count, behind) = digits(exponent);
        return count > 0 && behind.is_empty();
    }
    rest.is_empty()
}

#[cfg(test)]
#[expect(clippy::string_slice, reason = "tests cut at character boundaries")]
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

    fn scan_all(text: &str) -> Scan {
        Scanner::new(0).scan(text)
    }

    #[test]
    fn a_value_ends_where_its_last_bracket_closes() {
        assert_eq!(scan_all(r#"{"a": [1, {"b": "}]"}]} rest"#), Scan::Done(23));
        assert_eq!(scan_all("[]x"), Scan::Done(2));
        assert_eq!(scan_all("{}"), Scan::Done(2));
    }

    #[test]
    fn an_unfinished_value_wants_more() {
        for text in [
            "",
            "{",
            "{\"a",
            "{\"a\\",
            "{\"a\":\"\\u12",
            "{\"a\":tru",
            "{\"a\":1",
            "[1,",
        ] {
            assert_eq!(scan_all(text), Scan::More, "{text}");
        }
    }

    #[test]
    fn a_fault_is_where_the_grammar_breaks() {
        for (text, at) in [
            (r#"{"a":1,}"#, 7),
            ("{a:1}", 1),
            (r#"{"a":"b"c"}"#, 8),
            ("{\"a\":\"b\nc\"}", 7),
            (r#"{"a":True}"#, 5),
            (r#"{"a":01}"#, 5),
            (r#"{"a":"\x"}"#, 6),
            (r#"{"a":"\ud800"}"#, 6),
            (r#"{"a":1]"#, 6),
        ] {
            assert_eq!(scan_all(text), Scan::Fault(at), "{text}");
        }
    }

    #[test]
    fn any_split_gives_the_same_end_members_and_settled_text() {
        let texts = [
            r#"{"tool":"f","args":{"a":"x\n\u00e9\ud83d\ude00","b":[1,-2.5e3,"q"]},"n":null} tail"#,
            r#"{"a":"one" two"}"#,
            r#"{"a":"b}}"#,
        ];
        for text in texts {
            let mut whole = Scanner::new(0);
            let expected = whole.scan(text);
            for cut in 0..=text.len() {
                if !text.is_char_boundary(cut) {
                    continue;
                }
                let mut scanner = Scanner::new(0);
                let mut end = scanner.scan(&text[..cut]);
                if end == Scan::More {
                    end = scanner.scan(text);
                }
                assert_eq!(end, expected, "{text} cut at {cut}");
                assert_eq!(scanner.settled(), whole.settled(), "{text} cut at {cut}");
                assert_eq!(
                    format!("{:?}", scanner.members),
                    format!("{:?}", whole.members)
                );
            }
        }
    }

    #[test]
    fn closers_at_the_end_of_a_string_are_not_settled() {
        let mut scanner = Scanner::new(0);
        scanner.scan(r#"{"path":"a.txt}}"#);
        assert_eq!(scanner.settled(), r#"{"path":"a.txt"#.len());
    }
}
