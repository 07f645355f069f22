//! Questions of servers to the user, their prompts and their resources.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use assert_cmd::cargo::cargo_bin;
use serde_json::{Value, json};

use crate::pane::Pane;
use crate::scene::Scene;

/// A scene whose server asks, with a model that replies so.
fn scene() -> Scene {
    Scene::configured("asking", "effects = { \"*\" = [] }")
}

fn call(tool: &str) -> Value {
    json!({"tool_calls": [{"name": tool, "arguments": {}}]})
}

fn command(scene: &Scene, replies: &Value, args: &[&str]) -> Command {
    let provider = scene.provider(replies);
    let mut command = Command::new(cargo_bin!("ptk"));
    command
        .args(args)
        .args(["--provider", &provider, "--approve", "auto"])
        .current_dir(scene.path("space"))
        .env("PTK_STATE", scene.path("state"))
        .env("XDG_CONFIG_HOME", scene.path("config"))
        .env("LC_ALL", "C.UTF-8")
        .env_remove("CARGO_TARGET_DIR");
    command
}

/// What the model was told last.
fn told(scene: &Scene) -> String {
    let (_, out, err) = scene.run(&["sessions", "list", "--json"]);
    let sessions: Vec<Value> = out
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    let id = sessions.first().unwrap_or_else(|| panic!("{out}{err}"));
    let id = id["id"].as_str().unwrap();
    let (_, out, _) = scene.run(&["sessions", "show", id, "--json"]);
    out
}

/// Leaves the form and goes back to it: keys that come sooner than a person could
/// have read it are not for it.
fn go_to_form(pane: &Pane) {
    pane.press(&["Escape"]);
    pane.shows("[Tab] to answer");
    pane.press(&["Tab"]);
    pane.shows("[Decline]");
}

#[test]
fn a_form_is_filled_in_on_the_screen() {
    let scene = scene();
    let replies = json!([call("test__ask"), "Done."]);
    let pane = Pane::new(&command(&scene, &replies, &["chat"]), 80, 30);
    pane.shows("Ask something.");
    pane.says("Book it");
    let screen = pane.shows("[Decline]");
    for part in [
        "test asks",
        "Where do you travel?",
        "City *",
        "days",
        "yes or no",
    ] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    go_to_form(&pane);
    pane.types("Huế");
    pane.press(&["Enter"]);
    pane.types("many");
    pane.press(&["Enter"]);
    pane.shows("! it wants a whole number, at least 1");
    pane.press(&["C-u"]);
    pane.types("3");
    pane.press(&["Enter", "Right", "Enter"]);
    pane.shows("Enter does it");
    pane.press(&["Enter"]);
    pane.shows("Done.");
    let told = told(&scene);
    assert!(
        told.contains(r#"\"city\": \"Hu"#) && told.contains(r#"\"days\": 3"#),
        "{told}"
    );
    assert!(told.contains("accept"), "{told}");
}

#[test]
fn a_form_is_declined_on_the_screen() {
    let scene = scene();
    let replies = json!([call("test__ask"), "Done."]);
    let pane = Pane::new(&command(&scene, &replies, &["chat"]), 60, 24);
    pane.shows("Ask something.");
    pane.says("Book it");
    pane.shows("[Decline]");
    go_to_form(&pane);
    pane.press(&["Up", "Down", "Down", "Down", "Down", "Right", "Enter"]);
    pane.shows("Done.");
    assert!(told(&scene).contains("decline"), "{}", told(&scene));
}

#[test]
fn a_form_is_filled_in_line_by_line() {
    let scene = scene();
    let replies = json!([call("test__ask"), "Done."]);
    let pane = Pane::new(&command(&scene, &replies, &["Book it"]), 80, 40);
    pane.shows("Answer? y yes, n no:");
    pane.says("y");
    pane.shows("City:");
    pane.says("");
    pane.shows("! it wants a text");
    pane.says("Đà Nẵng");
    pane.shows("days:");
    pane.says("0");
    pane.shows("! it wants a whole number, at least 1");
    pane.says("2");
    pane.shows("window:");
    pane.says("");
    pane.shows("Send this to test?");
    pane.says("y");
    pane.shows("Done.");
    let told = told(&scene);
    assert!(
        told.contains(r#"\"days\": 2"#) && !told.contains(r#"\"window\""#),
        "{told}"
    );
}

/// A ptk whose questions a test answers.
struct Program {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Program {
    fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self { child, out }
    }

    /// The next event of a type; the others are passed over.
    fn event(&mut self, of: &str) -> Value {
        loop {
            let mut line = String::new();
            assert_ne!(self.out.read_line(&mut line).unwrap(), 0, "no {of}");
            let event: Value = serde_json::from_str(&line).unwrap();
            if event["type"] == of {
                return event;
            }
        }
    }

    fn answers(&mut self, answer: &Value) {
        let stdin = self.child.stdin.as_mut().unwrap();
        writeln!(stdin, "{answer}").unwrap();
    }
}

#[test]
fn a_program_answers_on_stdin() {
    let scene = scene();
    let replies = json!([call("test__ask"), "Done."]);
    let args = ["run", "--json", "--answers", "Book it"];
    let mut program = Program::start(command(&scene, &replies, &args));
    let question = program.event("question");
    assert_eq!(question["kind"], "form");
    assert_eq!(question["from"], "test");
    assert_eq!(question["schema"]["required"], json!(["city"]));
    let id = &question["id"];
    program.answers(&json!({"answer": id, "decision": "accept", "values": {"days": 0}}));
    let note = program.event("note");
    assert!(
        note["message"].as_str().unwrap().contains("`days`"),
        "{note}"
    );
    program.answers(&json!({"answer": id, "decision": "accept", "values": {"city": "Huế"}}));
    let end = program.event("receive_message");
    assert_eq!(end["message"], "Done.");
    assert!(program.child.wait().unwrap().success());
    assert!(told(&scene).contains("accept"));
}

#[test]
fn a_program_decides_about_calls() {
    let scene = Scene::empty();
    let write = |path: &str| {
        let arguments = json!({"path": path, "content": "x"});
        json!({"tool_calls": [{"name": "write_file", "arguments": arguments}]})
    };
    let provider = scene.provider(&json!([write("yes.txt"), write("no.txt"), "Done."]));
    let mut command = Command::new(cargo_bin!("ptk"));
    command
        .args([
            "run",
            "--json",
            "--answers",
            "--provider",
            &provider,
            "Write",
        ])
        .current_dir(scene.path("space"))
        .env("PTK_STATE", scene.path("state"))
        .env("XDG_CONFIG_HOME", scene.path("config"));
    let mut program = Program::start(command);
    for (decision, path) in [("allow", "yes.txt"), ("deny", "no.txt")] {
        let question = program.event("question");
        assert_eq!(question["kind"], "call");
        assert_eq!(question["tool"], "write_file");
        assert!(
            question["purpose"].as_str().unwrap().contains(path),
            "{question}"
        );
        let answer = json!({"answer": question["id"], "decision": decision, "reason": "not there"});
        program.answers(&answer);
    }
    program.event("receive_message");
    assert!(program.child.wait().unwrap().success());
    assert!(scene.path("space/yes.txt").exists());
    assert!(!scene.path("space/no.txt").exists());
    assert!(told(&scene).contains("not there"));
}

#[test]
fn a_chat_of_a_program_takes_prompts_and_answers() {
    let scene = scene();
    let replies = json!([call("test__ask"), "One.", "Two."]);
    let args = ["chat", "--plain", "--json", "--answers"];
    let mut program = Program::start(command(&scene, &replies, &args));
    let stdin = program.child.stdin.as_mut().unwrap();
    writeln!(stdin, "First").unwrap();
    let question = program.event("question");
    // A prompt that is written ahead waits for its turn.
    let stdin = program.child.stdin.as_mut().unwrap();
    writeln!(stdin, "Second").unwrap();
    program.answers(&json!({"answer": question["id"], "decision": "cancel"}));
    assert_eq!(program.event("receive_message")["message"], "One.");
    assert_eq!(program.event("receive_message")["message"], "Two.");
    drop(program.child.stdin.take());
    assert!(program.child.wait().unwrap().success());
}

#[test]
fn secrets_are_never_asked_for() {
    let scene = scene();
    let replies = json!([call("test__ask_secret"), "Done."]);
    let args = ["run", "--json", "--answers", "Log in"];
    let mut program = Program::start(command(&scene, &replies, &args));
    // The next event that waits for someone is the end.
    let mut types = Vec::new();
    loop {
        let mut line = String::new();
        if program.out.read_line(&mut line).unwrap() == 0 {
            break;
        }
        let event: Value = serde_json::from_str(&line).unwrap();
        types.push(event["type"].as_str().unwrap().to_owned());
    }
    assert!(types.iter().all(|it| it != "question"), "{types:?}");
    assert!(told(&scene).contains("decline"));
}

#[test]
fn a_prompt_of_a_server_is_a_command() {
    let scene = scene();
    let replies = json!(["Reviewed.", "Again."]);
    let pane = Pane::new(&command(&scene, &replies, &["chat"]), 90, 30);
    pane.shows("Ask something.");
    // It is listed soon after the beginning.
    pane.types("/test__rev");
    pane.shows("/test__rev");
    pane.press(&["BSpace"]);
    pane.until(|screen| {
        let is_offered = screen.contains("Review a file");
        if !is_offered {
            pane.press(&["BSpace"]);
            pane.types("e");
        }
        is_offered
    });
    pane.press(&["C-u"]);
    pane.says("/test__review src/main.rs");
    pane.shows("Reviewed.");
    assert!(
        told(&scene).contains("Review src/main.rs thoroughly"),
        "{}",
        told(&scene)
    );
    // What is missing is asked for.
    pane.says("/test__review");
    pane.shows("/test__review asks");
    go_to_form(&pane);
    pane.types("lib.rs");
    pane.press(&["Enter", "Enter", "Enter"]);
    pane.shows("Again.");
    assert!(
        told(&scene).contains("Review lib.rs thoroughly"),
        "{}",
        told(&scene)
    );
}

#[test]
fn a_resource_of_a_server_is_mentioned() {
    let scene = scene();
    let replies = json!(["Read."]);
    let mut chat = command(&scene, &replies, &["chat", "--plain"]);
    chat.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut chat = chat.spawn().unwrap();
    let mut stdin = chat.stdin.take().unwrap();
    writeln!(stdin, "What does @test:note://first say?").unwrap();
    drop(stdin);
    let output = chat.wait_with_output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.contains("Read."), "{out}");
    let told = told(&scene);
    assert!(
        told.contains("note://first:") && told.contains("The first note."),
        "{told}"
    );
    // What could be taken for a call is none.
    assert!(!told.contains("<tool_call>"), "{told}");
}
