//! Errors of a local model.

use std::path::PathBuf;

use ptk_llm::LlmErrorKind;

use crate::GgufError;

/// Why a request failed.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum Trouble {
    /// The reply was dropped.
    #[error("nobody waits for the answer")]
    Stopped,
    /// The file or its chat template is not valid.
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
    /// The processor lacks features that this build needs.
    #[error("this ptk was built for processors with AVX2, FMA and F16C, and this one lacks them")]
    Processor,
    /// llama.cpp could not load or set up the model.
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
    /// The request asks for native tool calls, which are not supported.
    #[error("a model in a file is taught its tools in text: leave out --mode, or say --mode text")]
    Tools,
    /// llama.cpp failed during inference.
    #[error("llama.cpp failed while it worked: {0}")]
    Failed(String),
}

impl Trouble {
    /// The kind of provider error.
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
