//! Every failure, as the model sees it.

use futures_util::future::BoxFuture;
use ptk_tools::tools::get_diagnostics::GetDiagnostics;
use ptk_tools::{ApprovalRequest, Approver, Decision};
use serde_json::json;

use crate::scene::{Scene, no_args};

#[tokio::test]
async fn there_is_nothing_to_check() {
    let scene = Scene::new().file("notes.txt", "");
    insta::assert_snapshot!(scene.told(&scene.call(no_args()).await), @r#"
    user_error: get_diagnostics(): No checker is known for the workspace
    → Projects are known by Cargo.toml, tsconfig.json, pyproject.toml, go.mod, or .ts and .py files. For others, ask the user to name a checker in ptk.toml, for example [diagnostics] command = ["make", "check"], or run it with bash.
    "#);
    insta::assert_snapshot!(scene.told(&scene.call(json!({"file": "notes.txt"})).await), @r#"
    user_error: get_diagnostics(file="notes.txt"): No checker is known for notes.txt
    → Projects are known by Cargo.toml, tsconfig.json, pyproject.toml, go.mod, or .ts and .py files. For others, ask the user to name a checker in ptk.toml, for example [diagnostics] command = ["make", "check"], or run it with bash.
    "#);
}

#[tokio::test]
async fn nothing_is_installed() {
    let scene = Scene::new()
        .file("Cargo.toml", "")
        .file("tsconfig.json", "{}")
        .file("a.py", "")
        .file("go.mod", "")
        .with(GetDiagnostics::default().search([]));
    let result = scene.call(no_args()).await;
    insta::assert_snapshot!(scene.told(&result), @r#"
    user_error: get_diagnostics(): No checker could run: cargo is not installed: install Rust with rustup (https://rustup.rs); tsc is not installed: npm install --save-dev typescript; ruff is not installed: pip install ruff; pyright is not installed: pip install pyright; go is not installed: install Go (https://go.dev/dl)
    → Ask the user to install one of them, or to name a checker in ptk.toml: [diagnostics] command = ["make", "check"].
    "#);
    assert_eq!(result.fields["checkers"].as_array().unwrap().len(), 5);
}

#[tokio::test]
async fn all_that_there_is_was_disabled() {
    let scene = Scene::new()
        .file("go.mod", "")
        .configured(json!({"disable": ["go"]}));
    insta::assert_snapshot!(scene.told(&scene.call(no_args()).await), @r#"
    user_error: get_diagnostics(): No checker is known for the workspace
    → Projects are known by Cargo.toml, tsconfig.json, pyproject.toml, go.mod, or .ts and .py files. For others, ask the user to name a checker in ptk.toml, for example [diagnostics] command = ["make", "check"], or run it with bash.
    "#);
}

#[tokio::test]
async fn files_that_cannot_be() {
    let scene = Scene::new().file("Cargo.toml", "");
    let told = async |file: &str| scene.told(&scene.call(json!({ "file": file })).await);
    insta::assert_snapshot!(told("missing.rs").await, @r#"
    user_error: get_diagnostics(file="missing.rs"): File not found: missing.rs
    → List the folder above it to see what there is.
    "#);
    insta::assert_snapshot!(told("../x.rs").await, @r#"
    security_error: get_diagnostics(file="../x.rs"): Path traversal not allowed
    → Write the path without `..`, relative to the workspace or absolute.
    "#);
    insta::assert_snapshot!(told("/etc/passwd").await, @r#"
    security_error: get_diagnostics(file="/etc/passwd"): Cannot use /etc/passwd: it leads outside the allowed folders (WORKSPACE)
    → Use a path in WORKSPACE.
    "#);
}

#[tokio::test]
async fn arguments_that_do_not_fit() {
    let scene = Scene::new();
    let told = async |args| scene.told(&scene.call(args).await);
    insta::assert_snapshot!(told(json!({"severity": "fatal"})).await, @r#"
    validation_error: Invalid value for parameter 'severity' in get_diagnostics: Expected one of "error", "warning", "all", null; got "fatal"
    → Example: get_diagnostics(file="src/main.rs")
    "#);
    insta::assert_snapshot!(told(json!({"limit": 0})).await, @r#"
    validation_error: Invalid value for parameter 'limit' in get_diagnostics: the value is less than the minimum of 1
    → Example: get_diagnostics(file="src/main.rs")
    "#);
    insta::assert_snapshot!(told(json!({"offset": -1})).await, @r#"
    validation_error: Invalid value for parameter 'offset' in get_diagnostics: the value is less than the minimum of 0
    → Example: get_diagnostics(file="src/main.rs")
    "#);
}

#[tokio::test]
async fn commands_that_fail() {
    let told = async |lines: &str| {
        let scene = Scene::new()
            .script("check", lines)
            .configured(json!({"command": ["./check"]}));
        scene.told(&scene.call(no_args()).await)
    };
    insta::assert_snapshot!(told("exit 3").await, @"
    user_error: get_diagnostics(): The check failed: ./check: exit code 3, without a word
    → Mend what the checker complains about, such as the project's own file, and call get_diagnostics again. If it does not say enough, run it with bash.
    ");
    insta::assert_snapshot!(told("echo 'no rule to make target' >&2; exit 2").await, @"
    user_error: get_diagnostics(): The check failed: ./check: exit code 2: no rule to make target
    → Mend what the checker complains about, such as the project's own file, and call get_diagnostics again. If it does not say enough, run it with bash.
    ");
    insta::assert_snapshot!(told("head -c 3000 /dev/urandom | tr -d '\\n:' >/dev/null; kill -SEGV $$").await, @"
    user_error: get_diagnostics(): The check failed: ./check: it was killed by signal 11, without a word
    → Mend what the checker complains about, such as the project's own file, and call get_diagnostics again. If it does not say enough, run it with bash.
    ");
    let scene = Scene::new().configured(json!({"command": ["no-such-checker", "x"]}));
    insta::assert_snapshot!(scene.told(&scene.call(no_args()).await), @r#"
    user_error: get_diagnostics(): No checker could run: no-such-checker is not installed: install it, or mend `command` under [diagnostics] in ptk.toml
    → Ask the user to install one of them, or to name a checker in ptk.toml: [diagnostics] command = ["make", "check"].
    "#);
    let scene = Scene::new()
        .script("check", "exit 0")
        .file("check", "no program")
        .configured(json!({"command": ["./check"]}));
    insta::assert_snapshot!(scene.told(&scene.call(no_args()).await), @"
    user_error: get_diagnostics(): The check failed: ./check: exit code 127: WORKSPACE/check: 1: no: not found
    → Mend what the checker complains about, such as the project's own file, and call get_diagnostics again. If it does not say enough, run it with bash.
    ");
}

#[tokio::test]
async fn output_that_is_not_what_was_expected() {
    let told = async |format: &str, output: &str| {
        let scene = Scene::new()
            .recording("check", output, "", 0)
            .configured(json!({"command": ["./check"], "format": format}));
        scene.told(&scene.call(no_args()).await)
    };
    insta::assert_snapshot!(told("sarif", "no JSON").await, @"
    user_error: get_diagnostics(): The check failed: ./check: its SARIF cannot be read: expected ident at line 1 column 2
    → Mend what the checker complains about, such as the project's own file, and call get_diagnostics again. If it does not say enough, run it with bash.
    ");
    insta::assert_snapshot!(told("json-lines", "{\"file\": 3}\n").await, @"
    user_error: get_diagnostics(): The check failed: ./check: a line is not what was expected: invalid type: integer `3`, expected a string at line 1 column 10
    → Mend what the checker complains about, such as the project's own file, and call get_diagnostics again. If it does not say enough, run it with bash.
    ");
    insta::assert_snapshot!(told("rustc-json", "{\"reason\": ").await, @"
    user_error: get_diagnostics(): The check failed: ./check: a line is not what was expected: EOF while parsing a value at line 1 column 10
    → Mend what the checker complains about, such as the project's own file, and call get_diagnostics again. If it does not say enough, run it with bash.
    ");
}

/// Denies, with the summary of the call as the reason.
struct Refuser;

impl Approver for Refuser {
    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
        let said = format!("{} ({})", request.plan.summary, request.effects);
        Box::pin(std::future::ready(Decision::Deny(said)))
    }
}

#[tokio::test]
async fn whoever_is_asked_sees_what_will_run() {
    let scene = Scene::new()
        .file("Cargo.toml", "")
        .file("a b.py", "")
        .approved_by(Refuser);
    insta::assert_snapshot!(scene.told(&scene.call(no_args()).await), @"
    permission_error: get_diagnostics was not allowed: Run cargo check --workspace --all-targets --keep-going --message-format=json, ruff check --output-format json-lines --no-fix --no-cache, pyright --outputjson (read, execute)
    → Do not try it again in another way. Say what you wanted to do and why, or go on without it.
    ");
    insta::assert_snapshot!(scene.told(&scene.call(json!({"file": "a b.py"})).await), @"
    permission_error: get_diagnostics was not allowed: Run ruff check --output-format json-lines --no-fix --no-cache -- 'WORKSPACE/a b.py', pyright --outputjson 'WORKSPACE/a b.py' (read, execute)
    → Do not try it again in another way. Say what you wanted to do and why, or go on without it.
    ");
}

#[tokio::test]
async fn what_gitignore_leaves_out_is_no_project() {
    let scene = Scene::new()
        .file(".gitignore", "made/\n")
        .file("made/Cargo.toml", "[package]\n")
        .file("kept/.gitignore", "*.py\n")
        .file("kept/a.py", "x = 1\n");
    insta::assert_snapshot!(scene.told(&scene.call(no_args()).await), @r#"
    user_error: get_diagnostics(): No checker is known for the workspace
    → Projects are known by Cargo.toml, tsconfig.json, pyproject.toml, go.mod, or .ts and .py files. For others, ask the user to name a checker in ptk.toml, for example [diagnostics] command = ["make", "check"], or run it with bash.
    "#);
}
