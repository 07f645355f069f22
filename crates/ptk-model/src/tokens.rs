//! Counting tokens as a model does, where its tokenizer is known.

use std::sync::Arc;

use crate::{Estimate, TokenCounter};

/// What is kept free where tokens are counted, in hundredths of the window: the
/// marks around messages are added by the server.
#[cfg(feature = "openai-tokens")]
const COUNTED_MARGIN: u32 = 2;

/// Prefixes of model names, and their tokenizers. The first match counts.
const NAMES: [(&str, Tokenizer); 12] = [
    ("gpt-4o", Tokenizer::O200k),
    ("chatgpt-4o", Tokenizer::O200k),
    ("gpt-4.", Tokenizer::O200k),
    ("gpt-5", Tokenizer::O200k),
    ("gpt-oss", Tokenizer::O200k),
    ("codex-", Tokenizer::O200k),
    ("o1", Tokenizer::O200k),
    ("o3", Tokenizer::O200k),
    ("o4", Tokenizer::O200k),
    ("gpt-4", Tokenizer::Cl100k),
    ("gpt-3.5", Tokenizer::Cl100k),
    ("gpt-35", Tokenizer::Cl100k),
];

/// The tokenizers that are known. Their tables are a part of the program only
/// with the feature `openai-tokens`, and are read when something is first
/// counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tokenizer {
    /// The tokenizer of OpenAI's models since GPT-4o.
    O200k,
    /// The tokenizer of OpenAI's models before.
    Cl100k,
}

impl Tokenizer {
    /// The tokenizer of a model, by its name; `None` if it is not known.
    ///
    /// ```
    /// use ptk_model::Tokenizer;
    ///
    /// assert_eq!(Tokenizer::of("openai/gpt-5-mini"), Some(Tokenizer::O200k));
    /// assert_eq!(Tokenizer::of("llama-3"), None);
    /// ```
    #[must_use]
    pub fn of(model: &str) -> Option<Self> {
        let model = model.rsplit('/').next().unwrap_or(model);
        let model = model.strip_prefix("ft:").unwrap_or(model);
        let mut known = NAMES.iter();
        let known = known.find(|(name, _)| model.starts_with(name));
        known.map(|(_, tokenizer)| *tokenizer)
    }
}

#[cfg(feature = "openai-tokens")]
impl TokenCounter for Tokenizer {
    fn count(&self, text: &str) -> u64 {
        let tokenizer = match self {
            Self::O200k => bpe_openai::o200k_base(),
            Self::Cl100k => bpe_openai::cl100k_base(),
        };
        tokenizer.count(text) as u64
    }

    fn margin(&self) -> u32 {
        COUNTED_MARGIN
    }
}

/// The token counter for a model: its own tokenizer where it is known and part
/// of the program, an estimate elsewhere.
#[must_use]
pub fn of_model(model: Option<&str>) -> Arc<dyn TokenCounter> {
    #[cfg(feature = "openai-tokens")]
    if let Some(tokenizer) = model.and_then(Tokenizer::of) {
        return Arc::new(tokenizer);
    }
    #[cfg(not(feature = "openai-tokens"))]
    let _ = model;
    Arc::new(Estimate)
}
