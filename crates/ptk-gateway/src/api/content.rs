//! The content of messages: a text, or parts of one.

use std::fmt;

use ptk_protocol::json;
use ptk_protocol::{Arguments, ToolCall};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// The content of a message.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) text: String,
    /// The type of the first part that is not text.
    pub(super) beyond: Option<String>,
    /// The names of deferred tools that it refers to.
    pub(super) references: Vec<String>,
}

/// A part of a message, in any API.
#[derive(Debug, Deserialize)]
struct ContentPart {
    #[serde(rename = "type", default)]
    kind: String,
    text: Option<String>,
    refusal: Option<String>,
    /// The name of a deferred tool.
    tool_name: Option<String>,
    /// Such parts, in the result of a search.
    #[serde(default)]
    tool_references: Vec<ContentPart>,
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ContentVisitor;
        impl<'de> Visitor<'de> for ContentVisitor {
            type Value = Content;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of parts")
            }

            fn visit_str<E>(self, text: &str) -> Result<Content, E> {
                Ok(Content {
                    text: text.to_owned(),
                    ..Content::default()
                })
            }

            /// A part that only some servers know.
            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Content, A::Error> {
                let part = ContentPart::deserialize(MapAccessDeserializer::new(fields))?;
                let references = part.tool_references.into_iter();
                Ok(Content {
                    beyond: Some(part.kind),
                    references: references.filter_map(|part| part.tool_name).collect(),
                    ..Content::default()
                })
            }

            fn visit_unit<E>(self) -> Result<Content, E> {
                Ok(Content::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Content, A::Error> {
                let mut content = Content::default();
                while let Some(part) = parts.next_element::<ContentPart>()? {
                    if part.kind == "tool_reference" {
                        content.references.extend(part.tool_name);
                        continue;
                    }
                    match part.text.or(part.refusal) {
                        Some(text) => {
                            if !content.text.is_empty() && !text.is_empty() {
                                content.text.push('\n');
                            }
                            content.text.push_str(&text);
                        }
                        None => content.beyond = content.beyond.or(Some(part.kind)),
                    }
                }
                Ok(content)
            }
        }
        deserializer.deserialize_any(ContentVisitor)
    }
}

/// A call in a conversation. Invalid arguments are kept as a text.
pub(super) fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    let arguments = arguments.trim();
    let read = |text: &str| Arguments::from_json(text).ok();
    let args = match arguments {
        "" => Arguments::new(),
        text => read(text)
            .or_else(|| read(&json::repair(text).ok()?.json))
            .unwrap_or_else(|| Map::from_iter([("raw".to_owned(), Value::from(text))]).into()),
    };
    ToolCall::new(name, args).with_id(id)
}
