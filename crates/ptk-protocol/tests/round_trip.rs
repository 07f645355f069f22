//! Whatever the formatter writes, the parser reads back as the same call.

#![allow(
    clippy::unwrap_used,
    reason = "the lints allow it in tests, but not in what tests share"
)]

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use ptk_protocol::dialects::Registry;
use ptk_protocol::invariants::vocabulary;
use ptk_protocol::schema::{Schema, coerce_text};
use ptk_protocol::{
    Arguments, Formatter, Grammar, PtkFormatter, Status, ToolCall, ToolSpec, Toolset, parse,
};
use serde_json::{Map, Number, Value, json};

/// Text that is hard to carry: marks, quotes, escapes, any Unicode.
fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        4 => select(vocabulary()).prop_map(str::to_owned),
        2 => any::<String>(),
        2 => "[ -~]{0,20}",
        1 => select(&["null", "true", "42", "1.10", "007", "-", "~", "", " ", "\t", "EOF", "EOF2", "# x", "a: b"][..])
            .prop_map(str::to_owned),
    ];
    vec(word, 0..6).prop_map(|words| words.concat())
}

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter_map("finite", Number::from_f64)
            .prop_map(Value::Number),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number(),
        text().prop_map(Value::String),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::Array),
            vec((text(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A parameter: its schema and a value that the schema allows.
fn parameter() -> impl Strategy<Value = (Value, Value)> {
    prop_oneof![
        4 => text().prop_map(|text| (json!({"type": "string"}), Value::String(text))),
        1 => any::<i64>().prop_map(|number| (json!({"type": "integer"}), json!(number))),
        1 => number().prop_map(|number| (json!({"type": "number"}), number)),
        1 => any::<bool>().prop_map(|truth| (json!({"type": "boolean"}), json!(truth))),
        1 => vec(text(), 0..4).prop_map(|list| (json!({"type": "array", "items": {"type": "string"}}), json!(list))),
        1 => vec((text(), any_value()), 0..4).prop_map(|members| {
            (json!({"type": "object"}), Value::Object(members.into_iter().collect()))
        }),
        1 => prop_oneof![Just(Value::Null), text().prop_map(Value::String)]
            .prop_map(|value| (json!({"type": ["string", "null"]}), value)),
        1 => prop_oneof![any::<i64>().prop_map(Value::from), text().prop_map(Value::String)]
            .prop_map(|value| (json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}), value)),
        1 => any_value().prop_map(|value| (json!({}), value)),
    ]
}

#[derive(Debug, Clone)]
struct Case {
    tools: Toolset,
    calls: Vec<ToolCall>,
}

fn tool_name() -> impl Strategy<Value = String> {
    "[a-z][a-zA-Z0-9_.-]{0,14}"
}

fn parameter_name() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a-z_][a-z0-9_]{0,8}", 1 => "[ -~]{1,6}", 1 => any::<String>()]
}

/// Tools, and calls that fit them.
fn case() -> impl Strategy<Value = Case> {
    let parameters = vec((parameter_name(), parameter()), 0..5);
    let reasoning = proptest::option::of(text());
    vec((tool_name(), parameters, reasoning), 1..4).prop_map(|specs| {
        let mut tools: Vec<ToolSpec> = Vec::new();
        let mut calls = Vec::new();
        for (name, parameters, reasoning) in specs {
            if tools.iter().any(|tool| tool.name == name) {
                continue;
            }
            let mut properties = Map::new();
            let mut args = Map::new();
            for (key, (schema, value)) in parameters {
                properties.insert(key.clone(), schema);
                args.insert(key, value);
            }
            let schema = json!({"type": "object", "properties": properties});
            tools.push(ToolSpec::new(name.clone(), "Does it", schema));
            let mut call = ToolCall::new(name, Arguments::from(args));
            call.reasoning = reasoning;
            calls.push(call);
        }
        Case {
            tools: Toolset::new(tools).unwrap(),
            calls,
        }
    })
}

/// Dialects that write values without saying of which type they are: the
/// tool's schema says it.
const RAW: &[&str] = &[
    "glm",
    "hunyuan-v3",
    "iquest-q1",
    "qwen3-coder",
    "mimo",
    "seed-oss",
    "minimax-m2",
    "minimax-m3",
    "dots",
    "muse-glimmer",
    "step3",
    "invoke",
    "beam",
    "minicpm5",
    "bfcl-xml",
];

/// Whether every value is what its schema makes of it when it stands raw.
fn is_typed_by_schema(case: &Case) -> bool {
    case.calls.iter().all(|call| {
        let tool = case.tools.get(&call.name).unwrap();
        let schema = Schema::new(&tool.parameters);
        call.args.as_map().iter().all(|(key, value)| {
            let raw = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            coerce_text(&raw, schema.property(key)).to_json() == *value
        })
    })
}

/// Whether the form has a place for the model's reason.
fn carries_reasons(dialect: &str) -> bool {
    let registry = Registry::builtin();
    let writer = registry.get(dialect).unwrap().writer();
    writer.is_some_and(|writer| !writer.reasoning_rule().is_empty())
}

fn formatters() -> Vec<(String, PtkFormatter)> {
    Registry::builtin()
        .all()
        .iter()
        .filter_map(|dialect| {
            let formatter = PtkFormatter::new(dialect.clone()).ok()?;
            Some((dialect.name().to_owned(), formatter))
        })
        .collect()
}

fn check(case: &Case, dialect: &str, grammar: &Grammar, written: &str) {
    let reply = parse(written, grammar);
    let told = format!("{dialect}: {written:?}\n{reply:?}");
    assert_eq!(reply.calls.len(), case.calls.len(), "{told}");
    for (found, meant) in reply.calls.iter().zip(&case.calls) {
        assert_eq!(found.status, Status::Complete, "{told}");
        assert_eq!(found.call.name, meant.name, "{told}");
        let json = Arguments::from_json(&meant.args.to_json()).unwrap();
        assert_eq!(found.call.args.as_map(), json.as_map(), "{told}");
        if carries_reasons(dialect) {
            assert_eq!(found.call.reasoning, meant.reasoning, "{told}");
        }
        assert!(found.is_runnable(), "{told}");
    }
    assert!(reply.problems.is_empty(), "{told}");
    assert_eq!(reply.text.trim(), "", "{told}");
}

/// `PROPTEST_CASES` asks for another number of cases.
fn config() -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok();
    let cases = asked.and_then(|cases| cases.parse().ok()).unwrap_or(400);
    ProptestConfig::with_cases(cases)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_is_written_is_read_back_in_every_dialect(case in case()) {
        let auto = Grammar::auto(case.tools.clone()).unwrap();
        for (name, formatter) in formatters() {
            if RAW.contains(&&*name) && !is_typed_by_schema(&case) {
                continue;
            }
            let written = formatter.tool_calls(&case.calls);
            check(&case, &name, &auto, &written);
            let fixed = Grammar::builder()
                .tools(case.tools.clone())
                .dialect(name.clone())
                .build()
                .unwrap();
            check(&case, &name, &fixed, &written);
        }
    }
}
