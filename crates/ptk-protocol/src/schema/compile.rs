//! Compiled schemas: built once for each tool, without any I/O.

use jsonschema::{Draft, Validator};
use serde_json::{Map, Value};

use super::kinds::canonical_name;

/// A tool's schema, ready to check arguments.
#[derive(Debug)]
pub(crate) struct Compiled {
    /// `Err` says why the schema cannot be used.
    pub(crate) validator: Result<Validator, String>,
    /// The most alternatives at one place of a schema that refers to itself.
    alternatives: usize,
}

/// How many ways through a schema a check may try at the most.
const MAX_WAYS: usize = 100_000;

impl Compiled {
    pub(crate) fn new(parameters: &Value) -> Self {
        let normal = is_foreign(parameters).then(|| normalise(parameters));
        let validator = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .offline()
            .should_validate_formats(false)
            .build(normal.as_ref().unwrap_or(parameters))
            .map_err(|error| error.to_string());
        let alternatives = if refers_to_itself(parameters) {
            most_alternatives(parameters)
        } else {
            1
        };
        Self {
            validator,
            alternatives,
        }
    }

    /// The validator, if it can be used on this value. A schema that refers to
    /// itself below several alternatives is tried in every combination of
    /// them, level by level, so deep values are left unchecked.
    pub(crate) fn for_value(&self, value: &Value) -> Option<&Validator> {
        let affordable = self.alternatives < 2 || {
            let depth = u32::try_from(depth(value)).unwrap_or(u32::MAX);
            let ways = self.alternatives.checked_pow(depth);
            ways.is_some_and(|ways| ways <= MAX_WAYS)
        };
        self.validator.as_ref().ok().filter(|_| affordable)
    }
}

fn refers_to_itself(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => {
            map.keys().any(|key| key == "$ref" || key == "$dynamicRef")
                || map.values().any(refers_to_itself)
        }
        Value::Array(items) => items.iter().any(refers_to_itself),
        _ => false,
    }
}

fn most_alternatives(schema: &Value) -> usize {
    let below = match schema {
        Value::Object(map) => map.values().map(most_alternatives).max(),
        Value::Array(items) => items.iter().map(most_alternatives).max(),
        _ => None,
    };
    let own = ["anyOf", "oneOf", "allOf"]
        .iter()
        .filter_map(|keyword| schema.get(keyword)?.as_array().map(Vec::len))
        .max();
    own.max(below).unwrap_or(0).max(1)
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Whether the schema uses `OpenAPI`'s `nullable` or type names that JSON
/// Schema does not have.
fn is_foreign(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => {
            map.get("nullable") == Some(&Value::Bool(true))
                || map.get("type").is_some_and(is_foreign_type)
                || map.values().any(is_foreign)
        }
        Value::Array(items) => items.iter().any(is_foreign),
        _ => false,
    }
}

fn is_foreign_type(name: &Value) -> bool {
    name.as_str().is_some_and(|name| {
        canonical_name(name).is_some_and(|known| known != name || known == "any")
    })
}

/// The same schema in the words of JSON Schema 2020-12.
fn normalise(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => normalise_object(map),
        Value::Array(items) => items.iter().map(normalise).collect(),
        other => other.clone(),
    }
}

fn normalise_object(map: &Map<String, Value>) -> Value {
    let mut normal: Map<String, Value> = map
        .iter()
        .map(|(keyword, value)| {
            let keep = matches!(keyword.as_str(), "enum" | "const" | "default" | "examples");
            let value = if keep {
                value.clone()
            } else {
                normalise(value)
            };
            (keyword.clone(), value)
        })
        .collect();
    let type_name = map.get("type").and_then(Value::as_str);
    match type_name.and_then(canonical_name) {
        Some("any") => {
            normal.remove("type");
        }
        Some(name) => {
            normal.insert("type".into(), name.into());
        }
        None => {}
    }
    if map.get("nullable") == Some(&Value::Bool(true)) {
        normal.remove("nullable");
        return serde_json::json!({"anyOf": [normal, {"type": "null"}]});
    }
    Value::Object(normal)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn remote_references_are_not_fetched_and_broken_schemas_do_not_panic() {
        for schema in [
            json!({"$ref": "https://example.com/schema.json"}),
            json!({"type": "object", "properties": {"a": {"pattern": "("}}}),
            json!({"type": 5}),
            json!("nonsense"),
            json!({"properties": {"a": {"$ref": "#/nowhere"}}}),
        ] {
            assert!(Compiled::new(&schema).validator.is_err(), "{schema}");
        }
    }

    #[test]
    fn a_schema_that_refers_to_itself_is_not_tried_in_every_combination() {
        let schema = json!({"anyOf": [
            {"properties": {"a": {"$ref": "#"}}, "required": ["x"]},
            {"properties": {"a": {"$ref": "#"}}, "required": ["y"]},
            {"type": "string"},
        ]});
        let compiled = Compiled::new(&schema);
        let deep = (0..60).fold(json!(1), |inner, _| json!({"a": inner}));
        assert!(compiled.for_value(&deep).is_none());
        assert!(compiled.for_value(&json!({"a": {"a": "x"}})).is_some());
    }

    #[test]
    fn nullable_and_foreign_type_names_are_understood() {
        let schema = json!({"type": "dict", "properties": {
            "n": {"type": "float", "nullable": true},
            "x": {"type": "any"},
            "type": {"type": "string"},
        }});
        let validator = Compiled::new(&schema).validator.unwrap();
        assert!(validator.is_valid(&json!({"n": null, "x": [], "type": "a"})));
        assert!(validator.is_valid(&json!({"n": 1.5})));
        assert!(!validator.is_valid(&json!({"n": "a"})));
    }
}
