//! Ctrl-C, signals, and concurrent runs.

use std::io::{BufRead as _, BufReader};
use std::process::Child;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::{Value, json};

use crate::scene::{Scene, call, ended, started};

/// A model that does not reply for a very long time.
fn slow() -> Value {
    json!({"text": "Late.", "delay_ms": 600_000})
}

fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Reads the output of a run until it contains this.
fn until(child: &mut Child, part: &str) -> BufReader<std::process::ChildStdout> {
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains(part) {
        line.clear();
        assert!(
            reader.read_line(&mut line).unwrap() > 0,
            "never told: {part}"
        );
    }
    reader
}

#[test]
fn an_interrupt_stops_the_turn_and_what_it_runs() {
    let scene = Scene::new(&[
        call(
            "bash",
            json!({"command": "echo begun; sleep 600; touch late"}),
        ),
        json!("Done."),
    ]);
    let mut command = scene.command(&["Go", "--json", "--approve", "auto"]);
    let mut child = started(&mut command);
    let reader = until(&mut child, "begun\\n");
    send(&child, Signal::INT);
    let lines: Vec<Value> = reader
        .lines()
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect();
    assert_eq!(ended(child).code, 130);
    let last = lines.last().unwrap();
    assert_eq!(
        (&last["type"], &last["cancelled"]),
        (&json!("error"), &json!(true))
    );
    assert!(
        lines.iter().any(|line| line["type"] == "tool_call_end"),
        "{lines:?}"
    );
    assert_eq!(scene.sessions()[0]["is_open"], true);
    assert!(!scene.path("late").exists());
    // What was stopped is not run again; the model goes on from there.
    scene.says(&[json!("(said before)"), json!("Begun is all.")]);
    let resumed = scene.ptk(&["resume"]).good();
    assert_eq!(resumed.out, "Begun is all.\n");
    assert!(!scene.path("late").exists());
    assert_eq!(scene.sessions()[0]["is_open"], false);
}

/// Stops a run in this session with a signal, while its model is silent.
fn stop_with(scene: &Scene, session: &str, signal: Signal) {
    scene.says(&[call("read_file", json!({"path": "notes.txt"})), slow()]);
    let mut child = started(&mut scene.command(&["Go", "--json", "--session", session]));
    let reader = until(&mut child, "\"iteration\":1");
    send(&child, signal);
    reader.lines().for_each(drop);
    assert_eq!(ended(child).code, 130);
}

#[test]
fn the_run_that_was_interrupted_last_is_resumed_and_named() {
    let scene = Scene::new(&[]);
    stop_with(&scene, "older", Signal::TERM);
    stop_with(&scene, "newer", Signal::INT);
    scene.says(&[json!("(said before)"), json!("Milk.")]);
    for name in ["newer", "older"] {
        let resumed = scene.ptk(&["resume"]).good();
        assert_eq!(resumed.out, "Milk.\n");
        let told = format!("Resuming session {name} (");
        assert!(resumed.err.contains(&told), "{resumed:?}");
    }
    let none = scene.ptk(&["resume"]);
    assert_eq!(none.code, 1);
    assert!(
        none.err
            .contains("no session of this workspace was interrupted")
    );
}

/// The command has a process group of its own, so ptk has to end it.
#[test]
fn an_interrupt_ends_a_command_that_is_being_tried_as_a_model() {
    let scene = Scene::new(&[]);
    scene.write(
        "model.sh",
        "echo $$ > begun.txt; mv begun.txt pid.txt; exec sleep 600\n",
    );
    let probe = [
        "probe",
        "--provider",
        "cmd:sh model.sh",
        "--dialects",
        "ptk",
    ];
    let child = started(&mut scene.command(&probe));
    let file = scene.path("pid.txt");
    while !file.exists() {
        std::thread::yield_now();
    }
    let pid: i32 = (std::fs::read_to_string(&file).unwrap().trim().parse()).unwrap();
    let model = pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()).unwrap();
    send(&child, Signal::INT);
    assert_eq!(ended(child).code, 130);
    // Readable once the process has ended, whether or not it was reaped.
    poll(&mut [PollFd::new(&model, PollFlags::IN)], None).unwrap();
}

#[test]
fn a_signal_to_leave_keeps_the_turn_open() {
    let scene = Scene::new(&[call("read_file", json!({"path": "notes.txt"})), slow()]);
    let mut child = started(&mut scene.command(&["Go", "--json"]));
    let reader = until(&mut child, "\"iteration\":1");
    send(&child, Signal::TERM);
    // Closing the pipe early would be another reason to exit.
    reader.lines().for_each(drop);
    assert_eq!(ended(child).code, 130);
    assert_eq!(scene.sessions()[0]["is_open"], true);
    scene.says(&[json!("(said before)"), json!("Milk.")]);
    let resumed = scene.ptk(&["resume"]).good();
    assert_eq!(resumed.out, "Milk.\n");
    assert_eq!(scene.sessions()[0]["is_open"], false);
    let again = scene.ptk(&["resume", "--session"]);
    assert_eq!(again.code, 2);
}

#[test]
fn a_run_out_of_time_can_be_resumed_with_more_of_it() {
    let scene = Scene::new(&[slow()]);
    let late = scene.ptk(&["Go", "--timeout", "50ms"]);
    assert_eq!((late.code, late.out.as_str()), (1, ""));
    assert!(
        late.err.contains("took longer than 50 ms; resume it"),
        "{late:?}"
    );
    scene.says(&[json!("In time.")]);
    assert_eq!(
        scene.ptk(&["resume", "--timeout", "60s"]).good().out,
        "In time.\n"
    );
}

#[test]
fn a_session_is_written_by_one_at_a_time_and_read_by_all() {
    let scene = Scene::new(&[call("read_file", json!({"path": "notes.txt"})), slow()]);
    let mut child = started(&mut scene.command(&["Go", "--json", "--session", "one"]));
    let _reader = until(&mut child, "\"iteration\":1");
    let shown = scene.ptk(&["sessions", "show", "one"]).good();
    assert!(shown.out.contains("Buy milk."), "{shown:?}");
    let second = scene.ptk(&["Me too", "--session", "one"]);
    assert_eq!(second.code, 1);
    assert!(second.err.contains(&child.id().to_string()), "{second:?}");
    let removed = scene.ptk(&["sessions", "delete", "one", "--yes"]);
    assert_eq!(removed.code, 1, "{removed:?}");
    scene.says(&[json!("Hello.")]);
    scene.ptk(&["Me too", "--session", "two"]).good();
    child.kill().unwrap();
    child.wait().unwrap();
    // The lock is released with its process.
    assert_eq!(
        scene.ptk(&["Me too", "--session", "one"]).good().out,
        "Hello.\n"
    );
}

/// Of many runs on one session, some may be too late; none leaves half a turn
/// behind.
#[test]
fn whoever_comes_too_late_writes_nothing() {
    let scene = Scene::new(&[json!("Hi.")]);
    let children: Vec<Child> = (0..8)
        .map(|number| {
            let prompt = format!("prompt {number}");
            started(&mut scene.command(&[&prompt, "--session", "one"]))
        })
        .collect();
    let answered = children
        .into_iter()
        .map(ended)
        .filter(|it| it.code == 0)
        .count();
    let log = scene.log();
    let count = |kind: &str| log.iter().filter(|entry| entry["kind"] == kind).count();
    assert_eq!(count("session_created"), 1);
    assert_eq!(
        (count("turn_began"), count("turn_ended")),
        (answered, answered)
    );
    assert!(answered > 0);
}

#[test]
fn a_turn_is_resumed_with_its_own_limits() {
    let many: Vec<Value> = (0..12)
        .map(|number| call("grep", json!({"pattern": format!("milk|x{number}")})))
        .chain([slow()])
        .collect();
    let scene = Scene::new(&many);
    let args = [
        "Go",
        "--json",
        "--max-iterations",
        "20",
        "--max-tool-calls",
        "30",
    ];
    let mut child = started(&mut scene.command(&args));
    let reader = until(&mut child, "\"iteration\":12");
    child.kill().unwrap();
    child.wait().unwrap();
    drop(reader);
    let mut rest = many.clone();
    rest[12] = json!("Done.");
    scene.says(&rest);
    assert_eq!(scene.ptk(&["resume"]).good().out, "Done.\n");
}

#[test]
fn a_reader_that_stops_reading_keeps_nobody_from_leaving() {
    let long = json!({"text": "x".repeat(1 << 20), "chunk": 1000});
    let scene = Scene::new(&[long]);
    let mut child = started(&mut scene.command(&["Go", "--json"]));
    // Its output is no longer read, so it blocks.
    let reader = until(&mut child, "message_chunk");
    send(&child, Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(reader);
}

/// A turn is resumed with its own settings, not those of the session.
#[test]
fn a_turn_is_resumed_with_its_own_model_and_tools() {
    let scene = Scene::new(&[json!("I am the first.")]);
    scene.ptk(&["One", "--session", "s"]).good();
    let second = scene.home().join("second.json");
    let provider = format!("script:{}", second.display());
    let say = |last: Value| {
        let look = call("grep", json!({"pattern": "milk"}));
        std::fs::write(&second, json!([look, last]).to_string()).unwrap();
    };
    say(slow());
    let args = [
        "Two",
        "--session",
        "s",
        "--json",
        "--provider",
        &provider,
        "--tools",
        "grep",
    ];
    let mut child = started(&mut scene.command(&args));
    let reader = until(&mut child, "tool_call_end");
    child.kill().unwrap();
    child.wait().unwrap();
    drop(reader);
    say(call("read_file", json!({"path": "notes.txt"})));
    let mut command = scene.command(&["resume", "s", "--json"]);
    let output = command.env_remove("PTK_PROVIDER").output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    // The second script was used, and its tool is not offered.
    assert!(
        told.contains("Unknown tool: read_file. Available tools: grep"),
        "{told}"
    );
}
