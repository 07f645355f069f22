//! Metrics of each tool and model: how often, how long, with which failure,
//! with how many tokens. They are computed from the spans, whether these are
//! sent or not.

use std::fmt;
use std::time::Instant;

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Histogram, Meter};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Subscriber, span};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// Histogram bounds of durations by the conventions, in seconds.
const SECONDS: [f64; 14] = [
    0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];
/// Histogram bounds of tokens by the conventions.
const TOKENS: [f64; 14] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];

/// Measures spans when they close.
pub(crate) struct Measures {
    requests: Histogram<f64>,
    tokens: Histogram<u64>,
    tools: Histogram<f64>,
    runs: Histogram<f64>,
}

impl Measures {
    pub(crate) fn new(meter: &Meter) -> Self {
        let duration = |name: &'static str, about: &'static str| {
            meter
                .f64_histogram(name)
                .with_unit("s")
                .with_description(about)
                .with_boundaries(SECONDS.to_vec())
                .build()
        };
        Self {
            requests: duration(
                "gen_ai.client.operation.duration",
                "How long requests to models took",
            ),
            tools: duration(
                "gen_ai.execute_tool.duration",
                "How long calls of tools took",
            ),
            runs: duration("gen_ai.invoke_agent.duration", "How long runs took"),
            tokens: meter
                .u64_histogram("gen_ai.client.token.usage")
                .with_unit("{token}")
                .with_description("Tokens that models were shown and wrote")
                .with_boundaries(TOKENS.to_vec())
                .build(),
        }
    }

    fn record(&self, seen: &Seen) {
        let seconds = seen.since.elapsed().as_secs_f64();
        let named = [
            ("gen_ai.operation.name", &seen.operation),
            ("gen_ai.provider.name", &seen.provider),
            ("gen_ai.request.model", &seen.model),
            ("gen_ai.tool.name", &seen.tool),
        ];
        let known = named.into_iter().filter_map(|(key, value)| {
            let value = value.clone()?;
            Some(KeyValue::new(key, value))
        });
        let mut attributes: Vec<KeyValue> = known.collect();
        let kind = [("input", seen.input), ("output", seen.output)];
        let is_request = seen.operation.as_deref() == Some("chat");
        for (kind, tokens) in kind.into_iter().filter(|_| is_request) {
            if let Some(tokens) = tokens {
                let mut of_kind = attributes.clone();
                of_kind.push(KeyValue::new("gen_ai.token.type", kind));
                self.tokens.record(tokens, &of_kind);
            }
        }
        if let Some(error) = &seen.error {
            attributes.push(KeyValue::new("error.type", error.clone()));
        }
        match seen.operation.as_deref() {
            Some("chat") => self.requests.record(seconds, &attributes),
            Some("execute_tool") => self.tools.record(seconds, &attributes),
            Some("invoke_agent") => self.runs.record(seconds, &attributes),
            _ => {}
        }
    }
}

/// What was recorded of a span.
struct Seen {
    since: Instant,
    operation: Option<String>,
    provider: Option<String>,
    model: Option<String>,
    tool: Option<String>,
    error: Option<String>,
    input: Option<u64>,
    output: Option<u64>,
}

impl Seen {
    fn new() -> Self {
        Self {
            since: Instant::now(),
            operation: None,
            provider: None,
            model: None,
            tool: None,
            error: None,
            input: None,
            output: None,
        }
    }
}

impl Visit for Seen {
    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "gen_ai.usage.input_tokens" => self.input = Some(value),
            "gen_ai.usage.output_tokens" => self.output = Some(value),
            _ => {}
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let seen = match field.name() {
            "gen_ai.operation.name" => &mut self.operation,
            "gen_ai.provider.name" => &mut self.provider,
            "gen_ai.request.model" => &mut self.model,
            "gen_ai.tool.name" => &mut self.tool,
            "error.type" => &mut self.error,
            _ => return,
        };
        *seen = Some(value.to_owned());
    }

    fn record_debug(&mut self, _field: &Field, _value: &dyn fmt::Debug) {}
}

impl<S> Layer<S> for Measures
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut seen = Seen::new();
        attributes.record(&mut seen);
        if seen.operation.is_some()
            && let Some(span) = context.span(id)
        {
            span.extensions_mut().insert(seen);
        }
    }

    fn on_record(&self, id: &span::Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(seen) = span.extensions_mut().get_mut::<Seen>()
        {
            values.record(seen);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        if let Some(span) = context.span(&id)
            && let Some(seen) = span.extensions_mut().remove::<Seen>()
        {
            self.record(&seen);
        }
    }
}
