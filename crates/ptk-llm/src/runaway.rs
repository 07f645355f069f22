//! Stops replies that would never end: those that repeat themselves, and those
//! that are far too long.

use crate::FinishReason;

/// Sentences that repeat themselves.
const SENTENCES: Scale = Scale {
    bytes: 3072,
    times: 8,
    every: 512,
};
/// Paragraphs that do.
const PARAGRAPHS: Scale = Scale {
    bytes: 24 * 1024,
    times: 6,
    every: 4096,
};
/// The tokens that a reply may have where the model's window is not known.
const TOKENS: u64 = 32_768;
/// The fewest and the most tokens by window.
const LEAST: u64 = 1024;
const MOST: u64 = 32_768;
/// The least bytes of a token on average: code has more, and so does prose.
const BYTES: u64 = 3;

/// When the end of a reply counts as repeating itself.
#[derive(Debug, Clone, Copy)]
struct Scale {
    /// How many bytes at the end have to.
    bytes: usize,
    /// How often they have to repeat something.
    times: usize,
    /// How many bytes come between two checks.
    every: usize,
}

impl Scale {
    /// The distance at which the end of a text repeats itself.
    fn period(self, text: &[u8]) -> Option<usize> {
        let tail = text.get(text.len().checked_sub(self.bytes)?..)?;
        let period = period(tail);
        (period <= self.bytes / self.times).then_some(period)
    }
}

/// Watches a reply while it arrives, and reports when to stop it.
///
/// ```
/// use ptk_llm::{FinishReason, RunawayGuard};
///
/// let mut guard = RunawayGuard::new(None, Some(8192));
/// assert_eq!(guard.push("The version is 2.1."), None);
/// let ended = (0..1000).find_map(|_| guard.push("It is 2.1. I repeat: "));
/// assert_eq!(ended, Some(FinishReason::Repetition));
/// ```
#[derive(Debug, Clone)]
pub struct RunawayGuard {
    /// The end of the reply so far.
    tail: Vec<u8>,
    /// Bytes that came so far.
    seen: usize,
    /// Bytes that may still come.
    left: u64,
}

impl RunawayGuard {
    /// Creates a guard for a reply of at most so many tokens, where a limit was
    /// requested, or a quarter of the model's window.
    #[must_use]
    pub fn new(max_tokens: Option<u32>, window: Option<u32>) -> Self {
        let by_window = window.map_or(TOKENS, |window| (u64::from(window) / 4).clamp(LEAST, MOST));
        Self {
            tail: Vec::new(),
            seen: 0,
            // A limit that was requested is enforced by the server.
            left: max_tokens.map_or(by_window * BYTES, |_| u64::MAX),
        }
    }

    /// Adds the next piece; returns why the reply ends here, if it does.
    pub fn push(&mut self, text: &str) -> Option<FinishReason> {
        self.left = self.left.saturating_sub(text.len() as u64);
        self.tail.extend_from_slice(text.as_bytes());
        let before = self.seen;
        self.seen += text.len();
        let is_due = |scale: &Scale| before / scale.every < self.seen / scale.every;
        let due = [SENTENCES, PARAGRAPHS].into_iter().filter(is_due);
        if due.clone().any(|scale| scale.period(&self.tail).is_some()) {
            return Some(FinishReason::Repetition);
        }
        if due.count() > 0 {
            let over = self.tail.len().saturating_sub(PARAGRAPHS.bytes);
            self.tail.drain(..over);
        }
        (self.left == 0).then_some(FinishReason::Length)
    }
}

/// The position where a text begins to repeat itself up to its end; `None` if
/// it does not.
#[must_use]
pub fn repetition(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut scales = [SENTENCES, PARAGRAPHS].into_iter();
    let period = scales.find_map(|scale| scale.period(bytes))?;
    let same = bytes.iter().rev().zip(bytes.iter().rev().skip(period));
    let repeated = same.take_while(|(one, other)| one == other).count();
    let mut start = bytes.len() - repeated;
    while !text.is_char_boundary(start) {
        start += 1;
    }
    Some(start)
}

/// The shortest distance at which a text repeats itself: its own length if it
/// does not.
fn period(text: &[u8]) -> usize {
    // The longest proper prefix of each prefix that is also its suffix.
    let mut borders = vec![0_usize; text.len()];
    let mut border = 0;
    for at in 1..text.len() {
        let byte = text.get(at);
        while border > 0 && text.get(border) != byte {
            border = borders.get(border - 1).copied().unwrap_or(0);
        }
        if text.get(border) == byte {
            border += 1;
        }
        if let Some(place) = borders.get_mut(at) {
            *place = border;
        }
    }
    text.len() - border
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(piece: &str, times: usize, window: Option<u32>) -> Option<FinishReason> {
        let mut guard = RunawayGuard::new(None, window);
        (0..times).find_map(|_| guard.push(piece))
    }

    #[test]
    fn what_repeats_itself_is_ended() {
        for piece in ["a", "\n", "PTK_RESULT: {\"content\": \"x\"}\n", "né 中 "] {
            let ended = ended(piece, 4000, None);
            assert_eq!(ended, Some(FinishReason::Repetition), "{piece:?}");
        }
    }

    #[test]
    fn paragraphs_that_repeat_themselves_are_ended() {
        let numbers: Vec<String> = (0..600).map(|number| number.to_string()).collect();
        let paragraph = numbers.join(" ") + "\n";
        assert_eq!(ended(&paragraph, 40, None), Some(FinishReason::Repetition));
        let text = format!("So: {}", paragraph.repeat(40));
        let place = repetition(&text);
        assert_eq!(place, Some(4 + paragraph.len()));
        assert_eq!(repetition(&paragraph.repeat(3)), None);
    }

    #[test]
    fn what_only_has_much_in_common_goes_on() {
        let mut guard = RunawayGuard::new(None, None);
        for number in 0..1000 {
            assert_eq!(guard.push(&format!("| row {number} | ok |\n")), None);
        }
        assert_eq!(ended("-", 2000, None), None);
    }

    #[test]
    fn the_limit_follows_the_window() {
        let numbers: Vec<String> = (0..40_000).map(|number| number.to_string()).collect();
        let text = numbers.join(" ");
        for (window, most) in [(Some(4096), 1024), (Some(65_536), 16_384), (None, 32_768)] {
            let mut guard = RunawayGuard::new(None, window);
            let mut told = 0;
            let ended = text.as_bytes().chunks(16).find_map(|piece| {
                told += piece.len() as u64;
                guard.push(std::str::from_utf8(piece).unwrap_or_default())
            });
            assert_eq!(ended, Some(FinishReason::Length));
            assert_eq!(told, (most * BYTES).next_multiple_of(16));
        }
        let mut guard = RunawayGuard::new(Some(10), Some(4096));
        assert_eq!(guard.push(&text), None);
    }

    #[test]
    fn where_it_begins_is_found() {
        let text = format!("The answer is four!{}", " Yes, 4.".repeat(500));
        assert_eq!(
            repetition(&text).and_then(|at| text.get(..at)),
            Some("The answer is four! Yes, 4.")
        );
        assert_eq!(repetition("No."), None);
        let wide = "é中".repeat(1000);
        assert_eq!(
            repetition(&wide).map(|at| wide.is_char_boundary(at)),
            Some(true)
        );
    }
}
