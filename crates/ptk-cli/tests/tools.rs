//! `ptk tools`: a tool run directly, through the whole pipeline.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use assert_cmd::cargo::cargo_bin;
use serde_json::{Value, json};
use tempfile::TempDir;

struct Scene {
    folder: TempDir,
    state: TempDir,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "one\ntwo\nthree\n").unwrap();
        let state = tempfile::tempdir().unwrap();
        Self { folder, state }
    }

    fn ptk(&self, args: &[&str]) -> assert_cmd::Command {
        let mut command = assert_cmd::Command::new(cargo_bin!("ptk"));
        command
            .env("PTK_STATE", self.state.path())
            .args(["tools"])
            .args(args)
            .arg("--workspace")
            .arg(self.folder.path())
            // Without the user's own rules.
            .env("XDG_CONFIG_HOME", self.folder.path().join("none"));
        command
    }

    /// Trusts the workspace's configuration as it is.
    fn trust(&self) {
        let mut command = assert_cmd::Command::new(cargo_bin!("ptk"));
        command
            .args(["permissions", "trust", "--yes", "--workspace"])
            .arg(self.folder.path())
            .env("XDG_CONFIG_HOME", self.folder.path().join("none"))
            .assert()
            .success();
    }

    /// A FIFO that every living process holds open, and a script `hold` that
    /// opens it and continues with `command`. Files in `.git` are not part of
    /// the layer that commands work over, and a command line that names them
    /// needs approval.
    fn fifo(&self, command: &str) -> PathBuf {
        let script = format!("exec 3>.git/alive; echo up >&3; {command}\n");
        std::fs::write(self.folder.path().join("hold"), script).unwrap();
        let git = self.folder.path().join(".git");
        std::fs::create_dir(&git).unwrap();
        let fifo = git.join("alive");
        let made = Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());
        fifo
    }

    /// Calls a tool; returns the exit code and every line of JSON.
    fn call(&self, name: &str, args: &Value, more: &[&str]) -> (i32, Vec<Value>) {
        let args = args.to_string();
        let mut all = vec!["call", name, &args, "--json"];
        all.extend(more);
        let output = self.ptk(&all).output().unwrap();
        let lines = String::from_utf8(output.stdout).unwrap();
        let lines = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        (output.status.code().unwrap(), lines.collect())
    }
}

#[test]
fn the_result_is_the_last_line_behind_the_events() {
    let (code, lines) = Scene::new().call("read_file", &json!({"path": "a.txt"}), &[]);
    assert_eq!(code, 0);
    assert_eq!(lines[0]["type"], "tool_call_start");
    assert_eq!(lines[lines.len() - 2]["type"], "tool_call_end");
    assert_eq!(
        lines[lines.len() - 1],
        json!({"success": true, "error": "", "content": "one\ntwo\nthree\n", "lines": 3}),
    );
}

#[test]
fn a_person_sees_the_content_and_errors_on_stderr() {
    let scene = Scene::new();
    let output = scene
        .ptk(&["call", "read_file", r#"{"path": "a.txt"}"#])
        .assert()
        .success();
    assert_eq!(output.get_output().stdout, b"one\ntwo\nthree\n");

    let output = scene
        .ptk(&["call", "read_file", r#"{"path": "b.txt"}"#])
        .assert()
        .code(1);
    let error = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(
        error.starts_with("error: File not found: b.txt\n"),
        "{error}"
    );
}

/// The messages on stderr.
fn told(scene: &Scene, args: &[&str]) -> String {
    let output = scene.ptk(args).output().unwrap();
    let folder = scene.folder.path().to_str().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    told.replace(&format!(" --workspace {folder}"), "")
}

#[test]
fn a_person_is_told_of_commands_not_of_tools() {
    let scene = Scene::new();
    let auto = ["--approve", "auto"];
    for (args, expected) in [
        (
            ["call", "bash", r#"{"command": "ls", "working_dir": "x"}"#],
            "error: The folder x does not exist\n  Use `ptk tools call list_files` to see which folders there are.\n",
        ),
        (
            ["call", "read_file", "{}"],
            "error: Missing required parameter 'path' for read_file\n  `ptk tools show read_file` shows its parameters, and an example.\n",
        ),
        (
            ["call", "write_file", r#"{"path": "a.txt", "content": ""}"#],
            "error: a.txt exists and was not read; writing it would lose what it holds\n  To change a part of it, use `ptk tools call edit`. To replace it, remove the file first.\n",
        ),
        (
            ["call", "bash", r#"{"command": "rm -rf /"}"#],
            "error: The command is blocked: rm -r / removes the whole machine\n",
        ),
        (
            ["call", "grep", r#"{"pattern": "t", "max_results": 1}"#],
            "`ptk tools call grep '{\"pattern\": \"t\", \"max_results\": 1, \"offset\": 1}'`\n",
        ),
        (
            [
                "call",
                "bash",
                r#"{"command": "sleep 1000", "run_in_background": true}"#,
            ],
            "A job ends with the command that started it: run it without run_in_background, or in a shell.\n",
        ),
    ] {
        assert_eq!(told(&scene, &[&args[..], &auto].concat()), expected);
    }
    // A denial names the reason, without advice meant for a model.
    let refused = told(&scene, &["call", "bash", r#"{"command": "ls"}"#]);
    assert_eq!(
        refused,
        "error: bash was not allowed: there is no terminal to ask on; run it on a terminal, with --approve auto, or allow bash(ls) in ptk's permissions.toml\n"
    );
}

#[test]
fn wrong_usage_shows_the_usage_of_the_command() {
    let scene = Scene::new();
    for (args, expected) in [
        (
            &["call", "reed_file", "{}"][..],
            "error: unknown tool `reed_file`; did you mean `read_file`?\n\nUsage: ptk tools call [OPTIONS] <NAME> [ARGUMENTS]...\n",
        ),
        (&["call", "read_file", "{"], "\n\nUsage: ptk tools call "),
        (&["show", "nobody"], "\n\nUsage: ptk tools show "),
    ] {
        let told = told(&scene, args);
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn a_person_sees_all_of_a_long_output() {
    let scene = Scene::new();
    let lines = |count: u32| {
        let lines: Vec<String> = (1..=count).map(|line| line.to_string()).collect();
        lines.join("\n") + "\n"
    };
    let args = r#"{"command": "seq 100000; seq 50000 >&2"}"#;
    let output = scene
        .ptk(&["call", "bash", args, "--approve", "auto"])
        .output()
        .unwrap();
    assert!(output.stdout == lines(100_000).into_bytes());
    assert!(output.stderr == lines(50_000).into_bytes());
}

#[test]
fn what_changes_something_runs_only_if_somebody_agrees() {
    let scene = Scene::new();
    let write = json!({"path": "new/b.txt", "content": "hi"});
    let new = scene.folder.path().join("new/b.txt");
    for refuse in [&[][..], &["--approve", "ask"], &["--approve", "deny"]] {
        let (code, lines) = scene.call("write_file", &write, refuse);
        assert_eq!(
            (code, &lines.last().unwrap()["error_type"]),
            (1, &json!("permission_error"))
        );
        assert!(!new.exists());
    }
    let (code, _) = scene.call("write_file", &write, &["--approve", "auto"]);
    assert_eq!(code, 0);
    assert_eq!(std::fs::read_to_string(new).unwrap(), "hi");
}

#[test]
fn arguments_can_come_on_stdin() {
    let scene = Scene::new();
    scene
        .ptk(&["call", "read_file", "-"])
        .write_stdin(r#"{"path": "a.txt", "limit": 1}"#)
        .assert()
        .success()
        .stdout("one\n");
}

#[test]
fn wrong_usage_has_its_own_exit_code() {
    let scene = Scene::new();
    for wrong in [
        &["call", "reed_file", "{}"][..],
        &["call", "read_file", "{"],
        &["call", "read_file", "[]"],
        &["show", "nobody"],
    ] {
        scene.ptk(wrong).assert().code(2);
    }
    // A model's mistake gives an error result.
    let (code, lines) = scene.call("read_file", &json!({}), &[]);
    assert_eq!(code, 1);
    assert_eq!(
        lines.last().unwrap()["error"],
        "Missing required parameter 'path' for read_file"
    );
}

#[test]
fn every_built_in_tool_is_listed_and_can_be_shown() {
    let scene = Scene::new();
    let output = scene.ptk(&["list", "--json"]).output().unwrap();
    let listed = String::from_utf8(output.stdout).unwrap();
    let names = listed.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["name"].as_str().unwrap().to_owned()
    });
    let names: Vec<String> = names.collect();
    for name in [
        "read_file",
        "read",
        "write_file",
        "edit",
        "list_files",
        "glob",
        "grep",
        "search_code",
        "bash",
        "get_diagnostics",
    ] {
        assert!(names.iter().any(|listed| listed == name), "{name}");
    }
    for name in names {
        let shown = scene.ptk(&["show", &name, "--json"]).output().unwrap();
        let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
        assert_eq!(shown["function"]["name"], name.as_str());
        scene.ptk(&["show", &name]).assert().success();
    }
}

#[test]
fn declared_tools_are_tools_like_the_others() {
    let scene = Scene::new();
    let config = r#"
[[tools]]
name = "count"
description = "Count the lines of a file"
command = ["wc", "-l", "{path}"]
effects = ["read"]

[tools.parameters]
type = "object"
required = ["path"]

[tools.parameters.properties.path]
type = "string"
"#;
    let path = scene.folder.path().join("ptk.toml");
    std::fs::write(&path, config).unwrap();
    // The file may have come with someone else's code.
    for args in [
        &["show", "count"][..],
        &["call", "count", "{}", "--approve", "auto"],
    ] {
        let output = scene.ptk(args).assert().code(1);
        let error = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
        assert!(
            error.contains("`ptk permissions trust` asks whether"),
            "{error}"
        );
    }
    let list = scene.ptk(&["list"]).assert().success();
    assert!(!String::from_utf8_lossy(&list.get_output().stdout).contains("count "));
    scene.trust();
    // A command that only reads, by the word of a file that is trusted, is not
    // asked about.
    let (code, lines) = scene.call("count", &json!({"path": "a.txt"}), &[]);
    assert_eq!(code, 0);
    assert_eq!(lines.last().unwrap()["output"], "3 a.txt\n");
    // Any other is.
    std::fs::write(&path, config.replace("\"read\"", "\"execute\"")).unwrap();
    scene.trust();
    let (code, lines) = scene.call("count", &json!({"path": "a.txt"}), &[]);
    assert_eq!(
        (code, &lines.last().unwrap()["error_type"]),
        (1, &json!("permission_error"))
    );
    let (code, _) = scene.call("count", &json!({"path": "a.txt"}), &["--approve", "auto"]);
    assert_eq!(code, 0);

    std::fs::write(&path, config.replace("{path}", "{file}")).unwrap();
    let output = scene.ptk(&["list"]).assert().code(1);
    let error = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(
        error.contains("ptk.toml:2:1: the tool `count` uses {file}"),
        "{error}"
    );
}

#[test]
fn code_is_read_as_snippets_where_the_configuration_says_so() {
    let scene = Scene::new();
    let root = scene.folder.path().canonicalize().unwrap();
    let read = || {
        let (_, lines) = scene.call("read_file", &json!({"path": "a.txt", "offset": 2}), &[]);
        lines.last().unwrap()["content"].clone()
    };
    assert_eq!(read(), "two\nthree\n");
    let config = scene.folder.path().join("ptk.toml");
    std::fs::write(&config, "snippet_format = \"always\"\n").unwrap();
    let expected = format!(
        "<code=\"{}/a.txt\" #2:3>\ntwo\nthree\n</code>",
        root.display()
    );
    assert_eq!(read(), expected.as_str());
    std::fs::write(&config, "snippet_format = \"alwys\"\n").unwrap();
    scene.ptk(&["list"]).assert().code(1);
}

#[test]
fn slips_in_the_configuration_are_told_with_what_was_meant() {
    const GOOD: &str = "[[tools]]\nname = \"t\"\ndescription = \"A tool\"\ncommand = [\"true\"]\n";
    let scene = Scene::new();
    let path = scene.folder.path().join("ptk.toml");
    let url = "url = \"http://a/\"\nmethod = \"PSOT\"";
    let parameters = r#"parameters = { type = "object", properties = { p = { type = "strin" } } }"#;
    for (text, expected) in [
        (
            GOOD.replace("[[tools]]", "[[tool]]"),
            "1:3: unknown section `tool`, expected one of `run`, `limits`, `models`, `helper`, `sessions`, `dialects`, `tools`, `mcp`, `diagnostics`, `snippet_format`, `code_context`, `sandbox`, `undo`, `permissions`, `pages`, `browser`; did you mean `tools`?",
        ),
        (
            format!("{GOOD}timout = 3\n"),
            "5:1: unknown field `timout`, ",
        ),
        (format!("{GOOD}timout = 3\n"), "; did you mean `timeout`?\n"),
        (
            format!("{GOOD}method = \"POST\"\n"),
            "1:1: the tool `t` has `method` beside `command`",
        ),
        (
            format!("{GOOD}body = \"x\"\n"),
            "5:1: unknown field `body`, ",
        ),
        (
            GOOD.replace("command = [\"true\"]", url),
            "5:10: unknown value `PSOT`, expected one of `GET`, `POST`, `PUT`, `PATCH`, `DELETE`; did you mean `POST`?",
        ),
        (
            format!("{GOOD}{parameters}\n"),
            "1:1: the tool `t`: `parameters.properties.p.type` is \"strin\", which is not a type; did you mean `string`?",
        ),
        (
            format!("{GOOD}[diagnostics]\nformt = \"gcc\"\n"),
            "; did you mean `format`?",
        ),
    ] {
        std::fs::write(&path, &text).unwrap();
        let output = scene.ptk(&["list"]).assert().code(1);
        let error = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
        let told = error.split("ptk.toml:").nth(1).unwrap();
        assert!(told.contains(expected), "{text}\n{error}");
    }
}

/// Sends a signal to the process.
fn signal(process: u32, name: &str) {
    let status = Command::new("kill")
        .args([name, &process.to_string()])
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn an_interrupt_ends_the_tool_and_what_it_started() {
    for name in ["-INT", "-TERM", "-HUP"] {
        interrupt(name);
    }
}

fn interrupt(name: &str) {
    let scene = Scene::new();
    let fifo = scene.fifo("exec sleep 1000");
    let args = r#"{"command": "exec sh hold"}"#;
    let mut child = Command::new(cargo_bin!("ptk"))
        .env("PTK_STATE", scene.state.path())
        .args(["tools", "call", "bash", args, "--approve", "auto", "--json"])
        .current_dir(scene.folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut alive = BufReader::new(File::open(fifo).unwrap()).lines();
    assert_eq!(alive.next().unwrap().unwrap(), "up");
    signal(child.id(), name);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let last = lines.last().unwrap().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let result: Value = serde_json::from_str(&last).unwrap();
    assert_eq!(result["success"], false);
    assert!(alive.next().is_none(), "all who could write are gone");
}

/// Not even `kill -9` leaves a command behind: in the end, everything that it
/// holds open is closed.
#[test]
fn a_command_ends_with_ptk_however_that_ends() {
    let scene = Scene::new();
    let fifo = scene.fifo("trap '' TERM; setsid env -i sleep 1000 & sleep 1000");
    let command = "exec sh hold";
    let mut ptk = Command::new(cargo_bin!("ptk"))
        .env("PTK_STATE", scene.state.path())
        .args(["tools", "call", "bash", "--approve", "auto", "--workspace"])
        .arg(scene.folder.path())
        .arg(json!({ "command": command }).to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(File::open(&fifo).unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "up");
    ptk.kill().unwrap();
    ptk.wait().unwrap();
    assert!(lines.next().is_none(), "all who could write are gone");
}

#[test]
fn arguments_are_given_as_pairs() {
    let scene = Scene::new();
    let read = |args: &[&str]| {
        let all = [&["call", "read_file"][..], args].concat();
        let output = scene.ptk(&all).output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        (output.status.code().unwrap(), out)
    };
    assert_eq!(read(&["path=a.txt", "limit=1"]), (0, "one\n".to_owned()));
    assert_eq!(read(&[r#"{"path": "a.txt", "limit": 1}"#]).0, 0);
    for wrong in [
        &["path=a.txt", "nonsense"][..],
        &["path=a.txt", "path=b.txt"],
        &["a.txt"],
    ] {
        assert_eq!(read(wrong).0, 2, "{wrong:?}");
    }
    std::fs::write(scene.folder.path().join("a=b.txt"), "x = {1}\n").unwrap();
    assert_eq!(read(&["path=a=b.txt"]), (0, "x = {1}\n".to_owned()));
}

#[test]
fn a_command_that_fails_is_a_failure() {
    let scene = Scene::new();
    for (command, code) in [("true", 0), ("exit 3", 1)] {
        let args = json!({"command": command});
        let (exit, lines) = scene.call("bash", &args, &["--approve", "auto"]);
        assert_eq!(exit, code, "{command}");
        assert_eq!(lines.last().unwrap()["success"], true, "it did run");
    }
}

/// What `ptk tools show` suggests works as it stands there.
#[test]
fn the_examples_of_tools_can_be_pasted() {
    let scene = Scene::new();
    let names = scene.ptk(&["list", "--json"]).output().unwrap().stdout;
    let names = String::from_utf8(names).unwrap();
    for name in names.lines() {
        let name: Value = serde_json::from_str(name).unwrap();
        let name = name["name"].as_str().unwrap();
        let shown = scene.ptk(&["show", name]).output().unwrap().stdout;
        let shown = String::from_utf8(shown).unwrap();
        let example = shown.lines().last().unwrap().trim();
        let rest = example.strip_prefix("ptk tools call ").unwrap();
        // Read as a shell reads it, and checked by the tool.
        let words = Command::new("sh")
            .args(["-c", &format!("printf '%s\\n' {rest}")])
            .output()
            .unwrap();
        let words = String::from_utf8(words.stdout).unwrap();
        let mut words = words.lines();
        assert_eq!(words.next(), Some(name));
        let args = words.next().unwrap();
        assert_eq!(words.next(), None, "{example}");
        let output = scene.ptk(&["call", name, args]).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        for wrong in ["Invalid arguments", "No query", "Expected", "missing"] {
            assert!(!told.contains(wrong), "{example}: {told}");
        }
    }
}
