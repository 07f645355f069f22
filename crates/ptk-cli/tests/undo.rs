//! `ptk undo`: changes by `ptk tools call` are reverted by another process,
//! even if the first one was killed.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use assert_cmd::cargo::cargo_bin;
use serde_json::{Value, json};
use tempfile::TempDir;

struct Scene {
    folder: TempDir,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("space")).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("space").join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    fn ptk(&self, args: &[&str]) -> Command {
        let mut command = Command::new(cargo_bin!("ptk"));
        command
            .args(args)
            .current_dir(self.path(""))
            .env("PTK_STATE", self.folder.path().join("state"));
        command
    }

    fn call(&self, tool: &str, args: &Value) -> Output {
        let args = args.to_string();
        let mut call = self.ptk(&["tools", "call", tool, &args, "--approve", "auto", "--json"]);
        call.output().unwrap()
    }

    fn bash(&self, command: &str) {
        let output = self.call("bash", &json!({ "command": command }));
        assert!(output.status.success(), "{output:?}");
    }

    /// Runs `ptk undo`: the exit code, stdout and stderr.
    fn undo(&self, args: &[&str]) -> (i32, String, String) {
        let mut all = vec!["undo"];
        all.extend(args);
        let output = self.ptk(&all).output().unwrap();
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    }

    /// The first line of the list.
    fn newest(&self) -> Value {
        let (_, out, _) = self.undo(&["--list", "--json"]);
        serde_json::from_str(out.lines().next().unwrap()).unwrap()
    }

    fn picture(&self) -> BTreeMap<PathBuf, (u32, Option<Vec<u8>>)> {
        let mut picture = BTreeMap::new();
        add(&self.path(""), &mut picture);
        picture
    }
}

/// Adds a folder's content; files that disappear meanwhile are left out.
fn add(folder: &Path, picture: &mut BTreeMap<PathBuf, (u32, Option<Vec<u8>>)>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            continue;
        };
        let name = path.file_name().unwrap().to_str().unwrap();
        // Unfinished writes of a killed process have a temporary name.
        if ptk_sandbox::is_temporary_name(name.as_ref()) {
            continue;
        }
        let content = fs::read(&path).ok().filter(|_| metadata.is_file());
        if metadata.is_dir() {
            add(&path, picture);
        }
        picture.insert(path, (metadata.permissions().mode(), content));
    }
}

#[test]
fn what_a_call_wrote_is_taken_back_by_the_next_command() {
    let scene = Scene::new();
    let output = scene.call("write_file", &json!({"path": "d/a.txt", "content": "hi\n"}));
    assert!(output.status.success());
    let (code, out, told) = scene.undo(&["--dry-run"]);
    assert_eq!(code, 0);
    assert!(out.contains("-hi\n"), "{out}");
    assert!(told.starts_with("would undo call_"), "{told}");
    assert!(scene.path("d/a.txt").exists());

    let (code, out, told) = scene.undo(&[]);
    assert_eq!(code, 0);
    assert!(out.starts_with("undone: call_"), "{out}");
    assert!(
        out.ends_with("    removed d\n    removed d/a.txt\n"),
        "{out}"
    );
    assert!(!scene.path("d").exists());

    let redo = told.trim().strip_prefix("To have it back: ptk ").unwrap();
    let redo: Vec<&str> = redo.split(' ').skip(1).collect();
    assert_eq!(scene.undo(&redo).0, 0);
    assert_eq!(fs::read_to_string(scene.path("d/a.txt")).unwrap(), "hi\n");
}

#[test]
fn the_list_has_everything_a_program_needs() {
    let scene = Scene::new();
    scene.bash("echo 1 > a");
    scene.bash("echo 2 > b; chmod 600 a");
    let (_, out, _) = scene.undo(&["--list", "--json"]);
    let lines: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["tool"], "bash");
    assert_eq!(lines[0]["what"], "echo 2 > b; chmod 600 a");
    assert_eq!(
        lines[0]["files"],
        json!([{"path": "a", "change": "permissions"}, {"path": "b", "change": "created"}])
    );
    assert_ne!(lines[0]["session"], lines[1]["session"]);

    // Each command is a session and a turn of its own.
    let session = lines[1]["session"].as_str().unwrap();
    let (code, out, _) = scene.undo(&["--session", session, "--json"]);
    assert_eq!(code, 1, "{out}");
    let refused: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(refused["conflicts"][0]["path"], "a");
    let (code, out, _) = scene.undo(&["--turn", "--json"]);
    assert_eq!(code, 0);
    let done: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(done["calls"], json!([lines[0]["id"]]));
    assert_eq!(scene.undo(&["--session", session]).0, 0);
    assert!(scene.picture().is_empty());
}

#[test]
fn what_cannot_be_done_is_told_with_its_exit_code() {
    let scene = Scene::new();
    let (code, _, told) = scene.undo(&[]);
    assert_eq!(
        (code, told.as_str()),
        (1, "error: There is nothing to undo in this workspace\n")
    );
    let (code, _, told) = scene.undo(&["--call", "call_1"]);
    assert_eq!(code, 1);
    assert!(told.starts_with("error: No call call_1 has changed files in this workspace\n"));
    assert_eq!(scene.undo(&["--call", "a", "--turn"]).0, 2);
    assert_eq!(scene.undo(&["--force"]).0, 2);

    scene.bash("echo 1 > a");
    scene.write("a", "theirs");
    let (code, _, told) = scene.undo(&[]);
    assert_eq!(code, 1);
    assert!(
        told.contains("a: changed since by another program or a person"),
        "{told}"
    );
    assert_eq!(fs::read_to_string(scene.path("a")).unwrap(), "theirs");

    scene.write("ptk.toml", "[undo]\nenabled = false\n");
    let (code, _, told) = scene.undo(&[]);
    assert_eq!(code, 1);
    assert!(
        told.starts_with("ptk.toml is not trusted, so these settings are ignored: undo."),
        "{told}"
    );
    assert!(
        told.contains("changed since by another program or a person"),
        "{told}"
    );
    let (code, _, told) = scene.undo(&["--config", "ptk.toml"]);
    assert_eq!(code, 1);
    assert!(told.contains("undo is switched off"), "{told}");
    scene.write("ptk.toml", "[undo]\nenable = false\n");
    let (_, _, told) = scene.undo(&["--config", "ptk.toml"]);
    assert!(
        told.contains("ptk.toml:2:1: unknown field `enable`"),
        "{told}"
    );
}

#[test]
fn what_cannot_be_kept_is_refused_with_a_way_on() {
    let scene = Scene::new();
    fs::write(scene.folder.path().join("state"), "a file").unwrap();
    let args = r#"{"command": "echo > a"}"#;
    let mut call = scene.ptk(&["tools", "call", "bash", args, "--approve", "auto"]);
    let output = call.output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        told.contains("Nothing was changed. To go on, free some space"),
        "{told}"
    );
    assert!(!scene.path("a").exists());
}

/// A random number below a limit.
fn chance(limit: u64) -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(0) % limit
}

/// Starts a command and kills it: at a random time, or, every other round, at a
/// random time after it has changed the first file.
fn killed(scene: &Scene, mut command: Command, round: u32, life: Duration) {
    let first = scene.path("f0");
    let before = fs::read(&first).ok();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut longest = life;
    if round % 2 == 1 {
        while fs::read(&first).ok() == before && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        longest = life / 3;
    }
    let longest = u64::try_from(longest.as_micros()).unwrap().max(1);
    std::thread::sleep(Duration::from_micros(chance(longest)));
    child.kill().unwrap();
    child.wait().unwrap();
}

/// How long a command takes if it is not killed.
fn life(mut command: Command) -> Duration {
    let start = Instant::now();
    assert!(command.output().unwrap().status.success());
    start.elapsed()
}

const FILES: usize = 12;

fn prepared() -> Scene {
    let scene = Scene::new();
    for name in 0..FILES {
        scene.write(&format!("f{name}"), format!("old {name}\n"));
    }
    fs::create_dir(scene.path("d")).unwrap();
    scene.write("d/inner", "inner\n");
    scene
}

const COMMAND: &str =
    "for f in f*; do echo new > $f; done; rm f0; mv d e; mkdir -p x/y; chmod 600 f1";

/// Kills a call at a random time; its changes can be undone.
fn kill_calls(rounds: u32) {
    let scene = prepared();
    let before = scene.picture();
    let command = json!({ "command": COMMAND }).to_string();
    let args = ["tools", "call", "bash", &command, "--approve", "auto"];
    let life = life(scene.ptk(&args));
    assert_eq!(scene.undo(&[]).0, 0);
    let mut changed = 0;
    for round in 0..rounds {
        killed(&scene, scene.ptk(&args), round, life);
        // The list waits until all processes of the call have ended.
        let (code, _, told) = scene.undo(&["--list"]);
        assert_eq!(code, 0, "round {round}: {told}");
        let left = scene.picture();
        for (path, (_, content)) in &left {
            let text = content.as_deref().map(String::from_utf8_lossy);
            // The command itself opens a file before it writes to it.
            let is_whole = text.is_none_or(|text| {
                ["", "new\n", "inner\n"].contains(&&*text) || text.starts_with("old ")
            });
            assert!(is_whole, "round {round}: {}", path.display());
        }
        if left != before {
            changed += 1;
            let (code, out, told) = scene.undo(&[]);
            assert_eq!(code, 0, "round {round}: {out}{told}");
        }
        assert_eq!(scene.picture(), before, "round {round}");
    }
    println!("{changed} of {rounds} calls had changed something when they were killed");
}

/// Kills an undo at a random time; every file is as before or after it, and the
/// undo can be finished.
fn kill_undos(rounds: u32) {
    let scene = prepared();
    scene.bash(COMMAND);
    let undo = life(scene.ptk(&["undo"]));
    let mut cut = 0;
    for round in 0..rounds {
        let scene = prepared();
        let before = scene.picture();
        scene.bash(COMMAND);
        let after = scene.picture();
        killed(&scene, scene.ptk(&["undo"]), round, undo);
        let left = scene.picture();
        for (path, seen) in &left {
            let known = [before.get(path), after.get(path)];
            // A new folder has no final permissions at first.
            assert!(
                known.contains(&Some(seen)) || seen.1.is_none(),
                "round {round}: {}",
                path.display()
            );
        }
        cut += u32::from(left != after && left != before);
        // Killed before it began, in the middle, or after all was done, but
        // before it reported so.
        if scene.newest()["tool"] != "undo" {
            let (code, out, told) = scene.undo(&[]);
            assert_eq!(code, 0, "round {round}: {out}{told}");
        }
        assert_eq!(scene.picture(), before, "round {round}");
        // It was one undo, whichever process finished it.
        let undo = scene.newest();
        assert_eq!(scene.undo(&["--call", undo["id"].as_str().unwrap()]).0, 0);
        assert_eq!(scene.picture(), after, "round {round}");
    }
    println!("{cut} of {rounds} undos were cut in the middle");
}

/// Starts something that the system does not record as long as the handle lives:
/// a process can have only one listener for its calls, and this has one that
/// lets everything pass.
fn unrecorded<T: Send>(start: impl FnOnce() -> T + Send) -> (T, OwnedFd) {
    let start = || {
        nix::sys::prctl::set_no_new_privs().unwrap();
        let allow = ptk_seccomp::Instruction {
            code: 0x06,
            jt: 0,
            jf: 0,
            k: 0x7fff_0000,
        };
        let listener = ptk_seccomp::listen(&[allow]).unwrap();
        (start(), listener)
    };
    // The filter is that of a thread, and of what it starts.
    std::thread::scope(|scope| scope.spawn(start).join().unwrap())
}

#[test]
fn a_call_whose_traces_are_lost_is_said_to_be_and_stops_nobody() {
    let scene = Scene::new();
    let args = r#"{"command": "echo 1 > a; sleep 60"}"#;
    let mut call = scene.ptk(&["tools", "call", "bash", args, "--approve", "auto"]);
    let (mut call, _listener) = unrecorded(|| call.spawn().unwrap());
    while !scene.path("a").exists() {
        assert_eq!(call.try_wait().unwrap(), None, "it has ended");
        std::thread::yield_now();
    }
    call.kill().unwrap();
    call.wait().unwrap();
    let state = scene.folder.path().join("state/undo");
    let store = fs::read_dir(state).unwrap().next().unwrap().unwrap().path();
    fs::remove_dir_all(store.join("trees")).unwrap();
    let (code, out, _) = scene.undo(&["--list"]);
    assert_eq!(code, 0);
    assert!(out.contains("(cannot be undone: "), "{out}");
    assert_eq!(scene.undo(&[]).0, 1);
    scene.bash("echo 2 > b");
    assert_eq!(scene.undo(&[]).0, 0);
    assert!(!scene.path("b").exists());
}

#[test]
fn a_call_that_was_killed_can_be_undone() {
    kill_calls(24);
}

#[test]
fn an_undo_that_was_killed_can_be_finished() {
    kill_undos(24);
}

#[test]
#[ignore = "takes minutes; scripts/long-checks undo runs it"]
fn hundreds_of_calls_and_undos_that_were_killed() {
    kill_calls(400);
    kill_undos(400);
}
