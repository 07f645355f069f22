//! The offered tools, as clients see them.

use std::collections::BTreeMap;
use std::sync::Arc;

use ptk_protocol::schema::suggest;
use ptk_tools::{Effect, Effects, Registry};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::BuildError;

/// The tool of the manager whose results are known in advance.
const SEARCH_CODE: &str = "search_code";

/// The offered tools, by name.
pub(super) struct Catalogue {
    tools: BTreeMap<String, Tool>,
}

impl Catalogue {
    /// The tools of these names, with what is known of their results.
    pub(super) fn new(
        registry: &Registry,
        names: Vec<String>,
        output_schemas: &[(String, Value)],
    ) -> Result<Self, BuildError> {
        let mut tools = BTreeMap::new();
        for name in names {
            let Some(tool) = registry.get(&name) else {
                return Err(BuildError::UnknownTool(name));
            };
            let spec = tool.spec();
            let parameters = spec.parameters.as_object().cloned().unwrap_or_default();
            let mut offered = Tool::new(name.clone(), spec.description.clone(), parameters)
                .with_annotations(annotations(tool.effects()));
            let known = output_schemas.iter().find(|(tool, _)| *tool == name);
            let own = match known {
                Some((_, schema)) => Some(schema.clone()),
                None => (name == SEARCH_CODE).then(search_code_output),
            };
            if let Some(own) = own {
                offered = offered.with_raw_output_schema(Arc::new(with_envelope(&own)));
            }
            tools.insert(name, offered);
        }
        Ok(Self { tools })
    }

    /// All tools, in the order of their names.
    pub(super) fn all(&self) -> Vec<Tool> {
        self.tools.values().cloned().collect()
    }

    /// The tool of exactly this name.
    pub(super) fn get(&self, name: &str) -> Option<&Tool> {
        self.tools.get(name)
    }

    /// The tool that a wrong name was probably meant for.
    pub(super) fn nearest(&self, name: &str) -> Option<&str> {
        suggest::nearest(name, self.tools.keys().map(String::as_str))
    }
}

/// What clients may assume about a tool with these effects.
fn annotations(effects: Effects) -> ToolAnnotations {
    let annotations = ToolAnnotations::new()
        .read_only(effects.is_read_only())
        .open_world(effects.has(Effect::Network));
    if effects.is_read_only() {
        return annotations;
    }
    annotations.destructive(effects.has(Effect::Write) || effects.has(Effect::Execute))
}

/// The schema of a whole result, from that of the tool's own fields. A failed
/// call may have none of them.
fn with_envelope(own: &Value) -> JsonObject {
    let mut properties = Map::new();
    for (name, schema) in [
        ("success", json!({"type": "boolean"})),
        (
            "error",
            json!({"type": "string", "description": "What went wrong; empty on success"}),
        ),
        (
            "error_type",
            json!({"type": "string", "enum": [
                "validation_error", "user_error", "system_error", "permission_error", "security_error"
            ]}),
        ),
        (
            "suggestion",
            json!({"type": "string", "description": "What to do next"}),
        ),
        (
            "truncated",
            json!({"type": "object", "description": "The fields that were cut because the result was too long, and how to read the rest"}),
        ),
    ] {
        properties.insert(name.to_owned(), schema);
    }
    let own = own.get("properties").and_then(Value::as_object);
    properties.extend(own.cloned().unwrap_or_default());
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema.insert("required".to_owned(), json!(["success", "error"]));
    schema
}

/// The fields of `search_code`.
fn search_code_output() -> Value {
    json!({"properties": {
        "snippets": {
            "type": "array",
            "items": {"type": "string"},
            "description": "The code around each match, those of one file next to each other"
        },
        "count": {"type": "integer", "description": "How many matches are shown"},
        "total": {"type": "integer", "description": "How many matches there are in all"},
        "total_files": {"type": "integer", "description": "In how many files"},
        "next": {"type": "string", "description": "The call that shows the next matches"},
        "note": {"type": "string"},
        "skipped": {"description": "What was not searched"}
    }})
}
