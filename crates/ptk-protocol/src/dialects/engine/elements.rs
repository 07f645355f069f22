//! Values that are written as elements: a list as an element for each item, an
//! object as one for each member. The schema decides whether a value is.

use std::collections::HashMap;

use serde_json::Value;

use super::json_marks::is_tool_name;
use super::tags::{decode, trim_lines};
use crate::schema::{Kinds, Schema, allows_string, coerce_text};

/// How deep elements are read.
const MAX_DEPTH: usize = 16;

/// The element of an item, in a list that no schema describes.
const ITEM: &str = "item";

/// The keywords of schemas that say what a value consists of.
const SHAPES: [&str; 9] = [
    "type",
    "properties",
    "items",
    "prefixItems",
    "enum",
    "const",
    "anyOf",
    "oneOf",
    "allOf",
];

const CDATA: (&str, &str) = ("<![CDATA[", "]]>");

/// How the elements of a family are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Elements<'p> {
    /// The text before each tag.
    pub(crate) prefix: &'p str,
    /// Whether text has the entities and the CDATA of XML.
    pub(crate) is_xml: bool,
}

/// A value with text between its elements, or elements that do not fit: it is
/// neither a list or an object nor a plain text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MixedElements;

/// The JSON of a value, or `None` if it is not made of elements.
type ElementsJson = Result<Option<String>, MixedElements>;

/// An element: its name, and what is in it.
struct Element<'t> {
    name: &'t str,
    inner: &'t str,
}

impl Elements<'_> {
    /// The JSON of a value. `None` if it is not made of elements, or the schema
    /// asks for neither a list nor an object.
    pub(crate) fn json(self, raw: &str, schema: Option<Schema<'_>>) -> ElementsJson {
        self.maybe(raw, schema, 0)
    }

    /// Whether elements count where a text is allowed, too: tags with a prefix of
    /// the family's own are no text, if the schema allows a list or an object.
    pub(crate) fn may_replace_text(self, schema: Schema<'_>) -> bool {
        let schema = schema.resolved();
        let has_parts = |branch| Kinds::of_schema(branch).allows(Kinds::ARRAY_OR_OBJECT);
        let mut branches = schema.branches("anyOf").chain(schema.branches("oneOf"));
        !self.prefix.is_empty()
            && (schema.items().is_some() || is_object(schema) || branches.any(has_parts))
    }

    fn maybe(self, raw: &str, schema: Option<Schema<'_>>, depth: usize) -> ElementsJson {
        match schema {
            Some(schema) if !Self::is_free(schema) => self.value(raw, schema, depth),
            _ => self.free(raw, depth),
        }
    }

    /// Whether a schema says nothing about a value.
    fn is_free(schema: Schema<'_>) -> bool {
        match schema.resolved().node() {
            Value::Object(keywords) => !keywords.keys().any(|key| SHAPES.contains(&key.as_str())),
            node => *node == Value::Bool(true),
        }
    }

    /// The JSON of a value that no schema describes. Only tags with a prefix of
    /// the family's own are certain to be elements, and no text.
    fn free(self, raw: &str, depth: usize) -> ElementsJson {
        if self.prefix.is_empty() || depth > MAX_DEPTH {
            return Ok(None);
        }
        let Some(elements) = self.split(raw) else {
            return Ok(None);
        };
        if elements.iter().all(|element| element.name == ITEM) {
            let items = elements.iter();
            let items = items.map(|item| self.leaf(item.inner, None, depth + 1));
            let items = items.collect::<Result<Vec<_>, _>>()?;
            return Ok(Some(format!("[{}]", items.join(","))));
        }
        let mut json = Vec::new();
        for (name, values) in members(elements) {
            let values = values.iter();
            let values = values.map(|inner| self.leaf(inner, None, depth + 1));
            let mut values = values.collect::<Result<Vec<_>, _>>()?;
            let value = match values.len() {
                1 => values.remove(0),
                _ => format!("[{}]", values.join(",")),
            };
            json.push(format!("{}:{value}", Value::from(name)));
        }
        Ok(Some(format!("{{{}}}", json.join(","))))
    }

    /// The JSON of a list that was given in several parts: each is an item, or
    /// a list of items itself.
    pub(crate) fn parts(
        self,
        parts: &[String],
        item: Option<Schema<'_>>,
    ) -> Result<String, MixedElements> {
        let is_list = |item: Schema<'_>| item.resolved().items().is_some();
        let mut items = Vec::new();
        for part in parts {
            match item {
                Some(item) if !is_list(item) && !part.trim().is_empty() => {
                    match self.items(part, item, 1)? {
                        Some(several) => items.extend(several),
                        None if self.is_mixed(part) => return Err(MixedElements),
                        None => items.push(self.leaf(part, Some(item), 1)?),
                    }
                }
                item => items.push(self.leaf(part, item, 1)?),
            }
        }
        Ok(format!("[{}]", items.join(",")))
    }

    fn value(self, raw: &str, schema: Schema<'_>, depth: usize) -> ElementsJson {
        let schema = schema.resolved();
        let is_text = allows_string(Some(schema));
        if is_text && !self.may_replace_text(schema) {
            return Ok(None);
        }
        if depth > MAX_DEPTH {
            let is_element = raw.trim_start().starts_with(&format!("{}<", self.prefix));
            return if is_element {
                Err(MixedElements)
            } else {
                Ok(None)
            };
        }
        let found = match schema.items() {
            Some(_) if raw.trim().is_empty() => Some("[]".to_owned()),
            Some(items) => self.list(raw, items, depth + 1)?,
            None if raw.trim().is_empty() && is_object(schema) => Some("{}".to_owned()),
            None if schema.node().get("properties").is_some() || is_object(schema) => {
                self.object(raw, schema, depth + 1)?
            }
            None => return self.branch(raw, schema, depth),
        };
        match found {
            None if !is_text && self.is_mixed(raw) => Err(MixedElements),
            found => Ok(found),
        }
    }

    /// The JSON of a value by the first alternative that fits.
    fn branch(self, raw: &str, schema: Schema<'_>, depth: usize) -> ElementsJson {
        let mut fault = None;
        for branch in schema.branches("anyOf").chain(schema.branches("oneOf")) {
            match self.value(raw, branch, depth + 1) {
                Ok(None) => {}
                Ok(found) => return Ok(found),
                Err(mixed) => fault = Some(mixed),
            }
        }
        fault.map_or(Ok(None), Err)
    }

    fn list(self, raw: &str, item: Schema<'_>, depth: usize) -> ElementsJson {
        let items = self.items(raw, item, depth)?;
        Ok(items.map(|items| format!("[{}]", items.join(","))))
    }

    /// The items of a list.
    fn items(
        self,
        raw: &str,
        item: Schema<'_>,
        depth: usize,
    ) -> Result<Option<Vec<String>>, MixedElements> {
        let Some(elements) = self.split(raw) else {
            return Ok(None);
        };
        // The only item, without an element of its own.
        let resolved = item.resolved();
        let are_members = elements
            .iter()
            .all(|element| is_declared(resolved, element.name));
        if are_members && let Some(object) = self.object(raw, resolved, depth)? {
            return Ok(Some(vec![object]));
        }
        let mut names = elements.iter().map(|element| element.name);
        let first = names.next();
        if names.any(|name| Some(name) != first) {
            return Ok(None);
        }
        let items = elements
            .iter()
            .map(|element| self.leaf(element.inner, Some(item), depth));
        items.collect::<Result<Vec<_>, _>>().map(Some)
    }

    fn object(self, raw: &str, schema: Schema<'_>, depth: usize) -> ElementsJson {
        let Some(elements) = self.split(raw) else {
            return Ok(None);
        };
        let mut json = Vec::new();
        for (name, values) in members(elements) {
            let schema = schema.property(name);
            let value = match values.as_slice() {
                [only] => self.leaf(only, schema, depth)?,
                several => {
                    let item = schema.and_then(|schema| schema.resolved().items());
                    // A member that no schema describes may be a list.
                    let is_free = schema.is_none() && !self.prefix.is_empty();
                    if item.is_none() && !is_free {
                        return Ok(None);
                    }
                    let items = several.iter().map(|inner| self.leaf(inner, item, depth));
                    format!("[{}]", items.collect::<Result<Vec<_>, _>>()?.join(","))
                }
            };
            json.push(format!("{}:{value}", Value::from(name)));
        }
        Ok(Some(format!("{{{}}}", json.join(","))))
    }

    /// What is in an element: elements, or text.
    fn leaf(
        self,
        inner: &str,
        schema: Option<Schema<'_>>,
        depth: usize,
    ) -> Result<String, MixedElements> {
        if let Some(json) = self.maybe(inner, schema, depth)? {
            return Ok(json);
        }
        let cdata = inner.trim().strip_prefix(CDATA.0);
        let cdata = cdata.and_then(|inner| inner.strip_suffix(CDATA.1));
        if let Some(text) = cdata.filter(|text| self.is_xml && !text.contains(CDATA.1)) {
            return Ok(coerce_text(text, schema).to_json());
        }
        let text = trim_lines(inner);
        let text = if self.is_xml {
            decode(text)
        } else {
            text.into()
        };
        Ok(coerce_text(&text, schema).to_json())
    }

    /// Whether a text begins or ends with an element, so that it is not a plain
    /// one.
    fn is_mixed(self, raw: &str) -> bool {
        let raw = raw.trim();
        let begins = || self.first(raw).is_some();
        let ends = || {
            let tag = raw.rfind('<').and_then(|at| raw.get(at..));
            let name = tag.and_then(|tag| tag.strip_prefix("</")?.strip_suffix('>'));
            name.filter(|name| is_tool_name(name)).is_some_and(|name| {
                let open = format!("{}<{name}>", self.prefix);
                raw.contains(&open)
            })
        };
        begins() || ends()
    }

    /// The elements of a text that holds nothing else.
    fn split(self, raw: &str) -> Option<Vec<Element<'_>>> {
        let mut elements = Vec::new();
        let mut rest = raw.trim();
        while !rest.is_empty() {
            let (element, behind) = self.first(rest)?;
            elements.push(element);
            rest = behind.trim_start();
        }
        (!elements.is_empty()).then_some(elements)
    }

    /// The element at the start of a text, and what stands behind it.
    fn first(self, text: &str) -> Option<(Element<'_>, &str)> {
        let tag = text.strip_prefix(self.prefix)?.strip_prefix('<')?;
        let (name, behind) = tag.split_once('>')?;
        if let Some(name) = name.strip_suffix('/') {
            let name = Some(name.trim_end()).filter(|name| is_tool_name(name))?;
            return Some((Element { name, inner: "" }, behind));
        }
        let name = Some(name).filter(|name| is_tool_name(name))?;
        let open = format!("{}<{name}>", self.prefix);
        let close = format!("{}</{name}>", self.prefix);
        let end = self.matching_end(behind, &open, &close)?;
        let (inner, after) = behind.split_at_checked(end)?;
        Some((Element { name, inner }, after.get(close.len()..)?))
    }

    /// Where the closing tag stands that belongs to an opening tag before the
    /// text. What is in CDATA is text.
    fn matching_end(self, text: &str, open: &str, close: &str) -> Option<usize> {
        let mut depth = 1_usize;
        let mut at = 0;
        loop {
            at += text.get(at..)?.find('<')?;
            let is_cdata = self.is_xml && text.get(at..)?.starts_with(CDATA.0);
            if is_cdata {
                at += text.get(at..)?.find(CDATA.1)? + CDATA.1.len();
                continue;
            }
            let start = at.checked_sub(self.prefix.len());
            let tag = start
                .and_then(|start| text.get(start..))
                .unwrap_or_default();
            if tag.starts_with(close) {
                depth -= 1;
                if depth == 0 {
                    return start;
                }
            } else if tag.starts_with(open) {
                depth += 1;
            }
            at += 1;
        }
    }
}

/// The elements by name, each with what is in those of this name.
fn members(elements: Vec<Element<'_>>) -> Vec<(&str, Vec<&str>)> {
    let mut members: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut indexes: HashMap<&str, usize> = HashMap::new();
    for element in elements {
        let index = *indexes.entry(element.name).or_insert(members.len());
        match members.get_mut(index) {
            Some((_, values)) => values.push(element.inner),
            None => members.push((element.name, vec![element.inner])),
        }
    }
    members
}

fn is_object(schema: Schema<'_>) -> bool {
    match schema.node().get("type") {
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        _ => false,
    }
}

/// Whether a schema lists a property of this name.
fn is_declared(schema: Schema<'_>, name: &str) -> bool {
    let properties = schema.node().get("properties").and_then(Value::as_object);
    properties.is_some_and(|all| all.contains_key(name))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Elements, MixedElements};
    use crate::schema::Schema;

    const XML: Elements<'_> = Elements {
        prefix: "",
        is_xml: true,
    };

    #[test]
    fn an_object_of_many_members_is_read() {
        let schema = json!({"type": "object"});
        let member = |number| format!("<n{number}>1</n{number}>");
        let raw: String = (0..50_000).map(member).collect();
        let json = XML.json(&raw, Some(Schema::new(&schema))).unwrap().unwrap();
        let object: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(object.as_object().unwrap().len(), 50_000);
    }

    #[test]
    fn elements_deeper_than_the_limit_are_a_fault() {
        let schema = json!({"type": "array", "items": {"$ref": "#"}});
        let raw = "<item>".repeat(40) + "a" + &"</item>".repeat(40);
        let found = XML.json(&raw, Some(Schema::new(&schema)));
        assert_eq!(found, Err(MixedElements));
    }
}
