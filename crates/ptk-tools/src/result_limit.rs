//! [`ResultLimit`]: how long a result may be for the model that is shown it.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::bound::floor;

/// Tokens for what stands around the text of a result: other fields, notices.
const AROUND: u64 = 128;
/// How much of a limit a text may take, in hundredths: counts are inexact.
const CONTENT: u64 = 85;

/// The most tokens that a result may have, as the model that is shown it counts
/// them.
///
/// ```
/// use ptk_tools::ResultLimit;
///
/// // Roughly four bytes a token.
/// let limit = ResultLimit::new(8_000, |text| text.len().div_ceil(4) as u64);
/// assert_eq!(limit.tokens(), 8_000);
/// ```
#[derive(Clone)]
pub struct ResultLimit {
    tokens: u64,
    count: Arc<dyn Fn(&str) -> u64 + Send + Sync>,
}

impl ResultLimit {
    /// A limit of this many tokens, and how they are counted.
    pub fn new(tokens: u64, count: impl Fn(&str) -> u64 + Send + Sync + 'static) -> Self {
        Self {
            tokens,
            count: Arc::new(count),
        }
    }

    /// How many tokens a result may have.
    #[must_use]
    pub const fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Whether a result of these fields is within the limit.
    #[must_use]
    pub fn fits(&self, fields: &impl Serialize) -> bool {
        self.count(fields) + AROUND <= self.tokens
    }

    /// How many tokens the main text of a result may have.
    pub(crate) fn of_content(&self) -> u64 {
        (self.tokens * CONTENT / 100).saturating_sub(AROUND).max(1)
    }

    /// How many bytes at the beginning of `text` may be the main text of a
    /// result.
    pub(crate) fn room(&self, text: &str) -> usize {
        let most = self.of_content();
        let mut end = text.len();
        while let Some(part) = text.get(..end).filter(|part| !part.is_empty()) {
            let tokens = self.count(&part);
            if tokens <= most {
                break;
            }
            end = floor(text, share(end, most, tokens));
        }
        end
    }

    /// How many bytes of `length` may stay of a result that takes this many
    /// tokens, if that is too many.
    pub(crate) fn shortened(&self, length: usize, tokens: u64) -> Option<usize> {
        (tokens > self.tokens).then(|| share(length, self.of_content(), tokens))
    }

    /// How many tokens a value takes in JSON, the form of results that takes
    /// most.
    pub(crate) fn count(&self, value: &impl Serialize) -> u64 {
        let json = serde_json::to_string(value).unwrap_or_default();
        (self.count)(&json)
    }
}

/// A little less than `most` of `tokens` parts of a length.
fn share(length: usize, most: u64, tokens: u64) -> usize {
    let length = length as u64;
    let less = u128::from(length) * u128::from(most) * 98 / (u128::from(tokens) * 100);
    usize::try_from(less.min(u128::from(length.saturating_sub(1)))).unwrap_or(0)
}

impl fmt::Debug for ResultLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResultLimit")
            .field("tokens", &self.tokens)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::ResultLimit;

    #[test]
    fn a_text_takes_as_much_as_fits_and_is_cut_at_a_character() {
        let limit = ResultLimit::new(1_128, |text| text.len() as u64);
        let most = usize::try_from(limit.of_content()).unwrap();
        for text in ["a".repeat(5_000), "é\n".repeat(2_000), "\"".repeat(9_000)] {
            let room = limit.room(&text);
            let part = text.get(..room).unwrap();
            let length = serde_json::to_string(part).unwrap().len();
            assert!(length <= most && length > most / 2, "{length} of {most}");
        }
        assert_eq!(limit.room("short"), 5);
        assert_eq!(limit.room(""), 0);
    }
}
