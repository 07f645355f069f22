//! How a connection begins and ends.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::space::{Space, err};
use crate::stdio::{Client, MODERN, SESSIONS};

#[test]
fn every_revision_with_a_session_is_spoken() {
    let space = Space::new();
    for version in [SESSIONS, "2025-06-18", "2025-03-26", "2024-11-05"] {
        let mut client = Client::silent(&space, &[]);
        let begun = client.initialize(version, json!({}));
        assert_eq!(begun["protocolVersion"], version);
        assert_eq!(begun["serverInfo"]["name"], "ptk");
        // What never changes is not announced to change.
        assert_eq!(begun["capabilities"], json!({"tools": {}, "resources": {}}));
        let folder = space.path("").canonicalize().unwrap();
        let told = begun["instructions"].as_str().unwrap();
        assert!(told.contains(folder.to_str().unwrap()), "{told}");
        assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    }
    let mut client = Client::silent(&space, &[]);
    let begun = client.initialize("1999-01-01", json!({}));
    assert_eq!(begun["protocolVersion"], SESSIONS);
}

#[test]
fn the_revision_without_a_session_is_spoken() {
    let space = Space::new();
    let mut client = Client::modern(&space, &[], json!({}));
    let found = client.request("server/discover", json!({}))["result"].clone();
    let versions = found["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!(MODERN)) && versions.contains(&json!(SESSIONS)));
    assert_eq!(found["capabilities"], json!({"tools": {}, "resources": {}}));
    let tools = client.request("tools/list", json!({}))["result"].clone();
    assert_eq!(tools["resultType"], "complete");
    assert!(tools["tools"].as_array().unwrap().len() > 8);
}

#[test]
fn a_probe_for_the_newer_revision_may_be_followed_by_a_session() {
    let space = Space::new();
    let mut client = Client::silent(&space, &[]);
    let meta = crate::stdio::modern_meta("test", json!({}));
    let probed = client.request("server/discover", json!({"_meta": meta}));
    assert!(probed["result"]["supportedVersions"].is_array());
    let begun = client.initialize(SESSIONS, json!({}));
    assert_eq!(begun["protocolVersion"], SESSIONS);
}

#[test]
fn it_ends_when_stdin_is_closed_or_by_a_signal() {
    let space = Space::new();
    assert!(Client::silent(&space, &[]).end().success());
    assert!(Client::new(&space, &[]).end().success());
    for signal in [Signal::INT, Signal::TERM] {
        let mut client = Client::new(&space, &[]);
        let pid = Pid::from_raw(client.pid().try_into().unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
        assert!(client.ended().success());
    }
}

#[test]
fn a_command_ends_with_the_connection() {
    let space = Space::new();
    let (command, alive) = space.held("trap '' TERM; sleep 1000");
    let mut client = Client::new(&space, &["--approve", "auto"]);
    let args = json!({"command": command, "timeout": 600});
    client.ask("tools/call", json!({"name": "bash", "arguments": args}));
    let gone = alive.up();
    assert!(client.end().success());
    gone();
}

#[test]
fn wrong_flags_are_told_before_anything_is_served() {
    let space = Space::new();
    for (args, told) in [
        (&["--tools", "read_fil"][..], "did you mean `read_file`?"),
        (&["--token-file", "t"], "--listen"),
        (&["--listen", "nowhere"], "the port is missing"),
        (&["--listen", "0.0.0.0:0"], "--token-file"),
    ] {
        let output = space.ptk(&[&["mcp", "serve"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{}", err(&output));
        assert!(err(&output).contains(told), "{told}: {}", err(&output));
        assert!(output.stdout.is_empty());
    }
}
