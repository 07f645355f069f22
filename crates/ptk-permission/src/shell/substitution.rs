//! Commands in a text that is not a word: in a here-document, in an arithmetic
//! expression, in `${…}`. Quotes keep nothing from running there, or not in
//! every shell, so they are ignored.

use super::tolerant;

/// Signs behind which a command stands.
const OPENERS: [&str; 3] = ["$(", "<(", ">("];
/// Operators on a variable that evaluate nothing.
const OPERATORS: [&str; 14] = [
    ":-", ":+", ":?", "%%", "##", "^^", ",,", "-", "+", "?", "%", "#", "^", ",",
];

/// The commands that run when the shell expands a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Texts for the shell.
    pub(super) commands: Vec<String>,
    /// Whether these are all.
    pub(super) is_whole: bool,
    /// Whether the shell evaluates what variables hold, and may run that.
    pub(super) is_evaluated: bool,
}

impl Default for Found {
    fn default() -> Self {
        Self {
            commands: Vec::new(),
            is_whole: true,
            is_evaluated: false,
        }
    }
}

/// The commands in a here-document: a backslash quotes, and nothing else.
pub(super) fn in_document(text: &str) -> Found {
    let mut found = Found::default();
    found.read(text, Place::Document);
    found
}

/// The commands in a text that is evaluated: nothing quotes.
pub(super) fn in_evaluated(text: &str) -> Found {
    let mut found = Found {
        is_evaluated: has_names(text),
        ..Found::default()
    };
    found.read(text, Place::Evaluated);
    found
}

/// How many signs of commands stand in a text, whatever quotes them.
pub(super) fn signs(text: &str) -> usize {
    // The shell does not see the end of a line behind a backslash.
    let text = text.replace("\\\n", "");
    let openers = OPENERS.iter().map(|opener| text.matches(opener).count());
    openers.sum::<usize>() + text.matches('`').count()
}

/// Whether an arithmetic text may be more than digits.
pub(super) fn has_names(text: &str) -> bool {
    text.contains(|c: char| c.is_alphabetic() || "_$`'\"\\".contains(c))
}

/// What stands behind `${…}`, if that shows a variable and does no more.
pub(super) fn behind_plain(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("${")?;
    let (inner, rest) = inner.split_once('}')?;
    let counted = inner.strip_prefix('#');
    let start = counted.unwrap_or(inner);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = start.find(|c| !is_name(c)).unwrap_or(start.len());
    let (name, behind) = start.split_at_checked(end)?;
    let operator = OPERATORS.iter().find(|it| behind.starts_with(**it));
    let is_plain = match (behind, operator) {
        ("", _) => true,
        (_, Some(operator)) => {
            let value = behind.get(operator.len()..)?;
            counted.is_none() && value.chars().all(is_harmless)
        }
        (_, None) => false,
    };
    (!name.is_empty() && is_plain).then_some(rest)
}

/// Whether a character runs nothing, wherever the shell may read it.
pub(super) fn is_harmless(c: char) -> bool {
    c.is_alphanumeric() || " _-./:,=+@%*".contains(c)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Document,
    Evaluated,
}

impl Found {
    fn read(&mut self, text: &str, place: Place) {
        if tolerant::is_too_deep(text) {
            self.is_whole = false;
            self.commands.push(text.to_owned());
            return;
        }
        let mut place = place;
        let mut rest = text;
        while let Some((_, behind)) = split_before(rest, &['\\', '`', '$', '<', '>']) {
            rest = self.sign(behind, &mut place);
        }
    }

    /// Reads a text that begins with a sign. Returns what follows.
    fn sign<'t>(&mut self, text: &'t str, place: &mut Place) -> &'t str {
        let mut chars = text.chars();
        let sign = chars.next();
        let behind = chars.as_str();
        if sign == Some('\\') {
            if *place == Place::Document {
                chars.next();
            }
            return chars.as_str();
        }
        if sign == Some('`') {
            return self.backquoted(behind);
        }
        if text.starts_with("${") {
            if let Some(rest) = behind_plain(text) {
                return rest;
            }
            self.is_evaluated = true;
            *place = Place::Evaluated;
            return behind;
        }
        if text.starts_with("$[") {
            self.is_evaluated = true;
            *place = Place::Evaluated;
            return behind;
        }
        let opener = OPENERS.iter().find(|it| text.starts_with(**it));
        let is_run = |opener: &&&str| **opener == "$(" || *place == Place::Evaluated;
        match opener.filter(is_run).and_then(|it| text.strip_prefix(it)) {
            Some(inner) => self.bracketed(inner),
            None => behind,
        }
    }

    fn backquoted<'t>(&mut self, text: &'t str) -> &'t str {
        let mut is_quoted = false;
        let end = text.find(|c| {
            let is_end = c == '`' && !is_quoted;
            is_quoted = c == '\\' && !is_quoted;
            is_end
        });
        let split = end.and_then(|end| text.split_at_checked(end));
        let (inner, rest) = split.unwrap_or((text, ""));
        self.is_whole &= split.is_some();
        self.commands.push(without_backslashes(inner));
        rest.strip_prefix('`').unwrap_or(rest)
    }

    /// Reads what stands behind an opening bracket.
    fn bracketed<'t>(&mut self, text: &'t str) -> &'t str {
        let Some((inner, rest)) = closed(text) else {
            self.is_whole = false;
            self.commands.push(text.to_owned());
            return "";
        };
        let number = inner.strip_prefix('(').and_then(closed);
        if let Some((number, "")) = number {
            let mut other = in_evaluated(number);
            self.commands.append(&mut other.commands);
            self.is_whole &= other.is_whole;
            self.is_evaluated |= other.is_evaluated;
        } else {
            // Their brackets and quotes may end elsewhere.
            self.is_whole &= !inner.contains("case") && !inner.contains("<<");
            self.commands.push(inner.to_owned());
        }
        rest
    }
}

fn split_before<'t>(text: &'t str, signs: &[char]) -> Option<(&'t str, &'t str)> {
    text.find(signs).and_then(|at| text.split_at_checked(at))
}

/// What encloses a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Frame {
    Bracket,
    Quotes,
}

/// The text up to the bracket that closes it, and what follows that.
fn closed(text: &str) -> Option<(&str, &str)> {
    let mut frames = vec![Frame::Bracket];
    let mut chars = text.char_indices().peekable();
    let mut before = ' ';
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, c)| *c);
        let frame = *frames.last()?;
        match (frame, c) {
            (_, '\\') => drop(chars.next()),
            (_, '`') => skip(&mut chars, '`', true)?,
            (Frame::Quotes, '"') => drop(frames.pop()),
            (Frame::Quotes, '$') if next == Some('(') => {
                chars.next();
                frames.push(Frame::Bracket);
            }
            (Frame::Bracket, '\'') => skip(&mut chars, '\'', before == '$')?,
            (Frame::Bracket, '"') => frames.push(Frame::Quotes),
            (Frame::Bracket, '(') => frames.push(Frame::Bracket),
            (Frame::Bracket, ')') => {
                frames.pop();
                if frames.is_empty() {
                    return Some((text.get(..at)?, text.get(at + 1..)?));
                }
            }
            (Frame::Bracket, '#') if before.is_whitespace() => skip(&mut chars, '\n', false)?,
            (Frame::Quotes | Frame::Bracket, _) => {}
        }
        before = c;
    }
    None
}

/// Skips all up to a sign.
fn skip(
    chars: &mut std::iter::Peekable<std::str::CharIndices<'_>>,
    sign: char,
    has_escapes: bool,
) -> Option<()> {
    loop {
        match chars.next()? {
            (_, '\\') if has_escapes => drop(chars.next()),
            (_, c) if c == sign => return Some(()),
            _ => {}
        }
    }
}

/// A here-document without the backslashes that the shell removes, and whether
/// that is all which the shell does to it.
pub(super) fn filled(text: &str) -> (String, bool) {
    let mut plain = String::with_capacity(text.len());
    let mut is_all = true;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some('\n')) => drop(chars.next()),
            ('\\', Some('`' | '\\' | '$')) => plain.extend(chars.next()),
            (c, _) => {
                is_all &= c != '$' && c != '`';
                plain.push(c);
            }
        }
    }
    (plain, is_all)
}

/// The text between backquotes without the backslashes that the shell removes.
pub(super) fn without_backslashes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some('`' | '\\' | '$') if c == '\\' => plain.extend(chars.next()),
            _ => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_nothing_from_running() {
        for (text, commands) in [
            ("it's $(a) it's", vec!["a"]),
            ("'$(a 'b)' c)'", vec!["a 'b)' c"]),
            ("\"`a`\" `b \\`c\\``", vec!["a", "b `c`"]),
            ("\\$(a) \\`b\\`", vec![]),
            ("<(a)", vec![]),
            ("${x:-<(a)}", vec!["a"]),
            ("$((1 + $(a)))", vec!["a"]),
            ("$((a); b)", vec!["(a); b"]),
            ("$(a \"$(b \")\" c)\")", vec!["a \"$(b \")\" c)\""]),
        ] {
            let found = in_document(text);
            assert_eq!(found.commands, commands, "{text}");
            assert!(found.is_whole, "{text}");
        }
        assert_eq!(in_evaluated("x[\\$(a)] <(b)").commands, ["a", "b"]);
        for text in ["$(a", "`a", "$(case a in b) c;; esac)", "$(a 'b)"] {
            assert!(!in_document(text).is_whole, "{text}");
        }
    }

    #[test]
    fn what_only_shows_a_variable_is_plain() {
        for text in [
            "${a}",
            "${#a}",
            "${a:-b c}",
            "${a%.txt}",
            "${a##*/}",
            "${1}",
            "${a^^}",
        ] {
            assert_eq!(behind_plain(&format!("{text}-")), Some("-"), "{text}");
        }
        for text in [
            "${a:=b}",
            "${a=b}",
            "${a@P}",
            "${a:1}",
            "${a: -1}",
            "${a[0]}",
            "${!a}",
            "${a:-$b}",
            "${a:-'b'}",
            "${a:-`b`}",
            "${a/b/c}",
            "${a",
            "${}",
            "${#a[0]}",
        ] {
            assert_eq!(behind_plain(text), None, "{text}");
        }
    }
}
