//! What clients get where a model makes a mistake: each kind of fault, through
//! each API, streamed and as a whole. Prints the table of `docs/gateway.md`:
//!
//! ```text
//! cargo run -p ptk-gateway --example faults
//! ```
//!
//! Each stream is requested with several chunk sizes, and has to give the same
//! result each time. Ends with an error if a call or text is lost, markup
//! leaks, or something wrong is passed on as if it were right.

#![allow(
    clippy::indexing_slicing,
    clippy::too_many_lines,
    reason = "JSON gives null for what is not there, and a list of faults is long"
)]

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write as _;
use std::num::NonZeroUsize;

use ptk_gateway::Gateway;
use ptk_llm::{Script, ScriptedCall, ScriptedError, ScriptedReply};
use ptk_model::{Mode, Model};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// The chunk sizes, in characters, beside the whole reply at once.
const SIZES: [usize; 6] = [1, 2, 3, 7, 16, 61];

type Anything = Box<dyn Error + Send + Sync>;

/// A kind of fault.
struct Fault {
    what: &'static str,
    replies: Vec<ScriptedReply>,
    mode: Mode,
    /// What the request asks beside the usual, in the format of chat
    /// completions.
    choice: Choice,
    /// The calls that are expected.
    right: Vec<(&'static str, Value)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Choice {
    Auto,
    Required,
    Weather,
    None,
    OneCall,
}

fn rome() -> Vec<(&'static str, Value)> {
    vec![("get_weather", json!({"city": "Rome", "days": 3}))]
}

const RIGHT: &str = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Rome\", \"days\": 3}}\n</tool_call>";

fn fault(what: &'static str, replies: &[&str]) -> Fault {
    Fault {
        what,
        replies: replies
            .iter()
            .map(|text| ScriptedReply::from(*text))
            .collect(),
        mode: Mode::Text,
        choice: Choice::Auto,
        right: rome(),
    }
}

impl Fault {
    fn choice(mut self, choice: Choice) -> Self {
        self.choice = choice;
        self
    }

    fn right(mut self, calls: Vec<(&'static str, Value)>) -> Self {
        self.right = calls;
        self
    }

    fn ends(mut self, reason: &str) -> Self {
        if let Some(first) = self.replies.first_mut() {
            first.finish_reason = Some(reason.to_owned());
        }
        self
    }

    fn fails(mut self, status: u16) -> Self {
        if let Some(last) = self.replies.last_mut() {
            last.error = Some(ScriptedError {
                status,
                message: "out of order".to_owned(),
            });
        }
        self
    }
}

fn native(what: &'static str, arguments: &[Value]) -> Fault {
    let reply = |arguments: &Value| ScriptedReply {
        tool_calls: vec![ScriptedCall {
            id: Some("call_1".to_owned()),
            name: "get_weather".to_owned(),
            arguments: arguments.clone(),
        }],
        ..ScriptedReply::default()
    };
    Fault {
        replies: arguments.iter().map(reply).collect(),
        mode: Mode::Native,
        ..fault(what, &[])
    }
}

fn faults() -> Vec<Fault> {
    let unknown = RIGHT.replace("get_weather", "get_weathers");
    let incomplete = RIGHT.replace("\"city\": \"Rome\", ", "");
    let other = "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.txt\"}}\n</tool_call>";
    let both = format!("{RIGHT}\n{other}");
    let read = ("read_file", json!({"path": "a.txt"}));
    let open =
        "Let me see.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Ro";
    let garbage = "<tool_call>\n%%% weather of Rome, please %%%\n</tool_call>";
    vec![
        fault("nothing wrong", &[&format!("I'll look.\n{RIGHT}")]),
        fault(
            "two calls, text between them",
            &[&format!("First.\n{RIGHT}\nThen.\n{other}")],
        )
        .right([rome(), vec![read.clone()]].concat()),
        fault("a comma too many", &[&RIGHT.replace("3}", "3,}")]),
        fault("single quotes", &[&RIGHT.replace('"', "'")]),
        fault(
            "a comment in the JSON",
            &[&RIGHT.replace("3}", "3 /* days */}")],
        ),
        fault("a number as a text", &[&RIGHT.replace("3}", "\"3\"}")]),
        fault(
            "arguments as a text of JSON",
            &[
                "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": \"{\\\"city\\\": \\\"Rome\\\", \\\"days\\\": 3}\"}\n</tool_call>",
            ],
        ),
        fault("no closing mark", &[RIGHT.trim_end_matches("</tool_call>")]),
        fault(
            "in a code fence",
            &[
                "```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Rome\", \"days\": 3}}\n```",
            ],
        ),
        fault(
            "bare JSON",
            &["{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Rome\", \"days\": 3}}"],
        ),
        fault(
            "another dialect than was taught",
            &["<get_weather>\n<city>Rome</city>\n<days>3</days>\n</get_weather>"],
        ),
        fault(
            "thoughts before the call",
            &[&format!("<think>Which city?</think>\n{RIGHT}")],
        ),
        fault("a name misspelt, mended when asked", &[&unknown, RIGHT]),
        fault("a name misspelt twice", &[&unknown, &unknown]).right(Vec::new()),
        fault(
            "text and a name misspelt twice",
            &[&format!("Let me see.\n{unknown}"), &unknown],
        )
        .right(Vec::new()),
        fault(
            "a parameter missing, mended when asked",
            &[&incomplete, RIGHT],
        ),
        fault("a parameter missing twice", &[&incomplete, &incomplete])
            .right(vec![("get_weather", json!({"days": 3}))]),
        fault("unreadable, mended when asked", &[garbage, RIGHT]),
        fault("unreadable twice", &[garbage, garbage]).right(Vec::new()),
        fault("breaks off", &[open, RIGHT]),
        fault("breaks off at the limit of tokens", &[open, RIGHT])
            .ends("length")
            .right(Vec::new()),
        fault("words where a call is required", &["It is warm.", RIGHT]).choice(Choice::Required),
        fault(
            "words twice where a call is required",
            &["It is warm.", "Warm!"],
        )
        .choice(Choice::Required)
        .right(Vec::new()),
        fault("another tool than the one that was named", &[other, RIGHT]).choice(Choice::Weather),
        fault("another tool twice", &[other, other])
            .choice(Choice::Weather)
            .right(Vec::new()),
        fault("a call where none is wanted", &[RIGHT, "It is warm."])
            .choice(Choice::None)
            .right(Vec::new()),
        fault("a call twice where none is wanted", &[RIGHT, RIGHT])
            .choice(Choice::None)
            .right(Vec::new()),
        fault("two calls where one is wanted", &[&both]).choice(Choice::OneCall),
        native(
            "native, a comma too many",
            &[json!("{\"city\": \"Rome\", \"days\": 3,}")],
        ),
        native(
            "native, a number as a text",
            &[json!({"city": "Rome", "days": "3"})],
        ),
        native(
            "native, arguments that are none",
            &[json!("Rome"), json!({"city": "Rome", "days": 3})],
        ),
        Fault {
            mode: Mode::Native,
            ..fault("native server, the call in the text", &[RIGHT])
        },
        fault("the server refuses", &[""])
            .fails(429)
            .right(Vec::new()),
        fault("the server fails in the middle", &["Let me see. It is"])
            .fails(500)
            .right(Vec::new()),
    ]
}

const CITY: &str = "get_weather";

/// The tools in the format of each API.
fn tools(face: Face) -> Value {
    let weather = json!({"type": "object", "properties": {
        "city": {"type": "string"}, "days": {"type": "integer"},
    }, "required": ["city"]});
    let file =
        json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    let tool = |name: &str, schema: Value| match face {
        Face::Chat | Face::Ollama => {
            json!({"type": "function", "function": {"name": name, "description": "", "parameters": schema}})
        }
        Face::Responses => json!({"type": "function", "name": name, "parameters": schema}),
        Face::Messages => json!({"name": name, "input_schema": schema}),
    };
    json!([tool(CITY, weather), tool("read_file", file)])
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Face {
    Chat,
    Responses,
    Messages,
    Ollama,
}

impl Face {
    const ALL: [Self; 4] = [Self::Chat, Self::Responses, Self::Messages, Self::Ollama];

    fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Responses => "/v1/responses",
            Self::Messages => "/v1/messages",
            Self::Ollama => "/api/chat",
        }
    }

    /// Whether its clients can request this at all.
    fn can(self, choice: Choice) -> bool {
        self != Self::Ollama || choice == Choice::Auto
    }

    fn request(self, choice: Choice, stream: bool) -> Value {
        let said = json!([{"role": "user", "content": "What is the weather in Rome?"}]);
        let mut body = json!({"model": "m", "stream": stream, "tools": tools(self)});
        let Some(fields) = body.as_object_mut() else {
            return body;
        };
        let mut put = |name: &str, value: Value| {
            fields.insert(name.to_owned(), value);
        };
        match self {
            Self::Responses => put("input", said),
            _ => put("messages", said),
        }
        if self == Self::Messages {
            put("max_tokens", json!(1000));
            match choice {
                Choice::Auto => {}
                Choice::Required => put("tool_choice", json!({"type": "any"})),
                Choice::Weather => put("tool_choice", json!({"type": "tool", "name": CITY})),
                Choice::None => put("tool_choice", json!({"type": "none"})),
                Choice::OneCall => {
                    put(
                        "tool_choice",
                        json!({"type": "auto", "disable_parallel_tool_use": true}),
                    );
                }
            }
            return body;
        }
        match choice {
            Choice::Auto => {}
            Choice::Required => put("tool_choice", json!("required")),
            Choice::Weather if self == Self::Responses => {
                put("tool_choice", json!({"type": "function", "name": CITY}));
            }
            Choice::Weather => put(
                "tool_choice",
                json!({"type": "function", "function": {"name": CITY}}),
            ),
            Choice::None => put("tool_choice", json!("none")),
            Choice::OneCall => put("parallel_tool_calls", json!(false)),
        }
        body
    }
}

/// An answer as a client parses it.
#[derive(Debug, Clone, Default, PartialEq)]
struct Got {
    text: String,
    /// The names of calls and the JSON of their arguments.
    calls: Vec<(String, String)>,
    finish: String,
    error: Option<String>,
    notes: Vec<String>,
}

impl Got {
    fn note(&mut self, value: &Value) {
        let problems = value.pointer("/ptk/problems").and_then(Value::as_array);
        let codes = problems
            .into_iter()
            .flatten()
            .filter_map(|it| it["code"].as_str());
        self.notes.extend(codes.map(str::to_owned));
    }

    fn of(face: Face, stream: bool, status: u16, body: &str) -> Result<Self, Anything> {
        let mut got = Self::default();
        if status != 200 {
            let value: Value = serde_json::from_str(body)?;
            let code = value.pointer("/error/code").or(value.get("code"));
            let code = code
                .or(value.pointer("/error/type"))
                .and_then(Value::as_str);
            let words = value.pointer("/error/ptk/text").and_then(Value::as_str);
            words.unwrap_or_default().clone_into(&mut got.text);
            got.error = Some(format!("{status} {}", code.unwrap_or_default()));
            return Ok(got);
        }
        if !stream {
            got.whole(face, &serde_json::from_str(body)?);
            return Ok(got);
        }
        let mut open: BTreeMap<u64, usize> = BTreeMap::new();
        for line in body.lines() {
            let data = match face {
                Face::Ollama => Some(line),
                _ => line.strip_prefix("data: "),
            };
            let Some(data) = data.filter(|data| !data.is_empty() && *data != "[DONE]") else {
                continue;
            };
            got.event(face, &serde_json::from_str(data)?, &mut open);
        }
        Ok(got)
    }

    fn whole(&mut self, face: Face, value: &Value) {
        self.note(value);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match face {
            Face::Chat => {
                let choice = &value["choices"][0];
                self.finish = text(&choice["finish_reason"]);
                self.text = text(&choice["message"]["content"]);
                for call in choice["message"]["tool_calls"]
                    .as_array()
                    .into_iter()
                    .flatten()
                {
                    self.calls.push((
                        text(&call["function"]["name"]),
                        text(&call["function"]["arguments"]),
                    ));
                }
            }
            Face::Responses => {
                self.finish = text(&value["status"]);
                for item in value["output"].as_array().into_iter().flatten() {
                    match item["type"].as_str() {
                        Some("message") => self.text.push_str(&text(&item["content"][0]["text"])),
                        Some("function_call") => self
                            .calls
                            .push((text(&item["name"]), text(&item["arguments"]))),
                        _ => {}
                    }
                }
            }
            Face::Messages => {
                self.finish = text(&value["stop_reason"]);
                for block in value["content"].as_array().into_iter().flatten() {
                    match block["type"].as_str() {
                        Some("text") => self.text.push_str(&text(&block["text"])),
                        Some("tool_use") => self
                            .calls
                            .push((text(&block["name"]), block["input"].to_string())),
                        _ => {}
                    }
                }
            }
            Face::Ollama => {
                self.finish = text(&value["done_reason"]);
                self.text.push_str(&text(&value["message"]["content"]));
                for call in value["message"]["tool_calls"]
                    .as_array()
                    .into_iter()
                    .flatten()
                {
                    self.calls.push((
                        text(&call["function"]["name"]),
                        call["function"]["arguments"].to_string(),
                    ));
                }
            }
        }
    }

    fn event(&mut self, face: Face, event: &Value, open: &mut BTreeMap<u64, usize>) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match face {
            Face::Chat => {
                self.note(event);
                if let Some(code) = event.pointer("/error/code") {
                    self.error = Some(format!("event {}", text(code)));
                }
                let choice = &event["choices"][0];
                self.text.push_str(&text(&choice["delta"]["content"]));
                for call in choice["delta"]["tool_calls"]
                    .as_array()
                    .into_iter()
                    .flatten()
                {
                    if call["id"].is_string() {
                        self.calls
                            .push((text(&call["function"]["name"]), String::new()));
                    }
                    if let Some((_, json)) = self.calls.last_mut() {
                        json.push_str(&text(&call["function"]["arguments"]));
                    }
                }
                if choice["finish_reason"].is_string() {
                    self.finish = text(&choice["finish_reason"]);
                }
            }
            Face::Responses => match event["type"].as_str().unwrap_or_default() {
                "response.output_text.delta" => self.text.push_str(&text(&event["delta"])),
                "response.output_item.added" if event["item"]["type"] == "function_call" => {
                    self.calls
                        .push((text(&event["item"]["name"]), String::new()));
                }
                "response.function_call_arguments.delta" => {
                    if let Some((_, json)) = self.calls.last_mut() {
                        json.push_str(&text(&event["delta"]));
                    }
                }
                "response.completed" | "response.incomplete" => {
                    self.note(&event["response"]);
                    self.finish = text(&event["response"]["status"]);
                }
                "response.failed" => {
                    let code = text(&event["response"]["ptk"]["code"]);
                    self.error = Some(format!("event {code}"));
                }
                _ => {}
            },
            Face::Messages => match event["type"].as_str().unwrap_or_default() {
                "content_block_start" if event["content_block"]["type"] == "tool_use" => {
                    let index = event["index"].as_u64().unwrap_or_default();
                    open.insert(index, self.calls.len());
                    self.calls
                        .push((text(&event["content_block"]["name"]), String::new()));
                }
                "content_block_delta" => {
                    self.text.push_str(&text(&event["delta"]["text"]));
                    let index = event["index"].as_u64().unwrap_or_default();
                    if let Some((_, json)) = open.get(&index).and_then(|at| self.calls.get_mut(*at))
                    {
                        json.push_str(&text(&event["delta"]["partial_json"]));
                    }
                }
                "message_delta" => {
                    self.note(event);
                    self.finish = text(&event["delta"]["stop_reason"]);
                }
                "error" => {
                    let code = event
                        .pointer("/error/code")
                        .or(event.pointer("/error/type"));
                    self.error = Some(format!("event {}", code.map(text).unwrap_or_default()));
                }
                _ => {}
            },
            Face::Ollama => {
                if event["error"].is_string() {
                    self.error = Some(format!("event {}", text(&event["code"])));
                }
                let (before, calls) = (self.text.clone(), self.calls.clone());
                self.whole(face, event);
                if !calls.is_empty() && self.calls.len() == calls.len() {
                    self.calls = calls;
                }
                debug_assert!(self.text.starts_with(&before));
            }
        }
    }

    /// The outcome of a fault, for the table.
    fn verdict(&self, fault: &Fault) -> Result<String, Anything> {
        let calls: Vec<(&str, Value)> = self
            .calls
            .iter()
            .map(|(name, json)| {
                (
                    name.as_str(),
                    serde_json::from_str(json).unwrap_or(Value::Null),
                )
            })
            .collect();
        let right: Vec<(&str, Value)> = fault.right.clone();
        let has_marks = self.text.contains("tool_call>") || self.text.contains("get_weather");
        if let Some(error) = &self.error {
            let is_run = calls.iter().any(|(_, args)| !args.is_null());
            return if is_run && calls != right {
                Err(format!("{}: wrong: {self:?}", fault.what).into())
            } else {
                Ok(error.clone())
            };
        }
        let codes = self.notes.iter().filter(|code| *code != "mended");
        let codes: Vec<&str> = codes.map(String::as_str).collect();
        let with_codes = |what: &str| {
            if codes.is_empty() {
                what.to_owned()
            } else {
                format!("{what}, `{}`", codes.join("`, `"))
            }
        };
        let is_limited = ["length", "incomplete", "max_tokens"].contains(&self.finish.as_str());
        if is_limited {
            return Ok("cut off, and said so".to_owned());
        }
        if calls.is_empty() && right.is_empty() {
            return match (self.text.is_empty(), has_marks, codes.is_empty()) {
                (true, ..) => Err(format!("{}: lost: {self:?}", fault.what).into()),
                (_, true, true) => Err(format!("{}: leaked: {self:?}", fault.what).into()),
                (_, true, false) => Ok(with_codes("its words")),
                (_, false, _) => Ok(with_codes("words")),
            };
        }
        if has_marks {
            return Err(format!("{}: leaked: {self:?}", fault.what).into());
        }
        if calls != right {
            // In a stream, missing arguments are reported as a note.
            let is_told = codes.contains(&"missing_parameter");
            let is_one = calls.len() == 1 && calls.iter().all(|(name, _)| *name == CITY);
            if is_told && is_one {
                return Ok(with_codes("the call"));
            }
            return Err(format!("{}: wrong: {self:?}", fault.what).into());
        }
        let what = match right.len() {
            1 => "the call",
            _ => "the calls",
        };
        Ok(with_codes(what))
    }
}

/// Sends a request to a gateway in front of such a model.
async fn ask(
    fault: &Fault,
    face: Face,
    stream: bool,
    size: Option<usize>,
) -> Result<Got, Anything> {
    let replies = fault.replies.iter().map(|reply| ScriptedReply {
        chunk: size.and_then(NonZeroUsize::new),
        ..reply.clone()
    });
    let gateway = Gateway::builder()
        .any([Model::new(Script::new(replies))])
        .mode(fault.mode)
        .build()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(async move {
        gateway.serve(listener, async { drop(ended.await) }).await;
    });
    let client = ptk_http::client().no_proxy().build()?;
    let url = format!("http://{address}{}", face.path());
    let response = client
        .post(url)
        .json(&face.request(fault.choice, stream))
        .send()
        .await?;
    let status = response.status().as_u16();
    let body = response.text().await?;
    drop(client);
    drop(end);
    serving.await?;
    Got::of(face, stream, status, &body)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Anything> {
    let mut out = std::io::stdout().lock();
    write!(out, "| The model's fault |")?;
    for face in Face::ALL {
        write!(out, " `{}` | stream |", face.path())?;
    }
    writeln!(out, "\n|---|{}", "---|".repeat(Face::ALL.len() * 2))?;
    for fault in faults() {
        write!(out, "| {} |", fault.what)?;
        for face in Face::ALL {
            if !face.can(fault.choice) {
                write!(out, " – | – |")?;
                continue;
            }
            let whole = ask(&fault, face, false, None).await?;
            let streamed = ask(&fault, face, true, None).await?;
            let verdict = streamed.verdict(&fault)?;
            for size in SIZES {
                let other = ask(&fault, face, true, Some(size)).await?;
                if other.verdict(&fault)? != verdict || other.calls != streamed.calls {
                    let what = format!("{} at {size}: {other:?}, not {streamed:?}", fault.what);
                    return Err(what.into());
                }
            }
            write!(out, " {} | {verdict} |", whole.verdict(&fault)?)?;
        }
        writeln!(out)?;
    }
    Ok(())
}
