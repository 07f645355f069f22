//! A workspace, and the environment that `ptk` gets there.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use assert_cmd::cargo::cargo_bin;
use serde_json::json;
use tempfile::TempDir;

pub(crate) struct Space {
    folder: TempDir,
}

impl Space {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::create_dir(folder.path().join("space")).unwrap();
        let space = Self { folder };
        space.write("a.txt", "one\ntwo\nthree\n");
        space
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("space").join(name)
    }

    /// A place beside the workspace.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.command_in(&self.path(""), args)
    }

    pub(crate) fn command_in(&self, folder: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(cargo_bin!("ptk"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PTK_") {
                command.env_remove(name);
            }
        }
        command
            .current_dir(folder)
            .env("PTK_STATE", self.beside("state"))
            .env("XDG_CONFIG_HOME", self.beside("config"))
            .env("PTK_MODELS", self.beside("models"))
            .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/no/keyring")
            .args(args)
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn ptk(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs a prompt with a model that gives this answer, and returns the id of
    /// its session.
    pub(crate) fn session_in(&self, folder: &Path, answer: &str) -> String {
        let script = self.beside("script.json");
        fs::write(&script, json!([answer]).to_string()).unwrap();
        let provider = format!("script:{}", script.display());
        let run = self.command_in(folder, &["run", "Hello?", "--provider", &provider]);
        assert!({ run }.output().unwrap().status.success());
        let list = ["sessions", "list", "--json", "--limit", "1"];
        let listed = self.command_in(folder, &list).output().unwrap();
        let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
        listed["id"].as_str().unwrap().to_owned()
    }

    /// A command that opens a FIFO, says so in it and continues with `then`, and
    /// the FIFO: its end is read when all processes of the command are gone.
    /// Files in `.git` are not part of the layer that commands work over.
    pub(crate) fn held(&self, then: &str) -> (String, Alive) {
        fs::create_dir(self.path(".git")).unwrap();
        let fifo = self.path(".git/alive");
        let made = Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());
        self.write("hold", &format!("exec 3>.git/alive; echo up >&3; {then}\n"));
        ("exec sh hold".to_owned(), Alive(fifo))
    }
}

/// What a command holds open.
pub(crate) struct Alive(PathBuf);

impl Alive {
    /// Waits until the command runs. What is returned waits until nothing of it
    /// does.
    pub(crate) fn up(&self) -> impl FnOnce() + use<> {
        let mut lines = BufReader::new(File::open(&self.0).unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "up");
        move || assert!(lines.next().is_none(), "all who could write are gone")
    }
}

/// What a command says on stderr.
pub(crate) fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
