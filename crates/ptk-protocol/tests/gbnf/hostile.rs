//! Tools with hostile or useless schemas.

use ptk_protocol::ToolSpec;
use ptk_protocol::gbnf::{Gbnf, MAX_SIZE};
use serde_json::{Map, Value, json};

use crate::{
    assert_no_call_lost, assert_one_call, assert_valid, dialect, dialects_with, dice, tool, toolset,
};

/// The grammar of one tool, sampled a few times.
fn tried(parameters: Value) -> Gbnf {
    let spec = tool("act", parameters);
    let grammar = Gbnf::of_arguments(&spec);
    assert!(grammar.to_string().len() <= MAX_SIZE);
    let tools = toolset([spec]);
    if grammar.outside().is_empty() {
        let mut dice = dice(11);
        for _ in 0..50 {
            assert_valid(&tools, "act", &dice.sample(&grammar));
        }
    }
    grammar
}

#[test]
fn without_tools_there_are_only_words() {
    let none = toolset([]);
    for form in dialects_with(Gbnf::of_reply) {
        assert_eq!(Gbnf::of_call(&none, &form), None);
        let grammar = Gbnf::of_reply(&none, &form).unwrap();
        let mut dice = dice(3);
        for _ in 0..50 {
            let calls = assert_no_call_lost(&none, &form, &dice.sample(&grammar));
            assert_eq!(calls, 0);
        }
    }
}

#[test]
fn names_of_any_kind_are_written_or_named() {
    let names = [
        "say \"hi\"",
        "naïve",
        "two\nlines",
        "tab\t",
        "\\",
        "<PTK_CALL>",
        "</tool_call>",
        "名前",
        "{\"ptk\":0}",
        "a/b:c.d-e$f",
        "\u{0}",
        "]",
        "--",
        "ends with space ",
    ];
    let specs = names.map(|name| tool(name, json!({"type": "object"})));
    let tools = toolset(specs.clone());
    for form in dialects_with(Gbnf::of_call) {
        for spec in &specs {
            let one = toolset([spec.clone()]);
            if let Some(grammar) = Gbnf::of_call(&one, &form) {
                assert_eq!(grammar.outside(), [], "{}: {}", form.name(), spec.name);
                let mut dice = dice(5);
                for _ in 0..5 {
                    assert_one_call(&one, &form, &dice.sample(&grammar));
                }
            }
        }
        let all = Gbnf::of_call(&tools, &form).unwrap();
        assert!(
            all.outside()
                .iter()
                .all(|outside| outside.keyword == "name")
        );
    }
    // In JSON any name can stand, but for the one that stands for arguments.
    let ptk = Gbnf::of_call(&tools, &dialect("ptk")).unwrap();
    let left_out: Vec<&str> = ptk
        .outside()
        .iter()
        .map(|outside| outside.tool.as_str())
        .collect();
    assert_eq!(left_out, [""; 0]);
}

#[test]
fn values_and_keys_of_any_kind_are_written() {
    let words = [
        "\"",
        "\\",
        "\n",
        "\u{0}\u{1f}\u{7f}",
        "</PTK_CALL>",
        "^-]",
        "é\u{2028}",
        "\u{feff}",
    ];
    let properties: Map<String, Value> = words
        .iter()
        .map(|word| ((*word).to_owned(), json!({"enum": words})))
        .collect();
    let grammar = tried(json!({"type": "object", "properties": properties, "required": words}));
    assert_eq!(grammar.outside(), []);
    assert!(grammar.to_string().is_ascii() || grammar.to_string().contains('é'));
    assert!(
        !grammar
            .to_string()
            .contains(['\u{0}', '\u{7f}', '\u{2028}', '\u{feff}'])
    );
}

#[test]
fn a_schema_may_be_true_or_false_or_nonsense() {
    assert_eq!(tried(json!(true)).outside(), []);
    assert_eq!(tried(json!({})).outside(), []);
    for (schema, keyword) in [
        (json!(false), "false"),
        (json!({"type": "string"}), "false"),
        (
            json!({"type": "object", "required": ["a"], "properties": {"a": false}}),
            "false",
        ),
        (
            json!({"type": "object", "required": ["a"], "additionalProperties": false}),
            "false",
        ),
        (json!({"$ref": "#"}), "false"),
        (json!("nonsense"), "type"),
        (json!(null), "type"),
    ] {
        let grammar = tried(schema.clone());
        let keywords: Vec<&str> = grammar
            .outside()
            .iter()
            .map(|outside| outside.keyword.as_str())
            .collect();
        assert_eq!(keywords, [keyword], "{schema}");
    }
    // A tool that cannot be called is left out, and does not affect the others.
    let never = tool("never", json!(false));
    let tools = toolset([never.clone(), tool("now", json!({"type": "object"}))]);
    let grammar = Gbnf::of_call(&tools, &dialect("ptk")).unwrap();
    assert!(!grammar.to_string().contains("never"));
    assert_eq!(grammar.outside()[0].to_string(), "never: `false` at ");
    assert_eq!(Gbnf::of_call(&toolset([never]), &dialect("ptk")), None);
}

#[test]
fn schemas_that_refer_to_themselves_end() {
    let tree = json!({"type": "object", "properties": {"tree": {"$ref": "#/$defs/tree"}}, "$defs": {"tree": {
        "type": "object", "properties": {"left": {"$ref": "#/$defs/tree"}, "right": {"$ref": "#/$defs/tree"}},
    }}});
    assert_eq!(tried(tree).outside(), []);
    let forest = json!({"type": "object", "required": ["n"], "properties": {"n": {"$ref": "#/$defs/a"}}, "$defs": {
        "a": {"anyOf": [{"$ref": "#/$defs/b"}, {"type": "integer"}]},
        "b": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "array", "items": {"$ref": "#/$defs/a"}}]},
    }});
    assert_eq!(Gbnf::of_arguments(&tool("act", forest)).outside(), []);
    // Each needs another one within: no value is ever whole.
    let endless =
        json!({"type": "object", "required": ["more"], "properties": {"more": {"$ref": "#"}}});
    assert_eq!(tried(endless).outside()[0].keyword, "false");
}

#[test]
fn whatever_is_enormous_stays_bounded() {
    let values: Vec<String> = (0..200_000)
        .map(|number| format!("value {number}"))
        .collect();
    let members = |count: usize| -> Map<String, Value> {
        let names =
            (0..count).map(|number| (format!("member_{number}"), json!({"type": "string"})));
        names.collect()
    };
    let branches: Vec<Value> = (0..50_000).map(|number| json!({"const": number})).collect();
    let deep = (0..100).fold(
        json!({"type": "string"}),
        |inner, _| json!({"type": "array", "items": inner}),
    );
    let long = "x".repeat(2 * MAX_SIZE);
    for (schema, keyword) in [
        (json!({"enum": values}), "enum"),
        (json!({"const": long}), "enum"),
        (
            json!({"type": "object", "properties": members(50_000)}),
            "size",
        ),
        (json!({"anyOf": branches}), "anyOf"),
        (
            json!({"type": "array", "prefixItems": branches}),
            "prefixItems",
        ),
        (deep, "depth"),
        (
            json!({"type": "string", "minLength": u64::MAX}),
            "minLength",
        ),
        (json!({"type": "array", "maxItems": 1e300}), "maxItems"),
        (json!({"type": "integer", "minimum": 1e300}), "minimum"),
    ] {
        let grammar = tried(json!({"type": "object", "properties": {"x": schema}}));
        assert_eq!(grammar.outside()[0].keyword, keyword);
    }
    let kept = tried(json!({"type": "object", "properties": members(500)}));
    assert_eq!(kept.outside(), []);
}

#[test]
fn five_hundred_tools_fit_and_too_many_have_no_grammar() {
    let many = |count: usize| {
        let parameters = json!({"type": "object", "required": ["path"], "properties": {
            "path": {"type": "string", "description": "A path"},
            "lines": {"type": "integer", "minimum": 1, "maximum": 2000},
            "mode": {"enum": ["replace", "append", "create"]},
        }});
        let specs = (0..count)
            .map(|number| ToolSpec::new(format!("tool_{number}"), "", parameters.clone()));
        toolset(specs)
    };
    let tools = many(500);
    let form = dialect("ptk");
    let grammar = Gbnf::of_reply(&tools, &form).unwrap();
    assert_eq!(grammar.outside(), []);
    assert!(grammar.to_string().len() <= MAX_SIZE);
    assert!(grammar.structural_tag().unwrap().to_string().len() <= 2 * MAX_SIZE);
    assert!(grammar.lark().unwrap().len() <= MAX_SIZE);
    let mut dice = dice(17);
    for _ in 0..20 {
        assert_no_call_lost(&tools, &form, &dice.sample(&grammar));
    }
    assert_eq!(Gbnf::of_call(&many(20_000), &form), None);
}
