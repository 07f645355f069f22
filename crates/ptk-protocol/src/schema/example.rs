//! Example values that look like real ones, made from a schema and a name.
//!
//! A small model copies what it sees, so nothing here is a placeholder: the
//! schema's own values come first, then an example quoted in the description,
//! then what a parameter of that name usually holds.

mod words;

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::Schema;
use super::accept::accepts;
use super::budget::Budget;
use super::kinds::Kinds;
use super::node::Node;
use crate::{ToolCall, ToolSpec};

/// Which of several possible examples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    First,
    Second,
}

impl Variant {
    fn pick<T>(self, values: &[T]) -> Option<&T> {
        match self {
            Self::First => values.first(),
            Self::Second => values.get(1).or_else(|| values.first()),
        }
    }
}

/// How deep nested objects and arrays are filled.
const MAX_DEPTH: u32 = 6;
/// How many schemas are visited for one example. Required properties multiply
/// with each level of nested objects, and a longer example teaches nothing.
const MAX_VISITS: u64 = 4_000;

/// An example for a parameter of this name.
///
/// ```
/// use ptk_protocol::schema::{Schema, example};
/// use serde_json::json;
///
/// assert_eq!(example::value(Schema::new(&json!({"type": "string"})), "file_path"), "src/main.rs");
/// assert_eq!(example::value(Schema::new(&json!({"enum": ["fast", "slow"]})), "mode"), "fast");
/// ```
#[must_use]
pub fn value(schema: Schema<'_>, name: &str) -> Value {
    make(schema, name, Variant::First, MAX_DEPTH, &budget())
}

fn budget() -> Budget {
    Budget::of(MAX_VISITS)
}

/// Example arguments: the required parameters, or one optional where none is.
#[must_use]
pub fn args(spec: &ToolSpec) -> Map<String, Value> {
    args_variant(spec, Variant::First)
}

/// An example call.
#[must_use]
pub fn call(spec: &ToolSpec) -> ToolCall {
    ToolCall::new(spec.name.clone(), args(spec))
}

/// An example call in the form `read_file(path="src/main.rs")`.
#[must_use]
pub fn call_text(spec: &ToolSpec) -> String {
    let args: Vec<String> = args(spec)
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    format!("{}({})", spec.name, args.join(", "))
}

/// Example arguments of a variant. The second differs from the first in its
/// values and shows an optional parameter where one has values to choose from.
pub(crate) fn args_variant(spec: &ToolSpec, variant: Variant) -> Map<String, Value> {
    let budget = budget();
    let mut args = Map::new();
    for name in spec.required().take_while(|_| budget.spend(1)) {
        args.insert(name.to_owned(), parameter(spec, name, variant, &budget));
    }
    let required: HashSet<&str> = spec.required().collect();
    let declared = spec.properties().into_iter().flatten();
    let optional = declared.filter(|(name, _)| !required.contains(name.as_str()));
    let telling = optional.filter(|(_, schema)| match variant {
        Variant::First => required.is_empty(),
        Variant::Second => required.is_empty() || schema.get("enum").is_some(),
    });
    if let Some((name, _)) = telling.into_iter().next() {
        args.insert(name.clone(), parameter(spec, name, variant, &budget));
    }
    args
}

fn parameter(spec: &ToolSpec, name: &str, variant: Variant, budget: &Budget) -> Value {
    match spec.schema().property(name) {
        Some(schema) => make(schema, name, variant, MAX_DEPTH, budget),
        None => words::text(name, "", variant).into(),
    }
}

fn make(schema: Schema<'_>, name: &str, variant: Variant, depth: u32, budget: &Budget) -> Value {
    let Some(depth) = depth.checked_sub(1) else {
        return Value::Null;
    };
    if !budget.spend(1) {
        return Value::Null;
    }
    if let Some(given) = given(schema, variant, budget) {
        return given;
    }
    for keyword in ["anyOf", "oneOf", "allOf"] {
        let branch = schema
            .branches(keyword)
            .find(|branch| !Kinds::within_budget(*branch, budget).within(Kinds::NULL));
        if let Some(branch) = branch {
            let described = schema.node().get("description");
            return match (described, branch.node().get("description")) {
                (Some(_), None) if branch.node().get("type") == Some(&json!("string")) => {
                    string(schema, branch, name, variant)
                }
                _ => make(branch, name, variant, depth, budget),
            };
        }
    }
    if let Some(target) = schema.referenced() {
        return make(target, name, variant, depth, budget);
    }
    let kinds = Kinds::within_budget(schema, budget);
    if kinds.allows(Kinds::STRING) {
        string(schema, schema, name, variant)
    } else if kinds.allows(Kinds::INTEGER) {
        number(schema, name, variant)
    } else if kinds.allows(Kinds::BOOLEAN) {
        Value::Bool(variant == Variant::First)
    } else if kinds.allows(Kinds::ARRAY) {
        array(schema, name, variant, depth, budget)
    } else if kinds.allows(Kinds::OBJECT) {
        object(schema, variant, depth, budget)
    } else {
        Value::Null
    }
}

/// A value that the schema itself lists and accepts.
fn given(schema: Schema<'_>, variant: Variant, budget: &Budget) -> Option<Value> {
    let node = schema.node();
    if let Some(value) = node.get("const") {
        return Some(value.clone());
    }
    let listed = ["enum", "examples"].into_iter().filter_map(|keyword| {
        let values = node.get(keyword).and_then(Value::as_array)?;
        variant.pick(values)
    });
    let single = ["example", "default"]
        .into_iter()
        .filter_map(|keyword| node.get(keyword));
    listed
        .chain(single)
        .filter(|value| !value.is_null() && **value != json!(""))
        .find(|value| accepts(schema, &Node::from(*value), budget))
        .cloned()
}

fn string(described: Schema<'_>, schema: Schema<'_>, name: &str, variant: Variant) -> Value {
    let keyword = |schema: Schema<'_>, name: &str| {
        let text = schema.node().get(name).and_then(Value::as_str);
        text.map(str::to_owned).unwrap_or_default()
    };
    let description = keyword(described, "description");
    let text = words::format(&keyword(schema, "format"), variant)
        .map(str::to_owned)
        .or_else(|| quoted_example(&description).filter(|_| variant == Variant::First))
        .unwrap_or_else(|| words::text(name, &description, variant).to_owned());
    fit_length(schema, text).into()
}

/// Cuts or lengthens a text to what the schema allows.
fn fit_length(schema: Schema<'_>, text: String) -> String {
    /// A longer example teaches nothing.
    const MAX_LENGTH: usize = 200;

    let limit = |name: &str| {
        let limit = schema.node().get(name).and_then(Value::as_u64);
        limit.and_then(|limit| usize::try_from(limit).ok())
    };
    let most = limit("maxLength").unwrap_or(MAX_LENGTH);
    let least = limit("minLength").unwrap_or(0).min(MAX_LENGTH);
    if text.is_empty() {
        return text;
    }
    let needed = text.chars().count().max(least).min(most);
    text.chars().cycle().take(needed).collect()
}

/// The example that a description quotes: `(e.g., 'src/index.ts')`.
fn quoted_example(description: &str) -> Option<String> {
    const MAX_LENGTH: usize = 60;

    let (_, behind) = ["e.g.", "for example", "such as", "Example:", "example:"]
        .iter()
        .find_map(|lead| description.split_once(lead))?;
    let start = behind.find(['\'', '"', '`'])?;
    let quote = behind.get(start..)?.chars().next()?;
    let (example, _) = behind.get(start + 1..)?.split_once(quote)?;
    let usable =
        !example.trim().is_empty() && example.len() <= MAX_LENGTH && !example.contains(['<', '\n']);
    usable.then(|| example.to_owned())
}

fn number(schema: Schema<'_>, name: &str, variant: Variant) -> Value {
    let limit = |name: &str| schema.node().get(name).and_then(Value::as_f64);
    let whole = !Kinds::of_schema(schema).allows(Kinds::NUMBER);
    let usual = words::number(name, variant);
    let step = limit("multipleOf").filter(|step| *step > 0.0);
    let least = limit("minimum").or_else(|| limit("exclusiveMinimum").map(|least| least + 1.0));
    let most = limit("maximum").or_else(|| limit("exclusiveMaximum").map(|most| most - 1.0));
    let mut number = usual
        .max(least.unwrap_or(f64::MIN))
        .min(most.unwrap_or(f64::MAX));
    if let Some(step) = step {
        number = (number / step).ceil() * step;
    }
    if whole || number.fract() == 0.0 {
        let digits = format!("{number:.0}");
        return serde_json::from_str(&digits).unwrap_or_else(|_| json!(1));
    }
    json!(number)
}

fn array(schema: Schema<'_>, name: &str, variant: Variant, depth: u32, budget: &Budget) -> Value {
    /// More items teach nothing.
    const MAX_ITEMS: u64 = 4;

    let least = schema.node().get("minItems").and_then(Value::as_u64);
    let count = least.unwrap_or(1).clamp(1, MAX_ITEMS);
    let singular = name.strip_suffix('s').unwrap_or(name);
    (0..count)
        .map(|index| {
            let index = usize::try_from(index).unwrap_or_default();
            let variant = if index % 2 == 1 {
                Variant::Second
            } else {
                variant
            };
            match schema.item(index) {
                Some(item) => make(item, singular, variant, depth, budget),
                None => words::text(singular, "", variant).into(),
            }
        })
        .collect()
}

fn object(schema: Schema<'_>, variant: Variant, depth: u32, budget: &Budget) -> Value {
    let properties = schema.node().get("properties").and_then(Value::as_object);
    let required = schema.node().get("required").and_then(Value::as_array);
    let required: HashSet<&str> = required
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let mut names: Vec<&String> = properties
        .into_iter()
        .flat_map(Map::keys)
        .filter(|name| required.contains(name.as_str()))
        .take_while(|_| budget.spend(1))
        .collect();
    if names.is_empty() {
        names.extend(properties.into_iter().flat_map(Map::keys).next());
    }
    names
        .into_iter()
        .filter_map(|name| {
            let schema = schema.own_property(name)?;
            Some((name.clone(), make(schema, name, variant, depth, budget)))
        })
        .collect()
}

/// Whether the tool's own schema accepts the example.
pub(crate) fn fits(spec: &ToolSpec, args: &Map<String, Value>) -> bool {
    let node = Node::from(&Value::Object(args.clone()));
    accepts(spec.schema(), &node, &Budget::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(schema: &Value, name: &str) -> Value {
        value(Schema::new(schema), name)
    }

    #[test]
    fn examples_look_real_and_follow_the_schema() {
        for (schema, name, expected) in [
            (json!({"type": "string"}), "path", json!("src/main.rs")),
            (json!({"type": "string"}), "filePath", json!("src/main.rs")),
            (json!({"type": "string"}), "city", json!("Paris")),
            (
                json!({"type": "string", "format": "date"}),
                "when",
                json!("2025-03-14"),
            ),
            (
                json!({"type": "string", "default": "utf-8"}),
                "encoding",
                json!("utf-8"),
            ),
            (
                json!({"type": "string", "examples": ["x1"]}),
                "code",
                json!("x1"),
            ),
            (
                json!({"type": "string", "maxLength": 2}),
                "country",
                json!("Fr"),
            ),
            (
                json!({"type": "string", "description": "A path (e.g., 'src/index.ts')"}),
                "path",
                json!("src/index.ts"),
            ),
            (
                json!({"type": "integer", "minimum": 50}),
                "limit",
                json!(50),
            ),
            (
                json!({"type": "number", "maximum": 0.5}),
                "ratio",
                json!(0.5),
            ),
            (
                json!({"type": "array", "items": {"type": "string"}}),
                "file_paths",
                json!(["src/main.rs"]),
            ),
            (
                json!({"anyOf": [{"type": "null"}, {"type": "integer"}]}),
                "count",
                json!(3),
            ),
            (
                json!({"type": "object", "properties": {"city": {"type": "string"}}}),
                "where",
                json!({"city": "Paris"}),
            ),
        ] {
            assert_eq!(of(&schema, name), expected, "{name} under {schema}");
        }
    }

    #[test]
    fn no_example_is_a_placeholder() {
        let placeholders = [
            "string",
            "value",
            "param",
            "text",
            "example",
            "foo",
            "tool_name",
            "",
        ];
        for name in [
            "x", "param1", "value", "text", "string", "data", "input", "payload", "zzz",
        ] {
            for variant in [Variant::First, Variant::Second] {
                let schema = json!({"type": "string"});
                let made = make(Schema::new(&schema), name, variant, MAX_DEPTH, &budget());
                assert!(
                    !placeholders.contains(&made.as_str().unwrap()),
                    "{name}: {made}"
                );
            }
        }
    }

    /// The example in a suggestion is a call with every required parameter.
    #[test]
    fn the_example_call_names_every_required_parameter() {
        let spec = ToolSpec::new(
            "write_file",
            "Write a file",
            json!({"type": "object", "required": ["path", "content"], "properties": {
                "path": {"type": "string"}, "content": {"type": "string"},
                "mode": {"type": "string", "enum": ["replace", "append"]},
            }}),
        );
        assert_eq!(
            call_text(&spec),
            r#"write_file(path="src/main.rs", content="Hello, world!\n")"#
        );
        assert!(fits(&spec, &args(&spec)));
        assert!(args_variant(&spec, Variant::Second).contains_key("mode"));
    }

    #[test]
    fn recursive_schemas_end() {
        let schema = json!({"$ref": "#/$defs/t", "$defs": {"t": {
            "type": "object", "required": ["child"], "properties": {"child": {"$ref": "#/$defs/t"}},
        }}});
        assert!(of(&schema, "tree").is_object());
        let loops = json!({"$ref": "#"});
        assert_eq!(of(&loops, "x"), Value::Null);
    }
}
