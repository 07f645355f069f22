//! The examples run, with a scripted model.

#![allow(
    clippy::unwrap_used,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A script of these replies, and the name of the model.
fn script(folder: &tempfile::TempDir, replies: &[&str]) -> String {
    let file = folder.path().join("script.json");
    fs::write(&file, serde_json::to_string(replies).unwrap()).unwrap();
    format!("script:{}", file.display())
}

fn example(name: &str) -> Command {
    // Beside the tests: target/debug/deps/examples-… and target/debug/examples.
    let tests = std::env::current_exe().unwrap();
    let build: PathBuf = tests.ancestors().nth(2).unwrap().to_owned();
    Command::new(build.join("examples").join(name))
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn call(tool: &str, args: &str) -> String {
    format!(r#"<PTK_CALL>{{"tool": "{tool}", "args": {args}}}</PTK_CALL>"#)
}

#[test]
fn hello_prints_the_answer() {
    let folder = tempfile::tempdir().unwrap();
    let model = script(&folder, &["Bonjour."]);
    assert_eq!(output(example("hello").arg(model)), "Bonjour.\n");
}

#[test]
fn a_model_that_is_not_there_is_explained() {
    let output = example("hello").arg("opneai/gpt-5-mini").output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        errors.contains(r#"Provider "opneai" not found. Did you mean "openai"?"#),
        "{errors}"
    );
}

#[test]
fn the_tool_is_called() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = call("weather", r#"{"city": "Berlin", "unit": "kelvin"}"#);
    let right = call("weather", r#"{"city": "Berlin"}"#);
    let model = script(&folder, &[&wrong, &right, "Sunny, 21 °C."]);
    assert_eq!(output(example("tool").arg(model)), "Sunny, 21 °C.\n");
}

#[test]
fn pieces_and_calls_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let model = script(&folder, &[&call("roll", r#"{"sides": 6}"#), "A four."]);
    let shown = output(example("streaming").arg(model));
    assert_eq!(shown, "[roll {\"sides\":6}]\nA four.\n");
}

/// A model that calls the tool, and answers with the result that it gets.
const ECHO: &str = r#"
prompt=$(cat)
case $prompt in
    *PTK_RESULT:*|*PTK_ERROR:*) printf '%s' "$prompt" | grep -o 'PTK_[ER].*' | tail -n 1 | sed 's/PTK_/Got /' ;;
    *) echo '<PTK_CALL>{"tool": "send", "args": {"to": "Ada", "text": "Lunch is ready."}}</PTK_CALL>' ;;
esac
"#;

#[test]
fn a_person_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("echo.sh");
    fs::write(&file, ECHO).unwrap();
    for (answer, result) in [
        ("y\n", "Ada has read: Lunch is ready."),
        ("n\n", "the user said no"),
    ] {
        let mut child = example("approval")
            .arg(format!("cmd:sh '{}'", file.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(answer.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(shown.starts_with("send {"), "{shown}");
        assert!(shown.contains("Got ") && shown.contains(result), "{shown}");
    }
}

#[test]
fn a_function_is_a_model() {
    let shown = output(&mut example("provider"));
    assert!(
        shown.starts_with("The tool says: ") && shown.contains('5'),
        "{shown}"
    );
}

#[test]
fn a_conversation_is_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("conversation.db");
    for (prompt, reply) in [("I am Ada.", "Hello, Ada."), ("What is my name?", "Ada.")] {
        let model = script(&folder, &[reply]);
        let shown = output(example("resume").arg(model).arg(prompt).arg(&file));
        assert_eq!(shown, format!("{reply}\n"));
    }
    let store = ptk::store::SqliteStore::open(&file).unwrap();
    let ptk = ptk::Ptk::builder()
        .provider(ptk::llm::Script::new([""; 0]))
        .store(std::sync::Arc::new(store))
        .build()
        .unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let messages = runtime.block_on(async {
        let mut session = ptk.session("example".parse().unwrap());
        let transcript = session.transcript().await.unwrap();
        transcript.messages(|_| String::new()).len()
    });
    assert_eq!(messages, 4);
}

/// Ends the server with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_web_server_keeps_conversations_apart() {
    let folder = tempfile::tempdir().unwrap();
    let model = script(&folder, &["Noted.", "Tea.", "I do not know."]);
    let child = example("web")
        .args([&model, "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut server = Server(child);
    let mut line = String::new();
    let output = server.0.stdout.take().unwrap();
    BufReader::new(output).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on http://").unwrap();
    for (visitor, prompt, answer) in [
        ("ada", "I like tea.", "Noted."),
        ("ada", "What do I like?", "Tea."),
        ("bob", "What do I like?", "I do not know."),
    ] {
        let mut stream = TcpStream::connect(address).unwrap();
        let length = prompt.len();
        let request = format!(
            "POST /chat/{visitor} HTTP/1.1\r\nHost: {address}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{prompt}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        assert!(reply.ends_with(answer), "{reply}");
    }
}
