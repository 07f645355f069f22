//! `edit` through the whole pipeline. Which text is found and what is refused
//! is covered by the cases in `tests/edits`.

#![allow(
    clippy::unwrap_used,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod asked;
mod scene;

use asked::Asked;
use scene::Scene;
use serde_json::{Value, json};

fn edits(path: &str, pairs: &[(&str, &str)]) -> Value {
    let edits: Vec<Value> = pairs
        .iter()
        .map(|(old, new)| json!({"old_string": old, "new_string": new}))
        .collect();
    json!({"path": path, "edits": edits})
}

#[tokio::test]
async fn the_result_says_what_changed_and_where() {
    let scene = Scene::new();
    scene.write("a.txt", "one\ntwo\n    three\n    four\nfive\n");
    let args = edits(
        "a.txt",
        &[("five", "5"), ("three\nfour", "3\n4"), ("one\n", "0\n1\n")],
    );
    let outcome = scene.call("edit", args).await;
    assert_eq!(
        json!(outcome.result.fields),
        json!({
            "path": "a.txt",
            "replacements": 3,
            "edits": [
                {"lines": [6], "matched": "exact"},
                {"lines": [4], "matched": "indentation"},
                {"lines": [1], "matched": "exact"},
            ],
            "diff": "@@ -1,5 +1,6 @@\n-one\n+0\n+1\n two\n-    three\n-    four\n-five\n+    3\n+    4\n+5\n",
        })
    );
    assert_eq!(outcome.preview, ["-one", "+0", "+1", "…"]);
    assert_eq!(scene.text("a.txt"), "0\n1\ntwo\n    3\n    4\n5\n");
}

#[tokio::test]
async fn a_single_edit_needs_no_list() {
    let scene = Scene::new();
    scene.write("a.txt", "a a\n");
    let args = json!({"path": "a.txt", "old_string": "a", "new_string": "b", "replace_all": true});
    let done = scene.ok("edit", args).await;
    assert_eq!(done["replacements"], 2);
    assert_eq!(scene.text("a.txt"), "b b\n");
    let args = json!({"file_path": "a.txt", "old_string": "b b", "new_string": "c d",
        "edits": [{"old_string": "\n", "new_string": "!\n"}]});
    let done = scene.ok("edit", args).await;
    assert_eq!(done["replacements"], 2);
    assert_eq!(scene.text("a.txt"), "c d!\n");
}

#[tokio::test]
async fn line_numbers_that_were_removed_are_told() {
    let scene = Scene::new();
    scene.write("a.txt", "one\n");
    let done = scene
        .ok("edit", edits("a.txt", &[("     1\tone", "     1\ttwo")]))
        .await;
    assert_eq!(
        done["edits"][0]["note"],
        "the line numbers of a listing were removed from it"
    );
    assert_eq!(scene.text("a.txt"), "two\n");
}

#[tokio::test]
async fn a_long_diff_is_cut_and_says_so() {
    let scene = Scene::new();
    scene.write("a.txt", "x = 1\n".repeat(2_000));
    let args = json!({"path": "a.txt", "old_string": "1", "new_string": "2", "replace_all": true});
    let done = scene.ok("edit", args).await;
    let diff = done["diff"].as_str().unwrap();
    assert!(diff.ends_with("more lines of the diff]\n"), "{diff}");
    assert_eq!(diff.lines().count(), 201);
    assert_eq!(done["edits"][0]["lines"].as_array().unwrap().len(), 20);
}

#[tokio::test]
async fn whoever_is_asked_sees_the_diff() {
    let asked = Asked::default();
    let scene = Scene::with(asked.clone());
    scene.write("a.txt", "one\ntwo\n");
    scene.ok("edit", edits("a.txt", &[("two", "2")])).await;
    scene
        .refusal("edit", edits("a.txt", &[("three", "3")]))
        .await;
    assert_eq!(
        asked.summaries(),
        ["a.txt: @@ -1,2 +1,2 @@\n one\n-two\n+2\n"]
    );
}

#[tokio::test]
async fn an_edit_keeps_what_is_known_of_a_file() {
    let scene = Scene::new();
    scene.write("known.txt", "one\ntwo\n");
    scene.read("known.txt").await;
    scene.ok("edit", edits("known.txt", &[("two", "2")])).await;
    scene
        .ok(
            "write_file",
            json!({"path": "known.txt", "content": "new\n"}),
        )
        .await;
    // An edit does not show the rest of the file.
    scene.write("unknown.txt", "one\ntwo\nthree\n");
    scene
        .ok("edit", edits("unknown.txt", &[("two", "2")]))
        .await;
    let refused = scene
        .refusal(
            "write_file",
            json!({"path": "unknown.txt", "content": "new\n"}),
        )
        .await;
    assert!(
        refused.contains("Only lines 2 of 3 of unknown.txt were read"),
        "{refused}"
    );
    // Nor does it make the file look changed by another program.
    scene
        .ok(
            "edit",
            edits("unknown.txt", &[("one\n2\n", "  one\n  2\n")]),
        )
        .await;
    scene
        .ok("edit", edits("unknown.txt", &[("one\n2", "1\n2")]))
        .await;
    assert_eq!(scene.text("unknown.txt"), "  1\n  2\nthree\n");
}

#[cfg(unix)]
#[tokio::test]
async fn permissions_and_links_stay() {
    use std::os::unix::fs::PermissionsExt as _;

    let scene = Scene::new();
    scene.write("run.sh", "true\n");
    scene.link("run.sh", "link.sh");
    std::fs::set_permissions(scene.path("run.sh"), std::fs::Permissions::from_mode(0o705)).unwrap();
    scene
        .ok("edit", edits("link.sh", &[("true", "false")]))
        .await;
    let mode = std::fs::metadata(scene.path("run.sh"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o705);
    assert_eq!(scene.text("run.sh"), "false\n");
    assert!(
        std::fs::symlink_metadata(scene.path("link.sh"))
            .unwrap()
            .is_symlink()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_edits_at_once_none_is_lost_silently() {
    let scene = Scene::new();
    let before: Vec<String> = (0..20).map(|at| format!("line {at};\n")).collect();
    scene.write("a.txt", before.concat());
    let calls = (0..20).map(|at| {
        let (old, new) = (format!("line {at};"), format!("done {at};"));
        let args = edits("a.txt", &[(&old, &new)]);
        scene.call("edit", args)
    });
    let outcomes = futures_util::future::join_all(calls).await;
    let after = scene.text("a.txt");
    for (at, outcome) in outcomes.iter().enumerate() {
        let is_there = after.contains(&format!("done {at};\n"));
        assert_eq!(
            outcome.result.success, is_there,
            "{at}: {}",
            outcome.result.error
        );
    }
    assert!(outcomes.iter().all(|outcome| outcome.result.success));
}

#[tokio::test]
async fn a_file_that_cannot_be_written_stays() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("space")).unwrap();
    std::fs::create_dir(folder.path().join("library")).unwrap();
    std::fs::write(folder.path().join("library/a.txt"), "one\n").unwrap();
    let workspace = ptk_sandbox::Workspace::open(folder.path().join("space"))
        .unwrap()
        .with_root(folder.path().join("library"), ptk_sandbox::Access::ReadOnly)
        .unwrap();
    let mut registry = ptk_tools::Registry::new();
    registry
        .register(ptk_tools::Typed::new(ptk_tools::tools::Edit))
        .unwrap();
    let tools = ptk_tools::ToolManager::builder(workspace)
        .tools(registry)
        .approver(ptk_tools::AllowAll)
        .build();
    let path = folder.path().join("library/a.txt");
    let args = edits(path.to_str().unwrap(), &[("one", "two")]).to_string();
    let args = ptk_protocol::Arguments::from_json(&args).unwrap();
    let call = ptk_protocol::ToolCall::new("edit", args);
    let outcome = tools.execute(ptk_tools::CallRequest::new(call)).await;
    assert!(
        outcome.result.error.contains("is read-only here"),
        "{}",
        outcome.result.error
    );
    assert_eq!(json!(outcome.result.error_type), "permission_error");
    assert_eq!(std::fs::read_to_string(path).unwrap(), "one\n");
}

#[tokio::test]
async fn bytes_that_are_no_text_stay_as_they_are() {
    let scene = Scene::new();
    scene.write("a.txt", b"\xc3\xbcber gr\xc3\xbcn \xff, sch\xc3\xb6n \xfe.");
    let args = edits(
        "a.txt",
        &[
            ("gr\u{fc}n", "bl\u{e4}ulich"),
            ("n \u{10fffe}.", "n! \u{10fffe}"),
        ],
    );
    scene.ok("edit", args).await;
    assert_eq!(
        scene.bytes("a.txt"),
        b"\xc3\xbcber bl\xc3\xa4ulich \xff, sch\xc3\xb6n! \xfe"
    );
    let late = format!("{}\0 end\n", "x".repeat(9_000));
    scene.write("late.txt", &late);
    scene
        .ok("edit", edits("late.txt", &[("\0 end", "\0 END")]))
        .await;
    assert_eq!(scene.text("late.txt"), late.replace("end", "END"));
}

#[cfg(unix)]
#[tokio::test]
async fn failures_say_what_to_do() {
    let scene = Scene::new();
    scene.write("a.txt", "fn one() {\n    1\n}\nfn two() {\n    2\n}\n");
    scene.write("image.png", b"\x89PNG\r\n\x1a\n\0");
    scene.write("broken.txt", b"\xff\xfea\0\x3d\xd8b\0");
    scene.write("bytes.txt", b"gr\xc3\xbcn, sch\xc3\xb6n \xff");
    let both = b"gr\xc3\xbcn, sch\xc3\xb6n \xff \xf4\x8f\xbf\xbf";
    scene.write("both.txt", both);
    scene.write("huge.txt", "x".repeat(11 * 1024 * 1024));
    std::fs::create_dir(scene.path("folder")).unwrap();
    scene.link("../outside/secret.txt", "link.txt");
    let made = std::process::Command::new("mkfifo")
        .arg(scene.path("pipe"))
        .status();
    assert!(made.unwrap().success());
    let one = [("a", "b")];
    let calls = [
        edits("missing.txt", &one),
        edits("folder", &one),
        edits("pipe", &one),
        edits("link.txt", &one),
        edits("../x", &one),
        edits("image.png", &one),
        edits("broken.txt", &one),
        edits("both.txt", &[("gr\u{fc}n", "bl\u{e4}ulich")]),
        edits("bytes.txt", &[("gr\u{fc}n", "\u{10ffff}")]),
        edits("a.txt", &[("one", "o\0e")]),
        edits("huge.txt", &one),
        edits("output:1", &one),
        edits("a.txt", &[]),
        edits("a.txt", &[("x", "y"); 501]),
        json!({}),
        json!({"path": "a.txt"}),
        json!({"path": "a.txt", "edits": [{"old_string": "a"}]}),
        json!({"path": "a.txt", "old_string": "a"}),
        edits("a.txt", &[("", "b")]),
        edits("a.txt", &[("a", "a")]),
        edits("a.txt", &[("fn two() {\n    3\n}", "x")]),
        edits("a.txt", &[("nothing like it at all", "x")]),
        edits("a.txt", &[("}", "x")]),
        edits("a.txt", &[("fn 1() {", "fn one() {")]),
        edits("a.txt", &[("one", "x"), ("fn one", "y")]),
        edits("a.txt", &[("three", "x"), ("}", "y")]),
    ];
    let mut told = Vec::new();
    for args in calls {
        told.push(scene.refusal("edit", args).await);
    }
    assert_eq!(
        scene.text("a.txt"),
        "fn one() {\n    1\n}\nfn two() {\n    2\n}\n"
    );
    assert_eq!(scene.bytes("both.txt"), both);
    insta::assert_snapshot!(told.join("\n\n"));
}
