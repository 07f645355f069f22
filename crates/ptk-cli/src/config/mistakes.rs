//! Error messages for a configuration.

use ptk_protocol::schema::suggest;

/// Adds a suggestion to a message: of "unknown field `a`, expected one of `b`,
/// `c`" the name that is closest to `a`.
pub(super) fn with_near(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let near = match (message.starts_with("unknown "), quoted.next()) {
        (true, Some(name)) => suggest::nearest(name, quoted),
        _ => None,
    };
    match near {
        Some(near) => format!("{message}; did you mean `{near}`?"),
        None => message.to_owned(),
    }
}

/// Rewords the TOML parser's message for users.
pub(super) fn in_words(message: &str) -> String {
    let wrong = ["invalid type: ", "invalid value: "];
    let rest = wrong.iter().find_map(|start| message.strip_prefix(start));
    match rest.and_then(|rest| rest.rsplit_once(", expected ")) {
        Some((found, wanted)) => {
            format!("expected {}, and not {}", expected(wanted), read_as(found))
        }
        None => message
            .replace("unknown variant", "unknown value")
            .replace("wanted string or table", "expected a name")
            .replace("missing field", "missing:"),
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
