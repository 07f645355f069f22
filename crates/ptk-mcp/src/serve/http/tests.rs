//! The limits of the server over HTTP.

use std::time::Instant;

use ptk_sandbox::Workspace;
use ptk_tools::ToolManager;
use reqwest::{Response, StatusCode};
use serde_json::{Value, json};

use super::*;

/// A server with these limits, without tools.
async fn start(limits: HttpLimits) -> (String, CancellationToken) {
    let workspace = Workspace::open(std::env::temp_dir()).unwrap();
    let server = McpServer::builder(ToolManager::builder(workspace).build());
    let server = server.build().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}{HTTP_PATH}", listener.local_addr().unwrap());
    let end = CancellationToken::new();
    let options = HttpOptions {
        limits,
        ..HttpOptions::default()
    };
    let until = end.clone();
    tokio::spawn(async move { server.serve_http(listener, options, &until).await });
    (url, end)
}

async fn post(url: &str, session: Option<&str>, method: &str, params: Value) -> Response {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let mut request = ptk_http::client()
        .build()
        .unwrap()
        .post(url)
        .header("Accept", "application/json, text/event-stream")
        .json(&message);
    if let Some(session) = session {
        request = request.header(SESSION_ID, session);
    }
    request.send().await.unwrap()
}

async fn initialize(url: &str) -> Response {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    post(url, None, "initialize", params).await
}

fn session(response: &Response) -> String {
    let id = &response.headers()[SESSION_ID];
    id.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn there_are_only_so_many_sessions() {
    let (url, _end) = start(HttpLimits {
        sessions: 2,
        ..HttpLimits::default()
    })
    .await;
    let first = session(&initialize(&url).await);
    initialize(&url).await;
    let refused = initialize(&url).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.headers().contains_key("retry-after"));
    // Those that are there go on, and make room when they end.
    let ping = post(&url, Some(&first), "ping", json!({})).await;
    assert_eq!(ping.status(), StatusCode::OK);
    let delete = ptk_http::client().build().unwrap().delete(&url);
    let deleted = delete.header(SESSION_ID, &first).send().await.unwrap();
    assert!(deleted.status().is_success());
    assert_eq!(initialize(&url).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_session_that_is_not_used_ends() {
    let (url, _end) = start(HttpLimits {
        sessions: 1,
        session_idle: Duration::from_millis(50),
        ..HttpLimits::default()
    })
    .await;
    let id = session(&initialize(&url).await);
    // It makes room for another one by itself.
    let since = Instant::now();
    while initialize(&url).await.status() != StatusCode::OK {
        assert!(since.elapsed() < Duration::from_secs(30), "it does not end");
    }
    let ping = post(&url, Some(&id), "ping", json!({})).await;
    assert_eq!(ping.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_body_that_does_not_come_is_not_waited_for() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let (url, _end) = start(HttpLimits {
        body_time: Duration::from_millis(200),
        head_time: Duration::from_millis(400),
        ..HttpLimits::default()
    })
    .await;
    let address = url.trim_start_matches("http://");
    let address = address.trim_end_matches(HTTP_PATH);
    for (head, answer) in [
        (
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n",
            "HTTP/1.1 408",
        ),
        ("POST /mcp HTTP/1.1\r\nHost: loc", ""),
    ] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut all = Vec::new();
        let read = stream.read_to_end(&mut all);
        drop(
            tokio::time::timeout(Duration::from_secs(10), read)
                .await
                .unwrap(),
        );
        let all = String::from_utf8_lossy(&all);
        assert!(all.starts_with(answer), "{all}");
    }
}
