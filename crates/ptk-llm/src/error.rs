//! Errors of models: whether to try again, and what to do.

use std::fmt;
use std::time::Duration;

use crate::stated_window::stated_window;

/// Why a model gave no reply.
///
/// ```
/// use std::time::Duration;
///
/// use ptk_llm::{LlmError, LlmErrorKind};
///
/// let error = LlmError::of_status("openai", Some("gpt-5"), 429, "Rate limit reached")
///     .retry_after(Duration::from_secs(2));
/// assert_eq!(error.kind, LlmErrorKind::RateLimited);
/// assert!(error.is_retryable());
/// assert_eq!(
///     error.to_string(),
///     "openai (gpt-5) takes no more requests for now (status 429): Rate limit reached; \
///      wait a little, or use another model",
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LlmError {
    /// The provider's name.
    pub provider: String,
    /// The model.
    pub model: Option<String>,
    /// The kind of error.
    pub kind: LlmErrorKind,
    /// The HTTP status of the response.
    pub status: Option<u16>,
    /// The message of the server or the system.
    pub message: String,
    /// How long to wait before trying again, where the server says so.
    pub retry_after: Option<Duration>,
    /// What is told in other words than those of the kind, if something is.
    pub wording: Option<Box<Wording>>,
}

/// What an error tells in other words than those of its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wording {
    /// The title of the web page that the model is behind. Then the message is
    /// complete as it is.
    Page(String),
    /// What to do about it, where more is known than the kind tells.
    Remedy(String),
}

macro_rules! kinds {
    ($($(#[$about:meta])* $kind:ident: $retry:literal, $what:literal, $remedy:literal;)*) => {
        /// The kinds of errors. For each there is a line that says whether
        /// trying again may help, what happened, and what to do.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum LlmErrorKind {
            $($(#[$about])* $kind,)*
        }

        impl LlmErrorKind {
            /// Whether the same request may succeed if it is sent again.
            #[must_use]
            pub const fn is_retryable(self) -> bool {
                match self { $(Self::$kind => $retry,)* }
            }

            /// Whether it is about this request: others may well succeed.
            #[must_use]
            pub const fn is_about_request(self) -> bool {
                matches!(
                    self,
                    Self::TooLong
                        | Self::NoTools
                        | Self::Rejected
                        | Self::Images
                        | Self::Filtered
                        | Self::TooMuch
                )
            }

            const fn what(self) -> &'static str {
                match self { $(Self::$kind => $what,)* }
            }

            /// What to do about it.
            #[must_use]
            pub const fn remedy(self) -> &'static str {
                match self { $(Self::$kind => $remedy,)* }
            }
        }
    };
}

kinds! {
    /// The server could not be reached.
    Unreachable: true, "cannot be reached", "see whether it runs and the address is right";
    /// The server's certificate is not trusted.
    Untrusted: false, "has a certificate that is not trusted", "see whether the address is right, or make the certificate known to this system";
    /// The address begins with `https://`, and the server does not speak TLS.
    NotEncrypted: false, "does not speak https", "write http:// in its address instead";
    /// The answer took too long.
    TimedOut: true, "took too long to answer", "try again, or allow it more time";
    /// The stream ended before the reply did.
    Cut: true, "ended in the middle of its reply", "try again";
    /// Too many requests.
    RateLimited: true, "takes no more requests for now", "wait a little, or use another model";
    /// The server failed.
    Failing: true, "failed", "try again later, or use another model";
    /// The server wants a key, and none was sent.
    NoKey: false, "wants a key", "set one that may use this model";
    /// The key is wrong, or not allowed to do this.
    Unauthorized: false, "refused the key", "set a key that may use this model";
    /// There is no such model, or nothing at this address.
    NotFound: false, "has no such model", "name one that it has, and see whether the address is right";
    /// The account is empty.
    Unpaid: false, "wants to be paid first", "see to the account, or use another model";
    /// The conversation does not fit into the model.
    TooLong: false, "cannot take so long a conversation", "shorten it, or use a model with a larger window";
    /// The model, or its server, has no API for tools.
    NoTools: false, "takes no tools", "let it call them in text, with mode = \"text\"";
    /// The server rejected the request.
    Rejected: false, "did not take the request", "see what it says, and change the settings";
    /// The server rejected a request with images.
    Images: false, "did not take the request with its images", "see what it says; leave the images out, scale them down, or use a model that takes images";
    /// The reply was withheld.
    Filtered: false, "withheld its reply", "put the question in other words";
    /// The reply does not have the expected format.
    Unreadable: false, "answered with something unreadable", "see whether the address is that of such a server";
    /// The reply did not end.
    TooMuch: false, "wrote far more than fits into a reply", "limit the tokens of a reply";
    /// The reply was empty.
    Empty: false, "printed nothing", "see whether it reads the prompt from stdin and prints its answer";
    /// The command, or the browser, cannot be started.
    NotStarted: false, "cannot be started", "see whether it is installed, and its name right";
    /// A script has no reply left.
    ScriptEnded: false, "has no further reply", "add one to the script for each request, or limit the iterations";
}

/// A wait that the user should know of.
const LONG: Duration = Duration::from_secs(60);

/// Phrases by which servers report that a conversation is too long; there is no
/// status for that.
const TOO_LONG: [&str; 14] = [
    "context length",
    "context_length",
    "context limit",
    "context size",
    "context window",
    "input is too long",
    "max_prompt_tokens",
    "maximum context",
    "maximum model length",
    "maximum prompt length",
    "number of tokens allowed",
    "prompt is too long",
    "reduce the length",
    "too many tokens",
];

/// Phrases by which servers report that a model takes no tools, without quotes.
const NO_TOOLS: [&str; 16] = [
    "does not support tool",
    "doesnt support tool",
    "not support tool",
    "support tool use",
    "support function calling",
    "support function call",
    "function calling is not enabled",
    "tool use is not supported",
    "tools are not supported",
    "tools is not supported",
    "tool calling is not supported",
    "argument supplied: tool",
    "arguments supplied: tool",
    "unsupported parameter: tool",
    "--enable-auto-tool-choice",
    "requires --jinja",
];

/// Words in the messages of servers about images.
const IMAGES: [&str; 6] = [
    "image",
    "mmproj",
    "modalit",
    "multi-modal",
    "multimodal",
    "vision",
];

/// Phrases by which servers report that a key is wrong, where the status does
/// not.
const NO_KEY: [&str; 3] = ["api key not valid", "incorrect api key", "invalid api key"];

impl LlmError {
    /// Creates an error of this kind.
    pub fn new(provider: impl Into<String>, model: Option<&str>, kind: LlmErrorKind) -> Self {
        Self {
            provider: provider.into(),
            model: model.map(str::to_owned),
            kind,
            status: None,
            message: String::new(),
            retry_after: None,
            wording: None,
        }
    }

    /// Creates the error that a server means by a status and its message.
    pub fn of_status(
        provider: impl Into<String>,
        model: Option<&str>,
        status: u16,
        message: impl Into<String>,
    ) -> Self {
        let message = message.into();
        let lower = message.to_lowercase().replace(['`', '\'', '"'], "");
        let says = |all: &[&str]| all.iter().any(|words| lower.contains(words));
        let is_too_long = says(&TOO_LONG);
        let kind = match status {
            400 | 404 | 422 | 500 | 501 if says(&NO_TOOLS) => LlmErrorKind::NoTools,
            400 | 413 | 422 | 500 if is_too_long || status == 413 => LlmErrorKind::TooLong,
            400 if says(&NO_KEY) => LlmErrorKind::Unauthorized,
            401 | 403 => LlmErrorKind::Unauthorized,
            402 => LlmErrorKind::Unpaid,
            404 => LlmErrorKind::NotFound,
            408 | 504 => LlmErrorKind::TimedOut,
            429 => LlmErrorKind::RateLimited,
            500.. => LlmErrorKind::Failing,
            _ => LlmErrorKind::Rejected,
        };
        Self {
            status: Some(status),
            message,
            ..Self::new(provider, model, kind)
        }
    }

    /// Whether a request with images was rejected for these, as the server says
    /// or the size of the request.
    #[must_use]
    pub fn is_about_images(&self) -> bool {
        let lower = self.message.to_lowercase();
        let says = |all: &[&str]| all.iter().any(|words| lower.contains(words));
        match (self.kind, self.status) {
            (LlmErrorKind::Images, _) => true,
            (LlmErrorKind::TooLong, Some(413)) => !says(&TOO_LONG),
            (LlmErrorKind::Rejected, _)
            | (LlmErrorKind::NotFound | LlmErrorKind::Failing, Some(404 | 500 | 501)) => {
                says(&IMAGES)
            }
            _ => false,
        }
    }

    /// The same error of a request with images: it is most likely about these,
    /// if the server rejected the request.
    #[must_use]
    pub fn with_images(mut self) -> Self {
        if self.kind == LlmErrorKind::Rejected || self.is_about_images() {
            self.kind = LlmErrorKind::Images;
        }
        self
    }

    /// Sets the message of the server or the system.
    #[must_use]
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// Sets how long to wait before trying again.
    #[must_use]
    pub const fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Sets what to do about it.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.wording = Some(Box::new(Wording::Remedy(remedy.into())));
        self
    }

    /// Sets the title of the page that the model is behind.
    #[must_use]
    pub fn page(mut self, title: impl Into<String>) -> Self {
        self.wording = Some(Box::new(Wording::Page(title.into())));
        self
    }

    /// Whether the same request may succeed if it is sent again.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        self.kind.is_retryable()
    }

    /// What happened, without the details and what to do about it: for a note
    /// that the model is asked again, after which it may fail once more.
    #[must_use]
    pub fn in_short(&self) -> String {
        if let Some(Wording::Page(page)) = self.wording.as_deref() {
            return format!("{page} call failed: {}", self.message);
        }
        let model = self.model.as_ref();
        let model = model.map_or_else(String::new, |model| format!(" ({model})"));
        let status = self.status;
        let status = status.map_or_else(String::new, |status| format!(" (status {status})"));
        format!("{}{model} {}{status}", self.provider, self.kind.what())
    }

    /// Whether a server that was asked for its models answered, and may only
    /// have no list of them: a request for a reply need not fail.
    #[must_use]
    pub fn is_about_list(&self) -> bool {
        let is_unusable = matches!(
            self.kind,
            LlmErrorKind::Unreachable
                | LlmErrorKind::Untrusted
                | LlmErrorKind::NotEncrypted
                | LlmErrorKind::TimedOut
                | LlmErrorKind::Cut
                | LlmErrorKind::Unauthorized
                | LlmErrorKind::NoKey
        );
        !is_unusable && self.wording.is_none()
    }

    /// The size of the model's window in tokens, if the server states it when it
    /// refuses a request as too long.
    #[must_use]
    pub fn stated_window(&self) -> Option<u32> {
        match self.kind {
            LlmErrorKind::TooLong => stated_window(&self.message),
            _ => None,
        }
    }
}

impl fmt::Display for LlmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_short())?;
        let remedy = match self.wording.as_deref() {
            Some(Wording::Page(_)) => return Ok(()),
            Some(Wording::Remedy(remedy)) => remedy.as_str(),
            None => self.kind.remedy(),
        };
        let message = self.message.trim_end_matches(['.', ' ', '\n']);
        if !message.is_empty() {
            write!(f, ": {message}")?;
        }
        if let Some(wait) = self.retry_after.filter(|wait| *wait >= LONG) {
            write!(f, "; it wants to be left alone for {} s", wait.as_secs())?;
        }
        write!(f, "; {remedy}")
    }
}

impl std::error::Error for LlmError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_requests_with_images_are_about_these_if_the_server_rejects_them() {
        for (status, message, is_about, kind) in [
            (
                400,
                "m is not a multimodal model",
                true,
                LlmErrorKind::Images,
            ),
            (
                404,
                "No endpoints support image input",
                true,
                LlmErrorKind::Images,
            ),
            (
                500,
                "image input is not supported",
                true,
                LlmErrorKind::Images,
            ),
            (413, "Request Entity Too Large", true, LlmErrorKind::Images),
            (413, "prompt is too long", false, LlmErrorKind::TooLong),
            (400, "prompt is too long", false, LlmErrorKind::TooLong),
            (400, "bad request", false, LlmErrorKind::Images),
            (404, "no such model", false, LlmErrorKind::NotFound),
            (500, "oops", false, LlmErrorKind::Failing),
            (503, "busy with images", false, LlmErrorKind::Failing),
            (429, "too many images", false, LlmErrorKind::RateLimited),
        ] {
            let error = LlmError::of_status("server", None, status, message);
            assert_eq!(error.is_about_images(), is_about, "{status} {message}");
            assert_eq!(error.with_images().kind, kind, "{status} {message}");
        }
    }
}
