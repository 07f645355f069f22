//! Where telemetry goes, and what of it.

use std::env;

use ptk_events::Redaction;

/// Where it goes, by the conventions of OpenTelemetry.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// Whether it is switched off nevertheless.
const DISABLED: &str = "OTEL_SDK_DISABLED";
/// Whether it carries what was said.
const CAPTURE: &str = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";

/// What is told of prompts, replies, arguments and results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Content {
    /// Nothing.
    #[default]
    LeftOut,
    /// All of it, without secrets.
    Captured,
}

/// Where telemetry goes, and what of it.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The address of the receiver, such as `http://localhost:4318`. Spans go
    /// to `v1/traces` below it, metrics to `v1/metrics`.
    pub endpoint: String,
    /// What is told of what was said.
    pub content: Content,
    /// Takes secrets out of everything that is sent.
    pub redaction: Redaction,
}

impl Settings {
    /// To this address, without what was said and without secrets.
    pub fn new(endpoint: impl Into<String>) -> Self {
        Self {
            endpoint: endpoint.into(),
            content: Content::LeftOut,
            redaction: Redaction::secrets(),
        }
    }

    /// What the variables of OpenTelemetry say; `None` if it is off, which it
    /// is unless an address is given.
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
