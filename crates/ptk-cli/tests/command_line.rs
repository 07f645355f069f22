//! The `ptk` binary as a user or a script uses it.

use std::borrow::Cow;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use assert_cmd::cargo::cargo_bin;
use serde_json::json;

fn ptk(args: &[&str]) -> assert_cmd::Command {
    let mut command = assert_cmd::Command::new(cargo_bin!("ptk"));
    command.args(args);
    command
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

#[test]
fn help_version_and_mistakes_read_as_recorded() {
    let cases = trycmd::TestCases::new();
    cases
        .env("COLUMNS", "100")
        .env("PTK_MODELS", "tests/data/models")
        .case("tests/cmd/*.trycmd");
    if cfg!(not(feature = "local")) {
        cases.skip("tests/cmd/models.trycmd");
    }
    cases.run();
}

/// A build that cannot run local models does not offer to fetch them.
#[cfg(not(feature = "local"))]
#[test]
fn without_local_models_none_is_offered() {
    let folder = tempfile::tempdir().unwrap();
    for args in [
        &["--help"][..],
        &["models", "--help"],
        &["models", "list", "--help"],
        &["models", "list"],
        &["models", "list", "--json"],
        &["setup", "--help"],
        &["setup", "--json"],
        &["run", "Hi"],
        &["run", "Hi", "--provider", "opneai"],
        &["index", "--help"],
        &["index"],
        &["search", "--help"],
        &["search", "anything"],
        &["doctor"],
    ] {
        let output = ptk(args)
            .current_dir(folder.path())
            .env("PTK_MODELS", folder.path().join("models"))
            .env("PTK_STATE", folder.path().join("state"))
            .env("XDG_CONFIG_HOME", folder.path().join("config"))
            .env_remove("PTK_PROVIDER")
            .output()
            .unwrap();
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        for offer in [
            "models pull",
            "wordllama",
            "smollm",
            "qwen",
            "download",
            "local,",
        ] {
            let said = said.to_lowercase();
            assert!(!said.contains(offer), "{args:?} offers {offer}: {said}");
        }
    }
    let output = ptk(&["models", "pull"]).output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(2),
        "nothing is pulled by default"
    );
}

#[test]
fn every_shell_gets_completions() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = ptk(&["completions", shell]).assert().success();
        assert!(
            text(&output.get_output().stdout).contains("PTK_COMPLETE"),
            "{shell}"
        );
    }
}

#[test]
fn every_command_gets_a_man_page() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("pages");
    ptk(&["man-pages", pages.to_str().unwrap()])
        .assert()
        .success();
    for (page, contents) in [
        ("ptk.1", "ptk\\-sessions(1)"),
        ("ptk-parse.1", "\\-\\-tool\\-defs"),
        ("ptk-sessions-list.1", "ptk sessions list"),
    ] {
        let written = std::fs::read_to_string(pages.join(page)).unwrap();
        assert!(written.contains(contents), "{page}: {written}");
    }
    assert!(!pages.join("ptk-man-pages.1").exists());
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let mut child = Command::new(cargo_bin!("ptk"))
        .args(["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn bad_cases_are_answered_in_place_and_counted() {
    let input = b"not json\n\n{\"dialect\": \"ptk\"}\n{\"input\": \"ab\", \"chunks\": [\"a\"]}\n\xff\n{\"input\": \"\", \"tools\": [{}]}";
    let assert = ptk(&["parse", "--jsonl"])
        .write_stdin(&input[..])
        .assert()
        .code(1);
    let output = assert.get_output();
    let stdout = text(&output.stdout);
    let lines: Vec<&str> = stdout.lines().collect();
    let expected = [
        r#"{"error":"line 1: column 2: expected ident; a case is "#,
        r#"{"error":"line 3: `input` is missing"#,
        r#"{"error":"line 4: `chunks` put together are not `input`"#,
        r#"{"error":"line 5: not UTF-8: byte 0 of the line"#,
        r#"{"error":"line 6: `tools`: tool 1: `name` is missing"#,
    ];
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line}");
    }
    assert_eq!(
        text(&output.stderr),
        "error: 5 of 5 cases could not be read; look for \"error\" in the output\n"
    );
}

#[test]
fn each_case_is_answered_before_the_next_is_sent() {
    let mut child = Command::new(cargo_bin!("ptk"))
        .args(["parse", "--jsonl"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for number in 1..=3 {
        writeln!(stdin, "broken").unwrap();
        let mut answer = String::new();
        stdout.read_line(&mut answer).unwrap();
        assert!(answer.contains(&format!("line {number}:")), "{answer}");
    }
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn text_that_is_not_utf8_is_refused_with_its_offset() {
    let assert = ptk(&["parse"]).write_stdin(&b"ab\xff"[..]).assert().code(1);
    assert_eq!(
        text(&assert.get_output().stderr),
        "error: stdin is not UTF-8: byte 2 starts no character; convert it first, as with iconv\n"
    );
}

/// Runs `ptk parse --jsonl` with one case.
fn answer(case: &serde_json::Value) -> serde_json::Value {
    let output = ptk(&["parse", "--jsonl"])
        .write_stdin(case.to_string())
        .output();
    let printed = output.map(|output| output.stdout).unwrap_or_default();
    serde_json::from_slice(&printed).unwrap_or_default()
}

#[test]
fn a_case_says_whether_the_reply_starts_in_reasoning() {
    let case = |starts: bool| answer(&json!({"input": "I wonder", "starts_in_reasoning": starts}));
    assert_eq!(case(true)["reasoning"], "I wonder");
    assert_eq!(case(false)["text"], "I wonder");
}

#[test]
fn a_case_is_answered_as_the_contract_says() {
    let tools = json!([{"name": "read_file", "parameters": {
        "type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"],
    }}]);
    let input = "<think>hm</think>Look: <PTK_CALL>{\"tool\":\"read_file\",\"args\":{\"path\":\"a\",}}</PTK_CALL> done <PTK_CALL>{oops}</PTK_CALL>";
    let expected = json!({
        "text": "Look:  done ",
        "reasoning": "hm",
        "calls": [{
            "name": "read_file",
            "args": {"path": "a"},
            "status": "repaired",
            "problems": [{
                "code": "extra_comma",
                "message": "A comma without a value behind it was left out",
                "raw": "",
                "span": [72, 72],
            }],
            "span": [33, 74],
            "dialect": "ptk",
        }],
        "problems": [{
            "code": "malformed",
            "message": "The call is not a JSON object",
            "raw": "{oops}",
            "span": [101, 107],
        }],
        "spans": [
            {"kind": "mark", "start": 0, "end": 7},
            {"kind": "reasoning", "start": 7, "end": 9},
            {"kind": "mark", "start": 9, "end": 17},
            {"kind": "text", "start": 17, "end": 23},
            {"kind": "mark", "start": 23, "end": 33},
            {"kind": "call", "start": 33, "end": 74},
            {"kind": "mark", "start": 74, "end": 85},
            {"kind": "text", "start": 85, "end": 91},
            {"kind": "mark", "start": 91, "end": 101},
            {"kind": "problem", "start": 101, "end": 107},
            {"kind": "mark", "start": 107, "end": 118},
        ],
    });
    assert_eq!(answer(&json!({"input": input, "tools": tools})), expected);
    let chunks: Vec<String> = input.chars().map(String::from).collect();
    assert_eq!(
        answer(&json!({"input": input, "tools": tools, "chunks": chunks})),
        expected
    );
}

#[test]
fn a_fixed_dialect_reads_nothing_else() {
    let tools = json!([{"name": "read_file"}]);
    let input = "<tool name=\"read_file\"/>";
    let calls = |dialect: &str| {
        let case = json!({"input": input, "tools": tools, "dialect": dialect});
        answer(&case)["calls"].as_array().map(Vec::len)
    };
    assert_eq!(calls("auto"), Some(1));
    assert_eq!(calls("xml"), Some(1));
    assert_eq!(calls("yaml"), Some(0));
}

#[test]
fn a_dialect_that_is_not_known_is_answered_with_those_that_are() {
    let error = answer(&json!({"input": "hi", "dialect": "klingon"}));
    let error = error["error"].as_str().unwrap();
    assert!(
        error.contains("klingon") && error.contains("ptk-batch"),
        "{error}"
    );
}

#[test]
fn digits_survive_parse_and_repair() {
    let number = "123456789012345678901234567890.10";
    let output = ptk(&["parse"])
        .write_stdin(format!(
            "<PTK_CALL>{{\"tool\":\"f\",\"args\":{{\"n\":{number}}}}}</PTK_CALL>"
        ))
        .output()
        .unwrap();
    assert!(text(&output.stdout).contains(number));
    let output = ptk(&["parse", "--repair"])
        .write_stdin(format!("{{n: {number}}}"))
        .output()
        .unwrap();
    assert_eq!(text(&output.stdout).trim(), format!("{{\"n\": {number}}}"));
}

#[test]
fn of_two_tools_with_one_name_in_a_case_the_later_counts() {
    let with = |kind: &str| json!({"name": "f", "parameters": {"type": "object", "properties": {"n": {"type": kind}}}});
    let case = json!({
        "input": "<tool name=\"f\"><arg name=\"n\">5</arg></tool>",
        "tools": [with("string"), with("integer")],
    });
    assert_eq!(answer(&case)["calls"][0]["args"], json!({"n": 5}));
}

#[test]
fn declared_dialects_are_found_wherever_the_configuration_is() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/acme");
    let reply = format!("{folder}/reply.txt");
    let calls = |command: &mut assert_cmd::Command| {
        let output = command.output().unwrap();
        let reply: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        reply["calls"].as_array().map(Vec::len)
    };
    let file = format!("{folder}/ptk.toml");
    assert_eq!(calls(&mut ptk(&["parse", &reply])), Some(0));
    assert_eq!(calls(ptk(&["parse", &reply]).current_dir(folder)), Some(1));
    assert_eq!(
        calls(ptk(&["parse", &reply]).env("PTK_WORKSPACE", folder)),
        Some(1)
    );
    assert_eq!(
        calls(ptk(&["parse", &reply]).env("PTK_CONFIG", &file)),
        Some(1)
    );
    let elsewhere = ["parse", "--workspace", env!("CARGO_MANIFEST_DIR"), &reply];
    assert_eq!(calls(ptk(&elsewhere).env("PTK_WORKSPACE", folder)), Some(0));
    let case = json!({"input": std::fs::read_to_string(&reply).unwrap(), "dialect": "acme"});
    let mut lines = ptk(&["parse", "--jsonl", "--config", &file]);
    assert_eq!(calls(lines.write_stdin(case.to_string())), Some(1));
}

#[test]
fn declared_dialects_are_listed_with_the_others() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/acme");
    let assert = ptk(&["parse", "--workspace", folder, "--dialect", "acmee"])
        .assert()
        .code(2);
    let stderr = text(&assert.get_output().stderr);
    assert!(
        stderr.contains("[possible values: auto, acme, "),
        "{stderr}"
    );
    assert!(
        stderr.contains("a similar value exists: 'acme'"),
        "{stderr}"
    );
}

#[test]
fn an_explanation_has_no_colours_where_nobody_sees_them() {
    let assert = ptk(&["parse", "--explain"])
        .write_stdin("<PTK_CALL>{}</PTK_CALL>")
        .assert()
        .success();
    assert!(!text(&assert.get_output().stdout).contains('\u{1b}'));
}
