//! Times: to the millisecond, as numbers in the database and as text elsewhere.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Error as _, Serializer};

/// The current time in whole milliseconds, so that it reads back equal.
pub(crate) fn now() -> SystemTime {
    from_millis(to_millis(SystemTime::now()))
}

/// Milliseconds since 1970; earlier times count as that.
pub(crate) fn to_millis(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

pub(crate) fn from_millis(millis: i64) -> SystemTime {
    let since = Duration::from_millis(u64::try_from(millis).unwrap_or_default());
    UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
}

/// The time in RFC 3339, UTC; `None` past the year 9999.
pub(crate) fn written(time: SystemTime) -> Option<String> {
    let mut text = String::new();
    let time = humantime::format_rfc3339_millis(time.max(UNIX_EPOCH));
    write!(text, "{time}").ok()?;
    Some(text)
}

/// The time for people, to the second.
pub(crate) fn shown(time: SystemTime) -> String {
    let text = written(time).unwrap_or_default();
    let text = text.split('.').next().unwrap_or_default();
    format!("{} UTC", text.replace('T', " "))
}

pub(crate) fn serialize<S: Serializer>(
    time: &SystemTime,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match written(*time) {
        Some(text) => serializer.serialize_str(&text),
        None => Err(S::Error::custom("the time is past the year 9999")),
    }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<SystemTime, D::Error> {
    let text = String::deserialize(deserializer)?;
    humantime::parse_rfc3339(&text)
        .map_err(|reason| D::Error::custom(format!("not a time: `{text}`: {reason}")))
}
