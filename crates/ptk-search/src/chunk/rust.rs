//! The outline of a Rust source, without a parser.
//!
//! Parsing was most of what an index by words cost, and nearly all of it went
//! into what functions do, which no outline shows. Items begin with words of
//! their own and end with a bracket or a semicolon, so a scan that knows these
//! words, strings, comments and brackets finds them all. It gives up where
//! anything else stands between items, or where brackets do not fit; such a
//! source is parsed.

use super::lines::Source;
use super::outline::{Leading, MAX_DEPTH, function_in, is_long, joined, one_line};
use super::{Item, Kind};

/// The items of a source, each after the one that it lies in. `None` if it has
/// to be parsed.
pub(super) fn outline(source: &Source<'_>) -> Option<Vec<Item>> {
    let mut outline = Outline {
        scan: Scan {
            text: source.text,
            at: 0,
            open: Vec::new(),
        },
        source,
        items: Vec::new(),
        frames: Vec::new(),
        frame: Frame::default(),
    };
    outline.run()?;
    Some(outline.items)
}

/// What is being looked into.
#[derive(Debug, Default)]
struct Frame {
    scope: String,
    /// What the definitions in here are members of, and its place among the
    /// items.
    container: Option<(Kind, usize)>,
    leading: Leading,
}

struct Outline<'a> {
    scan: Scan<'a>,
    source: &'a Source<'a>,
    items: Vec<Item>,
    /// Those that the innermost lies in.
    frames: Vec<Frame>,
    frame: Frame,
}

impl<'a> Outline<'a> {
    fn run(&mut self) -> Option<()> {
        loop {
            self.scan.skip_blanks();
            let start = self.scan.at;
            match self.scan.peek(0) {
                _ if start >= self.scan.text.len() => {
                    return self.frames.is_empty().then_some(());
                }
                b'/' => {
                    self.scan.comment()?;
                    let (first, last) = self.lines(start);
                    self.frame.leading.add(first, last);
                }
                b'#' => self.attribute()?,
                b'}' => self.leave()?,
                b';' => {
                    self.scan.at += 1;
                    self.plain(start);
                }
                _ => self.item()?,
            }
        }
    }

    /// The lines from a place to where the scan is.
    fn lines(&self, start: usize) -> (usize, usize) {
        let first = self.source.line_of(start);
        let last = self.source.line_of(self.scan.at.saturating_sub(1));
        (first, last)
    }

    fn attribute(&mut self) -> Option<()> {
        let start = self.scan.at;
        self.scan.at += 1;
        let is_inner = self.scan.takes(b'!');
        self.scan.group(b'[')?;
        let (first, last) = self.lines(start);
        if is_inner {
            self.frame.leading.take(first, last);
        } else {
            self.frame.leading.add(first, last);
        }
        Some(())
    }

    /// Something that is no definition, or too short for one.
    fn plain(&mut self, start: usize) {
        let (first, last) = self.lines(start);
        self.frame.leading.take(first, last);
    }

    /// A definition that is kept whole.
    fn whole(&mut self, start: usize, kind: Kind, name: &str) {
        let (first, last) = self.lines(start);
        let first = self.frame.leading.take(first, last);
        self.define((first, last), kind, name);
    }

    /// A definition, if it is of some length.
    fn value(&mut self, start: usize, kind: Kind, name: &str) {
        let (first, last) = self.lines(start);
        let first = self.frame.leading.take(first, last);
        if is_long(first, last) {
            self.define((first, last), kind, name);
        }
    }

    fn define(&mut self, (first, last): (usize, usize), kind: Kind, name: &str) {
        self.items.push(Item {
            first,
            last,
            kind,
            symbol: Some(one_line(name)).filter(|name| !name.is_empty()),
            scope: self.frame.scope.clone(),
        });
    }

    /// Goes into a definition with others in it, whose bracket lies behind.
    fn enter(&mut self, start: usize, kind: Kind, name: &str, own: &str) -> Option<()> {
        if self.frames.len() >= MAX_DEPTH {
            return None;
        }
        let (first, opening) = self.lines(start);
        let first = self.frame.leading.take(first, opening);
        self.define((first, opening), kind, name);
        let inner = Frame {
            scope: joined(&self.frame.scope, own),
            container: Some((kind, self.items.len() - 1)),
            leading: Leading::after(opening),
        };
        self.frames.push(std::mem::replace(&mut self.frame, inner));
        Some(())
    }

    /// The end of what was gone into.
    fn leave(&mut self) -> Option<()> {
        let outer = self.frames.pop()?;
        let last = self.source.line_of(self.scan.at);
        self.scan.at += 1;
        let inner = std::mem::replace(&mut self.frame, outer);
        let (_, at) = inner.container?;
        self.items.get_mut(at)?.last = last;
        self.frame.leading = Leading::after(last);
        Some(())
    }

    /// What begins with a word.
    fn item(&mut self) -> Option<()> {
        let start = self.scan.at;
        let mut word = self.scan.word()?;
        loop {
            match word {
                "pub" => {
                    if self.scan.next_is(b'(') {
                        self.scan.group(b'(')?;
                    }
                }
                "default" | "async" | "unsafe" => {}
                "const" => {
                    let name = self.scan.word()?;
                    if !matches!(name, "fn" | "unsafe" | "async" | "extern") {
                        return self.constant(start, name);
                    }
                    word = name;
                    continue;
                }
                "extern" => {
                    if self.scan.next_is(b'"') {
                        self.scan.at += 1;
                        self.scan.string()?;
                    }
                    if self.scan.takes(b'{') {
                        return self.enter(start, Kind::Module, "", Kind::Module.name());
                    }
                }
                _ => break,
            }
            word = self.scan.word()?;
        }
        self.keyword(start, word)
    }

    fn keyword(&mut self, start: usize, word: &'a str) -> Option<()> {
        match word {
            "fn" => self.function(start)?,
            "struct" => self.structure(start, Kind::Struct)?,
            "enum" => self.structure(start, Kind::Enum)?,
            "union" if !self.scan.next_is(b'!') => self.structure(start, Kind::Union)?,
            "impl" => self.implementation(start)?,
            "trait" => {
                let name = self.scan.word()?;
                if self.scan.header()? != Header::Opened {
                    return None;
                }
                self.enter(start, Kind::Trait, name, &format!("trait {name}"))?;
            }
            "mod" => {
                let name = self.scan.word()?;
                if self.scan.takes(b'{') {
                    self.enter(start, Kind::Module, name, &format!("mod {name}"))?;
                } else if self.scan.takes(b';') {
                    self.value(start, Kind::Module, name);
                } else {
                    return None;
                }
            }
            "type" => {
                let name = self.scan.word()?;
                match self.scan.header()? {
                    Header::Assigned => self.value(start, Kind::Type, name),
                    Header::Ended => self.plain(start),
                    Header::Opened => return None,
                }
            }
            "static" => {
                let name = match self.scan.word()? {
                    "mut" => self.scan.word()?,
                    name => name,
                };
                self.constant(start, name)?;
            }
            "use" | "crate" if !self.scan.next_is(b'!') => {
                self.scan.statement()?;
                self.plain(start);
            }
            "macro_rules" => {
                let name = self.scan.takes(b'!').then(|| self.scan.word())??;
                self.scan.macro_body()?;
                self.whole(start, Kind::Macro, name);
            }
            _ => {
                self.scan.macro_call()?;
                self.plain(start);
            }
        }
        Some(())
    }

    fn function(&mut self, start: usize) -> Option<()> {
        let name = self.scan.word()?;
        let kind = function_in(self.frame.container.map(|(kind, _)| kind));
        match self.scan.header()? {
            Header::Opened => {
                self.scan.close(b'{')?;
                self.whole(start, kind, name);
            }
            Header::Ended => self.value(start, kind, name),
            Header::Assigned => return None,
        }
        Some(())
    }

    fn structure(&mut self, start: usize, kind: Kind) -> Option<()> {
        let name = self.scan.word()?;
        match self.scan.header()? {
            Header::Opened => self.scan.close(b'{')?,
            Header::Ended => {}
            Header::Assigned => return None,
        }
        self.whole(start, kind, name);
        Some(())
    }

    fn constant(&mut self, start: usize, name: &str) -> Option<()> {
        if !self.scan.takes(b':') {
            return None;
        }
        self.scan.statement()?;
        self.value(start, Kind::Constant, name);
        Some(())
    }

    fn implementation(&mut self, start: usize) -> Option<()> {
        let behind = self.scan.at;
        if self.scan.header()? != Header::Opened {
            return None;
        }
        let end = self.scan.at - 1;
        let own = one_line(self.scan.text.get(start..end)?);
        let name = implemented(self.scan.text.get(behind..end)?)?;
        self.enter(start, Kind::Impl, name, &own)
    }
}

/// The type that an implementation is for, without what it is generic over:
/// of `<T> Read for io::Reader<T> where T: Read`, `io::Reader`.
fn implemented(header: &str) -> Option<&str> {
    let mut scan = Scan {
        text: header,
        at: 0,
        open: Vec::new(),
    };
    scan.skip_blanks();
    if scan.peek(0) == b'<' {
        scan.angles()?;
    }
    let mut start = scan.at;
    let mut end = header.len();
    while scan.at < header.len() {
        let at = scan.at;
        match scan.peek(0) {
            b'<' => scan.angles()?,
            open @ (b'(' | b'[' | b'{') => scan.group(open)?,
            b'/' => return None,
            byte if is_word(byte) => match scan.word()? {
                // Not the one of `for<'a>`, which belongs to what follows.
                "for" if !scan.next_is(b'<') => start = scan.at,
                "where" => {
                    end = at;
                    break;
                }
                _ => {}
            },
            b'\'' => {
                scan.at += 1;
                scan.quote();
            }
            _ => scan.at += 1,
        }
    }
    plain_type(header.get(start..end)?.trim())
}

/// A type without references and without what it is generic over.
fn plain_type(whole: &str) -> Option<&str> {
    if let Some(inner) = whole.strip_prefix('&') {
        let mut inner = inner.trim_start();
        if inner.starts_with('\'') {
            let (_, behind) = inner.split_once(char::is_whitespace)?;
            inner = behind.trim_start();
        }
        return Some(inner.strip_prefix("mut ").unwrap_or(inner).trim_start());
    }
    if let Some(inner) = whole.strip_prefix('*') {
        let (_, inner) = inner.trim_start().split_once(char::is_whitespace)?;
        return Some(inner.trim_start());
    }
    let is_path = whole.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == ':');
    if !is_path || !whole.ends_with('>') || whole.starts_with("dyn ") {
        return Some(whole);
    }
    // Where the last of what it is generic over begins.
    let bytes = whole.as_bytes();
    let mut depth = 0_usize;
    for (at, byte) in bytes.iter().enumerate().rev() {
        let is_arrow = || at.checked_sub(1).and_then(|at| bytes.get(at)) == Some(&b'-');
        match byte {
            b'>' if !is_arrow() => depth += 1,
            b'<' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            let name = whole.get(..at)?.trim_end();
            // A function's type ends with that of its result.
            let is_function = name.contains('(');
            let name = name.strip_suffix("::").unwrap_or(name);
            return Some(if is_function { whole } else { name });
        }
    }
    None
}

/// What a header is followed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Header {
    /// A bracket, which lies behind.
    Opened,
    /// The end of the item.
    Ended,
    /// The same, after what the name is to stand for.
    Assigned,
}

/// A place in a text, which only goes on.
struct Scan<'a> {
    text: &'a str,
    at: usize,
    /// What closes the brackets of a group.
    open: Vec<u8>,
}

/// Bytes that matter in a group.
const BRACKET: u8 = 1;
/// Bytes that matter between the brackets of a header, besides.
const SIGN: u8 = 2;

/// What matters where, by its byte.
const MARKS: [u8; 256] = {
    let mut marks = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        #[allow(clippy::cast_possible_truncation, reason = "it is below 256")]
        let mark = match byte as u8 {
            b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'"' | b'\'' | b'/' => BRACKET | SIGN,
            b'<' | b'>' | b';' | b'=' => SIGN,
            _ => 0,
        };
        #[allow(
            clippy::indexing_slicing,
            reason = "a constant: wrong, it does not compile"
        )]
        {
            marks[byte] = mark;
        }
        byte += 1;
    }
    marks
};

impl<'a> Scan<'a> {
    fn peek(&self, ahead: usize) -> u8 {
        let bytes = self.text.as_bytes();
        bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        let blanks = rest.iter().position(|byte| !byte.is_ascii_whitespace());
        self.at += blanks.unwrap_or(rest.len());
    }

    /// Blanks and comments.
    fn skip(&mut self) -> Option<()> {
        loop {
            self.skip_blanks();
            match (self.peek(0), self.peek(1)) {
                (b'/', b'/' | b'*') => self.comment()?,
                _ => return Some(()),
            }
        }
    }

    fn next_is(&mut self, byte: u8) -> bool {
        self.skip().is_some() && self.peek(0) == byte
    }

    /// Goes on behind a byte, if that is the next.
    fn takes(&mut self, byte: u8) -> bool {
        let takes = self.next_is(byte);
        self.at += usize::from(takes);
        takes
    }

    /// The next word, if one follows.
    fn word(&mut self) -> Option<&'a str> {
        self.skip()?;
        let start = self.at;
        if self.rest().starts_with(b"r#") {
            self.at += 2;
        }
        let rest = self.rest();
        let length = rest.iter().position(|byte| !is_word(*byte));
        self.at += length.unwrap_or(rest.len());
        let word = self.text.get(start..self.at)?;
        (!word.is_empty()).then_some(word)
    }

    /// The next byte that matters, behind which the scan then is. Strings,
    /// characters and comments do not.
    fn mark(&mut self, which: u8) -> Option<u8> {
        loop {
            let rest = self.rest();
            let matters = |byte: &u8| {
                let mark = MARKS.get(usize::from(*byte)).copied();
                mark.unwrap_or_default() & which != 0
            };
            let found = rest.iter().position(matters)?;
            let byte = rest.get(found).copied()?;
            self.at += found + 1;
            match byte {
                b'"' => self.string()?,
                b'\'' => self.quote(),
                b'/' if matches!(self.peek(0), b'/' | b'*') => {
                    self.at -= 1;
                    self.comment()?;
                }
                b'/' => {}
                byte => return Some(byte),
            }
        }
    }

    /// What stands in brackets of this kind.
    fn group(&mut self, open: u8) -> Option<()> {
        if !self.takes(open) {
            return None;
        }
        self.close(open)
    }

    /// To the end of a group, whose bracket lies behind.
    fn close(&mut self, open: u8) -> Option<()> {
        self.open.clear();
        self.open.push(closing(open)?);
        while !self.open.is_empty() {
            let byte = self.mark(BRACKET)?;
            match closing(byte) {
                Some(closing) => self.open.push(closing),
                None if self.open.pop() == Some(byte) => {}
                None => return None,
            }
        }
        Some(())
    }

    /// To what follows the head of an item.
    fn header(&mut self) -> Option<Header> {
        let mut angles = 0_usize;
        let mut end = Header::Ended;
        loop {
            match self.mark(SIGN)? {
                b'<' => angles += 1,
                b'>' if !self.is_arrow() => angles = angles.checked_sub(1)?,
                b'=' if angles == 0 => end = Header::Assigned,
                b';' => return Some(end),
                b'{' if angles == 0 && end == Header::Ended => return Some(Header::Opened),
                open @ (b'(' | b'[' | b'{') => self.close(open)?,
                b')' | b']' | b'}' => return None,
                _ => {}
            }
        }
    }

    /// Whether the `>` that lies behind belongs to `->`.
    fn is_arrow(&self) -> bool {
        let before = self.at.checked_sub(2);
        let before = before.and_then(|at| self.text.as_bytes().get(at));
        before == Some(&b'-')
    }

    /// From `<` to the `>` that belongs to it.
    fn angles(&mut self) -> Option<()> {
        let mut angles = 0_usize;
        loop {
            match self.mark(SIGN)? {
                b'<' => angles += 1,
                b'>' if !self.is_arrow() => angles = angles.checked_sub(1)?,
                open @ (b'(' | b'[' | b'{') => self.close(open)?,
                b')' | b']' | b'}' => return None,
                _ => {}
            }
            if angles == 0 {
                return Some(());
            }
        }
    }

    /// To the semicolon, whatever is before it.
    fn statement(&mut self) -> Option<()> {
        loop {
            match self.mark(SIGN)? {
                b';' => return Some(()),
                open @ (b'(' | b'[' | b'{') => self.close(open)?,
                b')' | b']' | b'}' => return None,
                _ => {}
            }
        }
    }

    /// The rest of a call such as `name::of::macro!(…);`.
    fn macro_call(&mut self) -> Option<()> {
        while self.takes(b':') {
            if !self.takes(b':') {
                return None;
            }
            self.word()?;
        }
        if !self.takes(b'!') {
            return None;
        }
        self.macro_body()
    }

    /// What a macro is made of or given: in braces, or before a semicolon.
    fn macro_body(&mut self) -> Option<()> {
        if self.next_is(b'{') {
            return self.group(b'{');
        }
        let open = if self.next_is(b'(') { b'(' } else { b'[' };
        self.group(open)?;
        self.takes(b';').then_some(())
    }

    /// A comment, in which others may lie.
    fn comment(&mut self) -> Option<()> {
        if self.peek(1) == b'/' {
            let rest = self.rest();
            self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            return Some(());
        }
        if self.peek(1) != b'*' {
            return None;
        }
        self.at += 2;
        let mut depth = 1;
        while depth > 0 {
            self.at += memchr::memchr2(b'*', b'/', self.rest())?;
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
        Some(())
    }

    /// To the end of a string, whose first quote lies behind.
    fn string(&mut self) -> Option<()> {
        if let Some(marks) = self.raw() {
            loop {
                self.at += memchr::memchr(b'"', self.rest())? + 1;
                if (0..marks).all(|mark| self.peek(mark) == b'#') {
                    self.at += marks;
                    return Some(());
                }
            }
        }
        loop {
            self.at += memchr::memchr2(b'"', b'\\', self.rest())? + 1;
            match self.text.as_bytes().get(self.at - 1) {
                Some(b'\\') => self.at += 1,
                _ => return Some(()),
            }
        }
    }

    /// Whether the quote that lies behind is that of `r#"…"#`, and how many
    /// marks it has.
    fn raw(&self) -> Option<usize> {
        let before = self.text.as_bytes().get(..self.at.checked_sub(1)?)?;
        let marks = before
            .iter()
            .rev()
            .take_while(|byte| **byte == b'#')
            .count();
        let before = before.get(..before.len() - marks)?.strip_suffix(b"r")?;
        let before = before
            .strip_suffix(b"b")
            .or(before.strip_suffix(b"c"))
            .unwrap_or(before);
        let is_part = before.last().is_some_and(|byte| is_word(*byte));
        (!is_part).then_some(marks)
    }

    /// A character, or else the mark of a lifetime, which nothing closes.
    fn quote(&mut self) {
        if self.peek(0) == b'\\' {
            self.at += 2;
            let rest = self.rest();
            self.at += memchr::memchr(b'\'', rest).map_or(rest.len(), |found| found + 1);
            return;
        }
        let rest = self.text.get(self.at..).unwrap_or_default();
        let length = rest.chars().next().map_or(0, char::len_utf8);
        if self.peek(length) == b'\'' {
            self.at += length + 1;
        }
    }
}

/// What closes a bracket.
fn closing(open: u8) -> Option<u8> {
    match open {
        b'(' => Some(b')'),
        b'[' => Some(b']'),
        b'{' => Some(b'}'),
        _ => None,
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::super::{grammar, tree};
    use super::*;
    use crate::Language;

    fn parsed(text: &str) -> Option<Vec<Item>> {
        let grammar = grammar::of(Language::Rust).unwrap();
        tree::outline(&mut tree_sitter::Parser::new(), grammar, &Source::new(text))
    }

    #[test]
    fn what_looks_like_something_else_is_read_as_a_parser_does() {
        for text in [
            "fn a() { let s = \"}\"; let t = r#\"\"}\"#; let c = '}'; let d = '\\''; }\nfn b() {}\n",
            "fn a<'a>(x: &'a str) -> &'a str { x }\nfn b(c: u8) -> bool { c == b'\"' }\n",
            "fn a() { /* } /* } */ */ } // }\nfn b() {}\n",
            "fn a(x: Foo<{ 1 + 1 }>) -> [u8; { 2 }] where u8: Copy, { x }\nfn b() {}\n",
            "struct A<T>(T) where T: Fn() -> u8;\nunion B { a: u8 }\nenum C { D { e: u8 } }\n",
            "impl<T> a::Read for &'static mut io::Reader<T> where T: b::X {\n    fn c() {}\n}\n",
            "impl Renamer for Box<dyn Fn(&str) -> String + Send> {\n    fn c() {}\n}\n",
            "unsafe impl<const N: usize> Send for [u8; N] {}\nimpl !Sync for (u8, A<B>) {}\n",
            "impl Trait for dyn Other<A> {}\nimpl<A> Trait for fn(A) -> Box<A> {}\n",
            "extern \"C\" {\n    /// Long.\n    ///\n    /// Longer.\n    fn a(b: u8);\n}\npub extern \"C\" fn d() {}\n",
            "#![allow(x)]\n// One.\n\n// Two.\n#[test]\n/// Three.\nfn a() {} // Behind.\nfn b() {}\n",
            "macro_rules! a { ($x:tt) => { fn b() {} }; }\na! { fn c() {} }\nd::e!(fn f() {});\n",
            "const A: [u8; 4] = [\n    1,\n    2,\n];\nstatic mut B: u8 = 1 << 2;\npub(crate) const fn c() {}\n",
            "trait A: B {\n    type C: D;\n    const E: u8;\n    fn r#fn(&self) -> Self::C;\n    fn g() {}\n}\n",
            "mod a {\n    mod b {\n        fn c() {}\n    }\n    use d::{e, f};\n}\n",
        ] {
            let scanned = outline(&Source::new(text));
            assert!(scanned.is_some(), "{text}");
            assert_eq!(scanned, parsed(text), "{text}");
        }
    }

    #[test]
    fn what_is_no_row_of_items_is_given_up() {
        for text in [
            "fn a() {",
            "fn a() { (] }",
            "}",
            "let a = 1;",
            "fn a() { \"",
            "/* ",
            "mod a {",
            "[1, 2]",
            "struct",
            "#!/bin/sh\n",
        ] {
            assert_eq!(outline(&Source::new(text)), None, "{text}");
        }
    }

    /// With `PTK_SOURCES`, over the sources in another folder.
    #[test]
    fn a_scan_finds_what_a_parser_does() {
        let own = || concat!(env!("CARGO_MANIFEST_DIR"), "/../ptk-tools").to_owned();
        let folder = std::env::var("PTK_SOURCES").unwrap_or_else(|_| own());
        let (mut files, mut given_up, mut other) = (0, Vec::new(), Vec::new());
        for entry in ignore::WalkBuilder::new(folder).build() {
            let path = entry.unwrap().into_path();
            let is_rust = path.extension().is_some_and(|it| it == "rs");
            let text = is_rust.then(|| std::fs::read_to_string(&path).ok());
            let Some(text) = text.flatten() else {
                continue;
            };
            files += 1;
            match outline(&Source::new(&text)) {
                None => given_up.push(path),
                scanned if scanned != parsed(&text) => other.push(path),
                _ => {}
            }
        }
        assert!(files > 100, "{files}");
        let without = given_up.len();
        assert!(without * 50 <= files, "{without} of {files}: {given_up:#?}");
        assert!(other.is_empty(), "{} of {files}: {other:#?}", other.len());
    }
}
