//! The cost of checking one value by one schema.

use serde_json::{Map, Value};

use super::complexity::{Target, Targets, references};
use super::pattern;

/// How many schemas may be applied in one check, beside those that the size of
/// the value accounts for. A check of that many takes some ten milliseconds.
const MAX_APPLIED: u64 = 200_000;
/// How many may be applied for each part of the value.
const PER_PART: u64 = 32;
/// How deep schemas may be nested in each other while a value is checked: each
/// level takes stack.
const MAX_STACK: u32 = 400;
/// The cost of a regular expression that needs backtracking.
const BACKTRACKING: u64 = 2_000;
/// How many bytes of text cost as much as one schema.
const TEXT: usize = 64;

/// Whether a check of this value is affordable: alternatives, references and
/// the depth of the value multiply, and some schemas that look harmless double
/// the work with each level of the value.
pub(super) fn is_affordable(root: &Value, targets: &Targets<'_>, value: &Value) -> bool {
    let mut counter = CostCounter {
        targets,
        left: weight(value)
            .saturating_mul(PER_PART)
            .saturating_add(MAX_APPLIED),
    };
    counter.apply(root, value, MAX_STACK).is_some()
}

/// How large a value is.
fn weight(value: &Value) -> u64 {
    match value {
        Value::String(text) => 1 + (text.len() / TEXT) as u64,
        Value::Array(items) => items.iter().fold(1, |all, item| all + weight(item)),
        Value::Object(members) => members.values().fold(1, |all, member| all + weight(member)),
        _ => 1,
    }
}

struct CostCounter<'s, 't> {
    targets: &'t Targets<'s>,
    left: u64,
}

impl CostCounter<'_, '_> {
    fn spend(&mut self, cost: u64) -> Option<()> {
        self.left = self.left.checked_sub(cost)?;
        Some(())
    }

    fn all<'v>(
        &mut self,
        schemas: impl IntoIterator<Item = &'v Value>,
        value: &Value,
        depth: u32,
    ) -> Option<()> {
        let mut schemas = schemas.into_iter();
        schemas.try_for_each(|schema| self.apply(schema, value, depth))
    }

    /// Counts what is applied to a value, as if every check had to be made.
    /// `None` if that is too much.
    fn apply(&mut self, schema: &Value, value: &Value, depth: u32) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        self.spend(1)?;
        let Some(keywords) = schema.as_object() else {
            return Some(());
        };
        for reference in references(keywords) {
            if let Target::Here(target) = self.targets.get(reference) {
                self.apply(target, value, depth)?;
            }
        }
        for (keyword, part) in keywords {
            match (keyword.as_str(), part) {
                ("allOf", Value::Array(parts)) => self.all(parts, value, depth)?,
                ("anyOf" | "oneOf", Value::Array(parts)) => {
                    // The error of each alternative holds a copy of the value.
                    let copies = weight(value) / PER_PART;
                    self.spend(copies.saturating_mul(parts.len() as u64))?;
                    self.all(parts, value, depth)?;
                }
                ("not" | "if" | "then" | "else", part) => self.apply(part, value, depth)?,
                ("dependentSchemas" | "dependencies", Value::Object(parts)) => {
                    self.all(parts.values(), value, depth)?;
                }
                ("enum", Value::Array(values)) => self.spend(values.len() as u64 / 16)?,
                _ => {}
            }
        }
        match value {
            Value::Object(members) => self.members(keywords, members, depth),
            Value::Array(items) => self.items(keywords, items, depth),
            Value::String(text) => self.text(keywords, text),
            _ => Some(()),
        }
    }

    fn members(
        &mut self,
        keywords: &Map<String, Value>,
        members: &Map<String, Value>,
        depth: u32,
    ) -> Option<()> {
        if let Some(Value::Object(properties)) = keywords.get("properties") {
            for (name, member) in members {
                if let Some(schema) = properties.get(name) {
                    self.apply(schema, member, depth)?;
                }
            }
        }
        if let Some(Value::Object(patterns)) = keywords.get("patternProperties") {
            for (pattern, schema) in patterns {
                let cost = matching(pattern, 0);
                self.spend(cost.saturating_mul(members.len() as u64))?;
                for member in members.values() {
                    self.apply(schema, member, depth)?;
                }
            }
        }
        for keyword in ["additionalProperties", "unevaluatedProperties"] {
            if let Some(schema) = keywords.get(keyword) {
                for member in members.values() {
                    self.apply(schema, member, depth)?;
                }
            }
        }
        if let Some(schema) = keywords.get("propertyNames") {
            for name in members.keys() {
                self.apply(schema, &Value::String(name.clone()), depth)?;
            }
        }
        Some(())
    }

    fn items(&mut self, keywords: &Map<String, Value>, items: &[Value], depth: u32) -> Option<()> {
        for keyword in [
            "items",
            "prefixItems",
            "additionalItems",
            "unevaluatedItems",
            "contains",
        ] {
            match keywords.get(keyword) {
                Some(Value::Array(schemas)) => {
                    for (schema, item) in schemas.iter().zip(items) {
                        self.apply(schema, item, depth)?;
                    }
                }
                Some(schema) => {
                    for item in items {
                        self.apply(schema, item, depth)?;
                    }
                }
                None => {}
            }
        }
        Some(())
    }

    fn text(&mut self, keywords: &Map<String, Value>, text: &str) -> Option<()> {
        match keywords.get("pattern") {
            Some(Value::String(pattern)) => self.spend(matching(pattern, text.len())),
            _ => Some(()),
        }
    }
}

/// The cost of searching for a regular expression in so many bytes.
fn matching(pattern: &str, bytes: usize) -> u64 {
    let base = if pattern::backtracks(pattern) {
        BACKTRACKING
    } else {
        1
    };
    base.saturating_add((bytes / TEXT) as u64)
}
