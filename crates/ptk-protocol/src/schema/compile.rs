//! Compiled schemas: built once for each tool, without any I/O.

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::{Map, Value};

use super::complexity::{Complexity, Targets};
use super::cost::is_affordable;
use super::kinds::canonical_name;

/// A tool's schema, ready to check arguments.
#[derive(Debug)]
pub(crate) struct Compiled {
    /// The validator; `Err` says why the schema cannot be used.
    pub(crate) validator: Result<Validator, String>,
    /// Whether the cost of a check grows with the value alone.
    is_plain: bool,
    has_anchors: bool,
}

/// A schema without references up to this size is applied to a value without
/// counting first: what it costs is bounded by its text.
const MAX_PLAIN: usize = 500;
/// How often a regular expression may backtrack. One that does so more often
/// does not match.
const MAX_BACKTRACKING: usize = 50_000;
/// The most bytes of a compiled regular expression.
const MAX_PATTERN: usize = 4 * 1024 * 1024;

impl Compiled {
    pub(crate) fn new(parameters: &Value) -> Self {
        match Complexity::of(parameters) {
            Ok(measured) => Self {
                is_plain: !measured.has_references
                    && !measured.backtracks
                    && measured.schemas <= MAX_PLAIN,
                has_anchors: measured.has_anchors,
                validator: match measured.foreign {
                    Some(foreign) => Err(format!(
                        "`{foreign}` is not a reference into the schema itself, and is not followed"
                    )),
                    None => build(parameters),
                },
            },
            Err(error) => Self {
                is_plain: false,
                has_anchors: false,
                validator: Err(error.to_string()),
            },
        }
    }

    /// The validator, if it can be used on this value: where the alternatives
    /// of a schema multiply with the depth of a value, deep values are left
    /// unchecked. `parameters` is the schema that this was compiled from.
    pub(crate) fn for_value(&self, parameters: &Value, value: &Value) -> Option<&Validator> {
        let validator = self.validator.as_ref().ok()?;
        if self.is_plain {
            return Some(validator);
        }
        let targets = if self.has_anchors {
            Targets::of(parameters)
        } else {
            Targets::by_place(parameters)
        };
        is_affordable(parameters, &targets, value).then_some(validator)
    }
}

fn build(parameters: &Value) -> Result<Validator, String> {
    let normal = is_foreign(parameters).then(|| normalise(parameters));
    let patterns = PatternOptions::fancy_regex()
        .backtrack_limit(MAX_BACKTRACKING)
        .size_limit(MAX_PATTERN);
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .offline()
        .should_validate_formats(false)
        .with_pattern_options(patterns)
        .build(normal.as_ref().unwrap_or(parameters))
        .map_err(|error| error.to_string())
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

/// Converts the schema to JSON Schema 2020-12.
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
        assert!(compiled.for_value(&schema, &deep).is_none());
        let shallow = json!({"a": {"a": "x"}});
        assert!(compiled.for_value(&schema, &shallow).is_some());
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
