//! Mistakes in a configuration, in plain words.
//!
//! Serde reports a mistake as a finished sentence in terms of Rust, such as
//! "invalid type: integer `3`, expected struct Run". TOML's errors keep nothing
//! but that sentence, so the forms that [`serde::de::Error`] documents are
//! matched here. Any other sentence stays as it is.

use ptk_protocol::schema::suggest;

/// How serde's sentences begin, and what is said instead.
const BEGINNINGS: [(&str, &str); 3] = [
    ("unknown variant", "unknown value"),
    ("missing field", "missing:"),
    ("wanted string or table", "expected a name"),
];

/// The message for a mistake.
pub(super) fn in_words(message: &str) -> String {
    let value = ["invalid type: ", "invalid value: "]
        .iter()
        .find_map(|start| message.strip_prefix(start))
        .and_then(|rest| rest.rsplit_once(", expected "));
    if let Some((found, wanted)) = value {
        return format!("expected {}, and not {}", expected(wanted), read_as(found));
    }
    let reworded = BEGINNINGS.iter().find_map(|(start, instead)| {
        let rest = message.strip_prefix(start)?;
        Some(format!("{instead}{rest}"))
    });
    let message = reworded.unwrap_or_else(|| message.to_owned());
    // Of "unknown field `a`, expected one of `b`, `c`", the names are quoted.
    let mut names = message.split('`').skip(1).step_by(2);
    match names.next() {
        Some(name) if message.starts_with("unknown ") => with_suggestion(&message, name, names),
        _ => message,
    }
}

/// A message, and the known name that is nearest to an unknown one.
pub(super) fn with_suggestion<'a>(
    message: &str,
    unknown: &str,
    known: impl Iterator<Item = &'a str>,
) -> String {
    match suggest::nearest(unknown, known) {
        Some(near) => format!("{message}; did you mean `{near}`?"),
        None => message.to_owned(),
    }
}

/// The expected value, in plain words.
fn expected(wanted: &str) -> &str {
    match wanted {
        "a sequence" => "a list",
        "a map" => "a section",
        "a boolean" => "true or false",
        "a string" => "a text",
        "a nonzero u32" => "a whole number from 1 to 4294967295",
        "u32" => "a whole number from 0 to 4294967295",
        "u8" | "u16" | "u64" | "usize" => "a whole number from 0 up",
        "i64" => "a whole number",
        "f32" | "f64" => "a number",
        wanted if wanted.starts_with("struct ") => "a section",
        wanted if wanted.starts_with("enum ") => "a name",
        wanted => wanted,
    }
}

/// The actual value, in plain words.
fn read_as(found: &str) -> String {
    for (kind, name) in [
        ("string ", "the text "),
        ("integer ", "the number "),
        ("floating point ", "the number "),
        ("boolean ", ""),
    ] {
        if let Some(value) = found.strip_prefix(kind) {
            return format!("{name}{value}");
        }
    }
    match found {
        "map" => "a section".to_owned(),
        "sequence" => "a list".to_owned(),
        found => found.to_owned(),
    }
}
