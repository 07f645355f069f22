//! The case files in `tests/edits`: the right edit or a refusal, never a wrong
//! edit.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod edit_file;
mod scene;

use std::collections::BTreeSet;
use std::path::Path;

use edit_file::{Case, Expected};
use scene::Scene;
use serde_json::{Value, json};

/// Fewer would mean that files were not found.
const LEAST_CASES: usize = 150;

fn all_cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/edits");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    let read = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).unwrap();
        edit_file::read(&name, &text).unwrap_or_else(|error| panic!("{error}"))
    };
    files.iter().flat_map(read).collect()
}

#[tokio::test]
async fn every_edit_is_right_or_refused() {
    let cases = all_cases();
    let mut failures = Vec::new();
    let mut names = BTreeSet::new();
    for case in &cases {
        if !names.insert(&case.name) {
            failures.push(format!("{}: `{}` stands twice", case.place, case.name));
        }
        if let Err(difference) = check(case).await {
            failures.push(format!("{}: {}\n{difference}", case.place, case.name));
        }
    }
    let (failed, total) = (failures.len(), cases.len());
    assert!(
        failures.is_empty(),
        "{failed} of {total} cases differ\n\n{}\n",
        failures.join("\n\n")
    );
    assert!(total >= LEAST_CASES, "only {total} cases");
}

async fn check(case: &Case) -> Result<(), String> {
    let scene = Scene::new();
    if case.stale {
        scene.write("file.txt", "what was read before\n");
        scene.read("file.txt").await;
    }
    let before = case.encoded(&case.file);
    scene.write("file.txt", &before);
    let edits: Vec<Value> = case
        .edits
        .iter()
        .map(
            |edit| json!({"old_string": edit.old, "new_string": edit.new, "replace_all": edit.all}),
        )
        .collect();
    let args = json!({"path": "file.txt", "edits": edits});
    let result = scene.call("edit", args).await.result;
    let after = scene.bytes("file.txt");
    match &case.expected {
        Expected::After(wanted) => {
            if !result.success {
                let suggestion = result.suggestion.unwrap_or_default();
                return Err(format!("  refused: {}\n{suggestion}", result.error));
            }
            differs("the file", &case.encoded(wanted), &after)?;
            let fields = json!(result.fields);
            let matched = fields["edits"].as_array().unwrap().iter();
            let matched: Vec<&str> = matched
                .map(|edit| edit["matched"].as_str().unwrap())
                .collect();
            differs(
                "matched",
                case.matched().join(", ").as_bytes(),
                matched.join(", ").as_bytes(),
            )?;
            let wanted = case.replacements.unwrap_or(case.edits.len());
            let replacements = fields["replacements"].to_string();
            differs(
                "replacements",
                wanted.to_string().as_bytes(),
                replacements.as_bytes(),
            )
        }
        Expected::Refused(words) => {
            differs("the file, though it was refused", &before, &after)?;
            if result.success {
                return Err(format!(
                    "  not refused, nothing changed: {:?}",
                    result.fields
                ));
            }
            let said = format!(
                "{}\n{}\n{}",
                result.error,
                result.suggestion.unwrap_or_default(),
                json!(result.fields)
            );
            match words.iter().find(|words| !said.contains(*words)) {
                Some(words) => Err(format!("  does not say `{words}`, but\n{said}")),
                None => Ok(()),
            }
        }
    }
}

fn differs(what: &str, wanted: &[u8], found: &[u8]) -> Result<(), String> {
    if wanted == found {
        return Ok(());
    }
    let shown = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let lines = text.split_inclusive('\n').take(40);
        let lines: Vec<String> = lines.map(|line| format!("    {line:?}")).collect();
        lines.join("\n")
    };
    Err(format!(
        "  {what} should be\n{}\n  but is\n{}",
        shown(wanted),
        shown(found)
    ))
}
