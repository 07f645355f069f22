//! Reads tool definitions in common formats: a JSON array, an object with
//! `tools`, or JSON lines; each tool as PTK, the `OpenAI` API, the Anthropic
//! API or MCP writes it.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use ptk_protocol::{ToolSpec, Toolset};
use serde_json::{Deserializer, Map, Value, json};

use crate::input;

/// The keys under which a tool's JSON Schema is found.
const SCHEMA_KEYS: [&str; 3] = ["parameters", "input_schema", "inputSchema"];

/// Reads a file of tool definitions.
pub(crate) fn read_file(path: &Path) -> Result<Toolset> {
    let text = input::read_file(path).context("tool definitions")?;
    let name = path.display();
    from_text(text.strip_prefix('\u{feff}').unwrap_or(&text)).map_err(|error| match error {
        Fault::Json(error) => anyhow!(
            "{name}:{}:{}: not JSON: {}",
            error.line(),
            error.column(),
            input::without_position(&error)
        ),
        Fault::Tools(error) => error.context(format!("{name}")),
    })
}

/// Parses an array of tools, or an object with `tools`. Of two tools with the
/// same name the later counts, as in the APIs that such lists come from.
pub(crate) fn from_value(value: Value) -> Result<Toolset> {
    let mut specs: Vec<ToolSpec> = Vec::new();
    for spec in specs_of(value)? {
        specs.retain(|known| known.name != spec.name);
        specs.push(spec);
    }
    Ok(Toolset::new(specs)?)
}

fn specs_of(value: Value) -> Result<Vec<ToolSpec>> {
    let items = match value {
        Value::Array(items) => items,
        Value::Object(mut object) => match object.remove("tools") {
            Some(Value::Array(items)) => items,
            Some(other) => bail!("`tools` must be an array, not {}", kind(&other)),
            None => vec![Value::Object(object)],
        },
        other => bail!(
            "expected an array of tools, not {}; write [{{\"name\": \"…\", \"description\": \"…\", \"parameters\": {{…}}}}]",
            kind(&other)
        ),
    };
    items
        .into_iter()
        .enumerate()
        .map(|(index, item)| spec(item).with_context(|| format!("tool {}", index + 1)))
        .collect()
}

#[derive(Debug)]
enum Fault {
    Json(serde_json::Error),
    Tools(anyhow::Error),
}

fn from_text(text: &str) -> Result<Toolset, Fault> {
    let mut values = Deserializer::from_str(text)
        .into_iter::<Value>()
        .collect::<Result<Vec<_>, _>>()
        .map_err(Fault::Json)?;
    let tools = match values.len() {
        0 => Err(anyhow!(
            "the file is empty; write [] for a model without tools"
        )),
        1 => specs_of(values.remove(0)),
        _ => specs_of(Value::Array(values)),
    };
    tools
        .and_then(|specs| Ok(Toolset::new(specs)?))
        .map_err(Fault::Tools)
}

fn spec(item: Value) -> Result<ToolSpec> {
    let mut tool = into_object(item)?;
    if let Some(function) = tool.remove("function") {
        tool = into_object(function).context("`function`")?;
    }
    let name = match tool.remove("name") {
        Some(Value::String(name)) if !name.trim().is_empty() => name,
        Some(Value::String(_)) => bail!("`name` is empty"),
        Some(other) => bail!("`name` must be a string, not {}", kind(&other)),
        None => bail!("`name` is missing"),
    };
    let description = match tool.remove("description") {
        Some(Value::String(description)) => description,
        None | Some(Value::Null) => String::new(),
        Some(other) => bail!(
            "`{name}`: `description` must be a string, not {}",
            kind(&other)
        ),
    };
    let schema = SCHEMA_KEYS
        .into_iter()
        .find_map(|key| Some((key, tool.remove(key)?)));
    let parameters = match schema {
        Some((_, schema @ Value::Object(_))) => schema,
        None | Some((_, Value::Null)) => json!({"type": "object", "properties": {}}),
        Some((key, other)) => bail!(
            "`{name}`: `{key}` must be a JSON Schema, such as {{\"type\": \"object\", \"properties\": {{…}}}}, not {}",
            kind(&other)
        ),
    };
    Ok(ToolSpec::new(name, description, parameters))
}

fn into_object(value: Value) -> Result<Map<String, Value>> {
    match value {
        Value::Object(object) => Ok(object),
        other => bail!("expected an object with `name`, not {}", kind(&other)),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#"{"type":"object","properties":{"path":{"type":"string"}}}"#;

    fn read(text: &str) -> Result<Toolset> {
        from_text(text).map_err(|fault| match fault {
            Fault::Json(error) => error.into(),
            Fault::Tools(error) => error,
        })
    }

    #[test]
    fn every_form_of_a_tool_gives_the_same_definition() {
        let own = format!(r#"{{"name":"read","description":"Read it","parameters":{SCHEMA}}}"#);
        let forms = [
            format!(r#"{{"type":"function","function":{own}}}"#),
            format!(
                r#"{{"type":"function","name":"read","description":"Read it","parameters":{SCHEMA}}}"#
            ),
            format!(r#"{{"name":"read","description":"Read it","input_schema":{SCHEMA}}}"#),
            format!(r#"{{"name":"read","description":"Read it","inputSchema":{SCHEMA}}}"#),
            own,
        ];
        let expected = ToolSpec::new("read", "Read it", serde_json::from_str(SCHEMA).unwrap());
        for form in forms {
            let tools = read(&form).unwrap();
            assert_eq!(tools.iter().collect::<Vec<_>>(), [&expected], "{form}");
        }
    }

    #[test]
    fn every_form_of_a_file_gives_the_same_tools() {
        for text in [
            r#"[{"name": "a"}, {"name": "b"}]"#,
            r#"{"tools": [{"name": "a"}, {"name": "b"}]}"#,
            "{\"name\": \"a\"}\n\n{\"name\": \"b\"}\n",
        ] {
            let tools = read(text).unwrap();
            assert_eq!(tools.names().collect::<Vec<_>>(), ["a", "b"], "{text}");
        }
    }

    #[test]
    fn no_tools_are_tools_too() {
        assert!(read("[]").unwrap().is_empty());
        assert!(read(r#"{"tools": []}"#).unwrap().is_empty());
    }

    #[test]
    fn a_wrong_definition_is_named_with_what_is_wrong() {
        for (text, expected) in [
            ("", "the file is empty"),
            ("3", "expected an array of tools, not a number"),
            (
                r#"{"tools": {}}"#,
                "`tools` must be an array, not an object",
            ),
            (
                r#"["a"]"#,
                "tool 1: expected an object with `name`, not a string",
            ),
            (r#"[{"name": "a"}, {}]"#, "tool 2: `name` is missing"),
            (
                r#"[{"name": 7}]"#,
                "tool 1: `name` must be a string, not a number",
            ),
            (r#"[{"name": " "}]"#, "tool 1: `name` is empty"),
            (
                r#"[{"function": []}]"#,
                "tool 1: `function`: expected an object",
            ),
            (
                r#"[{"name": "a", "description": []}]"#,
                "tool 1: `a`: `description` must be a string, not an array",
            ),
            (
                r#"[{"name": "a", "input_schema": "x"}]"#,
                "tool 1: `a`: `input_schema` must be a JSON Schema",
            ),
            (
                r#"[{"name": "a"}, {"name": "a"}]"#,
                "two tools are named `a`",
            ),
        ] {
            let error = format!("{:#}", read(text).unwrap_err());
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }

    #[test]
    fn broken_json_is_placed() {
        let Fault::Json(error) = from_text("[\n  {\"name\": }\n]").unwrap_err() else {
            panic!("not a JSON fault");
        };
        assert_eq!((error.line(), error.column()), (2, 12));
    }
}
