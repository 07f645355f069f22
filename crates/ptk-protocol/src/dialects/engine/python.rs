//! Calls written as Python expressions: `f(path="a.txt", limit=3)`. Finds the
//! end of the expression while it arrives, and turns its literals into JSON.

use serde_json::Value;

/// Nesting beyond this is refused.
const MAX_DEPTH: usize = 64;

/// Finds the closing parenthesis of a call. Strings in either quote, tripled
/// or not, with escapes, hide what is in them.
#[derive(Debug)]
pub(crate) struct CallEnd {
    at: usize,
    depth: usize,
    quote: Option<Quote>,
}

#[derive(Debug, Clone, Copy)]
struct Quote {
    byte: u8,
    triple: bool,
}

/// Where the search for the end stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Search {
    /// The call goes on behind the text seen so far.
    More,
    /// The call ends before this offset.
    Done(usize),
    /// Nesting is too deep at this offset.
    Fault(usize),
}

impl CallEnd {
    /// A search that starts behind the opening parenthesis.
    pub(crate) fn new(at: usize) -> Self {
        Self {
            at,
            depth: 1,
            quote: None,
        }
    }

    /// Goes on in `text`, which starts with all text given before.
    pub(crate) fn search(&mut self, text: &str, end: bool) -> Search {
        let bytes = text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            if let Some(quote) = self.quote {
                match byte {
                    b'\\' if self.at + 1 >= bytes.len() => return Search::More,
                    b'\\' => self.at += 2,
                    _ if byte != quote.byte => self.at += 1,
                    _ if !quote.triple => {
                        self.quote = None;
                        self.at += 1;
                    }
                    _ => {
                        let rest = bytes.get(self.at..).unwrap_or_default();
                        let run = rest
                            .iter()
                            .take(3)
                            .take_while(|b| **b == quote.byte)
                            .count();
                        if run == 3 {
                            self.quote = None;
                            self.at += 3;
                        } else if run == rest.len() && !end {
                            return Search::More;
                        } else {
                            self.at += run;
                        }
                    }
                }
                continue;
            }
            match byte {
                b'"' | b'\'' => {
                    let rest = bytes.get(self.at..).unwrap_or_default();
                    let run = rest.iter().take(3).take_while(|b| **b == byte).count();
                    if run == rest.len() && run < 3 && !end {
                        return Search::More;
                    }
                    let triple = run == 3;
                    // Two quotes are an empty string.
                    if run == 2 {
                        self.at += 2;
                    } else {
                        self.quote = Some(Quote { byte, triple });
                        self.at += run;
                    }
                }
                b'(' | b'[' | b'{' => {
                    self.depth += 1;
                    if self.depth > MAX_DEPTH {
                        return Search::Fault(self.at);
                    }
                    self.at += 1;
                }
                b')' | b']' | b'}' => {
                    self.depth -= 1;
                    self.at += 1;
                    if self.depth == 0 {
                        return Search::Done(self.at);
                    }
                }
                _ => self.at += 1,
            }
        }
        Search::More
    }
}

/// An argument of a call, as JSON.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    /// `key=value`
    Named(String, String),
    /// A value without a name.
    Positional(String),
    /// `**{…}`: several at once.
    Spread(String),
}

/// Reads what stands between the parentheses of a call. `None` where it is
/// not a list of literals, such as `f(x)` in prose or code.
pub(crate) fn arguments(text: &str) -> Option<Vec<Argument>> {
    let mut reader = Literals { text, at: 0 };
    let mut arguments = Vec::new();
    loop {
        reader.space();
        if reader.at == text.len() {
            return Some(arguments);
        }
        if reader.take("**") {
            reader.space();
            let mut json = String::new();
            reader.value(&mut json, 0)?;
            if !json.starts_with('{') {
                return None;
            }
            arguments.push(Argument::Spread(json));
        } else if let Some(name) = reader.name() {
            let mut json = String::new();
            reader.value(&mut json, 0)?;
            arguments.push(Argument::Named(name.to_owned(), json));
        } else {
            let mut json = String::new();
            reader.value(&mut json, 0)?;
            arguments.push(Argument::Positional(json));
        }
        reader.space();
        if reader.at < text.len() && !reader.take(",") {
            return None;
        }
    }
}

struct Literals<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Literals<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// A name with `=` behind it; nothing is taken where there is none.
    fn name(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let length = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        let name = rest.get(..length).filter(|name| !name.is_empty())?;
        let behind = rest.get(length..)?.trim_start();
        let value = behind
            .strip_prefix('=')
            .filter(|value| !value.starts_with('='))?;
        self.at = self.text.len() - value.trim_start().len();
        Some(name)
    }

    fn value(&mut self, json: &mut String, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        match self.rest().as_bytes().first()? {
            b'[' => self.list(json, "]", depth),
            b'(' => self.list(json, ")", depth),
            b'{' => self.dict(json, depth),
            b'"' | b'\'' => self.strings(json),
            _ => self.word(json),
        }
    }

    fn list(&mut self, json: &mut String, close: &str, depth: usize) -> Option<()> {
        self.at += 1;
        json.push('[');
        let mut first = true;
        loop {
            self.space();
            if self.take(close) {
                json.push(']');
                return Some(());
            }
            if !first {
                json.push(',');
            }
            first = false;
            self.value(json, depth + 1)?;
            self.space();
            if !self.take(",") && !self.rest().starts_with(close) {
                return None;
            }
        }
    }

    fn dict(&mut self, json: &mut String, depth: usize) -> Option<()> {
        self.at += 1;
        json.push('{');
        let mut first = true;
        loop {
            self.space();
            if self.take("}") {
                json.push('}');
                return Some(());
            }
            if !first {
                json.push(',');
            }
            first = false;
            let start = json.len();
            self.value(json, depth + 1)?;
            if !json.get(start..)?.starts_with('"') {
                let key = Value::String(json.split_off(start));
                json.push_str(&key.to_string());
            }
            self.space();
            if !self.take(":") {
                return None;
            }
            json.push(':');
            self.space();
            self.value(json, depth + 1)?;
            self.space();
            if !self.take(",") && !self.rest().starts_with('}') {
                return None;
            }
        }
    }

    /// One string, or several side by side, which Python puts together.
    fn strings(&mut self, json: &mut String) -> Option<()> {
        let mut text = String::new();
        while matches!(self.rest().as_bytes().first(), Some(b'"' | b'\'')) {
            self.string(&mut text, false)?;
            let behind = self.at;
            self.space();
            if !matches!(self.rest().as_bytes().first(), Some(b'"' | b'\'')) {
                self.at = behind;
                break;
            }
        }
        json.push_str(&Value::String(text).to_string());
        Some(())
    }

    fn string(&mut self, text: &mut String, raw: bool) -> Option<()> {
        let quote = self.rest().chars().next()?;
        let triple: String = [quote; 3].iter().collect();
        let close = if self.take(&triple) {
            triple
        } else {
            self.at += 1;
            quote.to_string()
        };
        loop {
            let rest = self.rest();
            let run = rest.find([quote, '\\'])?;
            text.push_str(rest.get(..run)?);
            self.at += run;
            if self.take(&close) {
                return Some(());
            }
            let mut chars = self.rest().chars();
            match (chars.next()?, raw) {
                ('\\', true) => {
                    text.push('\\');
                    let escaped = chars.next()?;
                    text.push(escaped);
                    self.at += 1 + escaped.len_utf8();
                }
                ('\\', false) => self.escape(text)?,
                (other, _) => {
                    text.push(other);
                    self.at += other.len_utf8();
                }
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Option<()> {
        self.at += 1;
        let escaped = self.rest().chars().next()?;
        self.at += escaped.len_utf8();
        let plain = match escaped {
            'n' => "\n",
            't' => "\t",
            'r' => "\r",
            'b' => "\u{8}",
            'f' => "\u{c}",
            'v' => "\u{b}",
            'a' => "\u{7}",
            '0' => "\0",
            '\n' => "",
            '"' => "\"",
            '\'' => "'",
            '\\' => "\\",
            '/' => "/",
            'x' => return self.code_point(2, text),
            'u' => return self.code_point(4, text),
            'U' => return self.code_point(8, text),
            other => {
                text.push('\\');
                text.push(other);
                ""
            }
        };
        text.push_str(plain);
        Some(())
    }

    fn code_point(&mut self, digits: usize, text: &mut String) -> Option<()> {
        let mut value = self.hex(digits)?;
        // A pair of surrogates, as JSON writes characters beyond 16 bits.
        if (0xD800..0xDC00).contains(&value) && self.take("\\u") {
            let low = self.hex(4)?;
            value = 0x10000 + ((value - 0xD800) << 10) + low.checked_sub(0xDC00)?;
        }
        text.push(char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER));
        Some(())
    }

    fn hex(&mut self, digits: usize) -> Option<u32> {
        let value = u32::from_str_radix(self.rest().get(..digits)?, 16).ok()?;
        self.at += digits;
        Some(value)
    }

    fn word(&mut self, json: &mut String) -> Option<()> {
        let rest = self.rest();
        let length = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '+' | '-')))
            .unwrap_or(rest.len());
        let word = rest.get(..length)?;
        self.at += length;
        match word {
            "True" | "true" => json.push_str("true"),
            "False" | "false" => json.push_str("false"),
            "None" | "null" => json.push_str("null"),
            "r" | "R" | "b" | "f" | "u" | "rb" | "br"
                if rest.get(length..)?.starts_with(['"', '\'']) =>
            {
                let mut text = String::new();
                self.string(&mut text, word.contains(['r', 'R']))?;
                json.push_str(&Value::String(text).to_string());
            }
            number => {
                let number = number.replace('_', "");
                let number = number.strip_prefix('+').unwrap_or(&number);
                // `1.` and `.5` are Python's, not JSON's.
                let number = match number.strip_suffix('.') {
                    Some(whole) => format!("{whole}.0"),
                    None => number.to_owned(),
                };
                let number = match number.strip_prefix('.') {
                    Some(fraction) => format!("0.{fraction}"),
                    None => number,
                };
                serde_json::from_str::<serde_json::Number>(&number).ok()?;
                json.push_str(&number);
            }
        }
        Some(())
    }
}

#[cfg(test)]
#[expect(clippy::string_slice, reason = "tests cut ASCII")]
mod tests {
    use super::*;

    fn named(text: &str) -> Option<String> {
        let arguments = arguments(text)?;
        let shown: Vec<String> = arguments
            .into_iter()
            .map(|argument| match argument {
                Argument::Named(name, json) => format!("{name}:{json}"),
                Argument::Positional(json) => json,
                Argument::Spread(json) => format!("**{json}"),
            })
            .collect();
        Some(shown.join(" "))
    }

    #[test]
    fn literals_become_json() {
        assert_eq!(
            named(r#"a='it\'s', b="x\n", c=[1, -2.5, .5], d={'k': None, 1: True}, e=()"#).unwrap(),
            r#"a:"it's" b:"x\n" c:[1,-2.5,0.5] d:{"k":null,"1":true} e:[]"#
        );
        assert_eq!(named(r#""a" 'b', r'\d'"#).unwrap(), r#""ab" "\\d""#);
        assert_eq!(
            named("n=123456789012345678901234567890").unwrap(),
            "n:123456789012345678901234567890"
        );
        assert_eq!(named("s='''a'b\n''c'''").unwrap(), r#"s:"a'b\n''c""#);
    }

    #[test]
    fn what_is_no_list_of_literals_is_refused() {
        for text in ["path", "a=b", "a==1", "1 2", "[1", "a='x", "…"] {
            assert_eq!(named(text), None, "{text}");
        }
    }

    #[test]
    fn the_end_is_found_at_any_split() {
        let text = r#"f(a=")", b='''x')''', c=[")", {"k": ("\")")}]) tail"#;
        let expected = CallEnd::new(2).search(text, true);
        assert_eq!(expected, Search::Done(text.len() - 5));
        for cut in 0..text.len() {
            let mut search = CallEnd::new(2);
            let mut found = search.search(&text[..cut], false);
            if found == Search::More {
                found = search.search(text, true);
            }
            assert_eq!(found, expected, "cut at {cut}");
        }
    }
}
