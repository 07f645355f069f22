//! Real ruff.

use ptk_tools::tools::get_diagnostics::GetDiagnostics;
use serde_json::json;

use crate::scene::{Scene, configuration, no_args, ruff};

fn with_ruff() -> Scene {
    let tool = GetDiagnostics::new(configuration(json!({"disable": ["pyright"]})));
    Scene::new()
        .file(
            "pyproject.toml",
            "[project]\nname = \"sample\"\n\n[tool.ruff.lint]\nselect = [\"F\"]\n",
        )
        .with(tool.search([ruff()]))
}

#[tokio::test]
async fn ruff_finds_what_is_wrong() {
    let scene = with_ruff()
        .file("src/a b.py", "import os\n\nprint(\"😀\", missing)\n")
        .file("src/ö.py", "def f(:\n");
    let outcome = scene.outcome(no_args()).await;
    insta::assert_snapshot!(scene.found(&outcome.result), @"
    3 errors, 1 warning found by ruff (1 checker)
    src/a b.py:1:8 warning: `os` imported but unused / help: Remove unused import: `os` [F401] (ruff)
    src/a b.py:3:12 error: Undefined name `missing` [F821] (ruff)
    src/ö.py:1:7 error: Expected a parameter or the end of the parameter list [invalid-syntax] (ruff)
    src/ö.py:2:1 error: unexpected EOF while parsing [invalid-syntax] (ruff)
    ");
    insta::assert_snapshot!(outcome.preview.join("\n"), @"
    3 errors, 1 warning
    src/a b.py:1:8 warning: `os` imported but unused
    src/a b.py:3:12 error: Undefined name `missing`
    src/ö.py:1:7 error: Expected a parameter or the end of the parameter list
    …
    ");
    assert!(!scene.path().join(".ruff_cache").exists());
    let one = scene.call(json!({"file": "src/a b.py"})).await;
    insta::assert_snapshot!(scene.found(&one), @"
    1 error, 1 warning found in src/a b.py by ruff (1 checker)
    src/a b.py:1:8 warning: `os` imported but unused / help: Remove unused import: `os` [F401] (ruff)
    src/a b.py:3:12 error: Undefined name `missing` [F821] (ruff)
    ");
}

#[tokio::test]
async fn ruff_finds_nothing() {
    let scene = with_ruff().file("a.py", "print(1)\n");
    insta::assert_snapshot!(scene.found(&scene.call(no_args()).await), @"No problems found by ruff (1 checker)");
}

#[tokio::test]
async fn ruff_cannot_read_its_configuration() {
    let scene = with_ruff()
        .file("pyproject.toml", "[tool.ruff\n")
        .file("a.py", "");
    let told = scene.told(&scene.call(no_args()).await);
    assert!(
        told.starts_with("user_error: get_diagnostics(): The check failed: ruff: exit code 2: "),
        "{told}"
    );
    assert!(told.contains("pyproject.toml"), "{told}");
}

#[tokio::test]
async fn scripts_without_a_project_are_checked_and_what_is_missing_is_told() {
    let scene = Scene::new().file("a.py", "import os\n");
    // Outside the workspace: a link in there could lead anywhere.
    let bin = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(ruff().join("ruff"), bin.path().join("ruff")).unwrap();
    let scene = scene.with(GetDiagnostics::default().search([bin.path().to_owned()]));
    let result = scene.call(json!({"severity": "error"})).await;
    insta::assert_snapshot!(scene.found(&result), @"
    No errors found by ruff (1 checker); 0 errors, 1 warning in all; not installed: pyright
    pyright missing: pyright is not installed: pip install pyright
    ");
}
