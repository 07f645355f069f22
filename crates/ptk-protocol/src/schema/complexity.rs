//! How much work a schema can cause, measured before it is used.
//!
//! A schema is a graph: `$ref` makes a short text stand for any number of
//! checks. Two definitions that each refer twice to the next one double the
//! work with every level, and a reference that leads back to itself without
//! going into the value never ends. Schemas come from clients and from other
//! programs, so each is measured once, in linear time, before anything follows
//! its references.

use std::collections::{HashMap, HashSet};
use std::ptr;

use serde_json::{Map, Value};

use super::pattern;

/// The most schemas in one definition. The compiled form takes about half a
/// kilobyte for each.
pub(crate) const MAX_SCHEMAS: usize = 50_000;
/// The most schemas that apply to one and the same value, references and
/// alternatives multiplied out. The largest unions in use have some hundreds of
/// members.
pub(crate) const MAX_APPLIED: u64 = 10_000;
/// How deep references and combining keywords that apply to one value may nest.
/// Each takes stack while a value is checked.
pub(crate) const MAX_NESTED: usize = 32;
/// The most different targets of references. A chain of them is followed
/// recursively when the schema is compiled.
pub(crate) const MAX_TARGETS: usize = 500;
/// The largest size of all regular expressions together, in single characters
/// and classes after repetitions are multiplied out.
pub(crate) const MAX_PATTERNS: u64 = 20_000;

/// The cost of using a schema.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Complexity {
    /// How many schemas there are in it.
    pub schemas: usize,
    /// The most schemas that apply to one value.
    pub applied: u64,
    /// Whether it refers to parts of itself.
    pub has_references: bool,
    /// Whether one of its regular expressions needs backtracking.
    pub(crate) backtracks: bool,
    /// A reference that is not followed, because it does not point into this
    /// schema by a JSON pointer or an anchor.
    pub(crate) foreign: Option<String>,
    /// Whether parts of it have names of their own, beside their paths.
    pub(crate) has_anchors: bool,
}

/// Why a schema is too complex to be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ComplexityError {
    /// The schema contains too many schemas.
    #[error("it consists of more than {MAX_SCHEMAS} schemas")]
    TooManySchemas,
    /// References and alternatives multiply.
    #[error(
        "its references and alternatives multiply to more than {MAX_APPLIED} checks of one value"
    )]
    TooManyChecks,
    /// A reference leads back to itself without going into the value.
    #[error("the reference `{reference}` leads back to itself without end")]
    Endless {
        /// The reference, as it is written.
        reference: String,
    },
    /// References and alternatives are nested too deeply.
    #[error("more than {MAX_NESTED} references and alternatives are nested in each other")]
    TooDeep,
    /// There are too many targets of references.
    #[error("it refers to more than {MAX_TARGETS} different definitions")]
    TooManyTargets,
    /// The regular expressions of the schema are too large.
    #[error(
        "its regular expressions are larger than {MAX_PATTERNS} characters, repetitions multiplied out"
    )]
    Patterns,
}

impl Complexity {
    /// A reference that is not followed, because it does not point into the
    /// schema itself. Such a schema cannot be checked.
    #[must_use]
    pub fn foreign_reference(&self) -> Option<&str> {
        self.foreign.as_deref()
    }

    /// Measures a schema.
    ///
    /// # Errors
    ///
    /// If it is too complex to be used.
    ///
    /// ```
    /// use ptk_protocol::schema::{Complexity, ComplexityError};
    /// use serde_json::json;
    ///
    /// let tree = json!({"type": "object", "properties": {"child": {"$ref": "#"}}});
    /// assert_eq!(Complexity::of(&tree)?.schemas, 2);
    ///
    /// let endless = json!({"anyOf": [{"$ref": "#"}]});
    /// assert!(matches!(Complexity::of(&endless), Err(ComplexityError::Endless { .. })));
    /// # Ok::<(), ComplexityError>(())
    /// ```
    pub fn of(schema: &Value) -> Result<Self, ComplexityError> {
        let targets = Targets::of(schema);
        let mut measured = Self {
            has_anchors: !targets.anchors.is_empty(),
            ..Self::default()
        };
        let mut patterns = 0_u64;
        let mut seen = HashSet::new();
        let mut referenced = HashSet::new();
        let mut waiting = vec![schema];
        let mut all = Vec::new();
        while let Some(next) = waiting.pop() {
            if !seen.insert(ptr::from_ref(next)) {
                continue;
            }
            measured.schemas += 1;
            if measured.schemas > MAX_SCHEMAS {
                return Err(ComplexityError::TooManySchemas);
            }
            let Some(keywords) = next.as_object() else {
                continue;
            };
            all.push(next);
            for text in pattern::all(keywords) {
                patterns = patterns.saturating_add(pattern::size(text));
                measured.backtracks |= pattern::backtracks(text);
            }
            if keywords.get("$id").is_some_and(Value::is_string) && !ptr::eq(next, schema) {
                measured.foreign = Some("$id".to_owned());
            }
            for reference in references(keywords) {
                measured.has_references = true;
                match targets.get(reference) {
                    Target::Here(target) => {
                        referenced.insert(ptr::from_ref(target));
                        waiting.push(target);
                    }
                    Target::Missing => {}
                    Target::Elsewhere => measured.foreign = Some(reference.to_owned()),
                }
            }
            waiting.extend(in_place(keywords));
            waiting.extend(below(keywords));
        }
        if referenced.len() > MAX_TARGETS {
            return Err(ComplexityError::TooManyTargets);
        }
        if patterns > MAX_PATTERNS {
            return Err(ComplexityError::Patterns);
        }
        let mut counter = SchemaCounter {
            targets: &targets,
            counted: HashMap::new(),
        };
        for schema in all {
            let (applied, _) = counter.count(schema, None, 0)?;
            measured.applied = measured.applied.max(applied);
        }
        Ok(measured)
    }
}

/// Counts the schemas that apply to one value.
struct SchemaCounter<'s> {
    targets: &'s Targets<'s>,
    /// The results so far: how many schemas there are, and how deep they nest.
    /// `None` for one whose count is under way.
    counted: HashMap<*const Value, Option<(u64, usize)>>,
}

impl<'s> SchemaCounter<'s> {
    /// Counts a schema. `by` is the reference that leads here, `outer` how many
    /// schemas this one is nested in.
    fn count(
        &mut self,
        schema: &'s Value,
        by: Option<&str>,
        outer: usize,
    ) -> Result<(u64, usize), ComplexityError> {
        let Some(keywords) = schema.as_object() else {
            return Ok((1, 1));
        };
        match self.counted.get(&ptr::from_ref(schema)) {
            Some(Some(known)) => return Ok(*known),
            // It contains itself, and only a reference can bring that about.
            Some(None) => {
                return Err(ComplexityError::Endless {
                    reference: by.unwrap_or("$ref").to_owned(),
                });
            }
            None => {}
        }
        if outer > MAX_NESTED {
            return Err(ComplexityError::TooDeep);
        }
        self.counted.insert(ptr::from_ref(schema), None);
        let (mut applied, mut nested) = (1_u64, 0);
        let referenced = references(keywords).filter_map(|reference| {
            let Target::Here(target) = self.targets.get(reference) else {
                return None;
            };
            Some((target, Some(reference)))
        });
        let parts: Vec<(&Value, Option<&str>)> = referenced
            .chain(in_place(keywords).map(|part| (part, by)))
            .collect();
        for (part, by) in parts {
            let (more, deeper) = self.count(part, by, outer + 1)?;
            applied = applied.saturating_add(more);
            nested = nested.max(deeper);
        }
        if applied > MAX_APPLIED {
            return Err(ComplexityError::TooManyChecks);
        }
        let counted = (applied, nested + 1);
        if counted.1 > MAX_NESTED {
            return Err(ComplexityError::TooDeep);
        }
        self.counted.insert(ptr::from_ref(schema), Some(counted));
        Ok(counted)
    }
}

/// The targets of the references in a schema.
pub(super) struct Targets<'s> {
    root: &'s Value,
    anchors: HashMap<&'s str, &'s Value>,
}

/// The target of a reference.
pub(super) enum Target<'s> {
    Here(&'s Value),
    Missing,
    /// Something that only a retriever of documents could find.
    Elsewhere,
}

impl<'s> Targets<'s> {
    pub(super) fn of(root: &'s Value) -> Self {
        let mut anchors = HashMap::new();
        let mut waiting = vec![root];
        while let Some(next) = waiting.pop() {
            match next {
                Value::Object(members) => {
                    for name in ["$anchor", "$dynamicAnchor"] {
                        if let Some(Value::String(anchor)) = members.get(name) {
                            anchors.insert(anchor.as_str(), next);
                        }
                    }
                    waiting.extend(members.values());
                }
                Value::Array(items) => waiting.extend(items),
                _ => {}
            }
        }
        Self { root, anchors }
    }

    /// Creates the targets of a schema without anchors.
    pub(super) fn by_place(root: &'s Value) -> Self {
        Self {
            root,
            anchors: HashMap::new(),
        }
    }

    pub(super) fn get(&self, reference: &str) -> Target<'s> {
        let Some(fragment) = reference.strip_prefix('#') else {
            return Target::Elsewhere;
        };
        let fragment = percent_encoding::percent_decode_str(fragment).decode_utf8_lossy();
        let found = if fragment.is_empty() || fragment.starts_with('/') {
            self.root.pointer(&fragment)
        } else {
            self.anchors.get(&*fragment).copied()
        };
        found.map_or(Target::Missing, Target::Here)
    }
}

/// The references of a schema.
pub(super) fn references(keywords: &Map<String, Value>) -> impl Iterator<Item = &str> {
    ["$ref", "$dynamicRef", "$recursiveRef"]
        .into_iter()
        .filter_map(|keyword| keywords.get(keyword)?.as_str())
}

/// The schemas inside a schema that apply to the same value as it does.
fn in_place(keywords: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let lists = ["allOf", "anyOf", "oneOf"].into_iter();
    let single = ["not", "if", "then", "else"].into_iter();
    let maps = ["dependentSchemas", "dependencies"].into_iter();
    let lists = lists.filter_map(|keyword| keywords.get(keyword)?.as_array());
    let maps = maps.filter_map(|keyword| keywords.get(keyword)?.as_object());
    lists
        .flatten()
        .chain(single.filter_map(|keyword| keywords.get(keyword)))
        .chain(maps.flat_map(Map::values).filter(|part| !part.is_array()))
}

/// The other schemas inside a schema.
fn below(keywords: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    const SINGLE: [&str; 8] = [
        "additionalProperties",
        "additionalItems",
        "contains",
        "contentSchema",
        "items",
        "propertyNames",
        "unevaluatedItems",
        "unevaluatedProperties",
    ];
    let maps = ["properties", "patternProperties", "$defs", "definitions"].into_iter();
    let maps = maps.filter_map(|keyword| keywords.get(keyword)?.as_object());
    let lists = ["items", "prefixItems"].into_iter();
    let lists = lists.filter_map(|keyword| keywords.get(keyword)?.as_array());
    let single = SINGLE
        .into_iter()
        .filter_map(|keyword| keywords.get(keyword));
    maps.flat_map(Map::values)
        .chain(lists.flatten())
        .chain(single.filter(|part| !part.is_array()))
}
