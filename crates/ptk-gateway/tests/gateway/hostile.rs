//! Hostile clients: schemas without end, unexpected bodies, half-sent requests.

use std::time::Duration;

use ptk_gateway::{Keys, Limits};
use ptk_llm::Script;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::scene::{Scene, call};

const PATH: &str = "/v1/chat/completions";

fn script() -> Script {
    Script::new(std::iter::repeat_n("Hello.", 20))
}

async fn with(limits: Limits) -> Scene {
    Scene::with(script(), |it| it.limits(limits)).await
}

async fn connect(scene: &Scene) -> TcpStream {
    let address = scene.base.strip_prefix("http://").unwrap();
    TcpStream::connect(address).await.unwrap()
}

/// Sends this, and returns the response until the server closes.
async fn exchange(scene: &Scene, sent: &str) -> String {
    let mut stream = connect(scene).await;
    stream.write_all(sent.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // The server may have closed before everything was sent.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

fn post(host: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {PATH} HTTP/1.1\r\n{host}connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

fn hello() -> String {
    json!({"model": "tiny", "messages": [{"role": "user", "content": "Hello"}]}).to_string()
}

/// Definitions, each of which refers twice to the next.
fn doubling(keyword: &str) -> Value {
    let mut definitions = Map::new();
    for number in 0..30 {
        let next = json!({"$ref": format!("#/$defs/d{}", number + 1)});
        definitions.insert(format!("d{number}"), json!({keyword: [next.clone(), next]}));
    }
    definitions.insert("d30".to_owned(), json!({"type": "string"}));
    json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": definitions})
}

fn chat(parameters: &Value) -> Value {
    json!({
        "model": "tiny",
        "messages": [{"role": "user", "content": "Hello"}],
        "tools": [
            {"type": "function", "function": {"name": "good", "parameters": {"type": "object"}}},
            {"type": "function", "function": {"name": "bomb", "parameters": parameters}},
        ],
    })
}

#[tokio::test]
async fn a_schema_that_never_ends_is_refused_by_every_api_and_names_its_tool() {
    let scene = Scene::with(script(), |it| it).await;
    for schema in [
        doubling("allOf"),
        doubling("anyOf"),
        doubling("oneOf"),
        json!({"properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}}),
        json!({"properties": {"x": {"pattern": "((a{900}){900}){900}"}}}),
    ] {
        let anthropic = json!({
            "model": "tiny", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello"}],
            "tools": [{"name": "bomb", "input_schema": schema}],
        });
        let responses = json!({
            "model": "tiny", "input": "Hello",
            "tools": [{"type": "function", "name": "bomb", "parameters": schema}],
        });
        let functions = json!({
            "model": "tiny", "messages": [{"role": "user", "content": "Hello"}],
            "functions": [{"name": "bomb", "parameters": schema}],
        });
        for (path, body) in [
            (PATH, chat(&schema)),
            (PATH, functions),
            ("/v1/messages", anthropic.clone()),
            ("/v1/messages/count_tokens", anthropic),
            ("/v1/responses", responses),
            ("/api/chat", chat(&schema)),
        ] {
            let answer = scene.post(path, &body).await;
            assert_eq!(answer.status, 400, "{path}: {}", answer.text);
            let is_named = answer.text.contains("`bomb` is too complex")
                && answer.text.contains("schema_too_complex");
            assert!(is_named, "{path}: {}", answer.text);
        }
    }
    assert_eq!(scene.times(), 0, "no model was asked");
}

#[tokio::test]
async fn an_answer_by_a_schema_that_never_ends_is_refused() {
    let scene = Scene::with(script(), |it| it).await;
    let messages = json!([{"role": "user", "content": "Hello"}]);
    let format =
        json!({"type": "json_schema", "json_schema": {"name": "x", "schema": doubling("allOf")}});
    let text = json!({"format": {"type": "json_schema", "name": "x", "schema": doubling("allOf")}});
    for (path, body) in [
        (
            PATH,
            json!({"model": "tiny", "messages": messages, "response_format": format}),
        ),
        (
            "/v1/responses",
            json!({"model": "tiny", "input": "Hello", "text": text}),
        ),
        (
            "/api/chat",
            json!({"model": "tiny", "messages": messages, "format": doubling("allOf")}),
        ),
    ] {
        let answer = scene.post(path, &body).await;
        assert_eq!(answer.status, 400, "{path}: {}", answer.text);
        assert!(
            answer.text.contains("schema_too_complex"),
            "{path}: {}",
            answer.text
        );
    }
}

/// The schema itself is fine; checking this value is exponential.
#[tokio::test]
async fn a_reply_that_would_take_forever_to_check_is_answered() {
    let part = json!({"properties": {"x": {"$ref": "#"}}, "required": ["y"]});
    let schema = json!({"type": "object", "anyOf": [part, part, {"type": "object"}]});
    let deep = (0..60).fold(json!("1"), |inner, _| json!({"x": inner}));
    let scene = Scene::new([call("bomb", &deep)]).await;
    let answer = scene.post(PATH, &chat(&schema)).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let message = &answer.json()["choices"][0]["message"];
    assert_eq!(message["tool_calls"][0]["function"]["name"], "bomb");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_that_take_too_long_to_teach_fail_plainly() {
    let limits = Limits {
        compute: Duration::ZERO,
        ..Limits::default()
    };
    let scene = with(limits).await;
    let answer = scene.post(PATH, &chat(&json!({"type": "object"}))).await;
    assert!(
        [(400, "request_too_complex"), (503, "overloaded")]
            .iter()
            .any(|(status, code)| answer.status == *status && answer.text.contains(code)),
        "{} {}",
        answer.status,
        answer.text
    );
    assert_eq!(scene.times(), 0);
}

#[tokio::test]
async fn a_reply_that_takes_too_long_to_read_fails_plainly() {
    let limits = Limits {
        compute: Duration::ZERO,
        ..Limits::default()
    };
    let scene = with(limits).await;
    let answer = exchange(&scene, &post("host: localhost\r\n", &hello())).await;
    assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
    assert!(answer.contains("reply_too_complex"), "{answer}");
}

#[tokio::test]
async fn paths_without_a_body_do_not_read_one() {
    let scene = with(Limits::default()).await;
    for path in [
        "/",
        "/healthz",
        "/readyz",
        "/openapi.json",
        "/api/version",
        "/v1/models",
        "/metrics",
    ] {
        // More is announced than is sent: a server that reads it waits forever.
        for announced in [
            "content-length: 30000000\r\n",
            "transfer-encoding: chunked\r\n",
        ] {
            let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{announced}\r\n");
            let answer = exchange(&scene, &head).await;
            assert!(answer.starts_with("HTTP/1.1 413"), "{path}: {answer}");
            assert!(answer.contains("connection: close"), "{path}: {answer}");
        }
        assert_eq!(scene.get(path, "*/*").await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn a_body_without_a_key_is_not_read() {
    let scene = Scene::with(script(), |it| it.keys(Some(Keys::one("secret")))).await;
    let head =
        format!("POST {PATH} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 30000000\r\n\r\n");
    let answer = exchange(&scene, &head).await;
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    assert!(answer.contains("connection: close"), "{answer}");
}

#[tokio::test]
async fn a_body_that_announces_itself_as_too_long_is_not_read() {
    let scene = with(Limits {
        body: 500,
        ..Limits::default()
    })
    .await;
    let head = format!("POST {PATH} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 501\r\n\r\n");
    let answer = exchange(&scene, &head).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
}

/// Two bodies, each within its limit, are too much together: the second client
/// is asked to retry. Afterwards there is room again.
#[tokio::test]
async fn all_bodies_together_are_limited() {
    let limits = Limits {
        body: 100_000,
        body_memory: 100_000,
        ..Limits::default()
    };
    let scene = with(limits).await;
    let body = json!({
        "model": "tiny", "messages": [{"role": "user", "content": "x".repeat(80_000)}],
    })
    .to_string();
    let request = post("host: localhost\r\n", &body);
    let (first_part, rest) = request.split_at(70_000);
    let mut first = connect(&scene).await;
    first.write_all(first_part.as_bytes()).await.unwrap();
    // The first one is being read once another one finds no room.
    let mut refused = String::new();
    while !refused.starts_with("HTTP/1.1 503") {
        refused = exchange(&scene, &request).await;
    }
    assert!(refused.contains("retry-after: 1"), "{refused}");
    let small = exchange(&scene, &post("host: localhost\r\n", &hello())).await;
    assert!(small.starts_with("HTTP/1.1 200"), "{small}");
    first.write_all(rest.as_bytes()).await.unwrap();
    let mut answer = String::new();
    first.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let again = exchange(&scene, &request).await;
    assert!(again.starts_with("HTTP/1.1 200"), "{again}");
}

#[tokio::test]
async fn a_body_that_never_comes_is_not_waited_for() {
    let limits = Limits {
        body_time: Duration::from_millis(20),
        ..Limits::default()
    };
    let scene = with(limits).await;
    let head = format!("POST {PATH} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\n{{");
    let answer = exchange(&scene, &head).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
}

#[tokio::test]
async fn a_head_that_never_ends_is_not_waited_for() {
    let limits = Limits {
        head_time: Duration::from_millis(20),
        ..Limits::default()
    };
    let scene = with(limits).await;
    // Both would wait for the server forever if it did not close.
    let half = exchange(&scene, "GET /healthz HTTP/1.1\r\nhost: local").await;
    assert!(!half.contains("200"), "{half}");
    exchange(&scene, "").await;
}

#[tokio::test]
async fn a_head_that_is_too_long_is_refused() {
    let scene = with(Limits::default()).await;
    let long = format!(
        "GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: {}",
        "x".repeat(70_000)
    );
    let answer = exchange(&scene, &long).await;
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
}

#[tokio::test]
async fn one_connection_too_many_is_told_so_and_the_next_one_is_served() {
    let scene = with(Limits {
        connections: 1,
        ..Limits::default()
    })
    .await;
    let mut open = connect(&scene).await;
    open.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n")
        .await
        .unwrap();
    let refused = exchange(&scene, "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    assert!(refused.contains("retry-after: 1"), "{refused}");
    let (_, body) = refused.split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["error"]["code"], "too_many_connections");
    open.write_all(b"connection: close\r\n\r\n").await.unwrap();
    let mut served = String::new();
    open.read_to_string(&mut served).await.unwrap();
    assert!(served.starts_with("HTTP/1.1 200"), "{served}");
    let next = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    // There is room once the server has noticed that the first one is gone.
    while !exchange(&scene, next).await.starts_with("HTTP/1.1 200") {}
}

#[tokio::test]
async fn a_request_has_one_host() {
    let scene = with(Limits::default()).await;
    for (head, status) in [
        ("GET /healthz HTTP/1.1\r\nhost: localhost\r\n", 200),
        (
            "GET /healthz HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\n",
            400,
        ),
        (
            "GET /healthz HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\n",
            400,
        ),
        ("GET /healthz HTTP/1.1\r\n", 400),
        (
            "GET http://localhost/healthz HTTP/1.1\r\nhost: localhost\r\n",
            200,
        ),
        (
            "GET http://localhost/healthz HTTP/1.1\r\nhost: evil.example\r\n",
            400,
        ),
        (
            "GET http://evil.example/healthz HTTP/1.1\r\nhost: localhost\r\n",
            400,
        ),
        (
            "GET http://evil.example/healthz HTTP/1.1\r\nhost: evil.example\r\n",
            403,
        ),
    ] {
        let answer = exchange(&scene, &format!("{head}connection: close\r\n\r\n")).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{head}: {answer}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_file_of_keys_that_others_can_write_is_refused_and_one_that_they_can_read_is_told_of() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys");
    std::fs::write(&file, "ann a-key\n").unwrap();
    let mode = |mode: u32| {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        Keys::open(&file)
    };
    assert_eq!(mode(0o600).unwrap().exposure(), None);
    assert!(
        mode(0o644)
            .unwrap()
            .exposure()
            .unwrap()
            .contains("chmod 600")
    );
    assert!(mode(0o640).unwrap().exposure().is_some());
    for writable in [0o620, 0o602, 0o666] {
        assert!(
            mode(writable)
                .unwrap_err()
                .to_string()
                .contains("can write it")
        );
    }
}

#[cfg(unix)]
#[tokio::test]
async fn captured_replies_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let captured = folder.path().join("a/b");
    let script = Script::new(["<tool_call>{'name': 'good', 'arguments': {},}</tool_call>"]);
    let scene = Scene::with(script, |it| it.capture(Some(captured.clone()))).await;
    scene.post(PATH, &chat(&json!({"type": "object"}))).await;
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let file = captured.join("cases.jsonl");
    assert!(file.metadata().unwrap().len() > 0);
    assert_eq!(mode(&file), 0o600);
    assert_eq!(mode(&captured), 0o700);
    assert_eq!(mode(captured.parent().unwrap()), 0o700);
}
