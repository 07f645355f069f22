//! Schemas that would take forever, or the whole stack, if they were followed
//! as they are written. Each test here does not end, or crashes, without a
//! limit.

#![allow(
    clippy::unwrap_used,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

use std::sync::Arc;

use ptk_protocol::dialects::Registry;
use ptk_protocol::format::DefinitionStyle;
use ptk_protocol::gbnf::{self, Gbnf};
use ptk_protocol::schema::{self, Complexity, ComplexityError, Schema, example};
use ptk_protocol::{Arguments, Formatter as _, PtkFormatter, ToolSpec, Toolset};
use serde_json::{Map, Value, json};

/// Everything that is made of a schema, once.
fn use_everywhere(parameters: &Value, args: &str) {
    let spec = ToolSpec::new("tool", "A tool with a schema", parameters.clone());
    let tools = Toolset::new([spec.clone()]).unwrap();
    let _ = Complexity::of(parameters);
    let _ = spec.lint();
    let _ = example::call_text(&spec);
    let dialects = Registry::default();
    for style in [DefinitionStyle::Full, DefinitionStyle::Signature] {
        let dialect = Arc::clone(dialects.get("ptk").unwrap());
        let formatter = PtkFormatter::new(dialect).unwrap().with_style(style);
        let prompt = formatter.system_prompt(&tools);
        assert!(prompt.len() < 4 * 1024 * 1024, "{} bytes", prompt.len());
    }
    let _ = Gbnf::of_arguments(&spec);
    let _ = gbnf::call_schema(&tools);
    let checked = schema::check(&tools, "tool", Arguments::from_json(args).unwrap());
    let _ = schema::check(&tools, "tool", Arguments::from_json("{}").unwrap());
    drop(checked);
    for name in ["x", "l", "unknown"] {
        let property = Schema::new(parameters).property(name);
        let _ = schema::text_kind(property);
        let _ = schema::coerce_text("[1, 2]", property);
    }
}

/// Definitions `d0` to `dN`, each made of the reference to the next one.
fn chain(length: usize, link: impl Fn(Value) -> Value, last: Value) -> Value {
    let mut definitions = Map::new();
    for number in 0..length {
        let next = json!({"$ref": format!("#/$defs/d{}", number + 1)});
        definitions.insert(format!("d{number}"), link(next));
    }
    definitions.insert(format!("d{length}"), last);
    json!({
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/d0"}},
        "required": ["x"],
        "$defs": definitions,
    })
}

fn text() -> Value {
    json!({"type": "string"})
}

#[test]
fn references_that_double_in_place_are_refused_and_end_everywhere() {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let schema = chain(60, |next| json!({keyword: [next.clone(), next]}), text());
        let refused = Complexity::of(&schema).unwrap_err();
        let is_named = matches!(
            refused,
            ComplexityError::TooManyChecks | ComplexityError::TooDeep
        );
        assert!(is_named, "{keyword}: {refused}");
        use_everywhere(&schema, r#"{"x": 5}"#);
        let shorter = chain(20, |next| json!({keyword: [next.clone(), next]}), text());
        assert_eq!(
            Complexity::of(&shorter),
            Err(ComplexityError::TooManyChecks)
        );
        use_everywhere(&shorter, r#"{"x": 5}"#);
    }
}

#[test]
fn references_that_double_by_anchors_are_refused() {
    let mut definitions = Map::new();
    for number in 0..30 {
        let next = json!({"$ref": format!("#a{}", number + 1)});
        definitions.insert(
            format!("d{number}"),
            json!({"$anchor": format!("a{number}"), "allOf": [next.clone(), next]}),
        );
    }
    definitions.insert(
        "d30".to_owned(),
        json!({"$anchor": "a30", "type": "string"}),
    );
    let schema = json!({"properties": {"x": {"$ref": "#a0"}}, "$defs": definitions});
    assert_eq!(Complexity::of(&schema), Err(ComplexityError::TooManyChecks));
    use_everywhere(&schema, r#"{"x": 5}"#);
}

#[test]
fn references_that_multiply_through_properties_end_everywhere() {
    let pair = |next: Value| json!({"type": "object", "properties": {"l": next, "r": next}, "required": ["l", "r"]});
    let schema = chain(60, pair, text());
    use_everywhere(&schema, r#"{"x": {"l": {"l": 1, "r": []}, "r": "a"}}"#);
    let wide = |next: Value| {
        let names: Vec<String> = (0..100).map(|number| format!("p{number}")).collect();
        let properties: Map<String, Value> = names
            .iter()
            .map(|name| (name.clone(), next.clone()))
            .collect();
        json!({"type": "object", "properties": properties, "required": names})
    };
    use_everywhere(&chain(12, wide, text()), r#"{"x": {"p0": {"p1": "1"}}}"#);
    let branches = |next: Value| json!({"anyOf": vec![next; 100]});
    use_everywhere(&chain(12, branches, text()), r#"{"x": 5}"#);
}

#[test]
fn a_reference_that_leads_back_to_itself_is_refused() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"anyOf": [{"$ref": "#"}, {"type": "string"}]}),
        json!({"properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {
            "a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}},
        }}),
        json!({"properties": {"x": {"$ref": "#/$defs/a%62"}}, "$defs": {
            "ab": {"if": {"$ref": "#/$defs/%61b"}},
        }}),
    ] {
        let refused = Complexity::of(&schema).unwrap_err();
        let is_named = matches!(refused, ComplexityError::Endless { .. });
        assert!(is_named, "{schema}: {refused}");
        use_everywhere(&schema, r#"{"x": 5}"#);
    }
}

#[test]
fn a_schema_that_describes_a_tree_is_used() {
    let tree = json!({"type": "object", "properties": {
        "name": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#"}},
    }, "required": ["name"]});
    let tools = Toolset::new([ToolSpec::new("tree", "Show a tree", tree.clone())]).unwrap();
    assert!(Complexity::of(&tree).is_ok());
    let good = r#"{"name": "a", "children": [{"name": "b", "children": [{"name": "c"}]}]}"#;
    assert!(schema::check(&tools, "tree", Arguments::from_json(good).unwrap()).is_valid());
    let bad =
        r#"{"name": "a", "children": [{"name": "b", "children": [{"name": 5, "children": 1}]}]}"#;
    let bad = Arguments::from_json(bad).unwrap();
    assert!(!schema::check(&tools, "tree", bad).is_valid());
}

/// A language of expressions, as real tools have them: thirty kinds of nodes,
/// each of which may hold any other.
#[test]
fn many_definitions_that_refer_to_each_other_are_used() {
    let expression = json!({"$ref": "#/$defs/expression"});
    let mut definitions = Map::new();
    let kinds: Vec<String> = (0..30).map(|number| format!("kind{number}")).collect();
    for kind in &kinds {
        definitions.insert(
            kind.clone(),
            json!({"type": "object", "properties": {
                "kind": {"const": kind}, "left": expression, "right": expression,
            }, "required": ["kind"]}),
        );
    }
    let all: Vec<Value> = kinds
        .iter()
        .map(|kind| json!({"$ref": format!("#/$defs/{kind}")}))
        .collect();
    definitions.insert("expression".to_owned(), json!({"anyOf": all}));
    let schema = json!({"type": "object", "properties": {"x": expression}, "$defs": definitions});
    assert!(Complexity::of(&schema).is_ok());
    let tools = Toolset::new([ToolSpec::new("run", "Run it", schema.clone())]).unwrap();
    let good = r#"{"x": {"kind": "kind3", "left": {"kind": "kind29"}}}"#;
    assert!(schema::check(&tools, "run", Arguments::from_json(good).unwrap()).is_valid());
    let bad = r#"{"x": {"kind": "kind3", "left": {"kind": "kind30"}}}"#;
    assert!(!schema::check(&tools, "run", Arguments::from_json(bad).unwrap()).is_valid());
    use_everywhere(&schema, good);
}

#[test]
fn long_chains_of_references_do_not_take_the_stack() {
    let in_place = chain(60_000, |next| json!({"allOf": [next]}), text());
    assert!(Complexity::of(&in_place).is_err());
    use_everywhere(&in_place, r#"{"x": "a"}"#);
    let inner = |next: Value| json!({"type": "object", "properties": {"x": next}});
    let below = chain(60_000, inner, text());
    assert!(Complexity::of(&below).is_err());
    use_everywhere(&below, r#"{"x": "a"}"#);
    // The longest chains that are allowed, on the small stack of a test.
    let inner =
        |next: Value| json!({"type": "object", "properties": {"x": {"items": {"anyOf": [next]}}}});
    let longest = chain(498, inner, text());
    Complexity::of(&longest).unwrap();
    use_everywhere(&longest, r#"{"x": "a"}"#);
    let longest = chain(14, |next| json!({"allOf": [next]}), text());
    Complexity::of(&longest).unwrap();
    use_everywhere(&longest, r#"{"x": "a"}"#);
}

#[test]
fn values_of_any_depth_are_checked_without_taking_the_stack() {
    let deep = (0..100).fold(json!("a"), |inner, _| json!({"x": inner}));
    let schema = chain(
        12,
        |next| json!({"allOf": [next]}),
        json!({"properties": {"x": {"$ref": "#/$defs/d0"}}}),
    );
    Complexity::of(&schema).unwrap();
    use_everywhere(&schema, &deep.to_string());
}

#[test]
fn alternatives_that_double_with_the_depth_of_a_value_end() {
    let part = json!({"properties": {"x": {"$ref": "#"}}, "required": ["y"]});
    for keyword in ["anyOf", "oneOf", "allOf"] {
        let schema = json!({keyword: [part, part, {"type": "object"}]});
        let deep = (0..60).fold(json!(1), |inner, _| json!({"x": inner}));
        use_everywhere(&schema, &deep.to_string());
    }
    // The same without any reference to itself.
    let schema = chain(
        100,
        |next| json!({"anyOf": [{"properties": {"x": next}, "required": ["y"]}, {"properties": {"x": next}}]}),
        text(),
    );
    let deep = (0..100).fold(json!(1), |inner, _| json!({"x": inner}));
    use_everywhere(&schema, &deep.to_string());
}

#[test]
fn regular_expressions_are_bounded() {
    let large =
        json!({"properties": {"x": {"type": "string", "pattern": "((a{1000}){1000}){1000}"}}});
    assert_eq!(Complexity::of(&large), Err(ComplexityError::Patterns));
    use_everywhere(&large, r#"{"x": "a"}"#);
    let many: Map<String, Value> = (0..5_000)
        .map(|number| {
            (
                format!("p{number}"),
                json!({"pattern": format!("\\p{{L}}{{100}}{number}")}),
            )
        })
        .collect();
    let many = json!({"properties": many});
    assert_eq!(Complexity::of(&many), Err(ComplexityError::Patterns));
    use_everywhere(&many, r#"{"p1": "a"}"#);
    let back =
        json!({"properties": {"x": {"type": "array", "items": {"pattern": "^(?=x?)(a+)+$\\1"}}}});
    let texts = vec!["a".repeat(60) + "!"; 5_000];
    use_everywhere(&back, &json!({"x": texts}).to_string());
    let usual =
        json!({"properties": {"id": {"pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{12}$"}}});
    let tools = Toolset::new([ToolSpec::new("get", "Get it", usual)]).unwrap();
    let wrong = Arguments::from_json(r#"{"id": "x"}"#).unwrap();
    assert!(!schema::check(&tools, "get", wrong).is_valid());
}

#[test]
fn a_great_many_of_anything_ends() {
    let names: Vec<String> = (0..60_000).map(|number| format!("p{number}")).collect();
    let properties: Map<String, Value> = names.iter().map(|name| (name.clone(), text())).collect();
    let large = json!({"type": "object", "properties": properties, "required": names});
    assert_eq!(Complexity::of(&large), Err(ComplexityError::TooManySchemas));
    use_everywhere(&large, r#"{"p1": 1, "q": 2}"#);
    let branches: Vec<Value> = (0..9_000)
        .map(|number| json!({"type": "object", "properties": {"k": {"const": number}}, "required": ["k"]}))
        .collect();
    let union = json!({"properties": {"x": {"oneOf": branches}}});
    Complexity::of(&union).unwrap();
    use_everywhere(
        &union,
        &json!({"x": {"k": "a".repeat(100_000)}}).to_string(),
    );
    let long = json!({"anyOf": vec![json!({"$ref": "#/$defs/t"}); 500], "$defs": {
        "t": {"type": "object", "properties": {"x": {"description": "d".repeat(500_000)}}},
    }});
    use_everywhere(&long, "{}");
}
