//! Spans and metrics, for whoever has set `OTEL_EXPORTER_OTLP_ENDPOINT`.

use std::io::Write as _;
use std::time::Duration;

use ptk_telemetry::{Telemetry, TelemetryError};

use crate::printer;

/// How long the end of the program waits for a receiver that does not answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Sends what is left when it is dropped, within its time.
#[must_use]
pub(crate) struct Sending(Option<Telemetry>);

/// Sends spans and metrics from now on, if that is wanted. What cannot be sent
/// stops nobody from working.
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
    // Nobody is left to be told that the terminal is gone.
    drop(writeln!(printer::stderr(), "warning: {error}"));
}
