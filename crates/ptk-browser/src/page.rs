//! The description of a chat page: its input, its buttons and its answers.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

/// Names of the built-in pages. They were not tested against the real sites.
pub const BUILT_IN: [&str; 1] = ["ai-studio"];

/// The default system instructions for models behind a page. Pages render
/// Markdown as HTML, which removes backslashes, stars and tags from everything
/// but code.
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
    /// The name that is used in `browser:NAME`.
    pub name: String,
    /// The display name, used in errors. Defaults to the name.
    #[serde(default)]
    title: Option<String>,
    /// The address at which a new conversation begins.
    pub url: String,
    /// The input: a text area, or an editable element.
    pub input: String,
    /// How a prompt is sent.
    pub send: Send,
    /// An element with an answer; the last one that matches is read.
    pub answer: String,
    /// An element that exists while the page writes. Without it an answer is
    /// complete once it stops changing.
    #[serde(default)]
    pub busy: Option<String>,
    /// A button that stops an answer.
    #[serde(default)]
    pub stop: Option<String>,
    /// A button that starts a new conversation. Without it the address is
    /// opened again.
    #[serde(default)]
    pub new_conversation: Option<String>,
    /// Elements that exist only if the user has to log in.
    #[serde(default)]
    pub login: Vec<String>,
    /// Prefixes of the addresses at which the user has to log in.
    #[serde(default)]
    pub login_urls: Vec<String>,
    /// Elements inside an answer that are not part of its text.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// The longest prompt that the page takes, in characters.
    #[serde(default)]
    pub max_prompt: Option<usize>,
    /// Instructions to the model about the page, before all others.
    #[serde(default = "instructions")]
    pub instructions: String,
    /// Timeouts.
    #[serde(default)]
    pub times: Times,
}

fn instructions() -> String {
    INSTRUCTIONS.to_owned()
}

/// How a prompt is sent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Send {
    /// By pressing the button with this selector.
    Button(String),
    /// By pressing a key in the input.
    Key(Key),
}

/// A key that sends a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Key {
    /// The Enter key.
    Enter,
    /// Control and Enter together.
    #[serde(rename = "Control+Enter")]
    ControlEnter,
}

/// Timeouts, in seconds or as a text such as `2m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Times {
    /// For loading the page, until it accepts input.
    #[serde(deserialize_with = "duration")]
    pub load: Duration,
    /// For the first part of an answer.
    #[serde(deserialize_with = "duration")]
    pub first: Duration,
    /// For the whole answer.
    #[serde(deserialize_with = "duration")]
    pub answer: Duration,
    /// How long an answer has to be unchanged before it is complete.
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
    /// The built-in page of this name, if there is one.
    #[must_use]
    pub fn built_in(name: &str) -> Option<Self> {
        (name == "ai-studio").then(Self::ai_studio)
    }

    /// The display name of the page.
    #[must_use]
    pub fn title(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }

    /// Google's AI Studio, from public sources. Not verified: the page needs an
    /// account.
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

    /// Every selector, with its key in the description.
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
