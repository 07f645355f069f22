//! A part of what was found, and the call that gives the next part.

use ptk_protocol::ToolResult;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::preview;

/// The call that gives the next page: the same arguments with another offset.
/// Default values are left out.
pub(crate) fn next_call<A: Serialize>(
    tool: &str,
    args: &A,
    defaults: &A,
    required: &[&str],
    offset: usize,
) -> String {
    let map = |args: &A| match serde_json::to_value(args) {
        Ok(Value::Object(map)) => map,
        _ => serde_json::Map::new(),
    };
    let defaults = map(defaults);
    let given = map(args).into_iter().filter(|(name, value)| {
        name != "offset"
            && !value.is_null()
            && (required.contains(&name.as_str()) || defaults.get(name) != Some(value))
    });
    let mut given: Vec<String> = given
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    given.push(format!("offset={offset}"));
    format!("{tool}({})", given.join(", "))
}

/// Arguments with only these given, the others as by default.
pub(crate) fn defaults_of<A: DeserializeOwned>(required: &[(&str, &str)]) -> Option<A> {
    let given = required
        .iter()
        .map(|(name, value)| ((*name).to_owned(), Value::from(*value)));
    serde_json::from_value(Value::Object(given.collect())).ok()
}

/// The preview of a list: how many items there are, and the first ones.
pub(crate) fn preview_list(
    result: &ToolResult,
    field: &str,
    what: [&str; 2],
    max_lines: usize,
) -> Vec<String> {
    let Some(Value::Array(items)) = result.fields.get(field).filter(|_| result.success) else {
        return preview::of(result, max_lines);
    };
    let total = result.fields.get("total").and_then(Value::as_u64);
    let total = total.unwrap_or(items.len() as u64);
    let one = items.iter().filter_map(Value::as_str);
    let text: Vec<&str> = one.take(max_lines + 1).collect();
    let [single, several] = what;
    let what = if total == 1 { single } else { several };
    let content = format!("{total} {what}\n{}", text.join("\n"));
    let fields: Map<String, Value> = [("content".to_owned(), content.into())]
        .into_iter()
        .collect();
    preview::of(&ToolResult::success(fields), max_lines)
}

/// The smallest `offset + limit` items in order, without sorting the others.
pub(crate) fn page<T: Ord>(mut all: Vec<T>, offset: usize, limit: usize) -> Vec<T> {
    let end = offset.saturating_add(limit);
    if end < all.len() {
        all.select_nth_unstable(end);
        all.truncate(end);
    }
    if offset >= all.len() {
        return Vec::new();
    }
    if offset > 0 {
        all.select_nth_unstable(offset);
    }
    let mut page = all.split_off(offset);
    page.sort_unstable();
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_cover_everything_once_and_in_order() {
        let all: Vec<u32> = (0..1_000).map(|n| n * 7_919 % 1_009).collect();
        let mut sorted = all.clone();
        sorted.sort_unstable();
        for limit in [1, 7, 50, 999, 1_000, 5_000] {
            let mut seen = Vec::new();
            let mut offset = 0;
            loop {
                let part = page(all.clone(), offset, limit);
                if part.is_empty() {
                    break;
                }
                offset += part.len();
                seen.extend(part);
            }
            assert_eq!(seen, sorted);
        }
    }
}
