//! What a search must not do: leave the workspace, hang, or differ from run to
//! run.

#![cfg(unix)]

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ptk_events::{EventType, Filter};
use ptk_protocol::{Arguments, ToolCall};
use ptk_tools::{CallRequest, Limits};
use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};
use rustix::thread::CapabilitySet;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::scene::{Scene, strings, write};

#[tokio::test]
async fn links_are_not_followed_wherever_they_lead() {
    let scene = Scene::new(&[("in/a.txt", "needle\n")]);
    write(&scene.outside("secret/b.txt"), b"needle\n");
    symlink(scene.outside("secret"), scene.path("out")).unwrap();
    symlink(scene.outside("secret/b.txt"), scene.path("out.txt")).unwrap();
    symlink("in", scene.path("again")).unwrap();
    symlink("..", scene.path("in/loop")).unwrap();
    let fields = scene.fields("grep", json!({"pattern": "needle"})).await;
    assert_eq!(strings(&fields, "matches"), ["in/a.txt:1:needle"]);
    let fields = scene.fields("list_files", json!({"pattern": "**/*"})).await;
    assert_eq!(strings(&fields, "files"), ["in/a.txt"]);
    let fields = scene.fields("glob", json!({"pattern": "**/*"})).await;
    assert_eq!(strings(&fields, "files"), ["in/a.txt"]);
    for (tool, args) in [
        ("grep", json!({"pattern": "needle", "path": "out"})),
        ("grep", json!({"pattern": "needle", "path": "out.txt"})),
        ("list_files", json!({"directory": "out"})),
        ("glob", json!({"pattern": "out/*"})),
        ("search_code", json!({"query": "needle", "path": "out"})),
    ] {
        let outcome = scene.outcome(tool, args.clone()).await;
        let told = serde_json::to_string(&outcome.result.fields).unwrap();
        assert!(!told.contains("b.txt"), "{tool} {args}: {told}");
        assert!(!outcome.result.success || outcome.result.fields["count"] == 0);
    }
}

#[tokio::test]
async fn a_link_that_is_asked_for_by_name_is_entered_if_it_stays_inside() {
    let scene = Scene::new(&[("real/a.txt", "needle\n")]);
    symlink("real", scene.path("relative")).unwrap();
    symlink(scene.path("real"), scene.path("absolute")).unwrap();
    for link in ["relative", "absolute"] {
        let args = json!({"pattern": "needle", "path": link});
        let fields = scene.fields("grep", args).await;
        assert_eq!(
            strings(&fields, "matches"),
            [format!("{link}/a.txt:1:needle")]
        );
    }
}

#[tokio::test]
async fn pipes_and_sockets_do_not_hold_a_search_up() {
    let scene = Scene::new(&[("a.txt", "needle\n"), ("sub/b.txt", "needle\n")]);
    for name in ["pipe", "sub/.gitignore", "sub/.ignore"] {
        mknodat(
            CWD,
            scene.path(name),
            FileType::Fifo,
            Mode::from_raw_mode(0o644),
            0,
        )
        .unwrap();
    }
    let _socket = std::os::unix::net::UnixListener::bind(scene.path("socket")).unwrap();
    let found = tokio::time::timeout(
        Duration::from_secs(10),
        scene.fields("grep", json!({"pattern": "needle"})),
    );
    let fields = found.await.expect("a pipe held it up");
    assert_eq!(
        strings(&fields, "matches"),
        ["a.txt:1:needle", "sub/b.txt:1:needle"]
    );
    let failure = scene
        .failure("grep", json!({"pattern": "x", "path": "pipe"}))
        .await;
    insta::assert_snapshot!(failure, @r#"
    user_error: grep(pattern="x", path="pipe"): Cannot search pipe: it is a named pipe
    Give a folder or a regular file.
    "#);
}

/// Runs something that may read and enter no more than permissions say, as the
/// superuser may otherwise.
fn ordinary(run: impl Future<Output = ()> + Send) {
    let attempt = || {
        let mut own = rustix::thread::capabilities(None).unwrap();
        own.effective
            .remove(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
        rustix::thread::set_capabilities(None, own).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(run);
    };
    // They are those of a thread, and of what it starts.
    std::thread::scope(|scope| scope.spawn(attempt).join().unwrap());
}

#[test]
fn an_unreadable_folder_is_counted_and_named() {
    let scene = Scene::new(&[("a.txt", "needle\n"), ("closed/b.txt", "needle\n")]);
    let closed = std::fs::Permissions::from_mode(0o000);
    std::fs::set_permissions(scene.path("closed"), closed).unwrap();
    ordinary(async {
        let fields = scene.fields("grep", json!({"pattern": "needle"})).await;
        assert_eq!(strings(&fields, "matches"), ["a.txt:1:needle"]);
        assert_eq!(fields["skipped"]["unreadable"], 1);
        let named = &strings(&fields["skipped"], "unreadable_first")[0];
        assert!(named.starts_with("closed/: Permission denied"), "{named}");
    });
}

#[tokio::test]
async fn no_folder_is_too_deep_to_be_searched() {
    let scene = Scene::new(&[("a.txt", "needle\n")]);
    // Deeper than a path can be long.
    let name = "d".repeat(250);
    let script = format!(
        "cd '{}' && for i in $(seq 20); do mkdir {name} && cd {name}; done; echo needle > deep.txt",
        scene.path("").display()
    );
    assert!(
        std::process::Command::new("bash")
            .args(["-c", &script])
            .status()
            .unwrap()
            .success()
    );
    let fields = scene.fields("grep", json!({"pattern": "needle"})).await;
    let matches = strings(&fields, "matches");
    assert_eq!(matches[0], "a.txt:1:needle");
    assert!(matches[1].ends_with("/deep.txt:1:needle"), "{matches:?}");
    assert_eq!(fields["skipped"], Value::Null);
}

#[tokio::test]
async fn a_huge_file_that_is_no_text_is_not_read_to_its_end() {
    let scene = Scene::new(&[]);
    // Sparse: a terabyte of zeros, which takes longer to read than a call may.
    let huge = std::fs::File::create(scene.path("huge.txt")).unwrap();
    huge.set_len(1 << 40).unwrap();
    let fields = scene.fields("grep", json!({"pattern": "needle"})).await;
    assert_eq!(fields["total"], 0);
    assert_eq!(fields["skipped"]["binary"], 1);
}

/// Files that no machine searches within the time of a call: one of 12 MB under
/// ten thousand names. Letters beyond ASCII make boundaries of words slow to
/// find.
fn endless(scene: &Scene) {
    let text = "äbcdefghijklm nöpqrstuvwxyz \n".repeat(400_000);
    scene.write("later/0.txt", &text);
    let first = scene.path("later/0.txt");
    for n in 1..10_000 {
        std::fs::hard_link(&first, scene.path(&format!("later/{n}.txt"))).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_that_is_cancelled_ends_by_itself() {
    let scene = Scene::new(&[("a.txt", "needle1\n")]);
    endless(&scene);
    let token = CancellationToken::new();
    let args = Arguments::from_json(r#"{"pattern": "\\b\\w+[0-9]\\b"}"#).unwrap();
    let request = CallRequest::new(ToolCall::new("grep", args)).cancelled_by(&token);
    let mut chunks = scene
        .tools
        .bus()
        .subscribe(Filter::types([EventType::ToolOutputChunk]));
    // What was found goes out at once, while most is still to be searched.
    let (outcome, found) = tokio::join!(scene.tools.execute(request), async {
        let found = chunks.recv().await;
        token.cancel();
        found
    });
    assert!(found.is_some());
    let result = outcome.result;
    // The search's own message: it did not have to be stopped.
    assert!(
        result.error.ends_with("The search was cancelled"),
        "{}",
        result.error
    );
    assert_eq!(result.fields["cancelled"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_time_is_up_what_was_found_is_told() {
    let scene = Scene::new(&[("a.txt", "needle1\n")]);
    endless(&scene);
    let tools = scene.tools_with(Limits {
        deadline: Duration::from_secs(8),
        ..Limits::default()
    });
    let args = r#"{"pattern": "\\b\\w+[0-9]\\b"}"#;
    let call = ToolCall::new("grep", Arguments::from_json(args).unwrap());
    let result = tools.execute(CallRequest::new(call)).await.result;
    assert!(result.success, "{result:?}");
    assert_eq!(result.fields["matches"], json!(["a.txt:1:needle1"]));
    let note = result.fields["note"].as_str().unwrap();
    assert!(note.starts_with("The time was up after"), "{note}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_call_has_the_same_result_every_time() {
    let scene = Scene::new(&[]);
    for n in 0..600 {
        scene.write(
            &format!("d{}/e{}/f{n}.txt", n % 13, n % 7),
            format!("needle {n}\nneedle\n"),
        );
    }
    for (tool, args) in [
        (
            "grep",
            json!({"pattern": "needle", "max_results": 100, "context": 1}),
        ),
        ("list_files", json!({"pattern": "**/*"})),
        ("search_code", json!({"query": "needle"})),
    ] {
        let first = scene.fields(tool, args.clone()).await;
        for _ in 0..20 {
            assert_eq!(scene.fields(tool, args.clone()).await, first);
        }
    }
}

#[tokio::test]
async fn a_deep_tree_is_walked_to_its_end() {
    let deep = "d/".repeat(1_500);
    let scene = Scene::new(&[]);
    scene.write(&format!("{deep}end.txt"), "needle\n");
    let fields = scene.fields("grep", json!({"pattern": "needle"})).await;
    assert_eq!(fields["total"], 1);
    assert!(strings(&fields, "matches")[0].ends_with("d/end.txt:1:needle"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_swapped_with_a_link_does_not_lead_out() {
    let scene = Scene::new(&[("sub/deep/a.txt", "needle inside\n")]);
    write(&scene.outside("secret/deep/a.txt"), b"needle SECRET\n");
    symlink(scene.outside("secret"), scene.path("link")).unwrap();
    let (folder, link) = (scene.path("sub"), scene.path("link"));
    let done = Arc::new(AtomicBool::new(false));
    let swapping = std::thread::spawn({
        let done = Arc::clone(&done);
        move || {
            while !done.load(Ordering::Relaxed) {
                renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        }
    });
    for _ in 0..30 {
        for (tool, args) in [
            ("grep", json!({"pattern": "needle"})),
            ("grep", json!({"pattern": "needle", "path": "sub"})),
            (
                "search_code",
                json!({"query": "needle", "path": "sub/deep"}),
            ),
        ] {
            let outcome = scene.outcome(tool, args).await;
            let told = serde_json::to_string(&outcome.result.fields).unwrap();
            assert!(!told.contains("SECRET"), "{told}");
        }
    }
    done.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
}
