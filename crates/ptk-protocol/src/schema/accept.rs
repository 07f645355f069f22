//! Whether a value fits a schema, for choosing between readings of a value.
//!
//! The verdict on a call is the full validator's; this check works on exact
//! numbers and on parts of a schema, and leaves out what needs regular
//! expressions.

use serde_json::Value;

use super::Schema;
use super::budget::Budget;
use super::kinds::Kinds;
use super::node::Node;

/// Bytes of a text that count as one visit.
const TEXT: usize = 256;

/// Whether `node` fits `schema`.
pub(crate) fn accepts(schema: Schema<'_>, node: &Node, budget: &Budget) -> bool {
    if !budget.enter() {
        return true;
    }
    let fits = fits(schema, node, budget);
    budget.leave();
    fits
}

fn fits(schema: Schema<'_>, node: &Node, budget: &Budget) -> bool {
    let Some(keywords) = schema.node().as_object() else {
        return schema.node() != &Value::Bool(false);
    };
    if matches!(node, Node::Null) && keywords.get("nullable") == Some(&Value::Bool(true)) {
        return true;
    }
    if !Kinds::within_budget(schema, budget).allows(node.kind()) {
        return false;
    }
    let listed = keywords.get("enum").and_then(Value::as_array);
    let text = match node {
        Node::String(text) => text.len() / TEXT,
        _ => 0,
    };
    if !budget.spend((listed.map_or(0, Vec::len) / 16 + text) as u64) {
        return true;
    }
    if let Some(target) = schema.referenced()
        && !accepts(target, node, budget)
    {
        return false;
    }
    if let Some(values) = listed
        && !values.iter().any(|value| equals(value, node))
    {
        return false;
    }
    if keywords
        .get("const")
        .is_some_and(|value| !equals(value, node))
    {
        return false;
    }
    if !schema
        .branches("allOf")
        .all(|part| accepts(part, node, budget))
    {
        return false;
    }
    for keyword in ["anyOf", "oneOf"] {
        let mut branches = schema.branches(keyword).peekable();
        if branches.peek().is_some() && !branches.any(|branch| accepts(branch, node, budget)) {
            return false;
        }
    }
    match node {
        Node::Number(digits) => in_range(keywords, digits),
        Node::String(text) => within(keywords, "minLength", "maxLength", || text.chars().count()),
        Node::Array(items) => {
            within(keywords, "minItems", "maxItems", || items.len())
                && items.iter().enumerate().all(|(index, item)| {
                    schema
                        .item(index)
                        .is_none_or(|schema| accepts(schema, item, budget))
                })
        }
        Node::Object(entries) => {
            let required = keywords.get("required").and_then(Value::as_array);
            required
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .all(|name| entries.iter().any(|(known, _)| known == name))
                && entries.iter().all(|(name, value)| {
                    schema
                        .own_property(name)
                        .is_none_or(|schema| accepts(schema, value, budget))
                })
        }
        Node::Null | Node::Bool(_) => true,
    }
}

fn equals(value: &Value, node: &Node) -> bool {
    match (value, node) {
        (Value::Number(number), Node::Number(digits)) => {
            number.to_string() == *digits
                || (number.as_f64() == digits.parse().ok() && digits.len() < 16)
        }
        (Value::String(value), Node::String(text)) => value == text,
        (Value::Array(_), Node::Array(_)) | (Value::Object(_), Node::Object(_)) => {
            *value == node.to_value()
        }
        (Value::Null, Node::Null) => true,
        (Value::Bool(value), Node::Bool(is_so)) => value == is_so,
        _ => false,
    }
}

fn in_range(keywords: &serde_json::Map<String, Value>, digits: &str) -> bool {
    let Ok(number) = digits.parse::<f64>() else {
        return true;
    };
    let limit = |name: &str| keywords.get(name).and_then(Value::as_f64);
    limit("minimum").is_none_or(|limit| number >= limit)
        && limit("maximum").is_none_or(|limit| number <= limit)
        && limit("exclusiveMinimum").is_none_or(|limit| number > limit)
        && limit("exclusiveMaximum").is_none_or(|limit| number < limit)
}

fn within(
    keywords: &serde_json::Map<String, Value>,
    least: &str,
    most: &str,
    size: impl FnOnce() -> usize,
) -> bool {
    let least = keywords.get(least).and_then(Value::as_u64);
    let most = keywords.get(most).and_then(Value::as_u64);
    if least.is_none() && most.is_none() {
        return true;
    }
    let size = size() as u64;
    least.is_none_or(|least| size >= least) && most.is_none_or(|most| size <= most)
}
