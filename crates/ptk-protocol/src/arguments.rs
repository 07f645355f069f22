//! The arguments of a call: an object whose numbers are kept exact.

mod flat;

use std::collections::HashMap;
use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::json::decode::Decoded;
use crate::schema::Node;

/// The arguments of a call, by name.
///
/// `serde_json` holds a number as a 64-bit integer or float. Where the model
/// wrote one that fits neither, the JSON text is kept beside the parsed map,
/// so that no digit is lost on the way to a tool.
///
/// ```
/// use ptk_protocol::Arguments;
///
/// let args = Arguments::from_json(r#"{"id": 123456789012345678901234567890}"#)?;
/// assert_eq!(args.to_json(), r#"{"id":123456789012345678901234567890}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Arguments {
    map: Map<String, Value>,
    exact: Option<Box<RawValue>>,
}

impl Arguments {
    /// Creates empty arguments: `{}`.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates arguments, some of which have to keep the JSON they were written
    /// in.
    pub(crate) fn with_exact(map: Map<String, Value>, exact: &[(String, String)]) -> Self {
        if exact.is_empty() {
            return Self { map, exact: None };
        }
        let members: Vec<String> = map
            .iter()
            .map(|(name, value)| {
                let written = exact.iter().find(|(key, _)| key == name);
                let json = written.map_or_else(|| value.to_string(), |(_, json)| json.clone());
                format!("{}:{json}", Value::from(name.as_str()))
            })
            .collect();
        let raw = RawValue::from_string(format!("{{{}}}", members.join(","))).ok();
        Self { map, exact: raw }
    }

    /// Reads a JSON object.
    ///
    /// # Errors
    ///
    /// If `json` is not a JSON object.
    pub fn from_json(json: &str) -> Result<Self, serde_json::Error> {
        Self::from_json_at(json, 0, Vec::new())
    }

    /// Reads a JSON object that stands at `offset` of a text some strings of
    /// which are decoded already.
    pub(crate) fn from_json_at(
        json: &str,
        offset: usize,
        decoded: Vec<Decoded>,
    ) -> Result<Self, serde_json::Error> {
        let (map, is_exact) = match flat::read(json, offset, decoded) {
            Some(read) => read,
            None => (serde_json::from_str(json)?, !has_inexact_number(json)),
        };
        let exact = if is_exact {
            None
        } else {
            Some(RawValue::from_string(compact(json))?)
        };
        Ok(Self { map, exact })
    }

    /// The arguments as a map, for callers that can use 64-bit numbers.
    #[must_use]
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.map
    }

    /// Returns the arguments as a map, for callers that can use 64-bit numbers.
    #[must_use]
    pub fn into_map(self) -> Map<String, Value> {
        self.map
    }

    /// The value of one argument.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.map.get(name)
    }

    /// Whether there are no arguments.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// Each argument: its name, its value, and its JSON with every digit.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, &Value, String)> {
        let exact: HashMap<String, Box<RawValue>> = self
            .exact
            .as_ref()
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default();
        self.map.iter().map(move |(name, value)| {
            let json = exact
                .get(name)
                .map_or_else(|| value.to_string(), |raw| raw.get().to_owned());
            (name.as_str(), value, json)
        })
    }

    /// Shows the arguments to `look` as one value, without copying them.
    pub(crate) fn with_value<T>(self, look: impl FnOnce(&Value) -> T) -> (T, Self) {
        let value = Value::Object(self.map);
        let seen = look(&value);
        let map = match value {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        let exact = self.exact;
        (seen, Self { map, exact })
    }

    /// Replaces strings and names; `with` gives `None` for those that stay.
    pub(crate) fn map_strings(self, with: &impl Fn(&str) -> Option<String>) -> Self {
        let mut node = self.to_node();
        if node.map_strings(with)
            && let Ok(changed) = Self::from_json(&node.to_json())
        {
            return changed;
        }
        self
    }

    /// The arguments with every digit as written.
    pub(crate) fn to_node(&self) -> Node {
        let exact = self
            .exact
            .as_ref()
            .and_then(|raw| Node::parse(raw.get()).ok());
        exact.unwrap_or_else(|| {
            let entries = self.map.iter();
            Node::Object(
                entries
                    .map(|(name, value)| (name.clone(), Node::from(value)))
                    .collect(),
            )
        })
    }

    /// The arguments as JSON text, every digit as written.
    #[must_use]
    pub fn to_json(&self) -> String {
        match &self.exact {
            Some(raw) => raw.get().to_owned(),
            None => Value::Object(self.map.clone()).to_string(),
        }
    }
}

impl From<Map<String, Value>> for Arguments {
    fn from(map: Map<String, Value>) -> Self {
        Self { map, exact: None }
    }
}

impl PartialEq for Arguments {
    fn eq(&self, other: &Self) -> bool {
        self.map == other.map
            && self.exact.as_ref().map(|raw| raw.get()) == other.exact.as_ref().map(|raw| raw.get())
    }
}

impl fmt::Debug for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json())
    }
}

impl Serialize for Arguments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.exact {
            Some(raw) => raw.serialize(serializer),
            None => self.map.serialize(serializer),
        }
    }
}

/// A whole number of at most this many digits fits into 64 bits.
const EXACT_DIGITS: usize = 15;

/// Whether the JSON text holds a number that would be printed with other digits
/// than those written: too long for 64 bits, or of a form such as `1.10`.
/// Digits inside strings do not count.
pub(crate) fn has_inexact_number(json: &str) -> bool {
    let bytes = json.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => at = skip_string(bytes, at + 1),
            b'-' | b'0'..=b'9' => {
                let start = at;
                while bytes
                    .get(at)
                    .is_some_and(|b| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'))
                {
                    at += 1;
                }
                let number = json.get(start..at).unwrap_or("");
                let plain = !number.contains(['.', 'e', 'E']);
                if !(plain && number.len() <= EXACT_DIGITS && number != "-0")
                    && serde_json::from_str(number).is_ok_and(|value: Value| {
                        let printed = value.to_string();
                        printed != number
                    })
                {
                    return true;
                }
            }
            _ => at += 1,
        }
    }
    false
}

/// The JSON without the white space between its tokens, so that it stays on
/// one line wherever it is printed.
fn compact(json: &str) -> String {
    let bytes = json.as_bytes();
    let mut text = String::with_capacity(json.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let behind = match byte {
            b'"' => skip_string(bytes, at + 1),
            _ => at + 1,
        };
        if !byte.is_ascii_whitespace() {
            text.push_str(json.get(at..behind).unwrap_or(""));
        }
        at = behind;
    }
    text
}

/// The offset behind the string whose content starts at `at`.
fn skip_string(bytes: &[u8], mut at: usize) -> usize {
    while let Some(found) = bytes
        .get(at..)
        .and_then(|rest| memchr::memchr2(b'"', b'\\', rest))
    {
        at += found;
        if bytes.get(at) == Some(&b'"') {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_beyond_64_bits_keep_their_digits() {
        for json in [
            r#"{"n":123456789012345678901234567890}"#,
            r#"{"n":0.12345678901234567890123}"#,
            r#"{"a":[{"n":-99999999999999999999}]}"#,
            r#"{"version":1.10}"#,
            r#"{"n":1E5}"#,
        ] {
            assert_eq!(Arguments::from_json(json).unwrap().to_json(), json);
        }
    }

    #[test]
    fn exact_arguments_stay_on_one_line() {
        let json = "{\n  \"n\": 1.50,\n  \"s\": \"a \\\" b\"\n}";
        let args = Arguments::from_json(json).unwrap();
        assert_eq!(args.to_json(), r#"{"n":1.50,"s":"a \" b"}"#);
    }

    #[test]
    fn ordinary_arguments_keep_no_second_copy() {
        for json in [
            r#"{"n":9007199254740993}"#,
            r#"{"s":"123456789012345678901234567890 \" 1"}"#,
            r#"{"n":18446744073709551615}"#,
            r#"{"n":1.5}"#,
        ] {
            assert!(
                Arguments::from_json(json).unwrap().exact.is_none(),
                "{json}"
            );
        }
    }
}
