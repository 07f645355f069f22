//! What is known of models by their names, a line for each family.

use ptk_protocol::format::DefinitionStyle;

/// What is known of a family of models.
///
/// ```
/// use ptk_llm::KnownModel;
///
/// let known = KnownModel::named("qwen/Qwen2.5-7B-Instruct").ok_or("unknown")?;
/// assert_eq!((known.native_tools, known.dialect), (Some(true), Some("hermes")));
/// assert_eq!(KnownModel::named("gemma3:4b").ok_or("unknown")?.native_tools, Some(false));
/// assert!(KnownModel::named("my-own").is_none());
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownModel {
    /// How the names of the family begin, in lower case and without separators.
    pub begins: &'static str,
    /// Whether they call tools by an API, where their server supports it.
    pub native_tools: Option<bool>,
    /// Whether they were measured to do better in text, even where their server
    /// supports tools.
    pub prefers_text: bool,
    /// The size of their context window with their own maker, in tokens.
    pub context_window: Option<u32>,
    /// The form of calls in text that they were trained on, where it is one
    /// that PTK teaches.
    pub dialect: Option<&'static str>,
    /// How tools are best described to them in text.
    pub definitions: DefinitionStyle,
}

const fn family(begins: &'static str) -> KnownModel {
    KnownModel {
        begins,
        native_tools: None,
        prefers_text: false,
        context_window: None,
        dialect: None,
        definitions: DefinitionStyle::Full,
    }
}

impl KnownModel {
    const fn native(self) -> Self {
        Self {
            native_tools: Some(true),
            ..self
        }
    }

    const fn text(self) -> Self {
        Self {
            native_tools: Some(false),
            ..self
        }
    }

    const fn better_in_text(self) -> Self {
        Self {
            prefers_text: true,
            ..self.text()
        }
    }

    const fn window(self, tokens: u32) -> Self {
        Self {
            context_window: Some(tokens),
            ..self
        }
    }

    const fn writes(self, dialect: &'static str) -> Self {
        Self {
            dialect: Some(dialect),
            ..self
        }
    }

    const fn brief(self) -> Self {
        Self {
            definitions: DefinitionStyle::Signature,
            ..self
        }
    }

    /// Whether replies of a model of this name usually start inside reasoning,
    /// because its template opens it.
    ///
    /// ```
    /// use ptk_llm::KnownModel;
    ///
    /// assert!(KnownModel::starts_in_reasoning("Qwen/Qwen3-4B-Thinking-2507"));
    /// assert!(!KnownModel::starts_in_reasoning("qwen3:4b"));
    /// ```
    #[must_use]
    pub fn starts_in_reasoning(model: &str) -> bool {
        let name = plain_name(model);
        name.contains("thinking") || THINKING.iter().any(|begins| name.starts_with(begins))
    }

    /// The family of a model, if it is known.
    #[must_use]
    pub fn named(model: &str) -> Option<&'static Self> {
        let name = plain_name(model);
        KNOWN_MODELS.iter().find(|it| name.starts_with(it.begins))
    }
}

/// A model's name in lower case, without its owner and separators.
fn plain_name(model: &str) -> String {
    let name = model.rsplit('/').next().unwrap_or(model).to_lowercase();
    name.chars().filter(|it| !"-_ ".contains(*it)).collect()
}

/// Families whose templates open reasoning at the end of the prompt.
const THINKING: &[&str] = &[
    "deepseekr1",
    "qwq",
    "kimik3",
    "k2horizon",
    "minimaxm2",
    "commandareasoning",
    "step3.5",
];

/// The families that are known; the first match counts.
pub const KNOWN_MODELS: &[KnownModel] = &[
    family("chatgpt4o").text().window(128_000),
    family("gpt5").native().window(400_000),
    family("gpt4.1").native().window(1_047_576),
    family("gpt4o").native().window(128_000),
    family("gpt4turbo").native().window(128_000),
    family("gpt4").native().window(8192),
    family("gpt3.5turboinstruct").text().window(4096),
    family("gpt3.5").native().window(16_385),
    family("gptoss").native().window(131_072),
    family("o1mini").text().window(128_000),
    family("o1preview").text().window(128_000),
    family("o1").native().window(200_000),
    family("o3").native().window(200_000),
    family("o4").native().window(200_000),
    family("claude").native().window(200_000),
    family("gemini").native().window(1_048_576),
    family("gemma3").text().window(131_072),
    family("gemma2").text().window(8192),
    family("qwen3coder")
        .native()
        .window(262_144)
        .writes("qwen3-coder"),
    family("qwen3").native().writes("hermes"),
    // Servers miss most of their calls, the marks of their own template confuse
    // them, and long descriptions tempt them to fill in every parameter:
    // docs/models.md.
    family("qwen2.5coder")
        .better_in_text()
        .window(32_768)
        .brief(),
    family("qwen2.5").native().window(32_768).writes("hermes"),
    family("qwq").native().writes("hermes"),
    family("hermes").native().writes("hermes"),
    family("llama4").native(),
    family("llama3.").native().window(131_072),
    family("metallama3.").native().window(131_072),
    family("llama3").text().window(8192),
    family("metallama3").text().window(8192),
    family("llama2").text().window(4096),
    family("codellama").text(),
    family("tinyllama").text().window(2048),
    family("smollm2").text().window(8192).writes("hermes"),
    family("mistral").native(),
    family("mixtral").native(),
    family("ministral").native(),
    family("devstral").native(),
    family("magistral").native(),
    family("deepseekr1").text(),
    family("deepseekv4.1").native().writes("deepseek-v4.1"),
    family("deepseek").native(),
    family("phi4mini").native(),
    family("phi").text(),
    family("commandr").native(),
    family("command4").native().writes("cohere"),
    family("granite3").native(),
    family("granite4").native().writes("hermes"),
    family("gigachat3.5").native().writes("gigachat-3.5"),
    family("glm4").native().writes("glm"),
    family("glm5").native().writes("glm"),
    family("hunyuanv4").native(),
    family("iquestq1").native().writes("iquest-q1"),
    family("k2horizon").native().writes("k2-horizon"),
    family("kimi").native(),
    family("ling3").native().writes("glm"),
    family("mimo").native().writes("mimo"),
    family("minimax").native(),
    family("musespark").native().writes("muse-glimmer"),
    family("nanbeige").native().writes("qwen3-coder"),
    family("plamo3").native().writes("plamo3"),
    family("spark2.5").native().writes("glm"),
    family("trinity").native().writes("trinity"),
];
