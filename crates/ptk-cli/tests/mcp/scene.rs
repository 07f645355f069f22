//! A workspace, a configuration, and a server of the tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use tempfile::TempDir;

/// A file beside these tests.
pub(crate) fn script(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp");
    folder.join(name)
}

pub(crate) struct Scene {
    pub(crate) folder: TempDir,
}

impl Scene {
    /// A workspace in which the server `test` runs in this mode.
    pub(crate) fn with(mode: &str) -> Self {
        Self::configured(mode, "")
    }

    /// The same, with further settings of the server.
    pub(crate) fn configured(mode: &str, settings: &str) -> Self {
        let scene = Self::empty();
        // What JSON quotes, TOML reads.
        let quoted = |path: PathBuf| Value::from(path.to_str().unwrap()).to_string();
        let (server, folder) = (script("server.py"), script(""));
        let (server, count) = (quoted(server), quoted(scene.path("server/count")));
        let (folder, own) = (quoted(folder), quoted(scene.path("server")));
        scene.write_config(&format!(
            "[mcp.servers.test]\ncommand = [\"python3\", {server}, {mode:?}, {count}]\nread = [{folder}]\nwrite = [{own}]\n{settings}\n",
        ));
        scene
    }

    /// A workspace without servers.
    pub(crate) fn empty() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        for name in ["space", "config/ptk", "state", "server"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write_config(&self, text: &str) {
        fs::write(self.path("config/ptk/ptk.toml"), text).unwrap();
    }

    pub(crate) fn config(&self) -> String {
        fs::read_to_string(self.path("config/ptk/ptk.toml")).unwrap()
    }

    pub(crate) fn ptk(&self, args: &[&str]) -> assert_cmd::Command {
        let mut command = assert_cmd::Command::new(cargo_bin!("ptk"));
        command
            .args(args)
            .current_dir(self.path("space"))
            .env("PTK_STATE", self.path("state"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            // Programs may write where it leads, and this scene lies in there.
            .env_remove("CARGO_TARGET_DIR");
        command
    }

    /// A provider that replies so.
    pub(crate) fn provider(&self, replies: &Value) -> String {
        let path = self.path("script.json");
        fs::write(&path, replies.to_string()).unwrap();
        format!("script:{}", path.display())
    }

    /// A ptk that runs beside the test.
    pub(crate) fn spawn(&self, args: &[&str]) -> Child {
        let mut command = Command::new(cargo_bin!("ptk"));
        command
            .args(args)
            .current_dir(self.path("space"))
            .env("PTK_STATE", self.path("state"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env_remove("CARGO_TARGET_DIR")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Runs a command, and returns its exit code, its stdout and its stderr.
    pub(crate) fn run(&self, args: &[&str]) -> (i32, String, String) {
        let output = self.ptk(args).output().unwrap();
        (
            output.status.code().unwrap_or(-1),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    }

    /// The result of a call of a tool, which everything is allowed.
    pub(crate) fn call(&self, tool: &str, args: &str) -> Value {
        let (_, out, err) = self.run(&["tools", "call", tool, args, "--json", "--approve", "auto"]);
        let last = out.lines().last().unwrap_or_else(|| panic!("{err}"));
        serde_json::from_str(last).unwrap()
    }

    /// What `ptk mcp test` says of the server.
    pub(crate) fn tested(&self) -> Value {
        let (_, out, err) = self.run(&["mcp", "test", "test", "--json"]);
        serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"))
    }
}
