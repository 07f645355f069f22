//! Replies in the forms of many models, with the calls and the text expected.
//!
//! Some rows expect a parser to drop what PTK keeps. Those are recognized by
//! rule and listed with the reason, so that any other difference stands out.

use std::collections::BTreeMap;
use std::path::Path;

use ptk_protocol::{Grammar, ParsedCall, ProblemCode, Reply, Status, parse};
use serde_json::Value;

use crate::same::same;
use crate::{Outcome, Tally, rows, tools};

/// Content that a row drops on purpose and PTK keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Dropped {
    TextBehindCall,
    CallWithoutClosingMark,
    ArgumentWithoutClosingTag,
}

impl Dropped {
    fn reason(self) -> &'static str {
        match self {
            Self::TextBehindCall => "the row drops text behind a call",
            Self::CallWithoutClosingMark => {
                "the row drops a whole call whose closing mark is missing"
            }
            Self::ArgumentWithoutClosingTag => {
                "the row drops an argument whose closing tag is missing"
            }
        }
    }
}

/// A row: what is expected, and what was read.
struct Row<'a> {
    input: &'a str,
    calls: &'a [Value],
    text: &'a str,
    reply: &'a Reply,
    /// The calls that were read whole.
    whole: Vec<&'a ParsedCall>,
}

/// Parses every reply without knowing its dialect.
pub(crate) fn run(file: &Path) -> Outcome<()> {
    let mut tally = Tally::new("replies of many models, by dialect");
    let mut kept: BTreeMap<Dropped, usize> = BTreeMap::new();
    let mut all = 0;
    let mut unexplained = 0;
    for (index, row) in rows(file)?.into_iter().enumerate() {
        let grammar = Grammar::auto(tools(&row)?)?;
        let dialect = row.get("dialect").and_then(Value::as_str).unwrap_or("?");
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let input = text(row.get("input")).unwrap_or_default();
        let expect = row.get("expect").cloned().unwrap_or_default();
        let calls = expect.get("calls").and_then(Value::as_array);
        let reply = parse(&input, &grammar);
        let read = Row {
            input: &input,
            calls: calls.map(Vec::as_slice).unwrap_or_default(),
            text: expect.get("text").and_then(Value::as_str).unwrap_or(""),
            whole: reply
                .calls
                .iter()
                .filter(|call| call.status != Status::Truncated)
                .collect(),
            reply: &reply,
        };
        let passed = read.has_the_calls() && read.has_the_text();
        all += 1;
        tally.count(dialect, passed);
        if passed {
            continue;
        }
        let dropped = read.dropped();
        match dropped {
            Some(dropped) => *kept.entry(dropped).or_default() += 1,
            None => unexplained += 1,
        }
        let reason = dropped.map_or("UNEXPLAINED", Dropped::reason);
        tally.list(format!("line {} ({dialect}): {reason}", index + 1));
    }
    tally.print();
    let differ: usize = kept.values().sum();
    let reasons: Vec<String> = kept
        .iter()
        .map(|(dropped, count)| format!("{count} × {}", dropped.reason()))
        .collect();
    let colon = if reasons.is_empty() { "" } else { ": " };
    println!(
        "{} of {all} as expected, {differ} differ on purpose{colon}{}, {unexplained} unexplained\n",
        all - differ - unexplained,
        reasons.join("; "),
    );
    Ok(())
}

impl Row<'_> {
    fn has_the_calls(&self) -> bool {
        self.whole.len() == self.calls.len()
            && self.calls.iter().zip(&self.whole).all(|(expected, found)| {
                is_called(expected, found)
                    && expected
                        .get("args")
                        .is_some_and(|args| same(args, &arguments(found)))
            })
    }

    fn has_the_text(&self) -> bool {
        self.reply.text.trim() == self.text.trim()
    }

    fn dropped(&self) -> Option<Dropped> {
        if self.has_the_calls() {
            let behind = self.reply.text.trim().strip_prefix(self.text.trim());
            return behind.map(|_| Dropped::TextBehindCall);
        }
        // A call that is dropped may be left in the text as it was written.
        let is_left = self.text.trim() == self.input.trim() && self.calls.is_empty();
        if self.drops_unclosed_calls() && (self.has_the_text() || is_left) {
            return Some(Dropped::CallWithoutClosingMark);
        }
        (self.drops_unclosed_arguments() && self.has_the_text())
            .then_some(Dropped::ArgumentWithoutClosingTag)
    }

    /// Whether the expected calls are those that were read, but for whole
    /// calls without a closing mark or bracket.
    fn drops_unclosed_calls(&self) -> bool {
        let mut expected = self.calls.iter().peekable();
        let kept = |found: &&ParsedCall| {
            let same_call = expected.next_if(|expected| {
                is_called(expected, found)
                    && expected
                        .get("args")
                        .is_some_and(|args| same(args, &arguments(found)))
            });
            let is_unclosed =
                has(found, ProblemCode::MissingCloseMark) || has(found, ProblemCode::MissingCloser);
            same_call.is_some() || is_unclosed
        };
        self.whole.len() > self.calls.len()
            && self.whole.iter().all(kept)
            && expected.next().is_none()
    }

    /// Whether the expected calls lack arguments only in calls in which a
    /// closing tag is missing.
    fn drops_unclosed_arguments(&self) -> bool {
        self.whole.len() == self.calls.len()
            && self.calls.iter().zip(&self.whole).all(|(expected, found)| {
                let args = expected.get("args").and_then(Value::as_object);
                let found_args = found.call.args.as_map();
                let some = args.is_some_and(|args| {
                    let mut args = args.iter();
                    args.all(|(key, value)| found_args.get(key).is_some_and(|v| same(value, v)))
                });
                let as_many = args.is_some_and(|args| args.len() == found_args.len());
                is_called(expected, found)
                    && some
                    && (as_many || has(found, ProblemCode::MissingCloser))
            })
    }
}

fn is_called(expected: &Value, found: &ParsedCall) -> bool {
    expected.get("name").and_then(Value::as_str) == Some(&found.call.name)
}

fn arguments(found: &ParsedCall) -> Value {
    Value::Object(found.call.args.as_map().clone())
}

fn has(call: &ParsedCall, code: ProblemCode) -> bool {
    call.problems.iter().any(|problem| problem.code == code)
}
