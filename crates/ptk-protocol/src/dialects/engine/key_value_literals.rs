//! Names, lists and objects in the notation of [`super::key_values`].

use super::literals::{MAX_DEPTH, python_literal};
use super::quoted::Quoted;
use crate::parse::{Input, MarkAt, floor, mark_at};
use crate::schema::{Schema, coerce_plain};

/// The longest name of a tool or an argument.
pub(crate) const MAX_NAME: usize = 256;

/// The longest name of an argument in quotes, with its escapes.
const MAX_QUOTED_NAME: usize = 4096;

/// The marks around strings, of all families.
pub(crate) const STRINGS: &[&str] = &["<|\"|>", "<escape>"];

/// The result of looking for an argument's name.
pub(crate) enum KeyAt {
    /// A name, and how long it is with its colon.
    Finding(String, usize),
    More,
    None,
}

/// Parses the name at the start of the text: plain, between marks, or quoted.
pub(crate) fn key_at(text: &str, end: bool) -> KeyAt {
    let undecided = if end || text.len() > MAX_QUOTED_NAME {
        KeyAt::None
    } else {
        KeyAt::More
    };
    let (key, length) = match mark_at(text, STRINGS) {
        MarkAt::Partial => return undecided,
        MarkAt::Finding { index, length } => {
            let mark = STRINGS.get(index).copied().unwrap_or_default();
            let rest = text.get(length..).unwrap_or("");
            match rest.find(mark) {
                Some(end) => (
                    rest.get(..end).unwrap_or("").to_owned(),
                    length + end + mark.len(),
                ),
                None => return undecided,
            }
        }
        MarkAt::None if text.starts_with('"') => {
            let mut strings = serde_json::Deserializer::from_str(text).into_iter::<String>();
            match strings.next() {
                Some(Ok(key)) => (key, strings.byte_offset()),
                Some(Err(error)) if error.is_eof() => return undecided,
                _ => return KeyAt::None,
            }
        }
        MarkAt::None => {
            let window = text.get(..floor(text, MAX_NAME)).unwrap_or("");
            match window.find([':', ',', '{', '}', '[', ']', '<', '\n']) {
                Some(end) => (window.get(..end).unwrap_or("").trim().to_owned(), end),
                None if text.len() < MAX_NAME => return undecided,
                None => return KeyAt::None,
            }
        }
    };
    let rest = text.get(length..).unwrap_or("");
    let colon = rest.trim_start();
    match colon.bytes().next() {
        None => undecided,
        Some(b':') if !key.is_empty() || length > 0 => {
            KeyAt::Finding(key, length + (rest.len() - colon.len()) + 1)
        }
        Some(_) => KeyAt::None,
    }
}

/// Finds the end of a list or object.
#[derive(Debug)]
pub(crate) struct Nesting {
    at: usize,
    depth: usize,
    /// What ends the string that the search is in.
    string: Option<&'static str>,
    /// The string in JSON's form that the search is in.
    quoted: Option<Quoted>,
}

/// The result of searching for the end of a list or object.
pub(crate) enum NestingAt {
    /// The list or object ends before this offset.
    End(usize),
    More,
    /// Nesting is too deep.
    Fault,
}

impl Nesting {
    /// A search that starts at the opening bracket.
    pub(crate) fn new(at: usize) -> Self {
        Self {
            at,
            depth: 0,
            string: None,
            quoted: None,
        }
    }

    /// Continues the search.
    pub(crate) fn search(&mut self, input: &Input<'_>) -> NestingAt {
        loop {
            if let Some(mark) = self.string {
                let rest = input.text.as_bytes().get(self.at..).unwrap_or_default();
                let Some(found) = memchr::memmem::find(rest, mark.as_bytes()) else {
                    self.at = input.resume_at(self.at, mark.len() - 1);
                    return NestingAt::More;
                };
                self.at += found + mark.len();
                self.string = None;
            }
            if let Some(quoted) = &mut self.quoted {
                let end = quoted.read(input.text, input.end, &mut |_| {}, &mut |_| Some(true));
                let Some(end) = end else {
                    return NestingAt::More;
                };
                self.at = end;
                self.quoted = None;
            }
            match input.byte(self.at) {
                None => return NestingAt::More,
                Some(b'{' | b'[') if self.depth >= MAX_DEPTH => return NestingAt::Fault,
                Some(b'{' | b'[') => self.depth += 1,
                Some(b'}' | b']') => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return NestingAt::End(self.at + 1);
                    }
                }
                Some(b'<') => match mark_at(input.from(self.at), STRINGS) {
                    MarkAt::Partial if !input.end => return NestingAt::More,
                    MarkAt::Finding { index, length } => {
                        self.string = STRINGS.get(index).copied();
                        self.at += length;
                        continue;
                    }
                    MarkAt::Partial | MarkAt::None => {}
                },
                Some(b'"') => {
                    self.quoted = Some(Quoted::simple(b'"', self.at));
                    continue;
                }
                Some(_) => {}
            }
            self.at += 1;
        }
    }
}

/// The offset behind the JSON string that starts at `at`.
fn quoted_end(text: &str, at: usize) -> Option<usize> {
    let mut quoted = Quoted::simple(b'"', at);
    quoted.read(text, false, &mut |_| {}, &mut |_| Some(true))
}

/// A list or object as JSON.
pub(crate) fn nested_json(text: &str, schema: Option<Schema<'_>>) -> Option<String> {
    let mut reader = Values { text, at: 0 };
    let mut json = String::new();
    reader.value(schema, &mut json, 0)?;
    (reader.at == text.len()).then_some(json)
}

struct Values<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Values<'a> {
    fn rest(&mut self) -> &'a str {
        let rest = self.text.get(self.at..).unwrap_or("").trim_start();
        self.at = self.text.len() - rest.len();
        rest
    }

    fn take(&mut self, mark: char) -> bool {
        let found = self.rest().starts_with(mark);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, schema: Option<Schema<'_>>, json: &mut String, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        let rest = self.rest();
        if let MarkAt::Finding { index, length } = mark_at(rest, STRINGS) {
            let rest = rest.get(length..)?;
            let mark = STRINGS.get(index)?;
            let end = rest.find(mark)?;
            json.push_str(&crate::json::quote(rest.get(..end)?));
            self.at += length + end + mark.len();
            return Some(());
        }
        match rest.bytes().next()? {
            b'{' => self.object(schema, json, depth),
            b'[' => self.list(schema, json, depth),
            b'"' => {
                let end = quoted_end(rest, 0)?;
                json.push_str(&python_literal(rest.get(..end)?)?);
                self.at += end;
                Some(())
            }
            _ => {
                let end = rest.find([',', '}', ']'])?;
                let word = rest.get(..end)?.trim();
                if word.is_empty() {
                    return None;
                }
                json.push_str(&coerce_plain(word, schema).to_json());
                self.at += end;
                Some(())
            }
        }
    }

    fn object(
        &mut self,
        schema: Option<Schema<'_>>,
        json: &mut String,
        depth: usize,
    ) -> Option<()> {
        self.at += 1;
        json.push('{');
        let mut first = true;
        while !self.take('}') {
            let KeyAt::Finding(key, length) = key_at(self.rest(), true) else {
                return None;
            };
            self.at += length;
            if !first {
                json.push(',');
            }
            first = false;
            json.push_str(&crate::json::quote(&key));
            json.push(':');
            let schema = schema.and_then(|schema| schema.property(&key));
            self.value(schema, json, depth + 1)?;
            if !self.take(',') && !self.rest().starts_with('}') {
                return None;
            }
        }
        json.push('}');
        Some(())
    }

    fn list(&mut self, schema: Option<Schema<'_>>, json: &mut String, depth: usize) -> Option<()> {
        let items = schema.and_then(Schema::items);
        self.at += 1;
        json.push('[');
        let mut first = true;
        while !self.take(']') {
            if !first {
                json.push(',');
            }
            first = false;
            self.value(items, json, depth + 1)?;
            if !self.take(',') && !self.rest().starts_with(']') {
                return None;
            }
        }
        json.push(']');
        Some(())
    }
}
