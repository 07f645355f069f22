//! What is shown of a stream while it is read: few pieces, of whole characters.

use std::time::Duration;

use tokio::time::Instant;

/// The time between two pieces.
const PAUSE: Duration = Duration::from_millis(100);
/// Bytes of one piece. What comes faster is skipped, with a note.
const MOST: usize = 32 * 1024;

/// Text that waits to be shown.
#[derive(Debug)]
pub(super) struct Live {
    waiting: String,
    /// The beginning of a character whose end has not come.
    split: Vec<u8>,
    passed_over: u64,
    next: Instant,
}

impl Live {
    pub(super) fn new() -> Self {
        Self {
            waiting: String::new(),
            split: Vec::new(),
            passed_over: 0,
            next: Instant::now(),
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.waiting.len() >= MOST {
            self.passed_over += (self.split.len() + bytes.len()) as u64;
            self.split.clear();
            return;
        }
        let mut all = std::mem::take(&mut self.split);
        all.extend_from_slice(bytes);
        let mut rest = all.as_slice();
        while let Err(error) = std::str::from_utf8(rest) {
            let (valid, other) = rest.split_at(error.valid_up_to());
            self.waiting.push_str(&String::from_utf8_lossy(valid));
            let Some(invalid) = error.error_len() else {
                self.split = other.to_vec();
                return;
            };
            self.waiting.push(char::REPLACEMENT_CHARACTER);
            rest = other.get(invalid..).unwrap_or_default();
        }
        self.waiting.push_str(&String::from_utf8_lossy(rest));
    }

    /// When the next piece is to be shown, if there is any.
    pub(super) fn due(&self) -> Option<Instant> {
        (!self.waiting.is_empty()).then_some(self.next)
    }

    /// The next piece, if it is time.
    pub(super) fn piece(&mut self) -> Option<String> {
        let now = Instant::now();
        self.due().filter(|due| *due <= now)?;
        self.next = now + PAUSE;
        Some(self.all())
    }

    /// The last piece.
    pub(super) fn rest(&mut self) -> String {
        if !self.split.is_empty() {
            self.split.clear();
            self.waiting.push(char::REPLACEMENT_CHARACTER);
        }
        self.all()
    }

    fn all(&mut self) -> String {
        let mut piece = std::mem::take(&mut self.waiting);
        let passed_over = std::mem::take(&mut self.passed_over);
        if passed_over > 0 {
            piece.push_str(&format!(
                "\n[… {passed_over} bytes came too fast to be shown …]\n"
            ));
        }
        piece
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_that_comes_in_parts_is_one() {
        let mut live = Live::new();
        let mut shown = String::new();
        for byte in "aä€😀z".bytes() {
            live.push(&[byte]);
            shown.push_str(&live.all());
        }
        assert_eq!(shown, "aä€😀z");
    }

    #[test]
    fn what_is_no_text_is_shown_as_such() {
        let mut live = Live::new();
        live.push(b"a\xffb\xe2\x82");
        assert_eq!(live.rest(), "a\u{fffd}b\u{fffd}");
    }

    #[test]
    fn a_flood_is_passed_over_and_said_to_be() {
        let mut live = Live::new();
        for _ in 0..100 {
            live.push(&vec![b'x'; MOST]);
        }
        let piece = live.piece().unwrap();
        assert!(piece.starts_with("xxx"));
        assert!(
            piece.ends_with("[… 3244032 bytes came too fast to be shown …]\n"),
            "{}",
            piece.len()
        );
        assert!(live.due().is_none());
    }
}
