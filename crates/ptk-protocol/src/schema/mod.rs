//! Everything by JSON Schema: checks and coercion of arguments, the types of
//! raw text, example values, and what is poor about a definition.

mod accept;
mod budget;
mod check;
mod coerce;
mod compile;
mod complexity;
mod cost;
pub mod example;
mod fault;
mod kinds;
mod lint;
mod node;
mod pattern;
pub mod suggest;
mod text;
mod validate;

use serde_json::Value;

pub(crate) use accept::accepts;
pub(crate) use budget::Budget;
pub(crate) use check::faults;
pub use check::{Check, CheckOptions, check, check_with, coerced};
pub use coerce::Coercion;
pub(crate) use compile::Compiled;
pub use complexity::{Complexity, ComplexityError};
pub use fault::Fault;
pub(crate) use kinds::Kinds;
pub use lint::Lint;
pub(crate) use node::Node;
pub use text::{TextKind, TypedText, coerce_text, text_kind};
pub(crate) use text::{allows_string, coerce_plain, is_open};
pub use validate::{Validation, validate, validate_call, validate_json_call};

/// A part of a JSON Schema, together with the whole that its local references
/// (`#/$defs/…`) point into.
///
/// ```
/// use ptk_protocol::schema::Schema;
/// use serde_json::json;
///
/// let parameters = json!({
///     "properties": {"size": {"$ref": "#/$defs/size"}},
///     "$defs": {"size": {"type": "integer"}},
/// });
/// let size = Schema::new(&parameters).property("size").unwrap();
/// assert_eq!(size.resolved().node(), &json!({"type": "integer"}));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schema<'a> {
    node: &'a Value,
    root: &'a Value,
}

/// How many references in a row are followed.
const MAX_REFERENCES: usize = 16;

/// How deep a property is looked for in references and combinators.
const MAX_SEARCH_DEPTH: usize = 8;

/// How many schemas are searched for a property: references in every one of
/// many alternatives multiply.
const MAX_SEARCHED: u64 = 2_000;

impl<'a> Schema<'a> {
    /// Creates a schema from its root.
    #[must_use]
    pub const fn new(root: &'a Value) -> Self {
        Self { node: root, root }
    }

    /// The JSON of the part itself.
    #[must_use]
    pub const fn node(self) -> &'a Value {
        self.node
    }

    /// Another part of the same whole.
    pub(crate) const fn part(self, node: &'a Value) -> Self {
        Self {
            node,
            root: self.root,
        }
    }

    /// The part with its references followed. Keywords beside a `$ref` are left
    /// behind.
    #[must_use]
    pub fn resolved(self) -> Self {
        let mut schema = self;
        for _ in 0..MAX_REFERENCES {
            match schema.referenced() {
                Some(target) => schema = target,
                None => break,
            }
        }
        schema
    }

    /// The schema of a property, wherever references and combinators have it.
    #[must_use]
    pub fn property(self, name: &str) -> Option<Self> {
        let budget = Budget::of(MAX_SEARCHED);
        self.find(MAX_SEARCH_DEPTH, &budget, &|part| part.own_property(name))
    }

    /// Whether a property is declared by its name, wherever references and
    /// combinators have it.
    pub(crate) fn declares(self, name: &str) -> bool {
        let own = |part: Self| Some(part.part(part.node.get("properties")?.get(name)?));
        let budget = Budget::of(MAX_SEARCHED);
        self.find(MAX_SEARCH_DEPTH, &budget, &own).is_some()
    }

    /// Whether some part of the schema says which other arguments it takes than
    /// the declared ones.
    pub(crate) fn rules_others(self) -> bool {
        const KEYWORDS: [&str; 3] = [
            "additionalProperties",
            "patternProperties",
            "unevaluatedProperties",
        ];
        let own = |part: Self| {
            let mut keywords = KEYWORDS.iter();
            keywords.find_map(|keyword| Some(part.part(part.node.get(keyword)?)))
        };
        let budget = Budget::of(MAX_SEARCHED);
        self.find(MAX_SEARCH_DEPTH, &budget, &own).is_some()
    }

    /// What `own` finds in this part, or else in those that references and
    /// combinators add to it.
    fn find(
        self,
        depth: usize,
        budget: &Budget,
        own: &dyn Fn(Self) -> Option<Self>,
    ) -> Option<Self> {
        let depth = depth.checked_sub(1)?;
        if !budget.spend(1) {
            return None;
        }
        own(self).or_else(|| {
            self.referenced()
                .into_iter()
                .chain(
                    ["allOf", "anyOf", "oneOf"]
                        .into_iter()
                        .flat_map(|keyword| self.branches(keyword)),
                )
                .find_map(|part| part.find(depth, budget, own))
        })
    }

    /// The schema that a keyword of this very part has for a property.
    pub(crate) fn own_property(self, name: &str) -> Option<Self> {
        let declared = self.node.get("properties").and_then(|all| all.get(name));
        let others = || {
            let others = self.node.get("additionalProperties");
            others.filter(|_| self.node.get("patternProperties").is_none())
        };
        declared.or_else(others).map(|node| self.part(node))
    }

    /// The schema that a keyword of this very part has for an item of an array.
    fn item(self, index: usize) -> Option<Self> {
        let prefix = self.node.get("prefixItems").and_then(Value::as_array);
        prefix
            .and_then(|prefix| prefix.get(index))
            .or_else(|| self.node.get("items").filter(|items| !items.is_array()))
            .map(|node| self.part(node))
    }

    /// The schema of an array's items.
    pub(crate) fn items(self) -> Option<Self> {
        self.item(0)
    }

    /// The target of a local `$ref`.
    pub(crate) fn referenced(self) -> Option<Self> {
        let reference = self.node.get("$ref")?.as_str()?;
        let pointer = reference.strip_prefix('#')?;
        self.root.pointer(pointer).map(|node| self.part(node))
    }

    /// The alternatives or parts of a combining keyword.
    pub(crate) fn branches(self, keyword: &str) -> impl Iterator<Item = Self> + use<'a> {
        let branches = self.node.get(keyword).and_then(Value::as_array);
        branches
            .into_iter()
            .flatten()
            .map(move |node| self.part(node))
    }
}
