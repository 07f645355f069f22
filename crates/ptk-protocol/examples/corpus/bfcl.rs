//! Gold calls, written in every dialect of our own, whole and broken once in
//! a way a model breaks them: they must come back.

use std::path::Path;

use ptk_protocol::dialects::Registry;
use ptk_protocol::{Arguments, Grammar, Outcome as Meaning, ParsedCall, Status, ToolCall, parse};
use serde_json::Value;

use crate::corrupt::{self, Kind};
use crate::random::Random;
use crate::same::same;
use crate::{Outcome, Tally, rows, tools};

/// How often each call is broken in each dialect.
const BREAKS: usize = 8;

/// Writes the calls, breaks them and reads them back.
pub(crate) fn run(file: &Path) -> Outcome<()> {
    let rows = rows(file)?;
    let registry = Registry::builtin();
    let mut whole = Tally::new("gold calls written and read back, by dialect");
    let mut broken = Tally::new("broken once, by dialect");
    let mut kinds = Tally::new("broken once, by kind");
    let mut silent = Tally::new("broken once: right, or wrong with a label");
    let mut cut = Tally::new("cut off anywhere: nothing run that was not whole");
    let mut random = Random(1);
    for row in &rows {
        let gold = gold(row)?;
        if gold.is_empty() {
            continue;
        }
        let tools = tools(row)?;
        let auto = Grammar::auto(tools.clone())?;
        for dialect in registry.all() {
            let Some(writer) = dialect.writer() else {
                continue;
            };
            let name = dialect.name();
            let text = writer.calls(&gold);
            let reply = parse(&text, &auto);
            let complete = |call: &ParsedCall| call.status == Status::Complete;
            let exact = reply.calls.iter().all(complete) && matches(&reply, &gold);
            whole.count(name, exact);
            if !exact {
                whole.list(format!("{name}: {text}\n    {reply:?}"));
            }
            for _ in 0..BREAKS {
                let Some((kind, text)) = corrupt::once(name, &text, &tools, &mut random) else {
                    continue;
                };
                let reply = parse(&text, &auto);
                let exact = matches(&reply, &gold);
                let labelled = !reply.problems.is_empty()
                    || reply.calls.iter().any(|call| !call.problems.is_empty())
                    || matches!(reply.outcome(), Meaning::Malformed(_));
                if kind == Kind::CutOff {
                    let run: Vec<&ToolCall> = reply.runnable().map(|call| &call.call).collect();
                    let safe = run
                        .iter()
                        .zip(&gold)
                        .all(|(found, gold)| equal(found, gold));
                    cut.count(name, safe);
                    if !safe {
                        cut.list(format!("{name}: {text:?}\n    {run:?}"));
                    }
                    continue;
                }
                broken.count(name, exact);
                kinds.count(&format!("{kind:?}"), exact);
                silent.count(name, exact || labelled);
                if !exact {
                    let calls: Vec<&ToolCall> = reply.calls.iter().map(|call| &call.call).collect();
                    broken.list(format!("{name} {kind:?}: {text:?}\n    {calls:?}"));
                }
                if !exact && !labelled {
                    silent.list(format!("{name} {kind:?}: {text:?}"));
                }
            }
        }
    }
    for tally in [whole, broken, kinds, silent, cut] {
        tally.print();
    }
    Ok(())
}

/// The gold calls of a row.
pub(crate) fn gold(row: &Value) -> Outcome<Vec<ToolCall>> {
    let mut calls = Vec::new();
    for gold in row
        .get("gold")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let name = gold.get("name").and_then(Value::as_str).unwrap_or_default();
        let args = gold.get("args").map(Value::to_string).unwrap_or_default();
        calls.push(ToolCall::new(name, Arguments::from_json(&args)?));
    }
    Ok(calls)
}

fn matches(reply: &ptk_protocol::Reply, gold: &[ToolCall]) -> bool {
    reply.calls.len() == gold.len()
        && reply
            .calls
            .iter()
            .zip(gold)
            .all(|(found, gold)| found.status != Status::Truncated && equal(&found.call, gold))
}

fn equal(found: &ToolCall, gold: &ToolCall) -> bool {
    found.name == gold.name
        && same(
            &Value::Object(found.args.as_map().clone()),
            &Value::Object(gold.args.as_map().clone()),
        )
}
