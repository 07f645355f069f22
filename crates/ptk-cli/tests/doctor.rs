//! `ptk doctor`: what works on this machine.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use serde_json::Value;

#[test]
fn what_is_said_to_protect_does() {
    let output = Command::new(cargo_bin!("ptk"))
        .args(["doctor", "--json"])
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = report["sandbox"].as_array().unwrap();
    assert_eq!(findings.len(), 6);
    let is = |finding: &Value, state: &str| finding["state"] == state;
    assert!(!findings.iter().any(|it| is(it, "broken")), "{report}");
    let missing: Vec<_> = findings.iter().filter(|it| is(it, "missing")).collect();
    assert!(missing.iter().all(|it| it["how"].is_string()), "{report}");
    // If it does not work, the reason is given.
    let undo = &report["undo"];
    assert_eq!(undo["recorded"] == true, undo["why"].is_null(), "{report}");
    let expected = i32::from(!missing.is_empty());
    assert_eq!(output.status.code(), Some(expected));
}
