//! Sends spans and metrics to a receiver.

use std::env;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{
    ExporterBuildError, MetricExporter, Protocol, SpanExporter, WithExportConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use ptk_events::CONTENT;
use tracing::subscriber::SetGlobalDefaultError;
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

use crate::careful::Careful;
use crate::measures::Measures;
use crate::{Content, Settings};

/// The name of the service and of the instrumentation.
const NAME: &str = "ptk";

/// Why telemetry could not be set up or sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TelemetryError {
    /// The exporter for this address could not be created.
    #[error(
        "Telemetry cannot be sent to {endpoint}: {source}; see to OTEL_EXPORTER_OTLP_ENDPOINT, or unset it"
    )]
    Exporter {
        /// The address of the receiver.
        endpoint: String,
        /// The error of the exporter.
        source: ExporterBuildError,
    },
    /// Another subscriber is installed for all spans.
    #[error("Another subscriber of `tracing` is installed already; add `Telemetry::layer` to it")]
    Installed(#[from] SetGlobalDefaultError),
    /// The remaining telemetry was not sent.
    #[error("Telemetry was not sent: its receiver did not take it within {} ms", .0.as_millis())]
    NotSent(Duration),
}

/// Spans and metrics that are sent to a receiver. They are collected and sent
/// by threads of their own, so that callers wait for them only at the end.
#[derive(Debug)]
pub struct Telemetry {
    tracers: SdkTracerProvider,
    meters: SdkMeterProvider,
    content: Content,
}

impl Telemetry {
    /// Creates telemetry from OpenTelemetry's variables; `None` if it is off,
    /// which it is unless `OTEL_EXPORTER_OTLP_ENDPOINT` is set.
    ///
    /// # Errors
    ///
    /// If the address is not valid.
    pub fn from_env() -> Result<Option<Self>, TelemetryError> {
        Settings::from_env().map(Self::new).transpose()
    }

    /// Creates telemetry with these settings.
    ///
    /// # Errors
    ///
    /// If the address is not valid.
    pub fn new(settings: Settings) -> Result<Self, TelemetryError> {
        let base = settings.endpoint.trim_end_matches('/').to_owned();
        let failed = |source| TelemetryError::Exporter {
            endpoint: base.clone(),
            source,
        };
        // The exporters build their HTTP clients themselves.
        ptk_http::choose_cryptography();
        let spans = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(format!("{base}/v1/traces"))
            .build()
            .map_err(failed)?;
        let metrics = MetricExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(format!("{base}/v1/metrics"))
            .build()
            .map_err(failed)?;
        let resource = resource();
        let tracers = SdkTracerProvider::builder()
            .with_resource(resource.clone())
            .with_batch_exporter(Careful::new(spans, settings.redaction))
            .build();
        let meters = SdkMeterProvider::builder()
            .with_resource(resource)
            .with_periodic_exporter(metrics)
            .build();
        Ok(Self {
            tracers,
            meters,
            content: settings.content,
        })
    }

    /// A layer for a subscriber of `tracing` that has other layers, too.
    #[must_use]
    pub fn layer<S>(&self) -> impl Layer<S> + Send + Sync + 'static
    where
        S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
    {
        let content = self.content;
        let spans = tracing_opentelemetry::layer()
            .with_tracer(self.tracers.tracer(NAME))
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_target(false);
        let measures = Measures::new(&self.meters.meter(NAME));
        spans
            .and_then(measures)
            .with_filter(filter_fn(move |metadata| is_wanted(metadata, content)))
    }

    /// Installs it as the subscriber of all spans of this process.
    ///
    /// # Errors
    ///
    /// If another subscriber is installed already.
    pub fn install(&self) -> Result<(), TelemetryError> {
        let subscriber = Registry::default().with(self.layer());
        Ok(tracing::subscriber::set_global_default(subscriber)?)
    }

    /// Sends the remaining telemetry, within this time.
    ///
    /// # Errors
    ///
    /// If not all of it was sent.
    pub fn shut_down(self, within: Duration) -> Result<(), TelemetryError> {
        let (done, ended) = mpsc::channel();
        let send = move || {
            let spans = self.tracers.shutdown_with_timeout(within);
            let metrics = self.meters.shutdown_with_timeout(within);
            // The receiver may have timed out.
            let _ = done.send(spans.is_ok() && metrics.is_ok());
        };
        let thread = thread::Builder::new().name("ptk-telemetry".to_owned());
        let is_sent = thread.spawn(send).is_ok() && ended.recv_timeout(within).unwrap_or(false);
        is_sent.then_some(()).ok_or(TelemetryError::NotSent(within))
    }
}

/// Whether a span or content is sent: only spans of PTK, because other
/// libraries and events may contain anything. Content has a setting of its own.
fn is_wanted(metadata: &Metadata<'_>, content: Content) -> bool {
    if metadata.target() == CONTENT {
        return content == Content::Captured;
    }
    let is_ours = metadata.target().starts_with("ptk");
    metadata.is_span() && is_ours && *metadata.level() <= Level::INFO
}

/// The resource, named by `OTEL_SERVICE_NAME` or `OTEL_RESOURCE_ATTRIBUTES`.
fn resource() -> Resource {
    let is_named = env::var("OTEL_SERVICE_NAME").is_ok_and(|name| !name.is_empty())
        || env::var("OTEL_RESOURCE_ATTRIBUTES").is_ok_and(|all| all.contains("service.name="));
    let resource = Resource::builder();
    if is_named {
        resource.build()
    } else {
        resource.with_service_name(NAME).build()
    }
}
