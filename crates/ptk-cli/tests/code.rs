//! `ptk index`, `ptk search` and the tool `request_code_context`.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

const ORDERS: &str = "def cancel_order(order):\n    \"\"\"Takes an order back.\"\"\"\n    return refund(order)\n\n\ndef refund(order):\n    return order.total\n";
const MAIL: &str = "pub fn send_mail(to: &str) {\n    smtp::send(to);\n}\n";

struct Scene {
    folder: TempDir,
}

impl Scene {
    fn new() -> Self {
        let scene = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        fs::create_dir_all(scene.path("src")).unwrap();
        scene.write("orders.py", ORDERS);
        scene.write("src/mail.rs", MAIL);
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("a project").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("ptk"));
        command
            .args(args)
            .current_dir(self.path("."))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.path().join("home"))
            .stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs `ptk`, and returns its JSON lines.
    fn lines(&self, args: &[&str]) -> Vec<Value> {
        let output = self.run(args);
        assert!(output.status.success(), "{output:?}");
        let lines = String::from_utf8(output.stdout).unwrap();
        let lines = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        lines.collect()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_workspace_is_indexed_once() {
    let scene = Scene::new();
    let first = &scene.lines(&["index", "--json"])[0];
    assert_eq!((&first["files"], &first["added"]), (&json!(2), &json!(2)));
    assert_eq!(first["meaning"], "no_model");
    let again = scene.run(&["index"]);
    assert_eq!(
        text(&again.stdout),
        "2 files, 3 chunks: nothing has changed.\n"
    );
    assert!(
        text(&again.stderr).contains("ptk models pull wordllama"),
        "{again:?}"
    );
    // The index is not in the workspace.
    let names = fs::read_dir(scene.path(".")).unwrap();
    assert_eq!(names.count(), 2);
}

#[test]
fn code_is_found_and_shown() {
    let scene = Scene::new();
    let output = scene.run(&["search", "cancel", "an", "order"]);
    let shown = text(&output.stdout);
    assert!(
        shown.starts_with(
            "orders.py:1-3  cancel_order  python function\n1  def cancel_order(order):\n"
        ),
        "{shown}"
    );
    let found = scene.lines(&["search", "sendMail", "--json", "--top", "1"]);
    assert_eq!(found[0]["id"], "src/mail.rs#1:3");
    assert_eq!(found[0]["state"], "current");
    assert!(found[0]["text"].as_str().unwrap().contains("smtp::send"));
    // New files are found, too, unless updating is turned off.
    scene.write("src/fax.rs", "fn send_fax() {}\n");
    let old = scene.lines(&["search", "send_fax", "--json", "--no-update"]);
    assert!(old.iter().all(|hit| hit["path"] != "src/fax.rs"), "{old:?}");
    assert_eq!(
        scene.lines(&["search", "send_fax", "--json"])[0]["path"],
        "src/fax.rs"
    );
    let filtered = [
        "search",
        "order",
        "mail",
        "fax",
        "--json",
        "--language",
        "rust",
    ];
    let filtered = scene.lines(&filtered);
    assert!(!filtered.is_empty());
    assert!(
        filtered.iter().all(|hit| hit["language"] == "rust"),
        "{filtered:?}"
    );
    for (query, told) in [
        ("zebra", "Nothing was found."),
        ("8", "Nothing was found: there is no word in it."),
        ("=>", "Nothing was found: there is no word in it."),
    ] {
        let nothing = scene.run(&["search", query]);
        assert!(
            nothing.status.success() && nothing.stdout.is_empty(),
            "{nothing:?}"
        );
        assert!(text(&nothing.stderr).contains(told), "{nothing:?}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    let scene = Scene::new();
    for (args, code, told) in [
        (vec!["search", " "], 2, "there is nothing to search for"),
        (vec!["search", "x", "--language", "klingon"], 2, "`klingon`"),
        (vec!["search", "x", "--kind", "klingon"], 2, "`klingon`"),
        (
            vec!["search", "x", "--path", "src/[a"],
            2,
            "`src/[a` is not a glob: unclosed character class",
        ),
        (
            vec!["search", "x", "--no-update", "--workspace", "src"],
            1,
            "Make one with `ptk index`",
        ),
        (vec!["index", "--workspace", "nowhere"], 1, "nowhere"),
    ] {
        let output = scene.run(&args);
        assert_eq!(output.status.code(), Some(code), "{args:?} {output:?}");
        assert!(text(&output.stderr).contains(told), "{args:?} {output:?}");
    }
    scene.run(&["index"]);
    let dense = scene.run(&["search", "x", "--only", "dense"]);
    assert_eq!(dense.status.code(), Some(1), "{dense:?}");
    assert!(
        text(&dense.stderr).contains("ptk models pull wordllama"),
        "{dense:?}"
    );
}

#[test]
fn a_person_who_calls_the_tool_is_shown_code() {
    let scene = Scene::new();
    let arguments = r#"{"token_budget": 500, "hint": "cancel an order"}"#;
    let output = scene.run(&["tools", "call", "request_code_context", arguments]);
    assert!(output.status.success(), "{output:?}");
    let shown = text(&output.stdout);
    let root = scene.path(".").canonicalize().unwrap();
    let file = format!("<code=\"{}/orders.py\"", root.display());
    let (cancel, refund) = ORDERS.split_once("\n\n\n").unwrap();
    assert_eq!(
        shown,
        format!("{file} #1:3>\n{cancel}\n</code>\n{file} #6:7>\n{refund}</code>\n")
    );
}

#[test]
fn changes_are_taken_up_while_it_watches() {
    let scene = Scene::new();
    let mut watching = scene.command(&["index", "--watch", "--json"]);
    let mut watching = watching.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["added"], 2);
    scene.write("src/fax.rs", "fn send_fax() {}\n");
    assert_eq!(next()["added"], 1);
    fs::remove_file(scene.path("orders.py")).unwrap();
    assert_eq!(next()["removed"], 1);
    kill_process(Pid::from_child(&watching), Signal::INT).unwrap();
    assert!(watching.wait().unwrap().success());
}

#[test]
fn a_model_is_given_code_about_the_prompt() {
    let scene = Scene::new();
    let call = json!({"tool": "request_code_context", "args": {"token_budget": 1000}});
    let answer = "<code=\"/a/orders.py\" #1:1>\ndef cancel_order(order):\n</code>";
    let replies = json!([format!("<PTK_CALL>{call}</PTK_CALL>"), answer]);
    let script = scene.folder.path().join("script.json");
    fs::write(&script, replies.to_string()).unwrap();
    let provider = format!("script:{}", script.display());
    let events = scene.lines(&[
        "run",
        "--json",
        "--provider",
        &provider,
        "--tools",
        "request_code_context",
        "Who cancels an order?",
    ]);
    let ended = events
        .iter()
        .find(|event| event["type"] == "tool_call_end")
        .unwrap();
    let result = &ended["result"];
    assert_eq!(
        (&result["query"], &result["ok"]),
        (&json!("Who cancels an order?"), &json!(true))
    );
    assert_eq!(result["results"][0]["id"], "orders.py#1:3");
    let said = events.last().unwrap();
    assert_eq!(
        said["metadata"]["snippets"],
        json!([{"path": "/a/orders.py", "start": 1, "end": 1}])
    );
    let limited = "[code_context]\ntoken_limit = 60\n";
    scene.write("ptk.toml", limited);
    let args = json!({"token_budget": 9000, "hint": "order"}).to_string();
    let called = scene.lines(&["tools", "call", "request_code_context", &args, "--json"]);
    let called = called.last().unwrap();
    assert_eq!(called["success"], true, "{called}");
    assert!(called["results"].as_array().unwrap().len() <= 1, "{called}");
}
