//! The one path by which the arguments of every dialect are checked.

use serde_json::Value;

use super::coerce::coerce;
use super::fault::{describe, missing_parameters};
use super::node::Node;
use super::{Coercion, Fault, Schema};
use crate::{Arguments, Problem, Span, ToolSpec, Toolset};

/// The result of a check of arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// The arguments, coerced where that was needed.
    pub args: Arguments,
    /// The values that were coerced.
    pub coercions: Vec<Coercion>,
    /// The faults that keep the call from running.
    pub faults: Vec<Fault>,
}

impl Check {
    /// Whether the call may run.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.faults.is_empty()
    }

    /// The faults as problems of a reply, all of the call at `span`.
    #[must_use]
    pub fn problems(&self, span: Span) -> Vec<Problem> {
        self.faults
            .iter()
            .map(|fault| fault.problem(span))
            .collect()
    }
}

/// Options of a check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CheckOptions {
    insert_defaults: bool,
}

impl CheckOptions {
    /// Inserts the declared defaults of parameters that were not given.
    #[must_use]
    pub const fn with_defaults(mut self) -> Self {
        self.insert_defaults = true;
        self
    }
}

/// Checks and coerces the arguments of a call.
///
/// All faults are found at once. Values that fit the schema stay as they are;
/// where a tool's schema is itself invalid, only missing parameters are found.
///
/// ```
/// use ptk_protocol::{Arguments, ToolSpec, Toolset, schema};
/// use serde_json::json;
///
/// let tools = Toolset::new([ToolSpec::new("head", "Show the first lines of a file", json!({
///     "type": "object",
///     "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}},
///     "required": ["path"],
/// }))])?;
///
/// let good = schema::check(&tools, "head", Arguments::from_json(r#"{"path":"a","lines":"5"}"#)?);
/// assert_eq!(good.args.to_json(), r#"{"path":"a","lines":5}"#);
///
/// let bad = schema::check(&tools, "head", Arguments::from_json(r#"{"lines":"many"}"#)?);
/// let messages: Vec<_> = bad.faults.iter().map(|fault| fault.message.as_str()).collect();
/// assert_eq!(messages, [
///     "Missing required parameter 'path' for head",
///     "Invalid type for parameter 'lines' in head: Expected integer, got string",
/// ]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn check(tools: &Toolset, name: &str, args: Arguments) -> Check {
    check_with(CheckOptions::default(), tools, name, args)
}

/// Finds what is wrong with the arguments of a call even after coercion. The
/// arguments stay as they are, and are copied only if something is wrong.
pub(crate) fn faults(tools: &Toolset, name: &str, args: &mut Arguments) -> Vec<Fault> {
    if let Some((spec, compiled)) = tools.compiled(name) {
        let (valid, back) = std::mem::take(args).with_value(|value| {
            compiled
                .for_value(&spec.parameters, value)
                .is_some_and(|validator| validator.is_valid(value))
        });
        *args = back;
        if valid {
            return Vec::new();
        }
    }
    check(tools, name, args.clone()).faults
}

/// Checks and coerces the arguments of a call, with options.
#[must_use]
pub fn check_with(options: CheckOptions, tools: &Toolset, name: &str, args: Arguments) -> Check {
    let Some((spec, compiled)) = tools.compiled(name) else {
        return Check {
            args,
            coercions: Vec::new(),
            faults: vec![Fault::unknown_tool(name, tools)],
        };
    };
    let args = if options.insert_defaults {
        insert_defaults(spec, args)
    } else {
        args
    };
    let (value, args) = args.with_value(|value| {
        let valid = compiled
            .for_value(&spec.parameters, value)
            .is_some_and(|validator| validator.is_valid(value));
        valid && !has_whole_float(value)
    });
    if value {
        return Check {
            args,
            coercions: Vec::new(),
            faults: Vec::new(),
        };
    }
    let (args, coercions) = coerce_arguments(spec, args);
    let (mut faults, args) =
        args.with_value(|value| match compiled.for_value(&spec.parameters, value) {
            Some(validator) => describe(spec, value, validator.iter_errors(value)),
            None => missing_parameters(spec, value),
        });
    // The validator goes by keyword; a reader wants what is missing first.
    faults.sort_by_key(|fault| !fault.message.starts_with("Missing"));
    Check {
        args,
        coercions,
        faults,
    }
}

/// Coerces the arguments of a call to the types of the tool's schema, without
/// checking them.
#[must_use]
pub fn coerced(tools: &Toolset, name: &str, args: Arguments) -> (Arguments, Vec<Coercion>) {
    match tools.get(name) {
        Some(spec) => coerce_arguments(spec, args),
        None => (args, Vec::new()),
    }
}

fn coerce_arguments(spec: &ToolSpec, args: Arguments) -> (Arguments, Vec<Coercion>) {
    let mut log = Vec::new();
    let coerced = coerce(spec.schema(), args.to_node(), &mut log);
    if log.is_empty() {
        return (args, log);
    }
    match Arguments::from_json(&coerced.to_json()) {
        Ok(coerced) => (coerced, log),
        Err(_) => (args, Vec::new()),
    }
}

fn insert_defaults(spec: &ToolSpec, args: Arguments) -> Arguments {
    let mut node = args.to_node();
    if fill(spec.schema(), &mut node, MAX_DEFAULT_DEPTH)
        && let Ok(filled) = Arguments::from_json(&node.to_json())
    {
        return filled;
    }
    args
}

/// How deep in nested objects defaults are inserted.
const MAX_DEFAULT_DEPTH: u32 = 16;

/// Inserts the defaults of absent properties; returns whether there were any.
fn fill(schema: Schema<'_>, node: &mut Node, depth: u32) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let schema = schema.resolved();
    let mut changed = false;
    match node {
        Node::Object(entries) => {
            let properties = schema.node().get("properties").and_then(Value::as_object);
            for (name, property) in properties.into_iter().flatten() {
                let property = schema.part(property);
                let default = property.node().get("default");
                let default = default.or_else(|| property.resolved().node().get("default"));
                match entries.iter_mut().find(|(known, _)| known == name) {
                    Some((_, value)) => changed |= fill(property, value, depth),
                    None => {
                        if let Some(default) = default {
                            entries.push((name.clone(), Node::from(default)));
                            changed = true;
                        }
                    }
                }
            }
        }
        Node::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                if let Some(schema) = schema.item(index) {
                    changed |= fill(schema, item, depth);
                }
            }
        }
        _ => {}
    }
    changed
}

/// Whether the value holds a number such as `5.0`: valid where an integer is
/// due, and still to be written as one.
fn has_whole_float(value: &Value) -> bool {
    match value {
        Value::Number(number) => number
            .as_f64()
            .is_some_and(|float| number.is_f64() && float.fract() == 0.0),
        Value::Array(items) => items.iter().any(has_whole_float),
        Value::Object(map) => map.values().any(has_whole_float),
        _ => false,
    }
}
