//! Detects models that repeat themselves, from their calls and the results.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use ptk_protocol::{Arguments, ToolResult};
use serde_json::{Map, Value, json};

/// The number of last calls that are compared: a cycle is shorter.
const WINDOW: usize = 18;
/// The longest cycle that is found, in calls.
const LONGEST_CYCLE: usize = 6;
/// How often something happens before it is a loop.
const TIMES: usize = 3;
/// The same for a call that only reads: it gives nothing new a second time.
const LOOKS: usize = 2;
/// Fields in which tools return how much they found.
const COUNTS: [&str; 4] = ["count", "total", "total_matches", "matches"];

/// How a model repeats itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LoopKind {
    /// The same call, with nothing changed in between.
    SameCall,
    /// Calls of one tool, each with other arguments, that all fail in the same
    /// way.
    SameOutcome,
    /// Several calls in turns, each time with the same results.
    Cycle,
    /// Searches that find nothing.
    EmptySearches,
}

impl LoopKind {
    const ALL: [Self; 4] = [
        Self::SameCall,
        Self::Cycle,
        Self::SameOutcome,
        Self::EmptySearches,
    ];

    /// The name of the kind.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SameCall => "same_call",
            Self::SameOutcome => "same_outcome",
            Self::Cycle => "cycle",
            Self::EmptySearches => "empty_searches",
        }
    }

    /// How many more repetitions are allowed after the model was warned.
    const fn grace(self) -> usize {
        match self {
            Self::SameCall | Self::Cycle => 1,
            Self::SameOutcome => 2,
            // Different searches are work, and not a loop, for quite a while.
            Self::EmptySearches => 17,
        }
    }

    /// The warning for the model.
    fn advice(self, tool: &str, count: usize) -> String {
        let what = match self {
            Self::SameCall => format!(
                "You have called {tool} {count} times with the same arguments, and nothing has changed in between. Its result stands above."
            ),
            Self::SameOutcome => {
                format!("The last {count} calls of {tool} failed in the same way.")
            }
            Self::Cycle => format!(
                "You have made the same calls in turns {count} times, each time with the same results."
            ),
            Self::EmptySearches => format!("The last {count} searches found nothing."),
        };
        format!(
            "{what} Do something else, or answer with what you know. If this goes on, you have to answer without tools."
        )
    }
}

/// A loop that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) kind: LoopKind,
    /// The tool of the last call.
    pub(crate) tool: String,
    /// How many repetitions there were.
    pub(crate) count: usize,
    /// The warning for the model.
    pub(crate) advice: String,
    /// Whether the model was warned before and went on.
    pub(crate) is_told: bool,
    key: u64,
}

impl Found {
    /// The data of the log entry that the model was warned.
    pub(crate) fn to_data(&self) -> Value {
        json!({"loop": self.kind.as_str(), "key": self.key.to_string(), "count": self.count})
    }
}

/// A call that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Made {
    tool: String,
    /// A hash of the tool and its arguments, whatever their order.
    call: u64,
    /// A hash of the outcome.
    outcome: u64,
    /// Whether the call failed because it was made before.
    is_refused: bool,
    is_failure: bool,
    is_empty: bool,
}

/// The calls of a turn, as far as they can be part of a loop.
#[derive(Debug, Clone, Default)]
pub(crate) struct Loops {
    made: Vec<Made>,
    /// How many repetitions there were when the model was warned.
    told: HashMap<(LoopKind, u64), usize>,
}

impl Loops {
    /// Takes in a call that has ended.
    pub(crate) fn ended(&mut self, tool: &str, args: &Arguments, result: &ToolResult) {
        self.made.push(Made {
            tool: tool.to_owned(),
            call: hash_call(tool, args),
            outcome: hash_outcome(tool, args, result),
            is_refused: is_redundant(result),
            is_failure: !result.success,
            is_empty: result.success && is_empty(result),
        });
        // A loop that was found stays in view for as long as it goes on.
        let excess = self.made.len().saturating_sub(4 * WINDOW);
        self.made.drain(..excess);
    }

    /// Takes in the log entry that the model was warned.
    pub(crate) fn told(&mut self, data: &Value) {
        let text = |key: &str| data.get(key).and_then(Value::as_str);
        let kind = LoopKind::ALL
            .into_iter()
            .find(|kind| Some(kind.as_str()) == text("loop"));
        let key = text("key").and_then(|key| key.parse().ok());
        let count = data.get("count").and_then(Value::as_u64);
        if let (Some(kind), Some(key), Some(count)) = (kind, key, count) {
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            self.told.insert((kind, key), count);
        }
    }

    /// The loop that the last call is part of, unless the model has just been
    /// warned of it.
    pub(crate) fn found(&self, changes: impl Fn(&str) -> bool) -> Option<Found> {
        let last = self.made.last()?;
        LoopKind::ALL.into_iter().find_map(|kind| {
            let (count, key) = match kind {
                LoopKind::SameCall => (self.same_calls(last, &changes), last.call),
                LoopKind::SameOutcome => (self.same_outcomes(last), last.outcome),
                LoopKind::Cycle => self.cycles()?,
                LoopKind::EmptySearches => (self.empty_searches(), 0),
            };
            let told = self.told.get(&(kind, key)).copied();
            let is_look = kind == LoopKind::SameCall && !changes(&last.tool);
            let times = if is_look { LOOKS } else { TIMES };
            let enough = told.map_or(times, |told| told + kind.grace());
            (count >= enough).then(|| Found {
                kind,
                tool: last.tool.clone(),
                count,
                advice: kind.advice(&last.tool, count),
                is_told: told.is_some(),
                key,
            })
        })
    }

    /// How often the last call was made, with nothing changed in between.
    fn same_calls(&self, last: &Made, changes: impl Fn(&str) -> bool) -> usize {
        let is_same = |made: &&Made| made.call == last.call;
        let since = self
            .made
            .iter()
            .rev()
            .take(WINDOW)
            .take_while(|made| is_same(made) || made.is_failure || !changes(&made.tool));
        since
            .filter(is_same)
            .filter(|made| made.is_refused || last.is_refused || made.outcome == last.outcome)
            .count()
    }

    /// How many calls of the last tool in a row failed as the last one did.
    fn same_outcomes(&self, last: &Made) -> usize {
        let same = |made: &&Made| made.outcome == last.outcome && made.is_failure;
        let streak: Vec<u64> = self
            .made
            .iter()
            .rev()
            .take_while(same)
            .map(|made| made.call)
            .collect();
        let is_varied = streak.iter().any(|call| *call != last.call);
        if is_varied && !last.is_refused {
            streak.len()
        } else {
            0
        }
    }

    /// How often the last few calls were repeated as a cycle.
    fn cycles(&self) -> Option<(usize, u64)> {
        let calls: Vec<(u64, u64)> = self
            .made
            .iter()
            .rev()
            .map(|made| (made.call, if made.is_refused { 0 } else { made.outcome }))
            .collect();
        (2..=LONGEST_CYCLE).find_map(|length| {
            let cycle = calls.get(..length)?;
            let times = calls
                .chunks_exact(length)
                .take_while(|part| *part == cycle)
                .count();
            // A single call that is repeated is another kind of loop.
            let is_varied = cycle.iter().any(|call| Some(call) != cycle.first());
            let mut sorted = cycle.to_vec();
            sorted.sort_unstable();
            (times >= TIMES && is_varied).then(|| (times, hash(&sorted)))
        })
    }

    fn empty_searches(&self) -> usize {
        self.made
            .iter()
            .rev()
            .take_while(|made| made.is_empty)
            .count()
    }
}

fn hash(value: &impl Hash) -> u64 {
    // The same in every run, so that a resumed log gives the same hashes.
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn hash_call(tool: &str, args: &Arguments) -> u64 {
    hash(&(tool, Members(args.as_map())))
}

fn hash_outcome(tool: &str, args: &Arguments, result: &ToolResult) -> u64 {
    if result.success {
        return hash(&(tool, Members(&result.fields)));
    }
    // An error begins with the call and quotes its arguments: what is left is
    // the way in which it failed.
    let error = match result.error.split_once("): ") {
        Some((call, error)) if call.starts_with(tool) => error,
        _ => &result.error,
    };
    let strings = args.as_map().values().filter_map(Value::as_str);
    let error = strings
        .filter(|text| !text.is_empty())
        .fold(error.to_owned(), |error, text| error.replace(text, "…"));
    hash(&(tool, result.error_type.map(|kind| kind as u8), error))
}

/// The members of an object, whatever their order.
struct Members<'a>(&'a Map<String, Value>);

impl Hash for Members<'_> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let mut members: Vec<_> = self.0.iter().collect();
        members.sort_unstable_by_key(|(name, _)| *name);
        members.len().hash(hasher);
        for (name, value) in members {
            name.hash(hasher);
            hash_value(value, hasher);
        }
    }
}

fn hash_value(value: &Value, hasher: &mut impl Hasher) {
    std::mem::discriminant(value).hash(hasher);
    match value {
        Value::Null => {}
        Value::Bool(is_so) => is_so.hash(hasher),
        Value::Number(number) => number.hash(hasher),
        Value::String(text) => text.hash(hasher),
        Value::Array(items) => {
            items.len().hash(hasher);
            for item in items {
                hash_value(item, hasher);
            }
        }
        Value::Object(members) => Members(members).hash(hasher),
    }
}

/// Whether a call was refused because it was made before.
pub(crate) fn is_redundant(result: &ToolResult) -> bool {
    result.fields.contains_key("repeated")
}

/// Whether it is the result of a search that found nothing.
fn is_empty(result: &ToolResult) -> bool {
    COUNTS.iter().any(|name| match result.fields.get(*name) {
        Some(Value::Number(number)) => number.as_u64() == Some(0),
        Some(Value::Array(items)) => items.is_empty(),
        _ => false,
    })
}
