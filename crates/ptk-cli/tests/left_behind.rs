//! Files that `ptk` leaves outside the workspace: no temporary folder, however
//! it ends, and nothing that other users can read, whatever the umask.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use assert_cmd::cargo::cargo_bin;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// A home folder with a workspace and a folder for temporary files.
struct Home {
    folder: TempDir,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["work", "tmp", "home"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let work = folder.path().join("work");
        fs::write(
            work.join("a.rs"),
            "/// Adds.\nfn add(a: u8) -> u8 { a + 1 }\n",
        )
        .unwrap();
        fs::write(work.join("long.txt"), "line\n".repeat(200_000)).unwrap();
        fs::write(work.join("replies.json"), r#"["Hello."]"#).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `ptk` with these arguments, and a umask of zero.
    fn ptk(&self, args: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", "umask 000; exec \"$@\"", "sh"])
            .arg(cargo_bin!("ptk"))
            .args(args)
            .current_dir(self.path("work"))
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .env_remove("PTK_STATE");
        for (variable, folder) in [
            ("XDG_STATE_HOME", "state"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_CONFIG_HOME", "config"),
        ] {
            command.env(variable, self.path("home").join(folder));
        }
        command
    }

    /// The entries left in the folder for temporary files.
    fn left(&self) -> Vec<PathBuf> {
        let left = fs::read_dir(self.path("tmp")).unwrap();
        left.map(|entry| entry.unwrap().path()).collect()
    }
}

/// Collects everything in a folder that other users can access.
fn open_to_others(folder: &Path, found: &mut Vec<String>) {
    let entries = fs::read_dir(folder).unwrap();
    for path in entries.map(|entry| entry.unwrap().path()) {
        let about = path.symlink_metadata().unwrap();
        let mode = about.permissions().mode() & 0o777;
        if mode & 0o077 != 0 && !about.is_symlink() {
            found.push(format!("{} {mode:03o}", path.display()));
        }
        if about.is_dir() {
            open_to_others(&path, found);
        }
    }
}

#[test]
fn no_temporary_folder_is_left_behind() {
    let home = Home::new();
    let script = "script:replies.json";
    for args in [
        &["tools", "call", "search_code", r#"{"query": "add"}"#][..],
        &[
            "tools",
            "call",
            "search_code",
            r#"{"query": "add"}"#,
            "--json",
        ],
        &["tools", "call", "search_code", "{}"],
        &["tools", "call", "read_file", r#"{"path": "a.rs"}"#],
        &["tools", "call", "read_file", r#"{"path": "missing"}"#],
        &[
            "tools",
            "call",
            "grep",
            r#"{"pattern": "line", "path": "long.txt"}"#,
        ],
        &[
            "tools",
            "call",
            "bash",
            r#"{"command": "cat long.txt"}"#,
            "--approve",
            "auto",
        ],
        &[
            "tools",
            "call",
            "bash",
            r#"{"command": "exit 3"}"#,
            "--approve",
            "auto",
        ],
        &["tools", "call", "nothing", "{}"],
        &["tools", "list"],
        &["run", "Hello", "--provider", script],
        &["run", "Hello", "--provider", "script:missing.json"],
        &["index"],
        &["search", "add"],
        &["sessions", "list"],
        &["doctor"],
    ] {
        for _ in 0..3 {
            let output = home.ptk(args).stdin(Stdio::null()).output().unwrap();
            assert!(output.status.code().is_some(), "{args:?}");
            assert_eq!(home.left(), [] as [PathBuf; 0], "{args:?}: {output:?}");
        }
    }
}

#[test]
fn no_temporary_folder_is_left_behind_after_an_interrupt() {
    for signal in [Signal::INT, Signal::TERM] {
        let home = Home::new();
        let command = r#"{"command": "echo started; sleep 600"}"#;
        let args = [
            "tools",
            "call",
            "bash",
            command,
            "--approve",
            "auto",
            "--json",
        ];
        let mut running = home
            .ptk(&args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(running.stdout.take().unwrap()).lines();
        let started = lines.find(|line| line.as_ref().unwrap().contains("started\\n"));
        assert!(started.is_some(), "the command did not start");
        kill_process(Pid::from_child(&running), signal).unwrap();
        lines.for_each(drop);
        running.wait().unwrap();
        assert_eq!(home.left(), [] as [PathBuf; 0], "{signal:?}");
    }
}

#[test]
fn what_is_kept_is_for_its_owner_alone() {
    let home = Home::new();
    let allowed = "[permissions]\nallow = [\"bash(ls)\"]\n";
    fs::write(home.path("work/ptk.toml"), allowed).unwrap();
    let script = "script:replies.json";
    for args in [
        &["tools", "call", "search_code", r#"{"query": "add"}"#][..],
        &[
            "tools",
            "call",
            "write_file",
            r#"{"path": "b.txt", "content": "x"}"#,
            "--approve",
            "auto",
        ],
        &[
            "tools",
            "call",
            "bash",
            r#"{"command": "echo y > c.txt"}"#,
            "--approve",
            "auto",
        ],
        &["run", "Hello", "--provider", script],
        &["probe", "--provider", script],
        &["index"],
        &["permissions", "trust", "--yes"],
    ] {
        let output = home.ptk(args).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.code().is_some(), "{args:?}");
    }
    let kept = home.path("home");
    let mut open = Vec::new();
    open_to_others(&kept, &mut open);
    assert_eq!(open, [] as [String; 0]);
    let has = |name: &str| {
        let found = Command::new("find")
            .arg(&kept)
            .args(["-name", name])
            .output();
        !found.unwrap().stdout.is_empty()
    };
    assert!(
        has("*.db") || has("*.sqlite*"),
        "the conversations are kept there"
    );
    assert!(has("meta.json"), "the index is kept there");
    assert!(has("permissions.toml"), "what is trusted is kept there");
}
