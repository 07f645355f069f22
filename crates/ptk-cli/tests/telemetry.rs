//! The binary exports spans if OpenTelemetry's variable is set.

#![cfg(feature = "otel")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::thread;

use assert_cmd::cargo::cargo_bin;

fn list_files(endpoint: &str) -> Output {
    Command::new(cargo_bin!("ptk"))
        .args(["tools", "call", "list_files", "{}"])
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .env("XDG_CONFIG_HOME", "/nonexistent")
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
        .output()
        .unwrap()
}

/// Reads a request to its end, and answers it.
fn answered(mut stream: TcpStream) -> String {
    let mut request = Vec::new();
    let mut part = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&request).into_owned();
        let wanted = text.split_once("\r\n\r\n").and_then(|(head, _)| {
            let head_length = head.len() + 4;
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                let is_length = name.eq_ignore_ascii_case("content-length");
                is_length.then(|| value.trim().parse::<usize>().ok())?
            });
            Some(head_length + length?)
        });
        if wanted.is_some_and(|wanted| request.len() >= wanted) {
            break;
        }
        match stream.read(&mut part) {
            Ok(0) | Err(_) => break,
            Ok(length) => request.extend_from_slice(&part[..length]),
        }
    }
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    stream.write_all(answer.as_bytes()).unwrap();
    String::from_utf8_lossy(&request).into_owned()
}

#[test]
fn spans_of_a_call_are_sent_before_the_program_ends() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let receiver = thread::spawn(move || {
        // Spans and metrics, in either order.
        [(); 2].map(|()| answered(listener.accept().unwrap().0))
    });
    let output = list_files(&endpoint);
    assert!(output.status.success(), "{output:?}");
    let sent = receiver.join().unwrap().concat();
    assert!(sent.contains("POST /v1/traces"), "{sent}");
    assert!(sent.contains("execute_tool list_files"), "{sent}");
    assert!(sent.contains("POST /v1/metrics"), "{sent}");
}

#[test]
fn who_is_not_there_is_only_warned_about() {
    let output = list_files("not an address");
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("OTEL_EXPORTER_OTLP_ENDPOINT"), "{said}");
}
