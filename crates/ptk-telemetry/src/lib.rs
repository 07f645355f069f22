//! What runs do, for OpenTelemetry: spans and metrics by its conventions for
//! generative AI, over OTLP. What was said is not part of it, unless somebody
//! asks for it; and then without secrets.
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
//! | `settings` | where it goes, and what of it |
//! | `telemetry` | the face: [`Telemetry`] |
//! | `careful` | spans on their way out: secrets are taken out, values get their types |
//! | `measures` | the metrics, which follow from the spans |

mod careful;
mod measures;
mod settings;
mod telemetry;

pub use settings::{Content, Settings};
pub use telemetry::{Telemetry, TelemetryError};
