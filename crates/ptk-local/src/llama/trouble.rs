//! What can go wrong with a model on the way to an answer.

use std::path::PathBuf;

use ptk_llm::LlmErrorKind;

use crate::GgufError;

/// Why there is no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum Trouble {
    /// Nobody wants the answer any more.
    #[error("nobody waits for the answer")]
    Stopped,
    /// The file is not what it should be.
    #[error("{0}")]
    File(String),
    /// There is not enough memory.
    #[error(
        "{file} wants about {wanted} MB of memory with a window of {window} tokens, and {free} MB are free; choose a smaller model, or a smaller context_window in [models]"
    )]
    Memory {
        file: String,
        window: u32,
        wanted: u64,
        free: u64,
    },
    /// The processor is too old for the way this was built.
    #[error("this ptk was built for processors with AVX2, FMA and F16C, and this one lacks them")]
    Processor,
    /// llama.cpp would not.
    #[error("llama.cpp could not {what} {}: {why}", file.display())]
    Refused {
        what: &'static str,
        file: PathBuf,
        why: String,
    },
    /// The conversation is longer than the window.
    #[error("the conversation takes {tokens} tokens, and the model's window is {window}")]
    TooLong { tokens: usize, window: u32 },
    /// The grammar of a request cannot be read.
    #[error("the grammar cannot be read by llama.cpp")]
    Grammar,
    /// There is no API for tools.
    #[error("a model in a file is taught its tools in text: leave out --mode, or say --mode text")]
    Tools,
    /// Numbers came out that are none.
    #[error("llama.cpp failed while it worked: {0}")]
    Failed(String),
}

impl Trouble {
    /// What that is to whoever asked.
    pub(super) const fn kind(&self) -> LlmErrorKind {
        match self {
            Self::TooLong { .. } => LlmErrorKind::TooLong,
            Self::Grammar | Self::Tools => LlmErrorKind::Rejected,
            Self::Stopped | Self::Failed(_) => LlmErrorKind::Failing,
            Self::File(_) | Self::Memory { .. } | Self::Processor | Self::Refused { .. } => {
                LlmErrorKind::NotStarted
            }
        }
    }
}

impl From<GgufError> for Trouble {
    fn from(error: GgufError) -> Self {
        Self::File(error.to_string())
    }
}
