//! Output: while it comes, and what a model sees of it.

use std::io::Read as _;

use ptk_events::{Delivery, EventKind, EventType, Filter, OutputStream};
use ptk_tools::tools::bash::Bash;
use serde_json::json;

use crate::scene::{LONG, Scene, code, field, request};

/// The pieces of output of a call, and whether it had ended before the first.
async fn pieces(scene: &Scene, command: &str) -> Vec<(OutputStream, String)> {
    let request = request("bash", &json!({ "command": command }));
    let id = request.call_id().clone();
    let filter = Filter::types([EventType::ToolOutputChunk]).of_call(id);
    let mut events = scene.tools.bus().subscribe(filter);
    scene.tools.execute(request).await;
    let mut pieces = Vec::new();
    while let Ok(Delivery::Event(event)) = events.try_recv() {
        if let EventKind::ToolOutputChunk { stream, chunk } = &event.kind {
            pieces.push((*stream, chunk.clone()));
        }
    }
    pieces
}

fn joined(pieces: &[(OutputStream, String)], stream: OutputStream) -> String {
    let of_stream = pieces.iter().filter(|piece| piece.0 == stream);
    of_stream.map(|piece| piece.1.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn output_is_shown_before_the_command_ends_under_the_id_of_the_call() {
    let scene = Scene::new();
    let gate = scene.pipe("gate");
    let command = "echo before; read -r _ <gate; echo after";
    let request = request("bash", &json!({ "command": command }));
    let id = request.call_id().clone();
    let mut events = scene
        .tools
        .bus()
        .subscribe(Filter::types([EventType::ToolOutputChunk]));
    let tools = scene.tools.clone();
    let call = tokio::spawn(async move { tools.execute(request).await });
    let first = tokio::time::timeout(LONG, events.recv())
        .await
        .unwrap()
        .unwrap();
    let Delivery::Event(event) = first else {
        panic!("{first:?}")
    };
    assert_eq!(event.correlation.call_id.as_ref(), Some(&id));
    assert!(
        matches!(&event.kind, EventKind::ToolOutputChunk { stream: OutputStream::Stdout, chunk } if chunk == "before\n")
    );
    assert!(!call.is_finished());
    gate.open();
    let outcome = call.await.unwrap();
    assert_eq!(field(&outcome.result, "output"), "before\nafter\n");
}

#[tokio::test]
async fn streams_are_told_apart_and_a_split_character_is_one() {
    let scene = Scene::new();
    let command =
        r"printf '\xe2'; sleep 0.2; printf '\x82'; echo no >&2; sleep 0.2; printf '\xacuro \xff'";
    let pieces = pieces(&scene, command).await;
    assert_eq!(joined(&pieces, OutputStream::Stdout), "€uro \u{fffd}");
    assert_eq!(joined(&pieces, OutputStream::Stderr), "no\n");
}

#[tokio::test]
async fn a_flood_makes_few_events() {
    let scene = Scene::new();
    let pieces = pieces(&scene, "yes | head -c 50M").await;
    let shown: usize = pieces.iter().map(|piece| piece.1.len()).sum();
    assert!(pieces.len() < 600, "{}", pieces.len());
    assert!(shown < 40 << 20, "{shown}");
    assert!(
        pieces
            .iter()
            .any(|piece| piece.1.contains("came too fast to be shown"))
    );
}

#[tokio::test]
async fn the_model_sees_no_escape_codes_and_no_overwritten_lines() {
    let scene = Scene::new();
    let command = r"printf '\e[31mred\e[0m\r\n'; printf '10%%\r50%%\r100%%\n'; printf 'dos\r\n'";
    let result = scene.bash(command).await;
    assert_eq!(field(&result, "output"), "red\n100%\ndos\n");
    assert!(!result.fields.contains_key("truncated"));
    let pieces = pieces(&scene, command).await;
    assert_eq!(
        joined(&pieces, OutputStream::Stdout),
        "\u{1b}[31mred\u{1b}[0m\r\n10%\r50%\r100%\ndos\r\n"
    );
}

#[tokio::test]
async fn of_long_output_both_ends_are_shown_and_the_whole_is_kept() {
    let scene = Scene::new();
    let result = scene.bash("seq 100000; seq 50000 >&2").await;
    let output = field(&result, "output");
    assert!(output.starts_with("1\n2\n3\n"));
    assert!(output.ends_with("99999\n100000\n"));
    let notice = output.lines().find(|line| line.starts_with("[…")).unwrap();
    insta::assert_snapshot!(notice, @r#"[… 566372 bytes left out; the rest: read_file(path="output:1", offset=1860) …]"#);
    assert!(field(&result, "stderr").ends_with("50000\n"));
    assert_eq!(result.fields["truncated"], true);

    // The line that the notice names is the first that is missing.
    let mut whole = String::new();
    scene
        .tools
        .outputs()
        .open("output:1")
        .unwrap()
        .read_to_string(&mut whole)
        .unwrap();
    assert_eq!(whole.lines().count(), 100_000);
    let shown = output
        .lines()
        .position(|line| line.starts_with("[…"))
        .unwrap();
    assert!(
        notice.contains(&format!("offset={}", shown + 1)),
        "{notice} {shown}"
    );
    assert_eq!(whole.lines().nth(shown - 1), output.lines().nth(shown - 1));
}

fn whole(scene: &Scene, handle: &str) -> String {
    let mut whole = String::new();
    let mut file = scene.tools.outputs().open(handle).unwrap();
    file.read_to_string(&mut whole).unwrap();
    whole
}

#[tokio::test]
async fn what_was_overwritten_is_said_and_kept() {
    let scene = Scene::new();
    let command = r"printf 'a: 10%%\ra: 100%%\n'; printf '|\b/\bok\n' >&2";
    let result = scene.bash(command).await;
    assert_eq!(field(&result, "output"), "a: 100%\n");
    assert_eq!(field(&result, "stderr"), "ok\n");
    insta::assert_snapshot!(field(&result, "notice"), @r#"
    Of lines that were overwritten, output has only what was left standing; the whole: read_file(path="output:1")
    Of lines that were overwritten, stderr has only what was left standing; the whole: read_file(path="output:2")
    "#);
    assert_eq!(whole(&scene, "output:1"), "a: 10%\ra: 100%\n");
    assert_eq!(whole(&scene, "output:2"), "|\u{8}/\u{8}ok\n");

    let result = scene.bash(r"printf 'dos\r\n'").await;
    assert!(!result.fields.contains_key("notice"), "{result:?}");
}

#[tokio::test]
async fn one_very_long_line_can_be_read_on_within_itself() {
    let scene = Scene::new();
    let command = r"printf 'first\n'; printf 'é%.0s' $(seq 30000); printf 'end\n'";
    let result = scene.bash(command).await;
    assert_eq!(result.fields["truncated"], true);
    let output = field(&result, "output");
    assert!(!output.contains('\u{fffd}'), "{output}");
    let notice = output.lines().find(|line| line.starts_with("[…")).unwrap();
    insta::assert_snapshot!(notice, @r#"[… 37482 bytes left out; the rest: read_file(path="output:1", offset=2, column=8187) …]"#);

    // The column that the notice names is the first that is missing.
    let shown = output.lines().nth(1).unwrap();
    assert_eq!(shown.len(), 8186);
    let kept = whole(&scene, "output:1");
    assert!(kept.lines().nth(1).unwrap().starts_with(shown));
}

#[tokio::test]
async fn output_that_is_no_text_is_bounded_too() {
    let scene = Scene::new();
    let result = scene.bash("head -c 1000000 /dev/urandom; exit 4").await;
    assert_eq!(code(&result), 4);
    assert!(serde_json::to_string(&result.fields).unwrap().len() < 200_000);
}

#[tokio::test]
async fn output_that_cannot_be_kept_is_said_to_be_lost() {
    // The test runs itself again, where there is no room for temporary files.
    const INNER: &str = "PTK_TEST_NO_ROOM";
    if std::env::var_os(INNER).is_none() {
        let name = "streams::output_that_cannot_be_kept_is_said_to_be_lost";
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name])
            .env(INNER, "1")
            .env("TMPDIR", "/no/such/folder")
            .status()
            .unwrap();
        assert!(status.success());
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let scene = Scene::at(folder, Bash::default());
    let result = scene.bash("seq 100000").await;
    assert!(result.success);
    let output = field(&result, "output");
    assert!(output.ends_with("100000\n"));
    let notice = output.lines().find(|line| line.starts_with("[…")).unwrap();
    let notice = notice.split(" at path").next().unwrap();
    insta::assert_snapshot!(notice, @"[… 566372 bytes lost: they could not be kept, No such file or directory (os error 2)");
}

#[tokio::test]
async fn a_silent_command_is_said_to_run() {
    let scene = Scene::new();
    let pieces = pieces(&scene, "sleep 1.5").await;
    assert!(joined(&pieces, OutputStream::Progress).starts_with("running for "));
}
