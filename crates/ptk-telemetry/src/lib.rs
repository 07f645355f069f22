//! Telemetry of runs for OpenTelemetry: spans and metrics by its conventions
//! for generative AI, over OTLP. Content of conversations is left out by
//! default, and sent without secrets if it is enabled.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use ptk_telemetry::Telemetry;
//!
//! // On if `OTEL_EXPORTER_OTLP_ENDPOINT` is set.
//! let telemetry = Telemetry::from_env()?;
//! if let Some(telemetry) = &telemetry {
//!     telemetry.install()?;
//! }
//! // … runs …
//! if let Some(telemetry) = telemetry {
//!     telemetry.shut_down(Duration::from_secs(3))?;
//! }
//! # Ok::<(), ptk_telemetry::TelemetryError>(())
//! ```
//!
//! | Module | Its one concern |
//! |---|---|
//! | `settings` | where telemetry is sent, and its content |
//! | `telemetry` | the public API: [`Telemetry`] |
//! | `careful` | exporting spans: secrets are removed, values get their types |
//! | `measures` | the metrics, which follow from the spans |

mod careful;
mod measures;
mod settings;
mod telemetry;

pub use settings::{Content, Settings};
pub use telemetry::{Telemetry, TelemetryError};
