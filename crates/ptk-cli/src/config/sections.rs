//! The sections of a configuration file as they are written, and their values.

use std::num::{NonZero, NonZeroU32};
#[cfg(feature = "browser")]
use std::path::PathBuf;
use std::time::Duration;

use ptk::store::Retention;
use ptk::{ChooseFiles, Shorten, SmallModel};
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

use crate::args;

/// The most requests of a run, unless configured. The engine's own default is
/// for programs; work on code takes more.
pub(crate) const MAX_ITERATIONS: u32 = 50;
/// The most tool calls of a run, unless configured.
pub(crate) const MAX_TOOL_CALLS: u32 = 200;

/// Settings of runs.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Run {
    /// The provider.
    pub(crate) provider: Option<String>,
    /// The model's name.
    pub(crate) model: Option<String>,
    /// The dialect in which it is taught to call tools.
    pub(crate) dialect: Option<String>,
    /// The tools that it is offered.
    pub(crate) tools: Option<Vec<String>>,
    /// When tools that may be deferred are.
    pub(crate) defer_tools: Option<DeferToolsName>,
    /// The most times that it is asked.
    #[serde(default, deserialize_with = "read_positive")]
    pub(crate) max_iterations: Option<u32>,
    /// The most tool calls.
    pub(crate) max_tool_calls: Option<u32>,
    /// The timeout of a run.
    #[serde(default, deserialize_with = "read_duration")]
    pub(crate) timeout: Option<Duration>,
    /// The context window of the model in tokens.
    #[serde(default, deserialize_with = "read_positive")]
    pub(crate) context_window: Option<u32>,
    /// What to do when a conversation no longer fits.
    pub(crate) compaction: Option<CompactionName>,
    /// Which calls of a reply are run.
    pub(crate) calls: Option<CallsName>,
    /// How often in a row a reply that cannot be used is sent back.
    pub(crate) corrections: Option<u32>,
    /// How tools are listed for a model that is taught in text.
    pub(crate) prompt_style: Option<args::PromptStyle>,
    pub(crate) temperature: Option<f32>,
    pub(crate) top_p: Option<f32>,
    pub(crate) top_k: Option<u32>,
    pub(crate) seed: Option<u64>,
}

impl Run {
    /// These settings, and those of `other` where there are none.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            provider: self.provider.or(other.provider),
            model: self.model.or(other.model),
            dialect: self.dialect.or(other.dialect),
            tools: self.tools.or(other.tools),
            defer_tools: self.defer_tools.or(other.defer_tools),
            max_iterations: self.max_iterations.or(other.max_iterations),
            max_tool_calls: self.max_tool_calls.or(other.max_tool_calls),
            timeout: self.timeout.or(other.timeout),
            context_window: self.context_window.or(other.context_window),
            compaction: self.compaction.or(other.compaction),
            calls: self.calls.or(other.calls),
            corrections: self.corrections.or(other.corrections),
            prompt_style: self.prompt_style.or(other.prompt_style),
            temperature: self.temperature.or(other.temperature),
            top_p: self.top_p.or(other.top_p),
            top_k: self.top_k.or(other.top_k),
            seed: self.seed.or(other.seed),
        }
    }
}

/// When tools that may be deferred are.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DeferToolsName {
    Auto,
    Always,
    Never,
}

impl From<DeferToolsName> for ptk::DeferTools {
    fn from(name: DeferToolsName) -> Self {
        match name {
            DeferToolsName::Auto => Self::Auto,
            DeferToolsName::Always => Self::Always,
            DeferToolsName::Never => Self::Never,
        }
    }
}

/// Which calls of a reply are run.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CallsName {
    All,
    First,
}

/// The limits of tool calls.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    /// The timeout of a call whose tool sets none.
    #[serde(default, deserialize_with = "read_duration")]
    pub(super) call_timeout: Option<Duration>,
    /// How long a result may be, in bytes.
    #[serde(default, deserialize_with = "read_positive")]
    pub(super) result_bytes: Option<u32>,
    /// How many calls run at once.
    #[serde(default, deserialize_with = "read_positive")]
    pub(super) concurrent_calls: Option<u32>,
    /// How often a call that only reads is tried again when it fails for a
    /// passing reason.
    pub(super) call_retries: Option<u32>,
    /// How many results of calls that only read are kept, to answer the same
    /// call again.
    pub(super) cached_results: Option<u32>,
}

impl Limits {
    /// These limits, and those of `other` where there are none.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            call_timeout: self.call_timeout.or(other.call_timeout),
            result_bytes: self.result_bytes.or(other.result_bytes),
            concurrent_calls: self.concurrent_calls.or(other.concurrent_calls),
            call_retries: self.call_retries.or(other.call_retries),
            cached_results: self.cached_results.or(other.cached_results),
        }
    }

    /// The limits for the tools.
    pub(crate) fn of_tools(&self) -> ptk_tools::Limits {
        let usual = ptk_tools::Limits::default();
        let size = |value: Option<u32>| value.and_then(|it| usize::try_from(it).ok());
        ptk_tools::Limits {
            deadline: self.call_timeout.unwrap_or(usual.deadline),
            result: size(self.result_bytes).unwrap_or(usual.result),
            concurrency: size(self.concurrent_calls).unwrap_or(usual.concurrency),
            retries: self.call_retries.unwrap_or(usual.retries),
            ..usual
        }
    }

    /// The layer that keeps results, if it is wanted.
    pub(crate) fn cache(&self) -> Option<ptk_tools::Cache> {
        let results = self.cached_results.filter(|results| *results > 0)?;
        usize::try_from(results).ok().map(ptk_tools::Cache::new)
    }
}

/// What to do when a conversation no longer fits.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CompactionName {
    Drop,
    Summarise,
}

/// The retention of sessions.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sessions {
    /// Sessions without a new entry for longer are removed.
    #[serde(default, deserialize_with = "read_duration")]
    max_age: Option<Duration>,
    /// Only the last sessions, up to this many, are kept.
    max_sessions: Option<u64>,
}

impl Sessions {
    /// Which sessions to keep.
    pub(super) fn retention(&self) -> Retention {
        let mut retention = Retention::forever();
        if let Some(age) = self.max_age {
            retention = retention.no_older_than(age);
        }
        if let Some(most) = self.max_sessions {
            // The session that was just written is always kept.
            retention = retention.no_more_than(most.max(1));
        }
        retention
    }
}

/// A small model that helps the one that answers.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Helper {
    /// Its name in `[models]`.
    pub(crate) model: String,
    /// Whether it chooses files before the main model is asked.
    #[serde(default)]
    pub(super) choose_files: bool,
    /// Results with more tokens are shortened by it.
    pub(super) shorten_above: Option<u64>,
    /// Its timeout for each request.
    #[serde(default, deserialize_with = "read_duration")]
    pub(super) timeout: Option<Duration>,
}

impl Helper {
    /// Builds the helper from its model.
    pub(crate) fn of(&self, model: ptk::Model) -> SmallModel {
        let mut small = SmallModel::of(model);
        if self.choose_files {
            small = small.choosing_files(ChooseFiles::default());
        }
        if let Some(above) = self.shorten_above {
            small = small.shortening(Shorten {
                above,
                ..Shorten::default()
            });
        }
        match self.timeout {
            Some(time) => small.timeout(time),
            None => small,
        }
    }
}

/// Settings of the code context tool.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CodeContext {
    /// The token limit of one call.
    pub(super) token_limit: Option<NonZero<u64>>,
}

/// Settings of the browser.
#[cfg(feature = "browser")]
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BrowserOptions {
    /// The folder of the profile, instead of one for each page.
    pub(crate) profile: Option<PathBuf>,
    /// Whether to run without a window.
    pub(crate) headless: Option<bool>,
    /// The executable of the browser.
    pub(crate) chromium: Option<PathBuf>,
    /// A file with cookies.
    pub(crate) cookies: Option<PathBuf>,
}

/// Reads a whole number from 1.
pub(super) fn read_positive<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u32>, D::Error> {
    Ok(Some(NonZeroU32::deserialize(deserializer)?.get()))
}

/// Reads a number of seconds, or a time with its unit.
fn read_duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    struct DurationVisitor;

    impl Visitor<'_> for DurationVisitor {
        type Value = Duration;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a time, such as 90 or \"5m\"")
        }

        fn visit_i64<E: Error>(self, seconds: i64) -> Result<Duration, E> {
            self.visit_str(&seconds.to_string())
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Duration, E> {
            args::duration(text).map_err(E::custom)
        }
    }

    deserializer.deserialize_any(DurationVisitor).map(Some)
}
