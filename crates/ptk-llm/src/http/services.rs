//! Known services by name, a line each.

use super::ollama_host;
use crate::Constraint;

/// The API that a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// OpenAI's chat completions, which most servers support.
    OpenAi,
    /// The same with what only OpenAI itself expects.
    OpenAiItself,
    /// Anthropic's messages.
    Anthropic,
    /// Google's Gemini API.
    Gemini,
    /// OpenAI's responses.
    OpenAiResponses,
    /// OpenAI's plain completion, which continues a text.
    Completion,
    /// The plain completion of llama.cpp's own API.
    LlamaCppCompletion,
    /// Ollama's own API.
    Ollama,
}

/// How a server constrains answers, and in which format it is requested.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Grammar {
    /// Not known: it depends on the model, or the server.
    #[default]
    Unknown,
    /// A schema, in the format of its API.
    Schema,
    /// A schema or a grammar, in llama.cpp's format.
    LlamaCpp,
    /// A schema, a grammar or a structural tag, in vLLM's format.
    Vllm,
    /// The same, in SGLang's format.
    Sglang,
}

impl Grammar {
    pub(super) const fn constraint(self) -> Constraint {
        match self {
            Self::Unknown => Constraint::None,
            Self::Schema => Constraint::Schema,
            Self::LlamaCpp => Constraint::Grammar,
            Self::Vllm | Self::Sglang => Constraint::StructuralTag,
        }
    }
}

/// A service that is known by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Service {
    /// The name of the service.
    pub name: &'static str,
    /// Its name as its maker writes it.
    pub title: &'static str,
    /// The API that it speaks.
    pub kind: Kind,
    /// The default address.
    pub base: &'static str,
    /// The variable with another address.
    pub at: Option<&'static str>,
    /// The variables that may hold the key.
    pub keys: &'static [&'static str],
    /// Whether it requires a key.
    pub needs_key: bool,
    /// Whether it is the maker's own service, which serves its models with all
    /// their capabilities, and not a program that may be configured in any way.
    pub is_hosted: bool,
    /// How answers of its models can be constrained.
    pub grammar: Grammar,
    /// The model that is asked if none is named: one that calls tools well and
    /// is not expensive. Only hosted services have one.
    pub default_model: Option<&'static str>,
}

/// The services that are known by name.
pub const SERVICES: &[Service] = &[
    service(
        "openai",
        Kind::OpenAiItself,
        "https://api.openai.com/v1",
        &["OPENAI_API_KEY"],
    )
    .titled("OpenAI")
    .default_model("gpt-5-mini")
    .at("OPENAI_BASE_URL")
    .holds(Grammar::Schema),
    service(
        "openai-responses",
        Kind::OpenAiResponses,
        "https://api.openai.com/v1",
        &["OPENAI_API_KEY"],
    )
    .titled("OpenAI")
    .default_model("gpt-5-mini")
    .at("OPENAI_BASE_URL")
    .holds(Grammar::Schema),
    service(
        "anthropic",
        Kind::Anthropic,
        "https://api.anthropic.com/v1",
        &["ANTHROPIC_API_KEY"],
    )
    .titled("Anthropic")
    .default_model("claude-sonnet-4-5")
    .holds(Grammar::Schema),
    service(
        "ai-studio",
        Kind::Gemini,
        "https://generativelanguage.googleapis.com/v1beta",
        &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    )
    .titled("Google AI Studio")
    .default_model("gemini-flash-latest")
    .holds(Grammar::Schema),
    service(
        "groq",
        Kind::OpenAi,
        "https://api.groq.com/openai/v1",
        &["GROQ_API_KEY"],
    )
    .titled("Groq")
    .default_model("openai/gpt-oss-120b"),
    service(
        "openrouter",
        Kind::OpenAi,
        "https://openrouter.ai/api/v1",
        &["OPENROUTER_API_KEY"],
    )
    .titled("OpenRouter")
    // Its own name for the model that suits a request best.
    .default_model("openrouter/auto"),
    service("ollama", Kind::Ollama, "http://127.0.0.1:11434", &[])
        .titled("Ollama")
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
    .titled("vLLM")
    .local()
    .holds(Grammar::Vllm),
    service("sglang", Kind::OpenAi, "http://127.0.0.1:30000/v1", &[])
        .titled("SGLang")
        .local()
        .holds(Grammar::Sglang),
    service("lmstudio", Kind::OpenAi, "http://127.0.0.1:1234/v1", &[])
        .titled("LM Studio")
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
        title: name,
        kind,
        base,
        at: None,
        keys,
        needs_key: true,
        is_hosted: true,
        grammar: Grammar::Unknown,
        default_model: None,
    }
}

impl Service {
    const fn titled(self, title: &'static str) -> Self {
        Self { title, ..self }
    }

    const fn at(self, variable: &'static str) -> Self {
        Self {
            at: Some(variable),
            ..self
        }
    }

    const fn default_model(self, model: &'static str) -> Self {
        Self {
            default_model: Some(model),
            ..self
        }
    }

    const fn holds(self, grammar: Grammar) -> Self {
        Self { grammar, ..self }
    }

    /// A service on this machine, with any model, which may only support text.
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

    /// The hosted service that has its API at this host, such as
    /// `api.openai.com`.
    #[must_use]
    pub fn at_host(host: &str) -> Option<&'static Self> {
        SERVICES.iter().find(|service| {
            let base = service.base.strip_prefix("https://").unwrap_or_default();
            service.is_hosted && base.split('/').next() == Some(host)
        })
    }

    /// The name under which its key is stored: services that accept the same
    /// key share it.
    #[must_use]
    pub fn account(&self) -> &'static str {
        let mut services = SERVICES.iter();
        let first = services.find(|service| service.keys == self.keys);
        first.map_or(self.name, |service| service.name)
    }

    /// The address of the service, from its variable or the default.
    #[must_use]
    pub fn address(&self) -> String {
        let said = self.at.and_then(|variable| std::env::var(variable).ok());
        let said = said.filter(|address| !address.trim().is_empty());
        match said {
            Some(said) if self.kind == Kind::Ollama => ollama_host::address(&said),
            Some(said) => said,
            None => self.base.to_owned(),
        }
    }
}
