//! The prose that was passed last: whether it has begun a list, an object or an
//! argument list that goes on.

use super::reader::ceiling;

/// How much of the prose is kept.
const MAX_KEPT: usize = 4096;

/// The last prose since a call or a mark.
#[derive(Debug, Default)]
pub(super) struct Passed(String);

impl Passed {
    /// Adds what was passed.
    pub(super) fn push(&mut self, text: &str) {
        if text.len() >= MAX_KEPT {
            self.0.clear();
        } else if self.0.len() + text.len() > 2 * MAX_KEPT {
            let kept = self.last().to_owned();
            self.0 = kept;
        }
        self.0.push_str(last(text));
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// How many bytes [`Passed::is_data`] reads.
    pub(super) fn len(&self) -> usize {
        self.last().len()
    }

    /// Whether a line of it ends with an opening bracket that nothing has closed.
    pub(super) fn is_data(&self) -> bool {
        let mut open = 0_usize;
        for line in self.last().lines() {
            let line = line.trim();
            let ends_open = line.ends_with(['[', '{', '(']) && !line.ends_with(":(");
            if open == 0 && !ends_open {
                continue;
            }
            let (opened, closed) = brackets(line);
            open = if open == 0 {
                opened.saturating_sub(closed).max(1)
            } else {
                (open + opened).saturating_sub(closed)
            };
        }
        open > 0
    }

    fn last(&self) -> &str {
        last(&self.0)
    }
}

/// The end of a text, as much as is kept.
fn last(text: &str) -> &str {
    let from = ceiling(text, text.len().saturating_sub(MAX_KEPT));
    text.get(from..).unwrap_or("")
}

/// How many brackets a line opens and closes, those in strings aside.
fn brackets(line: &str) -> (usize, usize) {
    let (mut opened, mut closed) = (0, 0);
    let (mut in_string, mut is_escaped) = (false, false);
    for byte in line.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_string,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'(' | b'[' | b'{' => opened += 1,
            b')' | b']' | b'}' => closed += 1,
            _ => {}
        }
    }
    (opened, closed)
}
