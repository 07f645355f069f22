//! Checks and coercion through the crate's public API.

#![allow(
    clippy::unwrap_used,
    clippy::string_slice,
    reason = "the lints allow these in tests, but not in what tests share"
)]

use proptest::prelude::*;
use ptk_protocol::schema::{
    CheckOptions, check, check_with, validate, validate_call, validate_json_call,
};
use ptk_protocol::{Arguments, ErrorCode, ProblemCode, Span, ToolCall, ToolSpec, Toolset};
use serde_json::{Value, json};

fn one(parameters: Value) -> Toolset {
    Toolset::new([ToolSpec::new("work", "Do the work at hand", parameters)]).unwrap()
}

/// Checks `{"x": value}` against a schema for `x`.
fn coerced(schema: &Value, value: &str) -> String {
    let tools = one(
        json!({"type": "object", "properties": {"x": schema}, "$defs": {
            "count": {"type": "integer"},
            "names": {"type": "array", "items": {"type": "string"}},
        }}),
    );
    let args = Arguments::from_json(&format!(r#"{{"x":{value}}}"#)).unwrap();
    let json = check(&tools, "work", args).args.to_json();
    json[5..json.len() - 1].to_owned()
}

#[test]
fn values_take_the_type_that_the_schema_asks_for() {
    let integer = json!({"type": "integer"});
    let number = json!({"type": "number"});
    let string = json!({"type": "string"});
    let strings = json!({"type": "array", "items": {"type": "string"}});
    let maybe = json!({"anyOf": [{"type": "integer"}, {"type": "null"}]});
    for (schema, written, read) in [
        (&integer, r#""5""#, "5"),
        (&integer, "5.0", "5"),
        (&integer, "-0.0", "0"),
        (
            &integer,
            r#""123456789012345678901234567890""#,
            "123456789012345678901234567890",
        ),
        (&integer, r#""007""#, r#""007""#),
        (&integer, r#""5 apples""#, r#""5 apples""#),
        (&integer, "5.5", "5.5"),
        (&number, r#""1.5e3""#, "1.5e3"),
        (&number, "5.0", "5.0"),
        (&number, r#""NaN""#, r#""NaN""#),
        (&json!({"type": "boolean"}), r#""true""#, "true"),
        (&json!({"type": "boolean"}), r#""False""#, "false"),
        (&json!({"type": "boolean"}), r#""yes""#, r#""yes""#),
        (&json!({"type": "boolean"}), "1", "1"),
        (&string, "1.10", r#""1.10""#),
        (
            &string,
            "12345678901234567890123",
            r#""12345678901234567890123""#,
        ),
        (&string, "true", "true"),
        (&string, r#""null""#, r#""null""#),
        (
            &json!({"type": ["string", "null"]}),
            r#""null""#,
            r#""null""#,
        ),
        (&maybe, r#""null""#, "null"),
        (&maybe, r#""5""#, "5"),
        (
            &json!({"type": "integer", "nullable": true}),
            r#""null""#,
            "null",
        ),
        (&json!({"type": ["integer", "string"]}), r#""5""#, r#""5""#),
        (&strings, r#""a""#, r#"["a"]"#),
        (&strings, r#""[\"a\", 2]""#, r#"["a","2"]"#),
        (&strings, "[1, 2.50]", r#"["1","2.50"]"#),
        (&strings, r#""[id].tsx""#, r#"["[id].tsx"]"#),
        (&strings, r#""[a-z]+""#, r#"["[a-z]+"]"#),
        (&strings, r#""[^\"]*""#, r#"["[^\"]*"]"#),
        (&strings, r#""[it's]""#, r#"["[it's]"]"#),
        (&strings, r#""[\"a\", \"b""#, r#""[\"a\", \"b""#),
        (&strings, r#""[\"a]\", \"b\"""#, r#""[\"a]\", \"b\"""#),
        (&strings, r#""[[a]""#, r#""[[a]""#),
        (&strings, r#""[\"a\" \"b\"]""#, r#""[\"a\" \"b\"]""#),
        (&strings, r#""['a', 'b']""#, r#""['a', 'b']""#),
        (&strings, "null", "null"),
        (
            &json!({"type": "array", "items": {"type": "integer"}}),
            r#""x""#,
            r#""x""#,
        ),
        (&json!({"type": "object"}), r#""{\"a\": 1}""#, r#"{"a":1}"#),
        (&json!({"$ref": "#/$defs/count"}), r#""7""#, "7"),
        (&json!({"$ref": "#/$defs/names"}), r#""7""#, r#"["7"]"#),
        (
            &json!({"allOf": [{"type": "integer"}, {"minimum": 1}]}),
            r#""7""#,
            "7",
        ),
        (&json!({"enum": [1, 2]}), r#""2""#, "2"),
        (&json!({"enum": ["1", "2"]}), "2", r#""2""#),
        (&json!({"const": true}), r#""true""#, "true"),
        (
            &json!({"oneOf": [
                {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
                {"type": "object", "properties": {"s": {"type": "string"}}, "required": ["s"]},
            ]}),
            r#"{"s": 5}"#,
            r#"{"s":"5"}"#,
        ),
        (
            &json!({"type": "array", "items": {"type": "object", "properties": {
                "line": {"type": "integer"},
            }}}),
            r#"[{"line": "3", "more": "4"}]"#,
            r#"[{"line":3,"more":"4"}]"#,
        ),
    ] {
        assert_eq!(coerced(schema, written), read, "{written} under {schema}");
    }
}

#[test]
fn numbers_beyond_64_bits_survive_a_coercion_beside_them() {
    let tools = one(json!({"type": "object", "properties": {
        "id": {"type": "integer"}, "n": {"type": "integer"},
    }}));
    let args = Arguments::from_json(r#"{"id":123456789012345678901234567890,"n":"1"}"#).unwrap();
    let check = check(&tools, "work", args);
    assert_eq!(
        check.args.to_json(),
        r#"{"id":123456789012345678901234567890,"n":1}"#
    );
    assert_eq!(check.coercions.len(), 1);
    assert_eq!(check.coercions[0].to_string(), "n: string read as number");
}

fn messages(parameters: Value, args: &Value) -> Vec<String> {
    let args = args.as_object().unwrap().clone();
    let check = check(&one(parameters), "work", args.into());
    check
        .faults
        .into_iter()
        .map(|fault| fault.message)
        .collect()
}

#[test]
fn all_faults_are_found_at_once() {
    let parameters = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "lines": {"type": "number"},
            "mode": {"enum": ["read", "write"]},
            "names": {"type": "array", "items": {"type": "string"}},
            "edits": {"type": "array", "items": {
                "type": "object",
                "properties": {"old": {"type": "string"}, "at": {"type": "integer"}},
                "required": ["old"],
            }},
            "when": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "size": {"type": "integer", "maximum": 10},
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    let args = json!({
        "lines": "many", "mode": "raed", "names": ["a", true], "edits": [{"at": "x"}],
        "when": "soon", "size": 11, "paths": "a",
    });
    insta::assert_snapshot!(messages(parameters, &args).join("\n"), @r#"
    Missing required parameter 'path' for work
    Invalid type for parameter 'lines' in work: Expected number, got string
    Invalid value for parameter 'mode' in work: Expected one of "read", "write"; got "raed"
    Invalid type for parameter 'names' in work: Array item 1: Expected string, got boolean
    Invalid value for parameter 'edits' in work: Array item 0: Missing required property 'old'
    Invalid type for parameter 'edits' in work: Array item 0: Property 'at': Expected integer, got string
    Invalid type for parameter 'when' in work: Expected integer or null, got string
    Invalid value for parameter 'size' in work: the value is greater than the maximum of 10
    Unknown parameter 'paths' for work
    "#);
}

#[test]
fn of_several_alternatives_the_nearest_is_explained() {
    let parameters = json!({"type": "object", "properties": {"target": {"anyOf": [
        {"type": "string"},
        {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
    ]}}});
    assert_eq!(
        messages(parameters, &json!({"target": {"name": "a"}})),
        ["Invalid value for parameter 'target' in work: Missing required property 'id'"]
    );
}

fn files() -> Toolset {
    let path = json!({"type": "string", "description": "Path of the file"});
    let parameters = json!({"type": "object", "properties": {"path": path}, "required": ["path"]});
    Toolset::new([
        ToolSpec::new(
            "read_file",
            "Read the content of a file",
            parameters.clone(),
        ),
        ToolSpec::new("delete_file", "Delete a file for good", parameters),
    ])
    .unwrap()
}

/// One finding, the protocol's phrase and the tool validator's message.
#[test]
fn a_missing_parameter_has_both_phrasings_and_an_example() {
    let check = check(&files(), "read_file", Arguments::new());
    let fault = &check.faults[0];
    assert_eq!(
        fault.message,
        "Missing required parameter 'path' for read_file"
    );
    assert_eq!(fault.phrase, "Missing required parameter: path");
    assert_eq!(
        fault.suggestion().unwrap(),
        r#"Example: read_file(path="src/main.rs")"#
    );
    let problems = check.problems(Span::new(3, 9));
    assert_eq!(problems[0].code, ProblemCode::MissingParameter);
    assert_eq!(problems[0].message, "Missing required parameter: path");
    assert_eq!(problems[0].span, Span::new(3, 9));
}

#[test]
fn a_misspelt_parameter_is_named_beside_the_missing_one() {
    let args = Arguments::from_json(r#"{"file_path": "a"}"#).unwrap();
    let check = check(&files(), "read_file", args);
    assert_eq!(
        check.problems(Span::default())[0].message,
        "Missing required parameter: path. You wrote 'file_path'; the name is 'path'."
    );
}

/// Names are exact; a near miss is not run but answered.
#[test]
fn an_unknown_tool_is_answered_with_the_known_ones_and_the_near_one() {
    for name in ["ReadFile", "read-file", "functions.read_file", "READ_FILE"] {
        let check = check(&files(), name, Arguments::new());
        assert_eq!(
            check.problems(Span::default())[0].message,
            format!(
                "Unknown tool: {name}. Available tools: read_file, delete_file. \
                 Did you mean `read_file`?"
            )
        );
    }
    let none = check(&Toolset::default(), "x", Arguments::new());
    assert_eq!(
        none.problems(Span::default())[0].message,
        "Unknown tool: x. No tools are available."
    );
}

/// The structural check and the full one.
#[test]
fn validation_says_what_is_wrong() {
    for (call, error) in [
        (json!({"tool": "read_file", "args": {"path": "a"}}), None),
        (json!({"args": {}}), Some("Missing or invalid tool name")),
        (
            json!({"tool": 5, "args": {}}),
            Some("Missing or invalid tool name"),
        ),
        (
            json!({"tool": "read_file"}),
            Some("Missing or invalid args"),
        ),
        (
            json!({"tool": "read_file", "args": "a"}),
            Some("Missing or invalid args"),
        ),
        (
            json!({"tool": "read_file", "args": [1]}),
            Some("args cannot be an array"),
        ),
        (
            json!({}),
            Some("Missing or invalid tool name; Missing or invalid args"),
        ),
    ] {
        assert_eq!(validate(&call).error().as_deref(), error, "{call}");
        assert_eq!(
            validate_json_call(&call, &files()).error().as_deref(),
            error,
            "{call}"
        );
    }
    let unknown = validate_call(&ToolCall::new("fly", Arguments::new()), &files());
    assert_eq!(unknown.error().as_deref(), Some("Unknown tool: fly"));
    assert_eq!(unknown.code(), Some(ErrorCode::ToolNotFound));
    let missing = validate_call(&ToolCall::new("read_file", Arguments::new()), &files());
    assert_eq!(
        missing.error().as_deref(),
        Some("Missing required parameter: path")
    );
    assert_eq!(missing.code(), Some(ErrorCode::InvalidToolCall));
}

/// Defaults are inserted only where that is asked for; parameters that
/// the tool does not declare are allowed.
#[test]
fn defaults_are_inserted_on_request() {
    let tools = one(
        json!({"type": "object", "required": ["limit"], "properties": {
            "limit": {"type": "integer", "default": 10},
            "options": {"type": "object", "properties": {"deep": {"default": false}}},
        }}),
    );
    let args = Arguments::from_json(r#"{"options":{},"extra":1}"#).unwrap();
    let plain = check(&tools, "work", args.clone());
    assert_eq!(plain.args, args);
    assert_eq!(plain.faults.len(), 1);
    let filled = check_with(
        CheckOptions::default().with_defaults(),
        &tools,
        "work",
        args,
    );
    assert_eq!(
        filled.args.to_json(),
        r#"{"options":{"deep":false},"extra":1,"limit":10}"#
    );
    assert!(filled.is_valid());
}

#[test]
fn a_tool_with_an_invalid_schema_stays_usable() {
    let tools = one(json!({
        "type": "object",
        "properties": {"x": {"type": "string", "pattern": "("}, "n": {"type": "integer"}},
        "required": ["x"],
    }));
    let args = Arguments::from_json(r#"{"x": "a", "n": "1"}"#).unwrap();
    let good = check(&tools, "work", args);
    assert!(good.is_valid());
    assert_eq!(good.args.to_json(), r#"{"x":"a","n":1}"#);
    assert_eq!(check(&tools, "work", Arguments::new()).faults.len(), 1);
    assert!(!tools.get("work").unwrap().lint().is_empty());
}

#[test]
fn circles_and_deep_nesting_end() {
    let tools = one(json!({"type": "object", "properties": {
        "a": {"$ref": "#/properties/a"},
        "b": {"anyOf": [{"$ref": "#/properties/b"}, {"type": "integer"}]},
        "c": {"type": "array"},
        "d": {"$ref": "#"},
    }}));
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let nested = r#"{"d":"#.repeat(60) + "{}" + &"}".repeat(60);
    for args in [
        json!({"a": "5"}),
        json!({"b": "5"}),
        json!({"c": deep}),
        serde_json::from_str(&nested).unwrap(),
    ] {
        let _ = check(&tools, "work", args.as_object().unwrap().clone().into());
    }
    assert_eq!(
        coerced(&json!({"type": "integer"}), &format!("{:?}", "[".repeat(9))),
        format!("{:?}", "[".repeat(9))
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "(null|true|5|5\\.0|\\[1\\]|[a-z]{0,3})".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::hash_map("[ab]", inner, 0..3)
                .prop_map(|map| map.into_iter().collect::<Value>()),
        ]
    })
}

fn any_schema() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec![
        "string", "integer", "number", "boolean", "null", "array", "object",
    ]);
    let leaf = name.prop_map(|name| json!({"type": name}));
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner
                .clone()
                .prop_map(|items| json!({"type": "array", "items": items})),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|all| json!({"anyOf": all})),
            inner.prop_map(|a| json!({"type": "object", "properties": {"a": a}})),
        ]
    })
}

proptest! {
    /// Valid values are never altered, except that `5.0` may become `5`; and a
    /// second check finds nothing left to coerce.
    #[test]
    fn valid_values_stay_and_coercion_settles(schema in any_schema(), value in any_json()) {
        let valid = jsonschema::is_valid(&schema, &value);
        let tools = one(json!({"type": "object", "properties": {"x": schema}}));
        let args = Arguments::from(json!({"x": value}).as_object().unwrap().clone());
        let first = check(&tools, "work", args.clone());
        if valid {
            prop_assert!(first.is_valid());
            prop_assert!(first.coercions.iter().all(|coercion| coercion.to == "integer"));
        }
        let second = check(&tools, "work", first.args.clone());
        prop_assert_eq!(&second.coercions, &[]);
        prop_assert_eq!(second.args, first.args);
    }
}
