//! Notes, labels, comments and brackets around values: what belongs to a value
//! and what does not.

use serde_json::{Value, json};

use super::{Repaired, repair};
use crate::ProblemCode::{self, *};

fn read(text: &str) -> Repaired {
    repair(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

/// Asserts that the text is read as `value`, with `codes` reported.
#[track_caller]
fn assert_read(text: &str, value: &Value, codes: &[ProblemCode]) {
    let repaired = read(text);
    let parsed: Value = serde_json::from_str(&repaired.json).unwrap();
    let found: Vec<_> = repaired.fixes.iter().map(|fix| fix.code).collect();
    assert_eq!(parsed, *value, "{text:?} became {:?}", repaired.json);
    assert_eq!(found, codes, "{text:?}");
}

#[test]
fn notes_behind_values_are_left_out() {
    for (text, value, codes) in [
        (
            r#"{"path": "a.txt" (the file)}"#,
            json!({"path": "a.txt"}),
            &[SurroundingText][..],
        ),
        (
            r#"{"path": "a.txt" (the file), "n": 1}"#,
            json!({"path": "a.txt", "n": 1}),
            &[SurroundingText],
        ),
        (
            r#"{"path": "a.txt" the file, "n": 1}"#,
            json!({"path": "a.txt", "n": 1}),
            &[SurroundingText],
        ),
        (
            r#"{"a": "x", NOTE "b": "y"}"#,
            json!({"a": "x", "b": "y"}),
            &[SurroundingText],
        ),
        (
            r#"{"a": "x" and "b": "y"}"#,
            json!({"a": "x", "b": "y"}),
            &[SurroundingText, MissingComma],
        ),
        (
            r#"{"a": "x" (optional), "b": "y" (it's needed)}"#,
            json!({"a": "x", "b": "y"}),
            &[SurroundingText; 2],
        ),
        (
            r#"["x" (first), "y" (second)]"#,
            json!(["x", "y"]),
            &[SurroundingText; 2],
        ),
        (
            r#"{"a": [1] (a list), "b": {} note}"#,
            json!({"a": [1], "b": {}}),
            &[SurroundingText; 2],
        ),
    ] {
        assert_read(text, &value, codes);
    }
}

#[test]
fn words_behind_quoted_words_are_content() {
    for (text, value) in [
        (
            r#"{"a": "he said "no" (twice)", "b": 1}"#,
            json!({"a": "he said \"no\" (twice)", "b": 1}),
        ),
        (
            r#"{"a": "the "best"", "b": "the "worst""}"#,
            json!({"a": "the \"best\"", "b": "the \"worst\""}),
        ),
        (
            r#"{"a": "6" nails", "b": 1}"#,
            json!({"a": "6\" nails", "b": 1}),
        ),
        (
            "{'a': ''best' of', 'b': ''x''}",
            json!({"a": "'best' of", "b": "x"}),
        ),
        (
            "{'a': 'the 'best'', 'b': 'print('x', 'y')'}",
            json!({"a": "the 'best'", "b": "print('x', 'y')"}),
        ),
    ] {
        let parsed: Value = serde_json::from_str(&read(text).json).unwrap();
        assert_eq!(parsed, value, "{text}");
    }
}

#[test]
fn arrays_that_were_closed_too_early_go_on() {
    for (text, value, codes) in [
        (
            r#"{"a": ["x"], ["y"], "b": 1}"#,
            json!({"a": ["x", "y"], "b": 1}),
            &[Joined][..],
        ),
        (
            r#"{"a": [1] [2, 3], [], "b": 1}"#,
            json!({"a": [1, 2, 3], "b": 1}),
            &[Joined, Joined, ExtraComma],
        ),
        (
            r#"{"a": [{"x": 1}], [{"x": 2}]}"#,
            json!({"a": [{"x": 1}, {"x": 2}]}),
            &[Joined],
        ),
    ] {
        assert_read(text, &value, codes);
    }
}

#[test]
fn comments_stand_between_joined_strings() {
    assert_read(
        r#"{"a": "x" + /*c*/ "y"}"#,
        &json!({"a": "xy"}),
        &[Joined, Comment],
    );
    assert_read(
        "\"a\" + // c\n # d\n \"b\"",
        &json!("ab"),
        &[Joined, Comment],
    );
    assert_read(
        r#"{"a": "x" /*c*/ + "y"}"#,
        &json!({"a": "xy"}),
        &[Comment, Joined],
    );
}

#[test]
fn labels_before_the_value_are_left_out() {
    for text in [
        "Call (1): {\"a\": 1}",
        "(1) {\"a\": 1}",
        "Call (read_file): {\"a\": 1}",
    ] {
        assert_read(text, &json!({"a": 1}), &[SurroundingText]);
    }
    assert_read("f(1)", &json!(1), &[SurroundingText]);
}

#[test]
fn brackets_belong_to_the_words_that_open_them() {
    for (text, value) in [
        (
            "{t: hello {name}, n: 1}",
            json!({"t": "hello {name}", "n": 1}),
        ),
        ("{t: hello {name}}", json!({"t": "hello {name}"})),
        (
            "{t: f(a, [b], {c: 1}), n: 1}",
            json!({"t": "f(a, [b], {c: 1})", "n": 1}),
        ),
        ("[hello {a, b}, c]", json!(["hello {a, b}", "c"])),
        ("{t: smile :{, n: 1}", json!({"t": "smile :{", "n": 1})),
        ("[smile (, b]", json!(["smile (", "b"])),
    ] {
        let parsed: Value = serde_json::from_str(&read(text).json).unwrap();
        assert_eq!(parsed, value, "{text}");
    }
}

#[test]
fn keys_without_quotes_and_colons_have_their_values() {
    assert_read(
        "{a 'b', \"c\": 1}",
        &json!({"a": "b", "c": 1}),
        &[MissingQuotes, MissingColon, WrongQuotes],
    );
    assert_read(
        "{don't stop: 1}",
        &json!({"don't stop": 1}),
        &[MissingQuotes],
    );
}
