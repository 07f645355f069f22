//! Exports spans and metrics if `OTEL_EXPORTER_OTLP_ENDPOINT` is set.

use std::io::Write as _;
use std::time::Duration;

use ptk_telemetry::{Telemetry, TelemetryError};

use crate::printer;

/// How long the exit waits for a collector that does not answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Exports the remaining data when it is dropped, within a timeout.
#[must_use]
pub(crate) struct Sending(Option<Telemetry>);

/// Starts to export spans and metrics, if configured. Failures are only
/// warnings.
pub(crate) fn start() -> Sending {
    let telemetry = Telemetry::from_env().and_then(|telemetry| {
        telemetry.as_ref().map_or(Ok(()), Telemetry::install)?;
        Ok(telemetry)
    });
    match telemetry {
        Ok(telemetry) => Sending(telemetry),
        Err(error) => {
            warn(&error);
            Sending(None)
        }
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
