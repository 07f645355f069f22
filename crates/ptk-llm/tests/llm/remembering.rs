//! Findings about models, in a file.

use std::fs;

use ptk_llm::{FileMemory, Memory as _, ModelProfile};

fn profile(dialect: &str) -> ModelProfile {
    ModelProfile {
        dialect: Some(dialect.to_owned()),
        is_tried: true,
        ..ModelProfile::default()
    }
}

#[test]
fn what_several_find_out_at_once_is_all_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state/models.json");
    let keys: Vec<String> = (0..16).map(|number| format!("model {number}")).collect();
    std::thread::scope(|scope| {
        for key in &keys {
            let path = &path;
            scope.spawn(move || FileMemory::new(path).remember(key, profile(key)));
        }
    });
    let memory = FileMemory::new(&path);
    for key in &keys {
        assert_eq!(memory.recall(key), Some(profile(key)));
    }
}

/// A user may edit it, and be interrupted.
#[test]
fn a_file_that_makes_no_sense_is_put_aside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("models.json");
    let broken = r#"{"models": {"a": {"dialect": "xml", "is_tried": true, "since": 1}, }}"#;
    fs::write(&path, broken).unwrap();
    let memory = FileMemory::new(&path);
    assert_eq!(memory.recall("a"), None);
    memory.remember("b", profile("ptk"));
    assert_eq!(memory.recall("b"), Some(profile("ptk")));
    let aside = folder.path().join("models.json.unreadable");
    assert_eq!(fs::read_to_string(aside).unwrap(), broken);
}

#[test]
fn one_entry_that_makes_no_sense_does_not_spoil_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("models.json");
    let text = r#"{"models": {"a": {"native_tools": "perhaps"}, "b": {"dialect": "xml", "is_tried": true}}}"#;
    fs::write(&path, text).unwrap();
    let memory = FileMemory::new(&path);
    assert_eq!(
        (memory.recall("a"), memory.recall("b")),
        (None, Some(profile("xml")))
    );
    memory.remember("c", profile("ptk"));
    assert!(
        fs::read_to_string(&path).unwrap().contains("perhaps"),
        "nothing is lost"
    );
}
