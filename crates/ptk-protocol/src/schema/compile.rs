//! Compiled schemas: built once for each tool, without any I/O.

use jsonschema::{Draft, Validator};
use serde_json::{Map, Value};

use super::kinds::canonical_name;

/// A tool's schema, ready to check arguments.
#[derive(Debug)]
pub(crate) struct Compiled {
    /// `Err` says why the schema cannot be used.
    pub(crate) validator: Result<Validator, String>,
}

impl Compiled {
    pub(crate) fn new(parameters: &Value) -> Self {
        let normal = is_foreign(parameters).then(|| normalise(parameters));
        let validator = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .offline()
            .should_validate_formats(false)
            .build(normal.as_ref().unwrap_or(parameters))
            .map_err(|error| error.to_string());
        Self { validator }
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
