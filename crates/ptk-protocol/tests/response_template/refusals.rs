//! What cannot be read is refused, with its place and a reason.

use ptk_protocol::dialects::response_template::ResponseTemplate;
use serde_json::{Value, json};

use super::template;

/// A template with one value replaced, by the path of keys to it.
pub(super) fn with(path: &str, value: Value) -> Value {
    let mut all = template("channel");
    let (parent, key) = path.rsplit_once('/').unwrap();
    all.pointer_mut(parent).unwrap()[key] = value;
    all
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of templates")]
fn what_cannot_be_read_is_refused_with_its_place_and_a_reason() {
    let open = "/fields/tool_calls/open_pattern";
    let calls = |key: &str| format!("/fields/tool_calls/{key}");
    let function = |function: Value| {
        with(
            "/fields/tool_calls/transform",
            json!({"function": function}),
        )
    };
    for (value, place, reason) in [
        (json!([]), "", "this is a list; it has to be an object"),
        (json!({}), "", "there is no `response_template`"),
        (
            json!({"response_template": null}),
            "",
            "there is no `response_template`",
        ),
        (json!({"fields": {}}), "", "`start_anchor` is missing"),
        (json!({"start_anchor": "<a>"}), "", "`fields` is missing"),
        (
            json!({"start_anchor": "<a>", "fields": {}}),
            ".fields",
            "0 entries; 1 to 16",
        ),
        (
            with("/version", json!(2)),
            ".version",
            "version 2 is not known",
        ),
        (
            with("/colour", json!(1)),
            "",
            "unknown key `colour`; known are version, defaults",
        ),
        (
            with("/start_anchor", json!(7)),
            ".start_anchor",
            "this is a number; it has to be a string or a list",
        ),
        (
            with("/start_anchor_pattern", json!("<a>")),
            "",
            "`start_anchor` and `start_anchor_pattern` are both given",
        ),
        (
            with("/defaults", json!([])),
            ".defaults",
            "this is a list; it has to be an object",
        ),
        (
            with("/fields/citations", json!({})),
            ".fields.citations",
            "PTK has no use for this field",
        ),
        (
            with("/fields/content", json!("text")),
            ".fields.content",
            "this is a string; it has to be an object",
        ),
        (
            with("/fields/content/content", json!("json")),
            ".fields.content.content",
            "this field is text",
        ),
        (
            with("/fields/content/close", json!("end")),
            ".fields.content.close",
            "the mark \"end\" in `close` would be found",
        ),
        (
            with("/fields/content/close", json!([])),
            ".fields.content.close",
            "0 entries",
        ),
        (
            with("/fields/content/close", json!([1])),
            ".fields.content.close[0]",
            "this is a number",
        ),
        (
            with("/fields/thinking/open_pattern", json!("<t>")),
            ".fields.thinking",
            "`open` and `open_pattern` are both given",
        ),
        (
            with("/fields/thinking/open", json!(" ")),
            ".fields.thinking.open",
            "this is empty or white space",
        ),
        (
            with("/fields/thinking/repeats", json!("yes")),
            ".fields.thinking.repeats",
            "it has to be true or false",
        ),
        (
            with("/fields/thinking", json!({"join": "x"})),
            ".fields.thinking.join",
            "`join` needs `repeats`",
        ),
        (
            with(
                "/fields/thinking",
                json!({"open_pattern": r"<\w+>", "close": "<x>"}),
            ),
            ".fields.thinking.open_pattern",
            "the pattern matches more than a few texts",
        ),
        (
            with(open, json!("(?=<a>)(?P<name>x)")),
            ".fields.tool_calls.open_pattern",
            "the look-ahead at character 1 cannot",
        ),
        (
            with(open, json!("<a>(?<!b)(?P<name>x)")),
            ".fields.tool_calls.open_pattern",
            "the look-behind at character 4 cannot",
        ),
        (
            with(open, json!(r"<(?P<name>\w+)>\1")),
            ".fields.tool_calls.open_pattern",
            "the back-reference at character 16",
        ),
        (
            with(open, json!(r"<a>\b(?P<name>x)")),
            ".fields.tool_calls.open_pattern",
            "the word boundary at character 4",
        ),
        (
            with(open, json!("<a>a++(?P<name>x)")),
            ".fields.tool_calls.open_pattern",
            "the possessive quantifier at character 6",
        ),
        (
            with(open, json!("<a>(?>b)(?P<name>x)")),
            ".fields.tool_calls.open_pattern",
            "the atomic group at character 4",
        ),
        (
            with(open, json!("<a>$(?P<name>x)")),
            ".fields.tool_calls.open_pattern",
            "`^`, `$` and word boundaries have no meaning",
        ),
        (
            with(open, json!("<a>(?P<name>x")),
            ".fields.tool_calls.open_pattern",
            "not a regular expression: ",
        ),
        (
            with(open, json!(r"\w+<a>(?P<name>x)")),
            ".fields.tool_calls.open_pattern",
            "the pattern does not begin with a fixed text",
        ),
        (
            with(open, json!("call(?P<name>x)")),
            ".fields.tool_calls.open_pattern",
            "the mark \"callx\" in `open_pattern` would be found",
        ),
        (
            with(open, json!("<a>(?P<other>x)")),
            ".fields.tool_calls",
            "`transform` uses {name}, which",
        ),
        (
            with(open, json!("x".repeat(2000))),
            ".fields.tool_calls.open_pattern",
            "2000 bytes; 1024 are the most",
        ),
        (
            with(open, json!("(".repeat(500))),
            ".fields.tool_calls.open_pattern",
            "not a regular expression: ",
        ),
        (
            with(&calls("close_pattern"), json!("<x>")),
            ".fields.tool_calls",
            "`close` and `close_pattern` are both given",
        ),
        (
            with(&calls("content"), json!("yaml")),
            ".fields.tool_calls.content",
            "unknown content \"yaml\"",
        ),
        (
            with(&calls("content"), json!("text")),
            ".fields.tool_calls.content",
            "calls are read from",
        ),
        (
            with(&calls("content"), json!("xml-inline")),
            ".fields.tool_calls",
            "`tag_pattern` is missing",
        ),
        (
            with(&calls("content_args"), json!({"quotes": 1})),
            ".fields.tool_calls.content_args",
            "unknown key `quotes`",
        ),
        (
            with(&calls("content_args"), json!({"string_delims": [["a"]]})),
            ".fields.tool_calls.content_args.string_delims[0]",
            "a pair of marks is needed",
        ),
        (
            function(json!({"name": "{name}"})),
            ".fields.tool_calls.transform.function",
            "`arguments` is missing",
        ),
        (
            function(json!("{name}")),
            ".fields.tool_calls.transform.function",
            "the call has to be {content}",
        ),
        (
            function(json!({"name": "a {name}", "arguments": "{content}"})),
            ".fields.tool_calls.transform.function.name",
            "a placeholder such as {name} has to stand here",
        ),
        (
            function(json!({"name": "{name}", "arguments": "{content.a.b}"})),
            ".fields.tool_calls.transform.function.arguments",
            "PTK finds the name and the arguments at the top",
        ),
    ] {
        let error = ResponseTemplate::from_value(&value).unwrap_err();
        assert_eq!(error.place, format!("response_template{place}"), "{error}");
        let told = error.fault.to_string();
        assert!(
            told.starts_with(reason) || told.contains(reason),
            "{reason}: {error}"
        );
    }
    let older = json!({"response_schema": {"x-regex": "a"}});
    let error = ResponseTemplate::from_value(&older).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("response_schema: this is the older"),
        "{error}"
    );
}
