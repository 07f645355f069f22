//! Arguments line by line. A value ends with its line, so a text of several
//! lines has no form here: where a model writes one all the same, the call is
//! broken, and does not run with a part of the text.

use std::collections::HashSet;
use std::ops::Range;

use serde_json::{Map, Value};

use crate::dialects::engine::named_values::NamedValues;
use crate::parse::{Input, MarkAt, floor, mark_at};
use crate::{ProblemCode, ToolSpec};

/// How far behind a closing mark is looked.
const LOOK_AHEAD: usize = 512;

/// Reads the arguments in a body.
pub(super) fn read(
    values: &mut NamedValues,
    input: &Input<'_>,
    between: &str,
    colon: &str,
    body: Range<usize>,
) {
    let tool = input.tools.and_then(|tools| tools.get(values.name()));
    let mut given = HashSet::new();
    let mut at = body.start;
    for line in input.slice(body).split(between) {
        let range = at..at + line.len();
        at = range.end + between.len();
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let Some((key, value)) = line.split_once(colon) else {
            let message = format!(
                "A line of the arguments has no `{colon}`; each argument stands on one line"
            );
            values.problem(ProblemCode::Malformed, &message, range);
            continue;
        };
        let key = key.trim();
        if key.is_empty() || tool.is_some_and(|tool| !takes(tool, key)) {
            let message = format!("`{key}` is not an argument of `{}`", values.name());
            values.problem(ProblemCode::Malformed, &message, range);
        } else if given.insert(key) {
            values.text(key, value.trim(), input);
        } else {
            let message = format!("The argument `{key}` is given twice");
            values.problem(ProblemCode::InvalidArguments, &message, range);
        }
    }
}

/// Whether a tool has a parameter of this name, or takes any.
fn takes(tool: &ToolSpec, key: &str) -> bool {
    let schema = tool.schema();
    match schema.property(key) {
        Some(found) => found.node() != &Value::Bool(false),
        None => {
            tool.properties().is_none_or(Map::is_empty)
                || schema.node().get("patternProperties").is_some()
        }
    }
}

/// Whether a closing mark that ends at `at` closes the body: it ends a line, or
/// another mark follows it, and the next line is not an argument. `None` if more
/// text is needed to decide.
pub(super) fn closes(input: &Input<'_>, name: &str, colon: &str, at: usize) -> Option<bool> {
    let rest = input.from(at);
    let window = rest.get(..floor(rest, LOOK_AHEAD)).unwrap_or("");
    let is_whole = input.end || window.len() < rest.len();
    let line = window.trim_start_matches([' ', '\t', '\r']);
    if line.is_empty() {
        return is_whole.then_some(true);
    }
    if !line.starts_with('\n') {
        return is_mark(input, at + window.len() - line.len());
    }
    let next = line.trim_start();
    if next.is_empty() {
        return is_whole.then_some(true);
    }
    let tool = input.tools.and_then(|tools| tools.get(name));
    let keys = tool.and_then(ToolSpec::properties).into_iter().flatten();
    let mut is_sure = true;
    for (key, _) in keys {
        let is_argument = match next.strip_prefix(key.as_str()) {
            Some(behind) => mark_at(behind.trim_start_matches([' ', '\t']), &[colon]),
            None if key.starts_with(next) => MarkAt::Partial,
            None => MarkAt::None,
        };
        match is_argument {
            MarkAt::Finding { .. } => return Some(false),
            MarkAt::Partial => is_sure = is_whole,
            MarkAt::None => {}
        }
    }
    is_sure.then_some(true)
}

/// Whether a mark stands at `at`, such as one that opens the next call or ends
/// the turn.
fn is_mark(input: &Input<'_>, at: usize) -> Option<bool> {
    match mark_at(input.from(at), input.stops) {
        MarkAt::Finding { .. } => Some(true),
        MarkAt::Partial if !input.end => None,
        MarkAt::Partial | MarkAt::None => input.is_markup(at),
    }
}
