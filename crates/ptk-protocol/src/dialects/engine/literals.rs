//! Converts Python's literals into JSON.

use serde_json::Value;

use super::quoted::{QuoteAt, Quoted};

/// The deepest nesting that is accepted.
pub(crate) const MAX_DEPTH: usize = 64;

/// Finds the bracket that closes the current one. Brackets inside strings, in
/// either quote, tripled or not, with escapes, do not count.
#[derive(Debug)]
pub(crate) struct BracketFinder {
    at: usize,
    depth: usize,
    quote: Option<OpenQuote>,
}

#[derive(Debug, Clone, Copy)]
struct OpenQuote {
    byte: u8,
    triple: bool,
}

/// The result of searching for the closing bracket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Search {
    /// The search continues behind the text seen so far.
    More,
    /// The bracket ends before this offset.
    Done(usize),
    /// Nesting is too deep at this offset.
    Fault(usize),
}

impl BracketFinder {
    /// A search that starts behind the opening bracket.
    pub(crate) fn new(at: usize) -> Self {
        Self {
            at,
            depth: 1,
            quote: None,
        }
    }

    /// Continues in `text`, which starts with all text given before.
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
                        self.quote = Some(OpenQuote { byte, triple });
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

/// The JSON of a literal; `None` if it is something else, such as a variable.
pub(crate) fn python_literal(text: &str) -> Option<String> {
    let mut reader = Literals { text, at: 0 };
    let mut json = String::new();
    reader.value(&mut json, 0)?;
    reader.rest().trim().is_empty().then_some(json)
}

/// Writes JSON as a Python literal: the same, but for the names of its
/// constants.
pub(crate) fn json_as_python(json: &str) -> String {
    let mut python = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(quote) = rest.find('"') {
        let (plain, text) = rest.split_at_checked(quote).unwrap_or((rest, ""));
        python.push_str(&constants(plain));
        let length = string_length(text);
        python.push_str(text.get(..length).unwrap_or(text));
        rest = text.get(length..).unwrap_or("");
    }
    python.push_str(&constants(rest));
    python
}

fn constants(plain: &str) -> String {
    plain
        .replace("true", "True")
        .replace("false", "False")
        .replace("null", "None")
}

/// The length of the JSON string at the start of the text.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
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

    /// Reads one string, or several side by side, which Python joins.
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
        let mut quoted = match Quoted::open(self.text, self.at, true, raw) {
            QuoteAt::Finding(quoted) => quoted,
            QuoteAt::More => return None,
        };
        let mut closes = |_| Some(true);
        let mut append = |piece: &str| text.push_str(piece);
        self.at = quoted.read(self.text, true, &mut append, &mut closes)?;
        Some(())
    }

    fn word(&mut self, json: &mut String) -> Option<()> {
        let rest = self.rest();
        let length = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '+' | '-')))
            .unwrap_or(rest.len());
        let word = rest.get(..length)?;
        self.at += length;
        match word {
            prefix if is_string_prefix(prefix) && rest.get(length..)?.starts_with(['"', '\'']) => {
                let mut text = String::new();
                self.string(&mut text, prefix.contains(['r', 'R']))?;
                if is_format_prefix(prefix) {
                    text = Braces::single(&text)?;
                }
                json.push_str(&Value::String(text).to_string());
            }
            word => json.push_str(&python_word(word)?),
        }
        Some(())
    }
}

/// The JSON of a plain word of Python: a number or a constant.
pub(crate) fn python_word(word: &str) -> Option<String> {
    match word {
        "True" | "true" => Some("true".to_owned()),
        "False" | "false" => Some("false".to_owned()),
        "None" | "null" => Some("null".to_owned()),
        number => python_number(number),
    }
}

/// Whether a list or dictionary that is not a literal holds an expression: a
/// call, an element of something, or an f-string. Words in it may be strings
/// without quotes, but an expression would have had to be computed.
pub(crate) fn holds_expression(text: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut quote = None;
    let mut escaped = false;
    let mut word = String::new();
    let mut previous = ' ';
    for c in text.chars() {
        if let Some(open) = quote {
            if !escaped && c == open {
                quote = None;
            }
            escaped = !escaped && c == '\\';
        } else if is_word(c) {
            word.push(c);
        } else {
            let opens = matches!(c, '(' | '[') && (is_word(previous) || previous == ')');
            let formats = matches!(c, '"' | '\'') && is_string_prefix(&word);
            if opens || (formats && is_format_prefix(&word)) {
                return true;
            }
            // The apostrophe of `it's` opens no string.
            if c == '"' || (c == '\'' && (formats || word.is_empty())) {
                quote = Some(c);
            }
            word.clear();
        }
        previous = c;
    }
    false
}

/// Whether the word, right before a quote, says what kind of string follows.
pub(crate) fn is_string_prefix(word: &str) -> bool {
    const PREFIXES: [&str; 8] = ["r", "b", "f", "u", "rb", "br", "rf", "fr"];
    PREFIXES
        .iter()
        .any(|prefix| prefix.eq_ignore_ascii_case(word))
}

/// Whether the word, right before a quote, begins a string with expressions in
/// braces.
pub(crate) fn is_format_prefix(word: &str) -> bool {
    word.contains(['f', 'F'])
}

/// Passes on the text of an f-string while it comes in. Doubled braces stand for
/// single ones; single ones hold an expression, which is not a literal.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Braces {
    /// The brace that came last, until what follows it is known.
    open: Option<char>,
    has_expression: bool,
}

impl Braces {
    pub(crate) fn pass(&mut self, mut text: &str, append: &mut dyn FnMut(&str)) {
        while !self.has_expression {
            if let Some(brace) = self.open {
                let Some(next) = text.chars().next() else {
                    return;
                };
                self.has_expression = next != brace;
                self.open = None;
                if next == brace {
                    append(text.get(..1).unwrap_or(""));
                    text = text.get(1..).unwrap_or("");
                }
                continue;
            }
            let Some(at) = text.find(['{', '}']) else {
                return append(text);
            };
            let (before, rest) = text.split_at_checked(at).unwrap_or((text, ""));
            append(before);
            self.open = rest.chars().next();
            text = rest.get(1..).unwrap_or("");
        }
    }

    /// Whether the text so far holds an expression.
    pub(crate) fn has_expression(self) -> bool {
        self.has_expression
    }

    /// Whether the text, which ends here, holds an expression or a brace without
    /// its pair.
    pub(crate) fn ends_open(self) -> bool {
        self.has_expression || self.open.is_some()
    }

    /// The text with single braces for doubled ones; `None` if it holds an
    /// expression.
    fn single(text: &str) -> Option<String> {
        let mut braces = Self::default();
        let mut single = String::new();
        braces.pass(text, &mut |piece| single.push_str(piece));
        (!braces.ends_open()).then_some(single)
    }
}

fn python_number(number: &str) -> Option<String> {
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
    Some(number)
}

#[cfg(test)]
#[expect(clippy::string_slice, reason = "tests cut ASCII")]
mod tests {
    use super::*;

    #[test]
    fn literals_become_json() {
        for (python, json) in [
            (r"'it\'s'", r#""it's""#),
            (r#""x\n""#, r#""x\n""#),
            ("[1, -2.5, .5]", "[1,-2.5,0.5]"),
            ("{'k': None, 1: True}", r#"{"k":null,"1":true}"#),
            ("()", "[]"),
            (r#""a" 'b'"#, r#""ab""#),
            (r"r'\d'", r#""\\d""#),
            (
                "123456789012345678901234567890",
                "123456789012345678901234567890",
            ),
            ("'''a'b\n''c'''", r#""a'b\n''c""#),
            (r"'\x41\ud83d\ude00'", "\"A😀\""),
            ("[f'a', f'{{x}}']", r#"["a","{x}"]"#),
        ] {
            assert_eq!(python_literal(python).as_deref(), Some(json), "{python}");
        }
    }

    #[test]
    fn what_is_no_literal_is_refused() {
        for text in [
            "path",
            "1 2",
            "[1",
            "'x",
            "…",
            "[a]",
            "",
            "f'{x}'",
            "[f'a}']",
            "{f'{{{x}': 1}",
        ] {
            assert_eq!(python_literal(text), None, "{text}");
        }
    }

    #[test]
    fn json_is_written_as_python() {
        assert_eq!(
            json_as_python(r#"{"true":[true,null,"null \"false"],"n":1e5}"#),
            r#"{"true":[True,None,"null \"false"],"n":1e5}"#
        );
    }

    #[test]
    fn the_end_is_found_at_any_split() {
        let text = r#"f(a=")", b='''x')''', c=[")", {"k": ("\")")}]) tail"#;
        let expected = BracketFinder::new(2).search(text, true);
        assert_eq!(expected, Search::Done(text.len() - 5));
        for cut in 0..text.len() {
            let mut search = BracketFinder::new(2);
            let mut found = search.search(&text[..cut], false);
            if found == Search::More {
                found = search.search(text, true);
            }
            assert_eq!(found, expected, "cut at {cut}");
        }
    }
}
