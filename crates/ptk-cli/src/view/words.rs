//! Times, sizes, tokens, money and paths as text.

use std::path::Path;
use std::time::{Duration, SystemTime};

use ptk::RunLimit;
use ptk::store::Usage;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// A duration as text.
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

/// The tokens of requests as text; `None` if none were reported.
pub(crate) fn tokens(usage: Usage) -> Option<String> {
    if usage.input_tokens + usage.output_tokens == 0 {
        return None;
    }
    let cached = usage.cached_part();
    Some(format!(
        "{} tokens in{cached}, {} out",
        usage.input_tokens, usage.output_tokens
    ))
}

/// An amount of money as text, from millionths of a dollar.
pub(crate) fn money(micros: u64) -> String {
    match micros {
        0..100 => "under $0.0001".to_owned(),
        100..1_000_000 => format!("$0.{:04}", micros / 100),
        _ => format!("${}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000),
    }
}

/// A number of bytes as text.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    scaled(bytes, &UNITS, " ")
}

/// A rounded number as text.
pub(crate) fn count(number: u64) -> String {
    if number < 1000 {
        return number.to_string();
    }
    scaled(number, &["K", "M", "B", "T"], "")
}

/// A number in a suitable unit, with at least two digits.
fn scaled(number: u64, units: &[&str], between: &str) -> String {
    let (mut whole, mut unit) = (number, 0);
    let mut tenths = 0;
    while whole >= 1000 && unit < units.len() {
        // Rounded once, at the end.
        tenths = whole.saturating_add(50) / 100;
        whole /= 1000;
        unit += 1;
    }
    let name = units.get(unit.saturating_sub(1)).unwrap_or(&"");
    if tenths < 100 {
        return format!("{}.{}{between}{name}", tenths / 10, tenths % 10);
    }
    format!("{}{between}{name}", (tenths + 5) / 10)
}

/// The limit that a run has reached, and how to raise it.
pub(crate) fn limit_reached(limit: RunLimit) -> String {
    match limit {
        RunLimit::Iterations(most) => {
            format!("The limit of {most} requests was reached; --max-iterations raises it.")
        }
        RunLimit::ToolCalls(most) => {
            format!("The limit of {most} calls was reached; --max-tool-calls raises it.")
        }
    }
}

/// The rough age of something as text.
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

/// A path as text, with `~` for the user's home.
pub(crate) fn short_path(path: &Path) -> String {
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    let below = home.as_ref().and_then(|home| path.strip_prefix(home).ok());
    match below {
        Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}

/// Cuts a text to this many columns.
pub(crate) fn fitting(text: &str, columns: usize) -> String {
    // The width of a tab is not known.
    let text = text.replace('\t', " ");
    if text.width() <= columns {
        return text;
    }
    let mut used = 1;
    let mut fitting = String::new();
    for grapheme in text.graphemes(true) {
        used += grapheme.width();
        if used > columns {
            break;
        }
        fitting.push_str(grapheme);
    }
    if columns > 0 {
        fitting.push('…');
    }
    fitting
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

    #[test]
    fn sizes_have_the_unit_that_fits() {
        for (bytes, shown) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (98_362_432, "98 MB"),
            (1_260_000_000, "1.3 GB"),
            (u64::MAX, "18446744 TB"),
        ] {
            assert_eq!(size(bytes), shown);
        }
        assert_eq!(count(1056), "1.1K");
        assert_eq!(count(134_515_008), "135M");
        assert_eq!(count(1_100_048_384), "1.1B");
    }

    #[test]
    fn what_was_cached_is_told_apart() {
        let usage = Usage {
            input_tokens: 1200,
            output_tokens: 30,
            ..Usage::default()
        };
        assert_eq!(tokens(Usage::default()), None);
        assert_eq!(tokens(usage).unwrap(), "1200 tokens in, 30 out");
        let usage = Usage {
            cached_tokens: 1000,
            ..usage
        };
        let told = tokens(usage).unwrap();
        assert_eq!(told, "1200 tokens in (1000 cached), 30 out");
        let usage = Usage {
            cache_write_tokens: 200,
            ..usage
        };
        let told = tokens(usage).unwrap();
        assert_eq!(
            told,
            "1200 tokens in (1000 cached, 200 written to the cache), 30 out"
        );
    }

    #[test]
    fn money_is_shown_as_far_as_it_matters() {
        for (micros, shown) in [
            (99, "under $0.0001"),
            (4250, "$0.0042"),
            (999_999, "$0.9999"),
            (12_345_678, "$12.34"),
        ] {
            assert_eq!(money(micros), shown);
        }
    }

    #[test]
    fn a_text_is_cut_to_the_columns_it_takes() {
        for (text, columns, shown) in [
            ("short", 10, "short"),
            ("just fits", 9, "just fits"),
            ("does not fit", 10, "does not …"),
            ("日本語テキスト", 8, "日本語…"),
            ("a\tb", 10, "a b"),
            ("xy", 1, "…"),
            ("x", 0, ""),
        ] {
            assert_eq!(fitting(text, columns), shown);
        }
    }
}
