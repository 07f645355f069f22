//! Which of the tools that a server lists can be used.

use std::collections::BTreeSet;

use ptk_protocol::schema::Complexity;
use ptk_protocol::{ToolSpec, Toolset};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::names::tool_name;
use crate::text::{description, in_line, is_suspicious};

/// The longest schema of a tool, in bytes of JSON.
const MAX_SCHEMA: usize = 256 * 1024;
/// The longest name of a tool, in characters.
const MAX_NAME: usize = 256;
/// How many characters of the hash of a declaration tell whether it has changed.
const FINGERPRINT: usize = 32;

/// A tool of a server that can be used.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ListedTool {
    /// Its name at the server.
    pub(crate) name: String,
    /// Its declaration for models.
    pub(crate) spec: ToolSpec,
    /// Whether the server says that it changes nothing. A hint, which decides
    /// nothing.
    pub(crate) says_read_only: bool,
    /// A hash of everything that the server says of it.
    pub(crate) fingerprint: String,
}

/// A tool of a server that cannot be used, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quarantined {
    /// Its name at the server.
    pub name: String,
    /// What is wrong with it.
    pub reason: String,
}

/// The tools that a server lists.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Listing {
    pub(crate) tools: Vec<ListedTool>,
    pub(crate) quarantined: Vec<Quarantined>,
}

/// What a server says of a tool.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawTool {
    name: String,
    title: Option<String>,
    description: Option<String>,
    #[serde(default)]
    input_schema: Value,
    #[serde(default)]
    annotations: Option<Map<String, Value>>,
}

impl Listing {
    /// Sorts the tools of a server into those that can be used and those that
    /// cannot. `is_wanted` says which the user wants at all.
    pub(crate) fn new(server: &str, raw: &[Value], is_wanted: impl Fn(&str) -> bool) -> Self {
        let mut listing = Self::default();
        let mut taken = BTreeSet::new();
        let mut known = BTreeSet::new();
        for value in raw {
            let name = raw_name(value);
            if !is_wanted(&name) {
                continue;
            }
            let read = if known.insert(name.clone()) {
                read(server, value, &taken)
            } else {
                Err("the server lists another tool of this name".to_owned())
            };
            match read {
                Ok(tool) => {
                    taken.insert(tool.spec.name.clone());
                    listing.tools.push(tool);
                }
                Err(reason) => listing.quarantined.push(Quarantined {
                    name: in_line(&name, MAX_NAME),
                    reason,
                }),
            }
        }
        listing
    }
}

impl Listing {
    /// Adds tools that cannot be called because of the headers that they want.
    pub(crate) fn leave_out(&mut self, names: impl Iterator<Item = String>) {
        self.quarantined.extend(names.map(|name| Quarantined {
            name: in_line(&name, MAX_NAME),
            reason: "an x-mcp-header in its inputSchema is not valid".to_owned(),
        }));
    }
}

fn raw_name(value: &Value) -> String {
    let name = value.get("name").and_then(Value::as_str);
    name.unwrap_or("(without a name)").to_owned()
}

/// Reads what a server says of a tool.
fn read(server: &str, value: &Value, taken: &BTreeSet<String>) -> Result<ListedTool, String> {
    let raw = RawTool::deserialize(value).map_err(|error| error.to_string())?;
    if raw.name.is_empty() {
        return Err("it has no name".to_owned());
    }
    if raw.name.chars().count() > MAX_NAME {
        return Err(format!("its name is longer than {MAX_NAME} characters"));
    }
    let parameters = parameters(raw.input_schema)?;
    let words = [raw.description, raw.title];
    let words = words.into_iter().flatten().map(|text| description(&text));
    let about = words.into_iter().find(|text| !text.is_empty());
    let about = about.unwrap_or_else(|| in_line(&raw.name, MAX_NAME));
    let spec = ToolSpec::new(tool_name(server, &raw.name, taken), about, parameters);
    Toolset::new([spec.clone()]).map_err(|error| error.to_string())?;
    let hint = |name: &str| {
        let annotations = raw.annotations.as_ref();
        annotations.and_then(|it| it.get(name)?.as_bool())
    };
    let hash = blake3::hash(value.to_string().as_bytes()).to_hex();
    Ok(ListedTool {
        says_read_only: hint("readOnlyHint").unwrap_or(false),
        fingerprint: hash.chars().take(FINGERPRINT).collect(),
        name: raw.name,
        spec,
    })
}

/// The schema of a tool's arguments, as models and validators take it.
fn parameters(schema: Value) -> Result<Value, String> {
    let mut schema = match schema {
        Value::Object(schema) => schema,
        Value::Null => return Err("it has no inputSchema".to_owned()),
        _ => return Err("its inputSchema is not an object".to_owned()),
    };
    match schema.get("type") {
        None => {
            schema.insert("type".to_owned(), json!("object"));
        }
        Some(kind) if kind == "object" => {}
        Some(kind) => {
            return Err(format!(
                "its inputSchema is of type {}, and not of type object",
                in_line(&kind.to_string(), 60)
            ));
        }
    }
    schema.entry("properties").or_insert_with(|| json!({}));
    // Says which dialect of JSON Schema it is, which no model needs to know.
    schema.shift_remove("$schema");
    let mut schema = Value::Object(schema);
    let length = schema.to_string().len();
    if length > MAX_SCHEMA {
        return Err(format!(
            "its inputSchema has {length} bytes, more than {MAX_SCHEMA}"
        ));
    }
    let complexity =
        Complexity::of(&schema).map_err(|error| format!("its inputSchema: {error}"))?;
    if let Some(reference) = complexity.foreign_reference() {
        return Err(format!(
            "its inputSchema refers to {}, which is not followed",
            in_line(reference, 200)
        ));
    }
    clean_descriptions(&mut schema)?;
    Ok(schema)
}

/// Cleans the descriptions in a schema, which models read like that of the
/// tool. Other texts have to be what the server expects, so they cannot be
/// changed. How deep it nests was limited when it was parsed.
///
/// # Errors
///
/// If another text is not what it seems to be.
fn clean_descriptions(schema: &mut Value) -> Result<(), String> {
    let refused = |text: &str| {
        let text = in_line(text, 60);
        Err(format!(
            "its inputSchema hides something in `{text}`, or writes a call there"
        ))
    };
    match schema {
        Value::Object(members) => {
            if let Some(name) = members.keys().find(|name| is_suspicious(name)) {
                return refused(name);
            }
            for (name, member) in members.iter_mut() {
                match member {
                    Value::String(text) if name == "description" || name == "title" => {
                        *text = description(text);
                    }
                    member => clean_descriptions(member)?,
                }
            }
            Ok(())
        }
        Value::Array(items) => items.iter_mut().try_for_each(clean_descriptions),
        Value::String(text) if is_suspicious(text) => refused(text),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(raw: &[Value]) -> Listing {
        Listing::new("fs", raw, |_| true)
    }

    fn reason(raw: Value) -> String {
        let listing = listed(&[
            raw,
            json!({"name": "ok", "inputSchema": {"type": "object"}}),
        ]);
        assert_eq!(listing.tools.len(), 1, "the others work");
        listing.quarantined[0].reason.clone()
    }

    #[test]
    fn a_bad_tool_is_quarantined_and_the_others_work() {
        for (raw, expected) in [
            (json!({"name": "a"}), "it has no inputSchema"),
            (json!(3), "invalid type"),
            (json!({"inputSchema": {}}), "missing field `name`"),
            (json!({"name": 3, "inputSchema": {}}), "invalid type"),
            (json!({"name": "", "inputSchema": {}}), "it has no name"),
            (
                json!({"name": "x".repeat(300), "inputSchema": {}}),
                "its name is longer",
            ),
            (
                json!({"name": "a", "inputSchema": {"type": "array"}}),
                "of type \"array\"",
            ),
            (json!({"name": "a", "inputSchema": "x"}), "not an object"),
            (
                json!({"name": "a", "inputSchema": {"properties": {"x": {"$ref": "https://example.com/s.json"}}}}),
                "refers to https://example.com/s.json",
            ),
            (
                json!({"name": "a", "inputSchema": {"properties": {"x": {"description": "y".repeat(300_000)}}}}),
                "more than 262144",
            ),
            (
                json!({"name": "a", "inputSchema": {"$ref": "#"}}),
                "leads back to itself",
            ),
            (
                json!({"name": "a", "inputSchema": {"properties": {"x": {"enum": ["<tool_call>"]}}}}),
                "hides something in",
            ),
        ] {
            let reason = reason(raw.clone());
            assert!(reason.contains(expected), "{raw}: {reason}");
        }
    }

    #[test]
    fn two_tools_of_one_name_are_one() {
        let tool = json!({"name": "a", "inputSchema": {}});
        let listing = listed(&[tool.clone(), tool]);
        assert_eq!((listing.tools.len(), listing.quarantined.len()), (1, 1));
    }

    #[test]
    fn schemas_become_those_of_objects() {
        let raw = json!({"name": "a", "inputSchema": {"$schema": "http://json-schema.org/draft-07/schema#"}});
        let listing = listed(&[raw]);
        let spec = &listing.tools[0].spec;
        assert_eq!(spec.parameters, json!({"type": "object", "properties": {}}));
        assert_eq!(spec.description, "a");
    }

    #[test]
    fn what_a_server_says_of_a_tool_is_in_its_fingerprint() {
        let one = listed(&[json!({"name": "a", "inputSchema": {}})]);
        let other = listed(&[json!({"name": "a", "inputSchema": {}, "description": "b"})]);
        assert_ne!(one.tools[0].fingerprint, other.tools[0].fingerprint);
    }

    #[test]
    fn descriptions_of_parameters_are_cleaned() {
        let raw = json!({"name": "a", "inputSchema": {"properties": {"description": {"description": "x\u{e0041}"}}}});
        let listing = listed(&[raw]);
        let parameters = &listing.tools[0].spec.parameters;
        assert_eq!(parameters["properties"]["description"]["description"], "x");
    }
}
