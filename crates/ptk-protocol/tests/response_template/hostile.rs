//! Hostile templates and replies crash nothing and lose nothing.

use ptk_protocol::dialects::response_template::ResponseTemplate;
use ptk_protocol::invariants::{check_every_cut, check_template};
use ptk_protocol::parse;
use serde_json::json;

use super::refusals::with;
use super::{grammar_of, samples, templates};

/// Numbers that are the same every time.
fn numbers(mut state: u64) -> impl FnMut(usize) -> usize {
    move |bound| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(state >> 33).unwrap() % bound
    }
}

#[test]
fn hostile_files_are_refused_or_read_and_never_crash() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(ResponseTemplate::from_json(&deep).is_err());
    assert!(ResponseTemplate::from_json("").is_err());
    let many: Vec<String> = (0..1000).map(|number| format!("<m{number}>")).collect();
    let fields = json!({"content": {"close": many}});
    assert!(
        ResponseTemplate::from_value(&json!({"start_anchor": "<a>", "fields": fields})).is_err()
    );
    let long = json!({"content": {"close": "<".repeat(1 << 20)}});
    assert!(ResponseTemplate::from_value(&json!({"start_anchor": "<a>", "fields": long})).is_err());
    // Quadratic, or worse, for an engine that goes back.
    let slow = with(
        "/fields/tool_calls/open_pattern",
        json!(r"<a>(?:\w+\s*)*(?:\w*)*(?P<name>x)<b>"),
    );
    let grammar = grammar_of(&slow);
    let text = format!("<a>{}", "a ".repeat(100_000));
    assert_eq!(parse(&text, &grammar).text, text);
}

#[test]
fn random_replies_keep_every_byte_however_they_are_cut() {
    let mut next = numbers(7);
    for (_, template) in templates() {
        let grammar = grammar_of(&template);
        let pieces: Vec<String> = samples(&template)
            .iter()
            .flat_map(|text| {
                text.split_inclusive(['>', '\n', ':'])
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            })
            .collect();
        for _ in 0..12 {
            let text: String = (0..10)
                .map(|_| pieces[next(pieces.len())].as_str())
                .collect();
            check_every_cut(&grammar, &text);
        }
    }
}

#[test]
fn broken_templates_never_crash_the_reader() {
    let mut next = numbers(3);
    let words = [
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "*",
        "+?",
        "|",
        r"\w",
        r"\s*",
        "(?P<name>",
        "<a>",
        "^",
        "$",
        "\"",
        ":",
        "null",
        "é",
    ];
    for (_, template) in templates() {
        for _ in 0..6 {
            let mut text = template.to_string();
            for _ in 0..2 {
                let at = next(text.len());
                if text.is_char_boundary(at) {
                    text.insert_str(at, words[next(words.len())]);
                }
            }
            check_template(text.as_bytes());
        }
    }
    for _ in 0..60 {
        let pattern: String = (0..6).map(|_| words[next(words.len())]).collect();
        check_template(format!("<a>{pattern}").as_bytes());
    }
}
