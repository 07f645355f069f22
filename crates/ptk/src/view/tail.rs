//! The last part of a running tool's output.

/// How many bytes are kept at least.
pub const MAX_TAIL: usize = 64 * 1024;

/// The last part of a text of any length: it takes no more than twice
/// [`MAX_TAIL`], however much comes.
///
/// ```
/// use ptk::view::{MAX_TAIL, Tail};
///
/// let mut tail = Tail::default();
/// for number in 0..1_000_000 {
///     tail.push(&format!("{number}\n"));
/// }
/// assert!(tail.text().ends_with("999998\n999999\n"));
/// assert!(tail.text().len() <= 2 * MAX_TAIL);
/// assert_eq!(tail.total(), 6_888_890);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tail {
    text: String,
    total: u64,
}

impl Tail {
    /// Appends more text.
    pub fn push(&mut self, text: &str) {
        self.total = self.total.saturating_add(text.len() as u64);
        // Of a long piece only the end is ever looked at.
        let text = ending(text, MAX_TAIL);
        if self.text.len() + text.len() > 2 * MAX_TAIL {
            let kept = ending(&self.text, MAX_TAIL).len();
            self.text.drain(..self.text.len() - kept);
        }
        self.text.push_str(text);
    }

    /// The text that is kept.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many bytes there have ever been.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The last line with something in it.
    #[must_use]
    pub fn last_line(&self) -> Option<&str> {
        self.text.lines().rfind(|line| !line.trim().is_empty())
    }
}

/// The last bytes of a text, as far as they are whole characters.
fn ending(text: &str, most: usize) -> &str {
    let mut start = text.len().saturating_sub(most);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_stay_whole_however_long_the_pieces_are() {
        for piece in ["ệ", "日本語", "a日", "\n"] {
            let mut tail = Tail::default();
            let long = piece.repeat(MAX_TAIL);
            for text in [piece, &long, piece, &long, &long] {
                tail.push(text);
                assert!(tail.text().len() <= 2 * MAX_TAIL);
                assert!(tail.text().ends_with(piece));
            }
        }
    }
}
