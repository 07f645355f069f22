//! What no client should send.

use serde_json::json;

use crate::space::Space;
use crate::stdio::{Client, text};

/// Asserts that the server still does what it should.
fn still_works(client: &mut Client) {
    let read = client.call("read_file", json!({"path": "a.txt"}));
    assert_eq!(read["isError"], false, "{read}");
}

#[test]
fn what_is_not_a_message_does_no_harm() {
    let space = Space::new();
    let mut client = Client::new(&space, &[]);
    for line in [
        "",
        "\r",
        "nonsense",
        "{\"jsonrpc\": \"2.0\", \"id\": 1, ",
        "[]",
        "null",
        "42",
        "\"text\"",
        "{}",
        "[{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\"}]",
        "{\"jsonrpc\": \"1.0\", \"id\": 1, \"method\": \"ping\"}",
        "{\"jsonrpc\": \"2.0\", \"id\": {}, \"method\": \"ping\"}",
        "{\"jsonrpc\": \"2.0\", \"id\": 99999999999999999999999, \"method\": \"ping\"}",
        "{\"jsonrpc\": \"2.0\", \"id\": 1, \"result\": {}}",
        "{\"jsonrpc\": \"2.0\", \"id\": 77, \"error\": {\"code\": 1, \"message\": \"\"}}",
        "{\"jsonrpc\": \"2.0\", \"method\": \"notifications/cancelled\", \"params\": {\"requestId\": 12345}}",
        "{\"jsonrpc\": \"2.0\", \"method\": \"notifications/cancelled\"}",
        "{\"jsonrpc\": \"2.0\", \"method\": \"notifications/nonsense\", \"params\": []}",
    ] {
        client.write(format!("{line}\n").as_bytes());
        still_works(&mut client);
    }
    client.write(b"\xff\xfe{\"jsonrpc\"\xc3\x28\n");
    client.write(b"\0\0\0\n");
    still_works(&mut client);
}

#[test]
fn deep_nesting_does_no_harm() {
    let space = Space::new();
    let mut client = Client::new(&space, &[]);
    for depth in [100, 127, 1000, 1_000_000] {
        let [open, close] = ["[", "]"].map(|bracket| bracket.repeat(depth));
        client.write(
            format!(
                "{{\"jsonrpc\": \"2.0\", \"id\": \"deep\", \"method\": \"tools/call\", \"params\": {{\"name\": \"repair\", \"arguments\": {{\"text\": {open}{close}}}}}}}\n"
            )
            .as_bytes(),
        );
        client.write(format!("{open}\n").as_bytes());
        still_works(&mut client);
    }
    let deep = client.call("repair", json!({"text": "[".repeat(100_000)}));
    assert_eq!(deep["isError"], true, "{deep}");
    still_works(&mut client);
}

#[test]
fn a_long_line_is_a_message_and_a_longer_one_is_left_out() {
    let space = Space::new();
    let mut client = Client::new(&space, &["--approve", "auto"]);
    let content = "x".repeat(10 * 1024 * 1024);
    let written = client.call(
        "write_file",
        json!({"path": "long.txt", "content": content}),
    );
    assert_eq!(written["isError"], false, "{}", text(&written));
    assert_eq!(space.read("long.txt").len(), content.len());
    client.write(&b"y".repeat(20 * 1024 * 1024));
    client.write(b"\n");
    still_works(&mut client);
}

#[test]
fn before_a_session_begins_nothing_is_done() {
    let space = Space::new();
    let mut client = Client::silent(&space, &["--approve", "auto"]);
    let params = json!({"name": "write_file", "arguments": {"path": "x", "content": "y"}});
    let refused = client.request("tools/call", params);
    assert!(refused["error"]["code"].is_i64(), "{refused}");
    assert!(!space.path("x").exists());
    client.initialize(crate::stdio::SESSIONS, json!({}));
    still_works(&mut client);
}
