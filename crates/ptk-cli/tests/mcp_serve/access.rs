//! Over HTTP: who may send requests, and which.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::http_client::{Server, answer, initialize};
use crate::space::{Space, err};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

#[tokio::test]
async fn requests_for_another_host_are_refused() {
    let space = Space::new();
    let server = Server::start(&space, &["--host", "tools.example"]);
    let port = server.address.rsplit_once(':').unwrap().1.to_owned();
    for (host, status) in [
        ("evil.example", 403),
        (&format!("evil.example:{port}"), 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost", 200),
        (&format!("localhost:{port}"), 200),
        ("tools.example", 200),
    ] {
        let request = server.post(&initialize()).header("Host", host);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), status, "{host}");
    }
}

#[tokio::test]
async fn requests_from_pages_of_others_are_refused() {
    let space = Space::new();
    let server = Server::start(&space, &[]);
    let port = server.address.rsplit_once(':').unwrap().1.to_owned();
    for (origin, status) in [
        ("https://evil.example", 403),
        ("null", 403),
        ("http://localhost", 403),
        ("http://localhost:1", 403),
        (&format!("https://localhost:{port}"), 403),
        (&format!("http://localhost.evil.example:{port}"), 403),
        (&format!("http://localhost:{port}"), 200),
        (&format!("http://127.0.0.1:{port}"), 200),
    ] {
        let request = server.post(&initialize()).header("Origin", origin);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), status, "{origin}");
        let mut modern = server.modern("test", "tools/list", json!({}));
        modern = modern.header("Origin", origin);
        assert_eq!(modern.send().await.unwrap().status(), status, "{origin}");
    }
}

#[tokio::test]
async fn a_token_is_asked_for_where_there_is_one() {
    let space = Space::new();
    let file = space.beside("token");
    fs::write(&file, format!("{TOKEN}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let file = file.to_str().unwrap();
    for server in [
        Server::start(&space, &["--token-file", file]),
        Server::with(&space, &[], &[("PTK_MCP_TOKEN", TOKEN)]),
    ] {
        for (given, status) in [
            (None, 401),
            (Some("Bearer wrong".to_owned()), 401),
            (Some(format!("Bearer {TOKEN}x")), 401),
            (Some(format!("Basic {TOKEN}")), 401),
            (Some(format!("Bearer {TOKEN}")), 200),
        ] {
            let mut request = server.post(&initialize());
            if let Some(given) = &given {
                request = request.header("Authorization", given);
            }
            let response = request.send().await.unwrap();
            assert_eq!(response.status(), status, "{given:?}");
            if status == 401 {
                assert_eq!(response.headers()["www-authenticate"], "Bearer");
                let error: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
                assert!(error["error"]["message"].is_string(), "{error}");
            }
        }
        // A session is not enough.
        let request = server.post(&initialize());
        let begun = request.bearer_auth(TOKEN).send().await.unwrap();
        let id = begun.headers()["mcp-session-id"].clone();
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        let request = server.post(&ping).header("Mcp-Session-Id", id);
        assert_eq!(request.send().await.unwrap().status(), 401);
        let modern = server.modern("test", "tools/list", json!({}));
        assert_eq!(modern.send().await.unwrap().status(), 401);
    }
}

#[test]
fn a_token_that_others_could_choose_or_guess_is_refused() {
    let space = Space::new();
    let file = space.beside("token");
    let serve = || {
        let file = file.to_str().unwrap();
        space.ptk(&["mcp", "serve", "--listen", "0", "--token-file", file])
    };
    assert!(err(&serve()).contains("No such file"), "{}", err(&serve()));
    fs::write(&file, TOKEN).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o622)).unwrap();
    assert!(err(&serve()).contains("chmod 600"), "{}", err(&serve()));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&file, "secret").unwrap();
    assert!(err(&serve()).contains("openssl rand"), "{}", err(&serve()));
    assert_eq!(serve().status.code(), Some(1));
}

#[tokio::test]
async fn what_is_not_of_the_protocol_is_refused() {
    let space = Space::new();
    let server = Server::start(&space, &[]);
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let elsewhere = server.client.get(format!("http://{}/", server.address));
    assert_eq!(elsewhere.send().await.unwrap().status(), 404);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    assert_eq!(server.post(&list).send().await.unwrap().status(), 400);
    let unknown = server.post(&ping).header("Mcp-Session-Id", "made-up");
    assert_eq!(unknown.send().await.unwrap().status(), 404);
    for (body, code) in [
        ("{\"jsonrpc\"", -32700),
        ("\u{0}", -32700),
        ("[]", -32600),
        ("{}", -32600),
        (
            "[{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\"}]",
            -32600,
        ),
    ] {
        let request = server.post(&Value::Null).body(body);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 400, "{body}");
        assert_eq!(answer(response).await["error"]["code"], code, "{body}");
    }
    let deep = "[".repeat(1_000_000);
    let response = server.post(&Value::Null).body(deep).send().await.unwrap();
    assert_eq!(response.status(), 400);
    let text = server.client.post(server.url()).body("{}");
    let text = text.header("Accept", "application/json, text/event-stream");
    assert_eq!(text.send().await.unwrap().status(), 415);
    let plain = server.client.get(server.url());
    assert_eq!(plain.send().await.unwrap().status(), 406);
    let put = server.client.put(server.url());
    assert_eq!(put.send().await.unwrap().status(), 405);
    assert_eq!(
        server.post(&initialize()).send().await.unwrap().status(),
        200
    );
}

#[tokio::test]
async fn a_body_has_a_limit() {
    let space = Space::new();
    let server = Server::start(&space, &["--approve", "auto"]);
    let session = server.session().await;
    let content = "x".repeat(10 * 1024 * 1024);
    let written = session.call(
        "write_file",
        json!({"path": "long.txt", "content": content}),
    );
    assert_eq!(written.await["isError"], false);
    let huge = vec![b' '; 17 * 1024 * 1024];
    let refused = server.post(&Value::Null).body(huge.clone()).send().await;
    // It may be answered before all of it was sent.
    if let Ok(response) = refused {
        assert_eq!(response.status(), 413);
    }
    let pieces = huge
        .chunks(1 << 20)
        .map(|piece| Ok::<_, std::io::Error>(piece.to_vec()));
    let pieces: Vec<_> = pieces.collect();
    let body = reqwest::Body::wrap_stream(futures_util::stream::iter(pieces));
    let refused = server.post(&Value::Null).body(body).send().await;
    if let Ok(response) = refused {
        assert_eq!(response.status(), 413);
    }
    let read = session.call("read_file", json!({"path": "a.txt"})).await;
    assert_eq!(read["isError"], false);
}
