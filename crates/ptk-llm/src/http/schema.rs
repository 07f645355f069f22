//! What servers require of a schema before they enforce it.

use serde_json::Value;

/// Whether OpenAI can enforce a schema strictly: its objects have the
/// properties that they list, all of them, and no others.
pub(super) fn is_strict(schema: &Value) -> bool {
    let members = match schema {
        Value::Object(members) => members,
        Value::Array(items) => return items.iter().all(is_strict),
        _ => return true,
    };
    let properties = members.get("properties").and_then(Value::as_object);
    let is_object = properties.is_some() || members.get("type") == Some(&"object".into());
    if is_object {
        let required = members.get("required").and_then(Value::as_array);
        let is_required = |name: &String| {
            let mut names = required.into_iter().flatten();
            names.any(|required| required == name)
        };
        let is_closed = members.get("additionalProperties") == Some(&Value::Bool(false));
        if !is_closed
            || !properties
                .into_iter()
                .flatten()
                .all(|(name, _)| is_required(name))
        {
            return false;
        }
    }
    // Names of properties and definitions are not keywords of the schema.
    members.iter().all(|(word, value)| match word.as_str() {
        "properties" | "$defs" | "definitions" => {
            let mut inner = value.as_object().into_iter().flatten();
            inner.all(|(_, schema)| is_strict(schema))
        }
        "enum" | "const" | "default" | "examples" => true,
        _ => is_strict(value),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn strict_schemas_leave_nothing_open() {
        let strict = json!({
            "type": "object",
            "properties": {
                "required": {"type": "string"},
                "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
            },
            "required": ["required", "items"],
            "additionalProperties": false,
            "$defs": {"item": {"type": "object", "properties": {}, "required": [], "additionalProperties": false}},
        });
        assert!(is_strict(&strict));
        assert!(is_strict(
            &json!({"type": "string", "enum": [{"type": "object"}]})
        ));
        for (pointer, value) in [
            ("/additionalProperties", json!(true)),
            ("/required", json!(["required"])),
            ("/$defs/item/additionalProperties", json!({})),
            (
                "/properties/required",
                json!({"anyOf": [{"type": "object"}]}),
            ),
        ] {
            let mut open = strict.clone();
            *open.pointer_mut(pointer).unwrap() = value;
            assert!(!is_strict(&open), "{pointer}");
        }
    }
}
