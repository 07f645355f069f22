//! Times of events: to the millisecond, and as text in JSON.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::de::{Deserialize, Deserializer, Error as _};

/// The current time, in the precision of the JSON, so that an event reads back
/// the same.
pub(crate) fn now() -> SystemTime {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let nanos = since.subsec_millis() * 1_000_000;
    UNIX_EPOCH + Duration::new(since.as_secs(), nanos)
}

/// Formats a time as RFC 3339, UTC, in milliseconds. Times before 1970 are
/// written as 1970.
pub(crate) fn written<E: serde::ser::Error>(time: SystemTime) -> Result<String, E> {
    let mut text = String::new();
    let time = humantime::format_rfc3339_millis(time.max(UNIX_EPOCH));
    match write!(text, "{time}") {
        Ok(()) => Ok(text),
        Err(_) => Err(E::custom("the time is past the year 9999")),
    }
}

pub(crate) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
    let text = String::deserialize(deserializer)?;
    humantime::parse_rfc3339(&text)
        .map_err(|reason| D::Error::custom(format!("not a time: `{text}`: {reason}")))
}
