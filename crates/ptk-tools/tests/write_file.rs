//! `write_file` through the whole pipeline.

#![allow(
    clippy::unwrap_used,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod asked;
mod scene;

use asked::Asked;
use ptk_tools::{Conversation, ResultLimit};
use scene::{Scene, request};
use serde_json::{Value, json};

#[tokio::test]
async fn a_new_file_is_created_with_its_folders() {
    let scene = Scene::new();
    let args = json!({"path": "src/deep/a.rs", "content": "fn main() {}\n"});
    let outcome = scene.call("write_file", args).await;
    assert_eq!(
        json!(outcome.result.fields),
        json!({"path": "src/deep/a.rs", "bytes_written": 13, "lines": 1, "created": true})
    );
    assert_eq!(outcome.preview, ["src/deep/a.rs: new file, lines: 1"]);
    assert_eq!(scene.text("src/deep/a.rs"), "fn main() {}\n");
}

#[tokio::test]
async fn content_is_written_exactly() {
    let scene = Scene::new();
    for content in [
        "",
        "\n",
        "no end",
        "a\r\nb\n",
        "\u{feff}mark",
        "tab\there 🦀 \u{0}",
    ] {
        let path = format!("{}.txt", content.len());
        scene
            .ok("write_file", json!({"path": path, "content": content}))
            .await;
        assert_eq!(scene.text(&path), content);
    }
}

#[tokio::test]
async fn a_file_that_was_read_is_overwritten() {
    let scene = Scene::new();
    scene.write("a.txt", "old\n");
    scene.read("a.txt").await;
    let written = scene
        .ok("write_file", json!({"path": "a.txt", "content": "new\n"}))
        .await;
    assert_eq!(written["created"], false);
    assert_eq!(scene.text("a.txt"), "new\n");
    // A file that was written counts as read.
    scene
        .ok("write_file", json!({"path": "a.txt", "content": "newer\n"}))
        .await;
    scene
        .ok("read_file", json!({"path": "a.txt", "limit": 1}))
        .await;
    scene
        .ok(
            "write_file",
            json!({"path": "a.txt", "content": "newest\n"}),
        )
        .await;
    assert_eq!(scene.text("a.txt"), "newest\n");
}

#[tokio::test]
async fn an_empty_file_holds_nothing_to_lose() {
    let scene = Scene::new();
    scene.write("a.txt", "");
    scene
        .ok("write_file", json!({"path": "a.txt", "content": "x"}))
        .await;
    assert_eq!(scene.text("a.txt"), "x");
}

#[tokio::test]
async fn the_same_content_is_left_alone() {
    let scene = Scene::new();
    scene.write("a.txt", "same\n");
    let before = std::fs::metadata(scene.path("a.txt"))
        .unwrap()
        .modified()
        .unwrap();
    let outcome = scene
        .call("write_file", json!({"path": "a.txt", "content": "same\n"}))
        .await;
    assert_eq!(
        json!(outcome.result.fields),
        json!({"path": "a.txt", "bytes_written": 0, "lines": 1, "created": false, "unchanged": true})
    );
    assert_eq!(outcome.preview, ["a.txt: unchanged, lines: 1"]);
    let after = std::fs::metadata(scene.path("a.txt"))
        .unwrap()
        .modified()
        .unwrap();
    assert_eq!(before, after);
}

#[tokio::test]
async fn other_line_endings_and_encodings_are_told() {
    let scene = Scene::new();
    scene.write("a.txt", "a\r\nb\r\n");
    scene.read("a.txt").await;
    let written = scene
        .ok("write_file", json!({"path": "a.txt", "content": "a\nc\n"}))
        .await;
    assert_eq!(
        written["warning"],
        "The line endings were CRLF and are LF now."
    );
    scene.write("b.txt", b"gr\xfcn");
    scene.read("b.txt").await;
    let written = scene
        .ok("write_file", json!({"path": "b.txt", "content": "grün!"}))
        .await;
    assert_eq!(
        written["warning"],
        "The encoding was windows-1252 and is utf-8 now."
    );
}

#[cfg(unix)]
#[tokio::test]
async fn permissions_and_links_stay() {
    use std::os::unix::fs::PermissionsExt as _;

    let scene = Scene::new();
    scene.write("run.sh", "#!/bin/sh\n");
    scene.link("run.sh", "link.sh");
    std::fs::set_permissions(scene.path("run.sh"), std::fs::Permissions::from_mode(0o750)).unwrap();
    scene.read("link.sh").await;
    scene
        .ok(
            "write_file",
            json!({"path": "link.sh", "content": "#!/bin/sh\ntrue\n"}),
        )
        .await;
    let mode = std::fs::metadata(scene.path("run.sh"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o750);
    assert_eq!(scene.text("run.sh"), "#!/bin/sh\ntrue\n");
    assert!(
        std::fs::symlink_metadata(scene.path("link.sh"))
            .unwrap()
            .is_symlink()
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_of_several_names_becomes_one_of_its_own() {
    let scene = Scene::new();
    scene.write("a.txt", "one\n");
    for (name, args) in [
        ("write_file", json!({"path": "a.txt", "content": "two\n"})),
        (
            "edit",
            json!({"path": "a.txt", "old_string": "two", "new_string": "three"}),
        ),
    ] {
        let twin = format!("twin of {name}.txt");
        std::fs::hard_link(scene.path("a.txt"), scene.path(&twin)).unwrap();
        let before = scene.text("a.txt");
        scene.read("a.txt").await;
        let written = scene.ok(name, args).await;
        assert_eq!(
            written["notice"],
            "a.txt had 2 links; this one is now a file of its own, the others keep the old content"
        );
        assert_eq!(scene.text(&twin), before);
    }
    assert_eq!(scene.text("a.txt"), "three\n");
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_that_nobody_may_write_to_stays() {
    use std::os::unix::fs::PermissionsExt as _;

    let asked = Asked::default();
    let scene = Scene::with(asked.clone());
    scene.write("a.txt", "one\n");
    let mode = std::fs::Permissions::from_mode(0o444);
    std::fs::set_permissions(scene.path("a.txt"), mode).unwrap();
    scene.read("a.txt").await;
    for (name, args) in [
        ("write_file", json!({"path": "a.txt", "content": "two\n"})),
        (
            "edit",
            json!({"path": "a.txt", "old_string": "one", "new_string": "two"}),
        ),
    ] {
        let told = scene.refusal(name, args).await;
        assert!(told.starts_with("permission_error"), "{told}");
        assert!(
            told.contains("Cannot write a.txt: it is read-only"),
            "{told}"
        );
        assert!(told.contains("chmod u+w with bash"), "{told}");
    }
    assert_eq!(scene.text("a.txt"), "one\n");
    let mode = std::fs::metadata(scene.path("a.txt")).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o444);
    assert!(asked.summaries().is_empty());
    // The same content may be written.
    let same = json!({"path": "a.txt", "content": "one\n"});
    assert_eq!(scene.ok("write_file", same).await["unchanged"], true);
}

#[cfg(unix)]
#[tokio::test]
async fn a_folder_that_may_not_be_written_to_stays() {
    use std::os::unix::fs::PermissionsExt as _;

    let scene = Scene::new();
    std::fs::create_dir(scene.path("locked")).unwrap();
    scene.write("locked/a.txt", "one\n");
    std::fs::set_permissions(scene.path("locked"), std::fs::Permissions::from_mode(0o555)).unwrap();
    if std::fs::write(scene.path("locked/probe"), "").is_ok() {
        // The superuser may do anything.
        return;
    }
    scene.read("locked/a.txt").await;
    for path in ["locked/a.txt", "locked/b.txt"] {
        let told = scene
            .refusal("write_file", json!({"path": path, "content": "two\n"}))
            .await;
        assert!(told.starts_with("permission_error"), "{told}");
    }
    assert_eq!(scene.text("locked/a.txt"), "one\n");
}

#[tokio::test]
async fn a_result_that_was_cut_is_no_look_at_the_file() {
    let scene = Scene::new();
    let content = "a line\n".repeat(50);
    scene.write("a.txt", &content);
    let limits = ptk_tools::Limits {
        result: 300,
        ..ptk_tools::Limits::default()
    };
    let mut registry = ptk_tools::Registry::new();
    registry
        .register(ptk_tools::Typed::new(ptk_tools::tools::ReadFile))
        .unwrap();
    registry
        .register(ptk_tools::Typed::new(ptk_tools::tools::WriteFile))
        .unwrap();
    let tools =
        ptk_tools::ToolManager::builder(ptk_sandbox::Workspace::open(scene.root()).unwrap())
            .tools(registry)
            .approver(ptk_tools::AllowAll)
            .limits(limits)
            .build();
    let scene = scene.served_by(tools);
    let read = scene.read("a.txt").await;
    assert_eq!(read["truncated"]["content"]["bytes"], content.len());
    let told = scene
        .refusal("write_file", json!({"path": "a.txt", "content": "x"}))
        .await;
    assert!(
        told.contains("None of the 50 lines of a.txt were shown"),
        "{told}"
    );
}

/// Four bytes a token.
fn tokens(most: u64) -> ResultLimit {
    ResultLimit::new(most, |text| text.len().div_ceil(4) as u64)
}

#[tokio::test]
async fn for_a_small_window_a_file_is_read_in_parts_before_it_is_written() {
    for tool in ["read_file", "read"] {
        let scene = Scene::new();
        let lines: Vec<String> = (1..=900)
            .map(|line| format!("\"line\" {line} of the file\n"))
            .collect();
        scene.write("a.txt", lines.concat());
        let write = json!({"path": "a.txt", "content": "x"});
        let (mut offset, mut calls) = (1, 0);
        while offset <= lines.len() {
            if calls > 0 {
                let told = scene.refusal("write_file", write.clone()).await;
                assert!(told.contains("Only lines 1-"), "{told}");
            }
            calls += 1;
            let args = match tool {
                "read" => json!({"file_paths": ["a.txt"], "offset": offset}),
                _ => json!({"path": "a.txt", "offset": offset}),
            };
            let call = request(tool, &args).with_limit(tokens(1_000));
            let result = scene.tools.execute(call).await.result;
            assert!(json!(result.fields).to_string().len() <= 4_000);
            assert!(
                !result.fields.get("truncated").is_some_and(Value::is_object),
                "it was cut once more: {result:?}"
            );
            let shown = result.fields["content"].as_str().unwrap();
            let last = lines
                .iter()
                .rposition(|line| shown.contains(line.trim_end()));
            let last = last.unwrap() + 1;
            assert!(last >= offset, "{tool} at {offset} shows no more lines");
            offset = last + 1;
            let more = json!(result.fields).to_string();
            assert_eq!(
                more.contains(&format!("offset={offset}")),
                last < lines.len(),
                "{more}"
            );
        }
        assert!(calls > 5, "{tool} took {calls} calls");
        assert!(scene.call("write_file", write).await.result.success);
    }
}

#[tokio::test]
async fn what_one_conversation_has_read_another_has_not() {
    let scene = Scene::new();
    scene.write("a.txt", "one\n");
    let (ann, bob) = (Conversation::new(), Conversation::new());
    let run = |tool, args, of: &Conversation| {
        let call = request(tool, &args).in_conversation(of);
        scene.tools.execute(call)
    };
    let read = json!({"path": "a.txt"});
    let write = json!({"path": "a.txt", "content": "two\n"});
    assert!(run("read_file", read.clone(), &ann).await.result.success);
    let refused = run("write_file", write.clone(), &bob).await.result;
    assert!(refused.error.contains("was not read"), "{}", refused.error);
    let again = run("read_file", read, &bob).await.result;
    assert!(again.success, "a repeat of nothing: {}", again.error);
    assert!(run("write_file", write.clone(), &ann).await.result.success);
    let write = json!({"path": "a.txt", "content": "three\n"});
    let refused = run("write_file", write, &bob).await.result;
    assert!(refused.error.contains("has changed"), "{}", refused.error);
}

#[tokio::test]
async fn whoever_is_asked_sees_what_changes() {
    let asked = Asked::default();
    let scene = Scene::with(asked.clone());
    scene.write("a.txt", "one\ntwo\nthree\n");
    scene.read("a.txt").await;
    scene
        .ok(
            "write_file",
            json!({"path": "a.txt", "content": "one\n2\nthree\n"}),
        )
        .await;
    scene
        .ok(
            "write_file",
            json!({"path": "b.txt", "content": "new\nfile\n"}),
        )
        .await;
    scene
        .ok(
            "write_file",
            json!({"path": "b.txt", "content": "new\nfile\n"}),
        )
        .await;
    scene
        .ok(
            "write_file",
            json!({"path": "long.txt", "content": "line\n".repeat(6000)}),
        )
        .await;
    let summaries = asked.summaries();
    // The write that changed nothing needed no approval.
    assert_eq!(summaries.len(), 3);
    assert_eq!(summaries[2].lines().count(), 5002);
    insta::assert_snapshot!(summaries[..2].join("\n\n"));
}

#[tokio::test]
async fn nobody_is_asked_for_what_would_be_refused_anyway() {
    let asked = Asked::default();
    let scene = Scene::with(asked.clone());
    scene.write("a.txt", "one\n");
    scene
        .refusal("write_file", json!({"path": "a.txt", "content": "two\n"}))
        .await;
    assert_eq!(asked.summaries(), Vec::<String>::new());
}

#[tokio::test]
async fn of_two_new_files_of_one_name_one_is_refused() {
    let scene = Scene::new();
    let write = |content| scene.call("write_file", json!({"path": "a.txt", "content": content}));
    let (first, second) = tokio::join!(write("first"), write("second"));
    let done = [&first, &second].map(|outcome| outcome.result.success);
    assert_ne!(done[0], done[1], "{first:?} {second:?}");
    let kept = if done[0] { "first" } else { "second" };
    assert_eq!(scene.text("a.txt"), kept);
}

#[cfg(unix)]
#[tokio::test]
async fn failures_say_what_to_do() {
    let scene = Scene::new();
    scene.write("a.txt", "1\n2\n");
    scene.write("part.txt", "1\n2\n3\n4\n");
    scene.write("changed.txt", "1\n");
    scene.write("image.png", b"\x89PNG\r\n\x1a\n\0");
    std::fs::create_dir(scene.path("folder")).unwrap();
    scene.link("../outside/secret.txt", "link.txt");
    scene.link("../outside/new.txt", "dangling.txt");
    scene
        .ok(
            "read_file",
            json!({"path": "part.txt", "offset": 2, "limit": 2}),
        )
        .await;
    scene.read("changed.txt").await;
    scene.read("image.png").await;
    scene.write("changed.txt", "2\n");
    let mut told = Vec::new();
    for path in [
        "a.txt",
        "part.txt",
        "changed.txt",
        "image.png",
        "folder",
        "link.txt",
        "dangling.txt",
        "../x.txt",
        "a.txt/b.txt",
        "new/",
        "output:1",
    ] {
        let args = json!({"path": path, "content": "new\n"});
        told.push(scene.refusal("write_file", args).await);
    }
    told.push(scene.refusal("write_file", json!({"path": "x"})).await);
    assert_eq!(scene.text("a.txt"), "1\n2\n");
    assert!(!scene.path("../outside/new.txt").exists());
    insta::assert_snapshot!(told.join("\n\n"));
}
