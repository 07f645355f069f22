//! The metrics of the gateway, for Prometheus.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use ptk_llm::{LlmErrorKind, Usage};

/// The buckets of request durations, in seconds.
const SECONDS: [f64; 12] = [
    0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 120.0, 600.0,
];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    path: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ErrorLabels {
    kind: ErrorLabel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct ErrorLabel(LlmErrorKind);

impl EncodeLabelValue for ErrorLabel {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), std::fmt::Error> {
        format!("{:?}", self.0).encode(encoder)
    }
}

/// The metrics of the gateway.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    seconds: Histogram,
    running: Gauge,
    troubles: Family<ErrorLabels, Counter>,
    repaired: Counter,
    asked_again: Counter,
    mended: Counter,
    gave_up: Counter,
    input_tokens: Counter<u64, AtomicU64>,
    cached_tokens: Counter<u64, AtomicU64>,
    cache_write_tokens: Counter<u64, AtomicU64>,
    output_tokens: Counter<u64, AtomicU64>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("ptk"),
            requests: Family::default(),
            seconds: Histogram::new(SECONDS),
            running: Gauge::default(),
            troubles: Family::default(),
            repaired: Counter::default(),
            asked_again: Counter::default(),
            mended: Counter::default(),
            gave_up: Counter::default(),
            input_tokens: Counter::default(),
            cached_tokens: Counter::default(),
            cache_write_tokens: Counter::default(),
            output_tokens: Counter::default(),
        };
        let registry = &mut metrics.registry;
        registry.register(
            "requests",
            "Requests that were answered",
            metrics.requests.clone(),
        );
        registry.register(
            "request_seconds",
            "How long they took",
            metrics.seconds.clone(),
        );
        registry.register(
            "running",
            "Requests that are being answered",
            metrics.running.clone(),
        );
        registry.register(
            "upstream_errors",
            "Requests to models that failed",
            metrics.troubles.clone(),
        );
        registry.register(
            "replies_repaired",
            "Replies in which something had to be mended",
            metrics.repaired.clone(),
        );
        registry.register(
            "asked_again",
            "Second requests for a right call",
            metrics.asked_again.clone(),
        );
        registry.register(
            "mended",
            "Second requests that gave one",
            metrics.mended.clone(),
        );
        registry.register(
            "gave_up",
            "Replies that could not be mended",
            metrics.gave_up.clone(),
        );
        registry.register(
            "input_tokens",
            "Tokens that models were shown",
            metrics.input_tokens.clone(),
        );
        registry.register(
            "cached_tokens",
            "Tokens of these that were read from a cache",
            metrics.cached_tokens.clone(),
        );
        registry.register(
            "cache_write_tokens",
            "Tokens of these that were written to a cache",
            metrics.cache_write_tokens.clone(),
        );
        registry.register(
            "output_tokens",
            "Tokens that models wrote",
            metrics.output_tokens.clone(),
        );
        metrics
    }
}

impl Metrics {
    pub(crate) fn begun(&self) {
        self.running.inc();
    }

    pub(crate) fn ended(&self, path: &'static str, status: u16, took: Duration) {
        self.running.dec();
        self.requests
            .get_or_create(&RequestLabels { path, status })
            .inc();
        self.seconds.observe(took.as_secs_f64());
    }

    pub(crate) fn used(&self, usage: &Usage) {
        self.input_tokens.inc_by(usage.input_tokens);
        self.cached_tokens.inc_by(usage.cached_tokens);
        self.cache_write_tokens.inc_by(usage.cache_write_tokens);
        self.output_tokens.inc_by(usage.output_tokens);
    }

    pub(crate) fn failed(&self, kind: LlmErrorKind) {
        self.troubles
            .get_or_create(&ErrorLabels {
                kind: ErrorLabel(kind),
            })
            .inc();
    }

    pub(crate) fn repaired(&self) {
        self.repaired.inc();
    }

    pub(crate) fn asked_again(&self) {
        self.asked_again.inc();
    }

    pub(crate) fn mended(&self) {
        self.mended.inc();
    }

    pub(crate) fn gave_up(&self) {
        self.gave_up.inc();
    }

    /// All metrics in Prometheus' text format.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing into a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
