//! Settings of telemetry: where it is sent, and its content.

use std::env;

use ptk_events::Redaction;

/// The variable with the address, by the conventions of OpenTelemetry.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// The variable that switches telemetry off.
const DISABLED: &str = "OTEL_SDK_DISABLED";
/// The variable that includes the content of conversations.
const CAPTURE: &str = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";

/// Whether prompts, replies, arguments and results are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Content {
    /// No content is sent.
    #[default]
    LeftOut,
    /// All content is sent, without secrets.
    Captured,
}

/// Where telemetry is sent, and its content.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The address of the receiver, such as `http://localhost:4318`. Spans go
    /// to `v1/traces` below it, metrics to `v1/metrics`.
    pub endpoint: String,
    /// Whether the content of conversations is sent.
    pub content: Content,
    /// Removes secrets from everything that is sent.
    pub redaction: Redaction,
}

impl Settings {
    /// Creates settings for this address, without content and secrets.
    pub fn new(endpoint: impl Into<String>) -> Self {
        Self {
            endpoint: endpoint.into(),
            content: Content::LeftOut,
            redaction: Redaction::secrets(),
        }
    }

    /// Reads the settings from OpenTelemetry's variables; `None` if it is off,
    /// which it is unless an address is given.
    #[must_use]
    pub fn from_env() -> Option<Self> {
        let variable = |name| env::var(name).ok().filter(|value| !value.trim().is_empty());
        let is_on = |name| variable(name).is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let endpoint = variable(ENDPOINT).filter(|_| !is_on(DISABLED))?;
        let content = if is_on(CAPTURE) {
            Content::Captured
        } else {
            Content::LeftOut
        };
        Some(Self {
            content,
            ..Self::new(endpoint)
        })
    }
}
