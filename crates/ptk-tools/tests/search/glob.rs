use std::fs::File;
use std::time::{Duration, SystemTime};

use insta::assert_snapshot;
use serde_json::json;

use crate::scene::{Scene, strings};

fn aged(scene: &Scene, path: &str, age: u64) {
    scene.write(path, "x");
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(2_000_000_000 - age);
    File::options()
        .write(true)
        .open(scene.path(path))
        .unwrap()
        .set_modified(time)
        .unwrap();
}

#[tokio::test]
async fn the_newest_come_first_and_ties_go_by_name() {
    let scene = Scene::new(&[]);
    for (path, age) in [
        ("old.rs", 9),
        ("b.rs", 5),
        ("a.rs", 5),
        ("sub/new.rs", 1),
        ("c.txt", 0),
    ] {
        aged(&scene, path, age);
    }
    let fields = scene.fields("glob", json!({"pattern": "**/*.rs"})).await;
    assert_eq!(
        strings(&fields, "files"),
        ["sub/new.rs", "a.rs", "b.rs", "old.rs"]
    );
    let fields = scene
        .fields(
            "glob",
            json!({"pattern": "**/*.rs", "limit": 2, "offset": 1}),
        )
        .await;
    assert_eq!(
        fields,
        json!({
            "files": ["a.rs", "b.rs"], "count": 2, "total": 4,
            "next": "glob(pattern=\"**/*.rs\", limit=2, offset=3)",
        })
    );
}

#[tokio::test]
async fn patterns_mean_what_they_mean_elsewhere() {
    let scene = Scene::new(&[]);
    for path in [
        "a1.rs",
        "ab.rs",
        "x/a1.ts",
        "x/y/a1.tsx",
        ".github/w.yml",
        "[odd].txt",
    ] {
        aged(&scene, path, 0);
    }
    let files = async |pattern: &str| {
        strings(
            &scene.fields("glob", json!({"pattern": pattern})).await,
            "files",
        )
    };
    assert_eq!(files("a?.rs").await, ["a1.rs", "ab.rs"]);
    assert_eq!(files("a[0-9].rs").await, ["a1.rs"]);
    assert_eq!(files("a[!0-9].rs").await, ["ab.rs"]);
    assert_eq!(files("**/*.{ts,tsx}").await, ["x/a1.ts", "x/y/a1.tsx"]);
    assert_eq!(files("x/**").await, ["x/a1.ts", "x/y/a1.tsx"]);
    assert_eq!(files("*/*.ts").await, ["x/a1.ts"]);
    assert_eq!(files(".github/*.yml").await, [".github/w.yml"]);
    assert_eq!(files("**/.github/*").await, [".github/w.yml"]);
    assert_eq!(files("[[]odd].txt").await, ["[odd].txt"]);
    assert_eq!(files("**/*").await.len(), 5);
    let absolute = scene
        .path("x/*.ts")
        .canonicalize()
        .unwrap_or(scene.path("x/*.ts"));
    assert_eq!(files(absolute.to_str().unwrap()).await, ["x/a1.ts"]);
}

#[tokio::test]
async fn nothing_found_says_why_it_may_be() {
    let scene = Scene::new(&[("src/a.rs", "")]);
    let note = async |args| scene.fields("glob", args).await["note"].clone();
    assert_snapshot!(note(json!({"pattern": "*.rs"})).await, @r#""Nothing directly in the folder matches \"*.rs\"; these lie deeper.""#);
    assert_snapshot!(note(json!({"pattern": "scr/**/*.rs"})).await, @r#""No file matches. Folder not found: scr. Did you mean src?""#);
    assert_snapshot!(note(json!({"pattern": "**/*.rs", "offset": 7})).await, @r#""The offset lies behind the end: there are 1 in all.""#);
}

#[tokio::test]
async fn failures_say_what_to_do() {
    let scene = Scene::new(&[("src/a.rs", "")]);
    let failure = async |args| scene.failure("glob", args).await;
    assert_snapshot!(failure(json!({"pattern": "../**"})).await, @r#"
    security_error: glob(pattern="../**"): Path traversal not allowed
    Write the path without `..`, relative to the workspace or absolute.
    "#);
    assert_snapshot!(failure(json!({"pattern": "src/*/../../../x"})).await, @r#"
    security_error: glob(pattern="src/*/../../../x"): Path traversal not allowed
    Write the path without `..`, relative to the workspace or absolute.
    "#);
    assert_snapshot!(failure(json!({"pattern": "/etc/*"})).await, @r#"
    security_error: glob(pattern="/etc/*"): Cannot use /etc: it leads outside the allowed folders (WORKSPACE)
    Use a path in WORKSPACE.
    "#);
    assert_snapshot!(failure(json!({"pattern": "*", "path": "srcs"})).await, @r#"
    user_error: glob(pattern="*", path="srcs"): Folder not found: srcs
    Did you mean src?
    "#);
    assert_snapshot!(failure(json!({"pattern": "*", "path": "src/a.rs"})).await, @r#"
    user_error: glob(pattern="*", path="src/a.rs"): Not a folder: src/a.rs is a file
    To see what is in it, use read_file(path="src/a.rs").
    "#);
    assert_snapshot!(failure(json!({"pattern": "{a,b"})).await, @r#"
    validation_error: glob(pattern="{a,b"): The pattern "{a,b" is not a glob: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)
    `*` stands for any part of a name, `**/` for any folders, `{a,b}` for alternatives. To mean such a character itself, write it in brackets: `[[]`.
    "#);
    assert_snapshot!(failure(json!({"pattern": "*", "limit": 1001})).await, @r#"
    validation_error: Invalid value for parameter 'limit' in glob: the value is greater than the maximum of 1000
    Example: glob(pattern="**/*.rs")
    "#);
    assert_snapshot!(failure(json!({})).await, @r#"
    validation_error: Missing required parameter 'pattern' for glob
    Example: glob(pattern="**/*.rs")
    "#);
}
