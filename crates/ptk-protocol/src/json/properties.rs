//! Properties that hold for any text.

use proptest::prelude::*;
use serde_json::{Map, Value};

use super::scan::Scanner;
use super::{End, MAX_DEPTH, MAX_FIXES, RepairError, repair};

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        awkward_string().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((awkward_string(), inner), 0..5)
                .prop_map(|members| Value::from(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Strings full of characters that have a meaning outside of strings.
fn awkward_string() -> impl Strategy<Value = String> {
    prop::collection::vec(awkward_piece(), 0..8).prop_map(|pieces| pieces.concat())
}

fn awkward_piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "\"",
        "'",
        "`",
        "```",
        "```json",
        "“",
        "”",
        "‘",
        "’",
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        ",",
        ":",
        "\\",
        "\\\"",
        "\\u",
        "\\ud800",
        "\\u00e9",
        "/",
        "//",
        "/*",
        "*/",
        "#",
        "\n",
        "\t",
        " ",
        "\r\n",
        "\u{0}",
        "\u{a0}",
        "\u{feff}",
        "\u{2028}",
        "...",
        "…",
        "a",
        "key",
        "é",
        "😀",
        "true",
        "None",
        "undefined",
        "NaN",
        "-",
        "+",
        "1",
        "0",
        "05",
        "1.5",
        "1e",
        "1e999",
        "0x1f",
        ".",
        ";",
        "=",
        "=>",
        "f(",
        "\"a\":",
        "\"b\"",
        ", \"c\": ",
        "\"},",
        "\"]",
        "{\"",
        "[\"",
        "https://x.y/",
        "\\frac",
        "\\b",
        "\\nabla",
        "\\d",
        "C:\\t",
        "(note)",
        " NOTE ",
        "+ /*c*/ ",
        "], [",
    ])
}

/// The content of a string with escapes that may stand for themselves.
fn doubtful_string() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "\\n", "\\t", "\\r", "\\b", "\\f", "\\\\", "\\\"", "\\u00e9", "\\d", "\\alpha", "\\ ",
        "abla", "u", "heta", "ext{", "C:", "x", " ", "é", "}", ",",
    ]);
    prop::collection::vec(pieces, 0..10).prop_map(|pieces| pieces.concat())
}

/// Arbitrary text made of pieces that matter to the reader.
fn awkward_text() -> impl Strategy<Value = String> {
    prop::collection::vec(awkward_piece(), 0..40).prop_map(|pieces| pieces.concat())
}

fn assert_sound(text: &str) -> Result<(), TestCaseError> {
    let repaired = match repair(text) {
        Ok(repaired) => repaired,
        Err(RepairError::TooDeep { .. }) => {
            let brackets = text
                .chars()
                .filter(|c| matches!(c, '[' | '{' | '(' | ':'))
                .count();
            prop_assert!(brackets >= MAX_DEPTH, "too deep: {text:?}");
            return Ok(());
        }
        Err(_) => return Ok(()),
    };
    let parsed = serde_json::from_str::<Value>(&repaired.json);
    prop_assert!(
        parsed.is_ok(),
        "{text:?} became {:?}: {parsed:?}",
        repaired.json
    );
    prop_assert_eq!(
        repair(&repaired.json).map(|again| again.json),
        Ok(repaired.json.clone())
    );
    prop_assert!(repaired.fixes.len() <= MAX_FIXES);
    prop_assert!(
        repaired.fixes.iter().all(|fix| fix.at <= text.len()),
        "{:?}",
        repaired.fixes
    );
    prop_assert!(
        !repaired.fixes.is_empty() || repaired.json == text.trim(),
        "{text:?} silently became {:?}",
        repaired.json
    );
    Ok(())
}

/// How a prefix of valid JSON ends, read by the rules of valid JSON.
fn end_of_prefix(prefix: &str) -> End {
    let mut depth = 0;
    let mut in_string = false;
    let mut escaped = false;
    for byte in prefix.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth -= 1,
            _ => {}
        }
    }
    match (in_string, depth) {
        (true, depth) => End::InString { depth },
        (false, 0) => End::Closed,
        (false, depth) => End::Open { depth },
    }
}

/// The part of a prefix that no completion can change: without a comma that
/// nothing follows, an escape or a number that may be cut in two.
fn settled(prefix: &str) -> &str {
    let tail = prefix.len().saturating_sub(12);
    let cut = prefix
        .char_indices()
        .map(|(at, _)| at)
        .find(|&at| at >= tail)
        .unwrap_or(0);
    prefix.get(..cut).unwrap_or_default().trim_end()
}

fn written(value: &Value, pretty: bool) -> String {
    if pretty {
        format!("{value:#}")
    } else {
        value.to_string()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn valid_json_is_returned_untouched(value in any_value(), pretty: bool) {
        let text = written(&value, pretty);
        let repaired = repair(&format!(" {text}\n")).unwrap();
        prop_assert_eq!(&repaired.json, &text);
        prop_assert!(repaired.fixes.is_empty());
        prop_assert_eq!(repaired.end, End::Closed);
    }

    /// A comment at the end sends valid JSON through the reader for broken JSON.
    #[test]
    fn the_tolerant_reader_leaves_valid_json_alone(value in any_value(), pretty: bool) {
        let text = written(&value, pretty);
        let repaired = repair(&format!("{text}\n// end")).unwrap();
        prop_assert_eq!(&repaired.json, &text);
        prop_assert_eq!(repaired.fixes.len(), 1);
        prop_assert_eq!(repaired.end, End::Closed);
    }

    #[test]
    fn any_string_gives_valid_json_or_an_error(text: String) {
        assert_sound(&text)?;
    }

    #[test]
    fn any_text_of_awkward_pieces_gives_valid_json_or_an_error(text in awkward_text()) {
        assert_sound(&text)?;
    }

    /// What streams before a fault is found is what the repair keeps.
    #[test]
    fn what_is_settled_is_kept_by_the_repair(
        content in doubtful_string(),
        tail in prop::sample::select(vec!["", "\"}", "\",}", "\", \"b\": True}", "\", \"b\": \"\\q\"}"]),
    ) {
        let text = format!("{{\"a\": \"{content}{tail}");
        let mut scanner = Scanner::new(0);
        scanner.scan(&text);
        let settled = text.get(..scanner.settled()).unwrap_or_default();
        let json = repair(&text).unwrap().json;
        prop_assert!(json.starts_with(settled), "{} became {}, {} had been settled", text, json, settled);
    }

    #[test]
    fn a_deleted_or_inserted_character_gives_valid_json(
        value in any_value(),
        at: prop::sample::Index,
        inserted in prop::option::of(prop::sample::select(vec!['{', '}', '[', ']', ',', ':', '"', '\\', '\''])),
    ) {
        let mut text = value.to_string();
        let at = at.index(text.len());
        if !text.is_char_boundary(at) {
            return Ok(());
        }
        match inserted {
            Some(character) => text.insert(at, character),
            None => { text.remove(at); }
        }
        assert_sound(&text)?;
    }

    #[test]
    fn every_prefix_is_completed_and_its_end_known(value in any_value(), pretty: bool) {
        let text = written(&value, pretty);
        for at in (2..text.len()).filter(|&at| text.is_char_boundary(at)) {
            let prefix = text.get(..at).unwrap_or_default();
            if !text.starts_with(['{', '[', '"']) {
                continue;
            }
            assert_sound(prefix)?;
            let Ok(repaired) = repair(prefix) else {
                prop_assert!(prefix.trim() == "\"", "{:?}", prefix);
                continue;
            };
            let end = end_of_prefix(prefix);
            let ends_with_closers = prefix.trim_end().trim_end_matches(['`', ';']).trim_end().ends_with(['}', ']']);
            if matches!(end, End::InString { .. }) && ends_with_closers {
                continue;
            }
            prop_assert_eq!(repaired.end, end, "{:?}", prefix);
            prop_assert!(
                repaired.json.starts_with(settled(prefix)),
                "{:?} became {:?}", prefix, repaired.json
            );
        }
    }
}
