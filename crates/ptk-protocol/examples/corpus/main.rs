//! How much of a corpus is read as expected: `corpus FOLDER [json|bfcl|calls|cuts]…`.
//! `corpus FOLDER written` prints gold calls as texts instead.
//!
//! The folder holds `json.jsonl`, `bfcl.jsonl` and `calls.jsonl`; a missing
//! file is skipped with a message.

#![allow(clippy::print_stdout, reason = "it is a report")]

mod bfcl;
mod calls;
mod corrupt;
mod cuts;
mod json;
mod random;
mod same;
mod written;

use std::collections::BTreeMap;
use std::path::Path;

use ptk_protocol::{ToolSpec, Toolset};
use serde_json::Value;

/// A step: its name, its file, and what it does with it.
type Step = (&'static str, &'static str, fn(&Path) -> Outcome<()>);
type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments
        .next()
        .ok_or("usage: corpus FOLDER [json|bfcl|calls|cuts]…")?;
    let chosen: Vec<String> = arguments.collect();
    let folder = Path::new(&folder);
    if chosen == ["written"] {
        return written::run(&folder.join("bfcl.jsonl"));
    }
    let steps: [Step; 4] = [
        ("json", "json.jsonl", json::run),
        ("bfcl", "bfcl.jsonl", bfcl::run),
        ("calls", "calls.jsonl", calls::run),
        ("cuts", "calls.jsonl", cuts::run),
    ];
    for (name, file, run) in steps {
        if !chosen.is_empty() && !chosen.iter().any(|step| step == name) {
            continue;
        }
        let file = folder.join(file);
        if file.is_file() {
            run(&file)?;
        } else {
            println!("{name}: {} is not there, passed over", file.display());
        }
    }
    Ok(())
}

/// The lines of a file of JSON lines.
fn rows(file: &Path) -> Outcome<Vec<Value>> {
    let text = std::fs::read_to_string(file)?;
    let rows: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
    Ok(rows?)
}

/// The tools of a row; of two with one name the first counts.
fn tools(row: &Value) -> Outcome<Toolset> {
    let specs: Vec<ToolSpec> =
        serde_json::from_value(row.get("tools").cloned().unwrap_or_default())?;
    let mut distinct: Vec<ToolSpec> = Vec::new();
    for spec in specs {
        if !distinct.iter().any(|known| known.name == spec.name) {
            distinct.push(spec);
        }
    }
    Ok(Toolset::new(distinct)?)
}

/// Counts passes and failures by group, and keeps a description of each
/// failure.
struct Tally {
    title: &'static str,
    groups: BTreeMap<String, (usize, usize)>,
    listed: Vec<String>,
}

impl Tally {
    fn new(title: &'static str) -> Self {
        Self {
            title,
            groups: BTreeMap::new(),
            listed: Vec::new(),
        }
    }

    fn count(&mut self, group: &str, passed: bool) {
        let group = self.groups.entry(group.to_owned()).or_default();
        group.0 += usize::from(passed);
        group.1 += 1;
    }

    fn list(&mut self, failure: String) {
        self.listed.push(failure);
    }

    fn print(&self) {
        println!("== {}", self.title);
        let mut sum = (0, 0);
        for (group, (passed, all)) in &self.groups {
            println!(
                "{group:<28} {passed:>6} of {all:>6}  {}",
                percent(*passed, *all)
            );
            sum = (sum.0 + passed, sum.1 + all);
        }
        println!(
            "{:<28} {:>6} of {:>6}  {}",
            "all",
            sum.0,
            sum.1,
            percent(sum.0, sum.1)
        );
        for failure in &self.listed {
            println!("  {failure}");
        }
        println!();
    }
}

#[expect(clippy::cast_precision_loss, reason = "a percentage for people")]
fn percent(part: usize, whole: usize) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    format!("{:.2} %", part as f64 * 100.0 / whole as f64)
}
