//! Lists, objects and argument lists that prose has begun, and that go on: what
//! stands in them is data.

/// How far an open bracket reaches. Most that are not closed by then were none.
const MAX_OPEN: usize = 4096;

/// The brackets that are open since a line ended with one.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Brackets {
    open: usize,
    /// How many bytes stand behind the first of them.
    length: usize,
    in_string: bool,
    is_escaped: bool,
}

impl Brackets {
    pub(super) fn are_open(self) -> bool {
        self.open > 0
    }

    /// Updates the brackets with text that was passed. `visible` are the last two
    /// characters before it that are not white space, the later one first.
    pub(super) fn pass(&mut self, text: &str, visible: [Option<char>; 2]) {
        let mut at = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            if self.open > 0 {
                at += self.examine(rest);
                continue;
            }
            let Some(newline) = memchr::memchr(b'\n', rest.as_bytes()) else {
                return;
            };
            at += newline + 1;
            // Most lines end with a letter or a stop.
            let end = newline
                .checked_sub(1)
                .and_then(|end| rest.as_bytes().get(end));
            let may_open = end.is_none_or(|byte| b"([{ \t\r\n".contains(byte));
            if may_open && opens(last_visible(text.get(..at).unwrap_or(""), visible)) {
                *self = Self {
                    open: 1,
                    ..Self::default()
                };
            }
        }
    }

    /// Counts brackets up to the last one that closes; returns how far.
    fn examine(&mut self, text: &str) -> usize {
        for (at, byte) in text.bytes().enumerate() {
            self.length += 1;
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = self.in_string,
                b'"' => self.in_string = !self.in_string,
                b'\n' => self.in_string = false,
                _ if self.in_string => {}
                b'(' | b'[' | b'{' => self.open += 1,
                b')' | b']' | b'}' => self.open -= 1,
                _ => {}
            }
            let is_far = self.length >= MAX_OPEN && text.is_char_boundary(at + 1);
            if self.open == 0 || is_far {
                *self = Self::default();
                return at + 1;
            }
        }
        text.len()
    }
}

/// Whether a line that ends so opens a bracket.
pub(super) fn opens(visible: [Option<char>; 2]) -> bool {
    match visible {
        // A sad face.
        [Some('('), Some(':')] => false,
        [last, _] => matches!(last, Some('(' | '[' | '{')),
    }
}

/// The last two characters of a text that are not white space, the later one
/// first. Where it has none, they are those `before` it.
pub(super) fn last_visible(text: &str, before: [Option<char>; 2]) -> [Option<char>; 2] {
    let mut visible = text.chars().rev().filter(|c| !c.is_whitespace());
    match visible.next() {
        Some(later) => [Some(later), visible.next().or(before[0])],
        None => before,
    }
}
