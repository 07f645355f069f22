//! A client that speaks to the server by hand, a line at a time.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::space::Space;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const SESSIONS: &str = "2025-11-25";

pub(crate) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    next: u64,
    /// The `_meta` of each request, in revisions without a session.
    meta: Option<Value>,
    /// What came besides answers.
    pub(crate) notifications: Vec<Value>,
}

impl Client {
    /// A server to which nothing was said yet.
    pub(crate) fn silent(space: &Space, args: &[&str]) -> Self {
        let args = [&["mcp", "serve"], args].concat();
        let mut child = space
            .command(&args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (sender, messages) = channel();
        thread::spawn(move || {
            while let Some(Ok(line)) = lines.next() {
                let message = serde_json::from_str(&line);
                let message = message.unwrap_or_else(|_| panic!("not of the protocol: {line}"));
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        Self {
            stdin: child.stdin.take(),
            child,
            messages,
            next: 1,
            meta: None,
            notifications: Vec::new(),
        }
    }

    /// A client with a session, which can show no questions.
    pub(crate) fn new(space: &Space, args: &[&str]) -> Self {
        let mut client = Self::silent(space, args);
        client.initialize(SESSIONS, json!({}));
        client
    }

    /// A client that begins no session.
    pub(crate) fn modern(space: &Space, args: &[&str], capabilities: Value) -> Self {
        let mut client = Self::silent(space, args);
        client.meta = Some(modern_meta("test", capabilities));
        client
    }

    pub(crate) fn initialize(&mut self, version: &str, capabilities: Value) -> Value {
        let begun = self.request(
            "initialize",
            json!({
                "protocolVersion": version,
                "capabilities": capabilities,
                "clientInfo": {"name": "test", "version": "1"},
            }),
        );
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        begun["result"].clone()
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).unwrap();
        stdin.flush().unwrap();
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// Sends a request, and returns its id.
    pub(crate) fn ask(&mut self, method: &str, mut params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        if let Some(meta) = &self.meta {
            let mut meta = meta.clone();
            for (name, value) in params["_meta"].as_object().into_iter().flatten() {
                meta[name] = value.clone();
            }
            params["_meta"] = meta;
        }
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// The next message, whatever it is.
    pub(crate) fn receive(&self) -> Value {
        self.messages.recv_timeout(PATIENCE).unwrap()
    }

    /// The answer to the request with this id.
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.receive();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.notifications.push(message);
        }
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    pub(crate) fn call(&mut self, tool: &str, args: Value) -> Value {
        let params = json!({"name": tool, "arguments": args});
        let answer = self.request("tools/call", params);
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    /// Closes stdin, and waits for the end of the server.
    pub(crate) fn end(mut self) -> ExitStatus {
        self.stdin.take();
        self.ended()
    }

    /// Waits for the end of the server.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let since = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(since.elapsed() < PATIENCE, "it does not end");
            thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What each request says of itself in the revision 2026-07-28.
pub(crate) fn modern_meta(client: &str, capabilities: Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": client, "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

/// The text of a result.
pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}
