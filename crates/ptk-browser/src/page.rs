//! What a page looks like: where to type, what to press, where to read.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

/// The pages that are known here. None of them was tried where this was built.
pub const BUILT_IN: [&str; 1] = ["ai-studio"];

/// What a model is told first, where a page does not say otherwise. A page
/// makes HTML of Markdown, which takes backslashes, stars and tags out of
/// everything but code.
const INSTRUCTIONS: &str = "What you write is shown on a page that renders Markdown. Write tool \
calls exactly as you are told, inside one code block (three backticks before and after) that holds \
nothing but the calls and ends your reply.";

/// A description of a chat page. Selectors are those of CSS.
///
/// ```
/// use ptk_browser::{Page, Send};
///
/// let page: Page = toml::from_str(
///     r#"
///     name = "corner"
///     url = "https://chat.example.org/"
///     input = "textarea"
///     send = { button = "button.send" }
///     answer = ".message.assistant"
///     times = { answer = "5m" }
///     "#,
/// )?;
/// assert_eq!(page.send, Send::Button("button.send".to_owned()));
/// assert_eq!(page.title(), "corner");
///
/// let error = toml::from_str::<Page>("name = 'corner'\nurls = 'x'").unwrap_err();
/// assert!(error.message().starts_with("unknown field `urls`"));
/// # Ok::<(), toml::de::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// The name that `browser:NAME` takes.
    pub name: String,
    /// What people call it; errors do. By default the name.
    #[serde(default)]
    title: Option<String>,
    /// Where a new conversation begins.
    pub url: String,
    /// What is typed into: a text area, or something that can be edited.
    pub input: String,
    /// What sends it.
    pub send: Send,
    /// An answer, each its own element; the last one that matches is read.
    pub answer: String,
    /// What is there while the page writes. Without it an answer counts as
    /// whole once it is still.
    #[serde(default)]
    pub busy: Option<String>,
    /// What stops an answer.
    #[serde(default)]
    pub stop: Option<String>,
    /// What begins a new conversation. Without it the address is opened again.
    #[serde(default)]
    pub new_conversation: Option<String>,
    /// What is to be seen only where one has to log in.
    #[serde(default)]
    pub login: Vec<String>,
    /// How addresses begin at which one has to log in.
    #[serde(default)]
    pub login_urls: Vec<String>,
    /// What of an answer is none of its words.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// The longest prompt that the page takes, in characters.
    #[serde(default)]
    pub max_prompt: Option<usize>,
    /// What the model is told before everything else, because of the page.
    #[serde(default = "instructions")]
    pub instructions: String,
    /// How long to wait for what.
    #[serde(default)]
    pub times: Times,
}

fn instructions() -> String {
    INSTRUCTIONS.to_owned()
}

/// What sends a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Send {
    /// A button.
    Button(String),
    /// A key, in the input.
    Key(Key),
}

/// A key that sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Key {
    /// Enter.
    Enter,
    /// Enter while Control is held.
    #[serde(rename = "Control+Enter")]
    ControlEnter,
}

/// How long to wait for what: seconds, or a text such as `2m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Times {
    /// For the page to be there, so that one can type.
    #[serde(deserialize_with = "duration")]
    pub load: Duration,
    /// For an answer to begin.
    #[serde(deserialize_with = "duration")]
    pub first: Duration,
    /// For the whole answer.
    #[serde(deserialize_with = "duration")]
    pub answer: Duration,
    /// How long an answer has to be still before it counts as whole.
    #[serde(deserialize_with = "duration")]
    pub still: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            load: Duration::from_secs(30),
            first: Duration::from_secs(60),
            answer: Duration::from_secs(600),
            still: Duration::from_secs(1),
        }
    }
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Seconds(u32),
        Text(String),
    }
    match Written::deserialize(deserializer)? {
        Written::Seconds(seconds) => Ok(Duration::from_secs(seconds.into())),
        Written::Text(text) => humantime::parse_duration(&text).map_err(serde::de::Error::custom),
    }
}

impl Page {
    /// The page of this name that is described here, if there is one.
    #[must_use]
    pub fn built_in(name: &str) -> Option<Self> {
        (name == "ai-studio").then(Self::ai_studio)
    }

    /// What people call it.
    #[must_use]
    pub fn title(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }

    /// Google's AI Studio, by what is publicly known of it. Not
    /// verified: it takes an account to see the page.
    fn ai_studio() -> Self {
        Self {
            name: "ai-studio".to_owned(),
            title: Some("AI Studio".to_owned()),
            url: "https://aistudio.google.com/prompts/new_chat".to_owned(),
            input: "ms-prompt-input-wrapper textarea, ms-chunk-input textarea".to_owned(),
            send: Send::Key(Key::ControlEnter),
            answer: "ms-chat-turn .model-prompt-container .turn-content".to_owned(),
            busy: Some(
                "run-button button .stoppable-spinner, run-button button.stoppable".to_owned(),
            ),
            stop: Some("run-button button.stoppable".to_owned()),
            new_conversation: None,
            login: Vec::new(),
            login_urls: vec![
                "https://accounts.google.com/".to_owned(),
                "https://aistudio.google.com/welcome".to_owned(),
            ],
            ignore: vec![
                "ms-thought-chunk".to_owned(),
                ".author-label".to_owned(),
                "mat-icon".to_owned(),
            ],
            max_prompt: None,
            instructions: instructions(),
            times: Times::default(),
        }
    }

    /// Every selector, with the key under which it stands.
    pub(crate) fn selectors(&self) -> Vec<(&'static str, &str)> {
        let mut all = vec![("input", self.input.as_str()), ("answer", &self.answer)];
        if let Send::Button(button) = &self.send {
            all.push(("send", button));
        }
        let optional = [
            ("busy", &self.busy),
            ("stop", &self.stop),
            ("new_conversation", &self.new_conversation),
        ];
        all.extend(
            optional
                .iter()
                .filter_map(|(key, it)| Some((*key, it.as_deref()?))),
        );
        all.extend(self.login.iter().map(|it| ("login", it.as_str())));
        all.extend(self.ignore.iter().map(|it| ("ignore", it.as_str())));
        all
    }
}
