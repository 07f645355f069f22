//! llama.cpp's own server with a real model: `ptk` as its client, beside it and
//! as a gateway. `scripts/test test` installs both; `PTK_TEST_LLAMA_SERVER`
//! is a Python with the server's package, and `PTK_TEST_MODELS` a folder with
//! the model.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use assert_cmd::cargo::cargo_bin;
use ptk::llm::http::{HttpProvider, Service};
use ptk::llm::{FinishReason, Message, Provider as _, Request, complete};
use serde_json::{Value, json};
use tempfile::TempDir;

const MODEL: &str = "qwen2.5-coder-0.5b";
/// A prompt to which the model itself writes a call into its text.
const QUESTION: &str = "Read go.mod and tell me the version of cobra.";

/// A process that is ended with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The server with the model, and a workspace.
struct Scene {
    folder: TempDir,
    address: String,
    _server: Running,
}

impl Scene {
    fn new() -> Self {
        let set = |name| std::env::var(name).expect("run `scripts/test test`");
        let weights = format!(
            "{}/{MODEL}/{MODEL}-instruct-q4_k_m.gguf",
            set("PTK_TEST_MODELS")
        );
        let script = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../scripts/evaluation/serve.py"
        );
        let mut server = Command::new(set("PTK_TEST_LLAMA_SERVER"))
            .args([script, &weights, "0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // It prints its address once it is ready.
        let lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let mut lines = lines.map_while(Result::ok);
        let address = lines.find(|line| line.starts_with("http://"));
        // The workspace's path may affect the model's answers.
        let test = std::thread::current().name().unwrap().to_owned();
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
        drop(fs::remove_dir_all(&place));
        fs::create_dir_all(&place).unwrap();
        let mut folder = tempfile::Builder::new();
        let folder = folder.prefix("at").rand_bytes(0).tempdir_in(place).unwrap();
        fs::create_dir(folder.path().join("space")).unwrap();
        let scene = Self {
            folder,
            address: address.expect("the server ended"),
            _server: Running(server),
        };
        let go = "module example.com/ferry\n\ngo 1.22\n\nrequire github.com/spf13/cobra v1.8.1\n";
        fs::write(scene.folder.path().join("space/go.mod"), go).unwrap();
        scene
    }

    fn api(&self) -> String {
        format!("{}/v1", self.address)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(cargo_bin!("ptk"));
        let home = |name: &str| self.folder.path().join(name);
        command
            .args(args)
            .current_dir(home("space"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home("home"))
            .stdin(Stdio::null());
        command
    }

    fn ptk(&self, args: &[&str]) -> (Option<i32>, String) {
        let output = self.command(args).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        (output.status.code(), text + &errors)
    }

    /// Runs a prompt, and returns its events.
    fn run(&self, mode: &str, question: &str) -> Vec<Value> {
        let (_, said) = self.ptk(&[
            "run",
            "--json",
            "--provider",
            &self.api(),
            "--mode",
            mode,
            "--max-iterations",
            "6",
            "--",
            question,
        ]);
        let events = said.lines().filter_map(|it| serde_json::from_str(it).ok());
        let events: Vec<Value> = events.collect();
        assert!(!events.is_empty(), "{said}");
        events
    }

    /// Starts the gateway in front of the server.
    fn gateway(&self) -> (Running, String) {
        let args = [
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--upstream",
            &self.api(),
        ];
        let mut command = self.command(&args);
        let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        let mut stderr = BufReader::new(process.stderr.take().unwrap());
        stderr.read_line(&mut first).unwrap();
        let address = first.trim_end().strip_prefix("listening on ");
        let address = address.unwrap_or_else(|| panic!("{first}")).to_owned();
        (Running(process), address)
    }
}

fn of<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|it| it["type"] == kind).collect()
}

/// A request of a client that has tools of its own.
fn request(is_streamed: bool) -> Value {
    let tool = |name: &str, about: &str| {
        json!({"type": "function", "function": {
            "name": name,
            "description": about,
            "parameters": {
                "type": "object",
                "properties": {"path": {"type": "string"}},
                "required": ["path"],
            },
        }})
    };
    json!({
        "model": MODEL,
        "messages": [{"role": "user", "content": QUESTION}],
        "tools": [tool("read_file", "Read a file."), tool("list_files", "List a folder.")],
        "temperature": 0,
        "stream": is_streamed,
    })
}

async fn ask(address: &str, is_streamed: bool) -> String {
    let client = ptk_http::client().build().unwrap();
    let asked = client.post(format!("{address}/v1/chat/completions"));
    let reply = asked.json(&request(is_streamed)).send().await.unwrap();
    let status = reply.status();
    let text = reply.text().await.unwrap();
    assert!(status.is_success(), "{text}");
    text
}

/// Without a name the server's only model is used, with the context window that
/// the server reports.
#[tokio::test]
async fn the_server_says_which_model_it_has_and_how_much_it_takes() {
    let scene = Scene::new();
    let service = Service::named("llama.cpp").unwrap();
    let provider = HttpProvider::elsewhere(service, &scene.api()).unwrap();
    let models = provider.models().await.unwrap();
    assert_eq!(models.len(), 1, "{models:?}");
    let provider = provider.with_model(&models[0]);
    let learned = provider.learn(None).await.unwrap();
    assert_eq!(learned.context_window, Some(8192));
    // A reply ends before its stop sequence.
    let mut counting = Request::new([Message::user("Count from one to six, in words.")]);
    counting.sampling.temperature = Some(0.0);
    let whole = complete(&provider, &counting).await.unwrap();
    assert!(whole.text.to_lowercase().contains("four"), "{whole:?}");
    counting.stop = vec!["four".to_owned(), "Four".to_owned()];
    let cut = complete(&provider, &counting).await.unwrap();
    assert!(cut.text.to_lowercase().contains("three"), "{cut:?}");
    assert!(!cut.text.to_lowercase().contains("four"), "{cut:?}");
    assert_eq!(cut.finish, FinishReason::Stop);
}

#[test]
fn a_question_takes_a_call_and_gets_an_answer_in_text() {
    let scene = Scene::new();
    // The server supports native tools, but text works better.
    let events = scene.run("auto", QUESTION);
    let calls = of(&events, "tool_call_start");
    assert_eq!(calls[0]["tool"], "read_file", "{calls:?}");
    assert_eq!(calls[0]["arguments"]["path"], "go.mod", "{calls:?}");
    let said = of(&events, "receive_message");
    let answer = said.last().unwrap()["message"].as_str().unwrap();
    assert!(answer.contains("1.8.1"), "{answer}");
    for event in &events {
        let shown = event.to_string();
        assert!(!shown.contains("PTK_RESULT"), "{shown}");
    }
}

/// The server's native tool calling leaves the call in the text; a run parses
/// it all the same.
#[test]
#[ignore = "takes a minute; scripts/long-checks answering runs it"]
fn calls_in_text_are_read_where_the_servers_own_tools_are_used() {
    let scene = Scene::new();
    let events = scene.run("native", QUESTION);
    let calls = of(&events, "tool_call_start");
    assert_eq!(calls[0]["tool"], "read_file", "{events:?}");
}

#[tokio::test]
async fn clients_get_calls_where_the_server_alone_gives_text() {
    let scene = Scene::new();
    let alone: Value = serde_json::from_str(&ask(&scene.address, false).await).unwrap();
    let message = &alone["choices"][0]["message"];
    assert!(message["tool_calls"].is_null(), "{alone}");
    assert!(
        message["content"]
            .as_str()
            .unwrap()
            .contains("\"path\": \"go.mod\""),
        "{alone}"
    );
    let (_gateway, address) = scene.gateway();
    let reply: Value = serde_json::from_str(&ask(&address, false).await).unwrap();
    let choice = &reply["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls", "{reply}");
    let function = &choice["message"]["tool_calls"][0]["function"];
    assert_eq!(function["name"], "read_file", "{reply}");
    let arguments = function["arguments"].as_str().unwrap();
    let arguments: Value = serde_json::from_str(arguments).unwrap();
    assert_eq!(arguments, json!({"path": "go.mod"}));

    // Streamed, it is the same call.
    let streamed = ask(&address, true).await;
    let chunks = streamed.lines().filter_map(|it| it.strip_prefix("data: "));
    let chunks = chunks.filter_map(|it| serde_json::from_str::<Value>(it).ok());
    let (mut names, mut sent) = (String::new(), String::new());
    for chunk in chunks {
        let function = &chunk["choices"][0]["delta"]["tool_calls"][0]["function"];
        names.push_str(function["name"].as_str().unwrap_or_default());
        sent.push_str(function["arguments"].as_str().unwrap_or_default());
    }
    assert_eq!(names, "read_file", "{streamed}");
    let sent: Value = serde_json::from_str(&sent).unwrap();
    assert_eq!(sent, arguments);
    assert!(streamed.trim_end().ends_with("data: [DONE]"), "{streamed}");
}

/// The probe finds that text works better with this model, and remembers it.
#[test]
#[ignore = "takes two minutes; scripts/long-checks answering runs it"]
fn a_probe_chooses_text() {
    let scene = Scene::new();
    let api = scene.api();
    let (code, said) = scene.ptk(&["probe", "--provider", &api, "--dialects", "ptk"]);
    assert_eq!(code, Some(0), "{said}");
    let events = scene.run("auto", QUESTION);
    let calls = of(&events, "tool_call_start");
    assert_eq!(calls[0]["tool"], "read_file", "{said} {calls:?}");
    let memory = scene
        .folder
        .path()
        .join("home/.local/state/ptk/models.json");
    let memory: Value = serde_json::from_str(&fs::read_to_string(memory).unwrap()).unwrap();
    let memory = memory.to_string();
    assert!(memory.contains("\"native_tools\":false"), "{memory} {said}");
}
