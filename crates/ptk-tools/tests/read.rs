//! `read` through the whole pipeline.

#![allow(
    clippy::unwrap_used,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod scene;

use ptk_protocol::snippet;
use ptk_sandbox::Workspace;
use ptk_tools::tools::{Grep, Read, ReadFile};
use ptk_tools::{Registry, SnippetFormat, ToolManager, Typed};
use scene::Scene;
use serde_json::{Value, json};

fn text(value: &Value) -> &str {
    value["content"].as_str().unwrap()
}

#[tokio::test]
async fn files_stand_below_their_headers_with_numbers() {
    let scene = Scene::new();
    scene.write("a.txt", "one\n\n\tthree\n");
    scene.write("b.txt", "x");
    scene.write("empty.txt", "");
    scene.write("image.png", b"\x89PNG\r\n\x1a\n\0");
    scene.write("old.txt", b"gr\xfcn\n");
    let args = json!({"file_paths": ["a.txt", "missing.txt", "b.txt", "empty.txt", "image.png", "old.txt", "../x"]});
    let read = scene.ok("read", args).await;
    assert_eq!(
        (&read["files_read"], &read["files_failed"]),
        (&json!(5), &json!(2))
    );
    insta::assert_snapshot!(scene.neutral(text(&read)));
}

#[tokio::test]
async fn where_all_code_is_in_snippets_files_are_too() {
    let scene = Scene::new();
    scene.write("a.txt", "one\n</code>\nthree\n");
    scene.write("empty.txt", "");
    scene.write("big.txt", "a line of the big file\n".repeat(5_000));
    let mut registry = Registry::new();
    registry.register(Typed::new(ReadFile)).unwrap();
    registry.register(Typed::new(Read)).unwrap();
    registry.register(Typed::new(Grep)).unwrap();
    let tools = ToolManager::builder(Workspace::open(scene.root()).unwrap())
        .tools(registry)
        .snippet_format(SnippetFormat::Always)
        .build();
    let scene = scene.served_by(tools);
    let args = json!({"file_paths": ["a.txt", "empty.txt", "none.txt"], "limit": 2});
    let read = scene.ok("read", args).await;
    insta::assert_snapshot!(scene.neutral(text(&read)), @r#"
    <code="/…/space/a.txt" #1:2>
    one
    </code>
    </code>
    [… 1 more line; the rest: read(file_paths=["a.txt"], offset=3) …]

    === /…/space/empty.txt ===
    [Empty file]

    === /…/space/none.txt ===
    Error: File not found: none.txt
    List the folder above it to see what there is.
    "#);
    let read = scene.read("big.txt").await;
    let found = snippet::read(text(&read));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].problems, []);
    assert_eq!(json!(found[0].snippet.end()), read["end_line"]);
    assert_eq!(scene.read("empty.txt").await["content"], "");
    let args = json!({"pattern": "one|three", "glob": "a.txt"});
    let found = scene.ok("grep", args.clone()).await;
    insta::assert_snapshot!(scene.neutral(&strings(&found["matches"]).join("\n")), @r#"
    <code="/…/space/a.txt" #1:1>
    one
    </code>
    <code="/…/space/a.txt" #3:3>
    three
    </code>
    "#);
    let mut args = args;
    args["context"] = json!(1);
    let found = scene.ok("grep", args).await;
    let [text] = &strings(&found["matches"])[..] else {
        panic!("{found:?}");
    };
    let read = snippet::read(text);
    assert_eq!(read[0].snippet.code, "one\n</code>\nthree");
}

fn strings(list: &Value) -> Vec<String> {
    let items = list.as_array().unwrap().iter();
    items
        .map(|item| item.as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn offset_and_limit_hold_for_each_file() {
    let scene = Scene::new();
    scene.write("a.txt", "1\n2\n3\n");
    scene.write("b.txt", "1\n");
    let args = json!({"file_paths": ["a.txt", "b.txt"], "offset": 2, "limit": 1});
    let read = scene.ok("read", args).await;
    let shown = scene.neutral(text(&read));
    assert!(
        shown.starts_with(
            "=== /…/space/a.txt ===\n     2\t2\n[… 1 more line; the rest: \
             read(file_paths=[\"a.txt\"], offset=3) …]\n\n=== "
        ),
        "{shown}"
    );
    assert!(
        shown.contains("offset=2 is past the end: b.txt has 1 line"),
        "{shown}"
    );
    let all = scene
        .ok("read", json!({"file_paths": ["a.txt"], "limit": 0}))
        .await;
    assert_eq!(
        scene.neutral(text(&all)),
        "=== /…/space/a.txt ===\n     1\t1\n     2\t2\n     3\t3"
    );
}

#[tokio::test]
async fn long_files_share_what_there_is() {
    let scene = Scene::new();
    scene.write("small.txt", "small\n".repeat(10));
    scene.write("big.txt", "a line of the big file\n".repeat(5_000));
    scene.write("wide.txt", "y".repeat(200_000));
    let args = json!({"file_paths": ["big.txt", "small.txt", "wide.txt"]});
    let read = scene.ok("read", args).await;
    assert_eq!(read["truncated"], true);
    let shown = text(&read);
    assert!(shown.len() < 48 * 1024, "{}", shown.len());
    assert_eq!(shown.matches("\tsmall").count(), 10);
    let notices: Vec<&str> = shown
        .lines()
        .filter(|line| line.starts_with("[…"))
        .collect();
    insta::assert_snapshot!(notices.join("\n"));
}

#[tokio::test]
async fn what_a_listing_showed_whole_may_be_overwritten() {
    let scene = Scene::new();
    scene.write("a.txt", "one\ntwo\n");
    scene.ok("read", json!({"file_paths": ["a.txt"]})).await;
    scene
        .ok("write_file", json!({"path": "a.txt", "content": "three\n"}))
        .await;
    assert_eq!(scene.text("a.txt"), "three\n");
}

#[tokio::test]
async fn failures_say_what_to_do() {
    let scene = Scene::new();
    scene.write("empty.txt", "");
    let many: Vec<String> = (0..101).map(|at| format!("{at}.txt")).collect();
    let calls = [
        json!({"file_paths": []}),
        json!({"file_paths": many}),
        json!({}),
        json!({"file_paths": ["missing.txt"]}),
        json!({"file_paths": ["missing.txt", "also missing.txt"]}),
        json!({"file_paths": ["missing.txt", "../x", "empty.txt"], "offset": 2}),
    ];
    let mut told = Vec::new();
    for args in calls {
        told.push(scene.refusal("read", args).await);
    }
    insta::assert_snapshot!(told.join("\n\n"));
}
