//! tsc 7.0, pyright 1.1 and go 1.27, by what they wrote.

use ptk_tools::tools::get_diagnostics::GetDiagnostics;
use serde_json::json;

use crate::scene::{Scene, configuration, no_args};

const TSC: &str = "\
src/main.ts(2,25): error TS2322: Type 'string' is not assignable to type 'number'.
src/main.ts(4,14): error TS2345: Argument of type '{ b: number; }' is not assignable to parameter of type '{ a: number; }'.
  Property 'a' is missing in type '{ b: number; }'.
";

#[tokio::test]
async fn tsc_of_the_project_itself() {
    let scene = Scene::new()
        .file("web/tsconfig.json", "{}")
        .file(
            "web/src/main.ts",
            "\nconst a = \"😀😀\"; const n: number = \"x\";\n",
        )
        .recording("web/node_modules/.bin/tsc", TSC, "", 2);
    insta::assert_snapshot!(scene.found(&scene.call(no_args()).await), @"
    2 errors, 0 warnings found by tsc (1 checker)
    web/src/main.ts:2:23 error: Type 'string' is not assignable to type 'number'. [TS2322] (tsc)
    web/src/main.ts:4:14 error: Argument of type '{ b: number; }' is not assignable to parameter of type '{ a: number; }'. /   Property 'a' is missing in type '{ b: number; }'. [TS2345] (tsc)
    ");
}

#[tokio::test]
async fn tsc_about_the_project_as_a_whole() {
    let told = "error TS18003: No inputs were found in config file 'tsconfig.json'.\n";
    let scene =
        Scene::new()
            .file("tsconfig.json", "{}")
            .recording("node_modules/.bin/tsc", told, "", 2);
    insta::assert_snapshot!(scene.found(&scene.call(no_args()).await), @"
    1 error, 0 warnings found by tsc (1 checker)
    tsconfig.json:1 error: No inputs were found in config file 'tsconfig.json'. [TS18003] (tsc)
    ");
}

#[tokio::test]
async fn tsc_without_a_project_is_given_the_files() {
    let scene = Scene::new()
        .file("-a.ts", "")
        .file("sub/b c.tsx", "")
        .file("node_modules/x/skipped.ts", "")
        .script("node_modules/.bin/tsc", "printf '%s\\n' \"$@\" >args");
    assert!(scene.call(no_args()).await.success);
    let args = std::fs::read_to_string(scene.path().join("args")).unwrap();
    insta::assert_snapshot!(args, @"
    --noEmit
    --pretty
    false
    ./-a.ts
    ./sub/b c.tsx
    ");
}

const PYRIGHT: &str = r#"{
    "version": "1.1.414",
    "time": "1794739707065",
    "generalDiagnostics": [
        {
            "file": "WORKSPACE/a b.py",
            "severity": "error",
            "message": "Type \"int\" is not assignable to return type \"str\"\n  \"int\" is not assignable to \"str\"",
            "range": {"start": {"line": 3, "character": 21}, "end": {"line": 3, "character": 22}},
            "rule": "reportReturnType"
        },
        {
            "file": "WORKSPACE/broken.py",
            "severity": "warning",
            "message": "Import \"x\" could not be resolved from source",
            "range": {"start": {"line": 0, "character": 6}, "end": {"line": 1, "character": 0}}
        }
    ],
    "summary": {"filesAnalyzed": 2, "errorCount": 1, "warningCount": 1, "informationCount": 0, "timeInSec": 10.373}
}
"#;

#[tokio::test]
async fn pyright_of_the_projects_environment() {
    let tool = GetDiagnostics::new(configuration(json!({"disable": ["ruff"]})));
    let scene = Scene::new()
        .file(
            "a b.py",
            "import os\n\ndef f(x: int) -> str:\n    s = \"😀\"; return x\n",
        )
        .recording(".venv/bin/pyright", PYRIGHT, "", 1)
        .with(tool);
    insta::assert_snapshot!(scene.found(&scene.call(no_args()).await), @r#"
    1 error, 1 warning found by pyright (1 checker)
    a b.py:4:21 error: Type "int" is not assignable to return type "str" /   "int" is not assignable to "str" [reportReturnType] (pyright)
    broken.py:1:7-2 warning: Import "x" could not be resolved from source (pyright)
    "#);
}

#[tokio::test]
async fn pyright_that_is_cut_off() {
    let tool = GetDiagnostics::new(configuration(json!({"disable": ["ruff"]})));
    let (half, _) = PYRIGHT.split_at(400);
    let scene = Scene::new()
        .file("a.py", "")
        .recording(".venv/bin/pyright", half, "", 0)
        .with(tool);
    insta::assert_snapshot!(scene.told(&scene.call(no_args()).await), @"
    user_error: get_diagnostics(): The check failed: pyright: its JSON cannot be read: EOF while parsing a string at line 10 column 13
    → Mend what the checker complains about, such as the project's own file, and call get_diagnostics again. If it does not say enough, run it with bash.
    ");
}

const GO: &str = r#"{
	"example.com/m": {
		"printf": [
			{
				"posn": "WORKSPACE/main.go:6:14",
				"end": "WORKSPACE/main.go:6:16",
				"message": "fmt.Printf format %d has arg \"😀\" of wrong type string"
			},
			{
				"posn": "WORKSPACE/main.go:7:34",
				"end": "WORKSPACE/main.go:7:36",
				"message": "fmt.Printf format %d reads arg #2, but call has 1 arg"
			}
		]
	}
}
"#;
const GO_MAIN: &str = "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Printf(\"%d\\n\", \"😀\")\n\tx := \"😀😀\"; fmt.Printf(\"%s %d\", x)\n}\n";
const GO_TOLD: &str = "\
# example.com/m/sub
vet: sub/sub.go:3:23: cannot use \"x\" (untyped string constant) as int value in return statement
";

fn go(stdout: &str, stderr: &str, code: i32) -> Scene {
    let scene = Scene::new()
        .file("go.mod", "module example.com/m\n")
        .file("main.go", GO_MAIN)
        .file(
            "sub/sub.go",
            "package sub\n\nfunc F() int { return \"x\" }\n",
        )
        .recording("bin/go", stdout, stderr, code);
    let bin = scene.path().join("bin");
    scene.with(GetDiagnostics::default().search([bin]))
}

#[tokio::test]
async fn go_vet_and_what_does_not_compile() {
    let scene = go(GO, GO_TOLD, 1);
    insta::assert_snapshot!(scene.found(&scene.call(no_args()).await), @r#"
    1 error, 2 warnings found by go vet (1 checker)
    main.go:6:14 warning: fmt.Printf format %d has arg "😀" of wrong type string [printf] (go vet)
    main.go:7:28 warning: fmt.Printf format %d reads arg #2, but call has 1 arg [printf] (go vet)
    sub/sub.go:3:23 error: cannot use "x" (untyped string constant) as int value in return statement (go vet)
    "#);
}

#[tokio::test]
async fn go_vet_of_old_writes_everything_to_the_other_stream() {
    let told = format!("# example.com/m\n{GO}# example.com/m/other\n{{}}\n{GO_TOLD}");
    let new = go(GO, GO_TOLD, 1);
    let old = go("", &told, 1);
    let (new, old) = (
        new.found(&new.call(no_args()).await),
        old.found(&old.call(no_args()).await),
    );
    assert_eq!(old, new);
}

#[tokio::test]
async fn go_cannot_begin() {
    let scene = go(
        "",
        "go: errors parsing go.mod:\ngo.mod:3: unknown directive: x\n",
        1,
    );
    insta::assert_snapshot!(scene.found(&scene.call(no_args()).await), @"
    1 error, 0 warnings found by go vet (1 checker)
    go.mod:3 error: unknown directive: x (go vet)
    ");
}

#[tokio::test]
async fn more_projects_than_are_checked_at_once_are_told() {
    let mut scene = Scene::new().script("node_modules/.bin/tsc", "exit 0");
    for number in 1..=6 {
        scene = scene.file(&format!("p{number}/tsconfig.json"), "{}");
    }
    insta::assert_snapshot!(scene.found(&scene.call(no_args()).await), @"
    No problems found by tsc in p1, tsc in p2, tsc in p3, tsc in p4 (4 checkers)
    tsc in p4 ok: 2 more projects of this kind were not checked; ask about their folders
    ");
    insta::assert_snapshot!(scene.found(&scene.call(json!({"file": "p6"})).await), @"No problems found in p6 by tsc (1 checker)");
}
