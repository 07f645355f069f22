//! Each kind of fault: what it is read as, what is reported, how it ends.

use serde_json::{Value, json};

use super::{End, MAX_DEPTH, MAX_FIXES, RepairError, Repaired, repair};
use crate::ProblemCode::{self, *};

fn read(text: &str) -> Repaired {
    match repair(text) {
        Ok(repaired) => repaired,
        Err(error) => panic!("{text:?}: {error}"),
    }
}

/// Asserts that the text is read as `value`, with `codes` reported, and was
/// closed.
#[track_caller]
fn assert_read(text: &str, value: &Value, codes: &[ProblemCode]) {
    assert_read_to(text, value, codes, End::Closed);
}

#[track_caller]
fn assert_read_to(text: &str, value: &Value, codes: &[ProblemCode], end: End) {
    let repaired = read(text);
    let parsed: Value = serde_json::from_str(&repaired.json)
        .unwrap_or_else(|error| panic!("{text:?} became {:?}: {error}", repaired.json));
    let found: Vec<_> = repaired.fixes.iter().map(|fix| fix.code).collect();
    assert_eq!(parsed, *value, "{text:?} became {:?}", repaired.json);
    assert_eq!(found, codes, "{text:?}");
    assert_eq!(repaired.end, end, "{text:?}");
}

#[track_caller]
fn assert_written(text: &str, json: &str) {
    assert_eq!(read(text).json, json);
}

#[test]
fn valid_json_comes_back_byte_for_byte() {
    for text in [
        r#"{"b": 1, "a": [1.0, 1e5, -0, 12345678901234567890123]}"#,
        r#"{ "x":"\u00e9\/ // no comment, 'quotes', https://a.b/" }"#,
        "[\n\t{}\r\n]",
        "null",
        r#""say \"hi\", \"x\": 1""#,
    ] {
        let repaired = read(&format!("\n {text} \n"));
        assert_eq!(repaired.json, text);
        assert_eq!(repaired.fixes, []);
        assert_eq!(repaired.end, End::Closed);
    }
}

#[test]
fn what_was_valid_is_kept_verbatim_around_a_fault() {
    assert_written(
        "{ \"n\" : 1.50e+3 ,\n\t\"s\":\"\\u00e9\\/\", \"last\":1.10, }",
        "{ \"n\" : 1.50e+3 ,\n\t\"s\":\"\\u00e9\\/\", \"last\":1.10 }",
    );
    assert_written(
        "[12345678901234567890.123456789,]",
        "[12345678901234567890.123456789]",
    );
}

#[test]
fn fixes_say_where_they_were_made() {
    let repaired = read("{\"a\": True, 'b': 1}");
    let places: Vec<_> = repaired
        .fixes
        .iter()
        .map(|fix| (fix.code, fix.at))
        .collect();
    assert_eq!(places, [(ForeignLiteral, 6), (WrongQuotes, 12)]);
}

#[test]
fn comments_are_skipped_outside_of_strings() {
    assert_read(
        "{\"a\": 1, // one\n\"b\": 2}",
        &json!({"a": 1, "b": 2}),
        &[Comment],
    );
    assert_read("[1, # one\n2]", &json!([1, 2]), &[Comment]);
    assert_read(
        "/* x */ [1 /* y */, 2]",
        &json!([1, 2]),
        &[Comment, Comment],
    );
    assert_read(
        "{\"url\": \"http://x//y#z /* w */\",}",
        &json!({"url": "http://x//y#z /* w */"}),
        &[ExtraComma],
    );
    assert_read("{\"a\": 1 // one }", &json!({"a": 1}), &[Comment]);
    assert_read(
        "{color: #fff}",
        &json!({"color": "#fff"}),
        &[MissingQuotes, MissingQuotes],
    );
}

#[test]
fn commas_are_dropped_and_added() {
    assert_read("[1, 2, ]", &json!([1, 2]), &[ExtraComma]);
    assert_read(
        "{\"a\": 1 , // x\n}",
        &json!({"a": 1}),
        &[Comment, ExtraComma],
    );
    assert_read("[,1,,2]", &json!([1, 2]), &[ExtraComma, ExtraComma]);
    assert_read(
        "[1 2 \"x\" {}]",
        &json!([1, 2, "x", {}]),
        &[MissingComma; 3],
    );
    assert_read(
        "{\"a\": 1 \"b\": {} \"c\": \"x\" \"d\": null}",
        &json!({"a": 1, "b": {}, "c": "x", "d": null}),
        &[MissingComma; 3],
    );
    assert_read(
        "{\"a\": \"x\"\n b: 2}",
        &json!({"a": "x", "b": 2}),
        &[MissingComma, MissingQuotes],
    );
}

#[test]
fn colons_are_added() {
    assert_read(
        "{\"a\" 1, \"b\" \"x\"}",
        &json!({"a": 1, "b": "x"}),
        &[MissingColon; 2],
    );
    assert_read(
        "{\"a\" = 1, \"b\" => 2}",
        &json!({"a": 1, "b": 2}),
        &[MissingColon; 2],
    );
    assert_read(
        "{\"a\": 1, \"b\"}",
        &json!({"a": 1, "b": null}),
        &[MissingColon],
    );
    assert_read(
        "{\"a\": , \"b\": 1}",
        &json!({"a": null, "b": 1}),
        &[ForeignLiteral],
    );
}

#[test]
fn any_quotes_are_read_as_plain_ones() {
    assert_read(
        "{'a': 'it''s'}",
        &json!({"a": "it''s"}),
        &[WrongQuotes, WrongQuotes, UnescapedQuote],
    );
    assert_read(
        "{'a': 'don't \"stop\"'}",
        &json!({"a": "don't \"stop\""}),
        &[
            WrongQuotes,
            WrongQuotes,
            UnescapedQuote,
            WrongQuotes,
            WrongQuotes,
        ],
    );
    assert_read(
        "{“a”: ‘b’, `c`: „d”}",
        &json!({"a": "b", "c": "d"}),
        &[WrongQuotes; 4],
    );
    assert_read(
        "{\"\"a\"\": \"\"b\"\"}",
        &json!({"a": "b"}),
        &[WrongQuotes; 2],
    );
    assert_read(
        "{\"code\": \"\"\"x = \"1\"\ny\"\"\"}",
        &json!({"code": "x = \"1\"\ny"}),
        &[
            WrongQuotes,
            UnescapedQuote,
            UnescapedQuote,
            ControlCharacter,
        ],
    );
    assert_read(
        "{\\\"a\\\": \\\"b \\\\\\\"c\\\\\\\"\\\"}",
        &json!({"a": "b \"c\""}),
        &[WrongQuotes; 2],
    );
    assert_read(
        "{\"a\": \"\", \"b\": [\"\", \"\"],}",
        &json!({"a": "", "b": ["", ""]}),
        &[ExtraComma],
    );
}

#[test]
fn keys_and_values_without_quotes_are_strings() {
    assert_read(
        "{first name: Ada Lovelace, url: https://a.b/c?d#e}",
        &json!({"first name": "Ada Lovelace", "url": "https://a.b/c?d#e"}),
        &[MissingQuotes; 4],
    );
    assert_read(
        "{\n a: one two\n b: three\n}",
        &json!({"a": "one two", "b": "three"}),
        &[
            MissingQuotes,
            MissingQuotes,
            MissingComma,
            MissingQuotes,
            MissingQuotes,
        ],
    );
    assert_read(
        "[red, light green]",
        &json!(["red", "light green"]),
        &[MissingQuotes; 2],
    );
    assert_read(
        "{\"a\": b\", c\": 1}",
        &json!({"a": "b", "c": 1}),
        &[MissingQuotes; 2],
    );
    assert_read(
        "{\"when\": 2024-10-18T18:35:22Z}",
        &json!({"when": "2024-10-18T18:35:22Z"}),
        &[MissingQuotes],
    );
    assert_read(
        "{\"re\": /[a-z],\\d/i}",
        &json!({"re": "/[a-z],\\d/i"}),
        &[MissingQuotes, BadEscape],
    );
    assert_read(
        "{\"a\": Rome, IT\", \"b\": 1}",
        &json!({"a": "Rome, IT", "b": 1}),
        &[MissingQuotes],
    );
    assert_read("plain words", &json!("plain words"), &[MissingQuotes]);
}

#[test]
fn literals_of_other_languages_are_read() {
    assert_read(
        "[True, FALSE, None, NULL, undefined, NaN, -Infinity]",
        &json!([true, false, null, null, null, null, null]),
        &[ForeignLiteral; 7],
    );
    assert_read(
        "[true story, nullable]",
        &json!(["true story", "nullable"]),
        &[MissingQuotes; 2],
    );
}

#[test]
fn control_characters_are_escaped() {
    assert_read(
        "{\"a\": \"x\ty\nz\u{1}\"}",
        &json!({"a": "x\ty\nz\u{1}"}),
        &[ControlCharacter; 3],
    );
    assert_written("[\"a\r\nb\"]", "[\"a\\r\\nb\"]");
}

#[test]
fn bad_escapes_keep_what_was_meant() {
    assert_read(r#"["it\'s \a"]"#, &json!([r"it's \a"]), &[BadEscape; 2]);
    assert_read(
        r#"["\alpha \q \~ 100\% a\ b"]"#,
        &json!([r"\alpha \q \~ 100\% a\ b"]),
        &[BadEscape; 5],
    );
    assert_read(
        "[\"make \\\n all\"]",
        &json!(["make \\\n all"]),
        &[BadEscape, ControlCharacter],
    );
    assert_read(
        r#"["C:\Users\ann\git"]"#,
        &json!([r"C:\Users\ann\git"]),
        &[BadEscape; 3],
    );
    assert_read(
        r#"["\d+\.\w \$HOME \(x\)"]"#,
        &json!([r"\d+\.\w \$HOME \(x\)"]),
        &[BadEscape; 6],
    );
    assert_read(r#"["\x41\u00e9\ug"]"#, &json!([r"Aé\ug"]), &[BadEscape; 2]);
    assert_read(
        r#"["\ud83d\ude00 \ud83d \ude00"]"#,
        &json!(["😀 \u{fffd} \u{fffd}"]),
        &[BadEscape; 2],
    );
}

#[test]
fn numbers_are_mended_without_losing_a_digit() {
    assert_read(
        "[+1, .5, 1., -.5, 1e, 0x1F]",
        &json!([1, 0.5, 1.0, -0.5, 1.0, 31]),
        &[BadNumber; 6],
    );
    assert_read(
        "[007, 1.2.3, 1/2, 1e999]",
        &json!(["007", "1.2.3", "1/2", "1e999"]),
        &[MissingQuotes; 4],
    );
    assert_read(
        "[1_000, -1_000_000.5, 0o755, 0b101]",
        &json!([1000, -1_000_000.5, 493, 5]),
        &[BadNumber; 4],
    );
    assert_read(
        "[2024_01_15, 1__000, _1, 1_000_]",
        &json!(["2024_01_15", "1__000", "_1", "1_000_"]),
        &[MissingQuotes; 4],
    );
    assert_written("[.12345678901234567890]", "[0.12345678901234567890]");
    assert_read(
        "{\"a\": 12\", \"b\": 1}",
        &json!({"a": 12, "b": 1}),
        &[MissingQuotes],
    );
}

#[test]
fn a_quote_closes_a_string_only_where_the_rest_fits() {
    for (text, value, quotes) in [
        (
            r#"{"a": "say "hi" to "x""}"#,
            json!({"a": "say \"hi\" to \"x\""}),
            4,
        ),
        (
            r#"{"a": "one", and "two", three", "b": 1}"#,
            json!({"a": "one\", and \"two\", three", "b": 1}),
            3,
        ),
        (r#"["a 24" screen", "b"]"#, json!(["a 24\" screen", "b"]), 1),
        (r#"{"ke"y": 1}"#, json!({"ke\"y": 1}), 1),
        (
            r#"{"a": "f({"b": 1, "c": [2]})", "d": 3}"#,
            json!({"a": "f({\"b\": 1, \"c\": [2]})", "d": 3}),
            4,
        ),
        (
            r#"[{"a": "the {"b": "c"}, d"}]"#,
            json!([{"a": "the {\"b\": \"c\"}, d"}]),
            4,
        ),
        (
            r#"{"html": "<a href="x">y</a>"}"#,
            json!({"html": "<a href=\"x\">y</a>"}),
            2,
        ),
    ] {
        assert_read(text, &value, &vec![UnescapedQuote; quotes]);
    }
}

#[test]
fn a_missing_closing_quote_does_not_swallow_the_rest() {
    assert_read(
        r#"{"a": "x, "b": 1}"#,
        &json!({"a": "x", "b": 1}),
        &[MissingQuotes],
    );
    assert_read(
        "{\"a\": \"x\n \"b\": 1}",
        &json!({"a": "x", "b": 1}),
        &[MissingQuotes, MissingComma],
    );
    assert_read(
        r#"{"a": {"b": "x}, "c": 1}"#,
        &json!({"a": {"b": "x"}, "c": 1}),
        &[MissingQuotes],
    );
    assert_read(r#"["a,"b"]"#, &json!(["a", "b"]), &[MissingQuotes]);
    assert_read(r#"{"a: "b"}"#, &json!({"a": "b"}), &[MissingQuotes]);
    assert_read(
        r#"{"a": {"path":"a.txt}}"#,
        &json!({"a": {"path": "a.txt"}}),
        &[MissingQuotes],
    );
    assert_read("[[\"a\n]\n]\n", &json!([["a"]]), &[MissingQuotes]);
}

#[test]
fn closers_that_belong_to_an_unclosed_string_do_not_end_it() {
    let in_string = End::InString { depth: 1 };
    assert_read_to(
        r#"{"code": "fn f() { x }"#,
        &json!({"code": "fn f() { x }"}),
        &[MissingQuotes, MissingCloser],
        in_string,
    );
    assert_read_to(
        r#"{"a": "x}}"#,
        &json!({"a": "x}}"}),
        &[MissingQuotes, MissingCloser],
        in_string,
    );
}

#[test]
fn a_text_cut_off_is_completed() {
    let open = |depth| End::Open { depth };
    let in_string = |depth| End::InString { depth };
    for (text, value, end) in [
        ("{", json!({}), open(1)),
        ("[[1, {\"a\": 2", json!([[1, {"a": 2}]]), open(3)),
        ("{\"a\"", json!({"a": null}), open(1)),
        ("{\"a\":", json!({"a": null}), open(1)),
        ("{\"a\": 1,", json!({"a": 1}), open(1)),
        ("{\"a\": tr", json!({"a": true}), open(1)),
        ("[1, -", json!([1]), open(1)),
        ("[1.", json!([1.0]), open(1)),
        ("{\"a", json!({"a": null}), in_string(1)),
        ("{\"a\": \"x y ", json!({"a": "x y "}), in_string(1)),
        ("[\"x\\", json!(["x"]), in_string(1)),
        ("[\"x\\u00e", json!(["x"]), in_string(1)),
        ("[\"x\\ud83d\\u", json!(["x"]), in_string(1)),
        ("\"x", json!("x"), in_string(0)),
        ("```json\n{\"a\": [1", json!({"a": [1]}), open(2)),
    ] {
        let repaired = read(text);
        assert_eq!(
            serde_json::from_str::<Value>(&repaired.json).unwrap(),
            value,
            "{text}"
        );
        assert_eq!(repaired.end, end, "{text}");
        assert!(!repaired.fixes.is_empty(), "{text}");
    }
}

#[test]
fn closers_are_added_dropped_and_exchanged() {
    assert_read(
        "[{\"a\": [1}, {\"b\": 2}]",
        &json!([{"a": [1]}, {"b": 2}]),
        &[MissingCloser],
    );
    assert_read(
        "{\"a\": [1, 2}, \"b\": 3}",
        &json!({"a": [1, 2], "b": 3}),
        &[ExtraCloser],
    );
    assert_read("{\"a\": 1]", &json!({"a": 1}), &[ExtraCloser]);
    assert_read("{\"a\": 1}}]", &json!({"a": 1}), &[ExtraCloser; 2]);
    assert_read(
        "[{\"a\": 1}}, {\"b\": 2}]",
        &json!([{"a": 1}, {"b": 2}]),
        &[ExtraCloser],
    );
    assert_read(
        "{\"a\": 1}, \"b\": 2}",
        &json!({"a": 1, "b": 2}),
        &[ExtraCloser],
    );
    assert_read(
        "[{\"a\": 1 {\"a\": 2}]",
        &json!([{"a": 1}, {"a": 2}]),
        &[MissingCloser, MissingComma],
    );
    assert_read("{{\"a\": 1}}", &json!({"a": 1}), &[ExtraCloser; 2]);
    assert_read(
        "{\"a\": [1, \"b\": 2}",
        &json!({"a": [1], "b": 2}),
        &[MissingCloser],
    );
    assert_read(
        r#"{"name": "f", "args": "a": "x", "b": 1}}"#,
        &json!({"name": "f", "args": {"a": "x", "b": 1}}),
        &[MissingCloser],
    );
    assert_read(
        "[{\"a\": 1}, \"a\": 2}]",
        &json!([{"a": 1}, {"a": 2}]),
        &[MissingCloser],
    );
    assert_read("[\"a\": 1}]", &json!([{"a": 1}]), &[MissingCloser]);
    assert_read_to(
        "\"a\": 1, \"b\": 2",
        &json!({"a": 1, "b": 2}),
        &[MissingCloser; 2],
        End::Open { depth: 1 },
    );
}

#[test]
fn ellipses_are_dropped() {
    assert_read(
        "[1, ..., 3, ...]",
        &json!([1, 3]),
        &[Ellipsis, ExtraComma, Ellipsis, ExtraComma],
    );
    assert_read("{\"a\": 1, …}", &json!({"a": 1}), &[Ellipsis, ExtraComma]);
}

#[test]
fn what_stands_around_the_value_is_left_out() {
    assert_read(
        "Sure! Here it is:\n{\"a\": 1}\nHope it [helps].",
        &json!({"a": 1}),
        &[SurroundingText; 2],
    );
    assert_read(
        "```json\n{\"a\": 1}\n```\n",
        &json!({"a": 1}),
        &[SurroundingText; 2],
    );
    assert_read(
        "As in [1], use {\"a\": [2]}",
        &json!({"a": [2]}),
        &[SurroundingText],
    );
    assert_read(
        "callback({\"a\": 1});",
        &json!({"a": 1}),
        &[SurroundingText; 2],
    );
    assert_read(
        "{\"id\": ObjectId(\"1\")}",
        &json!({"id": "1"}),
        &[SurroundingText],
    );
    assert_read(
        "\u{feff}{\"a\":\u{a0}1}",
        &json!({"a": 1}),
        &[SurroundingText; 2],
    );
}

#[test]
fn strings_and_values_are_joined() {
    assert_read(
        "{\"a\": \"x\" + 'y' +\n \"z\"}",
        &json!({"a": "xyz"}),
        &[Joined, Joined],
    );
    assert_read(
        "{\"a\": 1}\n{\"a\": 2}\n",
        &json!([{"a": 1}, {"a": 2}]),
        &[Joined],
    );
    assert_read("1, 2", &json!([1, 2]), &[Joined]);
    assert_read(
        "```json\n[1]\n```\nor\n```json\n[2]\n```",
        &json!([[1], [2]]),
        &[
            SurroundingText,
            SurroundingText,
            SurroundingText,
            SurroundingText,
            Joined,
            SurroundingText,
        ],
    );
}

#[test]
fn an_array_goes_on_behind_its_closer() {
    for (text, value) in [
        (r#"{"a": ["x"], ["y"]}"#, json!({"a": ["x", "y"]})),
        (r#"{"a": [], ["y"]}"#, json!({"a": ["y"]})),
        (r#"{"a": [ ] ["y"], "b": 1}"#, json!({"a": ["y"], "b": 1})),
        (r#"{"a": [], []}"#, json!({"a": []})),
        (r#"{"a": [[]], ["y"]}"#, json!({"a": [[], "y"]})),
    ] {
        let repaired = repair(text).unwrap();
        let read: Value = serde_json::from_str(&repaired.json).unwrap();
        assert_eq!(read, value, "{text}");
    }
}

#[test]
fn tuples_and_sets_are_arrays() {
    assert_read("(1, 2)", &json!([1, 2]), &[SurroundingText]);
    assert_read(
        "{\"a\": (1, (2)), \"b\": ()}",
        &json!({"a": [1, 2], "b": []}),
        &[SurroundingText; 3],
    );
    assert_read("{\"a\", \"b\"}", &json!(["a", "b"]), &[ExtraCloser]);
}

#[test]
fn what_is_no_json_is_refused() {
    assert_eq!(repair(" \n"), Err(RepairError::Empty));
    assert_eq!(
        repair("  }-;"),
        Err(RepairError::NotJson {
            found: "}-;".to_owned(),
            at: 2
        })
    );
}

#[test]
fn nesting_is_limited() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(read(&nested(MAX_DEPTH)).fixes, []);
    assert_eq!(
        repair(&nested(MAX_DEPTH + 1)),
        Err(RepairError::TooDeep { at: MAX_DEPTH })
    );
    assert!(matches!(
        repair(&"[".repeat(1 << 20)),
        Err(RepairError::TooDeep { .. })
    ));
    assert!(matches!(
        repair(&format!("{},1", nested(MAX_DEPTH))),
        Err(RepairError::TooDeep { .. })
    ));
}

#[test]
fn the_list_of_fixes_is_bounded() {
    let repaired = read(&format!("[{}]", "True,".repeat(1000)));
    assert_eq!(repaired.fixes.len(), MAX_FIXES);
    assert_eq!(repaired.json.matches("true").count(), 1000);
}

#[test]
fn a_fault_far_behind_valid_text_is_mended_like_one_at_the_beginning() {
    let rows = r#"{"a": "x, \"y\"", "b": [1, {"c": null}]}, "#.repeat(500);
    let repaired = read(&format!(
        "{{\"rows\": [{rows}{{'d': \"say \"hi\"\"}}], \"e\": 1"
    ));
    let value: Value = serde_json::from_str(&repaired.json).unwrap();
    assert_eq!(value["rows"].as_array().unwrap().len(), 501);
    assert_eq!(value["rows"][500], json!({"d": "say \"hi\""}));
    assert_eq!(value["e"], json!(1));
    assert!(repaired.json.starts_with(&format!("{{\"rows\": [{rows}")));
    assert_eq!(repaired.end, End::Open { depth: 1 });
}
