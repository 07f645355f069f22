//! Time, size, pages, progress.

use ptk_events::{EventKind, Filter};
use ptk_protocol::{Arguments, ToolCall};
use ptk_tools::CallRequest;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::scene::{Scene, no_args, text};

fn script(lines: &str) -> Scene {
    Scene::new()
        .script("check", lines)
        .configured(json!({"command": ["./check"], "timeout": 3}))
}

#[tokio::test]
async fn a_checker_that_hangs_is_stopped_and_what_it_found_is_kept() {
    let scene = script("echo 'a.c:1:2: error: found in time'; sleep 600");
    let result = scene.call(no_args()).await;
    insta::assert_snapshot!(scene.found(&result), @"
    1 error, 0 warnings found; failed: ./check
    a.c:1:2 error: found in time (./check)
    ./check failed: it was stopped after 3 s
    ");
}

#[tokio::test]
async fn a_checker_that_hangs_without_a_word_is_a_failure() {
    let scene = script("sleep 600");
    let result = scene.call(no_args()).await;
    insta::assert_snapshot!(scene.told(&result), @"
    system_error: get_diagnostics(): The check did not end in time: ./check: it was stopped after 3 s
    → Try again, since much of the work may be kept; ask about one file; or ask the user for a longer `timeout` under [diagnostics] in ptk.toml.
    ");
    assert_eq!(result.fields["timed_out"], true);
}

#[tokio::test]
async fn a_checker_that_floods_is_read_as_far_as_it_is_kept() {
    let scene = Scene::new()
        .script("check", "echo 'a.c:1: error: first'; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo 'a.c:2: error: last'")
        .configured(json!({"command": ["./check"], "timeout": 100}));
    let told = scene.found(&scene.call(no_args()).await);
    assert!(told.contains("a.c:1 error: first"), "{told}");
    assert!(
        told.contains("./check failed: it wrote too much: "),
        "{told}"
    );
}

#[tokio::test]
async fn more_diagnostics_than_anybody_reads_are_counted() {
    let scene = Scene::new()
        .script("check", "seq -f 'a.c:%.0f: warning: again' 10050")
        .configured(json!({"command": ["./check"]}));
    let result = scene.call(json!({"limit": 1})).await;
    insta::assert_snapshot!(scene.found(&result), @"
    0 errors, 10000 warnings found by ./check (1 checker)
    a.c:1 warning: again (./check)
    ./check ok: 50 more diagnostics were left out
    get_diagnostics(limit=1, offset=1)
    ");
}

#[tokio::test]
async fn pages_follow_each_other_without_gap() {
    let scene = Scene::new()
        .script("check", "seq -f 'a.c:%.0f: warning: again' 250")
        .configured(json!({"command": ["./check"]}));
    let mut lines = Vec::new();
    let mut args = json!({"file": "check", "limit": 1});
    assert_eq!(scene.call(args).await.fields["total"], 0);
    args = json!({});
    loop {
        let result = scene.call(args).await;
        let page = result.fields["diagnostics"].as_array().unwrap().clone();
        lines.extend(page.iter().map(|one| one["line"].as_u64().unwrap()));
        let Some(next) = result.fields.get("next").map(text) else {
            break;
        };
        assert_eq!(next, format!("get_diagnostics(offset={})", lines.len()));
        args = json!({"offset": lines.len()});
    }
    assert_eq!(lines, (1..=250).collect::<Vec<u64>>());
}

#[tokio::test]
async fn a_page_of_long_messages_is_shorter_and_is_not_cut_afterwards() {
    let scene = Scene::new()
        .script("check", "long=$(head -c 3000 /dev/zero | tr '\\0' x); for i in $(seq 90); do echo \"a.c:$i: error: $long\"; done")
        .configured(json!({"command": ["./check"]}));
    let result = scene.call(no_args()).await;
    let shown = result.fields["diagnostics"].as_array().unwrap();
    assert!(shown.iter().all(Value::is_object));
    assert!((10..90).contains(&shown.len()), "{}", shown.len());
    assert!(text(&shown[0]["message"]).ends_with("x…"));
    let next = format!("get_diagnostics(offset={})", shown.len());
    assert_eq!(result.fields["next"], next.as_str());
    assert!(!result.fields.contains_key("truncated"));
}

#[tokio::test]
async fn what_takes_long_says_so_and_does_not_show_what_it_reads() {
    let scene = Scene::new()
        .script("check", "echo 'a.c:1: error: secret'; sleep 1.5")
        .configured(json!({"command": ["./check"]}));
    let mut events = scene.bus.subscribe(Filter::all());
    assert!(scene.call(no_args()).await.success);
    let mut chunks = Vec::new();
    while let Ok(delivery) = events.try_recv() {
        if let Some(EventKind::ToolOutputChunk { chunk, .. }) =
            delivery.event().map(|event| &event.kind)
        {
            chunks.push(chunk.clone());
        }
    }
    let told = chunks.concat();
    assert!(
        told.starts_with(
            "./check is at work (1 s)
"
        ),
        "{told}"
    );
    assert!(!told.contains("secret"), "{told}");
}

#[tokio::test]
async fn a_call_that_is_cancelled_ends_its_checkers() {
    let scene = Scene::new()
        .script("check", "exec 9>lives; echo up >started; sleep 600")
        .configured(json!({"command": ["./check"]}));
    let token = CancellationToken::new();
    let call = ToolCall::new("get_diagnostics", Arguments::new());
    let request = CallRequest::new(call).cancelled_by(&token);
    let (started, lives) = (scene.pipe("started").closed(), scene.pipe("lives").closed());
    let cancel = async {
        started.await;
        token.cancel();
    };
    let (outcome, ()) = tokio::join!(scene.execute(request), cancel);
    insta::assert_snapshot!(scene.told(&outcome.result), @"
    system_error: get_diagnostics(): The checkers were cancelled
    → Call get_diagnostics again when you want to know.
    ");
    // As long as one of them is there, the pipe is open.
    lives.await;
}

#[tokio::test]
async fn a_path_that_nobody_could_have_is_not_repeated() {
    let scene = Scene::new()
        .script("check", "long=$(head -c 9000 /dev/zero | tr '\\0' x); echo \"$long:1: error: far\"; echo 'a.c:1: error: near'")
        .configured(json!({"command": ["./check"]}));
    insta::assert_snapshot!(scene.found(&scene.call(no_args()).await), @"
    1 error, 0 warnings found; failed: ./check
    a.c:1 error: near (./check)
    ./check failed: it named a file that cannot be one
    ");
}
