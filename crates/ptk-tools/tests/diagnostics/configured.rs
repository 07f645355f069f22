//! The command of `ptk.toml`, and its formats.

use ptk_tools::tools::get_diagnostics::Diagnostics;
use serde_json::json;

use crate::scene::{Scene, configuration, no_args};

fn prints(format: &str, output: &str) -> Scene {
    Scene::new()
        .recording("my check", output, "", 1)
        .file("a b/ö.c", "int x;\n")
        .configured(json!({"command": ["./my check", "--all"], "format": format}))
}

#[tokio::test]
async fn lines_of_compilers() {
    let scene = prints(
        "gcc",
        "cc -c a.c\n\
         a b/ö.c: In function 'main':\n\
         \u{1b}[1ma b/ö.c:3:5:\u{1b}[0m \u{1b}[31merror:\u{1b}[0m expected ';' before '}' token\n\
         ./a b/../a b/ö.c:1: warning: unused variable 'x' [-Wunused-variable]\n\
         WORKSPACE/a b/ö.c:2:1: note: declared here\n\
         /usr/include/stdio.h:7:3: fatal error: far away\n\
         make: *** [Makefile:2: check] Error 1\n",
    );
    let outcome = scene.outcome(no_args()).await;
    insta::assert_snapshot!(scene.found(&outcome.result), @"
    2 errors, 1 warning, 1 hint found by './my check' --all (1 checker)
    /usr/include/stdio.h:7:3 error: far away ('./my check' --all)
    a b/ö.c:1 warning: unused variable 'x' [-Wunused-variable] ('./my check' --all)
    a b/ö.c:2:1 info: declared here ('./my check' --all)
    a b/ö.c:3:5 error: expected ';' before '}' token ('./my check' --all)
    ");
    insta::assert_snapshot!(outcome.preview.join("\n"), @"
    2 errors, 1 warning, 1 hint
    /usr/include/stdio.h:7:3 error: far away
    a b/ö.c:1 warning: unused variable 'x'
    a b/ö.c:2:1 info: declared here
    …
    ");
    let of = async |args| scene.found(&scene.call(args).await);
    insta::assert_snapshot!(of(json!({"file": "a b/ö.c", "severity": "warning"})).await, @"
    1 error, 1 warning, 1 hint found in a b/ö.c by './my check' --all (1 checker); 1 error elsewhere, which may hide others here
    a b/ö.c:1 warning: unused variable 'x' [-Wunused-variable] ('./my check' --all)
    a b/ö.c:3:5 error: expected ';' before '}' token ('./my check' --all)
    ");
    insta::assert_snapshot!(of(json!({"file": "a b", "severity": "error", "limit": 1})).await, @"
    1 error, 1 warning, 1 hint found in a b by './my check' --all (1 checker); 1 error elsewhere, which may hide others here
    a b/ö.c:3:5 error: expected ';' before '}' token ('./my check' --all)
    ");
    insta::assert_snapshot!(of(json!({"limit": 2, "offset": 1})).await, @"
    2 errors, 1 warning, 1 hint found by './my check' --all (1 checker)
    a b/ö.c:1 warning: unused variable 'x' [-Wunused-variable] ('./my check' --all)
    a b/ö.c:2:1 info: declared here ('./my check' --all)
    get_diagnostics(limit=2, offset=3)
    ");
}

#[tokio::test]
async fn objects_a_line() {
    let scene = prints(
        "json-lines",
        r#"starting
{"file": "a b/ö.c", "line": 2, "message": "no severity is an error"}
{"file": "a b/ö.c", "line": 1, "column": 4, "end_line": 3, "severity": "hint", "message": "nicer", "code": "N1", "source": "mine"}
{"file": "a b/ö.c"}
"#,
    );
    insta::assert_snapshot!(scene.found(&scene.call(no_args()).await), @"
    1 error, 0 warnings, 1 hint found; failed: './my check' --all
    a b/ö.c:1:4-3 hint: nicer [N1] (mine)
    a b/ö.c:2 error: no severity is an error ('./my check' --all)
    './my check' --all failed: a line is not what was expected: missing field `line` at line 1 column 20
    ");
}

#[tokio::test]
async fn rustc_itself() {
    let scene = prints(
        "rustc-json",
        r#"{"$message_type":"diagnostic","message":"mismatched types","code":{"code":"E0308","explanation":null},"level":"error","spans":[{"file_name":"a b/ö.c","line_start":1,"line_end":2,"column_start":5,"column_end":6,"is_primary":true,"label":"expected `i32`, found `&str`","expansion":null}],"children":[{"message":"try this","level":"help","spans":[]}],"rendered":""}
{"$message_type":"diagnostic","message":"aborting due to 1 previous error","code":null,"level":"error","spans":[],"children":[],"rendered":""}
"#,
    );
    insta::assert_snapshot!(scene.found(&scene.call(no_args()).await), @"
    1 error, 0 warnings found by './my check' --all (1 checker)
    a b/ö.c:1:5-2 error: mismatched types: expected `i32`, found `&str` / help: try this [E0308] ('./my check' --all)
    ");
}

#[tokio::test]
async fn sarif() {
    let scene = prints(
        "sarif",
        r#"{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "linter"}}, "columnKind": "utf16CodeUnits", "results": [
            {"ruleId": "R1", "level": "error", "message": {"text": "bad"}, "locations": [{"physicalLocation": {"artifactLocation": {"uri": "a%20b/%C3%B6.c"}, "region": {"startLine": 1, "startColumn": 5}}}]},
            {"ruleId": "R2", "message": {"text": "nowhere"}},
            {"message": {"text": "the whole file"}, "locations": [{"physicalLocation": {"artifactLocation": {"uri": "a%20b/%C3%B6.c"}}}]}
        ]}]}"#,
    );
    insta::assert_snapshot!(scene.found(&scene.call(no_args()).await), @"
    1 error, 1 warning found by './my check' --all (1 checker)
    a b/ö.c:1 warning: the whole file (linter)
    a b/ö.c:1:5 error: bad [R1] (linter)
    ");
}

#[tokio::test]
async fn the_command_takes_the_place_of_what_would_be_found() {
    let scene = prints("gcc", "")
        .file("Cargo.toml", "broken")
        .script("my check", "exit 0");
    insta::assert_snapshot!(scene.found(&scene.call(no_args()).await), @"No problems found by './my check' --all (1 checker)");
}

#[test]
fn a_configuration_with_a_mistake_is_refused() {
    let told = |declared| {
        serde_json::from_value::<Diagnostics>(declared)
            .unwrap_err()
            .to_string()
    };
    insta::assert_snapshot!(told(json!({"comand": []})), @"unknown field `comand`, expected one of `command`, `format`, `disable`, `timeout`, `servers`"); // typos:ignore
    insta::assert_snapshot!(told(json!({"disable": ["pylint"]})), @"unknown variant `pylint`, expected one of `cargo`, `tsc`, `ruff`, `pyright`, `go`");
    insta::assert_snapshot!(told(json!({"format": "xml"})), @"unknown variant `xml`, expected one of `gcc`, `json-lines`, `rustc-json`, `sarif`");
    insta::assert_snapshot!(told(json!({"servers": [{"name": "x"}]})), @"missing field `command`");
    assert_eq!(configuration(json!({})), Diagnostics::default());
}
