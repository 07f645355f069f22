//! `read_file` through the whole pipeline.

#![allow(
    clippy::unwrap_used,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod scene;

use scene::Scene;
use serde_json::{Value, json};

fn text(value: &Value) -> &str {
    value["content"].as_str().unwrap()
}

#[tokio::test]
async fn a_file_is_its_content_and_its_lines() {
    let scene = Scene::new();
    scene.write("a.txt", "one\ntwo\n");
    let read = scene.read("a.txt").await;
    assert_eq!(read, json!({"content": "one\ntwo\n", "lines": 2}));
    scene.write("b.txt", "one\r\ntwo");
    let read = scene.read("b.txt").await;
    assert_eq!(read, json!({"content": "one\r\ntwo", "lines": 2}));
    let absolute = scene.path("b.txt");
    let again = scene.ok("read_file", json!({"path": absolute})).await;
    assert_eq!(again, read);
}

#[tokio::test]
async fn a_person_sees_the_first_lines() {
    let scene = Scene::new();
    scene.write("a.txt", "1\n2\n3\n4\n5\n");
    let outcome = scene.call("read_file", json!({"path": "a.txt"})).await;
    assert_eq!(outcome.preview, ["1", "2", "3", "…"]);
}

#[tokio::test]
async fn the_tool_tells_what_it_takes() {
    let scene = Scene::new();
    let registry = scene.tools.registry();
    let tool = registry.get("read_file").unwrap();
    assert!(tool.effects().is_read_only());
    assert_eq!(tool.spec().parameters["required"], json!(["path"]));
    assert_eq!(registry.lint(), []);
}

#[tokio::test]
async fn a_part_is_read_by_offset_and_limit() {
    let scene = Scene::new();
    scene.write("a.txt", "1\n2\n3\n4\n5\n");
    let part = scene
        .ok(
            "read_file",
            json!({"path": "a.txt", "offset": 2, "limit": 3}),
        )
        .await;
    assert_eq!(
        part,
        json!({
            "content": "2\n3\n4\n", "lines": 5,
            "start_line": 2, "end_line": 4, "total_lines": 5, "tokens": 2,
            "notice": "1 line follows. The next: read_file(path=\"a.txt\", offset=5, limit=3)",
        })
    );
    let rest = scene
        .ok("read_file", json!({"path": "a.txt", "offset": 4}))
        .await;
    assert_eq!(text(&rest), "4\n5\n");
    assert_eq!(rest["notice"], json!(null));
}

#[tokio::test]
async fn an_empty_file_is_said_to_be_empty() {
    let scene = Scene::new();
    scene.write("a.txt", "");
    let read = scene.read("a.txt").await;
    assert_eq!(
        read,
        json!({"content": "", "lines": 0, "notice": "The file is empty."})
    );
}

#[tokio::test]
async fn a_long_file_is_read_piece_by_piece_without_a_gap() {
    let scene = Scene::new();
    let lines: Vec<String> = (1..=9_000).map(|line| format!("line {line}\n")).collect();
    scene.write("a.txt", lines.concat());
    let mut offset = 1;
    let mut read = String::new();
    loop {
        let part = scene
            .ok("read_file", json!({"path": "a.txt", "offset": offset}))
            .await;
        read.push_str(text(&part));
        assert!(part["tokens"].as_u64().unwrap() <= 10_000);
        if part["truncated"] != json!(true) {
            break;
        }
        offset = part["end_line"].as_u64().unwrap() + 1;
        let notice = part["notice"].as_str().unwrap();
        assert!(notice.contains(&format!("offset={offset})")), "{notice}");
    }
    assert_eq!(read, lines.concat());
}

#[tokio::test]
async fn a_long_line_is_read_piece_by_piece_without_a_gap() {
    let scene = Scene::new();
    let line = "ä€🦀x".repeat(12_000);
    for (name, bytes) in [
        ("utf8.txt", format!("first\n{line}\nlast\n").into_bytes()),
        (
            "utf16.txt",
            format!("\u{feff}first\n{line}\nlast\n")
                .encode_utf16()
                .flat_map(u16::to_le_bytes)
                .collect(),
        ),
    ] {
        scene.write(name, bytes);
        let mut column = 1;
        let mut read = String::new();
        loop {
            let args = json!({"path": name, "offset": 2, "limit": 1, "column": column});
            let part = scene.ok("read_file", args).await;
            read.push_str(text(&part));
            let notice = part["notice"].as_str().unwrap();
            let Some((_, next)) = notice.split_once("column=") else {
                assert!(notice.starts_with("1 line follows."), "{notice}");
                break;
            };
            column = next.split(')').next().unwrap().parse::<usize>().unwrap();
        }
        assert_eq!(read, format!("{line}\n"), "{name}");
    }
}

#[tokio::test]
async fn notices_say_what_is_missing_and_how_to_get_it() {
    let scene = Scene::new();
    scene.write("long.txt", "a line of text\n".repeat(9_000));
    scene.write("wide.txt", format!("{}\nnext\n", "x".repeat(100_000)));
    let mut told = String::new();
    for name in ["long.txt", "wide.txt"] {
        let read = scene.read(name).await;
        told.push_str(read["notice"].as_str().unwrap());
        told.push('\n');
    }
    insta::assert_snapshot!(told);
}

#[tokio::test]
async fn encodings_are_read_and_named() {
    let scene = Scene::new();
    let wide = |unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
        "\u{feff}gr\u{fc}n\n"
            .encode_utf16()
            .flat_map(unit)
            .collect()
    };
    let files: [(&str, Vec<u8>); 4] = [
        ("utf-8 with BOM", "\u{feff}gr\u{fc}n\n".into()),
        ("utf-16le", wide(u16::to_le_bytes)),
        ("utf-16be", wide(u16::to_be_bytes)),
        ("windows-1252", b"gr\xfcn\n".to_vec()),
    ];
    for (encoding, bytes) in files {
        scene.write("a.txt", bytes);
        let read = scene.read("a.txt").await;
        assert_eq!(
            read,
            json!({"content": "grün\n", "lines": 1, "encoding": encoding})
        );
    }
}

#[tokio::test]
async fn a_binary_file_is_not_shown() {
    let scene = Scene::new();
    scene.write("a.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    let read = scene.read("a.png").await;
    assert_eq!(
        read,
        json!({
            "content": "[Binary file - content not displayed]",
            "binary": true, "size": 16, "kind": "PNG image",
        })
    );
}

#[tokio::test]
async fn a_huge_file_is_streamed() {
    let scene = Scene::new();
    let file = std::fs::File::create(scene.path("huge.txt")).unwrap();
    let line = format!("{}\n", "x".repeat(1023));
    {
        use std::io::Write as _;
        let mut file = std::io::BufWriter::new(&file);
        for _ in 0..12_000 {
            file.write_all(line.as_bytes()).unwrap();
        }
        file.write_all(b"the end\n").unwrap();
    }
    let read = scene
        .ok("read_file", json!({"path": "huge.txt", "offset": 12_001}))
        .await;
    assert_eq!(text(&read), "the end\n");
    assert_eq!(read["lines"], 12_001);
    let start = scene.read("huge.txt").await;
    assert_eq!(
        (&start["start_line"], &start["end_line"]),
        (&json!(1), &json!(39))
    );
    assert_eq!(start["truncated"], true);
}

#[tokio::test]
async fn kept_outputs_are_read_like_files() {
    let scene = Scene::new();
    let lines: Vec<String> = (1..=5_000).map(|line| format!("row {line}\n")).collect();
    let handle = scene.tools.outputs().keep(&lines.concat()).unwrap();
    let read = scene
        .ok("read_file", json!({"path": handle, "offset": 4_999}))
        .await;
    assert_eq!(text(&read), "row 4999\nrow 5000\n");
    let listing = scene
        .ok("read", json!({"file_paths": [handle], "limit": 1}))
        .await;
    assert_eq!(
        text(&listing),
        "=== output:1 ===\n     1\trow 1\n\
         [… 4999 more lines; the rest: read(file_paths=[\"output:1\"], offset=2) …]"
    );
}

#[tokio::test]
async fn a_name_may_have_spaces_and_any_letters() {
    let scene = Scene::new();
    scene.write("a b – ü 日本.txt", "x");
    assert_eq!(text(&scene.read("a b – ü 日本.txt").await), "x");
}

#[tokio::test]
async fn a_call_is_repeated_only_if_the_file_changed() {
    let scene = Scene::new();
    scene.write("a.txt", "one");
    scene.read("a.txt").await;
    let again = scene.refusal("read_file", json!({"path": "a.txt"})).await;
    assert!(again.contains("Redundant tool call"), "{again}");
    scene.write("a.txt", "two, longer");
    assert_eq!(text(&scene.read("a.txt").await), "two, longer");
}

#[cfg(unix)]
#[tokio::test]
async fn a_path_that_is_no_file_is_answered_with_files() {
    let scene = Scene::new();
    for folder in ["docs", "docs/deep", "many"] {
        std::fs::create_dir(scene.path(folder)).unwrap();
    }
    scene.write("docs/on call.md", "");
    scene.write("docs/deep/on call.md", "");
    scene.write("docs/deep/Piranesi notes.md", "");
    for number in 0..60 {
        scene.write(&format!("many/{number:02}"), "");
    }
    let mut told = Vec::new();
    for path in [
        "docs",
        "many",
        "on call.md",
        "docs/piranesi.txt",
        "nowhere.md",
        "docs/nowhere.md",
    ] {
        let result = scene
            .call("read_file", json!({ "path": path }))
            .await
            .result;
        told.push(format!("{path}: {}", result.suggestion.unwrap_or_default()));
    }
    insta::assert_snapshot!(told.join("\n"), @r#"
    docs: Give the path of a file. In the folder are: docs/deep/, docs/on call.md.
    many: Give the path of a file. In the folder are: many/00, many/01, many/02, many/03, many/04, many/05, many/06, many/07, many/08, many/09, many/10, many/11, many/12, many/13, many/14, many/15, many/16, many/17, many/18, many/19, many/20, many/21, many/22, many/23, many/24, many/25, many/26, many/27, many/28, many/29, many/30, many/31, many/32, many/33, many/34, many/35, many/36, many/37, many/38, many/39, many/40, many/41, many/42, many/43, many/44, many/45, many/46, many/47, many/48, many/49 and 10 more.
    on call.md: Did you mean one of: docs/deep/on call.md, docs/on call.md?
    docs/piranesi.txt: Did you mean docs/deep/Piranesi notes.md?
    nowhere.md: In the workspace are: docs/, many/.
    docs/nowhere.md: In docs are: docs/deep/, docs/on call.md.
    "#);
}

#[tokio::test]
async fn a_misspelt_name_is_answered_with_the_right_one() {
    let scene = Scene::new();
    std::fs::create_dir_all(scene.path("src")).unwrap();
    scene.write("README.md", "Read me.\n");
    scene.write("src/main.rs", "fn main() {}\n");
    scene.write("src/größe.txt", "1\n");
    for (path, right) in [
        ("readme.md", "README.md"),
        ("src/mian.rs", "src/main.rs"),
        ("mian.rs", "src/main.rs"),
        ("gröse.txt", "src/größe.txt"),
    ] {
        let result = scene
            .call("read_file", json!({ "path": path }))
            .await
            .result;
        let told = result.suggestion.unwrap_or_default();
        assert_eq!(told, format!("Did you mean {right}?"), "{path}");
    }
}

/// Files in folders, two of them of the same name.
fn with_folders() -> Scene {
    let scene = Scene::new();
    for folder in ["src", "src/commands", "books", ".cache"] {
        std::fs::create_dir(scene.path(folder)).unwrap();
    }
    scene.write("src/commands/export.rs", "fn export() {}\n");
    scene.write("books/shopping list.txt", "milk\n");
    scene.write("src/mod.rs", "one\n");
    scene.write("src/commands/mod.rs", "two\n");
    scene.write(".cache/hidden.txt", "three\n");
    scene
}

#[tokio::test]
async fn the_only_file_that_a_path_can_mean_is_read() {
    for (path, only) in [
        ("export.rs", "src/commands/export.rs"),
        ("./commands/export.rs", "src/commands/export.rs"),
        ("shopping_list.txt", "books/shopping list.txt"),
        ("books/shopping-list.txt", "books/shopping list.txt"),
    ] {
        let scene = with_folders();
        let read = scene.read(path).await;
        assert_eq!(text(&read), scene.text(only), "{path}");
        assert_eq!(
            (&read["path"], &read["instead_of"]),
            (&json!(only), &json!(path))
        );
    }
    for path in [
        // Two files can be meant.
        "mod.rs",
        // The folder says that it is another file.
        "src/export.rs",
        "docs/export.rs",
        // Neither hidden files nor places outside are guessed.
        "hidden.txt",
        ".export.rs",
        "../export.rs",
        // A pattern is not a name.
        "*.txt",
        "expor?.rs",
    ] {
        let scene = with_folders();
        let outcome = scene.call("read_file", json!({ "path": path })).await;
        assert!(!outcome.result.success, "{path}: {:?}", outcome.result);
    }
}

#[tokio::test]
async fn failures_say_what_to_do() {
    let scene = Scene::new();
    scene.write("a.txt", "1\n2\n");
    scene.write("empty.txt", "");
    std::fs::create_dir(scene.path("folder")).unwrap();
    scene.link("../outside/secret.txt", "link.txt");
    let fifo = scene.path("pipe");
    let made = std::process::Command::new("mkfifo")
        .arg(fifo)
        .status()
        .unwrap();
    assert!(made.success());
    let calls = [
        json!({"path": "missing.txt"}),
        json!({"path": "folder"}),
        json!({"path": "pipe"}),
        json!({"path": "link.txt"}),
        json!({"path": "../outside/secret.txt"}),
        json!({"path": "/etc/passwd"}),
        json!({"path": ""}),
        json!({"path": "a.txt", "offset": 3}),
        json!({"path": "empty.txt", "offset": 2}),
        json!({"path": "a.txt", "offset": 0}),
        json!({"path": "a.txt", "offset": 2, "column": 9}),
        json!({"path": "output:7"}),
        json!({}),
    ];
    let mut told = Vec::new();
    for args in calls {
        told.push(scene.refusal("read_file", args).await);
    }
    insta::assert_snapshot!(told.join("\n\n"));
}

#[tokio::test]
async fn a_broken_byte_does_not_spoil_the_file() {
    let scene = Scene::new();
    scene.write("a.txt", b"gr\xc3\xbcn, sch\xc3\xb6n\n\xff\n");
    let read = scene.read("a.txt").await;
    assert_eq!(read["encoding"], "utf-8 with invalid bytes");
    assert!(text(&read).starts_with("grün, schön\n"));
    let args = json!({"path": "a.txt", "old_string": "grün", "new_string": "weiß"});
    scene.ok("edit", args).await;
    assert_eq!(scene.bytes("a.txt"), b"wei\xc3\x9f, sch\xc3\xb6n\n\xff\n");
}
