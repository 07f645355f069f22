//! The dense form of a text, without what may differ between a call in a result
//! and its copy: line numbers, escapes, entities, quotes and white space.

/// Entities that stand for syntax; others are characters of the text.
const ENTITIES: [(&str, char); 6] = [
    ("amp;", '&'),
    ("lt;", '<'),
    ("gt;", '>'),
    ("quot;", '"'),
    ("apos;", '\''),
    ("nbsp;", ' '),
];
/// The text behind `<` where a dialect quotes with a mark of its own.
const QUOTE: &str = "|\"|>";
/// The longest number of an entity or a line that is read.
const MAX_DIGITS: usize = 7;

/// What is removed at the start of each line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Margin {
    /// Nothing is removed.
    Kept,
    /// The number of the line is removed, with the path before it, as tools
    /// write them.
    Numbers,
    /// Numbers are removed, and the marks of comments, quotations, lists and
    /// diffs.
    Comments,
}

/// A text in dense form.
#[derive(Debug, Clone, Default)]
pub(super) struct Dense {
    pub(super) text: String,
    /// Where a line of the text began, by rising offsets.
    pub(super) lines: Vec<usize>,
}

impl Dense {
    /// Appends the dense form of a text.
    pub(super) fn push(&mut self, text: &str, margin: Margin) {
        for line in text.lines() {
            self.lines.push(self.text.len());
            let breaks = push_line(&mut self.text, without_margin(line, margin));
            self.lines.extend(breaks);
        }
    }

    /// Removes the first half, and returns how many bytes that were.
    pub(super) fn halve(&mut self) -> usize {
        let length = self.text.len();
        let half = (length.div_ceil(2)..=length).find(|at| self.text.is_char_boundary(*at));
        let half = half.unwrap_or(length);
        self.text.drain(..half);
        self.lines.retain(|at| *at >= half);
        self.lines.iter_mut().for_each(|at| *at -= half);
        half
    }
}

/// Whether a line has something in its margin that is removed at this level and
/// not at the one before.
pub(super) fn has_margin(line: &str, margin: Margin) -> bool {
    match margin {
        Margin::Kept => false,
        Margin::Numbers => without_number(line).len() < line.len(),
        Margin::Comments => {
            let line = without_number(line).trim_start();
            without_margin(line, margin).len() < line.len()
        }
    }
}

fn without_margin(line: &str, margin: Margin) -> &str {
    match margin {
        Margin::Kept => line,
        Margin::Numbers => without_number(line),
        Margin::Comments => {
            let line = without_number(line);
            let is_mark = |c: char| c.is_whitespace() || "#/*>+|;%-".contains(c);
            line.trim_start_matches(is_mark)
        }
    }
}

/// The dense form of a text.
pub(super) fn of(text: &str) -> String {
    let mut dense = String::with_capacity(text.len());
    push_line(&mut dense, text);
    dense
}

/// A line without its number: `12\t`, `12→`, `12|`, `12:`, `src/a.rs:12:`.
fn without_number(line: &str) -> &str {
    let text = line.trim_start();
    if let Some(rest) = after_number(text) {
        return rest;
    }
    // A path has no blanks, and its number follows the first colon.
    let Some((path, rest)) = text.split_once(':') else {
        return line;
    };
    let is_path =
        !path.is_empty() && !path.contains(|c: char| c.is_whitespace() || "\"'{<(".contains(c));
    after_number(rest).filter(|_| is_path).unwrap_or(line)
}

/// The text behind a number and the mark that follows it.
fn after_number(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = text.len() - rest.len();
    if digits == 0 || digits > MAX_DIGITS {
        return None;
    }
    let is_gutter = |c: char| matches!(c, '\t' | '→' | '|' | ':' | '│' | '-');
    rest.strip_prefix(is_gutter)
        .or_else(|| rest.strip_prefix(' ')?.trim_start().strip_prefix(is_gutter))
}

/// Appends the dense form of a line, and returns where escaped line breaks
/// were.
fn push_line(dense: &mut String, text: &str) -> Vec<usize> {
    let mut rest = text;
    let mut breaks = Vec::new();
    loop {
        let plain = rest.bytes().position(|byte| !is_plain(byte));
        let (run, behind) = rest.split_at(plain.unwrap_or(rest.len()));
        dense.push_str(run);
        rest = behind;
        let Some(c) = rest.chars().next() else { break };
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        let (c, after) = match c {
            '\\' => {
                if after.trim_start_matches('\\').starts_with(['n', 'r']) {
                    breaks.push(dense.len());
                }
                unescaped(after)
            }
            '&' => decoded(after),
            '<' => match after.strip_prefix(QUOTE) {
                Some(after) => (None, after),
                None => (Some(c), after),
            },
            c => (Some(c), after),
        };
        dense.extend(c.filter(|c| is_kept(*c)));
        rest = after;
    }
    breaks
}

/// Whether a byte is a character that is kept and does not begin an escape, an
/// entity or a quotation. Most of a text is.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'\\' | b'&' | b'<') && is_kept(byte.into())
}

/// Whether a character distinguishes one call from another. What breaks a mark
/// (`~`) does not.
fn is_kept(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_graphic() && !matches!(c, '"' | '\'' | '`' | '~');
    }
    let is_quote = matches!(c, '‘' | '’' | '“' | '”' | '„' | '«' | '»');
    let is_hidden = matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{feff}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e0fff}'
    );
    !is_quote && !is_hidden && !c.is_whitespace() && !c.is_control()
}

/// The character that stands behind a backslash, however often the text was
/// escaped, and what follows it.
fn unescaped(text: &str) -> (Option<char>, &str) {
    let text = text.trim_start_matches('\\');
    let mut chars = text.chars();
    let code = chars.next();
    let rest = chars.as_str();
    match code {
        Some('n' | 't' | 'r' | 'b' | 'f') => (None, rest),
        Some('u') => match hex(rest, 4) {
            Some((code, rest)) => (char::from_u32(code), rest),
            None => (code, rest),
        },
        Some('x') => match hex(rest, 2) {
            Some((code, rest)) => (char::from_u32(code), rest),
            None => (code, rest),
        },
        // What else is escaped may be an entity.
        Some('&') => decoded(rest),
        code => (code, rest),
    }
}

fn hex(text: &str, digits: usize) -> Option<(u32, &str)> {
    let (code, rest) = text.split_at_checked(digits)?;
    let is_hex = code.bytes().all(|byte| byte.is_ascii_hexdigit());
    let code = is_hex.then(|| u32::from_str_radix(code, 16).ok())??;
    Some((code, rest))
}

/// The character that an entity stands for, however often the text was
/// escaped, and what follows it.
fn decoded(text: &str) -> (Option<char>, &str) {
    let mut text = text;
    while let Some(rest) = text.strip_prefix("amp;") {
        text = rest;
    }
    for (name, c) in ENTITIES {
        if let Some(rest) = text.strip_prefix(name) {
            return (Some(c), rest);
        }
    }
    numbered(text).map_or((Some('&'), text), |(c, rest)| (Some(c), rest))
}

/// Parses the character of `#65;` or `#x41;`.
fn numbered(text: &str) -> Option<(char, &str)> {
    let text = text.strip_prefix('#')?;
    let (radix, text) = match text.strip_prefix(['x', 'X']) {
        Some(text) => (16, text),
        None => (10, text),
    };
    let rest = text.trim_start_matches(|c: char| c.is_digit(radix));
    let digits = text.get(..text.len() - rest.len())?;
    let is_short = digits.len() <= MAX_DIGITS;
    let code = is_short.then(|| u32::from_str_radix(digits, radix).ok())??;
    Some((char::from_u32(code)?, rest.strip_prefix(';')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_differ_is_left_out() {
        for (text, expected) in [
            (r#"{"a": "b c"}"#, "{a:bc}"),
            (r#"{\"a\": \"b\\nc\"}"#, "{a:bc}"),
            (r#"{\\\"a\\\": \\\"b\"#, "{a:b"),
            (r"{\u0022a\u0022: \u0062}", "{a:b}"),
            ("{&quot;a&quot;: &amp;quot;b&#99;&#x64;}", "{a:bcd}"),
            ("a &b; &#zz; & c", "a&b;&#zz;&c"),
            ("r\u{200b}m \u{feff}x", "rmx"),
            ("<~PTK_CALL>", "<PTK_CALL>"),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
    }

    #[test]
    fn the_margin_is_left_out() {
        for (text, margin, expected) in [
            ("     1\tone\n     2\ttwo", Margin::Numbers, "onetwo"),
            ("1→one\n 2 | two\n3: three", Margin::Numbers, "onetwothree"),
            (
                "src/a.rs:1:one\nsrc/a.rs-2-two",
                Margin::Numbers,
                "onesrc/a.rs-2-two",
            ),
            ("# one\n// two\n+ three", Margin::Comments, "onetwothree"),
            ("7\t * one", Margin::Comments, "one"),
            ("a: b\n12 apples", Margin::Numbers, "a:b12apples"),
        ] {
            let mut dense = Dense::default();
            dense.push(text, margin);
            assert_eq!(dense.text, expected, "{text}");
        }
    }
}
