//! Bytes of a stream as text: whole characters, without escape codes and
//! overwritten lines.

use anstream::adapter::strip_str;

/// The bytes without the beginning of a character that stands at their end.
pub(crate) fn whole_characters(bytes: &[u8]) -> &[u8] {
    let tail = bytes.len().saturating_sub(4);
    let start = (tail..bytes.len()).rev().find(|at| {
        let byte = bytes.get(*at).copied().unwrap_or_default();
        !(0x80..0xC0).contains(&byte)
    });
    match start.and_then(|start| bytes.split_at_checked(start)) {
        Some((whole, rest)) => match std::str::from_utf8(rest) {
            Err(error) if error.error_len().is_none() => whole,
            _ => bytes,
        },
        None => bytes,
    }
}

/// The bytes without the end of a character that stands at their beginning.
pub(super) fn from_character(bytes: &[u8]) -> &[u8] {
    let is_middle = |byte: &&u8| (0x80..0xC0).contains(*byte);
    let middle = bytes.iter().take(3).take_while(is_middle).count();
    bytes.get(middle..).unwrap_or(bytes)
}

/// Bytes as text: without escape codes and other controls, and of a line that
/// was overwritten only what was left standing.
pub(crate) fn clean(bytes: &[u8]) -> String {
    cleaned(bytes).0
}

/// The text of [`clean`], and whether something was overwritten.
pub(crate) fn cleaned(bytes: &[u8]) -> (String, bool) {
    let text = String::from_utf8_lossy(bytes);
    let mut cleaned = String::with_capacity(text.len());
    let mut is_overwritten = false;
    // Line by line, so that a code that never ends hides no other line.
    for line in text.split_inclusive('\n') {
        if line.contains(['\r', BACKSPACE]) {
            let content = line.strip_suffix('\n').unwrap_or(line);
            let row = Row::written(content);
            cleaned.extend(row.cells);
            cleaned.push_str(line.get(content.len()..).unwrap_or_default());
            is_overwritten |= row.is_overwritten;
        } else {
            cleaned.extend(strip_str(line));
        }
    }
    (cleaned, is_overwritten)
}

/// Goes back by one character.
const BACKSPACE: char = '\u{8}';

/// A line as a terminal has it.
#[derive(Debug, Default)]
struct Row {
    cells: Vec<char>,
    at: usize,
    /// Behind a carriage return: what comes next takes the whole line. Programs
    /// that go back to rewrite it clear it first or fill it up.
    is_done: bool,
    is_overwritten: bool,
}

impl Row {
    fn written(line: &str) -> Self {
        let mut row = Self::default();
        for (number, part) in line.split(BACKSPACE).enumerate() {
            if number > 0 {
                row.at = row.at.saturating_sub(1);
            }
            strip_str(part)
                .flat_map(str::chars)
                .for_each(|c| row.put(c));
        }
        row
    }

    fn put(&mut self, c: char) {
        if c == '\r' {
            self.is_done = true;
            self.at = 0;
            return;
        }
        if std::mem::take(&mut self.is_done) {
            self.is_overwritten |= !self.cells.is_empty();
            self.cells.clear();
        }
        match self.cells.get_mut(self.at) {
            Some(cell) => {
                self.is_overwritten |= *cell != c && !cell.is_whitespace();
                *cell = c;
            }
            None => self.cells.push(c),
        }
        self.at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overwritten_lines_and_escape_codes_are_gone() {
        assert_eq!(clean(b"one\r\ntwo\r\n"), "one\ntwo\n");
        assert_eq!(clean(b" 10%\r 50%\r100%\ndone\n"), "100%\ndone\n");
        assert_eq!(clean(b" 10%\r 50%\r"), " 50%");
        assert_eq!(
            clean(b"\x1b[1;31mred\x1b[0m \x1b]0;title\x07x\n"),
            "red x\n"
        );
        assert_eq!(clean(b"\x1b]0;title\nafter\n"), "after\n");
        assert_eq!(clean(b"\x1bPfoo\nafter\n"), "after\n");
        assert_eq!(clean(b"a\x00b\x08\n"), "ab\n");
        assert_eq!(clean("ä\u{fffd}".as_bytes()), "ä\u{fffd}");
        assert_eq!(clean(b"\xff\xfe"), "\u{fffd}\u{fffd}");
    }

    #[test]
    fn backspaces_go_back_as_on_a_terminal() {
        assert_eq!(clean(b"|\x08/\x08-\x08done\n"), "done\n");
        assert_eq!(clean(b"10%\x08\x08\x08100%\n"), "100%\n");
        assert_eq!(clean(b"abc\x08\x08X\n"), "aXc\n");
        assert_eq!(clean(b"\x08\x08a\x08\x08\x08b\r\n"), "b\n");
        assert_eq!(clean("_\u{8}ä\n".as_bytes()), "ä\n");
    }

    #[test]
    fn what_was_overwritten_is_known() {
        for (text, expected) in [
            ("one\r\ntwo\r\n", false),
            ("100%\r", false),
            ("50%\r100%", true),
            ("bold: b\u{8}b", false),
            (" \u{8}x", false),
            ("|\u{8}/", true),
        ] {
            assert_eq!(cleaned(text.as_bytes()).1, expected, "{text:?}");
        }
    }
}
