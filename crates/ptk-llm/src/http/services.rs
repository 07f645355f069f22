//! Services by name, a line each.

use super::ollama;
use crate::Constraint;

/// What a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Chat completions as OpenAI has them, as most servers understand them.
    OpenAi,
    /// The same with what only OpenAI itself wants.
    OpenAiItself,
    /// Anthropic's messages.
    Anthropic,
    /// Google's Gemini API.
    Gemini,
    /// OpenAI's responses.
    OpenAiResponses,
    /// Plain completion as OpenAI has it: a text in, and how it goes on.
    Completion,
    /// Plain completion as llama.cpp's server has it for itself.
    LlamaCppCompletion,
    /// Ollama's own API.
    Ollama,
}

impl Kind {
    /// What does not belong to the address of such a server, though some write
    /// it there.
    pub(super) const fn tails(self) -> &'static [&'static str] {
        match self {
            Self::OpenAi | Self::OpenAiItself => &["/chat/completions"],
            Self::Anthropic => &["/messages"],
            Self::OpenAiResponses => &["/responses"],
            Self::Completion => &["/completions"],
            Self::LlamaCppCompletion => &["/completion", "/v1"],
            Self::Ollama => &["/api/chat", "/api", "/v1"],
            Self::Gemini => &[],
        }
    }
}

/// What a server can hold an answer to, and in which words it is told so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Grammar {
    /// Nobody knows whether it can: it depends on the model, or the server.
    #[default]
    Unknown,
    /// A schema, in the words of its API.
    Schema,
    /// A schema or a grammar, in llama.cpp's words.
    LlamaCpp,
    /// A schema or a grammar, in vLLM's words.
    Vllm,
}

impl Grammar {
    pub(super) const fn constraint(self) -> Constraint {
        match self {
            Self::Unknown => Constraint::None,
            Self::Schema => Constraint::Schema,
            Self::LlamaCpp | Self::Vllm => Constraint::Grammar,
        }
    }
}

/// A service that is known by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Service {
    /// The name.
    pub name: &'static str,
    /// What it speaks.
    pub kind: Kind,
    /// Where it is, unless a variable says otherwise.
    pub base: &'static str,
    /// The variable that says where it is.
    pub at: Option<&'static str>,
    /// The variables that may hold the key.
    pub keys: &'static [&'static str],
    /// Whether it does nothing without a key.
    pub needs_key: bool,
    /// Whether it is the maker's own, which serves its models with all that they
    /// can do, and not a program that may be set up in any way.
    pub is_hosted: bool,
    /// What its models can hold an answer to.
    pub grammar: Grammar,
}

/// The services that are known by name.
pub const SERVICES: &[Service] = &[
    service(
        "openai",
        Kind::OpenAiItself,
        "https://api.openai.com/v1",
        &["OPENAI_API_KEY"],
    )
    .at("OPENAI_BASE_URL")
    .holds(Grammar::Schema),
    service(
        "openai-responses",
        Kind::OpenAiResponses,
        "https://api.openai.com/v1",
        &["OPENAI_API_KEY"],
    )
    .at("OPENAI_BASE_URL")
    .holds(Grammar::Schema),
    service(
        "anthropic",
        Kind::Anthropic,
        "https://api.anthropic.com/v1",
        &["ANTHROPIC_API_KEY"],
    )
    .holds(Grammar::Schema),
    service(
        "ai-studio",
        Kind::Gemini,
        "https://generativelanguage.googleapis.com/v1beta",
        &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    )
    .holds(Grammar::Schema),
    service(
        "groq",
        Kind::OpenAi,
        "https://api.groq.com/openai/v1",
        &["GROQ_API_KEY"],
    ),
    service(
        "openrouter",
        Kind::OpenAi,
        "https://openrouter.ai/api/v1",
        &["OPENROUTER_API_KEY"],
    ),
    service("ollama", Kind::Ollama, "http://127.0.0.1:11434", &[])
        .local()
        .at("OLLAMA_HOST")
        .holds(Grammar::Schema),
    service(
        "llama.cpp",
        Kind::OpenAi,
        "http://127.0.0.1:8080/v1",
        &["LLAMA_API_KEY"],
    )
    .local()
    .holds(Grammar::LlamaCpp),
    service(
        "llama.cpp-completion",
        Kind::LlamaCppCompletion,
        "http://127.0.0.1:8080",
        &["LLAMA_API_KEY"],
    )
    .local()
    .holds(Grammar::LlamaCpp),
    service(
        "vllm",
        Kind::OpenAi,
        "http://127.0.0.1:8000/v1",
        &["VLLM_API_KEY"],
    )
    .local()
    .holds(Grammar::Vllm),
    service("lmstudio", Kind::OpenAi, "http://127.0.0.1:1234/v1", &[])
        .local()
        .holds(Grammar::Schema),
    service(
        "completion",
        Kind::Completion,
        "http://127.0.0.1:8000/v1",
        &[],
    )
    .local(),
];

const fn service(
    name: &'static str,
    kind: Kind,
    base: &'static str,
    keys: &'static [&'static str],
) -> Service {
    Service {
        name,
        kind,
        base,
        at: None,
        keys,
        needs_key: true,
        is_hosted: true,
        grammar: Grammar::Unknown,
    }
}

impl Service {
    const fn at(self, variable: &'static str) -> Self {
        Self {
            at: Some(variable),
            ..self
        }
    }

    const fn holds(self, grammar: Grammar) -> Self {
        Self { grammar, ..self }
    }

    /// It runs on this machine, with any model, which may only speak text.
    const fn local(self) -> Self {
        Self {
            needs_key: false,
            is_hosted: false,
            ..self
        }
    }

    /// The service of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        SERVICES.iter().find(|service| service.name == name)
    }

    /// The name under which its key is kept: services that take the same key
    /// share it.
    pub(super) fn account(&self) -> &'static str {
        let mut services = SERVICES.iter();
        let first = services.find(|service| service.keys == self.keys);
        first.map_or(self.name, |service| service.name)
    }

    /// Where it is.
    pub(super) fn address(&self) -> String {
        let said = self.at.and_then(|variable| std::env::var(variable).ok());
        let said = said.filter(|address| !address.trim().is_empty());
        match said {
            Some(said) if self.kind == Kind::Ollama => ollama::address(&said),
            Some(said) => said,
            None => self.base.to_owned(),
        }
    }
}
