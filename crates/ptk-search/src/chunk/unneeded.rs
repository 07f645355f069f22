//! What need not be parsed, found without a parser.
//!
//! Most of a source is what functions do and what comments say, and most of
//! the time of an index goes into parsing that, though chunks follow what is
//! around it. So a scan that knows no more than strings, comments and brackets
//! finds both, and the parser is given the rest. A source that the scan cannot
//! make sense of is parsed whole.

use std::ops::Range;

/// Less is not worth leaving out.
const LEAST: usize = 64;

/// Of a Rust source, in order: what lies between the outermost brackets of each
/// function, and what stands behind the first mark of comments that follow each
/// other, to the end of the last. `None` if the brackets do not fit.
pub(super) fn rust(text: &str) -> Option<Vec<Range<usize>>> {
    let mut scan = Scan {
        bytes: text.as_bytes(),
        at: 0,
        comment: None,
        comments: Vec::new(),
    };
    let mut bodies: Vec<Range<usize>> = Vec::new();
    // What each open bracket is: a body, with where it begins, or another.
    let mut open: Vec<Option<usize>> = Vec::new();
    let mut inside = false;
    // Whether `fn name` was seen since the last end of a statement.
    let mut is_function = false;
    while let Some(token) = scan.next() {
        match token {
            Token::Open => {
                let body = (is_function && !inside).then_some(scan.at);
                inside |= body.is_some();
                open.push(body);
                is_function = false;
            }
            Token::Close => {
                if let Some(start) = open.pop()? {
                    inside = false;
                    let end = scan.at - 1;
                    // What is said in there goes along.
                    scan.forget(start);
                    if end - start >= LEAST {
                        bodies.push(start..end);
                    }
                }
                is_function = false;
            }
            Token::End => is_function = false,
            Token::Function => is_function = true,
        }
    }
    if !open.is_empty() {
        return None;
    }
    scan.settle();
    let mut unneeded = scan.comments;
    unneeded.extend(bodies);
    unneeded.sort_unstable_by_key(|range| range.start);
    Some(unneeded)
}

enum Token {
    Open,
    Close,
    /// The end of a statement.
    End,
    /// `fn` and a name behind it.
    Function,
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Comments on lines of their own that follow each other, behind the first
    /// mark, so far.
    comment: Option<Range<usize>>,
    /// Those that are over.
    comments: Vec<Range<usize>>,
}

impl Scan<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// The next token that matters; the scan stands behind it.
    fn next(&mut self) -> Option<Token> {
        loop {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            match byte {
                b'{' => return Some(Token::Open),
                b'}' => return Some(Token::Close),
                b';' => return Some(Token::End),
                b'"' => self.string(),
                b'\'' => self.quote(),
                b'/' if self.peek(0) == b'/' => self.line_comment(),
                b'/' if self.peek(0) == b'*' => self.comment(),
                byte if is_word(byte) => {
                    let start = self.at - 1;
                    while is_word(self.peek(0)) {
                        self.at += 1;
                    }
                    match self.bytes.get(start..self.at).unwrap_or_default() {
                        b"r" | b"br" | b"cr" => self.raw_string(),
                        b"fn" if self.names() => return Some(Token::Function),
                        _ => {}
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether a name follows, so that `fn` is no type.
    fn names(&self) -> bool {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let next = rest.iter().find(|byte| !byte.is_ascii_whitespace());
        next.is_some_and(|byte| is_word(*byte))
    }

    fn skip_until(&mut self, end: u8) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at += memchr::memchr(end, rest).unwrap_or(rest.len());
    }

    /// To the end of the line. Joins the comment to those right before it.
    fn line_comment(&mut self) {
        let start = self.at - 1;
        while matches!(self.peek(0), b'/' | b'!') {
            self.at += 1;
        }
        let behind = self.at;
        self.skip_until(b'\n');
        let before = self.bytes.get(..start).unwrap_or_default();
        let blank = before.iter().rev().take_while(|byte| is_blank(**byte));
        let line = start - blank.count();
        let is_alone = line == 0 || before.get(line - 1) == Some(&b'\n');
        match &mut self.comment {
            Some(comment) if is_alone && comment.end + 1 == line => comment.end = self.at,
            _ => {
                self.settle();
                self.comment = is_alone.then_some(behind..self.at);
            }
        }
    }

    /// Comments that followed each other are over.
    fn settle(&mut self) {
        let comment = self.comment.take();
        let comment = comment.filter(|it| it.len() >= LEAST);
        self.comments.extend(comment);
    }

    /// Comments from there on are not needed.
    fn forget(&mut self, from: usize) {
        self.comment = self.comment.take().filter(|it| it.start < from);
        while self.comments.last().is_some_and(|it| it.start >= from) {
            self.comments.pop();
        }
    }

    /// To the end of a string, whose first quote lies behind.
    fn string(&mut self) {
        while self.at < self.bytes.len() {
            match self.peek(0) {
                b'\\' => self.at += 2,
                b'"' => {
                    self.at += 1;
                    return;
                }
                _ => self.at += 1,
            }
        }
    }

    /// A character, or else the mark of a lifetime, which nothing closes.
    fn quote(&mut self) {
        if self.peek(0) == b'\\' {
            self.at += 2;
            self.skip_until(b'\'');
            self.at += 1;
        } else if self.peek(0) >= 0x80 || self.peek(1) == b'\'' {
            self.at += 1;
            self.skip_until(b'\'');
            self.at += 1;
        }
    }

    /// To the end of `r#"…"#`, whose `r` lies behind; a name like `r#type` is
    /// none.
    fn raw_string(&mut self) {
        let mut marks = 0;
        while self.peek(marks) == b'#' {
            marks += 1;
        }
        if self.peek(marks) != b'"' {
            return;
        }
        self.at += marks + 1;
        while self.at < self.bytes.len() {
            let closes = self.peek(0) == b'"' && (1..=marks).all(|mark| self.peek(mark) == b'#');
            self.at += 1;
            if closes {
                self.at += marks;
                return;
            }
        }
    }

    /// To the end of a comment, in which others may lie.
    fn comment(&mut self) {
        self.at += 1;
        let mut depth = 1;
        while depth > 0 && self.at < self.bytes.len() {
            match (self.peek(0), self.peek(1)) {
                (b'*', b'/') => {
                    depth -= 1;
                    self.at += 2;
                }
                (b'/', b'*') => {
                    depth += 1;
                    self.at += 2;
                }
                _ => self.at += 1,
            }
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}
