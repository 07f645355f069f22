//! Replies in the forms of many models, with the calls and the text expected.

use std::path::Path;

use ptk_protocol::{Grammar, ParsedCall, parse};
use serde_json::Value;

use crate::{Outcome, Tally, rows, same, tools};

/// Reads every reply without being told its dialect.
pub(crate) fn run(file: &Path) -> Outcome<()> {
    let mut tally = Tally::new("replies of many models, by dialect");
    for row in rows(file)? {
        let grammar = Grammar::auto(tools(&row)?)?;
        let input = row.get("input").and_then(Value::as_str).unwrap_or_default();
        let expect = row.get("expect").cloned().unwrap_or_default();
        let reply = parse(input, &grammar);
        let whole: Vec<&ParsedCall> = reply.runnable().collect();
        let calls = expect
            .get("calls")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let text = expect
            .get("text")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let passed = whole.len() == calls.len()
            && whole.iter().zip(&calls).all(|(found, expected)| {
                expected.get("name").and_then(Value::as_str) == Some(&found.call.name)
                    && expected.get("args").is_some_and(|args| {
                        same(args, &Value::Object(found.call.args.as_map().clone()))
                    })
            })
            && reply.text.trim() == text.trim();
        let dialect = row.get("dialect").and_then(Value::as_str).unwrap_or("?");
        tally.count(dialect, passed);
    }
    tally.print();
    Ok(())
}
