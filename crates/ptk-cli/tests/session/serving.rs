//! `ptk serve`: where it listens, what it says without a model, and its log.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Stdio};

use serde_json::{Value, json};

use crate::choosing::command;
use crate::scene::{Ended, Scene};

/// A gateway that is ended when it is dropped.
struct Gateway {
    child: Child,
    lines: BufReader<ChildStderr>,
    address: String,
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Gateway {
    fn start(scene: &Scene, listen: &str) -> Self {
        let mut serve = scene.command(&["serve", "--listen", listen]);
        let mut child = serve.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut first = String::new();
        lines.read_line(&mut first).unwrap();
        let address = first.trim_end().strip_prefix("listening on http://");
        Self {
            address: address.unwrap_or_else(|| panic!("{first}")).to_owned(),
            child,
            lines,
        }
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

#[test]
fn it_listens_at_a_port_and_at_a_name() {
    let scene = Scene::new(&[json!("Hello.")]);
    for listen in ["0", "localhost:0", "127.0.0.1:0"] {
        let gateway = Gateway::start(&scene, listen);
        assert!(gateway.address.starts_with("127.0.0.1:"), "{listen}");
        let answer = gateway.get("/healthz");
        assert!(answer.starts_with("HTTP/1.1 200"), "{listen}: {answer}");
    }
    for (listen, said) in [
        ("localhost", "the port is missing"),
        ("70000", "no number up to 65535"),
        ("no-such-host.invalid:8787", "the name does not resolve"),
    ] {
        let ended = scene.ptk(&["serve", "--listen", listen]);
        assert_eq!(ended.code, 2, "{ended:?}");
        assert!(ended.err.contains(said), "{ended:?}");
        let how = "write it as 127.0.0.1:8787, localhost:8787 or 8787";
        assert!(ended.err.contains(how), "{ended:?}");
    }
    // Others could reach it at any address.
    let ended = scene.ptk(&["serve", "--listen", "0.0.0.0:0"]);
    assert!(ended.err.contains("--keys"), "{ended:?}");
}

#[test]
fn each_line_of_its_log_has_a_time() {
    let scene = Scene::new(&[json!("Hello.")]);
    let mut gateway = Gateway::start(&scene, "0");
    gateway.get("/v1/models");
    let mut line = String::new();
    gateway.lines.read_line(&mut line).unwrap();
    assert!(line.starts_with("{\"ts\":\""), "{line}");
    let line: Value = serde_json::from_str(&line).unwrap();
    let ts = line["ts"].as_str().unwrap();
    assert!(humantime::parse_rfc3339(ts).is_ok(), "{ts}");
    assert_eq!(line["path"], "/v1/models");
}

#[test]
fn without_a_model_it_says_how_to_pass_requests_on() {
    let scene = Scene::new(&[]);
    let mut serve = command(&scene, "127.0.0.1:9", &["serve", "--listen", "0"]);
    // A key in the environment is not spent on the requests of others.
    let ended = Ended::of(serve.env("OPENAI_API_KEY", "sk-secret").output().unwrap());
    assert_eq!(ended.code, 1, "{ended:?}");
    for said in [
        "--upstream http://…/v1",
        "docs/gateway.md",
        "OPENAI_API_KEY is set",
    ] {
        assert!(ended.err.contains(said), "{said}: {ended:?}");
    }
}
