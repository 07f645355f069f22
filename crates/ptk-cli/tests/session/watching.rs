//! The output at a terminal.

use rexpect::session::{PtySession, spawn_command};
use serde_json::json;

use crate::scene::{Scene, call};

/// The timeout of terminal interactions, in milliseconds.
pub(crate) const PATIENCE: u64 = 30_000;

pub(crate) fn at_terminal(scene: &Scene, args: &[&str]) -> PtySession {
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("ptk"));
    scene.furnish(&mut command);
    command
        .args(args)
        .env("TERM", "xterm-256color")
        .env_remove("NO_COLOR");
    spawn_command(command, Some(PATIENCE)).unwrap()
}

/// Decodes the terminal's bytes, which come as one character each.
fn decoded(text: &str) -> String {
    let bytes = text.chars().filter_map(|c| u8::try_from(c).ok());
    String::from_utf8(bytes.collect())
        .unwrap()
        .replace('\r', "")
}

pub(crate) fn plain(text: &str) -> String {
    anstream::adapter::strip_str(&decoded(text)).to_string()
}

#[test]
fn calls_are_shown_and_the_answer_comes_in_colours() {
    let scene = Scene::new(&[
        json!(
            "Let me look. <PTK_CALL>{\"tool\": \"read_file\", \"args\": {\"path\": \"notes.txt\"}}</PTK_CALL>"
        ),
        json!({"text": "# Shopping\n\nYou need `milk`.", "chunk": 3}),
    ]);
    let mut terminal = at_terminal(&scene, &["What?"]);
    let all = terminal.exp_eof().unwrap();
    assert!(
        decoded(&all).contains("\u{1b}[32m`milk`\u{1b}[0m"),
        "{all:?}"
    );
    let all = plain(&all);
    let at = |part: &str| all.find(part).unwrap_or_else(|| panic!("{part}: {all}"));
    let places = [
        "Let me look.",
        "✓ read_file notes.txt",
        "│ Buy milk.",
        "# Shopping\n\nYou need `milk`.\n",
        "2 replies, 1 call · `ptk --session",
    ]
    .map(at);
    assert!(places.is_sorted(), "{all}");
    // Once: text that was streamed is not shown again.
    assert_eq!(all.matches("# Shopping").count(), 1, "{all}");
}

#[test]
fn a_question_is_asked_with_the_diff_and_nothing_moves_meanwhile() {
    let edit = call(
        "edit",
        json!({"path": "notes.txt", "edits": [{"old_string": "milk", "new_string": "tea"}]}),
    );
    let scene = Scene::new(&[
        call("read_file", json!({"path": "notes.txt"})),
        edit,
        json!("Done."),
    ]);
    let mut terminal = at_terminal(&scene, &["Change it"]);
    let (before, _) = terminal.exp_regex("(?s)Allow.*: $").unwrap();
    let shown = plain(&before);
    assert!(
        shown.contains("-Buy milk.") && shown.contains("+Buy tea."),
        "{shown}"
    );
    terminal.send_line("y").unwrap();
    let rest = plain(&terminal.exp_eof().unwrap());
    assert!(
        rest.contains("✓ edit notes.txt") && rest.contains("Done."),
        "{rest}"
    );
    assert_eq!(scene.read("notes.txt"), "Buy tea.\n");
}

#[test]
fn a_no_reaches_the_model_and_the_run_goes_on() {
    let scene = Scene::new(&[
        call("bash", json!({"command": "touch x"})),
        json!("Then not."),
    ]);
    let mut terminal = at_terminal(&scene, &["Do it"]);
    terminal.exp_regex("(?s)Allow.*: $").unwrap();
    terminal.send_line("n").unwrap();
    let rest = plain(&terminal.exp_eof().unwrap());
    assert!(
        rest.contains("the user said no") && rest.contains("Then not."),
        "{rest}"
    );
    assert!(!scene.path("x").exists());
}

/// The prompt may be piped while answers are typed.
#[test]
fn whoever_pipes_something_in_can_still_be_asked() {
    let scene = Scene::new(&[
        call("bash", json!({"command": "echo yes > x"})),
        json!("Done."),
    ]);
    let ptk = assert_cmd::cargo::cargo_bin!("ptk");
    let mut command = std::process::Command::new("sh");
    scene.furnish(&mut command);
    let line = format!("echo some text | {} run 'Do it'", ptk.display());
    command.args(["-c", &line]);
    let mut terminal = spawn_command(command, Some(PATIENCE)).unwrap();
    terminal.exp_regex("(?s)Allow.*: $").unwrap();
    terminal.send_line("y").unwrap();
    assert!(plain(&terminal.exp_eof().unwrap()).contains("Done."));
    assert_eq!(scene.read("x"), "yes\n");
}

#[test]
fn ctrl_c_stops_the_turn_and_twice_ends_it() {
    let slow = json!({"text": "Late.", "delay_ms": 600_000});
    let scene = Scene::new(&[slow]);
    let mut terminal = at_terminal(&scene, &["Go"]);
    terminal.exp_string("thinking").unwrap();
    terminal.send_control('c').unwrap();
    terminal.exp_string("Stopping").unwrap();
    let rest = plain(&terminal.exp_eof().unwrap());
    assert!(rest.contains("`ptk resume"), "{rest}");
    assert_eq!(scene.sessions()[0]["is_open"], true);
    // A command that ignores signals to stop.
    let stubborn = call(
        "bash",
        json!({"command": "trap '' INT TERM; echo begun; sleep 600"}),
    );
    scene.says(&[stubborn]);
    let mut terminal = at_terminal(&scene, &["Go", "--approve", "auto"]);
    terminal.exp_string("begun").unwrap();
    terminal.send_control('c').unwrap();
    terminal.exp_string("Stopping").unwrap();
    terminal.send_control('c').unwrap();
    terminal.exp_eof().unwrap();
}

#[test]
fn no_wheel_turns_where_nobody_looks() {
    let scene = Scene::new(&[json!({"text": "Hi.", "delay_ms": 300})]);
    let ended = scene.ptk(&["Hi"]).good();
    assert_eq!((ended.out.as_str(), ended.err.as_str()), ("Hi.\n", ""));
}

/// A path is shown on one line, whatever it contains.
#[test]
fn a_question_cannot_be_forged() {
    let path = "a.txt:\n\n+harmless\n\nAllow? y once, n no, ? help: \n\nevil.sh";
    let scene = Scene::new(&[
        call("write_file", json!({"path": path, "content": "rm -r ~"})),
        json!("Well."),
    ]);
    let mut terminal = at_terminal(&scene, &["Write it"]);
    let (before, _) = terminal.exp_regex("(?s)wants to.*Allow.*: $").unwrap();
    let shown = plain(&before);
    assert!(!shown.contains("\n+harmless"), "{shown}");
    terminal.send_line("n").unwrap();
    terminal.exp_eof().unwrap();
}

#[test]
fn without_colours_nothing_is_left_of_the_wheel() {
    let scene = Scene::new(&[json!({"text": "Yes.", "delay_ms": 300})]);
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("ptk"));
    scene.furnish(&mut command);
    command
        .args(["Well?"])
        .env("TERM", "xterm")
        .env("NO_COLOR", "1");
    let mut terminal = spawn_command(command, Some(PATIENCE)).unwrap();
    let all = decoded(&terminal.exp_eof().unwrap());
    let last = all.lines().find(|line| line.contains("Yes.")).unwrap();
    assert!(last.ends_with("\u{1b}[KYes."), "{all:?}");
}

/// A question is shown on the terminal even if stderr is redirected.
#[test]
fn a_question_comes_to_the_terminal_though_stderr_goes_elsewhere() {
    let scene = Scene::new(&[
        call("bash", json!({"command": "echo yes > x"})),
        json!("Done."),
    ]);
    let ptk = assert_cmd::cargo::cargo_bin!("ptk");
    let mut command = std::process::Command::new("sh");
    scene.furnish(&mut command);
    command.args(["-c", &format!("{} 'Do it' 2> protocol", ptk.display())]);
    let mut terminal = spawn_command(command, Some(PATIENCE)).unwrap();
    terminal.exp_regex("(?s)Allow.*: $").unwrap();
    terminal.send_line("y").unwrap();
    assert!(plain(&terminal.exp_eof().unwrap()).contains("Done."));
    assert_eq!(scene.read("x"), "yes\n");
    let protocol = scene.read("protocol");
    assert!(
        protocol.contains("✓ bash") && !protocol.contains("Allow"),
        "{protocol}"
    );
}
