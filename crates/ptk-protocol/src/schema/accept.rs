//! Whether a value fits a schema, for choosing between readings of a value.
//!
//! The verdict on a call is the full validator's; this check works on exact
//! numbers and on parts of a schema, and leaves out what needs regular
//! expressions.

use std::cell::Cell;

use serde_json::Value;

use super::Schema;
use super::kinds::Kinds;
use super::node::Node;

/// How many schema visits one coercion may spend. Nested alternatives multiply;
/// past this, values are taken as they are.
const MAX_VISITS: u64 = 100_000;

/// How deep visits nest. References may lead in a circle.
const MAX_DEPTH: u32 = 200;

/// Bytes of a text that count as one visit.
const TEXT: usize = 256;

/// The rest of [`MAX_VISITS`] and [`MAX_DEPTH`].
#[derive(Debug)]
pub(crate) struct Budget {
    visits: Cell<u64>,
    depth: Cell<u32>,
}

impl Default for Budget {
    fn default() -> Self {
        Self::of(MAX_VISITS)
    }
}

impl Budget {
    /// Creates a budget of so many visits.
    pub(crate) const fn of(visits: u64) -> Self {
        Self {
            visits: Cell::new(visits),
            depth: Cell::new(MAX_DEPTH),
        }
    }

    /// Begins a visit; `false` if there is none left.
    pub(crate) fn enter(&self) -> bool {
        let depth = self.depth.get();
        if depth == 0 || !self.spend(1) {
            return false;
        }
        self.depth.set(depth - 1);
        true
    }

    /// Ends a visit that was begun.
    pub(crate) fn leave(&self) {
        self.depth.set(self.depth.get() + 1);
    }

    /// Pays for work that takes as long as so many visits; `false` if that is
    /// more than what is left.
    pub(crate) fn spend(&self, visits: u64) -> bool {
        let left = self.visits.get().checked_sub(visits);
        self.visits.set(left.unwrap_or(0));
        left.is_some()
    }
}

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
