use insta::assert_snapshot;
use serde_json::json;

use crate::scene::{Scene, strings};

fn project() -> Scene {
    Scene::new(&[
        ("src/main.rs", ""),
        ("src/lib.rs", ""),
        ("src/deep/er/mod.rs", ""),
        ("README.md", ""),
        (".env", ""),
        (".github/ci.yml", ""),
        (".git/config", ""),
        ("build/out.o", ""),
        (".gitignore", "build/\n*.log\n"),
        ("a.log", ""),
    ])
}

#[tokio::test]
async fn without_a_pattern_the_entries_of_a_folder_are_listed() {
    let scene = project();
    let fields = scene.fields("list_files", json!({})).await;
    assert_eq!(
        fields,
        json!({"files": ["README.md", "src/"], "count": 2, "total": 2})
    );
    let fields = scene
        .fields("list_files", json!({"directory": "src"}))
        .await;
    assert_eq!(
        strings(&fields, "files"),
        ["src/deep/", "src/lib.rs", "src/main.rs"]
    );
}

#[tokio::test]
async fn with_a_pattern_files_beneath_it_are_listed() {
    let scene = project();
    let files = async |args| strings(&scene.fields("list_files", args).await, "files");
    assert_eq!(
        files(json!({"pattern": "**/*.rs"})).await,
        ["src/deep/er/mod.rs", "src/lib.rs", "src/main.rs"]
    );
    assert_eq!(
        files(json!({"pattern": "src/*.rs"})).await,
        ["src/lib.rs", "src/main.rs"]
    );
    assert_eq!(
        files(json!({"directory": "src", "pattern": "{lib,main}.rs"})).await,
        ["src/lib.rs", "src/main.rs"]
    );
    assert_eq!(files(json!({"pattern": "README.md"})).await, ["README.md"]);
    assert_eq!(files(json!({"pattern": "src/"})).await.len(), 3);
}

#[tokio::test]
async fn a_pattern_that_matches_nothing_here_is_looked_for_beneath() {
    let scene = project();
    let list = async |args| {
        let fields = scene.fields("list_files", args).await;
        (strings(&fields, "files"), fields["note"].clone())
    };
    let (files, note) = list(json!({"pattern": "*.rs"})).await;
    assert_eq!(files, ["src/deep/er/mod.rs", "src/lib.rs", "src/main.rs"]);
    assert_snapshot!(note, @r#""Nothing directly in the folder matches \"*.rs\"; these lie deeper.""#);
    let (files, note) = list(json!({"pattern": "MAIN"})).await;
    assert_eq!(files, ["src/main.rs"]);
    assert_snapshot!(note, @r#""No file is called \"MAIN\" here; these are close to it.""#);
    // A folder stands for what is in it.
    let (files, _) = list(json!({"pattern": "deep"})).await;
    assert_eq!(files, ["src/deep/er/mod.rs"]);
    // What is there as it was asked for is all that is listed.
    let (files, note) = list(json!({"directory": "src", "pattern": "*.rs"})).await;
    assert_eq!(files, ["src/lib.rs", "src/main.rs"]);
    assert_eq!(note, json!(null));
    let (files, _) = list(json!({"directory": "src", "pattern": "README.md"})).await;
    assert!(files.is_empty(), "{files:?}");
}

#[tokio::test]
async fn hidden_files_are_listed_when_asked_for_and_git_never_is() {
    let scene = project();
    let fields = scene.fields("list_files", json!({"hidden": true})).await;
    assert_eq!(
        strings(&fields, "files"),
        [".env", ".github/", ".gitignore", "README.md", "src/"]
    );
    let fields = scene
        .fields("list_files", json!({"pattern": "**/*", "hidden": true}))
        .await;
    let files = strings(&fields, "files");
    assert!(
        !files.iter().any(|file| file.starts_with(".git/")),
        "{files:?}"
    );
    assert!(files.contains(&".github/ci.yml".to_owned()));
}

#[tokio::test]
async fn pages_cover_everything_exactly_once() {
    let names: Vec<String> = (0..237)
        .map(|n| format!("d{}/f{n:03}.txt", n % 7))
        .collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x")).collect();
    let scene = Scene::new(&files);
    let mut seen = Vec::new();
    loop {
        let args = json!({"pattern": "**/*.txt", "limit": 50, "offset": seen.len()});
        let fields = scene.fields("list_files", args).await;
        assert_eq!(fields["total"], 237);
        seen.extend(strings(&fields, "files"));
        match fields.get("next") {
            None => break,
            Some(next) => assert_eq!(
                next,
                &format!(
                    "list_files(pattern=\"**/*.txt\", limit=50, offset={})",
                    seen.len()
                )
            ),
        }
    }
    let mut all = names;
    all.sort();
    assert_eq!(seen, all);
}

#[tokio::test]
async fn an_empty_folder_has_nothing_and_says_so() {
    let scene = Scene::new(&[]);
    let fields = scene.fields("list_files", json!({})).await;
    assert_eq!(
        fields,
        json!({"files": [], "count": 0, "total": 0, "note": "The folder is empty."})
    );
}

#[tokio::test]
async fn what_ignore_rules_hide_is_counted_where_nothing_is_found() {
    let scene = project();
    let fields = scene
        .fields("list_files", json!({"pattern": "*.log"}))
        .await;
    assert_snapshot!(fields["note"], @r#""No file matches, neither in the folder nor beneath it. Not looked at: 2 left out by ignore rules, 1 hidden.""#);
}

#[tokio::test]
async fn unicode_and_spaces_in_names_are_kept() {
    let scene = Scene::new(&[("données/ein Übel.txt", ""), ("日本/語.txt", "")]);
    let fields = scene
        .fields("list_files", json!({"pattern": "**/*.txt"}))
        .await;
    assert_eq!(
        strings(&fields, "files"),
        ["données/ein Übel.txt", "日本/語.txt"]
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_name_that_is_not_utf8_is_shown_with_a_note() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    let scene = Scene::new(&[]);
    std::fs::write(
        scene.path("").join(OsStr::from_bytes(b"na\xEFve.txt")),
        "needle\n",
    )
    .unwrap();
    let fields = scene.fields("list_files", json!({})).await;
    assert_eq!(strings(&fields, "files"), ["na\u{FFFD}ve.txt"]);
    assert_snapshot!(fields["note"], @r#""1 name is not valid UTF-8: shown with �, not to be opened by that name.""#);
    let fields = scene.fields("grep", json!({"pattern": "needle"})).await;
    assert_eq!(strings(&fields, "matches"), ["na\u{FFFD}ve.txt:1:needle"]);
}

#[tokio::test]
async fn failures_say_what_to_do() {
    let scene = project();
    let failure = async |args| scene.failure("list_files", args).await;
    assert_snapshot!(failure(json!({"directory": "scr"})).await, @r#"
    user_error: list_files(directory="scr"): Folder not found: scr
    Did you mean src?
    "#);
    assert_snapshot!(failure(json!({"directory": "src/dep/er"})).await, @r#"
    user_error: list_files(directory="src/dep/er"): Folder not found: src/dep/er
    Did you mean src/deep/er?
    "#);
    assert_snapshot!(failure(json!({"directory": "nowhere at all"})).await, @r#"
    user_error: list_files(directory="nowhere at all"): Folder not found: nowhere at all
    Use list_files() to see the workspace. Paths are relative to it, or absolute.
    "#);
    assert_snapshot!(failure(json!({"directory": "README.md"})).await, @r#"
    user_error: list_files(directory="README.md"): Not a folder: README.md is a file
    To see what is in it, use read_file(path="README.md").
    "#);
    assert_snapshot!(failure(json!({"directory": "../x"})).await, @r#"
    security_error: list_files(directory="../x"): Path traversal not allowed
    Write the path without `..`, relative to the workspace or absolute.
    "#);
    assert_snapshot!(failure(json!({"directory": "/etc"})).await, @r#"
    security_error: list_files(directory="/etc"): Cannot use /etc: it leads outside the allowed folders (WORKSPACE)
    Use a path in WORKSPACE.
    "#);
    assert_snapshot!(failure(json!({"pattern": "../*.rs"})).await, @r#"
    security_error: list_files(pattern="../*.rs"): Path traversal not allowed
    Write the path without `..`, relative to the workspace or absolute.
    "#);
    assert_snapshot!(failure(json!({"pattern": "src/[a"})).await, @r#"
    validation_error: list_files(pattern="src/[a"): The pattern "src/[a" is not a glob: unclosed character class; missing ']'
    `*` stands for any part of a name, `**/` for any folders, `{a,b}` for alternatives. To mean such a character itself, write it in brackets: `[[]`.
    "#);
    assert_snapshot!(failure(json!({"pattern": ""})).await, @r#"
    validation_error: list_files(pattern=""): The pattern is empty
    Say which files, for example pattern="**/*.rs".
    "#);
    assert_snapshot!(failure(json!({"limit": 0})).await, @r#"
    validation_error: Invalid value for parameter 'limit' in list_files: the value is less than the minimum of 1
    Example: list_files(directory=".")
    "#);
}

#[tokio::test]
async fn a_person_sees_how_many_and_the_first() {
    let scene = project();
    let outcome = scene
        .outcome("list_files", json!({"pattern": "**/*"}))
        .await;
    assert_eq!(
        outcome.preview,
        ["4 entries", "README.md", "src/deep/er/mod.rs", "…"]
    );
    let outcome = scene
        .outcome("list_files", json!({"pattern": "README.md"}))
        .await;
    assert_eq!(outcome.preview, ["1 entry", "README.md"]);
}

#[tokio::test]
async fn rules_of_nested_folders_and_exceptions_hold() {
    let scene = Scene::new(&[
        (
            ".gitignore",
            "*.gen\n!important.gen\n/only_top\n.hidden_kept\n",
        ),
        ("a.gen", ""),
        ("important.gen", ""),
        ("only_top", ""),
        ("sub/only_top", ""),
        ("sub/.gitignore", "!b.gen\nsecret.txt\n"),
        ("sub/b.gen", ""),
        ("sub/secret.txt", ""),
        ("sub/deep/secret.txt", ""),
        ("sub/.ignore", "!secret.txt\n"),
        ("other/.git/HEAD", ""),
        ("other/c.gen", ""),
    ]);
    let all = async |directory: &str| {
        let args = json!({"directory": directory, "pattern": "**/*"});
        strings(&scene.fields("list_files", args).await, "files")
    };
    assert_eq!(
        all(".").await,
        [
            "important.gen",
            // A repository of its own has its own rules.
            "other/c.gen",
            "sub/b.gen",
            // `.ignore` has the last word.
            "sub/deep/secret.txt",
            "sub/only_top",
            "sub/secret.txt",
        ]
    );
    // The rules above the folder hold where a search begins beneath them.
    assert_eq!(all("sub/deep").await, ["sub/deep/secret.txt"]);
    scene.write("sub/deep/x.gen", "");
    assert_eq!(all("sub/deep").await, ["sub/deep/secret.txt"]);
}
