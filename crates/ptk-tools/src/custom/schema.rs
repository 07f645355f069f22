//! Whether declared parameters are JSON Schema. Unknown keywords are ignored in
//! a schema, so that a typo would pass for a looser schema.

use std::fmt;

use ptk_protocol::schema::suggest;
use serde_json::Value;

/// The types that there are.
const TYPES: [&str; 7] = [
    "string", "number", "integer", "boolean", "object", "array", "null",
];

/// Keywords whose value is a schema.
const ONE: [&str; 12] = [
    "items",
    "additionalProperties",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
    "additionalItems",
];

/// Keywords whose value is a list of schemas.
const LIST: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];

/// Keywords whose value has schemas by name.
const NAMED: [&str; 5] = [
    "properties",
    "patternProperties",
    "dependentSchemas",
    "$defs",
    "definitions",
];

/// All other keywords.
const PLAIN: [&str; 38] = [
    "$schema",
    "$id",
    "$ref",
    "$anchor",
    "$dynamicRef",
    "$dynamicAnchor",
    "$vocabulary",
    "$comment",
    "type",
    "enum",
    "const",
    "title",
    "description",
    "default",
    "examples",
    "example",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "required",
    "minProperties",
    "maxProperties",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minContains",
    "maxContains",
    "dependentRequired",
    "contentEncoding",
];

/// What is wrong with declared parameters, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaFault {
    /// The keys that lead there, such as `parameters.properties.path`.
    path: String,
    what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Keyword(String),
    Type(String),
    NoSchema,
}

impl fmt::Display for SchemaFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        let (name, known): (_, Vec<&str>) = match &self.what {
            What::NoSchema => {
                return write!(
                    f,
                    "`{path}` is not a schema; write a table such as {{ type = \"string\" }}"
                );
            }
            What::Keyword(name) => {
                write!(f, "`{path}.{name}` is not a keyword of JSON Schema")?;
                (name, keywords().collect())
            }
            What::Type(name) => {
                write!(f, "`{path}.type` is \"{name}\", which is not a type")?;
                (name, TYPES.to_vec())
            }
        };
        match suggest::nearest(name, known.iter().copied()) {
            Some(near) => write!(f, "; did you mean `{near}`?"),
            None if known.len() == TYPES.len() => write!(f, "; there are {}", known.join(", ")),
            None => Ok(()),
        }
    }
}

fn keywords() -> impl Iterator<Item = &'static str> {
    let schemas = ONE.iter().chain(&LIST).chain(&NAMED);
    schemas.chain(&PLAIN).copied()
}

/// Checks the parameters of a declaration.
pub(super) fn check(parameters: &Value) -> Result<(), SchemaFault> {
    look(parameters, "parameters")
}

/// Checks a schema and those inside it. How deep they nest is limited by the
/// reader of the file.
fn look(schema: &Value, path: &str) -> Result<(), SchemaFault> {
    let fault = |what| {
        let path = path.to_owned();
        Err(SchemaFault { path, what })
    };
    let keywords = match schema {
        Value::Bool(_) => return Ok(()),
        Value::Object(keywords) => keywords,
        _ => return fault(What::NoSchema),
    };
    for (name, value) in keywords {
        let key = name.as_str();
        let below = format!("{path}.{key}");
        if key == "type" {
            if let Some(stranger) = strange_type(value) {
                return fault(What::Type(stranger));
            }
        } else if ONE.contains(&key) {
            look(value, &below)?;
        } else if LIST.contains(&key) {
            for (at, schema) in value.as_array().into_iter().flatten().enumerate() {
                look(schema, &format!("{below}[{at}]"))?;
            }
        } else if NAMED.contains(&key) {
            for (name, schema) in value.as_object().into_iter().flatten() {
                look(schema, &format!("{below}.{name}"))?;
            }
        } else if !PLAIN.contains(&key) && !key.starts_with("x-") {
            return fault(What::Keyword(name.clone()));
        }
    }
    Ok(())
}

/// The first type that does not exist.
fn strange_type(types: &Value) -> Option<String> {
    let types = match types {
        Value::Array(types) => types.as_slice(),
        one => std::slice::from_ref(one),
    };
    let is_known = |kind: &&Value| kind.as_str().is_some_and(|kind| TYPES.contains(&kind));
    let stranger = types.iter().find(|kind| !is_known(kind))?;
    Some(match stranger {
        Value::String(name) => name.clone(),
        value => value.to_string(),
    })
}
