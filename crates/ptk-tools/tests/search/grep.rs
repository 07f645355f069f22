use insta::assert_snapshot;
use ptk_events::{EventKind, Filter, Step};
use serde_json::{Value, json};

use crate::scene::{Scene, strings};

fn project() -> Scene {
    Scene::new(&[
        (
            "src/main.rs",
            "fn main() {\n    run(1);\n}\n\nfn run(n: u8) {\n    println!(\"{n}\");\n}\n",
        ),
        ("src/lib.rs", "pub fn Run() {}\r\npub fn other() {}\r\n"),
        ("notes.md", "run fast\n"),
        (".hidden", "run\n"),
        ("skip.log", "run\n"),
        (".gitignore", "*.log\n"),
        ("image.bin", "run\0run\n"),
    ])
}

async fn matches(scene: &Scene, args: Value) -> Vec<String> {
    strings(&scene.fields("grep", args).await, "matches")
}

#[tokio::test]
async fn lines_come_sorted_with_path_and_number() {
    let scene = project();
    let fields = scene.fields("grep", json!({"pattern": r"\brun\b"})).await;
    assert_eq!(
        fields,
        json!({
            "matches": ["notes.md:1:run fast", "src/main.rs:2:    run(1);", "src/main.rs:5:fn run(n: u8) {"],
            "count": 3, "total": 3, "total_files": 2, "skipped": {"binary": 1},
        })
    );
}

#[tokio::test]
async fn case_literal_glob_and_path_narrow_or_widen() {
    let scene = project();
    let found = matches(
        &scene,
        json!({"pattern": "RUN", "case_sensitive": false, "path": "src"}),
    )
    .await;
    assert_eq!(found.len(), 3);
    let found = matches(&scene, json!({"pattern": "run(", "literal": true})).await;
    assert_eq!(
        found,
        ["src/main.rs:2:    run(1);", "src/main.rs:5:fn run(n: u8) {"]
    );
    let found = matches(&scene, json!({"pattern": "run", "glob": "*.md"})).await;
    assert_eq!(found, ["notes.md:1:run fast"]);
    let found = matches(
        &scene,
        json!({"pattern": "run", "glob": "!*.rs", "hidden": true}),
    )
    .await;
    assert_eq!(found, [".hidden:1:run", "notes.md:1:run fast"]);
    let found = matches(&scene, json!({"pattern": r"\{\}$", "path": "src/lib.rs"})).await;
    assert_eq!(
        found,
        [
            "src/lib.rs:1:pub fn Run() {}",
            "src/lib.rs:2:pub fn other() {}"
        ]
    );
}

#[tokio::test]
async fn lines_around_a_match_are_marked_and_gaps_are_shown() {
    let scene = project();
    let found = matches(&scene, json!({"pattern": "run|fast", "context": 1})).await;
    assert_snapshot!(found.join("\n"), @r#"
    notes.md:1:run fast
    --
    src/main.rs-1-fn main() {
    src/main.rs:2:    run(1);
    src/main.rs-3-}
    src/main.rs-4-
    src/main.rs:5:fn run(n: u8) {
    src/main.rs-6-    println!("{n}");
    "#);
    let found = matches(
        &scene,
        json!({"pattern": "main|println", "context": 1, "path": "src"}),
    )
    .await;
    assert_snapshot!(found.join("\n"), @r#"
    src/main.rs:1:fn main() {
    src/main.rs-2-    run(1);
    --
    src/main.rs-5-fn run(n: u8) {
    src/main.rs:6:    println!("{n}");
    src/main.rs-7-}
    "#);
}

#[tokio::test]
async fn a_match_can_go_over_lines() {
    let scene = project();
    let found = matches(
        &scene,
        json!({"pattern": r"main\(\) \{.*?\}", "multiline": true}),
    )
    .await;
    assert_eq!(
        found,
        [
            "src/main.rs:1:fn main() {",
            "src/main.rs:2:    run(1);",
            "src/main.rs:3:}"
        ]
    );
}

#[tokio::test]
async fn files_and_counts_are_given_when_asked_for() {
    let scene = project();
    let fields = scene
        .fields("grep", json!({"pattern": "run", "output": "files"}))
        .await;
    assert_eq!(
        fields,
        json!({
            "files": ["notes.md", "src/main.rs"],
            "count": 2, "total": 2, "total_files": 2, "skipped": {"binary": 1},
        })
    );
    let fields = scene
        .fields("grep", json!({"pattern": "run", "output": "count"}))
        .await;
    assert_eq!(fields["counts"], json!({"notes.md": 1, "src/main.rs": 2}));
    assert_eq!(fields["total"], 3);
}

#[tokio::test]
async fn pages_cover_every_match_exactly_once() {
    let scene = Scene::new(&[]);
    let mut all = Vec::new();
    for file in 0..23 {
        let lines = (1..=file * 3).map(|n| format!("needle {n}\nhay\n"));
        scene.write(&format!("f{file:02}.txt"), lines.collect::<String>());
        all.extend((0..file * 3).map(|n| format!("f{file:02}.txt:{}:needle {}", n * 2 + 1, n + 1)));
    }
    let mut seen = Vec::new();
    loop {
        let args = json!({"pattern": "needle", "max_results": 97, "offset": seen.len()});
        let fields = scene.fields("grep", args).await;
        assert_eq!(fields["total"], all.len());
        seen.extend(strings(&fields, "matches"));
        let Some(next) = fields.get("next") else {
            break;
        };
        assert_eq!(
            next,
            &format!(
                "grep(pattern=\"needle\", max_results=97, offset={})",
                seen.len()
            )
        );
    }
    assert_eq!(seen, all);
}

#[tokio::test]
async fn a_page_has_a_size_that_a_model_can_take_and_nothing_is_lost() {
    let line = format!("needle {}\n", "x".repeat(300));
    let scene = Scene::new(&[("long.txt", &line.repeat(1_000))]);
    let mut seen = 0;
    while seen < 1_000 {
        let args = json!({"pattern": "needle", "max_results": 1_000, "offset": seen});
        let fields = scene.fields("grep", args).await;
        assert!(fields.get("truncated").is_none());
        assert!(fields.to_string().len() < 48 * 1024);
        seen += strings(&fields, "matches").len();
    }
    assert_eq!(seen, 1_000);
}

#[tokio::test]
async fn long_lines_are_cut_around_the_match_with_a_notice() {
    let text = format!("{}needle{}\n", "x".repeat(1_000_000), "y".repeat(3_000_000));
    let scene = Scene::new(&[("huge.txt", &text)]);
    let found = matches(&scene, json!({"pattern": "needle"})).await;
    assert!(found[0].contains("xneedley"), "{found:?}");
    assert!(
        found[0].starts_with("huge.txt:1:[… 999880 bytes …]"),
        "{found:?}"
    );
    assert!(found[0].len() < 600);
}

#[tokio::test]
async fn what_matches_nothing_exactly_is_searched_for_in_any_case() {
    let scene = project();
    let found = async |args| {
        let fields = scene.fields("grep", args).await;
        (strings(&fields, "matches"), fields["note"].clone())
    };
    let (lines, note) = found(json!({"pattern": "RUN", "glob": "*.md"})).await;
    assert_eq!(lines, ["notes.md:1:run fast"]);
    assert_snapshot!(note, @r#""Nothing matches in this case. These match in another one.""#);
    let (lines, note) = found(json!({"pattern": " Run "})).await;
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert_snapshot!(note, @r#""Nothing matches with the spaces around the pattern. These match without them, in any case.""#);
    let (lines, note) = found(json!({"pattern": "RUN", "case_sensitive": true})).await;
    assert!(lines.is_empty(), "{lines:?}");
    assert_snapshot!(note, @r#""No match in 4 files. Capital and small letters differ unless case_sensitive is false. Not looked at: 1 left out by ignore rules, 2 hidden, 1 binary.""#);
    let (lines, note) = found(json!({"pattern": " Run ", "case_sensitive": true})).await;
    assert_eq!(lines, ["src/lib.rs:1:pub fn Run() {}"]);
    assert_snapshot!(note, @r#""Nothing matches with the spaces around the pattern. These match without them.""#);
}

#[tokio::test]
async fn a_glob_that_no_file_matches_is_left_out() {
    let scene = project();
    let found = async |args| {
        let fields = scene.fields("grep", args).await;
        (strings(&fields, "matches"), fields["note"].clone())
    };
    let (lines, note) = found(json!({"pattern": "run fast", "glob": "*.java"})).await;
    assert_eq!(lines, ["notes.md:1:run fast"]);
    assert_snapshot!(note, @r#""No file matches the glob \"*.java\". These are in other files.""#);
    let (lines, note) = found(json!({"pattern": "RUN FAST", "glob": "*.java"})).await;
    assert_eq!(lines, ["notes.md:1:run fast"]);
    assert_snapshot!(note, @r#""No file matches the glob \"*.java\". Nothing matches in this case. These match in another one.""#);
    // One that matches files counts.
    let (lines, _) = found(json!({"pattern": "run fast", "glob": "*.rs"})).await;
    assert!(lines.is_empty(), "{lines:?}");
}

#[tokio::test]
async fn a_path_may_be_a_glob() {
    let scene = project();
    let found = matches(&scene, json!({"pattern": "run", "path": "*.md"})).await;
    assert_eq!(found, ["notes.md:1:run fast"]);
    let found = matches(&scene, json!({"pattern": "run", "path": "src/*.rs"})).await;
    assert_eq!(found.len(), 2);
}

#[tokio::test]
async fn a_search_for_the_path_of_a_file_says_that_it_is_one() {
    let scene = project();
    let fields = scene
        .fields("grep", json!({"pattern": "src/main.rs"}))
        .await;
    assert_snapshot!(fields["note"], @r#""No match in 4 files. src/main.rs is a file, which read_file shows. Not looked at: 1 left out by ignore rules, 2 hidden, 1 binary.""#);
}

#[tokio::test]
async fn nothing_found_is_no_failure_and_says_why_it_may_be() {
    let scene = project();
    let note = async |args| scene.fields("grep", args).await["note"].clone();
    assert_snapshot!(note(json!({"pattern": "Needle"})).await, @r#""No match in 4 files. Not looked at: 1 left out by ignore rules, 2 hidden, 1 binary.""#);
    assert_snapshot!(note(json!({"pattern": "a.b(c)", "case_sensitive": false})).await, @r#""No match in 4 files. The pattern is a regular expression; literal searches for it as it stands. Not looked at: 1 left out by ignore rules, 2 hidden, 1 binary.""#);
    assert_snapshot!(note(json!({"pattern": "nowhere", "glob": "*.java"})).await, @r#""No file matches the glob \"*.java\".""#);
    assert_snapshot!(note(json!({"pattern": "run", "offset": 9})).await, @r#""The offset lies behind the end: there are 3 in all.""#);
    let fields = scene.fields("grep", json!({"pattern": "Needle"})).await;
    assert_eq!(fields["count"], 0);
}

#[tokio::test]
async fn failures_say_what_to_do() {
    let scene = project();
    let failure = async |args| scene.failure("grep", args).await;
    assert_snapshot!(failure(json!({"pattern": "fn (main"})).await, @r#"
    validation_error: grep(pattern="fn (main"): The pattern is not a regular expression: regex parse error:
        fn (main
           ^
    error: unclosed group
    To search for the text as it stands, set literal to true; or put a backslash before each character that is meant literally.
    "#);
    assert_snapshot!(failure(json!({"pattern": "a\nb"})).await, @r#"
    validation_error: grep(pattern="a\nb"): The pattern has a line break in it, but lines are searched one by one
    Set multiline to true, or search for a part within one line.
    "#);
    assert_snapshot!(failure(json!({"pattern": ""})).await, @r#"
    validation_error: grep(pattern=""): There is nothing to search for: it is empty
    To see a whole file, use read_file; to see which files there are, list_files.
    "#);
    assert_snapshot!(failure(json!({"pattern": "x", "path": "scr"})).await, @r#"
    user_error: grep(pattern="x", path="scr"): Folder not found: scr
    Did you mean src?
    "#);
    assert_snapshot!(failure(json!({"pattern": "x", "path": "../x"})).await, @r#"
    security_error: grep(pattern="x", path="../x"): Path traversal not allowed
    Write the path without `..`, relative to the workspace or absolute.
    "#);
    assert_snapshot!(failure(json!({"pattern": "x", "glob": "*.{rs"})).await, @r#"
    validation_error: grep(pattern="x", glob="*.{rs"): The pattern "*.{rs" is not a glob: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)
    `*` stands for any part of a name, `**/` for any folders, `{a,b}` for alternatives. To mean such a character itself, write it in brackets: `[[]`.
    "#);
    assert_snapshot!(failure(json!({"pattern": "x", "output": "lines"})).await, @r#"
    validation_error: Invalid value for parameter 'output' in grep: Expected one of "content", "files", "count"; got "lines"
    Example: grep(pattern="fn \\w+_test")
    "#);
    assert_snapshot!(failure(json!({"pattern": "x", "max_results": 5000})).await, @r#"
    validation_error: Invalid value for parameter 'max_results' in grep: the value is greater than the maximum of 1000
    Example: grep(pattern="fn \\w+_test")
    "#);
}

#[tokio::test]
async fn text_in_other_encodings_is_found() {
    let scene = Scene::new(&[]);
    let utf16: Vec<u8> = "\u{FEFF}größe = 1\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    scene.write("utf16.txt", utf16);
    scene.write("latin1.txt", b"gr\xF6\xDFe = 2\n");
    scene.write("utf8.txt", "\u{FEFF}größe = 3\n");
    for pattern in ["größe", r"gr\w\we", "GRÖSSE|größe = ."] {
        let found = matches(&scene, json!({"pattern": pattern})).await;
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[0], "latin1.txt:1:größe = 2");
        assert!(
            found[1].starts_with("utf16.txt:1:") && found[1].ends_with("größe = 1"),
            "{found:?}"
        );
    }
    let found = matches(&scene, json!({"pattern": "= 2"})).await;
    assert_eq!(found, ["latin1.txt:1:größe = 2"]);
}

#[tokio::test]
async fn a_line_is_shown_as_reading_the_file_shows_it() {
    let scene = Scene::new(&[]);
    let long = [&b"x\n".repeat(600_000)[..], b"gr\xFCn\n"].concat();
    let mixed = "grün, schön\nneedle ".as_bytes();
    scene.write("long.txt", [b"gr\xFCn\n", &long[..]].concat());
    scene.write("broken.txt", [mixed, b"\xFF\n"].concat());
    let found = matches(&scene, json!({"pattern": "gr.n$"})).await;
    assert_eq!(found, ["long.txt:1:grün", "long.txt:600002:grün"]);
    // One invalid byte does not make another encoding of a file.
    let found = matches(&scene, json!({"pattern": "needle|schön"})).await;
    let read = scene
        .fields("read_file", json!({"path": "broken.txt", "offset": 2}))
        .await;
    let line = read["content"].as_str().unwrap().trim_end();
    assert_eq!(found[1], format!("broken.txt:2:{line}"));
}

#[tokio::test]
async fn the_glob_may_be_called_include() {
    let scene = Scene::new(&[("a.rs", "needle\n"), ("a.md", "needle\n")]);
    let found = matches(&scene, json!({"pattern": "needle", "include": "*.rs"})).await;
    assert_eq!(found, ["a.rs:1:needle"]);
}

#[tokio::test]
async fn matches_are_shown_while_the_search_runs() {
    let scene = project();
    let mut events = scene.bus.subscribe(Filter::all());
    scene.call("grep", json!({"pattern": "run"})).await;
    let mut chunks = Vec::new();
    while let Ok(delivery) = events.try_recv() {
        if let EventKind::ToolOutputChunk { chunk, .. } = &delivery.event().unwrap().kind {
            chunks.push(chunk.clone());
        }
    }
    chunks.sort();
    assert_eq!(
        chunks,
        [
            "notes.md:1:run fast\n",
            "src/main.rs:2:    run(1);\nsrc/main.rs:5:fn run(n: u8) {\n"
        ]
    );
}

#[tokio::test]
async fn a_person_sees_how_many_and_the_first() {
    let scene = project();
    let outcome = scene.outcome("grep", json!({"pattern": "run"})).await;
    assert_eq!(
        outcome.preview,
        [
            "3 matches",
            "notes.md:1:run fast",
            "src/main.rs:2:    run(1);",
            "…"
        ]
    );
}

/// What was shown counts as read, what was only counted does not.
#[tokio::test]
async fn lines_that_were_shown_count_as_read() {
    let scene = project();
    let tracks = async |args| {
        let mut events = scene.bus.subscribe(Filter::all());
        scene.call("grep", args).await;
        let mut steps = Vec::new();
        while let Ok(delivery) = events.try_recv() {
            if let EventKind::ToolStep(step) = &delivery.event().unwrap().kind {
                steps.push(step.step);
            }
        }
        steps.contains(&Step::Track)
    };
    assert!(tracks(json!({"pattern": "run"})).await);
    assert!(!tracks(json!({"pattern": "run", "output": "files"})).await);
    assert!(!tracks(json!({"pattern": "needle"})).await);
}
