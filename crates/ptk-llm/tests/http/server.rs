//! A server that gives prepared answers, and remembers the requests.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use ptk_llm::http::{HttpProvider, Key, Kind};
use ptk_llm::{Completion, LlmError, Message, Request, complete};
use ptk_protocol::{ToolSpec, Toolset};
use serde_json::{Value, json};

/// A request that the server received.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) head: String,
    pub(crate) body: Value,
}

/// An answer of the server.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    bytes: Vec<u8>,
    /// How many bytes are sent at once.
    piece: usize,
    /// Whether the connection stays open afterwards.
    stays: bool,
}

impl Answer {
    pub(crate) fn new(status: &str, kind: &str, body: impl AsRef<[u8]>) -> Self {
        let mut bytes =
            format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n")
                .into_bytes();
        bytes.extend_from_slice(body.as_ref());
        Self {
            bytes,
            piece: usize::MAX,
            stays: false,
        }
    }

    /// A stream of events, each with its name if it has one.
    pub(crate) fn events(events: &[Value]) -> Self {
        let events = events.iter().map(|event| match event["type"].as_str() {
            Some(name) if event.get("choices").is_none() => {
                format!("event: {name}\ndata: {event}\n\n")
            }
            _ => format!("data: {event}\n\n"),
        });
        Self::stream(events.collect::<String>())
    }

    /// JSON by the line.
    pub(crate) fn lines(lines: &[Value]) -> Self {
        let lines = lines.iter().map(|line| format!("{line}\n"));
        Self::new("200 OK", "application/x-ndjson", lines.collect::<String>())
    }

    pub(crate) fn stream(body: impl AsRef<[u8]>) -> Self {
        Self::new("200 OK", "text/event-stream", body)
    }

    pub(crate) fn json(body: &Value) -> Self {
        Self::new("200 OK", "application/json", body.to_string())
    }

    pub(crate) fn in_pieces(self, piece: usize) -> Self {
        Self { piece, ..self }
    }

    pub(crate) fn and_stays(self) -> Self {
        Self {
            stays: true,
            ..self
        }
    }
}

pub(crate) struct Server {
    pub(crate) address: String,
    asked: Receiver<Asked>,
    /// Dropped, it closes connections that stay open.
    _open: Sender<()>,
}

impl Server {
    /// Creates a server with these answers, one for each request.
    pub(crate) fn new(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (tell, asked) = channel();
        let (open, until) = channel::<()>();
        thread::spawn(move || {
            let mut kept = Vec::new();
            for answer in answers {
                let Ok((mut stream, _)) = listener.accept() else {
                    return;
                };
                stream.set_nodelay(true).unwrap();
                let Some(request) = read(&mut stream) else {
                    continue;
                };
                let _ = tell.send(request);
                let size = answer.piece.min(answer.bytes.len().max(1));
                for piece in answer.bytes.chunks(size) {
                    if stream
                        .write_all(piece)
                        .and_then(|()| stream.flush())
                        .is_err()
                    {
                        break;
                    }
                }
                if answer.stays {
                    kept.push(stream);
                }
            }
            let _ = until.recv();
        });
        Self {
            address,
            asked,
            _open: open,
        }
    }

    pub(crate) fn provider(&self, kind: Kind) -> HttpProvider {
        let provider = HttpProvider::at(kind, &self.address).unwrap();
        provider
            .with_model("tiny")
            .key(Key::new("sk-secret-0123456789"))
    }

    pub(crate) fn asked(&self) -> Asked {
        self.asked.recv().unwrap()
    }
}

fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length")
                    .then(|| value.trim().parse::<usize>().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                let path = head.split(' ').nth(1)?.to_owned();
                return Some(Asked {
                    path,
                    head: head.to_lowercase(),
                    // A request for a list has none.
                    body: serde_json::from_str(body).unwrap_or_default(),
                });
            }
        }
        match stream.read(&mut part) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&part[..count]),
        }
    }
}

/// One reply of such a server to a small request.
pub(crate) async fn replied(kind: Kind, answer: Answer) -> Result<Completion, LlmError> {
    let server = Server::new(vec![answer]);
    complete(&server.provider(kind), &request()).await
}

pub(crate) fn request() -> Request {
    Request::new([Message::user("What is in a.txt?")])
        .system("Be brief.")
        .tools(tools())
        .max_tokens(100)
}

pub(crate) fn tools() -> Toolset {
    let parameters = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"path": {"type": "string", "description": "The file"}},
        "required": ["path"],
        "additionalProperties": false,
    });
    let tool = ToolSpec::new("read_file", "Read a file", parameters);
    Toolset::new([tool]).unwrap()
}

/// A conversation with native calls: two at once, one of which failed.
pub(crate) fn conversation() -> Request {
    let call = |id: &str, path: &str| {
        let args = ptk_protocol::Arguments::from_json(&json!({"path": path}).to_string()).unwrap();
        ptk_protocol::ToolCall::new("read_file", args).with_id(id)
    };
    let result = |id: &str, text: &str, is_error| Message::Result {
        id: id.to_owned(),
        name: "read_file".to_owned(),
        text: text.to_owned(),
        is_error,
    };
    let mut request = request();
    request.messages.extend([
        Message::Assistant {
            text: String::new(),
            calls: vec![call("c1", "a.txt"), call("c2", "b.txt")],
            state: None,
        },
        result("c1", "hello", false),
        result("c2", "no such file", true),
        Message::system("Answer now."),
    ]);
    request
}
