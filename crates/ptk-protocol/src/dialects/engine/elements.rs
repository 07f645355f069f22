//! Values that are written as elements: a list as an element for each item, an
//! object as one for each member. The schema decides whether a value is.

use serde_json::Value;

use super::json_marks::is_tool_name;
use super::tags::{decode, trim_lines};
use crate::schema::{Schema, allows_string, coerce_text};

/// How deep elements are read.
const MAX_DEPTH: usize = 16;

const CDATA: (&str, &str) = ("<![CDATA[", "]]>");

/// How the elements of a family are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Elements<'p> {
    /// The text before each tag.
    pub(crate) prefix: &'p str,
    /// Whether text has the entities and the CDATA of XML.
    pub(crate) is_xml: bool,
}

/// An element: its name, and what is in it.
struct Element<'t> {
    name: &'t str,
    inner: &'t str,
}

impl Elements<'_> {
    /// The JSON of a value. `None` if it is not made of elements, or the schema
    /// asks for neither a list nor an object.
    pub(crate) fn json(self, raw: &str, schema: Option<Schema<'_>>) -> Option<String> {
        self.value(raw, schema?, 0)
    }

    fn value(self, raw: &str, schema: Schema<'_>, depth: usize) -> Option<String> {
        let schema = schema.resolved();
        if depth > MAX_DEPTH || allows_string(Some(schema)) {
            return None;
        }
        if let Some(items) = schema.items() {
            return self.list(raw, items, depth + 1);
        }
        if schema.node().get("properties").is_some() || is_object(schema) {
            return self.object(raw, schema, depth + 1);
        }
        let mut branches = schema.branches("anyOf").chain(schema.branches("oneOf"));
        branches.find_map(|branch| self.value(raw, branch, depth + 1))
    }

    fn list(self, raw: &str, item: Schema<'_>, depth: usize) -> Option<String> {
        let elements = self.split(raw)?;
        let first = elements.first()?.name;
        // The only item, without an element of its own.
        let resolved = item.resolved();
        let are_members = elements
            .iter()
            .all(|element| is_declared(resolved, element.name));
        if are_members && let Some(object) = self.object(raw, resolved, depth) {
            return Some(format!("[{object}]"));
        }
        if elements.iter().any(|element| element.name != first) {
            return None;
        }
        let items = elements
            .iter()
            .map(|element| self.leaf(element.inner, Some(item), depth));
        Some(format!("[{}]", items.collect::<Vec<_>>().join(",")))
    }

    fn object(self, raw: &str, schema: Schema<'_>, depth: usize) -> Option<String> {
        let mut members: Vec<(&str, Vec<&str>)> = Vec::new();
        for element in self.split(raw)? {
            match members.iter_mut().find(|(name, _)| *name == element.name) {
                Some((_, values)) => values.push(element.inner),
                None => members.push((element.name, vec![element.inner])),
            }
        }
        let mut json = Vec::new();
        for (name, values) in members {
            let schema = schema.property(name);
            let value = match values.as_slice() {
                [only] => self.leaf(only, schema, depth),
                several => {
                    let item = schema?.resolved().items()?;
                    let items = several
                        .iter()
                        .map(|inner| self.leaf(inner, Some(item), depth));
                    format!("[{}]", items.collect::<Vec<_>>().join(","))
                }
            };
            json.push(format!("{}:{value}", Value::from(name)));
        }
        Some(format!("{{{}}}", json.join(",")))
    }

    /// What is in an element: elements, or text.
    fn leaf(self, inner: &str, schema: Option<Schema<'_>>, depth: usize) -> String {
        if let Some(json) = schema.and_then(|schema| self.value(inner, schema, depth)) {
            return json;
        }
        let cdata = inner.trim().strip_prefix(CDATA.0);
        let cdata = cdata.and_then(|inner| inner.strip_suffix(CDATA.1));
        if let Some(text) = cdata.filter(|text| self.is_xml && !text.contains(CDATA.1)) {
            return coerce_text(text, schema).to_json();
        }
        let text = trim_lines(inner);
        if self.is_xml {
            coerce_text(&decode(text), schema).to_json()
        } else {
            coerce_text(text, schema).to_json()
        }
    }

    /// The elements of a text that holds nothing else.
    fn split(self, raw: &str) -> Option<Vec<Element<'_>>> {
        let mut elements = Vec::new();
        let mut rest = raw.trim();
        while !rest.is_empty() {
            let tag = rest.strip_prefix(self.prefix)?.strip_prefix('<')?;
            let (name, behind) = tag.split_once('>')?;
            if let Some(name) = name.strip_suffix('/') {
                let name = Some(name.trim_end()).filter(|name| is_tool_name(name))?;
                elements.push(Element { name, inner: "" });
                rest = behind.trim_start();
                continue;
            }
            let name = Some(name).filter(|name| is_tool_name(name))?;
            let open = format!("{}<{name}>", self.prefix);
            let close = format!("{}</{name}>", self.prefix);
            let end = matching_end(behind, &open, &close)?;
            let (inner, after) = behind.split_at_checked(end)?;
            elements.push(Element { name, inner });
            rest = after.get(close.len()..)?.trim_start();
        }
        (!elements.is_empty()).then_some(elements)
    }
}

/// Where the closing tag stands that belongs to an opening tag before the text.
fn matching_end(text: &str, open: &str, close: &str) -> Option<usize> {
    let mut depth = 1;
    let mut at = 0;
    loop {
        let found = at + text.get(at..)?.find(close)?;
        depth += text.get(at..found)?.matches(open).count();
        depth -= 1;
        if depth == 0 {
            return Some(found);
        }
        at = found + close.len();
    }
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
