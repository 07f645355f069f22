//! Converts a JSON Schema into rules for a tool's arguments.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::rules::Rules;
use super::{Outside, Part, number};
use crate::ToolSpec;
use crate::schema::{Budget, Kinds, Node, Schema, accepts};

/// Lengths and counts up to this are kept; each becomes a rule of its own where
/// the grammar is used.
const MAX_COUNT: u32 = 256;
/// How deep a schema is followed. Below that, any value fits.
const MAX_DEPTH: u32 = 24;

/// About how many bytes the rule of a member takes at least.
const MEMBER: usize = 60;

/// How many limits that the grammar does not keep are listed; more would bury
/// the first.
const MAX_OUTSIDE: usize = 100;

/// How many alternatives are compared with each other, to see whether a value
/// could fit two of them.
const MAX_COMPARED: usize = 100;

/// How many values of a list are checked against the rest of a schema.
const MAX_TRIED: usize = 1000;

/// Keywords of any value that no grammar can keep.
const OF_ALL: &[&str] = &["not", "if", "$dynamicRef"];
/// Keywords of objects that no grammar can keep.
const OF_OBJECTS: &[&str] = &[
    "patternProperties",
    "propertyNames",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "unevaluatedProperties",
];
/// Keywords of arrays that no grammar can keep.
const OF_ARRAYS: &[&str] = &["contains", "unevaluatedItems"];
/// Keywords that limit the value beside a `$ref` or alternatives.
const LIMITING: &[&str] = &[
    "properties",
    "required",
    "additionalProperties",
    "minProperties",
    "maxProperties",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
];

/// Turns the schema of one tool into rules.
pub(super) struct ArgumentRules<'a> {
    rules: &'a mut Rules,
    outside: &'a mut Vec<Outside>,
    spec: &'a ToolSpec,
    /// How large the rules may become.
    limit: usize,
    /// The rules of references, by their targets.
    references: HashMap<(&'a str, Kinds), usize>,
    /// References that were followed since anything was written.
    followed: Vec<(&'a str, Kinds)>,
}

/// The position of a part of a schema.
#[derive(Clone)]
struct SchemaPath {
    pointer: String,
    /// The name of its rule.
    name: String,
    depth: u32,
}

impl SchemaPath {
    fn keyword(&self, keyword: &str) -> Self {
        Self {
            pointer: format!("{}/{keyword}", self.pointer),
            name: self.name.clone(),
            depth: self.depth + 1,
        }
    }

    fn below(&self, keyword: &str, key: &str) -> Self {
        let escaped = key.replace('~', "~0").replace('/', "~1");
        Self {
            pointer: format!("{}/{keyword}/{escaped}", self.pointer),
            name: self.name.clone(),
            depth: self.depth + 1,
        }
    }

    fn named(mut self, name: &str) -> Self {
        self.name = format!("{}-{name}", self.name);
        self
    }
}

impl<'a> ArgumentRules<'a> {
    pub(super) fn new(
        rules: &'a mut Rules,
        outside: &'a mut Vec<Outside>,
        spec: &'a ToolSpec,
        limit: usize,
    ) -> Self {
        Self {
            rules,
            outside,
            spec,
            limit,
            references: HashMap::new(),
            followed: Vec::new(),
        }
    }

    /// Adds a rule for the object of all arguments.
    pub(super) fn object(mut self) -> Part {
        let place = SchemaPath {
            pointer: String::new(),
            name: self.spec.name.clone(),
            depth: 0,
        };
        let schema = Schema::new(&self.spec.parameters);
        let part = self.value(schema, Kinds::OBJECT, &place);
        self.rules.add(&format!("{}-args", self.spec.name), part)
    }

    /// Whether so many bytes more can be written.
    fn has_room(&self, bytes: usize) -> bool {
        self.rules.size() + bytes <= self.limit
    }

    /// Records that a keyword cannot be kept.
    fn leave_out(&mut self, place: &SchemaPath, keyword: &str) {
        let outside = Outside {
            tool: self.spec.name.clone(),
            path: place.pointer.clone(),
            keyword: keyword.to_owned(),
        };
        if self.outside.len() < MAX_OUTSIDE && !self.outside.contains(&outside) {
            self.outside.push(outside);
        }
    }

    fn leave_out_all(&mut self, place: &SchemaPath, keywords: &Map<String, Value>, names: &[&str]) {
        for name in names.iter().filter(|name| keywords.contains_key(**name)) {
            self.leave_out(place, name);
        }
    }

    /// The values that fit the schema, of these types.
    fn value(&mut self, schema: Schema<'a>, kinds: Kinds, place: &SchemaPath) -> Part {
        if place.depth > MAX_DEPTH {
            self.leave_out(place, "depth");
            return self.any(kinds);
        }
        if !self.has_room(0) {
            self.leave_out(place, "size");
            return self.any(kinds);
        }
        let keywords = match schema.node() {
            Value::Bool(true) => return self.any(kinds),
            Value::Bool(false) => return Part::NOTHING,
            Value::Object(keywords) => keywords,
            _ => {
                self.leave_out(place, "type");
                return self.any(kinds);
            }
        };
        let is_nullable = keywords.get("nullable") == Some(&Value::Bool(true));
        let fitting = self.by_keywords(schema, keywords, kinds, place);
        if is_nullable && kinds.allows(Kinds::NULL) {
            return Part::Choice(vec![Part::text("null"), fitting]);
        }
        fitting
    }

    fn by_keywords(
        &mut self,
        schema: Schema<'a>,
        keywords: &'a Map<String, Value>,
        kinds: Kinds,
        place: &SchemaPath,
    ) -> Part {
        self.leave_out_all(place, keywords, OF_ALL);
        let named = keywords.get("type").map(Kinds::of_type);
        if named == Some(None) {
            self.leave_out(place, "type");
        }
        let own = match named.flatten() {
            Some(named) => kinds.intersection(named),
            None => kinds,
        };
        if let Some(values) = listed(keywords) {
            if keywords.contains_key("pattern") {
                self.leave_out(place, "pattern");
            }
            return self.values(schema, &values, own, place);
        }
        let is_limited = LIMITING.iter().any(|name| keywords.contains_key(*name));
        let combining: Vec<&'static str> = ["$ref", "allOf", "anyOf", "oneOf"]
            .into_iter()
            .filter(|name| keywords.contains_key(*name))
            .collect();
        // All of them would have to hold at once.
        let kept = usize::from(!is_limited);
        for name in combining.iter().skip(kept) {
            self.leave_out(place, name);
        }
        match combining.first() {
            Some(first) if !is_limited => self.combined(schema, first, own, place),
            _ => self.by_type(schema, keywords, own, place),
        }
    }

    /// The values that fit a keyword with schemas in it.
    fn combined(
        &mut self,
        schema: Schema<'a>,
        keyword: &'static str,
        kinds: Kinds,
        place: &SchemaPath,
    ) -> Part {
        if keyword == "$ref" {
            return self.reference(schema, kinds, place);
        }
        let branches: Vec<Schema<'a>> = schema.branches(keyword).collect();
        if keyword == "allOf" {
            if branches.len() != 1 {
                self.leave_out(place, keyword);
            }
            let Some(first) = branches.first() else {
                return self.any(kinds);
            };
            return self.value(*first, kinds, &place.below(keyword, "0"));
        }
        if !self.has_room(branches.len() * MEMBER) {
            self.leave_out(place, keyword);
            return self.any(kinds);
        }
        if keyword == "oneOf" && !are_disjoint(&branches) {
            self.leave_out(place, keyword);
        }
        let parts = branches.iter().enumerate().map(|(index, branch)| {
            let place = place.below(keyword, &index.to_string());
            self.value(*branch, kinds, &place)
        });
        let parts: Vec<Part> = parts.collect();
        let choice = Part::one_of(parts);
        match choice {
            Part::Choice(_) => self.rules.add(&place.name, choice),
            only => only,
        }
    }

    /// The target of a reference, as a rule of its own.
    fn reference(&mut self, schema: Schema<'a>, kinds: Kinds, place: &SchemaPath) -> Part {
        let pointer = schema.node().get("$ref").and_then(Value::as_str);
        let (Some(pointer), Some(target)) = (pointer, schema.referenced()) else {
            self.leave_out(place, "$ref");
            return self.any(kinds);
        };
        let key = (pointer, kinds);
        if self.followed.contains(&key) {
            // It refers to itself and to nothing else.
            return Part::NOTHING;
        }
        if let Some(index) = self.references.get(&key) {
            return Part::Rule(*index);
        }
        let index = self.rules.reserve(&place.name);
        self.references.insert(key, index);
        self.followed.push(key);
        let place = SchemaPath {
            pointer: pointer.trim_start_matches('#').to_owned(),
            name: place.name.clone(),
            depth: place.depth + 1,
        };
        let part = self.value(target, kinds, &place);
        self.followed.pop();
        self.rules.fill(index, part);
        Part::Rule(index)
    }

    /// A choice of these values.
    fn values(
        &mut self,
        schema: Schema<'a>,
        values: &[&Value],
        kinds: Kinds,
        place: &SchemaPath,
    ) -> Part {
        // To try each value takes as long as there are values.
        let is_limited = schema.node().as_object().is_some_and(|keywords| {
            let both = keywords.contains_key("enum") && keywords.contains_key("const");
            let combining = ["$ref", "allOf", "anyOf", "oneOf"].iter();
            let mut limiting = LIMITING.iter().chain(combining);
            both || limiting.any(|name| keywords.contains_key(*name))
        });
        if is_limited && values.len() > MAX_TRIED {
            self.leave_out(place, "enum");
            let types = Kinds::of_schema(schema).intersection(kinds);
            return self.any(types);
        }
        let fits = |value: &&&Value| {
            let node = Node::from(**value);
            let is_right = !is_limited || accepts(schema, &node, &Budget::default());
            kinds.allows(node.kind()) && is_right
        };
        let texts: Vec<String> = values
            .iter()
            .filter(fits)
            .map(ToString::to_string)
            .collect();
        let size: usize = texts.iter().map(|text| text.len() + 6).sum();
        if !self.has_room(size) {
            self.leave_out(place, "enum");
            let types = Kinds::of_schema(schema).intersection(kinds);
            return self.any(types);
        }
        let choice = Part::one_of(texts.into_iter().map(Part::text).collect());
        match choice {
            Part::Choice(ref parts) if parts.len() > 1 => self.rules.add(&place.name, choice),
            few => few,
        }
    }

    /// The values that the keywords of each type allow.
    fn by_type(
        &mut self,
        schema: Schema<'a>,
        keywords: &'a Map<String, Value>,
        kinds: Kinds,
        place: &SchemaPath,
    ) -> Part {
        // Nothing is written before what follows now.
        let followed = std::mem::take(&mut self.followed);
        let mut parts = Vec::new();
        if kinds.allows(Kinds::STRING) {
            parts.push(self.string(keywords, place));
        }
        if kinds.allows(Kinds::NUMBER) {
            parts.push(self.number(keywords, place, Kinds::NUMBER));
        } else if kinds.allows(Kinds::INTEGER) {
            parts.push(self.number(keywords, place, Kinds::INTEGER));
        }
        if kinds.allows(Kinds::BOOLEAN) {
            parts.push(self.rules.boolean());
        }
        if kinds.allows(Kinds::NULL) {
            parts.push(Part::text("null"));
        }
        if kinds.allows(Kinds::ARRAY) {
            parts.push(self.array(schema, keywords, place));
        }
        if kinds.allows(Kinds::OBJECT) {
            parts.push(self.members(schema, keywords, place));
        }
        self.followed = followed;
        Part::one_of(parts)
    }

    /// Any value of these types.
    fn any(&mut self, kinds: Kinds) -> Part {
        if kinds == Kinds::ALL {
            return self.rules.value();
        }
        let number = if kinds.allows(Kinds::NUMBER) {
            self.rules.number()
        } else {
            self.rules.integer()
        };
        let parts = [
            (Kinds::STRING, self.rules.string()),
            (Kinds::ANY_NUMBER, number),
            (Kinds::BOOLEAN, self.rules.boolean()),
            (Kinds::NULL, Part::text("null")),
            (Kinds::ARRAY, self.rules.array()),
            (Kinds::OBJECT, self.rules.object()),
        ];
        let parts = parts.into_iter().filter(|(kind, _)| kinds.allows(*kind));
        Part::one_of(parts.map(|(_, part)| part).collect())
    }

    fn string(&mut self, keywords: &Map<String, Value>, place: &SchemaPath) -> Part {
        self.leave_out_all(place, keywords, &["pattern"]);
        let least = self.count(keywords, place, "minLength").unwrap_or(0);
        let most = self.count(keywords, place, "maxLength");
        match (least, most) {
            (0, None) => self.rules.string(),
            (least, Some(most)) if least > most => Part::NOTHING,
            (least, most) => {
                let text = self.rules.character().repeated(least, most);
                Part::all_of([Part::text("\""), text, Part::text("\"")])
            }
        }
    }

    fn number(&mut self, keywords: &Map<String, Value>, place: &SchemaPath, kind: Kinds) -> Part {
        let is_whole = kind == Kinds::INTEGER;
        let step = keywords.get("multipleOf");
        let is_any_step = step.is_some_and(|step| is_whole && step.as_f64() == Some(1.0));
        if step.is_some() && !is_any_step {
            self.leave_out(place, "multipleOf");
        }
        let mut limits: Map<String, Value> = keywords.clone();
        limits.retain(|name, _| number::LIMITS.contains(&name.as_str()));
        // A limit that cannot be kept does not remove the others.
        loop {
            if limits.is_empty() {
                return if is_whole {
                    self.rules.integer()
                } else {
                    self.rules.number()
                };
            }
            let within = if is_whole {
                number::integer_within(&limits)
            } else {
                number::number_within(&limits)
            };
            match within {
                Ok(part) => return self.rules.add(&place.name, part),
                Err(keyword) => {
                    self.leave_out(place, keyword);
                    limits.remove(keyword);
                }
            }
        }
    }

    /// A length or count, if it is small enough to be kept.
    fn count(
        &mut self,
        keywords: &Map<String, Value>,
        place: &SchemaPath,
        name: &'static str,
    ) -> Option<u32> {
        let count = keywords.get(name)?.as_f64();
        let kept = (0..=MAX_COUNT).find(|kept| count == Some(f64::from(*kept)));
        if kept.is_none() {
            self.leave_out(place, name);
        }
        kept
    }

    fn array(
        &mut self,
        schema: Schema<'a>,
        keywords: &'a Map<String, Value>,
        place: &SchemaPath,
    ) -> Part {
        self.leave_out_all(place, keywords, OF_ARRAYS);
        let least = self.count(keywords, place, "minItems").unwrap_or(0);
        let most = self.count(keywords, place, "maxItems");
        let is_short = most.is_some_and(|most| most < 2);
        if keywords.get("uniqueItems") == Some(&Value::Bool(true)) && !is_short {
            self.leave_out(place, "uniqueItems");
        }
        if most.is_some_and(|most| least > most) {
            return Part::NOTHING;
        }
        let first: Vec<Schema<'a>> = schema.branches("prefixItems").collect();
        let rest = match keywords.get("items") {
            Some(Value::Array(_)) => {
                self.leave_out(place, "items");
                None
            }
            Some(items) => Some(schema.part(items)),
            None => None,
        };
        if !self.has_room(first.len() * MEMBER) {
            self.leave_out(place, "prefixItems");
            return self.rules.array();
        }
        if !first.is_empty() {
            return self.tuple(&first, rest, (least, most), place);
        }
        let Some(rest) = rest else {
            let item = self.rules.value();
            return self.rules.list("[", item, least, most, "]");
        };
        let item = self.inner(rest, &place.keyword("items").named("item"));
        let list = self.rules.list("[", item, least, most, "]");
        self.rules.add(&place.name, list)
    }

    /// The values that fit a schema inside another one, as a rule of its own.
    fn inner(&mut self, schema: Schema<'a>, place: &SchemaPath) -> Part {
        match self.value(schema, Kinds::ALL, place) {
            Part::Rule(index) => Part::Rule(index),
            part => self.rules.add(&place.name, part),
        }
    }

    /// An array whose first items have schemas of their own. All of them are
    /// written.
    fn tuple(
        &mut self,
        first: &[Schema<'a>],
        rest: Option<Schema<'a>>,
        (least, most): (u32, Option<u32>),
        place: &SchemaPath,
    ) -> Part {
        let most_first = most.map_or(first.len(), |most| {
            usize::try_from(most).unwrap_or(usize::MAX).min(first.len())
        });
        let mut parts = vec![Part::text("[")];
        for (index, item) in first.iter().take(most_first).enumerate() {
            if index > 0 {
                parts.push(self.rules.comma());
            }
            let place = place.below("prefixItems", &index.to_string());
            parts.push(self.inner(*item, &place.named("item")));
        }
        let written = u32::try_from(most_first).unwrap_or(u32::MAX);
        let item = match rest {
            None => self.rules.value(),
            Some(rest) => self.inner(rest, &place.keyword("items").named("rest")),
        };
        let next = Part::all_of([self.rules.comma(), item]);
        let least = least.saturating_sub(written);
        let most = most.map(|most| most.saturating_sub(written));
        if least > 0 || rest.is_some() {
            parts.push(next.repeated(least, most));
        }
        parts.push(Part::text("]"));
        let list = Part::all_of(parts);
        self.rules.add(&place.name, list)
    }

    /// An object: its declared members in their order, those that may be
    /// left out or not.
    fn members(
        &mut self,
        schema: Schema<'a>,
        keywords: &'a Map<String, Value>,
        place: &SchemaPath,
    ) -> Part {
        self.leave_out_all(place, keywords, OF_OBJECTS);
        let empty = Map::new();
        let declared = keywords.get("properties").and_then(Value::as_object);
        let declared = declared.unwrap_or(&empty);
        let required = keywords.get("required").and_then(Value::as_array);
        let required: Vec<&str> = required
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        self.count_members(keywords, place, required.len(), declared.len());
        let others = keywords.get("additionalProperties");
        let mut members = Vec::new();
        let mut names: Vec<&str> = declared.keys().map(String::as_str).collect();
        for name in &required {
            if !declared.contains_key(*name) && !names.contains(name) {
                names.push(name);
            }
        }
        if !self.has_room(names.iter().map(|name| name.len() + MEMBER).sum()) {
            self.leave_out(place, "size");
            return self.rules.object();
        }
        for name in names {
            let place = place.below("properties", name).named(name);
            let value = match schema.own_property(name) {
                Some(own) => self.value(own, Kinds::ALL, &place),
                None => self.rules.value(),
            };
            let key = Part::text(Value::from(name).to_string());
            let member = Part::all_of([key, self.rules.colon(), value]);
            let member = self.rules.add(&place.name, member);
            members.push((member, required.contains(&name)));
        }
        if members.is_empty() {
            return self.map(schema, others, place);
        }
        let object = self.written(members, &place.name);
        self.rules.add(&place.name, object)
    }

    /// Checks whether limits on the number of members hold by themselves, and
    /// records them if not.
    fn count_members(
        &mut self,
        keywords: &Map<String, Value>,
        place: &SchemaPath,
        required: usize,
        declared: usize,
    ) {
        let holds = |name: &str, kept: &dyn Fn(u64) -> bool| match keywords.get(name) {
            None => true,
            Some(limit) => limit.as_u64().is_some_and(kept),
        };
        if !holds("minProperties", &|least| least <= required as u64) {
            self.leave_out(place, "minProperties");
        }
        let is_map = declared == 0 && required == 0;
        let written = required.max(declared) as u64;
        if !holds("maxProperties", &|most| !is_map && written <= most) {
            self.leave_out(place, "maxProperties");
        }
    }

    /// An object without declared members: any names, and values of one kind.
    fn map(&mut self, schema: Schema<'a>, others: Option<&'a Value>, place: &SchemaPath) -> Part {
        match others {
            None | Some(Value::Bool(true)) => self.rules.object(),
            Some(Value::Bool(false)) => Part::text("{}"),
            Some(values) => {
                let inner = place.keyword("additionalProperties").named("value");
                let value = self.inner(schema.part(values), &inner);
                let member = Part::all_of([self.rules.string(), self.rules.colon(), value]);
                let member = self.rules.add(&inner.name, member);
                let list = self.rules.list("{", member, 0, None, "}");
                self.rules.add(&place.name, list)
            }
        }
    }

    /// Members in braces, with commas between them.
    fn written(&mut self, members: Vec<(Part, bool)>, name: &str) -> Part {
        let comma = self.rules.comma();
        let first_required = members.iter().position(|(_, is_required)| *is_required);
        let Some(first_required) = first_required else {
            let inner = self.all_optional(members, name).optional();
            return Part::all_of([Part::text("{"), inner, Part::text("}")]);
        };
        let mut parts = vec![Part::text("{")];
        for (index, (member, is_required)) in members.into_iter().enumerate() {
            parts.push(match index.cmp(&first_required) {
                std::cmp::Ordering::Less => Part::all_of([member, comma.clone()]).optional(),
                std::cmp::Ordering::Equal => member,
                std::cmp::Ordering::Greater if is_required => Part::all_of([comma.clone(), member]),
                std::cmp::Ordering::Greater => Part::all_of([comma.clone(), member]).optional(),
            });
        }
        parts.push(Part::text("}"));
        Part::all_of(parts)
    }

    /// Members each of which may be left out: one of them comes first, and any
    /// of those behind it may follow.
    fn all_optional(&mut self, members: Vec<(Part, bool)>, name: &str) -> Part {
        let comma = self.rules.comma();
        let mut rest = Part::text("");
        let mut choices = Vec::new();
        for (member, _) in members.into_iter().rev() {
            choices.push(Part::all_of([member.clone(), rest.clone()]));
            let next = Part::all_of([comma.clone(), member]).optional();
            rest = self.rules.add(name, Part::all_of([next, rest]));
        }
        choices.reverse();
        Part::one_of(choices)
    }
}

/// The values that a schema lists in `enum` or `const`.
fn listed(keywords: &Map<String, Value>) -> Option<Vec<&Value>> {
    match (keywords.get("const"), keywords.get("enum")) {
        (Some(only), _) => Some(vec![only]),
        (None, Some(Value::Array(values))) => Some(values.iter().collect()),
        _ => None,
    }
}

/// Whether no value fits two of these schemas.
fn are_disjoint(branches: &[Schema<'_>]) -> bool {
    if branches.len() > MAX_COMPARED {
        return false;
    }
    let mut rest = branches;
    while let Some((first, others)) = rest.split_first() {
        if others.iter().any(|other| !are_apart(*first, *other)) {
            return false;
        }
        rest = others;
    }
    true
}

/// Whether no value fits both schemas: they are of other types, of other
/// values, or objects with a member that has other values.
fn are_apart(one: Schema<'_>, other: Schema<'_>) -> bool {
    let (one, other) = (one.resolved(), other.resolved());
    // `1.0` is a whole number too.
    let kinds = |schema| match Kinds::of_schema(schema) {
        kinds if kinds.allows(Kinds::ANY_NUMBER) => kinds.union(Kinds::ANY_NUMBER),
        kinds => kinds,
    };
    let common = kinds(one).intersection(kinds(other));
    if common == Kinds::NONE {
        return true;
    }
    let (Some(mine), Some(theirs)) = (one.node().as_object(), other.node().as_object()) else {
        return false;
    };
    if common.allows(Kinds::NULL) {
        return false;
    }
    if let (Some(mine), Some(theirs)) = (listed(mine), listed(theirs)) {
        return all_differ(&mine, &theirs);
    }
    let required = |keywords: &Map<String, Value>, name: &str| {
        let names = keywords.get("required").and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|known| known == name))
    };
    let members = mine.get("properties").and_then(Value::as_object);
    common == Kinds::OBJECT
        && members.into_iter().flat_map(Map::keys).any(|name| {
            let values = |schema: Schema<'_>| {
                let own = schema.own_property(name)?.resolved().node().as_object()?;
                listed(own).map(|values| values.into_iter().cloned().collect::<Vec<_>>())
            };
            required(mine, name)
                && required(theirs, name)
                && values(one)
                    .zip(values(other))
                    .is_some_and(|(mine, theirs)| {
                        all_differ(
                            &mine.iter().collect::<Vec<_>>(),
                            &theirs.iter().collect::<Vec<_>>(),
                        )
                    })
        })
}

/// Whether no value stands in both lists.
fn all_differ(mine: &[&Value], theirs: &[&Value]) -> bool {
    let differ = |one: &Value, other: &Value| match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() != other.as_f64(),
        // Numbers in them may be equal in another notation.
        (Value::Array(_), Value::Array(_)) | (Value::Object(_), Value::Object(_)) => false,
        (one, other) => one != other,
    };
    mine.iter()
        .all(|one| theirs.iter().all(|other| differ(one, other)))
}
