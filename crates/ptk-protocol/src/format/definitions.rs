//! Lists tools in a form that a model can read.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use serde_json::{Map, Value};

use super::guard::Guard;
use crate::schema::{Budget, Schema};
use crate::{ToolSpec, Toolset};

/// How tools are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DefinitionStyle {
    /// Every parameter on a line of its own.
    #[default]
    Full,
    /// One line a tool, for small models and windows:
    /// `- read_file(path: string, limit?: integer): Read a file`. If a tool
    /// says [what most calls need](ToolSpec::main_parameters), only that.
    Signature,
}

/// How deep nested objects are listed.
const MAX_DEPTH: usize = 4;
/// The most lines listed for one tool; a schema that refers to itself has no
/// end.
const MAX_LINES: usize = 120;
/// How deep objects are written in a signature, and how long one gets.
const MAX_SIGNATURE_DEPTH: usize = 3;
const MAX_SIGNATURE: usize = 2000;
/// The most allowed values listed for one parameter.
const MAX_VALUES: usize = 24;
/// How many schemas are visited for one tool. Alternatives multiply with each
/// level; a schema past this has any type.
const MAX_VISITS: u64 = 20_000;
/// The most bytes of text listed for one tool: one long description may be
/// referred to from many places.
const MAX_TEXT: usize = 256 * 1024;
/// How many bytes of text cost as much as a visit.
const TEXT: usize = 64;
/// The most bytes of a type's name; a longer one is not a type.
const MAX_TYPE: usize = 64;
/// The most characters of a default value.
const MAX_DEFAULT: usize = 80;

pub(super) fn list(tools: &Toolset, style: DefinitionStyle, guard: &Guard) -> String {
    if tools.is_empty() {
        return "No tools available.".to_owned();
    }
    let (separator, write): (&str, fn(&ToolSpec) -> String) = match style {
        DefinitionStyle::Full => ("\n\n", full),
        DefinitionStyle::Signature => ("\n", signature),
    };
    let tools: Vec<String> = tools.iter().map(write).collect();
    // Descriptions come from other programs, too (MCP): they are not trusted.
    guard.neutralise(&tools.join(separator)).into_owned()
}

fn full(spec: &ToolSpec) -> String {
    let mut out = format!("• {}: {}\n", spec.name, spec.description.trim());
    let mut parameters = Vec::new();
    lines(spec.schema(), 1, &Budget::of(MAX_VISITS), &mut parameters);
    let text: usize = parameters.iter().map(String::len).sum();
    if parameters.len() > MAX_LINES || text > MAX_TEXT {
        parameters.truncate(MAX_LINES);
        parameters.push("  - … and more".to_owned());
    }
    if parameters.is_empty() {
        out.push_str("Parameters: none");
    } else {
        out.push_str("Parameters:\n");
        out.push_str(&parameters.join("\n"));
    }
    out
}

/// One line for each property, nested ones indented below their parent.
fn lines(schema: Schema<'_>, depth: usize, budget: &Budget, out: &mut Vec<String>) {
    if depth > MAX_DEPTH {
        return;
    }
    let indent = "  ".repeat(depth);
    for property in properties(schema, budget) {
        let need = if property.required {
            "required"
        } else {
            "optional"
        };
        let mut line = format!(
            "{indent}- {}: {} ({need})",
            property.name,
            property.type_name(budget)
        );
        let about = about(property.schema);
        if !about.is_empty() {
            line.push_str(" - ");
            line.push_str(&about);
        }
        out.push(line);
        let text: usize = out.iter().map(String::len).sum();
        if out.len() > MAX_LINES || text > MAX_TEXT {
            return;
        }
        lines(innermost(property.schema), depth + 1, budget, out);
    }
}

struct Property<'a> {
    name: &'a str,
    schema: Schema<'a>,
    required: bool,
}

impl Property<'_> {
    /// The type of the parameter. That an optional one may also be null is left
    /// out.
    fn type_name(&self, budget: &Budget) -> String {
        let name = type_name(self.schema, budget);
        match name.strip_suffix(" or null") {
            Some(name) if !self.required => name.to_owned(),
            _ => name,
        }
    }

    /// The type of the parameter in a signature.
    fn signature_type(&self, depth: usize, budget: &Budget) -> String {
        let name = signature_type(self.schema, depth, budget);
        match name.strip_suffix("|null") {
            Some(name) if !self.required => name.to_owned(),
            _ => name,
        }
    }
}

fn properties<'a>(schema: Schema<'a>, budget: &Budget) -> Vec<Property<'a>> {
    let mut found: Vec<Property<'_>> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let schema = schema.resolved();
    let parts = std::iter::once(schema).chain(schema.branches("allOf").map(Schema::resolved));
    for part in parts {
        let required = part.node().get("required").and_then(Value::as_array);
        let required: HashSet<&str> = required
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let declared = part.node().get("properties").and_then(Value::as_object);
        let declared = declared.filter(|all| budget.spend(all.len() as u64));
        for name in declared.into_iter().flat_map(Map::keys) {
            let Some(schema) = part.property(name) else {
                continue;
            };
            let required = required.contains(name.as_str());
            let place = *places.entry(name).or_insert(found.len());
            match found.get_mut(place) {
                Some(known) => known.required |= required,
                None => found.push(Property {
                    name,
                    schema,
                    required,
                }),
            }
        }
    }
    found
}

/// The object whose properties are to be listed: behind references, `null`
/// alternatives and arrays.
fn innermost(schema: Schema<'_>) -> Schema<'_> {
    let mut schema = schema.resolved();
    for _ in 0..MAX_DEPTH {
        let single = single_alternative(schema);
        let Some(inner) = single.or_else(|| schema.items()) else {
            break;
        };
        schema = inner.resolved();
    }
    schema
}

/// The only alternative beside `null`, if there is just one.
fn single_alternative(schema: Schema<'_>) -> Option<Schema<'_>> {
    ["anyOf", "oneOf", "allOf"].into_iter().find_map(|keyword| {
        let mut real = schema
            .branches(keyword)
            .filter(|part| part.node().get("type") != Some(&Value::from("null")));
        match (real.next(), real.next()) {
            (Some(only), None) => Some(only),
            _ => None,
        }
    })
}

/// The name of a type, such as `array of string` or `integer or null`.
fn type_name(schema: Schema<'_>, budget: &Budget) -> String {
    type_name_within(schema, MAX_DEPTH, budget)
}

fn type_name_within(schema: Schema<'_>, depth: usize, budget: &Budget) -> String {
    let Some(depth) = depth.checked_sub(1).filter(|_| budget.spend(1)) else {
        return "any".to_owned();
    };
    let schema = schema.resolved();
    let node = schema.node();
    let mut names: Vec<String> = match node.get("type") {
        Some(Value::String(name)) if name.len() <= MAX_TYPE => vec![name.clone()],
        Some(Value::Array(names)) => names
            .iter()
            .filter_map(Value::as_str)
            .filter(|name| name.len() <= MAX_TYPE)
            .take(MAX_VALUES)
            .map(str::to_owned)
            .collect(),
        _ => Vec::new(),
    };
    if let Some(items) = schema.items()
        && let Some(array) = names.iter_mut().find(|name| *name == "array")
    {
        *array = match type_name_within(items, depth, budget).as_str() {
            "any" => "array".to_owned(),
            inner if inner.contains(" or ") => format!("array of ({inner})"),
            inner => format!("array of {inner}"),
        };
    }
    if names.is_empty() {
        for keyword in ["anyOf", "oneOf", "allOf"] {
            for part in schema.branches(keyword) {
                push_new(&mut names, type_name_within(part, depth, budget));
            }
        }
    }
    if names.is_empty() {
        let values = node.get("enum").and_then(Value::as_array);
        let values = values.into_iter().flatten().chain(node.get("const"));
        for value in values {
            push_new(&mut names, value_type(value).to_owned());
        }
    }
    if names.is_empty() && node.get("properties").is_some() {
        names.push("object".to_owned());
    }
    if node.get("nullable") == Some(&Value::Bool(true)) {
        push_new(&mut names, "null".to_owned());
    }
    if names.is_empty() {
        return "any".to_owned();
    }
    names.join(" or ")
}

fn push_new(names: &mut Vec<String>, name: String) {
    if !names.contains(&name) {
        names.push(name);
    }
}

fn value_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The description, and what else a caller has to know.
fn about(schema: Schema<'_>) -> String {
    let inner = innermost(schema);
    let keyword = |name: &str| {
        let own = schema.node().get(name);
        own.or_else(|| schema.resolved().node().get(name))
            .or_else(|| inner.node().get(name))
    };
    let description = schema.node().get("description");
    let description = description.or_else(|| schema.resolved().node().get("description"));
    let description = description.and_then(Value::as_str).unwrap_or_default();
    let mut parts = vec![one_line(description)];
    if let Some(values) = keyword("enum").and_then(Value::as_array) {
        parts.push(format!("One of: {}", values_list(values, ", ")));
    }
    if let Some(value) = keyword("const") {
        parts.push(format!("Always {value}"));
    }
    let range = match (keyword("minimum"), keyword("maximum")) {
        (Some(least), Some(most)) => format!("From {least} to {most}"),
        (Some(least), None) => format!("At least {least}"),
        (None, Some(most)) => format!("At most {most}"),
        (None, None) => String::new(),
    };
    parts.push(range);
    // Many descriptions give the default already.
    let is_said = description.to_ascii_lowercase().contains("default");
    let default = schema
        .node()
        .get("default")
        .filter(|value| !value.is_null() && !is_said);
    if let Some(default) = default {
        let default = crate::problem::excerpt(&default.to_string(), MAX_DEFAULT);
        parts.push(format!("Default: {default}"));
    }
    parts.retain(|part| !part.is_empty());
    let Some((last, before)) = parts.split_last() else {
        return String::new();
    };
    // A lone description stays as its author wrote it.
    let before: String = before
        .iter()
        .map(|part| crate::problem::sentence(part) + " ")
        .collect();
    format!("{before}{last}")
}

fn values_list(values: &[Value], separator: &str) -> String {
    let mut list: Vec<String> = values
        .iter()
        .take(MAX_VALUES)
        .map(Value::to_string)
        .collect();
    if values.len() > MAX_VALUES {
        list.push(format!("… ({} in all)", values.len()));
    }
    list.join(separator)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn signature(spec: &ToolSpec) -> String {
    let budget = Budget::of(MAX_VISITS);
    let properties = properties(spec.schema(), &budget);
    let main = spec.main_parameters.unwrap_or(usize::MAX);
    let named = properties.iter().enumerate();
    let named = named.filter(|(at, property)| *at < main || property.required);
    let named = named.map(|(_, property)| property);
    let parameters = signature_list(named, MAX_SIGNATURE_DEPTH, &budget);
    let parameters = crate::problem::excerpt(&parameters, MAX_SIGNATURE);
    let mut out = format!("- {}({parameters})", spec.name);
    let description = one_line(&spec.description);
    if !description.is_empty() {
        // Writing to a string cannot fail.
        let _ = write!(out, ": {description}");
    }
    out
}

fn signature_properties(schema: Schema<'_>, depth: usize, budget: &Budget) -> String {
    signature_list(properties(schema, budget).iter(), depth, budget)
}

fn signature_list<'a>(
    properties: impl Iterator<Item = &'a Property<'a>>,
    depth: usize,
    budget: &Budget,
) -> String {
    let properties: Vec<String> = properties
        .take_while(|property| budget.spend((property.name.len() / TEXT) as u64))
        .map(|property| {
            let mark = if property.required { "" } else { "?" };
            format!(
                "{}{mark}: {}",
                property.name,
                property.signature_type(depth, budget)
            )
        })
        .collect();
    properties.join(", ")
}

fn signature_type(schema: Schema<'_>, depth: usize, budget: &Budget) -> String {
    let Some(depth) = depth.checked_sub(1).filter(|_| budget.spend(1)) else {
        return "any".to_owned();
    };
    let schema = schema.resolved();
    if let Some(values) = schema.node().get("enum").and_then(Value::as_array) {
        let list = values_list(values, "|");
        budget.spend((list.len() / TEXT) as u64);
        return list;
    }
    if !properties(schema, budget).is_empty() {
        return format!("{{{}}}", signature_properties(schema, depth, budget));
    }
    if let Some(items) = schema.items() {
        let items = signature_type(items, depth, budget);
        return if items.contains('|') {
            format!("({items})[]")
        } else {
            format!("{items}[]")
        };
    }
    for keyword in ["anyOf", "oneOf"] {
        let mut names = Vec::new();
        for part in schema.branches(keyword) {
            push_new(&mut names, signature_type(part, depth, budget));
        }
        if !names.is_empty() {
            return names.join("|");
        }
    }
    type_name(schema, budget).replace(" or ", "|")
}
