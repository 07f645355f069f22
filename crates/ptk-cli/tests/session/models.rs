//! Runs with a model behind HTTP.

use std::process::Command;

use serde_json::{Value, json};
use wiremock::matchers::{header, method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::scene::Scene;

/// A stream of chunks, as chat completion servers send it.
pub(crate) fn chunks(deltas: &[Value], finish: &str) -> ResponseTemplate {
    let mut body = String::new();
    for delta in deltas {
        let chunk = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
        body.push_str(&format!("data: {chunk}\n\n"));
    }
    let last = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": {"prompt_tokens": 40, "completion_tokens": 9}});
    body.push_str(&format!("data: {last}\n\ndata: [DONE]\n\n"));
    ResponseTemplate::new(200).set_body_raw(body, "text/event-stream")
}

/// Replies with a call until the request contains the result.
fn answer(request: &Request, call: ResponseTemplate) -> ResponseTemplate {
    let text = String::from_utf8_lossy(&request.body);
    if text.contains("Buy milk.") {
        return chunks(
            &[json!({"content": "You need "}), json!({"content": "milk."})],
            "stop",
        );
    }
    call
}

async fn ended(scene: &Scene, mut args: Vec<String>, server: &MockServer) -> (i32, String, String) {
    args.extend([
        "--provider".to_owned(),
        format!("{}/v1", server.uri()),
        "--model".to_owned(),
        "tiny".to_owned(),
    ]);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut command = scene.command(&args);
    command.env("PTK_API_KEY", "sk-secret-0123456789");
    output(command).await
}

/// Runs a command without blocking the mock server.
pub(crate) async fn output(mut command: Command) -> (i32, String, String) {
    let output = tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_only_speaks_text_calls_tools() {
    let server = MockServer::start().await;
    let call =
        r#"Let me see. <PTK_CALL>{"tool": "read_file", "args": {"path": "notes.txt"}}</PTK_CALL>"#;
    Mock::given(method("POST"))
        .and(path("/v1/chat/completions"))
        .and(header("authorization", "Bearer sk-secret-0123456789"))
        .respond_with(move |request: &Request| {
            let body: Value = request.body_json().unwrap();
            // Tools are taught as text.
            assert_eq!(body.get("tools"), None);
            assert!(
                body["messages"][0]["content"]
                    .as_str()
                    .unwrap()
                    .contains("PTK_CALL")
            );
            answer(request, chunks(&[json!({"content": call})], "stop"))
        })
        .mount(&server)
        .await;
    let scene = Scene::new(&[]);
    let (code, out, err) = ended(&scene, vec!["What shall I buy?".to_owned()], &server).await;
    assert_eq!((code, out.as_str()), (0, "You need milk.\n"), "{err}");
    assert!(err.contains("✓ read_file notes.txt"), "{err}");
    let session = &scene.sessions()[0];
    assert_eq!(session["usage"]["input_tokens"], 80);
    assert_eq!(session["info"]["model"], "tiny");
    let log: Vec<String> = scene.log().iter().map(Value::to_string).collect();
    assert!(!log.concat().contains("sk-secret"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_says_reaches_the_person() {
    for (status, body, said) in [
        (
            401,
            json!({"error": {"message": "Incorrect API key: sk-secret-0123456789"}}),
            "refused the key",
        ),
        (
            404,
            json!({"error": {"message": "model `tiny` not found"}}),
            "has no such model",
        ),
        (
            400,
            json!({"error": {"message": "This model's maximum context length is 10"}}),
            "cannot take so long a conversation",
        ),
    ] {
        let server = MockServer::start().await;
        let failing = ResponseTemplate::new(status).set_body_json(body);
        Mock::given(method("POST"))
            .respond_with(failing)
            .mount(&server)
            .await;
        let scene = Scene::new(&[]);
        let (code, out, err) = ended(&scene, vec!["Hi".to_owned()], &server).await;
        assert_eq!((code, out.as_str()), (1, ""));
        assert!(
            err.contains(said) && err.contains("LLM_CALL_FAILED"),
            "{err}"
        );
        assert!(!err.contains("sk-secret"), "{err}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_busy_is_asked_again() {
    let server = MockServer::start().await;
    let busy = ResponseTemplate::new(429)
        .insert_header("retry-after", "0")
        .set_body_string("slow down");
    Mock::given(method("POST"))
        .respond_with(busy)
        .up_to_n_times(2)
        .mount(&server)
        .await;
    let fine = chunks(&[json!({"content": "Hello."})], "stop");
    Mock::given(method("POST"))
        .respond_with(fine)
        .mount(&server)
        .await;
    let scene = Scene::new(&[]);
    let (code, out, err) = ended(&scene, vec!["Hi".to_owned()], &server).await;
    assert_eq!((code, out.as_str()), (0, "Hello.\n"), "{err}");
    assert!(err.contains("The model is asked again"), "{err}");
}

/// A local server is not contacted through a proxy, and a password in its
/// address is not leaked.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_here_is_not_looked_for_behind_a_proxy() {
    let server = MockServer::start().await;
    let fine = chunks(&[json!({"content": "Hello."})], "stop");
    Mock::given(method("POST"))
        .and(header("authorization", "Basic Ym9iOmh1bnRlcjI="))
        .respond_with(fine)
        .mount(&server)
        .await;
    let proxy = MockServer::start().await;
    let scene = Scene::new(&[]);
    let address = server.uri().replace("http://", "http://bob:hunter2@");
    let provider = format!("{address}/v1");
    let mut command = scene.command(&["Hi", "--provider", &provider, "--model", "tiny"]);
    for variable in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        command.env(variable, proxy.uri());
    }
    let (code, out, err) = output(command).await;
    assert_eq!((code, out.as_str()), (0, "Hello.\n"), "{err}");
    assert!(proxy.received_requests().await.unwrap().is_empty());
    let log: Vec<String> = scene.log().iter().map(Value::to_string).collect();
    let log = log.concat();
    assert!(
        log.contains(&server.uri()) && !log.contains("hunter2"),
        "{log}"
    );
}

#[test]
fn providers_are_checked_before_anything_is_sent() {
    let scene = Scene::new(&[]);
    for (args, said) in [
        (
            &["Hi", "--provider", "opnai"][..],
            "Did you mean \"openai\"?",
        ),
        (
            &["Hi", "--provider", "groq"],
            "groq wants a key; set GROQ_API_KEY, or keep one with `ptk keys set groq`",
        ),
        (&["Hi", "--provider", "cmd:"], "the command is empty"),
        (
            &["Hi", "--provider", "cmd:sh -c 'x"],
            "a quote is not closed",
        ),
        (
            &["Hi", "--provider", "cmd:/no/such/model"],
            "model cannot be started",
        ),
        (&["Hi", "--provider", "ollama"], "ollama cannot be reached"),
        (
            &["Hi", "--provider", "ftp://x", "--model", "m"],
            "write it as http://HOST:PORT/v1",
        ),
        (
            &[
                "Hi",
                "--provider",
                "http://127.0.0.1:9/v1",
                "--model",
                "m",
                "--timeout",
                "20s",
            ],
            "cannot be reached",
        ),
    ] {
        let mut command = scene.command(args);
        command.env("OLLAMA_HOST", "127.0.0.1:9");
        let output = command.env_remove("GROQ_API_KEY").output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        let is_unknown = err.contains("Provider \"");
        let code = if is_unknown { 2 } else { 1 };
        assert_eq!(output.status.code(), Some(code), "{err}");
        assert!(err.contains(said), "{args:?} {err}");
    }
    let mut command = scene.command(&["Hi"]);
    let output = command
        .env_remove("PTK_PROVIDER")
        .env("GROQ_API_KEY", "x")
        // Of several keys, none is taken unasked.
        .env("OPENAI_API_KEY", "x")
        .output()
        .unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(
        err.contains("--provider groq") && err.contains("GROQ_API_KEY is set"),
        "{err}"
    );
}

#[test]
fn a_command_calls_tools() {
    let scene = Scene::new(&[]);
    let call = r#"<PTK_CALL>{"tool": "read_file", "args": {"path": "notes.txt"}}</PTK_CALL>"#;
    let script =
        format!("if grep -q 'Buy milk'; then echo 'You need milk.'; else echo '{call}'; fi\n");
    scene.write("model.sh", &script);
    let run = scene.ptk(&["What shall I buy?", "--provider", "cmd:sh 'model.sh'"]);
    assert_eq!(
        (run.code, run.out.as_str()),
        (0, "You need milk.\n"),
        "{run:?}"
    );
    scene.write("model.sh", "echo 'out of memory' >&2; exit 3\n");
    let run = scene.ptk(&["Hi", "--provider", "cmd:sh model.sh", "--timeout", "20s"]);
    assert_eq!(run.code, 1);
    assert!(run.err.contains("exit status: 3: out of memory"), "{run:?}");
}

/// A completion model is stopped before it writes the user's turn.
#[tokio::test(flavor = "multi_thread")]
async fn a_completion_endpoint_calls_tools() {
    let server = MockServer::start().await;
    let call = r#" <PTK_CALL>{"tool": "read_file", "args": {"path": "notes.txt"}}</PTK_CALL>"#;
    Mock::given(method("POST"))
        .and(path("/v1/completions"))
        .respond_with(move |request: &Request| {
            let body: Value = request.body_json().unwrap();
            let prompt = body["prompt"].as_str().unwrap();
            assert!(prompt.contains("USER: ") && prompt.ends_with("\n\nASSISTANT:"));
            let stops = ["\nPTK_RESULT", "\nPTK_ERROR", "\nUSER:", "\nASSISTANT:"];
            assert_eq!(body["stop"], json!(stops));
            assert!(!prompt.contains("USER: PTK_RESULT"), "{prompt}");
            let is_told = prompt.contains("Buy milk.");
            let text = if is_told { " You need milk." } else { call };
            let answer = json!({"choices": [{"text": text, "finish_reason": "stop"}]});
            ResponseTemplate::new(200).set_body_json(answer)
        })
        .mount(&server)
        .await;
    let scene = Scene::new(&[]);
    let provider = format!("completion:{}/v1", server.uri());
    let args = ["What shall I buy?", "--provider", &provider, "--model", "m"];
    let mut command = scene.command(&args);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = output.await.unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.stdout, b"You need milk.\n", "{err}");
}

/// The only model of a server need not be named; if there are several, the
/// error lists them.
#[tokio::test]
async fn the_only_model_of_a_server_needs_no_name() {
    let scene = Scene::new(&[]);
    let server = MockServer::start().await;
    let list = |names: &[&str]| {
        let models: Vec<Value> = names.iter().map(|name| json!({"id": name})).collect();
        let list = ResponseTemplate::new(200).set_body_json(json!({"data": models}));
        Mock::given(method("GET"))
            .and(path("/v1/models"))
            .respond_with(list)
            .mount(&server)
    };
    list(&["only-one"]).await;
    Mock::given(method("POST"))
        .and(path("/v1/chat/completions"))
        .respond_with(|request: &Request| {
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            let said = format!("I am {}.", body["model"].as_str().unwrap());
            chunks(&[json!({"content": said})], "stop")
        })
        .mount(&server)
        .await;
    let provider = format!("{}/v1", server.uri());
    let args = ["Who are you?", "--provider", &provider];
    let (code, said, errors) = output(scene.command(&args)).await;
    assert_eq!(code, 0, "{errors}");
    assert!(said.contains("I am only-one."), "{said}");

    server.reset().await;
    list(&["first", "second"]).await;
    let (code, _, errors) = output(scene.command(&args)).await;
    assert_eq!(code, 1, "{errors}");
    assert!(
        errors
            .contains("has several models: first, second; name one with --model, or in PTK_MODEL"),
        "{errors}"
    );
}

/// What is known about a family of models counts more than what the server
/// offers.
#[tokio::test]
async fn a_family_that_does_better_in_text_is_taught_in_text() {
    for (model, is_native) in [("some-model", true), ("Qwen2.5-Coder-0.5B", false)] {
        let scene = Scene::new(&[]);
        let server = MockServer::start().await;
        let listed = json!({"data": [{"id": model, "supported_parameters": ["tools"]}]});
        Mock::given(method("GET"))
            .and(path("/v1/models"))
            .respond_with(ResponseTemplate::new(200).set_body_json(listed))
            .mount(&server)
            .await;
        Mock::given(method("POST"))
            .and(path("/v1/chat/completions"))
            .respond_with(|request: &Request| {
                let body: Value = serde_json::from_slice(&request.body).unwrap();
                let is_native = body.get("tools").is_some();
                chunks(
                    &[json!({"content": format!("native: {is_native}")})],
                    "stop",
                )
            })
            .mount(&server)
            .await;
        let provider = format!("{}/v1", server.uri());
        let (code, said, errors) = output(scene.command(&["Hi", "--provider", &provider])).await;
        assert_eq!(code, 0, "{model}: {errors}");
        assert!(
            said.contains(&format!("native: {is_native}")),
            "{model}: {said}"
        );
    }
}
