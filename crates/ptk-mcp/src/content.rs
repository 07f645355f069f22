//! What a tool of a server has answered, as the fields of a result.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ptk_tools::{CallContext, Fields, Outputs, ToolError};
use serde_json::{Map, Value, json};

use crate::text::in_line;

/// How many parts of an answer are taken.
const MAX_PARTS: usize = 1_000;
/// How many characters of an address, a name or a media type are taken.
const MAX_WORD: usize = 500;

/// The fields of a result. Texts stand in `content`, values in `data`; files,
/// images and links to resources in `parts`, with handles for what is not text.
///
/// # Errors
///
/// What the tool said went wrong.
pub(crate) fn fields(context: &CallContext, answer: &Value) -> Result<Fields, ToolError> {
    let mut texts = Vec::new();
    let mut parts = Vec::new();
    let blocks = answer.get("content").and_then(Value::as_array);
    for block in blocks.into_iter().flatten().take(MAX_PARTS) {
        match Part::of(block, context.outputs()) {
            Part::Text(text) => texts.push(text),
            Part::Other(part) => parts.push(part),
        }
    }
    let text = texts.join("\n");
    let mut fields = Fields::new();
    let data = answer.get("structuredContent");
    // By the protocol, the text repeats the value.
    let repeats =
        data.is_some_and(|data| serde_json::from_str::<Value>(&text).ok().as_ref() == Some(data));
    if !text.is_empty() && !repeats {
        fields.insert("content".to_owned(), Value::String(text.clone()));
    }
    if let Some(data) = data {
        fields.insert("data".to_owned(), data.clone());
    }
    let left_out = blocks.map_or(0, |blocks| blocks.len().saturating_sub(MAX_PARTS));
    if left_out > 0 {
        let note = format!("{left_out} more parts were left out");
        parts.push(json!({"type": "note", "note": note}));
    }
    if !parts.is_empty() {
        fields.insert("parts".to_owned(), Value::Array(parts));
    }
    if answer.get("isError") != Some(&Value::Bool(true)) {
        return Ok(fields);
    }
    let message = match text.trim() {
        "" => "The tool failed, and did not say why".to_owned(),
        text => text.to_owned(),
    };
    fields.remove("content");
    Err(ToolError {
        fields: Box::new(fields),
        ..ToolError::user(message)
    })
}

/// A part of an answer.
enum Part {
    Text(String),
    Other(Value),
}

impl Part {
    fn of(block: &Value, outputs: &Outputs) -> Self {
        let word = |value: &Value, name: &str| {
            let word = value.get(name).and_then(Value::as_str);
            in_line(word.unwrap_or_default(), MAX_WORD)
        };
        let kind = word(block, "type");
        match kind.as_str() {
            "text" => {
                let text = block.get("text").and_then(Value::as_str);
                Self::Text(text.unwrap_or_default().to_owned())
            }
            "image" | "audio" => {
                let data = block.get("data").and_then(Value::as_str);
                Self::Other(kept(&kind, &word(block, "mimeType"), data, outputs))
            }
            "resource" => {
                let resource = block.get("resource").unwrap_or(&Value::Null);
                let uri = word(resource, "uri");
                if let Some(text) = resource.get("text").and_then(Value::as_str) {
                    return Self::Text(format!("{uri}:\n{text}"));
                }
                let blob = resource.get("blob").and_then(Value::as_str);
                let mut part = kept(&kind, &word(resource, "mimeType"), blob, outputs);
                if let Value::Object(part) = &mut part {
                    part.insert("uri".to_owned(), json!(uri));
                }
                Self::Other(part)
            }
            "resource_link" => {
                let fields = ["uri", "name", "title", "description", "mimeType"];
                let named = fields.iter().filter_map(|name| {
                    let word = word(block, name);
                    (!word.is_empty()).then(|| ((*name).to_owned(), json!(word)))
                });
                let mut part: Map<String, Value> = named.collect();
                part.insert("type".to_owned(), json!(kind));
                Self::Other(Value::Object(part))
            }
            _ => Self::Other(
                json!({"type": kind, "note": "a kind of content that ptk does not know"}),
            ),
        }
    }
}

/// A part that is not text: kept whole, under a handle.
fn kept(kind: &str, media_type: &str, data: Option<&str>, outputs: &Outputs) -> Value {
    let part =
        |name: &str, value: Value| json!({"type": kind, "media_type": media_type, name: value});
    let Some(Ok(bytes)) = data.map(|data| STANDARD.decode(data)) else {
        return part("note", json!("its data cannot be read"));
    };
    match keep(&bytes, outputs) {
        Ok(handle) => {
            json!({"type": kind, "media_type": media_type, "bytes": bytes.len(), "handle": handle})
        }
        Err(error) => part("note", json!(format!("it cannot be kept: {error}"))),
    }
}

fn keep(bytes: &[u8], outputs: &Outputs) -> std::io::Result<String> {
    let mut writer = outputs.create()?;
    writer.write_all(bytes)?;
    Ok(outputs.finish(writer))
}
