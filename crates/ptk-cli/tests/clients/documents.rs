//! The programs in `docs/clients.md`, unchanged except for the address.

use std::fs;

use crate::client::{ended, node, python};
use crate::gateway::{Gateway, furnish};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/clients.md");
const ADDRESS: &str = "http://127.0.0.1:8787";
const CALL: &str = "I'll look.\n<tool_call>\n\
    {\"name\": \"get_weather\", \"arguments\": {\"city\": \"Hà Nội\"}}\n</tool_call>";
const ANSWER: &str = "It is hot in Hà Nội.";

/// The code blocks in this language.
fn programs(language: &str) -> Vec<String> {
    let document = fs::read_to_string(DOCUMENT).unwrap();
    let fence = format!("\n```{language}\n");
    let blocks = document.split(&fence).skip(1);
    let programs = blocks.map(|block| block.split("\n```").next().unwrap().to_owned());
    programs.collect()
}

/// Checks that the tool is called, the model sees its result, and the answer is
/// printed.
fn runs(program: &str, name: &str) {
    let gateway = Gateway::recording(&[CALL, ANSWER]);
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join(name);
    assert!(program.contains(ADDRESS), "{program}");
    fs::write(&path, program.replace(ADDRESS, gateway.address())).unwrap();
    let mut command = match name {
        "program.mjs" => node(&path),
        _ => python(&path),
    };
    furnish(&mut command, folder.path());
    let out = ended(&mut command);
    assert_eq!(out.trim_end(), ANSWER, "{program}");
    let shown = gateway.shown(1);
    assert!(shown.contains("31 °C in Hà Nội"), "{program}\n{shown}");
    gateway.end();
}

#[test]
fn programs_in_python_run() {
    let programs = programs("python");
    assert_eq!(programs.len(), 8);
    for program in programs {
        runs(&program, "program.py");
    }
}

#[test]
fn programs_in_javascript_run() {
    let programs = programs("js");
    assert_eq!(programs.len(), 3);
    for program in programs {
        runs(&program, "program.mjs");
    }
}
