//! Which JSON types a schema allows.

use serde_json::Value;

use super::Schema;
use super::budget::Budget;

/// A set of JSON types. `NUMBER` stands for numbers with a fraction, so a
/// schema of type `number` allows both number bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Kinds(u8);

impl Kinds {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const BOOLEAN: Self = Self(1 << 1);
    pub(crate) const INTEGER: Self = Self(1 << 2);
    pub(crate) const NUMBER: Self = Self(1 << 3);
    pub(crate) const STRING: Self = Self(1 << 4);
    pub(crate) const ARRAY: Self = Self(1 << 5);
    pub(crate) const OBJECT: Self = Self(1 << 6);
    pub(crate) const ANY_NUMBER: Self = Self((1 << 2) | (1 << 3));
    pub(crate) const ARRAY_OR_NULL: Self = Self((1 << 5) | 1);
    pub(crate) const ARRAY_OR_OBJECT: Self = Self((1 << 5) | (1 << 6));
    pub(crate) const ALL: Self = Self((1 << 7) - 1);

    pub(crate) const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether one of `other`'s types is in the set.
    pub(crate) const fn allows(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether the set holds nothing but types of `other`.
    pub(crate) const fn within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// The types of a `type` keyword's name. Names of other type systems that
    /// tool authors write by mistake are understood.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        canonical_name(name).map(|name| match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self::INTEGER.union(Self::NUMBER),
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => Self::ALL,
        })
    }

    /// The types of a `type` keyword; `None` if one of them is unknown.
    pub(crate) fn of_type(keyword: &Value) -> Option<Self> {
        match keyword {
            Value::String(name) => Self::of_name(name),
            Value::Array(names) => names
                .iter()
                .map(|name| name.as_str().and_then(Self::of_name))
                .try_fold(Self::NONE, |all, kinds| kinds.map(|k| all.union(k))),
            _ => None,
        }
    }

    fn of_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if number.is_f64() => Self::NUMBER,
            Value::Number(_) => Self::INTEGER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    /// The types that the schema allows, as far as its `type`, `enum`, `const`
    /// and combining keywords say.
    pub(crate) fn of_schema(schema: Schema<'_>) -> Self {
        Self::within_budget(schema, &Budget::of(MAX_VISITS))
    }

    /// The types that the schema allows, paid for out of a budget. Where that
    /// is spent, anything is allowed.
    pub(crate) fn within_budget(schema: Schema<'_>, budget: &Budget) -> Self {
        schema_kinds(schema, MAX_DEPTH, budget)
    }
}

/// How deep references and combinators are followed; deeper allows anything.
const MAX_DEPTH: u32 = 16;
/// How many schemas are looked at; with more, anything is allowed.
const MAX_VISITS: u64 = 2_000;

fn schema_kinds(schema: Schema<'_>, depth: u32, budget: &Budget) -> Kinds {
    let Some(depth) = depth.checked_sub(1) else {
        return Kinds::ALL;
    };
    if !budget.spend(1) {
        return Kinds::ALL;
    }
    let Some(keywords) = schema.node().as_object() else {
        return match schema.node() {
            Value::Bool(false) => Kinds::NONE,
            _ => Kinds::ALL,
        };
    };
    let mut kinds = Kinds::ALL;
    if let Some(allowed) = keywords.get("type").and_then(Kinds::of_type) {
        kinds = allowed;
    }
    if let Some(values) = keywords.get("enum").and_then(Value::as_array) {
        if !budget.spend(values.len() as u64 / 64) {
            return Kinds::ALL;
        }
        let of_values = values.iter().map(Kinds::of_value);
        kinds = kinds.intersection(of_values.fold(Kinds::NONE, Kinds::union));
    }
    if let Some(value) = keywords.get("const") {
        kinds = kinds.intersection(Kinds::of_value(value));
    }
    if let Some(target) = schema.referenced() {
        kinds = kinds.intersection(schema_kinds(target, depth, budget));
    }
    for part in schema.branches("allOf") {
        kinds = kinds.intersection(schema_kinds(part, depth, budget));
    }
    for keyword in ["anyOf", "oneOf"] {
        let mut branches = schema.branches(keyword).peekable();
        if branches.peek().is_some() {
            let union = branches
                .map(|branch| schema_kinds(branch, depth, budget))
                .fold(Kinds::NONE, Kinds::union);
            kinds = kinds.intersection(union);
        }
    }
    if keywords.get("nullable") == Some(&Value::Bool(true)) {
        kinds = kinds.union(Kinds::NULL);
    }
    kinds
}

/// JSON Schema's name for a type, or `any`; `None` if the name is unknown.
pub(crate) fn canonical_name(name: &str) -> Option<&'static str> {
    Some(match name {
        "null" | "none" | "None" => "null",
        "boolean" | "bool" | "Boolean" => "boolean",
        "integer" | "int" | "Integer" | "long" => "integer",
        "number" | "float" | "double" | "Number" => "number",
        "string" | "str" | "String" => "string",
        "array" | "list" | "tuple" | "Array" => "array",
        "object" | "dict" | "Object" | "map" => "object",
        "any" => "any",
        _ => return None,
    })
}
