//! One call or an answer as a JSON Schema, for servers that take a schema and
//! no grammar.

use serde_json::{Map, Value, json};

use crate::Toolset;

/// The schema of `{"tool": …, "args": …}` for one of the tools, or of
/// `{"answer": …}`.
///
/// ```
/// use ptk_protocol::gbnf::call_schema;
/// use ptk_protocol::{ToolSpec, Toolset};
/// use serde_json::json;
///
/// let args = json!({"type": "object", "properties": {"path": {"type": "string"}}});
/// let tools = Toolset::new([ToolSpec::new("read_file", "Read a file", args.clone())])?;
/// let schema = call_schema(&tools);
/// assert_eq!(schema["anyOf"][0]["properties"]["tool"], json!({"enum": ["read_file"]}));
/// assert_eq!(schema["anyOf"][0]["properties"]["args"], args);
/// assert_eq!(schema["anyOf"][1]["required"], json!(["answer"]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn call_schema(tools: &Toolset) -> Value {
    let calls = tools.iter().enumerate().map(|(index, spec)| {
        let mut args = spec.parameters.clone();
        move_references(&mut args, &format!("#/anyOf/{index}/properties/args"));
        object(&[("tool", json!({"enum": [spec.name]})), ("args", args)])
    });
    let answer = object(&[("answer", json!({"type": "string"}))]);
    let all: Vec<Value> = calls.chain([answer]).collect();
    json!({"anyOf": all})
}

/// An object with just these members.
fn object(members: &[(&str, Value)]) -> Value {
    let required: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    let properties: Map<String, Value> = members
        .iter()
        .map(|(name, schema)| ((*name).to_owned(), schema.clone()))
        .collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// Adjusts the references inside a schema that has become a part of another
/// one.
fn move_references(schema: &mut Value, to: &str) {
    match schema {
        Value::Object(keywords) => {
            for (keyword, value) in keywords {
                match (keyword.as_str(), value) {
                    ("$ref", Value::String(target)) if target.starts_with('#') => {
                        *target = target.replacen('#', to, 1);
                    }
                    // The keys in there are names, whatever they look like.
                    (
                        "properties" | "patternProperties" | "dependentSchemas" | "$defs"
                        | "definitions",
                        Value::Object(schemas),
                    ) => schemas.values_mut().for_each(|it| move_references(it, to)),
                    ("enum" | "const" | "default", _) => {}
                    (_, value) => move_references(value, to),
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                move_references(item, to);
            }
        }
        _ => {}
    }
}
