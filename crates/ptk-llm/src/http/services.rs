//! Services by name, a line each.

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
    /// Whether its models call tools by an API of their own.
    pub has_native_tools: bool,
}

/// The services that are known by name.
pub const SERVICES: &[Service] = &[
    service(
        "openai",
        Kind::OpenAiItself,
        "https://api.openai.com/v1",
        &["OPENAI_API_KEY"],
    )
    .at("OPENAI_BASE_URL"),
    service(
        "anthropic",
        Kind::Anthropic,
        "https://api.anthropic.com/v1",
        &["ANTHROPIC_API_KEY"],
    ),
    service(
        "ai-studio",
        Kind::Gemini,
        "https://generativelanguage.googleapis.com/v1beta",
        &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    ),
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
    service("ollama", Kind::OpenAi, "http://127.0.0.1:11434/v1", &[]).local(),
    service(
        "llama.cpp",
        Kind::OpenAi,
        "http://127.0.0.1:8080/v1",
        &["LLAMA_API_KEY"],
    )
    .local(),
    service(
        "vllm",
        Kind::OpenAi,
        "http://127.0.0.1:8000/v1",
        &["VLLM_API_KEY"],
    )
    .local(),
    service("lmstudio", Kind::OpenAi, "http://127.0.0.1:1234/v1", &[]).local(),
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
        has_native_tools: true,
    }
}

impl Service {
    const fn at(self, variable: &'static str) -> Self {
        Self {
            at: Some(variable),
            ..self
        }
    }

    /// It runs on this machine, with any model, which may only speak text.
    const fn local(self) -> Self {
        Self {
            needs_key: false,
            has_native_tools: false,
            ..self
        }
    }

    /// The service of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        SERVICES.iter().find(|service| service.name == name)
    }

    /// Where it is.
    pub(super) fn address(&self) -> String {
        let said = self.at.and_then(|variable| std::env::var(variable).ok());
        let said = said.filter(|address| !address.trim().is_empty());
        said.unwrap_or_else(|| self.base.to_owned())
    }
}
