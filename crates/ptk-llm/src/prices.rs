//! The prices of models.

use serde::Deserialize;

use crate::Usage;

/// The prices of a model, in US dollars for a million tokens.
///
/// ```
/// use ptk_llm::{Prices, Usage};
///
/// let prices = Prices { input: 3.0, cached_input: Some(0.3), cache_write: Some(3.75), output: 15.0 };
/// let usage = Usage {
///     input_tokens: 10_000,
///     cached_tokens: 8_000,
///     cache_write_tokens: 1_000,
///     output_tokens: 500,
///     ..Usage::default()
/// };
/// // 1,000 · 3 + 8,000 · 0.3 + 1,000 · 3.75 + 500 · 15 millionths of a dollar.
/// assert_eq!(prices.cost_micros(&usage), 16_650);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// The price of input.
    pub input: f64,
    /// The price of cached input; the same as that of other input if `None`.
    pub cached_input: Option<f64>,
    /// The price of input that is written to a cache; the same as that of other
    /// input if `None`.
    pub cache_write: Option<f64>,
    /// The price of output, reasoning included.
    pub output: f64,
}

impl Prices {
    /// The cost of a request, in millionths of a dollar.
    #[must_use]
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "no request has so many tokens; prices below zero count as none"
    )]
    pub fn cost_micros(&self, usage: &Usage) -> u64 {
        let cached = usage.cached_tokens.min(usage.input_tokens);
        let written = usage.cache_write_tokens.min(usage.input_tokens - cached);
        let fresh = usage.input_tokens - cached - written;
        // A dollar for a million tokens is a millionth of one for each.
        let cost = [
            (fresh, self.input),
            (cached, self.cached_input.unwrap_or(self.input)),
            (written, self.cache_write.unwrap_or(self.input)),
            (usage.output_tokens, self.output),
        ];
        let cost: f64 = cost
            .map(|(tokens, price)| tokens as f64 * price)
            .iter()
            .sum();
        cost.round() as u64
    }
}
