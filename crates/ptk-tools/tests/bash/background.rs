//! Commands that run on behind their call.

use std::time::Duration;

use ptk_sandbox::Workspace;
use ptk_sandbox::command::Helper;
use ptk_tools::tools::bash::Bash;
use ptk_tools::{AllowAll, CallContext, Effects, Registry, ToolError, ToolManager, tool_fn};
use serde_json::{Value, json};

use crate::scene::{Scene, alive, code, field, no_zombies, request, unique, until};

async fn output(scene: &Scene, job: &str, wait: u32) -> ptk_protocol::ToolResult {
    let result = scene
        .call("bash_output", json!({"job": job, "wait_seconds": wait}))
        .await;
    assert!(result.success, "{result:?}");
    result
}

#[tokio::test]
async fn a_job_runs_is_read_and_ends() {
    let scene = Scene::new();
    let gate = scene.pipe("gate");
    let command = "echo one; read -r _ <gate; echo two >&2; exit 5";
    let job = scene.job(command).await;
    assert_eq!(job, "job_1");
    let result = output(&scene, &job, 30).await;
    assert_eq!(field(&result, "output"), "one\n");
    assert_eq!(field(&result, "status"), "running");
    let result = output(&scene, &job, 0).await;
    assert_eq!(field(&result, "output"), "");

    gate.open();
    let mut text = String::new();
    let result = loop {
        let result = output(&scene, &job, 30).await;
        text.push_str(field(&result, "output"));
        if field(&result, "status") != "running" {
            break result;
        }
    };
    assert_eq!(text, "two\n");
    assert_eq!(field(&result, "status"), "exited");
    assert_eq!(code(&result), 5);
    let again = scene
        .call("bash_output", json!({"job": job, "offset": 0}))
        .await;
    assert_eq!(field(&again, "output"), "one\ntwo\n");
    assert_eq!(again.fields["next_offset"], 8);
}

#[tokio::test]
async fn a_job_is_killed_with_all_its_children() {
    let scene = Scene::new();
    let sleep = unique();
    let begun = scene.pipe("begun").closed();
    let job = scene
        .job(&format!(
            "trap '' TERM; setsid sleep {sleep} & sleep {sleep} & echo >begun; wait; sleep {sleep}"
        ))
        .await;
    begun.await;
    assert!(!alive(&sleep).is_empty());
    let result = scene.call("bash_kill", json!({ "job": job })).await;
    assert_eq!(field(&result, "status"), "killed");
    assert_eq!(alive(&sleep), [""; 0]);
    let again = scene.call("bash_kill", json!({ "job": job })).await;
    assert_eq!(field(&again, "status"), "killed");
    no_zombies().await;
}

#[tokio::test]
async fn a_job_has_an_end_even_if_nobody_asks() {
    let scene = Scene::with(Bash::default().job_timeout(Duration::from_millis(300)));
    let sleep = unique();
    let job = scene.job(&format!("sleep {sleep}")).await;
    let result = output(&scene, &job, 60).await;
    assert_eq!(field(&result, "status"), "timed_out");
    assert_eq!(alive(&sleep), [""; 0]);
}

#[tokio::test]
async fn jobs_end_with_the_tools() {
    let scene = Scene::new();
    let sleep = unique();
    for number in 0..3 {
        let pipe = format!("begun{number}");
        let begun = scene.pipe(&pipe).closed();
        scene
            .job(&format!(
                "trap '' TERM; setsid sleep {sleep} & sleep {sleep} & echo >{pipe}; wait"
            ))
            .await;
        begun.await;
    }
    let clone = scene.tools.clone();
    drop(scene);
    // The shells at least: what becomes another program has no name meanwhile.
    assert!(alive(&sleep).len() >= 3, "a clone keeps them");
    drop(clone);
    until("all are gone", || alive(&sleep).is_empty()).await;
    no_zombies().await;
}

#[test]
fn jobs_end_with_the_runtime() {
    let sleep = unique();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let scene = Scene::new();
    runtime.block_on(async {
        let begun = scene.pipe("begun").closed();
        scene
            .job(&format!("trap '' TERM; echo >begun; sleep {sleep}; true"))
            .await;
        begun.await;
    });
    drop(runtime);
    let waiting = tokio::runtime::Runtime::new().unwrap();
    waiting.block_on(until("it is gone", || alive(&sleep).is_empty()));
}

#[tokio::test]
async fn much_output_of_a_job_can_be_read_to_the_last_byte() {
    let scene = Scene::new();
    let job = scene.job("seq 100000").await;
    let mut result = output(&scene, &job, 30).await;
    while field(&result, "status") == "running" {
        result = output(&scene, &job, 30).await;
    }
    let result = scene
        .call("bash_output", json!({"job": job, "offset": 0}))
        .await;
    assert!(
        result.fields["whole"]
            .as_str()
            .unwrap()
            .starts_with("output:")
    );

    let mut text = String::new();
    let mut offset = 0;
    while offset < 588_895 {
        let result = scene
            .call("bash_output", json!({"job": job, "offset": offset}))
            .await;
        text.push_str(field(&result, "output"));
        offset = result.fields["next_offset"].as_u64().unwrap();
    }
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 100_000);
    assert_eq!(lines.last(), Some(&"100000"));
}

#[tokio::test]
async fn much_new_output_is_shown_from_both_ends() {
    let scene = Scene::new();
    let written = scene.pipe("written").closed();
    let job = scene.job("seq 100000; echo >written; sleep 1000").await;
    written.await;
    let mut result = output(&scene, &job, 0).await;
    while !field(&result, "output").ends_with("100000\n") {
        result = output(&scene, &job, 30).await;
    }
    assert_eq!(result.fields["next_offset"], 588_895);
    let notice = field(&result, "output")
        .lines()
        .find(|line| line.starts_with("[…"));
    if let Some(notice) = notice {
        assert!(
            notice.contains("bash_output(job=\"job_1\", offset="),
            "{notice}"
        );
    }
}

#[tokio::test]
async fn of_a_job_too_it_is_said_what_was_overwritten() {
    let scene = Scene::new();
    let job = scene.job(r"printf '10%%\r100%%\n'").await;
    let mut result = output(&scene, &job, 30).await;
    let shown = result.clone();
    while field(&result, "status") == "running" {
        result = output(&scene, &job, 30).await;
    }
    assert_eq!(field(&shown, "output"), "100%\n");
    assert!(field(&shown, "notice").contains("overwritten"), "{shown:?}");
    assert_eq!(field(&result, "whole"), "output:1");
}

#[tokio::test]
async fn while_a_job_runs_a_call_may_be_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let mut registry = Registry::new();
    Bash::default().register(&mut registry).unwrap();
    let look = |_: CallContext, _: serde_json::Map<String, Value>| async { Ok::<_, ToolError>(1) };
    registry
        .register(tool_fn("look", "Look at something", Effects::READ, look))
        .unwrap();
    let tools = ToolManager::builder(Workspace::open(folder.path()).unwrap())
        .helper(Helper::at(env!("CARGO_BIN_EXE_ptk-helper")))
        .tools(registry)
        .approver(AllowAll)
        .build();
    let call = async |tool: &str, args: Value| tools.execute(request(tool, &args)).await.result;
    assert!(call("look", json!({})).await.success);
    assert!(!call("look", json!({})).await.success);
    call(
        "bash",
        json!({"command": "sleep 1000", "run_in_background": true}),
    )
    .await;
    assert!(call("look", json!({})).await.success);
    assert!(call("look", json!({})).await.success);
    call("bash_kill", json!({"job": "job_1"})).await;
    assert!(
        call("look", json!({})).await.success,
        "the job may have changed something"
    );
    assert!(!call("look", json!({})).await.success);
}

#[tokio::test]
async fn waiting_for_output_can_be_cancelled() {
    let scene = Scene::new();
    let job = scene.job("sleep 1000").await;
    let token = tokio_util::sync::CancellationToken::new();
    let args = json!({"job": job, "wait_seconds": 600});
    let request = request("bash_output", &args).cancelled_by(&token);
    token.cancel();
    let outcome = scene.tools.execute(request).await;
    assert_eq!(outcome.tool, "bash_output");
}

#[tokio::test]
async fn a_character_that_comes_in_parts_is_read_whole() {
    let scene = Scene::new();
    let gate = scene.pipe("gate");
    let command = r"printf 'a\xe2'; read -r _ <gate; printf '\x82\xac'";
    let job = scene.job(command).await;
    let mut text = field(&output(&scene, &job, 30).await, "output").to_owned();
    gate.open();
    loop {
        let result = output(&scene, &job, 30).await;
        text.push_str(field(&result, "output"));
        if field(&result, "status") == "exited" {
            break;
        }
    }
    assert_eq!(text, "a€");
}
