//! What is answered once a tool has run.

use ptk_llm::Message;
use ptk_local::guide::Move;
use ptk_protocol::ToolCall;
use serde_json::{Map, Value, json};

use crate::tools::{ALL, guide};

fn answered(request: &str, tool: &str, arguments: Value, result: &Value) -> String {
    let arguments: Map<String, Value> = serde_json::from_value(arguments).expect("an object");
    let messages = [
        Message::user(request),
        Message::Assistant {
            text: String::new(),
            calls: vec![ToolCall::new(tool, arguments).with_id("1")],
            state: None,
        },
        Message::Result {
            id: "1".to_owned(),
            name: tool.to_owned(),
            text: result.to_string(),
            is_error: result["ok"] == json!(false),
        },
    ];
    match guide(ALL).next(&messages) {
        Move::Answer(answer) => answer,
        other => panic!("no answer: {other:?}"),
    }
}

fn read(request: &str, path: &str, content: &str) -> String {
    let result = json!({"ok": true, "content": content, "lines": 1});
    answered(request, "read_file", json!({"path": path}), &result)
}

const MANIFEST: &str = "[package]\nname = \"kettle\"\nversion = \"1.4.0\"\n\n[dependencies]\nclap = { version = \"4.5\" }\nserde = \"1.0\"\n";

#[test]
fn the_line_that_is_asked_for_is_told_with_its_place() {
    let answer = read(
        "Read Cargo.toml and tell me the version",
        "Cargo.toml",
        MANIFEST,
    );
    assert_eq!(answer, "version = \"1.4.0\"\n(Cargo.toml:3)");
}

#[test]
fn what_stands_under_a_heading_is_told_with_it() {
    let answer = read(
        "which dependencies are in Cargo.toml?",
        "Cargo.toml",
        MANIFEST,
    );
    assert!(
        answer.contains("clap") && answer.contains("serde"),
        "{answer}"
    );
    assert!(!answer.contains("kettle"), "{answer}");
}

#[test]
fn a_text_is_told_whole_if_nothing_in_it_is_asked_for() {
    assert_eq!(
        read("show me Cargo.toml", "Cargo.toml", MANIFEST),
        MANIFEST.trim_end()
    );
    assert_eq!(read("show me a.txt", "a.txt", ""), "It is empty.");
}

#[test]
fn a_table_gives_the_row_with_the_names_of_its_columns() {
    let table =
        "name,phone,city\nAnna Berg,555 01,Oslo\nBo Lund,555 02,Malmö\nEve Dahl,555 03,Lund\n";
    let answer = read(
        "what is the phone number of Anna? people.csv",
        "people.csv",
        table,
    );
    assert_eq!(answer, "name: Anna Berg, phone: 555 01, city: Oslo");
}

#[test]
fn nothing_found_is_said_plainly() {
    let result = json!({"ok": true, "matches": [], "total": 0, "note": "No match in 9 files. Capitals count."});
    let answer = answered(
        "is redis used?",
        "grep",
        json!({"pattern": "redis"}),
        &result,
    );
    assert_eq!(answer, "No, `redis` was not found. No match in 9 files.");
}

#[test]
fn lists_are_counted_and_bounded() {
    let files: Vec<String> = (0..200).map(|number| format!("{number}.md")).collect();
    let result = json!({"ok": true, "files": files, "total": 200});
    let answer = answered(
        "all md files",
        "glob",
        json!({"pattern": "**/*.md"}),
        &result,
    );
    assert!(
        answer.starts_with("200 entries for `**/*.md`:\n0.md\n1.md\n"),
        "{answer}"
    );
    assert!(answer.ends_with("… and 140 more"), "{answer}");
}

#[test]
fn what_was_written_is_told() {
    let result = json!({"ok": true, "path": "a.txt", "bytes_written": 2, "created": true});
    let given = json!({"path": "a.txt", "content": "hi"});
    assert_eq!(
        answered("write hi to a.txt", "write_file", given, &result),
        "Created a.txt:\nhi"
    );
}

#[test]
fn an_error_is_told_as_it_is() {
    let result = json!({
        "ok": false,
        "error": "read_file(path=\"a.txt\"): File not found: a.txt",
        "suggestion": "List the folder above it.",
    });
    let answer = answered("read a.txt", "read_file", json!({"path": "a.txt"}), &result);
    assert_eq!(answer, "File not found: a.txt\nList the folder above it.");
}

#[test]
fn of_a_result_that_was_cut_short_the_beginning_is_read() {
    let guide = guide(ALL);
    let args = Map::from_iter([("path".to_owned(), json!("a.txt"))]);
    let text = "{\"ok\":true,\"content\":\"size: 4\\ncolour: red\\nshape: rou\n… 900 bytes \
                left out, because the model's window is small …\nd\\n\",\"lines\":80}";
    let messages = [
        Message::user("read a.txt and tell me the colour"),
        Message::Assistant {
            text: String::new(),
            calls: vec![ToolCall::new("read_file", args).with_id("1")],
            state: None,
        },
        Message::Result {
            id: "1".to_owned(),
            name: "read_file".to_owned(),
            text: text.to_owned(),
            is_error: false,
        },
    ];
    let answer = guide.next(&messages);
    let told = Move::Answer("colour: red\n(a.txt:2)".to_owned());
    assert_eq!(answer, told);
}
