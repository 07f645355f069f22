//! A workspace, a script, and a state folder.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use assert_cmd::cargo::cargo_bin;
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct Scene {
    folder: TempDir,
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The lines of stdout as JSON.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let lines = self.out.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Asserts that the command succeeded.
    pub(crate) fn good(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }
}

impl Scene {
    /// A workspace with some files, and a model with these replies.
    pub(crate) fn new(replies: &[Value]) -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::create_dir(folder.path().join("space")).unwrap();
        let scene = Self { folder };
        scene.write("package.json", "{\n  \"version\": \"1.4.2\"\n}\n");
        scene.write("notes.txt", "Buy milk.\n");
        scene.says(replies);
        scene
    }

    /// Sets the replies of the model.
    pub(crate) fn says(&self, replies: &[Value]) {
        fs::write(self.script(), Value::from(replies).to_string()).unwrap();
    }

    pub(crate) fn script(&self) -> PathBuf {
        self.folder.path().join("script.json")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("space").join(name)
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// A command of `ptk`, in the workspace.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(cargo_bin!("ptk"));
        self.furnish(&mut command);
        command.args(args).stdin(Stdio::null());
        command
    }

    pub(crate) fn furnish(&self, command: &mut Command) {
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PTK_") {
                command.env_remove(name);
            }
        }
        let provider = format!("script:{}", self.script().display());
        command
            .current_dir(self.path(""))
            .env("PTK_STATE", self.state())
            .env("XDG_CONFIG_HOME", self.folder.path().join("config"))
            // Tests find no model that the user has installed, and do not access
            // the user's keyring.
            .env("PTK_MODELS", self.folder.path().join("models"))
            .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/no/keyring")
            .env("PTK_PROVIDER", provider);
    }

    pub(crate) fn ptk(&self, args: &[&str]) -> Ended {
        Ended::of(self.command(args).output().unwrap())
    }

    /// Runs a command with this input on stdin.
    pub(crate) fn piped(&self, args: &[&str], input: &str) -> Ended {
        let mut child = started(self.command(args).stdin(Stdio::piped()));
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        drop(stdin);
        Ended::of(child.wait_with_output().unwrap())
    }

    /// All sessions, the last one first.
    pub(crate) fn sessions(&self) -> Vec<Value> {
        self.ptk(&["sessions", "list", "--json", "--limit", "1000"])
            .good()
            .lines()
    }

    /// The log of the last session, as it is exported.
    pub(crate) fn log(&self) -> Vec<Value> {
        let id = self.sessions()[0]["id"].as_str().unwrap().to_owned();
        self.ptk(&["sessions", "show", &id, "--json"])
            .good()
            .lines()
    }

    pub(crate) fn home(&self) -> &Path {
        self.folder.path()
    }
}

/// Starts a command.
pub(crate) fn started(command: &mut Command) -> Child {
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

pub(crate) fn ended(child: Child) -> Ended {
    Ended::of(child.wait_with_output().unwrap())
}

/// A reply with these calls.
pub(crate) fn calls(calls: &[(&str, Value)]) -> Value {
    let calls = calls.iter().map(|(tool, args)| {
        format!(r#"<PTK_CALL>{{"tool": "{tool}", "args": {args}}}</PTK_CALL>"#)
    });
    json!(calls.collect::<Vec<_>>().join("\n"))
}

/// A reply with one call.
pub(crate) fn call(tool: &str, args: Value) -> Value {
    calls(&[(tool, args)])
}

/// The kinds of entries in a log, in order.
pub(crate) fn kinds(log: &[Value]) -> Vec<&str> {
    log.iter()
        .filter_map(|entry| entry["kind"].as_str())
        .collect()
}
