//! A strict JSON scanner that can stop at any byte and go on later. It finds
//! where a value ends and what its top-level members are, and says how much of
//! it can no longer be changed by a repair.

use std::ops::Range;

use super::decode::{Decoded, Decoding, Escape, StringStop, escape, plain_run};
use super::undoubled::{Doubt, doubt};

/// Nesting beyond this is refused; `serde_json` refuses it at 128, and there is
/// a bit for each bracket.
const MAX_DEPTH: usize = 120;

/// Bytes at the end of an unfinished string that a repair may still take out
/// of it: `"a.txt}}` may turn out to be `"a.txt"}}`.
const UNSETTLED: &[u8] = b"}],: \t";

/// A string longer than this is decoded while it is read, by a scanner that is
/// asked to, so that it is not gone through twice.
const LONG: usize = 1 << 10;

/// A member of the root object: ranges of its key (with quotes) and value.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) key: Range<usize>,
    pub(crate) value: Range<usize>,
    pub(crate) closed: bool,
}

/// The progress of a scan.
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
enum ScanState {
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
enum ScanFrame {
    Object,
    Array,
}

/// The brackets that are open, innermost last: a bit each, so that no memory is
/// allocated.
#[derive(Debug, Default)]
struct Frames {
    arrays: u128,
    depth: usize,
}

impl Frames {
    fn push(&mut self, frame: ScanFrame) {
        self.arrays = self.arrays << 1 | u128::from(frame == ScanFrame::Array);
        self.depth += 1;
    }

    fn pop(&mut self) -> Option<ScanFrame> {
        let last = self.last()?;
        self.arrays >>= 1;
        self.depth -= 1;
        Some(last)
    }

    fn last(&self) -> Option<ScanFrame> {
        match (self.depth, self.arrays & 1) {
            (0, _) => None,
            (_, 0) => Some(ScanFrame::Object),
            _ => Some(ScanFrame::Array),
        }
    }
}

/// Scans one JSON object or array that starts at a given offset.
#[derive(Debug)]
pub(crate) struct Scanner {
    at: usize,
    token: usize,
    state: ScanState,
    stack: Frames,
    settled: usize,
    /// The first escape that a repair may read otherwise.
    doubtful: Option<usize>,
    /// The members of the root object seen so far.
    pub(crate) members: Vec<Member>,
    decodes: bool,
    /// The long strings that stood in the text as a whole, in their order.
    pub(crate) decoded: Vec<Decoded>,
}

impl Scanner {
    /// A scanner for the value that starts at `at`.
    pub(crate) fn new(at: usize) -> Self {
        Self {
            at,
            token: at,
            state: ScanState::Value,
            stack: Frames::default(),
            settled: at,
            doubtful: None,
            members: Vec::new(),
            decodes: false,
            decoded: Vec::new(),
        }
    }

    /// A scanner that also decodes long strings on the way.
    pub(crate) fn decoding(at: usize) -> Self {
        Self {
            decodes: true,
            ..Self::new(at)
        }
    }

    /// The offset up to which the text is what any repair would keep.
    pub(crate) fn settled(&self) -> usize {
        let doubtful = self.doubtful.unwrap_or(usize::MAX);
        self.settled.min(doubtful)
    }

    /// From where on the text may have been misread: the start of a string
    /// that did not close, or else the place that the scan has come to.
    pub(crate) fn doubtful_from(&self) -> usize {
        match self.state {
            ScanState::Text { .. } => self.token,
            _ => self.at,
        }
    }

    /// How far the text is known to be valid: up to a number or literal that
    /// did not end yet.
    pub(crate) fn position(&self) -> usize {
        match self.state {
            ScanState::Word => self.token,
            _ => self.at,
        }
    }

    /// Continues in `text`, which must start with all text given before.
    pub(crate) fn scan(&mut self, text: &str) -> Scan {
        let bytes = text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            let step = match self.state {
                ScanState::Text { key } => self.text(text, key),
                ScanState::Word => self.word(bytes),
                _ if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') => {
                    self.at += 1;
                    continue;
                }
                ScanState::Value | ScanState::FirstElement => self.value(byte),
                ScanState::FirstKey | ScanState::Key => self.key(byte),
                ScanState::Colon => self.colon(byte),
                ScanState::AfterValue => self.after_value(byte),
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
        if self.state == ScanState::FirstElement && byte == b']' {
            return self.close(ScanFrame::Array);
        }
        match byte {
            b'{' | b'[' if self.stack.depth >= MAX_DEPTH => return Err(()),
            b'{' => {
                self.open_member_value();
                self.stack.push(ScanFrame::Object);
                self.state = ScanState::FirstKey;
            }
            b'[' => {
                self.open_member_value();
                self.stack.push(ScanFrame::Array);
                self.state = ScanState::FirstElement;
            }
            _ if self.stack.depth == 0 => return Err(()),
            b'"' => {
                self.open_member_value();
                self.token = self.at;
                self.state = ScanState::Text { key: false };
            }
            b'-' | b'0'..=b'9' | b'a'..=b'z' => {
                self.open_member_value();
                self.token = self.at;
                self.state = ScanState::Word;
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
                self.state = ScanState::Text { key: true };
                self.at += 1;
                Ok(true)
            }
            b'}' if self.state == ScanState::FirstKey => self.close(ScanFrame::Object),
            _ => Err(()),
        }
    }

    fn colon(&mut self, byte: u8) -> Result<bool, ()> {
        if byte != b':' {
            return Err(());
        }
        self.at += 1;
        self.settled = self.at;
        self.state = ScanState::Value;
        Ok(true)
    }

    fn after_value(&mut self, byte: u8) -> Result<bool, ()> {
        match (byte, self.stack.last()) {
            (b',', Some(ScanFrame::Object)) => {
                self.at += 1;
                self.state = ScanState::Key;
                Ok(true)
            }
            (b',', Some(ScanFrame::Array)) => {
                self.settled = self.at;
                self.at += 1;
                self.state = ScanState::Value;
                Ok(true)
            }
            (b'}', Some(ScanFrame::Object)) => self.close(ScanFrame::Object),
            (b']', Some(ScanFrame::Array)) => self.close(ScanFrame::Array),
            _ => Err(()),
        }
    }

    fn close(&mut self, frame: ScanFrame) -> Result<bool, ()> {
        if self.stack.pop() != Some(frame) {
            return Err(());
        }
        self.at += 1;
        self.end_value();
        Ok(true)
    }

    /// Reads on in a string. `Ok(false)` if an escape is cut by the end of the text.
    fn text(&mut self, text: &str, key: bool) -> Result<bool, ()> {
        let bytes = text.as_bytes();
        let start = self.at;
        let decodes = self.decodes && !key && start == self.token + 1;
        // Behind the last escape.
        let mut escaped = start;
        let stop = loop {
            let rest = bytes.get(self.at..).unwrap_or_default();
            let run = plain_run(rest);
            self.at += run;
            match rest.get(run) {
                Some(b'"') => break Ok(true),
                Some(b'\\') => match escape(rest.get(run..).unwrap_or_default()) {
                    Escape::Char(_, length) => {
                        let content = bytes.get(self.token + 1..).unwrap_or_default();
                        match doubt(content, self.at - self.token - 1) {
                            Doubt::No => {}
                            Doubt::Yes => {
                                self.doubtful.get_or_insert(self.at);
                            }
                            Doubt::Cut => break Ok(false),
                        }
                        self.at += length;
                        escaped = self.at;
                    }
                    Escape::Cut => break Ok(false),
                    Escape::Bad => break Err(()),
                },
                Some(_) => break Err(()),
                None => break Ok(false),
            }
            if decodes && self.at - start > LONG {
                break self.decode(text, start, &mut escaped);
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
            self.state = ScanState::Colon;
            // Mostly it follows at once.
            if bytes.get(self.at) == Some(&b':') {
                return self.colon(b':');
            }
        } else {
            self.end_value();
        }
        Ok(true)
    }

    /// Reads a long string from its start and keeps the decoded text.
    fn decode(&mut self, text: &str, start: usize, escaped: &mut usize) -> Result<bool, ()> {
        let mut string = Decoding::new(start, 2 * LONG);
        let stop = loop {
            match string.read(text) {
                StringStop::Full(needed) => {
                    let rest = text.len() - string.at;
                    let more = string.text.len().min(rest);
                    string.text.reserve_exact(more.max(needed));
                }
                StringStop::Quote => break Ok(true),
                StringStop::Cut => break Ok(false),
                StringStop::Fault => break Err(()),
            }
        };
        self.at = string.at;
        self.doubtful = self.doubtful.or(string.doubtful);
        *escaped = string.escaped;
        if stop == Ok(true) {
            self.decoded.push(Decoded {
                range: start..string.at,
                text: string.text,
            });
        }
        stop
    }

    /// Whether the current string's content settles while it is read: only the
    /// value of an object's member does, as a repair may turn a string in an
    /// array into a key.
    fn is_live(&self, key: bool) -> bool {
        !key && self.stack.last() == Some(ScanFrame::Object)
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
        self.state = ScanState::AfterValue;
        if self.stack.depth == 1
            && self.stack.last() == Some(ScanFrame::Object)
            && let Some(member) = self.members.last_mut()
        {
            member.value.end = self.at;
            member.closed = true;
        }
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
    fn a_long_string_is_decoded_on_the_way_and_read_no_differently() {
        let long = r#"a \"é\" \ud83d\ude00\n"#.repeat(LONG / 8);
        for tail in ["", "\"", "\", \"b\": 1}", "\\", "\\x", "\\ud8", "\n"] {
            let text = format!("{{\"k\": \"{long}{tail}");
            let (mut plain, mut decoding) = (Scanner::new(0), Scanner::decoding(0));
            assert_eq!(plain.scan(&text), decoding.scan(&text), "{tail}");
            assert_eq!(plain.settled(), decoding.settled(), "{tail}");
            assert_eq!(decoding.decoded.len(), usize::from(tail.starts_with('"')));
            for string in decoding.decoded {
                let json = format!("\"{}\"", &text[string.range]);
                assert_eq!(serde_json::from_str::<String>(&json).unwrap(), string.text);
            }
        }
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
            r#"{"a":"\nablas \notin \n","b":"\frac"}"#,
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
    fn what_a_repair_may_read_as_a_backslash_is_not_settled() {
        let long = "x".repeat(2 * LONG);
        for (text, settled) in [
            (r#"{"a":"x\frac", "b":1"#, r#"{"a":"x"#),
            (r#"{"a":"x\nabla y"#, r#"{"a":"x"#),
            (r#"{"a":"x\nab"#, r#"{"a":"x"#),
            (r#"{"a":"x\n"#, r#"{"a":"x"#),
            (r#"{"a":"x\nabc"#, r#"{"a":"x\nabc"#),
            (r#"{"a":"x\n y"#, r#"{"a":"x\n y"#),
            (r#"{"a":"C:\new y"#, r#"{"a":"C:"#),
        ] {
            for text in [text.to_owned(), text.replace('x', &long)] {
                let settled = settled.replace('x', if text.len() > LONG { &long } else { "x" });
                let mut scanner = Scanner::decoding(0);
                scanner.scan(&text);
                assert_eq!(&text[..scanner.settled()], settled, "{text}");
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
