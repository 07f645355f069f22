//! The server over HTTP, and a client that speaks to it by hand.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStderr, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use reqwest::header::HeaderMap;
use reqwest::{Client, RequestBuilder, Response};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::space::Space;
use crate::stdio::{MODERN, SESSIONS, modern_meta};

/// A server that is ended when it is dropped.
pub(crate) struct Server {
    child: Child,
    /// Held open, for the server writes to it.
    stderr: BufReader<ChildStderr>,
    /// `HOST:PORT`.
    pub(crate) address: String,
    pub(crate) client: Client,
}

impl Server {
    pub(crate) fn start(space: &Space, args: &[&str]) -> Self {
        Self::with(space, args, &[])
    }

    pub(crate) fn with(space: &Space, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let all = [&["mcp", "serve", "--listen", "127.0.0.1:0"], args].concat();
        let mut child = space
            .command(&all)
            .envs(variables.iter().copied())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut first = String::new();
        stderr.read_line(&mut first).unwrap();
        let address = first.trim_end().strip_prefix("listening on http://");
        let address = address.unwrap_or_else(|| panic!("{first}")).to_owned();
        Self {
            child,
            stderr,
            address,
            client: ptk_http::client().build().unwrap(),
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// A request with a message, as the protocol wants it.
    pub(crate) fn post(&self, message: &Value) -> RequestBuilder {
        self.client
            .post(self.url())
            .header("Accept", "application/json, text/event-stream")
            .header("Content-Type", "application/json")
            .body(message.to_string())
    }

    /// Begins a session.
    pub(crate) async fn session(&self) -> Session<'_> {
        let response = self.post(&initialize()).send().await.unwrap();
        assert_eq!(response.status(), 200);
        let id = response.headers()["mcp-session-id"].to_str().unwrap();
        let id = id.to_owned();
        let begun = answer(response).await;
        assert_eq!(begun["result"]["protocolVersion"], SESSIONS, "{begun}");
        let session = Session { server: self, id };
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let told = session.post(&initialized).send().await.unwrap();
        assert_eq!(told.status(), 202);
        session
    }

    /// A request without a session, from a client of this name.
    pub(crate) fn modern(&self, client: &str, method: &str, params: Value) -> RequestBuilder {
        let mut params = params;
        let mut meta = modern_meta(client, json!({}));
        for (name, value) in params["_meta"].as_object().into_iter().flatten() {
            meta[name] = value.clone();
        }
        params["_meta"] = meta;
        let name = params["name"].as_str().or(params["uri"].as_str());
        let name = name.map(str::to_owned);
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let request = self
            .post(&message)
            .header("MCP-Protocol-Version", MODERN)
            .header("Mcp-Method", method);
        match name {
            Some(name) => request.header("Mcp-Name", name),
            None => request,
        }
    }

    /// Waits until this is on stderr.
    pub(crate) fn says(&mut self, part: &str) {
        let mut line = String::new();
        while !line.contains(part) {
            line.clear();
            assert_ne!(self.stderr.read_line(&mut line).unwrap(), 0, "{part}");
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    pub(crate) fn ended(&mut self) -> ExitStatus {
        let since = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(since.elapsed() < Duration::from_secs(30), "it does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) struct Session<'s> {
    server: &'s Server,
    pub(crate) id: String,
}

impl Session<'_> {
    pub(crate) fn post(&self, message: &Value) -> RequestBuilder {
        self.server
            .post(message)
            .header("Mcp-Session-Id", &self.id)
            .header("MCP-Protocol-Version", SESSIONS)
    }

    pub(crate) fn request(&self, id: u64, method: &str, params: Value) -> RequestBuilder {
        self.post(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    }

    pub(crate) async fn call(&self, tool: &str, args: Value) -> Value {
        let params = json!({"name": tool, "arguments": args});
        let response = self.request(7, "tools/call", params).send().await.unwrap();
        answer(response).await["result"].clone()
    }
}

pub(crate) fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": SESSIONS,
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }})
}

/// The messages in a body, whether it is one of them or a stream.
pub(crate) fn messages(headers: &HeaderMap, body: &str) -> Vec<Value> {
    let kind = headers["content-type"].to_str().unwrap();
    if kind.starts_with("application/json") {
        return vec![serde_json::from_str(body).unwrap()];
    }
    assert!(kind.starts_with("text/event-stream"), "{kind}: {body}");
    let data = body.lines().filter_map(|line| line.strip_prefix("data:"));
    let data = data.map(str::trim).filter(|data| !data.is_empty());
    data.map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

/// The answer in a response, which is its last message.
pub(crate) async fn answer(response: Response) -> Value {
    let headers = response.headers().clone();
    let body = response.text().await.unwrap();
    messages(&headers, &body).pop().unwrap()
}
