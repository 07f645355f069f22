//! Tools with arguments that servers over HTTP want in headers.

use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::scene::Scene;

/// A server with such tools.
fn serve() -> (tokio::runtime::Runtime, Scene) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let listener = runtime
        .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
        .unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new().route(
        "/mcp",
        post(
            move |headers: HeaderMap, Json(message): Json<Value>| async move {
                answer(&headers, &message)
            },
        ),
    );
    runtime.spawn(async move { axum::serve(listener, app).await });
    let scene = Scene::empty();
    scene.write_config(&format!(
        "[mcp.servers.test]\nurl = \"http://{address}/mcp\"\n"
    ));
    (runtime, scene)
}

fn answer(headers: &HeaderMap, message: &Value) -> Response {
    let tool = |name: &str, header: &str| {
        let region = json!({"type": "string", "x-mcp-header": header});
        json!({"name": name, "inputSchema": {"type": "object", "properties": {"region": region}}})
    };
    let mut result = match message["method"].as_str().unwrap() {
        "server/discover" => json!({
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "headers", "version": "1"},
        }),
        "tools/list" => json!({"tools": [tool("good", "Region"), tool("bad", "a b")]}),
        "tools/call" => {
            let region = headers.get("mcp-param-region");
            let region = region.and_then(|it| it.to_str().ok()).unwrap_or("none");
            json!({"content": [{"type": "text", "text": region}]})
        }
        _ => return StatusCode::ACCEPTED.into_response(),
    };
    for (name, value) in [
        ("resultType", json!("complete")),
        ("ttlMs", json!(0)),
        ("cacheScope", json!("private")),
    ] {
        result[name] = value;
    }
    Json(json!({"jsonrpc": "2.0", "id": message["id"], "result": result})).into_response()
}

#[test]
fn a_tool_that_wants_an_impossible_header_is_left_out_with_a_note() {
    let (_runtime, scene) = serve();
    let tested = scene.tested();
    let tools = tested["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 1, "{tested}");
    let reason = "an x-mcp-header in its inputSchema is not valid";
    let left_out = json!([{"name": "bad", "reason": reason}]);
    assert_eq!(tested["quarantined"], left_out, "{tested}");
    let result = scene.call("test__good", r#"{"region": "eu"}"#);
    assert_eq!(result["content"], "eu", "{result}");
}
