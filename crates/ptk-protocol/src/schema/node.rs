//! JSON values whose numbers keep the digits that were written.

use std::collections::HashMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::kinds::Kinds;

/// How deep values nest; `serde_json` stops there, too.
const MAX_DEPTH: u32 = 128;

/// A JSON value as coercion works on it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    Null,
    Bool(bool),
    /// The number's text, a valid JSON number.
    Number(String),
    String(String),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl Node {
    /// Reads JSON text.
    pub(crate) fn parse(json: &str) -> Result<Self, serde_json::Error> {
        Self::parse_within(json, MAX_DEPTH)
    }

    fn parse_within(json: &str, depth: u32) -> Result<Self, serde_json::Error> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(serde::de::Error::custom("nested too deeply"));
        };
        let json = json.trim();
        Ok(match json.bytes().next() {
            Some(b'{') => {
                let Entries(entries) = serde_json::from_str(json)?;
                let mut places: HashMap<String, usize> = HashMap::new();
                let mut object: Vec<(String, Self)> = Vec::with_capacity(entries.len());
                for (name, raw) in entries {
                    let node = Self::parse_within(raw.get(), depth)?;
                    let place = *places.entry(name.clone()).or_insert(object.len());
                    match object.get_mut(place) {
                        Some((_, value)) => *value = node,
                        None => object.push((name, node)),
                    }
                }
                Self::Object(object)
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(json)?;
                let items = items
                    .into_iter()
                    .map(|raw| Self::parse_within(raw.get(), depth));
                Self::Array(items.collect::<Result<_, _>>()?)
            }
            Some(b'-' | b'0'..=b'9') => {
                serde_json::from_str::<&RawValue>(json)?;
                Self::Number(json.to_owned())
            }
            _ => Self::from(&serde_json::from_str::<Value>(json)?),
        })
    }

    /// The JSON text, every digit as written.
    pub(crate) fn to_json(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(digits) => out.push_str(digits),
            Self::String(text) => write_string(out, text),
            Self::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(entries) => {
                out.push('{');
                for (index, (name, value)) in entries.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_string(out, name);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }

    /// The value, with numbers as exact as `serde_json` holds them.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Number(digits) => serde_json::from_str(digits).unwrap_or(Value::Null),
            Self::String(text) => Value::String(text.clone()),
            Self::Array(items) => items.iter().map(Self::to_value).collect(),
            Self::Object(entries) => entries
                .iter()
                .map(|(name, value)| (name.clone(), value.to_value()))
                .collect(),
        }
    }

    /// Replaces strings and names; `with` returns `None` for those that stay.
    /// Returns whether there were any.
    pub(crate) fn map_strings(&mut self, with: &impl Fn(&str) -> Option<String>) -> bool {
        let replace = |text: &mut String| match with(text) {
            Some(changed) => {
                *text = changed;
                true
            }
            None => false,
        };
        match self {
            Self::String(text) => replace(text),
            Self::Array(items) => items
                .iter_mut()
                .fold(false, |any, item| item.map_strings(with) | any),
            Self::Object(entries) => entries.iter_mut().fold(false, |any, (name, value)| {
                replace(name) | value.map_strings(with) | any
            }),
            Self::Null | Self::Bool(_) | Self::Number(_) => false,
        }
    }

    /// About how long it takes to copy it: one for each value in it, and for
    /// every 64 bytes of text.
    pub(crate) fn weight(&self) -> u64 {
        match self {
            Self::Null | Self::Bool(_) => 1,
            Self::Number(text) | Self::String(text) => 1 + text.len() as u64 / 64,
            Self::Array(items) => items.iter().fold(1, |all, item| all + item.weight()),
            Self::Object(entries) => entries
                .iter()
                .fold(1, |all, (_, value)| all + value.weight()),
        }
    }

    /// The one type that the value has.
    pub(crate) fn kind(&self) -> Kinds {
        match self {
            Self::Null => Kinds::NULL,
            Self::Bool(_) => Kinds::BOOLEAN,
            Self::Number(digits) if is_integer(digits) => Kinds::INTEGER,
            Self::Number(_) => Kinds::NUMBER,
            Self::String(_) => Kinds::STRING,
            Self::Array(_) => Kinds::ARRAY,
            Self::Object(_) => Kinds::OBJECT,
        }
    }

    /// The type's name, for messages.
    pub(crate) fn kind_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Number(_) => "number",
            Self::String(_) => "string",
            Self::Array(_) => "array",
            Self::Object(_) => "object",
        }
    }
}

impl From<&Value> for Node {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => Self::Number(number.to_string()),
            Value::String(text) => Self::String(text.clone()),
            Value::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
            Value::Object(map) => Self::Object(
                map.iter()
                    .map(|(name, value)| (name.clone(), Self::from(value)))
                    .collect(),
            ),
        }
    }
}

/// Whether the number is whole, as JSON Schema sees it: `5`, `5.0` and `5e0` are.
fn is_integer(digits: &str) -> bool {
    let plain = digits.strip_prefix('-').unwrap_or(digits);
    plain.bytes().all(|byte| byte.is_ascii_digit())
        || digits
            .parse::<f64>()
            .is_ok_and(|number| number.fract() == 0.0)
}

fn write_string(out: &mut String, text: &str) {
    out.push_str(&Value::from(text).to_string());
}

/// The entries of an object, unread.
struct Entries<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;

        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(EntriesVisitor)
    }
}
