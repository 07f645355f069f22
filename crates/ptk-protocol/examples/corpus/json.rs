//! Broken JSON and what it should mean.

use std::path::Path;

use ptk_protocol::json::repair;
use serde_json::Value;

use crate::same::same;
use crate::{Outcome, Tally, rows};

/// Repairs every line and compares the value.
pub(crate) fn run(file: &Path) -> Outcome<()> {
    let mut tally = Tally::new("broken JSON, by source");
    for (index, row) in rows(file)?.iter().enumerate() {
        let input = row.get("input").and_then(Value::as_str).unwrap_or_default();
        let expected = row.get("expect_json").unwrap_or(&Value::Null);
        let (passed, got) = match repair(input) {
            Ok(repaired) => {
                let value: Value = serde_json::from_str(&repaired.json)?;
                (same(&value, expected), repaired.json)
            }
            Err(error) => {
                let nothing = expected.is_null() || expected.as_str() == Some("");
                (nothing, format!("refused: {error}"))
            }
        };
        let source = row.get("source").and_then(Value::as_str).unwrap_or("?");
        tally.count(source, passed);
        if !passed {
            tally.list(format!(
                "line {}: {input:?}\n    expected {expected}\n    got      {got}",
                index + 1
            ));
        }
    }
    tally.print();
    Ok(())
}
