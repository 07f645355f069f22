//! Real cargo.

use serde_json::json;

use crate::scene::{Scene, no_args};

const MANIFEST: &str =
    "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";

fn sample(main: &str) -> Scene {
    Scene::new()
        .file("Cargo.toml", MANIFEST)
        .file("src/main.rs", main)
}

#[tokio::test]
async fn a_clean_crate_has_no_problems() {
    let scene = sample("fn main() {}\n");
    let outcome = scene.outcome(no_args()).await;
    insta::assert_snapshot!(scene.found(&outcome.result), @"No problems found by cargo check (1 checker)");
    assert_eq!(
        outcome.preview,
        ["No problems found by cargo check (1 checker)"]
    );
    assert_eq!(outcome.result.fields["total"], 0);
    assert_eq!(
        outcome.result.fields["checkers"],
        json!([{
            "name": "cargo check",
            "command": "cargo check --workspace --all-targets --keep-going --message-format=json",
            "status": "ok",
        }])
    );
}

#[tokio::test]
async fn errors_and_warnings_are_told_once_though_each_target_has_them() {
    let scene = sample("mod ünder;\nfn main() {\n    let s: i32 = \"ä\";\n}\n").file(
        "src/ünder.rs",
        "pub fn f() { let ö = 1; }\n\nfn unused() {}\n",
    );
    let outcome = scene.outcome(no_args()).await;
    insta::assert_snapshot!(scene.found(&outcome.result), @"
    2 errors, 1 warning found by cargo check (1 checker)
    src/main.rs:1:5 error: trying to load file for module `ünder` with non-ascii identifier name / help: consider using the `#[path]` attribute to specify filesystem path [E0754] (cargo check)
    src/main.rs:3:18 error: mismatched types: expected `i32`, found `&str` [E0308] (cargo check)
    src/ünder.rs:1:18 warning: unused variable: `ö` / help: if this is intentional, prefix it with an underscore [unused_variables] (cargo check)
    ");
    insta::assert_snapshot!(outcome.preview.join("\n"), @"
    2 errors, 1 warning
    src/main.rs:1:5 error: trying to load file for module `ünder` with non-ascii identifier name
    src/main.rs:3:18 error: mismatched types: expected `i32`, found `&str`
    src/ünder.rs:1:18 warning: unused variable: `ö`
    ");
}

#[tokio::test]
async fn warnings_alone_are_no_failure_and_can_be_left_out() {
    let scene = sample("fn main() {\n    let unused = 1;\n}\n");
    insta::assert_snapshot!(scene.found(&scene.call(no_args()).await), @"
    0 errors, 1 warning found by cargo check (1 checker)
    src/main.rs:2:9 warning: unused variable: `unused` / help: if this is intentional, prefix it with an underscore [unused_variables] (cargo check)
    ");
    insta::assert_snapshot!(scene.found(&scene.call(json!({"severity": "error"})).await), @"No errors found by cargo check (1 checker); 0 errors, 1 warning in all");
}

#[tokio::test]
async fn a_file_of_a_member_is_asked_about_alone() {
    let member = |name: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
    };
    let scene = Scene::new()
        .file(
            "Cargo.toml",
            "[workspace]\nresolver = \"2\"\nmembers = [\"crates/*\"]\n",
        )
        .file("crates/one/Cargo.toml", &member("one"))
        .file("crates/one/src/lib.rs", "pub fn f() -> u8 { missing() }\n")
        .file("crates/two/Cargo.toml", &member("two"))
        .file("crates/two/src/lib.rs", "fn unused() {}\n");
    let of = async |file: &str| scene.found(&scene.call(json!({ "file": file })).await);
    insta::assert_snapshot!(of("crates/two/src/lib.rs").await, @"
    0 errors, 1 warning found in crates/two/src/lib.rs by cargo check (1 checker); 1 error elsewhere, which may hide others here
    crates/two/src/lib.rs:1:4 warning: function `unused` is never used [dead_code] (cargo check)
    ");
    insta::assert_snapshot!(of("crates/one").await, @"
    1 error, 0 warnings found in crates/one by cargo check (1 checker)
    crates/one/src/lib.rs:1:20 error: cannot find function `missing` in this scope: not found in this scope [E0425] (cargo check)
    ");
}

#[tokio::test]
async fn a_macro_of_somebody_else_is_told_where_it_is_used() {
    let scene = sample("fn main() {\n    println!(\"{}\", std::vec::Vec::<u8>::new());\n}\n");
    insta::assert_snapshot!(scene.found(&scene.call(no_args()).await), @"
    1 error, 0 warnings found by cargo check (1 checker)
    src/main.rs:2:20 error: `Vec<u8>` doesn't implement `std::fmt::Display`: `Vec<u8>` cannot be formatted with the default formatter / help: the trait `std::fmt::Display` is not implemented for `Vec<u8>` / note: in format strings you may be able to use `{:?}` (or {:#?} for pretty-print) instead [E0277] (cargo check)
    ");
}

#[tokio::test]
async fn a_project_below_the_workspace_is_found() {
    let scene = Scene::new()
        .file("deep/er/Cargo.toml", MANIFEST)
        .file("deep/er/src/lib.rs", "fn f( {}\n")
        .file("deep/er/vendor/Cargo.toml", "broken");
    insta::assert_snapshot!(scene.found(&scene.call(no_args()).await), @"
    1 error, 0 warnings found by cargo check (1 checker)
    deep/er/src/lib.rs:1:10 error: this file contains an unclosed delimiter (cargo check)
    ");
}

#[tokio::test]
async fn a_broken_manifest_is_told_as_cargo_tells_it() {
    let scene = Scene::new().file("Cargo.toml", "[package\n");
    let result = scene.call(no_args()).await;
    insta::assert_snapshot!(scene.told(&result), @"
    user_error: get_diagnostics(): The check failed: cargo check: exit code 101: error: unclosed table, expected `]`
     --> Cargo.toml:1:9
      |
    1 | [package
      |         ^
    → Mend what the checker complains about, such as the project's own file, and call get_diagnostics again. If it does not say enough, run it with bash.
    ");
    assert_eq!(result.fields["checkers"][0]["status"], "failed");
}

#[tokio::test]
async fn a_build_script_that_fails_is_not_taken_for_a_clean_crate() {
    let scene = sample("fn main() { let unused = 1; }\n").file(
        "build.rs",
        "fn main() { let also = 1; panic!(\"no luck\") }\n",
    );
    let result = scene.call(no_args()).await;
    let told = scene.found(&result);
    assert!(told.contains("failed: cargo check"), "{told}");
    assert!(told.contains("no luck"), "{told}");
    assert!(
        told.contains("build.rs:1:17 warning: unused variable"),
        "{told}"
    );
}
