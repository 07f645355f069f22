//! Exports spans and metrics if `OTEL_EXPORTER_OTLP_ENDPOINT` is set.

use std::io::Write as _;
use std::time::Duration;

use ptk_telemetry::{Telemetry, TelemetryError};
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::registry::LookupSpan;

use crate::printer;

/// How long the exit waits for a collector that does not answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Exports the remaining data when it is dropped, within a timeout.
#[must_use]
pub(crate) struct Sending(Option<Telemetry>);

/// The export of spans and metrics, if it is configured. Failures are only
/// warnings.
pub(crate) fn from_env() -> Sending {
    Sending(Telemetry::from_env().unwrap_or_else(|error| {
        warn(&error);
        None
    }))
}

impl Sending {
    /// The layer that exports, if that is configured.
    pub(crate) fn layer<S>(&self) -> Option<impl Layer<S> + Send + Sync + 'static>
    where
        S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
    {
        self.0.as_ref().map(Telemetry::layer)
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        if let Some(telemetry) = self.0.take()
            && let Err(error) = telemetry.shut_down(PATIENCE)
        {
            warn(&error);
        }
    }
}

fn warn(error: &TelemetryError) {
    // If stderr is closed, there is nowhere to report it.
    drop(writeln!(printer::stderr(), "warning: {error}"));
}
