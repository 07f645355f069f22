//! The journal: what calls were about to do, and what they have done. One line
//! of JSON each; a last line that was torn off by a crash is passed over.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::state::{State, path_text};

/// A line of the journal.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub(crate) enum Line {
    Begin(Begin),
    Apply(Apply),
    End(End),
}

/// A call that is about to change something.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Begin {
    /// Its own name; the ids of calls may be given twice.
    pub(crate) entry: String,
    pub(crate) call: String,
    pub(crate) tool: String,
    pub(crate) turn: String,
    pub(crate) session: String,
    /// Milliseconds since 1970.
    pub(crate) at: u64,
    /// A description in a line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) what: String,
    pub(crate) watch: Watched,
}

/// How the changes of a call are known.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Watched {
    /// It was declared beforehand which files it writes.
    Places(Vec<PreImage>),
    /// The workspace as it was before: the name of a tree.
    Tree(String),
    /// What was there before is in the pack of the call.
    Recorded,
    /// They are in layers over the workspace, until they are applied.
    Layers,
    /// They are not known, for this reason.
    Blind(String),
    /// It undoes other calls, with these steps.
    Undo {
        entries: Vec<String>,
        steps: Vec<Change>,
    },
}

/// What was at a path.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PreImage {
    #[serde(with = "path_text")]
    pub(crate) path: PathBuf,
    pub(crate) state: State,
}

/// The change of one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The path, relative to the workspace, or absolute outside of it.
    #[serde(with = "path_text")]
    pub path: PathBuf,
    /// What was there.
    pub before: State,
    /// What is there now.
    pub after: State,
}

/// What is about to be moved from layers into the workspace. What files held
/// before is not known yet.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Apply {
    pub(crate) entry: String,
    pub(crate) changes: Vec<Change>,
}

/// A call that has ended.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct End {
    pub(crate) entry: String,
    pub(crate) at: u64,
    pub(crate) changes: Vec<Change>,
    /// Folders that were not looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) uncovered: Vec<String>,
    /// Calls that ran at the same time, whose changes may be among these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) beside: Vec<String>,
    /// Whether the process ended before it could write what it had done.
    #[serde(default)]
    pub(crate) interrupted: bool,
    /// Whether it is an undo that could not be done, and has changed nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) taken_back: bool,
    /// Why it is not known what it has done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lost: Option<String>,
}

/// A call in the journal.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) begin: Begin,
    pub(crate) apply: Option<Apply>,
    pub(crate) end: Option<End>,
    /// Whether another entry has undone it.
    pub(crate) is_undone: bool,
    /// Its place in the order in which calls ended.
    pub(crate) order: usize,
}

impl Record {
    pub(crate) fn changes(&self) -> &[Change] {
        self.end.as_ref().map_or(&[], |end| &end.changes)
    }

    pub(crate) fn is_undo(&self) -> bool {
        matches!(self.begin.watch, Watched::Undo { .. })
    }

    pub(crate) fn blind(&self) -> Option<&str> {
        match &self.begin.watch {
            Watched::Blind(why) => Some(why),
            _ => self.end.as_ref()?.lost.as_deref(),
        }
    }

    pub(crate) fn undoes(&self) -> &[String] {
        match &self.begin.watch {
            Watched::Undo { entries, .. }
                if self.end.as_ref().is_some_and(|end| !end.taken_back) =>
            {
                entries
            }
            _ => &[],
        }
    }
}

/// The calls of a journal, in the order in which they ended; those that have
/// not ended come last.
pub(crate) fn read(text: &[u8]) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    let mut index: HashMap<String, usize> = HashMap::new();
    for (order, line) in text.split(|byte| *byte == b'\n').enumerate() {
        match serde_json::from_slice::<Line>(line) {
            Ok(Line::Begin(begin)) => {
                let known = index.get(&begin.entry).and_then(|at| records.get_mut(*at));
                if let Some(known) = known {
                    // It had to start over in another way.
                    known.begin = begin;
                    continue;
                }
                index.insert(begin.entry.clone(), records.len());
                records.push(Record {
                    begin,
                    apply: None,
                    end: None,
                    is_undone: false,
                    order: usize::MAX,
                });
            }
            Ok(Line::Apply(apply)) => {
                let record = index.get(&apply.entry).and_then(|at| records.get_mut(*at));
                if let Some(record) = record {
                    record.apply = Some(apply);
                }
            }
            Ok(Line::End(end)) => {
                let record = index.get(&end.entry).and_then(|at| records.get_mut(*at));
                if let Some(record) = record.filter(|record| record.end.is_none()) {
                    record.end = Some(end);
                    record.order = order;
                }
            }
            // Torn off, or of a later version.
            Err(_) => {}
        }
    }
    records.sort_by_key(|record| record.order);
    mark_undone(&mut records);
    records
}

/// Marks what an undo has undone, unless the undo was undone itself.
fn mark_undone(records: &mut [Record]) {
    let mut undone: HashSet<String> = HashSet::new();
    for record in records.iter_mut().rev() {
        record.is_undone = undone.contains(&record.begin.entry);
        if !record.is_undone {
            undone.extend(record.undoes().iter().cloned());
        }
    }
}
