//! The types of raw text, for dialects that write values without JSON's marks.

use serde_json::{Map, Value};

use super::Schema;
use super::budget::Budget;
use super::coerce::{coerce, reading};
use super::kinds::Kinds;
use super::node::Node;
use crate::Arguments;

/// The type of a raw value, known before its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TextKind {
    /// The value is a string, byte for byte: it can be passed on as it arrives.
    String,
    /// The value is whatever the whole text reads as.
    Typed,
}

/// A value read from raw text.
#[derive(Debug, Clone, PartialEq)]
pub struct TypedText {
    /// The value, for callers that can use 64-bit numbers.
    pub value: Value,
    /// Its JSON text, where `value` does not print every digit as written.
    pub exact: Option<String>,
}

impl TypedText {
    /// The value as JSON text, every digit as written.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.exact.clone().unwrap_or_else(|| self.value.to_string())
    }

    fn from_node(node: Node) -> Self {
        if let Node::String(text) = node {
            return Self {
                value: Value::String(text),
                exact: None,
            };
        }
        let value = node.to_value();
        let json = node.to_json();
        let printed = value.to_string();
        let exact = (printed != json).then_some(json);
        Self { value, exact }
    }
}

impl FromIterator<(String, TypedText)> for Arguments {
    fn from_iter<I: IntoIterator<Item = (String, TypedText)>>(values: I) -> Self {
        let values: Vec<(String, TypedText)> = values.into_iter().collect();
        if values.iter().any(|(_, text)| text.exact.is_some()) {
            let entries: Vec<String> = values
                .iter()
                .map(|(name, text)| format!("{}:{}", Value::from(name.as_str()), text.to_json()))
                .collect();
            if let Ok(exact) = Self::from_json(&format!("{{{}}}", entries.join(","))) {
                return exact;
            }
        }
        let map: Map<String, Value> = values
            .into_iter()
            .map(|(name, text)| (name, text.value))
            .collect();
        Self::from(map)
    }
}

/// The type of raw text under this schema.
///
/// Where any string is allowed, the text is a string: nothing in it can then
/// be taken for something else, and it can be streamed.
#[must_use]
pub fn text_kind(schema: Option<Schema<'_>>) -> TextKind {
    match schema {
        Some(schema) if takes_any_string(schema) => TextKind::String,
        _ => TextKind::Typed,
    }
}

/// Reads raw text as the type that the schema asks for.
///
/// Without a schema, or under one that allows every type, the text is JSON if
/// it reads as a JSON number, boolean, null, object or array, and a string
/// otherwise.
///
/// ```
/// use ptk_protocol::schema::{Schema, coerce_text};
/// use serde_json::json;
///
/// let string = json!({"type": "string"});
/// assert_eq!(coerce_text("1.10", Some(Schema::new(&string))).value, json!("1.10"));
///
/// let integer = json!({"type": "integer"});
/// let typed = coerce_text("123456789012345678901", Some(Schema::new(&integer)));
/// assert_eq!(typed.to_json(), "123456789012345678901");
///
/// assert_eq!(coerce_text("true", None).value, json!(true));
/// assert_eq!(coerce_text("007", None).value, json!("007"));
/// ```
#[must_use]
pub fn coerce_text(raw: &str, schema: Option<Schema<'_>>) -> TypedText {
    let as_written = || TypedText {
        value: Value::String(raw.to_owned()),
        exact: None,
    };
    match schema {
        Some(schema) if takes_any_string(schema) => as_written(),
        Some(schema) if Kinds::of_schema(schema) != Kinds::ALL => {
            let text = Node::String(raw.to_owned());
            TypedText::from_node(coerce(schema, text, &mut Vec::new()))
        }
        _ if matches!(raw.trim(), "True" | "False" | "None") => as_written(),
        _ => reading(raw, Kinds::ALL).map_or_else(as_written, TypedText::from_node),
    }
}

/// Reads plain text of a form that has quotes for strings: what reads as a
/// number, boolean, null, list or object is one wherever the schema allows it.
pub(crate) fn coerce_plain(raw: &str, schema: Option<Schema<'_>>) -> TypedText {
    let kinds = schema.map_or(Kinds::ALL, Kinds::of_schema);
    let literal = serde_json::from_str::<serde::de::IgnoredAny>(raw).is_ok();
    match reading(raw, kinds) {
        Some(node) if literal => TypedText::from_node(node),
        _ => coerce_text(raw, schema),
    }
}

/// Whether a string may stand under this schema.
pub(crate) fn allows_string(schema: Option<Schema<'_>>) -> bool {
    schema.is_none_or(|schema| Kinds::of_schema(schema).allows(Kinds::STRING))
}

/// Whether the schema leaves the type open, so that the text itself decides.
pub(crate) fn is_open(schema: Option<Schema<'_>>) -> bool {
    schema.is_none_or(|schema| Kinds::of_schema(schema) == Kinds::ALL)
}

fn takes_any_string(schema: Schema<'_>) -> bool {
    let kinds = Kinds::of_schema(schema);
    let budget = Budget::of(MAX_LOOKED_AT);
    kinds != Kinds::ALL && kinds.allows(Kinds::STRING) && !lists_values(schema, 8, &budget)
}

/// How many schemas are looked at for lists of values.
const MAX_LOOKED_AT: u64 = 2_000;

/// Whether strings are limited to a list, so that text outside it may be
/// something else.
fn lists_values(schema: Schema<'_>, depth: u32, budget: &Budget) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    if !budget.spend(1) {
        return false;
    }
    let node = schema.node();
    if node.get("enum").is_some() || node.get("const").is_some() {
        return true;
    }
    let mut parts = schema
        .referenced()
        .into_iter()
        .chain(schema.branches("allOf"));
    if parts.any(|part| lists_values(part, depth, budget)) {
        return true;
    }
    ["anyOf", "oneOf"].into_iter().any(|keyword| {
        let mut strings = schema
            .branches(keyword)
            .filter(|branch| Kinds::within_budget(*branch, budget).allows(Kinds::STRING))
            .peekable();
        strings.peek().is_some() && strings.all(|branch| lists_values(branch, depth, budget))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn typed(raw: &str, schema: &Value) -> Value {
        coerce_text(raw, Some(Schema::new(schema))).value
    }

    #[test]
    fn the_schema_decides_the_type_of_raw_text() {
        for (schema, raw, expected) in [
            (json!({"type": "string"}), "5", json!("5")),
            (json!({"type": "string"}), "\"x\"", json!("\"x\"")),
            (json!({"type": "string"}), "null", json!("null")),
            (json!({"type": ["string", "null"]}), "null", json!("null")),
            (json!({"type": "integer"}), "5", json!(5)),
            (json!({"type": "integer"}), "\n5\n", json!(5)),
            (json!({"type": "integer"}), "5.0", json!(5)),
            (json!({"type": "integer"}), "007", json!("007")),
            (json!({"type": ["integer", "null"]}), "null", json!(null)),
            (json!({"type": ["integer", "null"]}), "None", json!(null)),
            (json!({"type": "boolean"}), "True", json!(true)),
            (
                json!({"type": "array", "items": {"type": "string"}}),
                "a",
                json!(["a"]),
            ),
            (
                json!({"type": "array", "items": {"type": "string"}}),
                "[1]",
                json!(["1"]),
            ),
            (json!({"type": "object"}), r#"{"a": 1}"#, json!({"a": 1})),
            (
                json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}),
                "3",
                json!(3),
            ),
            (json!({"enum": ["a", 5]}), "5", json!(5)),
            (json!({"enum": ["a", "5"]}), "5", json!("5")),
            (
                json!({"type": "number", "nullable": true}),
                "null",
                json!(null),
            ),
        ] {
            assert_eq!(typed(raw, &schema), expected, "{raw} under {schema}");
        }
    }

    #[test]
    fn without_a_schema_json_is_json_and_the_rest_is_text() {
        for (raw, expected) in [
            ("5", json!(5)),
            ("-1.5e3", json!(-1500.0)),
            ("null", json!(null)),
            ("[1, 2]", json!([1, 2])),
            ("{\"a\":1}", json!({"a": 1})),
            ("{a: 1}", json!("{a: 1}")),
            ("\"x\"", json!("\"x\"")),
            ("True", json!("True")),
            ("1.", json!("1.")),
            (" padded ", json!(" padded ")),
        ] {
            assert_eq!(coerce_text(raw, None).value, expected, "{raw}");
        }
    }

    #[test]
    fn only_text_that_stays_a_string_can_be_streamed() {
        for (schema, kind) in [
            (json!({"type": "string"}), TextKind::String),
            (json!({"type": ["string", "integer"]}), TextKind::String),
            (
                json!({"anyOf": [{"type": "string"}, {"enum": [1]}]}),
                TextKind::String,
            ),
            (json!({"type": "string", "enum": ["a"]}), TextKind::Typed),
            (json!({"type": "integer"}), TextKind::Typed),
            (json!({}), TextKind::Typed),
        ] {
            assert_eq!(text_kind(Some(Schema::new(&schema))), kind, "{schema}");
        }
        assert_eq!(text_kind(None), TextKind::Typed);
    }

    #[test]
    fn arguments_from_raw_text_keep_every_digit() {
        let args: Arguments = [
            ("a".to_owned(), coerce_text("12345678901234567890123", None)),
            ("b".to_owned(), coerce_text("x\"y", None)),
        ]
        .into_iter()
        .collect();
        assert_eq!(
            args.to_json(),
            r#"{"a":12345678901234567890123,"b":"x\"y"}"#
        );
    }
}
