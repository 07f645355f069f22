//! Calls that may have happened, and calls that certainly have not.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Stdio};
use std::time::{Duration, SystemTime};

use rexpect::session::spawn_command;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::scene::{Scene, call, ended, kinds, started};
use crate::watching::{PATIENCE, at_terminal, plain};

fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
}

/// Reads the output of a run until it contains this.
fn until(child: &mut Child, part: &str) {
    let mut reader = BufReader::new(child.stdout.as_mut().unwrap());
    let mut line = String::new();
    while !line.contains(part) {
        line.clear();
        let read = reader.read_line(&mut line).unwrap();
        assert!(read > 0, "never told: {part}");
    }
}

fn entry<'a>(log: &'a [Value], kind: &str) -> &'a Value {
    let found = log.iter().find(|entry| entry["kind"] == kind);
    found.unwrap_or_else(|| panic!("{kind}: {log:?}"))
}

#[test]
fn a_call_that_is_only_asked_about_has_not_run() {
    let run = call("bash", json!({"command": "echo ran >> ran"}));
    let scene = Scene::new(&[run, json!("Done.")]);
    let ptk = assert_cmd::cargo::cargo_bin!("ptk");
    let mut command = std::process::Command::new("sh");
    scene.furnish(&mut command);
    let line = format!("echo $$ > id; exec {} 'Do it' --session s", ptk.display());
    command.args(["-c", &line]);
    let mut terminal = spawn_command(command, Some(PATIENCE)).unwrap();
    terminal.exp_regex("(?s)Allow.*: $").unwrap();
    kill(scene.read("id").trim().parse().unwrap());
    terminal.exp_eof().unwrap();
    assert!(kinds(&scene.log()).contains(&"call_held"));
    let shown = scene.ptk(&["sessions", "show", "s"]).good();
    assert!(
        shown
            .out
            .contains("> **Not run:** this call was not approved"),
        "{shown:?}"
    );
    // Asked again, and this time it is certain.
    let mut terminal = at_terminal(&scene, &["resume"]);
    let (before, _) = terminal.exp_regex("(?s)Allow.*: $").unwrap();
    assert!(!before.contains("may have happened"), "{before}");
    terminal.send_line("y").unwrap();
    assert!(plain(&terminal.exp_eof().unwrap()).contains("Done."));
    assert_eq!(scene.read("ran"), "ran\n");
    assert_eq!(
        kinds(&scene.log())
            .iter()
            .filter(|it| **it == "call_allowed")
            .count(),
        1
    );
}

#[test]
fn whoever_cannot_be_asked_is_told_that_nobody_knows() {
    let scene = Scene::new(&[
        call("bash", json!({"command": "echo begun; sleep 600"})),
        json!("Well."),
    ]);
    let mut child = started(&mut scene.command(&["Go", "--json", "--approve", "auto"]));
    until(&mut child, "begun\\n");
    kill(child.id());
    child.wait().unwrap();
    let resumed = scene.ptk(&["resume"]).good();
    assert_eq!(resumed.out, "Well.\n");
    assert!(
        resumed.err.contains("The outcome of this call is unknown"),
        "{resumed:?}"
    );
    assert!(!resumed.err.contains("not allowed"), "{resumed:?}");
}

#[test]
fn what_was_seen_of_a_reply_that_is_none_is_in_the_log() {
    let broken = json!({"text": "Half a", "error": {"status": 503, "message": "busy"}});
    let scene = Scene::new(&[broken, json!("Whole.")]);
    assert_eq!(scene.ptk(&["Go"]).good().out, "Whole.\n");
    let log = scene.log();
    let half = entry(&log, "reply_broken");
    assert_eq!(half["body"]["text"], "Half a");
    assert!(
        half["body"]["reason"].as_str().unwrap().contains("busy"),
        "{half}"
    );

    scene.says(&[json!({"text": "I would", "finish_reason": "content_filter"})]);
    assert_eq!(scene.ptk(&["Go", "--session", "w"]).code, 1);
    let log = scene.log();
    assert_eq!(entry(&log, "reply_broken")["body"]["text"], "I would");
    assert!(!kinds(&log).contains(&"model_replied"));
    let shown = scene.ptk(&["sessions", "show", "w"]).good().out;
    let at = |part: &str| {
        shown
            .find(part)
            .unwrap_or_else(|| panic!("{part}: {shown}"))
    };
    assert!(at("I would") < at("**Not a whole reply:**"));
}

#[test]
fn a_reply_that_somebody_stops_is_in_the_log_as_far_as_it_came() {
    let slow = json!({"text": "One. Two.", "chunk": 4, "error": {"status": 503, "message": "x"}});
    let scene = Scene::new(&[slow, json!({"text": "Late.", "delay_ms": 600_000})]);
    let mut child = started(&mut scene.command(&["Go", "--json"]));
    until(&mut child, "message_restarted");
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    assert_eq!(ended(child).code, 130);
    let log = scene.log();
    assert_eq!(entry(&log, "reply_broken")["body"]["text"], "One. Two.");
    assert_eq!(scene.sessions()[0]["is_open"], true, "it can be resumed");
}

/// Summary replies count as used, so that a resumed script does not repeat
/// them.
#[test]
fn a_script_goes_on_behind_its_summary_and_people_are_told_of_it() {
    let scene = Scene::new(&[json!("Noted.")]);
    scene.write(
        "ptk.toml",
        "[run]\ncontext_window = 4096\ncompaction = \"summarise\"\n",
    );
    scene.ptk(&["permissions", "trust", "--yes"]).good();
    let long = "word ".repeat(1200);
    let args = ["--session", "s", "--tools", "grep"];
    scene.ptk(&[&[long.as_str()], &args[..]].concat()).good();
    let look = call("grep", json!({"pattern": "milk"}));
    let slow = json!({"text": "Late.", "delay_ms": 600_000});
    scene.says(&[json!("A list of words."), look.clone(), slow]);
    let more = [&[long.as_str(), "--json"], &args[..]].concat();
    let mut child = started(&mut scene.command(&more));
    until(&mut child, "\"type\":\"compacted\"");
    until(&mut child, "tool_call_end");
    kill(child.id());
    child.wait().unwrap();
    scene.says(&[json!("(a summary)"), look, json!("Done.")]);
    assert_eq!(scene.ptk(&["resume", "s"]).good().out, "Done.\n");

    scene.says(&[json!("More words."), json!("Yes.")]);
    let third = scene.ptk(&[&[long.as_str()], &args[..]].concat()).good();
    assert!(third.err.contains("To make room, the first"), "{third:?}");
    let helped: Vec<Value> = scene.log();
    let helped = helped.iter().filter(|it| it["kind"] == "helper_replied");
    assert!(helped.count() >= 2);
}

#[test]
fn a_turn_that_was_answered_says_how_long_it_took() {
    let scene = Scene::new(&[json!({"text": "Hi.", "delay_ms": 40})]);
    scene.ptk(&["Hi"]).good();
    let log = scene.log();
    let took = entry(&log, "turn_ended")["body"]["duration_ms"].as_u64();
    assert!(took.unwrap() >= 40, "{log:?}");
}

#[test]
fn thoughts_are_shown_to_whoever_wants_them() {
    let scene = Scene::new(&[json!("<think>Milk, I guess.</think>You need milk.")]);
    let run = scene.ptk(&["What?", "--session", "s"]).good();
    assert_eq!(
        (run.out.as_str(), run.err.as_str()),
        ("You need milk.\n", "")
    );
    let show = |args: &[&str]| scene.ptk(&[&["sessions"], args].concat()).good().out;
    assert!(!show(&["show", "s"]).contains("I guess"));
    assert!(show(&["show", "s", "--thoughts"]).contains("> **Thoughts:** Milk, I guess."));
    let markdown = show(&["export", "s", "--format", "markdown", "--thoughts"]);
    assert!(markdown.contains("Milk, I guess."), "{markdown}");
}

/// Folders of a killed process are removed by the second process that finds
/// them, at least a minute later. Folders that only look alike, or are in use,
/// stay.
#[test]
fn temporary_folders_of_killed_processes_are_removed() {
    let slow = json!({"text": "Late.", "delay_ms": 600_000});
    let scene = Scene::new(&[call("grep", json!({"pattern": "milk"})), slow]);
    let temp = scene.home().join("temp");
    fs::create_dir(&temp).unwrap();
    let mut child = started(scene.command(&["Go", "--json"]).env("TMPDIR", &temp));
    until(&mut child, "tool_call_end");
    kill(child.id());
    child.wait().unwrap();
    let names = || -> Vec<String> {
        let names = fs::read_dir(&temp).unwrap();
        let names = names.map(|it| it.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    assert_eq!(names().len(), 1, "{:?}", names());
    let used = temp.join("ptk-1-aaaaaa");
    for name in ["ptk-1-aaaaaa", "ptk-mine", "ptk-1-short"] {
        fs::create_dir(temp.join(name)).unwrap();
    }
    let lock = File::open(&used).unwrap();
    lock.lock().unwrap();
    std::os::unix::fs::symlink(scene.path(""), temp.join("ptk-2-bbbbbb")).unwrap();
    scene.says(&[json!("Hi.")]);
    let run = || {
        let mut command = scene.command(&["Hi"]);
        let output = command.env("TMPDIR", &temp).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    // Processes that it started may still be running.
    run();
    run();
    assert_eq!(names().len(), 5, "{:?}", names());
    for name in names() {
        let long_ago = SystemTime::now() - Duration::from_secs(61);
        let folder = File::open(temp.join(name)).unwrap();
        folder.set_modified(long_ago).unwrap();
    }
    run();
    assert_eq!(
        names(),
        ["ptk-1-aaaaaa", "ptk-1-short", "ptk-2-bbbbbb", "ptk-mine"]
    );
    assert_eq!(scene.read("notes.txt"), "Buy milk.\n");
}

/// Lines are processed as they are read, and not all kept in memory.
#[test]
fn an_import_does_not_wait_for_its_end() {
    let scene = Scene::new(&[json!("Hi.")]);
    let mut child = started(scene.command(&["sessions", "import"]).stdin(Stdio::piped()));
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"{}\n").unwrap();
    stdin.write_all(&b" ".repeat(1 << 16)).unwrap_or_default();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    drop(stdin);
}
