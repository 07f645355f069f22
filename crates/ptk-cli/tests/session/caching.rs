//! Prompts that servers cache: they begin the same in every run of a session.

use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::models::output;
use crate::scene::{Scene, started};

/// The model `big` behind Anthropic's API.
fn configured(scene: &Scene, server: &MockServer, more: &str) {
    let folder = scene.path("../config/ptk");
    fs::create_dir_all(&folder).unwrap();
    let text = format!(
        r#"
[run]
model = "big"

[models.big]
provider = "anthropic"
base_url = "{}/v1"
key_variable = "BIG_KEY"
model = "big-1"
mode = "native"
prices = {{ input = 10.0, cached_input = 1.0, cache_write = 20.0, output = 100.0 }}
{more}
"#,
        server.uri()
    );
    fs::write(folder.join("ptk.toml"), text).unwrap();
}

fn command(scene: &Scene, args: &[&str]) -> Command {
    let mut command = scene.command(args);
    command.env_remove("PTK_PROVIDER");
    command.env("BIG_KEY", "sk-big-0123456789");
    command
}

fn message(content: &Value, reason: &str) -> ResponseTemplate {
    let usage = json!({"input_tokens": 100, "cache_read_input_tokens": 800, "cache_creation_input_tokens": 50, "output_tokens": 10});
    ResponseTemplate::new(200)
        .set_body_json(json!({"content": [content], "stop_reason": reason, "usage": usage}))
}

/// Calls a tool, and answers once it has the result, or is thanked.
fn answer(request: &Request) -> ResponseTemplate {
    let body: Value = request.body_json().unwrap();
    let last = body["messages"].as_array().unwrap().last().unwrap();
    let last = last.to_string();
    if last.contains("Buy milk.") || last.contains("Thanks") {
        return message(&json!({"type": "text", "text": "Milk."}), "end_turn");
    }
    let input = json!({"path": "notes.txt"});
    let call = json!({"type": "tool_use", "id": "t1", "name": "read_file", "input": input});
    message(&call, "tool_use")
}

async fn serving(
    answer: impl Fn(&Request) -> ResponseTemplate + Send + Sync + 'static,
) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/messages"))
        .respond_with(answer)
        .mount(&server)
        .await;
    server
}

async fn bodies(server: &MockServer) -> Vec<String> {
    let requests = server.received_requests().await.unwrap();
    let posts = requests.iter().filter(|it| it.method == "POST");
    posts
        .map(|it| String::from_utf8(it.body.clone()).unwrap())
        .collect()
}

/// System prompt, tools, and the blocks of the conversation, without the marks
/// that say how far they are cached.
fn prompt(body: &str) -> (String, Vec<String>) {
    let body = body.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    let body: Value = serde_json::from_str(&body).unwrap();
    let messages = body["messages"].as_array().unwrap().iter();
    let blocks = messages.flat_map(|message| {
        let blocks = message["content"].as_array().unwrap().iter();
        blocks.map(|block| format!("{} {block}", message["role"]))
    });
    (
        format!("{} {}", body["system"], body["tools"]),
        blocks.collect(),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn another_run_begins_with_the_same_prompt_also_where_one_was_killed() {
    let (tell, asked) = mpsc::channel();
    let tell = Mutex::new(tell);
    let is_first = Arc::new(AtomicBool::new(true));
    let server = serving(move |request| {
        let answer = answer(request);
        let text = String::from_utf8_lossy(&request.body);
        let has_result = text.contains("Buy milk.");
        if has_result && is_first.swap(false, Ordering::Relaxed) {
            // The run is killed while it waits for this answer.
            tell.lock().unwrap().send(()).unwrap();
            return answer.set_delay(Duration::from_secs(3600));
        }
        answer
    })
    .await;
    let scene = Scene::new(&[]);
    configured(&scene, &server, "");
    let mut child = started(&mut command(&scene, &["--session", "s", "What do I need?"]));
    tokio::task::spawn_blocking(move || {
        asked.recv().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    })
    .await
    .unwrap();
    let (code, out, err) = output(command(&scene, &["resume", "s"])).await;
    assert_eq!((code, out.as_str()), (0, "Milk.\n"), "{err}");
    let (code, _, err) = output(command(&scene, &["--session", "s", "Thanks!"])).await;
    assert_eq!(code, 0, "{err}");

    let prompts: Vec<_> = bodies(&server).await.iter().map(|it| prompt(it)).collect();
    assert_eq!(prompts.len(), 4);
    // The resumed run asks again what the killed one had asked.
    assert_eq!(prompts[1], prompts[2]);
    for pair in prompts.windows(2) {
        let [(fixed, before), (same, after)] = pair else {
            panic!("two requests")
        };
        assert_eq!(fixed, same);
        assert!(after.starts_with(before), "{before:#?}\n{after:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_cached_is_counted_apart() {
    let server = serving(answer).await;
    let scene = Scene::new(&[]);
    configured(&scene, &server, "");
    let (code, _, err) = output(command(&scene, &["What do I need?"])).await;
    assert_eq!(code, 0, "{err}");
    let usage = &scene.sessions()[0]["usage"];
    assert_eq!(
        *usage,
        // 200 · 10 + 1600 · 1 + 100 · 20 + 20 · 100 millionths of a dollar.
        json!({"input_tokens": 1900, "cached_tokens": 1600, "cache_write_tokens": 100,
            "output_tokens": 20, "cost_micros": 7600})
    );
    let (code, out, err) = output(command(&scene, &["--json", "What do I need?"])).await;
    assert_eq!(code, 0, "{err}");
    let last: Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
    let usage = &last["metadata"]["usage"];
    assert_eq!(
        (&usage["cached_tokens"], &usage["cache_write_tokens"]),
        (&json!(1600), &json!(100))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_told_what_to_cache_unless_it_is_not_wanted() {
    for (more, is_told) in [
        ("", true),
        ("prompt_cache = true", true),
        ("prompt_cache = false", false),
    ] {
        let server = serving(answer).await;
        let scene = Scene::new(&[]);
        configured(&scene, &server, more);
        let (code, _, err) = output(command(&scene, &["What do I need?"])).await;
        assert_eq!(code, 0, "{err}");
        for body in bodies(&server).await {
            let marks = body.matches("cache_control").count();
            assert_eq!((1..=4).contains(&marks), is_told, "{more}: {body}");
            assert_eq!(marks > 0, is_told);
        }
    }
}
