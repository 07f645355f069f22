//! Errors of a page, each with what to do about it.

use std::path::PathBuf;
use std::time::Duration;

use ptk_llm::LlmErrorKind;

use crate::cookies::CookiesError;

/// Why a request failed. Each says what happened and what to do; none contains
/// a cookie.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    #[error(
        "the browser was not started: there is no Chromium; install it (`apt-get install \
         chromium`, `dnf install chromium`, `brew install chromium`), or say where it is: \
         `chromium` under [browser] in ptk.toml"
    )]
    NoChromium,
    #[cfg_attr(unix, expect(dead_code, reason = "it is Windows's"))]
    #[error(
        "the browser was not started: pages cannot be used on Windows yet, because PTK controls \
         Chromium by pipes that only Unix has; use ptk in WSL (Windows Subsystem for Linux), or \
         another model"
    )]
    Unsupported,
    #[error("the browser was not started: {} cannot be run: {source}", .path.display())]
    NotRun {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the browser was not started: it ended at once{said}")]
    EndedAtOnce { said: String },
    #[error(
        "the browser was not started: the profile {} is in use by another Chromium (process \
         {pid}); close that one, or name another folder: `profile` under [browser] in ptk.toml",
        .profile.display()
    )]
    InUse { profile: PathBuf, pid: u32 },
    #[error("the browser was not started: the profile {} cannot be used: {source}", .profile.display())]
    Profile {
        profile: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "the browser was not started: there is no screen for its window; do this where there is \
         one, or take the login along as a file: `cookies` under [browser] in ptk.toml"
    )]
    NoScreen,
    #[error("the browser was not started: {0}")]
    Cookies(#[from] CookiesError),
    #[error("the page {url} cannot be opened ({why}); see whether the address is right")]
    Unreachable { url: String, why: String },
    #[error(
        "one has to log in there first; `ptk browser login {name}` opens the page in a window \
         where you can, and ptk stays logged in after that"
    )]
    LoggedOut { name: String },
    #[error(
        "nothing on the page matches `{key} = {selector:?}`{sent}; the page may have changed: \
         look at it, and describe it anew under [[pages]] in ptk.toml"
    )]
    NotFound {
        key: &'static str,
        selector: String,
        sent: &'static str,
    },
    #[error("`{key} = {selector:?}` is no CSS selector; mend it under [[pages]] in ptk.toml")]
    NoSelector { key: String, selector: String },
    #[error(
        "the prompt has {length} characters, and the page takes {most}; nothing was sent. \
         Shorten the conversation, or use another model"
    )]
    TooLong { length: usize, most: usize },
    #[error(
        "the input took only a part of the prompt ({taken} of {length} characters), so nothing \
         was sent; say how much it takes with `max_prompt` under [[pages]] in ptk.toml"
    )]
    TakenInPart { length: usize, taken: usize },
    #[error(
        "the prompt still stands in the input after it was sent; see whether `send` is right \
         under [[pages]] in ptk.toml{said}"
    )]
    NotTaken { said: String },
    #[error("no answer began within {}{said}", humantime::format_duration(*.within))]
    NoAnswer { within: Duration, said: String },
    #[error("the answer was not whole within {}{said}", humantime::format_duration(*.within))]
    NotWhole { within: Duration, said: String },
    #[error("the page was loaded anew while it answered; it is asked again in a new conversation")]
    Reloaded,
    #[error("the page rewrote what it had already shown; it is read again")]
    Rewritten,
    #[error("the browser ended in the middle ({why}); it is started again")]
    Ended { why: String },
    #[error("the answer is longer than anything that can be read")]
    TooMuch,
    #[error("there is nothing to ask")]
    Nothing,
    #[error("the browser did not do what it was asked: {0}")]
    Refused(String),
}

impl Trouble {
    /// The kind of provider error.
    pub(crate) const fn kind(&self) -> LlmErrorKind {
        match self {
            Self::NoChromium
            | Self::Unsupported
            | Self::NoScreen
            | Self::NotRun { .. }
            | Self::EndedAtOnce { .. }
            | Self::InUse { .. }
            | Self::Profile { .. }
            | Self::Cookies(_) => LlmErrorKind::NotStarted,
            Self::Unreachable { .. } => LlmErrorKind::Unreachable,
            Self::LoggedOut { .. } => LlmErrorKind::Unauthorized,
            Self::NotFound { .. } => LlmErrorKind::Unreadable,
            Self::NoSelector { .. } | Self::NotTaken { .. } | Self::Nothing | Self::Refused(_) => {
                LlmErrorKind::Rejected
            }
            Self::TooLong { .. } | Self::TakenInPart { .. } => LlmErrorKind::TooLong,
            Self::NoAnswer { .. } | Self::NotWhole { .. } => LlmErrorKind::TimedOut,
            Self::Reloaded | Self::Rewritten | Self::Ended { .. } => LlmErrorKind::Cut,
            Self::TooMuch => LlmErrorKind::TooMuch,
        }
    }
}
