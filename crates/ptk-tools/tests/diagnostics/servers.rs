//! A real language server, and some programs that are not.

use ptk_tools::tools::get_diagnostics::GetDiagnostics;
use serde_json::{Value, json};

use crate::scene::{Scene, configuration, no_args, ruff};

fn declared(command: &Value) -> Value {
    json!({
        "disable": ["ruff", "pyright"],
        "timeout": 20,
        "servers": [{"name": "ruff server", "command": command, "extensions": ["py"], "language_id": "python"}],
    })
}

fn served() -> Scene {
    let tool = GetDiagnostics::new(configuration(declared(&json!(["ruff", "server"]))));
    Scene::new()
        .file("ruff.toml", "lint.select = [\"F\"]\n")
        .with(tool.search([ruff()]))
}

#[tokio::test]
async fn ruff_server_is_asked_about_all_files() {
    let scene = served()
        .file("a b.py", "import os\n\nprint(\"😀\", missing)\n")
        .file("sub/ö.py", "def f(:\n")
        .file("sub/clean.py", "print(1)\n")
        .file("other.txt", "");
    let result = scene.call(no_args()).await;
    insta::assert_snapshot!(scene.found(&result), @"
    3 errors, 1 warning found by ruff server (1 checker)
    a b.py:1:8 warning: `os` imported but unused /  / help: Remove unused import: `os` [F401] (Ruff)
    a b.py:3:12 error: Undefined name `missing` [F821] (Ruff)
    sub/ö.py:1:7 error: Expected a parameter or the end of the parameter list [invalid-syntax] (Ruff)
    sub/ö.py:2:1 error: unexpected EOF while parsing [invalid-syntax] (Ruff)
    ");
    assert_eq!(result.fields["checkers"][0]["command"], "ruff server");
}

#[tokio::test]
async fn ruff_server_is_asked_about_one_file() {
    let scene = served()
        .file("a.py", "import os\n")
        .file("clean.py", "print(1)\n");
    let of = async |file: &str| scene.found(&scene.call(json!({ "file": file })).await);
    insta::assert_snapshot!(of("clean.py").await, @"No problems found in clean.py by ruff server (1 checker)");
    insta::assert_snapshot!(of("a.py").await, @"
    0 errors, 1 warning found in a.py by ruff server (1 checker)
    a.py:1:8 warning: `os` imported but unused /  / help: Remove unused import: `os` [F401] (Ruff)
    ");
}

#[tokio::test]
async fn more_files_than_a_server_is_shown() {
    let mut scene = served();
    for number in 0..53 {
        scene = scene.file(&format!("f{number:02}.py"), "import os\n");
    }
    let result = scene.call(json!({"limit": 1})).await;
    insta::assert_snapshot!(scene.found(&result), @"
    0 errors, 50 warnings found by ruff server (1 checker)
    f00.py:1:8 warning: `os` imported but unused /  / help: Remove unused import: `os` [F401] (Ruff)
    ruff server ok: 3 more files were not shown to it; ask about one file
    get_diagnostics(limit=1, offset=1)
    ");
}

/// A server that sends the output of this script, with so much time for it.
fn scripted(lines: &str, seconds: u64) -> Scene {
    let mut declared = declared(&json!(["./server"]));
    declared["timeout"] = json!(seconds);
    Scene::new()
        .file("a.py", "x = \"😀\"; y\n")
        .script("server", lines)
        .configured(declared)
}

fn message(body: &Value) -> String {
    let body = body.to_string();
    format!(
        "printf '%s\\r\\n\\r\\n%s' 'Content-Length: {}' '{body}'\n",
        body.len()
    )
}

const READ: &str = "head -c 20 >/dev/null\n";

/// The diagnostics of `a.py` that a server sends by itself.
fn published(scene: &str, severity: u8, text: &str) -> String {
    let range = json!({"start": {"line": 0, "character": 10}, "end": {"line": 0, "character": 11}});
    let items = json!([{"range": range, "severity": severity, "code": 7, "message": text}]);
    message(
        &json!({"jsonrpc": "2.0", "method": "textDocument/publishDiagnostics", "params": {"uri": scene, "diagnostics": items}}),
    )
}

#[tokio::test]
async fn the_newest_word_of_a_server_counts_and_its_questions_are_answered() {
    let scene = scripted("", 60);
    let uri = url(&scene, "a.py");
    let lines = [
        READ.to_owned(),
        message(
            &json!({"jsonrpc": "2.0", "id": "q", "method": "workspace/configuration", "params": {"items": [{}, {}]}}),
        ),
        message(&json!({"jsonrpc": "2.0", "id": 1, "result": {"capabilities": {}}})),
        message(
            &json!({"jsonrpc": "2.0", "method": "$/progress", "params": {"token": 1, "value": {"kind": "begin"}}}),
        ),
        published(&uri, 1, "too early"),
        published(&uri, 2, "the last word"),
        message(
            &json!({"jsonrpc": "2.0", "method": "$/progress", "params": {"token": 1, "value": {"kind": "end"}}}),
        ),
        "cat >heard\n".to_owned(),
    ];
    let scene = scene.script("server", &lines.concat());
    let result = scene.call(no_args()).await;
    insta::assert_snapshot!(scene.found(&result), @"
    0 errors, 1 warning found by ruff server (1 checker)
    a.py:1:10 warning: the last word [7] (ruff server)
    ");
    let heard = std::fs::read_to_string(scene.path().join("heard")).unwrap();
    assert!(
        heard.contains(r#"{"jsonrpc":"2.0","id":"q","result":[null,null]}"#),
        "{heard}"
    );
    let order = [
        "\"initialized\"",
        "\"textDocument/didOpen\"",
        "\"languageId\":\"python\"",
        "\"shutdown\"",
    ];
    let places: Vec<_> = order
        .iter()
        .map(|word| heard.find(word).expect(word))
        .collect();
    assert!(places.is_sorted(), "{heard}");
}

fn url(scene: &Scene, file: &str) -> String {
    let path = format!("{}/{file}", scene.root());
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/.-_~".contains(&byte);
    let encoded = path.bytes().map(|byte| {
        if plain(byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    });
    format!("file://{}", encoded.collect::<String>())
}

#[tokio::test]
async fn servers_that_do_not_do_their_work() {
    let told = async |lines: &str| {
        let scene = scripted(lines, 3);
        scene.told(&scene.call(no_args()).await)
    };
    insta::assert_snapshot!(told("echo 'usage: server'; cat >/dev/null").await, @"
    user_error: get_diagnostics(): The check failed: ruff server: it does not speak the language server protocol
    → Mend what the checker complains about, such as the project's own file, and call get_diagnostics again. If it does not say enough, run it with bash.
    ");
    insta::assert_snapshot!(told("echo 'cannot find my brain' >&2; exit 1").await, @"
    user_error: get_diagnostics(): The check failed: ruff server: it ended before it had answered: cannot find my brain
    → Mend what the checker complains about, such as the project's own file, and call get_diagnostics again. If it does not say enough, run it with bash.
    ");
    insta::assert_snapshot!(told("printf 'Content-Length: 99999999999\\r\\n\\r\\n'; cat >/dev/null").await, @"
    user_error: get_diagnostics(): The check failed: ruff server: it wanted to send 99999999999 bytes at once
    → Mend what the checker complains about, such as the project's own file, and call get_diagnostics again. If it does not say enough, run it with bash.
    ");
    insta::assert_snapshot!(told("sleep 600").await, @"
    system_error: get_diagnostics(): The check did not end in time: ruff server: it was stopped after 3 s
    → Try again, since much of the work may be kept; ask about one file; or ask the user for a longer `timeout` under [diagnostics] in ptk.toml.
    ");
    let refused =
        message(&json!({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "not today"}}));
    insta::assert_snapshot!(told(&format!("{READ}{refused}cat >/dev/null")).await, @"
    user_error: get_diagnostics(): The check failed: ruff server: it refused initialize: not today
    → Mend what the checker complains about, such as the project's own file, and call get_diagnostics again. If it does not say enough, run it with bash.
    ");
}

#[tokio::test]
async fn servers_that_are_not_there() {
    let told = async |command: Value| {
        let scene = Scene::new().file("a.py", "").configured(declared(&command));
        scene.told(&scene.call(no_args()).await)
    };
    insta::assert_snapshot!(told(json!(["no-such-server"])).await, @r#"
    user_error: get_diagnostics(): No checker could run: no-such-server is not installed: install it, or mend [[diagnostics.servers]] in ptk.toml
    → Ask the user to install one of them, or to name a checker in ptk.toml: [diagnostics] command = ["make", "check"].
    "#);
    insta::assert_snapshot!(told(json!([])).await, @"
    user_error: get_diagnostics(): The check failed: ruff server: its `command` in ptk.toml is empty
    → Mend what the checker complains about, such as the project's own file, and call get_diagnostics again. If it does not say enough, run it with bash.
    ");
}

#[tokio::test]
async fn what_a_server_said_before_it_hung_is_kept() {
    let scene = scripted("", 5);
    let lines = [
        READ.to_owned(),
        message(&json!({"jsonrpc": "2.0", "id": 1, "result": {"capabilities": {}}})),
        message(
            &json!({"jsonrpc": "2.0", "method": "$/progress", "params": {"token": 1, "value": {"kind": "begin"}}}),
        ),
        published(&url(&scene, "a.py"), 1, "found in time"),
        "sleep 600\n".to_owned(),
    ];
    let scene = scene.script("server", &lines.concat());
    insta::assert_snapshot!(scene.found(&scene.call(no_args()).await), @"
    1 error, 0 warnings found; failed: ruff server
    a.py:1:10 error: found in time [7] (ruff server)
    ruff server failed: it was stopped after 5 s
    ");
}

#[tokio::test]
async fn a_server_that_speaks_while_it_is_spoken_to_is_heard() {
    let scene = scripted("", 60).file("a.py", &"x = 1\n".repeat(200_000));
    let log = json!({"jsonrpc": "2.0", "method": "window/logMessage", "params": {"message": "x".repeat(1000)}});
    let lines = [
        READ.to_owned(),
        message(&json!({"jsonrpc": "2.0", "id": 1, "result": {"capabilities": {}}})),
        format!(
            "i=0; while [ $i -lt 500 ]; do i=$((i+1))\n{}done\n",
            message(&log)
        ),
        "head -c 1000000 >/dev/null\n".to_owned(),
        published(&url(&scene, "a.py"), 3, "heard"),
        "cat >/dev/null\n".to_owned(),
    ];
    let scene = scene.script("server", &lines.concat());
    insta::assert_snapshot!(scene.found(&scene.call(no_args()).await), @"
    0 errors, 0 warnings, 1 hint found by ruff server (1 checker)
    a.py:1:11 info: heard [7] (ruff server)
    ");
}

#[tokio::test]
async fn a_server_that_was_not_ready_is_asked_again() {
    let answer = |id: u64, name: &str, value: Value| {
        let mut answer = json!({"jsonrpc": "2.0", "id": id});
        answer[name] = value;
        message(&answer)
    };
    let range = json!({"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}});
    let item =
        json!({"range": range, "severity": 2, "code": "C1", "source": "mine", "message": "ready"});
    let lines = [
        READ.to_owned(),
        answer(
            1,
            "result",
            json!({"capabilities": {"diagnosticProvider": {}}}),
        ),
        answer(2, "error", json!({"code": -32802, "message": "not ready"})),
        answer(3, "result", json!({"kind": "full", "items": [item]})),
        answer(4, "result", Value::Null),
        "cat >/dev/null\n".to_owned(),
    ];
    let scene = scripted(&lines.concat(), 60);
    insta::assert_snapshot!(scene.found(&scene.call(no_args()).await), @"
    0 errors, 1 warning found by ruff server (1 checker)
    a.py:1:1 warning: ready [C1] (mine)
    ");
}
