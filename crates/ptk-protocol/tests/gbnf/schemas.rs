//! Random schemas of the subset that grammars keep.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z_]{1,8}",
        1 => any::<String>().prop_map(|text| text.chars().take(12).collect()),
        1 => select(&["\"", "\\", "\n", "</PTK_CALL>", "<tool_call>", "a b", "é", "^-]", "\u{7f}", "{\"ptk\":0}"][..])
            .prop_map(str::to_owned),
    ]
}

fn plain_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => text().prop_map(Value::String),
        1 => any::<i32>().prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => Just(json!({"a": [1, "x"]})),
        1 => Just(json!(1.5)),
    ]
}

fn leaf() -> impl Strategy<Value = Value> {
    let bound = || -1200..1200_i64;
    prop_oneof![
        3 => Just(json!({"type": "string", "description": "A text", "format": "uri"})),
        1 => (0..4_u32, 0..4_u32).prop_map(|(least, more)| {
            json!({"type": "string", "minLength": least, "maxLength": least + more})
        }),
        1 => (0..9_u32).prop_map(|least| json!({"type": "string", "minLength": least})),
        2 => Just(json!({"type": "integer"})),
        1 => (bound(), 0..2000_i64).prop_map(|(least, more)| {
            json!({"type": "integer", "minimum": least, "maximum": least + more})
        }),
        1 => bound().prop_map(|least| json!({"type": "integer", "exclusiveMinimum": least})),
        1 => bound().prop_map(|most| json!({"type": "integer", "maximum": most, "multipleOf": 1})),
        1 => Just(json!({"type": "number"})),
        1 => (bound(), 0..2000_i64).prop_map(|(least, more)| {
            json!({"type": "number", "minimum": least, "maximum": least + more})
        }),
        1 => (bound(), 1..2000_i64).prop_map(|(least, more)| {
            json!({"type": "number", "exclusiveMinimum": least, "exclusiveMaximum": least + more})
        }),
        1 => Just(json!({"type": "boolean"})),
        1 => Just(json!({"type": "null"})),
        1 => Just(json!({"type": ["string", "null"]})),
        1 => Just(json!({"type": ["integer", "boolean"], "minimum": 3})),
        1 => Just(json!({"type": "float", "nullable": true})),
        2 => vec(plain_value(), 1..5).prop_map(|values| json!({"enum": values})),
        1 => vec(text(), 1..5).prop_map(|values| json!({"type": "string", "enum": values})),
        1 => plain_value().prop_map(|value| json!({"const": value})),
        1 => Just(json!({})),
        1 => Just(json!(true)),
        1 => select(&["#/$defs/a", "#/$defs/b", "#"][..]).prop_map(|to| json!({"$ref": to, "description": "There"})),
    ]
}

/// An object with some members, some of which are required.
fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let members = vec((text(), inner, any::<bool>()), 0..5);
    (members, any::<bool>(), any::<bool>()).prop_map(|(members, is_typed, is_closed)| {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for (name, schema, is_required) in members {
            if is_required && !properties.contains_key(&name) {
                required.push(name.clone());
            }
            properties.insert(name, schema);
        }
        let mut schema = json!({"properties": properties, "required": required});
        if is_typed {
            schema["type"] = json!("object");
        }
        if is_closed {
            schema["additionalProperties"] = json!(false);
        }
        schema
    })
}

fn schema() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(3, 24, 4, |inner| {
        let branches = vec(inner.clone(), 1..4);
        prop_oneof![
            3 => object(inner.clone()),
            2 => (inner.clone(), 0..3_u32, 0..3_u32).prop_map(|(items, least, more)| {
                json!({"type": "array", "items": items, "minItems": least, "maxItems": least + more})
            }),
            1 => inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            1 => (vec(inner.clone(), 1..3), inner.clone()).prop_map(|(first, rest)| {
                json!({"type": "array", "prefixItems": first, "items": rest})
            }),
            1 => inner.clone().prop_map(|values| json!({"type": "object", "additionalProperties": values})),
            2 => branches.clone().prop_map(|branches| json!({"anyOf": branches})),
            1 => inner.clone().prop_map(|only| json!({"allOf": [only]})),
            1 => branches.prop_map(|branches| {
                let tagged = branches.into_iter().enumerate().map(|(index, value)| {
                    json!({"type": "object", "required": ["kind", "value"], "properties": {
                        "kind": {"const": format!("k{index}")}, "value": value,
                    }})
                });
                json!({"oneOf": tagged.collect::<Vec<_>>()})
            }),
            1 => inner.prop_map(|value| json!({"oneOf": [{"type": "null"}, {"type": "array", "items": value}, {"type": "integer"}]})),
        ]
    })
}

/// Parameters of a tool.
pub(crate) fn parameters() -> impl Strategy<Value = Value> {
    (object(schema()), schema(), schema()).prop_map(|(mut object, a, b)| {
        object["type"] = json!("object");
        object["$defs"] = json!({"a": a, "b": b});
        object
    })
}
