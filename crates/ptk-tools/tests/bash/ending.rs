//! Everything ends, and nothing is left.

use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::scene::{Scene, alive, code, field, no_zombies, request, unique, until};

#[tokio::test]
async fn what_takes_too_long_is_ended_and_its_output_kept() {
    let scene = Scene::new();
    let sleep = unique();
    let result = scene
        .bash_within(&format!("echo begun; echo oh >&2; sleep {sleep}"), 1.5)
        .await;
    insta::assert_snapshot!(scene.told(&result).replace(&sleep, "N"), @r#"
    system_error: bash(command="echo begun; echo oh >&2; sleep N", timeout=1.5): The command timed out after 1.5 s and was ended
    → Its output so far is here. Give it more time with timeout (at most 600), do less at once, or start it with run_in_background=true.
    "#);
    assert_eq!(result.fields["timed_out"], true);
    assert_eq!(field(&result, "output"), "begun\n");
    assert_eq!(field(&result, "stderr"), "oh\n");
    assert_eq!(result.fields["signal"], 15);
    assert_eq!(alive(&sleep), [""; 0]);
    assert_eq!(scene.tools.usage()["bash"].timeouts, 1);
}

#[tokio::test]
async fn what_ignores_the_polite_signal_is_killed() {
    let scene = Scene::new();
    let sleep = unique();
    let command =
        format!("trap '' TERM INT HUP; echo $$; sleep {sleep}; sleep {sleep}; sleep {sleep}");
    let result = scene.bash_within(&command, 1.5).await;
    assert_eq!(result.fields["signal"], 9);
    assert_eq!(result.fields["timed_out"], true);
    assert_eq!(alive(&sleep), [""; 0]);
}

#[tokio::test]
async fn a_polite_end_is_awaited() {
    let scene = Scene::new();
    let result = scene
        .bash_within(
            "trap 'echo bye; n=$((n + 1))' TERM; until [ $n ]; do sleep 0.01; done; sleep 0.2; exit 7",
            1.5,
        )
        .await;
    assert_eq!(field(&result, "output"), "bye\n");
    assert_eq!(code(&result), 7);
    assert_eq!(result.fields["timed_out"], true);
}

#[tokio::test]
async fn what_is_left_behind_is_ended() {
    let scene = Scene::new();
    for way in [
        "sleep N & disown",
        "setsid sleep N &",
        "setsid sleep N >/dev/null 2>&1 </dev/null &",
        "nohup sleep N &",
        "(trap '' TERM HUP; sleep N; sleep N) &",
        "set -m; sleep N &",
        "(sleep N &) &",
        "yes N &",
    ] {
        let sleep = unique();
        let command = format!("echo done; {}", way.replace('N', &sleep));
        let result = scene.bash(&command).await;
        assert!(result.success, "{way}: {result:?}");
        assert!(field(&result, "output").starts_with("done\n"), "{way}");
        let left = result.fields["left_behind"].as_u64().unwrap();
        assert!(left >= 1, "{way}");
        assert_eq!(alive(&sleep), [""; 0], "{way}");
    }
    no_zombies().await;
}

#[tokio::test]
async fn a_last_word_of_a_child_is_heard() {
    let scene = Scene::new();
    let result = scene.bash("echo a > >(cat)").await;
    assert_eq!(field(&result, "output"), "a\n");
    assert!(!result.fields.contains_key("left_behind"), "{result:?}");
}

#[tokio::test]
async fn what_stands_still_is_ended() {
    let scene = Scene::new();
    let result = scene.bash("echo one; kill -STOP $$; echo two").await;
    insta::assert_snapshot!(scene.told(&result), @r#"
    system_error: bash(command="echo one; kill -STOP $$; echo two"): The command wanted to use the terminal, or stopped itself, and was ended
    → There is no terminal, so nothing can answer questions. Use flags such as --yes or --non-interactive, or pipe the answers in.
    "#);
    assert_eq!(field(&result, "output"), "one\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_ends_its_command() {
    let scene = Scene::new();
    let sleep = unique();
    let token = CancellationToken::new();
    let begun = scene.pipe("begun").closed();
    let command = format!("echo begun; echo >begun; sleep {sleep}");
    let request = request("bash", &json!({ "command": command })).cancelled_by(&token);
    let tools = scene.tools.clone();
    let call = tokio::spawn(async move { tools.execute(request).await.result });
    begun.await;
    token.cancel();
    let result = call.await.unwrap();
    insta::assert_snapshot!(scene.told(&result).replace(&sleep, "N"), @r#"
    system_error: bash(command="echo begun; echo >begun; sleep N"): The command was cancelled
    → It did not finish. Look at what it left before you go on.
    "#);
    assert_eq!(result.fields["cancelled"], true);
    assert_eq!(field(&result, "output"), "begun\n");
    assert_eq!(alive(&sleep), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_dropped_takes_its_command_with_it() {
    let scene = Scene::new();
    let sleep = unique();
    let (begun, lives) = (scene.pipe("begun").closed(), scene.pipe("lives").closed());
    // As long as one of them is there, the pipe is open.
    let command = format!(
        "trap '' TERM; exec 9>lives; setsid sleep {sleep} & echo >begun; sleep {sleep}; sleep {sleep}"
    );
    let request = request("bash", &json!({ "command": command }));
    let tools = scene.tools.clone();
    let call = tokio::spawn(async move { tools.execute(request).await });
    begun.await;
    call.abort();
    lives.await;
    until("the keeper is gone", || alive(&sleep).is_empty()).await;
    no_zombies().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_that_does_not_want_to_end_still_tells_its_output() {
    let scene = Scene::new();
    let sleep = unique();
    let token = CancellationToken::new();
    let begun = scene.pipe("begun").closed();
    let command = format!(
        "trap '' TERM; echo begun; echo >begun; setsid sleep {sleep} & sleep {sleep}; sleep {sleep}"
    );
    let request = request("bash", &json!({ "command": command })).cancelled_by(&token);
    let tools = scene.tools.clone();
    let call = tokio::spawn(async move { tools.execute(request).await.result });
    begun.await;
    token.cancel();
    let result = call.await.unwrap();
    assert!(!result.success);
    assert_eq!(result.fields["signal"], 9);
    assert_eq!(field(&result, "output"), "begun\n");
    assert_eq!(alive(&sleep), [""; 0]);
}

/// Leaving the group and the session, losing all parents and cleaning the
/// environment does not help.
#[tokio::test]
async fn what_hides_is_ended_too() {
    let scene = Scene::new();
    for way in [
        "env -i setsid sleep N >/dev/null 2>&1 &",
        "(setsid env -i sh -c '(setsid sleep N &) &' &) >/dev/null 2>&1; :",
        "(trap '' TERM HUP INT; exec setsid env -i sleep N) >/dev/null 2>&1 &",
    ] {
        let sleep = unique();
        let result = scene.bash(&way.replace('N', &sleep)).await;
        assert_eq!(result.fields["left_behind"], 1, "{way}: {result:?}");
        assert_eq!(alive(&sleep), [""; 0], "{way}");
    }
}

#[tokio::test]
async fn a_command_cannot_kill_its_keeper() {
    let scene = Scene::new();
    let result = scene.bash("kill -9 $PPID || echo still there").await;
    assert_eq!(field(&result, "output"), "still there\n");
}

#[tokio::test]
async fn without_a_sandbox_a_killed_keeper_is_said_to_be() {
    let scene = Scene::unprotected();
    let go = scene.pipe("go");
    let job = scene.job("echo before; read go <go; kill -9 $PPID").await;
    go.open();
    let args = json!({ "job": job, "wait": 60 });
    let mut result = scene.call("bash_output", args.clone()).await;
    while field(&result, "status") == "running" {
        result = scene.call("bash_output", args.clone()).await;
    }
    assert_eq!(field(&result, "status"), "lost", "{result:?}");
}
