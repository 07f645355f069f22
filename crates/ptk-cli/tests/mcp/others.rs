//! Servers that others have written: with the official SDK for Python, with
//! `FastMCP`, and the one of the official SDK for TypeScript that has a bit of
//! everything.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::scene::{Run, Scene, calls, script};

/// A file of the packages that `scripts/test test` installs.
fn installed(path: &str) -> PathBuf {
    let clients = std::env::var_os("PTK_TEST_CLIENTS")
        .expect("PTK_TEST_CLIENTS does not say where the clients are; run `scripts/test test`");
    PathBuf::from(clients).join(path)
}

fn quoted(path: &Path) -> String {
    Value::from(path.to_str().unwrap()).to_string()
}

/// A server of others.
struct Program {
    /// What runs it.
    runtime: PathBuf,
    script: PathBuf,
    /// What it has to read besides.
    folder: PathBuf,
    /// The arguments for its standard streams, and for HTTP at `PORT`.
    streams: &'static [&'static str],
    http: &'static [&'static str],
    /// What it writes when it listens.
    listens: &'static str,
}

impl Program {
    fn of_python(environment: &str, name: &str) -> Self {
        Self {
            runtime: installed(environment).join("bin/python"),
            script: script(name),
            folder: script(""),
            streams: &["stdio"],
            http: &["http", "PORT"],
            listens: "Uvicorn running on",
        }
    }

    fn sdk() -> Self {
        Self::of_python("python", "sdk_server.py")
    }

    fn fastmcp() -> Self {
        Self::of_python("fastmcp", "fastmcp_server.py")
    }

    fn everything() -> Self {
        let modules = installed("mcp-servers/node_modules");
        Self {
            runtime: modules.join(".bin/node"),
            script: modules.join("@modelcontextprotocol/server-everything/dist/index.js"),
            folder: modules,
            streams: &["stdio"],
            http: &["streamableHttp"],
            listens: "listening on port",
        }
    }

    /// A scene with this server, on its standard streams.
    fn on_streams(&self) -> Scene {
        let scene = Scene::empty();
        let arguments = self.streams.iter().map(|it| format!(", {it:?}"));
        scene.write_config(&format!(
            "[mcp.servers.test]\ncommand = [{}, {}{}]\nread = [{}]\n",
            quoted(&self.runtime),
            quoted(&self.script),
            arguments.collect::<String>(),
            quoted(&self.folder),
        ));
        scene
    }

    /// A scene with this server, over HTTP. It ends with the returned value.
    fn over_http(&self, more: &[&str]) -> (Scene, HttpServer) {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port().to_string();
        drop(free);
        let arguments = self
            .http
            .iter()
            .map(|it| if *it == "PORT" { port.as_str() } else { *it });
        let mut child = Command::new(&self.runtime)
            .arg(&self.script)
            .args(arguments)
            .args(more)
            .env("PORT", &port)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut lines = lines.map(Result::unwrap);
        assert!(lines.any(|line| line.contains(self.listens)));
        // It writes a line for each request, and would block on a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let scene = Scene::empty();
        scene.write_config(&format!(
            "[mcp.servers.test]\nurl = \"http://127.0.0.1:{port}/mcp\"\n"
        ));
        (scene, HttpServer(child))
    }
}

/// A server over HTTP, which ends with this value.
struct HttpServer(Child);

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The names of the server's tools.
fn tools(tested: &Value) -> Vec<&str> {
    let tools = tested["tools"].as_array().unwrap();
    let names = tools.iter().map(|tool| tool["remote_name"].as_str());
    names.map(Option::unwrap).collect()
}

/// A run in which a model makes these calls, one after the other.
fn converse(scene: &Scene, made: &[(&str, Value)]) -> Run {
    let mut replies: Vec<Value> = made
        .iter()
        .map(|(tool, args)| calls(&[(*tool, args.clone())]))
        .collect();
    replies.push(json!("Done."));
    let run = scene.converse(&json!(replies));
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    run
}

/// A part of a result that is kept under a handle.
fn assert_kept(part: &Value, media_type: &str, bytes: usize) {
    assert_eq!(part["media_type"], media_type, "{part}");
    assert_eq!(part["bytes"], bytes, "{part}");
    let handle = part["handle"].as_str().unwrap();
    assert!(handle.starts_with("output:"), "{part}");
}

/// Progress that was shown. What is reported just before a result may come too late.
fn assert_reported(run: &Run, step: &str) {
    let progress = run.progress();
    assert!(progress.iter().any(|it| it == step), "{progress:?}");
}

/// What every way to the server of the Python SDK has to give.
fn check_sdk(scene: &Scene) {
    let tested = scene.tested();
    assert_eq!(tested["revision"], "2026-07-28", "{tested}");
    assert_eq!(tools(&tested).len(), 3, "{tested}");
    let result = scene.call("test__add", r#"{"a": 2, "b": "3"}"#);
    assert_eq!(result["content"], "5", "{result}");
    let result = scene.call("test__draw", "{}");
    assert_eq!(result["parts"][0]["media_type"], "image/png", "{result}");
    let result = scene.call("test__work", r#"{"steps": 2}"#);
    assert_eq!(result["content"], "done", "{result}");
}

#[test]
fn a_server_of_the_python_sdk_is_used_on_its_standard_streams() {
    check_sdk(&Program::sdk().on_streams());
}

#[test]
fn a_server_of_the_python_sdk_is_used_over_http() {
    for answers in ["json", "events"] {
        let (scene, _server) = Program::sdk().over_http(&[answers]);
        check_sdk(&scene);
    }
}

/// What every way to the server of `FastMCP` has to give.
fn check_fastmcp(scene: &Scene) {
    let tested = scene.tested();
    assert_eq!(tested["server"], "fast 1.0", "{tested}");
    assert_eq!(tested["revision"], "2026-07-28", "{tested}");
    let names = ["weigh", "refuse", "photograph", "report", "calibrate"];
    assert_eq!(tools(&tested), names, "{tested}");
    let run = converse(
        scene,
        &[
            ("test__weigh", json!({"item": "apple"})),
            ("test__weigh", json!({"item": 3, "unit": "g"})),
            ("test__refuse", json!({"item": "pear"})),
            ("test__photograph", json!({})),
            ("test__report", json!({})),
            ("test__calibrate", json!({"steps": 20})),
        ],
    );
    let weighed = run.results("test__weigh");
    let apple = json!({"grams": 500.0, "is_heavy": false});
    assert_eq!(weighed[0]["data"], apple, "{weighed:?}");
    assert_eq!(weighed[0].get("content"), None, "the value stands once");
    // The server would refuse it as well.
    assert_eq!(weighed[1]["error_type"], "validation_error", "{weighed:?}");
    let refused = run.result("test__refuse");
    assert_eq!(refused["success"], false, "{refused}");
    assert!(
        refused["error"]
            .as_str()
            .unwrap()
            .contains("There is no pear"),
        "{refused}"
    );
    let photograph = run.result("test__photograph");
    assert_eq!(photograph["content"], "Here.", "{photograph}");
    assert_kept(&photograph["parts"][0], "image/png", 8);
    let report = run.result("test__report");
    assert_kept(&report["parts"][0], "application/pdf", 8);
    assert_eq!(report["parts"][0]["uri"], "file:///report.pdf", "{report}");
    assert_reported(&run, "step 1 (1 of 20)");
    assert_eq!(run.result("test__calibrate")["content"], "calibrated");
}

#[test]
fn a_server_of_fastmcp_is_used_on_its_standard_streams() {
    check_fastmcp(&Program::fastmcp().on_streams());
}

#[test]
fn a_server_of_fastmcp_is_used_over_http() {
    let (scene, _server) = Program::fastmcp().over_http(&[]);
    check_fastmcp(&scene);
}

/// What every way to the server of the TypeScript SDK has to give.
fn check_everything(scene: &Scene) {
    let tested = scene.tested();
    assert_eq!(tested["server"], "mcp-servers/everything 2.0.0", "{tested}");
    assert_eq!(tested["revision"], "2025-11-25", "{tested}");
    assert_eq!(tested["quarantined"], json!([]), "{tested}");
    let names = tools(&tested);
    assert!(names.contains(&"get-structured-content"), "{names:?}");
    // It offers some only to clients that can do more.
    assert!(!names.contains(&"trigger-sampling-request"), "{names:?}");
    assert!(!names.contains(&"get-roots-list"), "{names:?}");
    let run = converse(
        scene,
        &[
            ("test__get-sum", json!({"a": 2, "b": 3})),
            (
                "test__get-structured-content",
                json!({"location": "New York"}),
            ),
            ("test__get-tiny-image", json!({})),
            (
                "test__get-resource-reference",
                json!({"resourceType": "Blob", "resourceId": 1}),
            ),
            (
                "test__get-resource-reference",
                json!({"resourceType": "Text", "resourceId": -1}),
            ),
            ("test__get-resource-links", json!({"count": 2})),
            (
                "test__trigger-long-running-operation",
                json!({"duration": 0, "steps": 20}),
            ),
        ],
    );
    let sum = run.result("test__get-sum");
    assert_eq!(sum["content"], "The sum of 2 and 3 is 5.", "{sum}");
    let weather = run.result("test__get-structured-content");
    assert_eq!(weather["data"]["conditions"], "Cloudy", "{weather}");
    assert_eq!(weather.get("content"), None, "{weather}");
    let image = run.result("test__get-tiny-image");
    assert_kept(&image["parts"][0], "image/png", 4033);
    let resources = run.results("test__get-resource-reference");
    let part = &resources[0]["parts"][0];
    assert_eq!(part["uri"], "demo://resource/dynamic/blob/1", "{part}");
    assert!(part["handle"].as_str().unwrap().starts_with("output:"));
    let error = resources[1]["error"].as_str().unwrap();
    assert!(error.contains("Invalid resourceId: -1"), "{error}");
    let links = run.result("test__get-resource-links");
    assert_eq!(links["parts"].as_array().unwrap().len(), 2, "{links}");
    assert_eq!(links["parts"][0]["type"], "resource_link", "{links}");
    assert_reported(&run, "1 of 20");
}

#[test]
fn the_server_with_a_bit_of_everything_is_used_on_its_standard_streams() {
    check_everything(&Program::everything().on_streams());
}

#[test]
fn the_server_with_a_bit_of_everything_is_used_over_http() {
    let (scene, _server) = Program::everything().over_http(&[]);
    check_everything(&scene);
}
