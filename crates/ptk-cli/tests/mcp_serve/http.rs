//! Over HTTP: sessions, calls, progress, cancellation, and the end.

use futures_util::StreamExt as _;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::http_client::{Server, answer, messages};
use crate::space::Space;
use crate::stdio::{MODERN, text};

#[tokio::test]
async fn both_revisions_are_served() {
    let space = Space::new();
    let server = Server::start(&space, &[]);
    let session = server.session().await;
    let read = session.call("read_file", json!({"path": "a.txt"})).await;
    assert_eq!(read["structuredContent"]["content"], "one\ntwo\nthree\n");

    let discover = server.modern("test", "server/discover", json!({}));
    let found = answer(discover.send().await.unwrap()).await;
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!(MODERN)), "{found}");
    let args = json!({"path": "a.txt"});
    let call = json!({"name": "read_file", "arguments": args});
    let response = server.modern("test", "tools/call", call).send().await;
    let response = response.unwrap();
    assert!(response.headers().get("mcp-session-id").is_none());
    let read = answer(response).await["result"].clone();
    assert_eq!(read["resultType"], "complete");
    assert_eq!(read["structuredContent"]["content"], "one\ntwo\nthree\n");
    // What a proxy sees in the headers is what is done.
    let call = json!({"name": "bash", "arguments": {"command": "true"}});
    let wrong = server.modern("test", "tools/call", call);
    let mut wrong = wrong.build().unwrap();
    wrong
        .headers_mut()
        .insert("Mcp-Name", "read_file".parse().unwrap());
    assert_eq!(server.client.execute(wrong).await.unwrap().status(), 400);
}

#[tokio::test]
async fn each_session_has_a_conversation_of_its_own() {
    let space = Space::new();
    let server = Server::start(&space, &["--approve", "auto"]);
    let [one, other] = [server.session().await, server.session().await];
    assert_ne!(one.id, other.id);
    let anew = |content: &str| json!({"path": "a.txt", "content": content});
    one.call("read_file", json!({"path": "a.txt"})).await;
    let refused = other.call("write_file", anew("other\n")).await;
    assert!(text(&refused).contains("was not read"), "{refused}");
    let written = one.call("write_file", anew("one\n")).await;
    assert_eq!(written["isError"], false, "{written}");
}

#[tokio::test]
async fn without_a_session_a_client_is_known_by_its_name() {
    let space = Space::new();
    let server = Server::start(&space, &["--approve", "auto"]);
    let call = async |client: &str, tool: &str, args: Value| {
        let params = json!({"name": tool, "arguments": args});
        let request = server.modern(client, "tools/call", params);
        answer(request.send().await.unwrap()).await["result"].clone()
    };
    call("ann", "read_file", json!({"path": "a.txt"})).await;
    let anew = json!({"path": "a.txt", "content": "four\n"});
    let refused = call("bob", "write_file", anew.clone()).await;
    assert!(text(&refused).contains("was not read"), "{refused}");
    let written = call("ann", "write_file", anew).await;
    assert_eq!(written["isError"], false, "{written}");
}

#[tokio::test]
async fn a_session_ends_when_its_client_says_so() {
    let space = Space::new();
    let server = Server::start(&space, &[]);
    let session = server.session().await;
    let delete = server.client.delete(server.url());
    let delete = delete.header("Mcp-Session-Id", &session.id);
    assert!(delete.send().await.unwrap().status().is_success());
    let after = session.request(1, "ping", json!({})).send().await.unwrap();
    assert_eq!(after.status(), 404);
}

#[tokio::test]
async fn progress_comes_on_the_stream_of_its_call() {
    let space = Space::new();
    let server = Server::start(&space, &["--approve", "auto"]);
    let session = server.session().await;
    let slow = json!({
        "name": "bash",
        "arguments": {"command": "sleep 4"},
        "_meta": {"progressToken": 5},
    });
    let with_session = session.request(1, "tools/call", slow.clone());
    let without = server.modern("test", "tools/call", slow);
    let both = futures_util::future::join(with_session.send(), without.send()).await;
    for response in [both.0.unwrap(), both.1.unwrap()] {
        let headers = response.headers().clone();
        let messages = messages(&headers, &response.text().await.unwrap());
        let (last, before) = messages.split_last().unwrap();
        assert_eq!(last["result"]["isError"], false, "{last}");
        assert!(!before.is_empty());
        for message in before {
            assert_eq!(message["method"], "notifications/progress", "{message}");
            assert_eq!(message["params"]["progressToken"], 5);
        }
    }
}

#[tokio::test]
async fn a_cancelled_call_ends_its_processes() {
    let space = Space::new();
    let server = Server::start(&space, &["--approve", "auto"]);
    let session = server.session().await;
    let (command, alive) = space.held("sleep 1000");
    let params = json!({"name": "bash", "arguments": {"command": command, "timeout": 600}});
    let call = session.request(3, "tools/call", params);
    let response = call.send().await.unwrap();
    let gone = alive.up();
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 3}});
    assert_eq!(session.post(&cancel).send().await.unwrap().status(), 202);
    tokio::task::spawn_blocking(gone).await.unwrap();
    drop(response);
    let read = session.call("read_file", json!({"path": "a.txt"})).await;
    assert_eq!(read["isError"], false);
}

#[tokio::test]
async fn without_a_session_a_client_cancels_by_leaving() {
    let space = Space::new();
    let server = Server::start(&space, &["--approve", "auto"]);
    let (command, alive) = space.held("sleep 1000");
    let params = json!({
        "name": "bash",
        "arguments": {"command": command, "timeout": 600},
        "_meta": {"progressToken": 1},
    });
    let request = server.modern("test", "tools/call", params);
    let response = tokio::spawn(request.send());
    let gone = tokio::task::spawn_blocking(move || alive.up())
        .await
        .unwrap();
    response.abort();
    drop(response.await);
    tokio::task::spawn_blocking(gone).await.unwrap();
}

#[tokio::test]
async fn it_ends_with_its_sessions_and_their_streams() {
    let space = Space::new();
    let mut server = Server::start(&space, &["--approve", "auto"]);
    let session = server.session().await;
    let stream = server
        .client
        .get(server.url())
        .header("Accept", "text/event-stream")
        .header("Mcp-Session-Id", &session.id);
    let stream = stream.send().await.unwrap();
    assert_eq!(stream.status(), 200);
    // A call that is short enough is completed.
    let (command, alive) = space.held("until [ -e go ]; do sleep 0.05; done; echo done > done");
    let short = json!({"name": "bash", "arguments": {"command": command}});
    let response = session
        .request(1, "tools/call", short)
        .send()
        .await
        .unwrap();
    let mut body = response.bytes_stream();
    drop(alive.up());
    server.signal(Signal::INT);
    server.says("finishing what is under way");
    space.write("go", "");
    let mut all = Vec::new();
    while let Some(Ok(bytes)) = body.next().await {
        all.extend_from_slice(&bytes);
    }
    assert!(server.ended().success());
    assert_eq!(space.read("done"), "done\n");
    let all = String::from_utf8(all).unwrap();
    assert!(all.contains("\"isError\":false"), "{all}");
    drop(stream.text().await);
}

#[tokio::test]
async fn a_long_call_ends_with_the_server() {
    let space = Space::new();
    let mut server = Server::start(&space, &["--approve", "auto"]);
    let session = server.session().await;
    let (command, alive) = space.held("trap '' TERM; sleep 1000");
    let params = json!({"name": "bash", "arguments": {"command": command, "timeout": 600}});
    let call = session.request(3, "tools/call", params);
    let _response = call.send().await.unwrap();
    let gone = alive.up();
    server.signal(Signal::TERM);
    assert!(server.ended().success());
    gone();
}
