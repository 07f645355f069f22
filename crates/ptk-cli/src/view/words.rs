//! Times in words, and colours where they are taken.

use std::io;
use std::time::{Duration, SystemTime};

/// How long something took.
pub(crate) fn took(time: Duration) -> String {
    match time.as_millis() {
        millis @ 0..1000 => format!("{millis} ms"),
        1000..60_000 => format!("{:.1} s", time.as_secs_f64()),
        _ => {
            let seconds = time.as_secs();
            format!("{} min {} s", seconds / 60, seconds % 60)
        }
    }
}

/// How long ago something was, roughly.
pub(crate) fn age(at: SystemTime) -> String {
    let age = SystemTime::now().duration_since(at).unwrap_or_default();
    let seconds = age.as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// A text for stdout: with its colours, or without where stdout takes none.
pub(crate) fn coloured(text: &str) -> String {
    match anstream::AutoStream::choice(&io::stdout()) {
        anstream::ColorChoice::Never => anstream::adapter::strip_str(text).to_string(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_that_fits() {
        assert_eq!(took(Duration::from_millis(12)), "12 ms");
        assert_eq!(took(Duration::from_millis(3210)), "3.2 s");
        assert_eq!(took(Duration::from_secs(75)), "1 min 15 s");
        let ago = |seconds| age(SystemTime::now() - Duration::from_secs(seconds));
        assert_eq!(ago(30), "30 s");
        assert_eq!(ago(600), "10 min");
        assert_eq!(ago(4 * 86_400), "4 days");
    }
}
