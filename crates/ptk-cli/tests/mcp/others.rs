//! Servers that others have written, with the official SDK for Python.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::scene::{Scene, script};

/// The Python that has the SDK.
fn python() -> PathBuf {
    let clients = std::env::var_os("PTK_TEST_CLIENTS")
        .expect("PTK_TEST_CLIENTS does not say where the clients are; run `scripts/test test`");
    PathBuf::from(clients).join("python/bin/python")
}

fn quoted(path: &Path) -> String {
    Value::from(path.to_str().unwrap()).to_string()
}

/// What every way to the server has to give.
fn check(scene: &Scene) {
    let tested = scene.tested();
    assert_eq!(tested["revision"], "2026-07-28", "{tested}");
    assert_eq!(tested["tools"].as_array().unwrap().len(), 3, "{tested}");
    let result = scene.call("test__add", r#"{"a": 2, "b": "3"}"#);
    assert_eq!(result["content"], "5", "{result}");
    let result = scene.call("test__draw", "{}");
    assert_eq!(result["parts"][0]["media_type"], "image/png", "{result}");
    let result = scene.call("test__work", r#"{"steps": 2}"#);
    assert_eq!(result["content"], "done", "{result}");
}

#[test]
fn a_server_of_the_python_sdk_is_used_on_its_standard_streams() {
    let scene = Scene::empty();
    let server = script("sdk_server.py");
    scene.write_config(&format!(
        "[mcp.servers.test]\ncommand = [{}, {}, \"stdio\"]\nread = [{}]\n",
        quoted(&python()),
        quoted(&server),
        quoted(server.parent().unwrap()),
    ));
    check(&scene);
}

/// A server over HTTP, which ends with this value.
struct HttpServer {
    child: Child,
    port: u16,
}

impl HttpServer {
    fn start(answers: &str) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let mut child = Command::new(python())
            .arg(script("sdk_server.py"))
            .args(["http", &port.to_string(), answers])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut lines = lines.map(Result::unwrap);
        assert!(lines.any(|line| line.contains("Uvicorn running on")));
        // It writes a line for each request, and would block on a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, port }
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_server_of_the_python_sdk_is_used_over_http() {
    for answers in ["json", "events"] {
        let server = HttpServer::start(answers);
        let scene = Scene::empty();
        let port = server.port;
        scene.write_config(&format!(
            "[mcp.servers.test]\nurl = \"http://127.0.0.1:{port}/mcp\"\n"
        ));
        check(&scene);
    }
}
