//! A workspace, a configuration, a server of the tests, and runs with scripted
//! models.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use assert_cmd::cargo::cargo_bin;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A file beside these tests.
pub(crate) fn script(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp");
    folder.join(name)
}

/// A reply of a model that calls these tools.
pub(crate) fn calls(calls: &[(&str, Value)]) -> Value {
    let calls = calls.iter().enumerate();
    let calls = calls.map(
        |(number, (tool, args))| json!({"id": number.to_string(), "name": tool, "arguments": args}),
    );
    json!({"tool_calls": calls.collect::<Vec<_>>()})
}

pub(crate) struct Scene {
    pub(crate) folder: TempDir,
}

/// What a run with a scripted model printed.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    /// The results of the calls of a tool, in their order.
    pub(crate) fn results(&self, tool: &str) -> Vec<Value> {
        let ends = self.events("tool_call_end");
        let ends = ends.filter(|event| event["tool"] == tool);
        ends.map(|event| event["result"].clone()).collect()
    }

    /// The result of the only call of a tool.
    pub(crate) fn result(&self, tool: &str) -> Value {
        let results = self.results(tool);
        let [result] = results.as_slice() else {
            panic!(
                "{} results of {tool}: {}{}",
                results.len(),
                self.out,
                self.err
            );
        };
        result.clone()
    }

    /// What was reported of the progress of calls.
    pub(crate) fn progress(&self) -> Vec<String> {
        let chunks = self.events("tool_output_chunk");
        let chunks = chunks.filter(|event| event["stream"] == "progress");
        chunks
            .map(|event| event["chunk"].as_str().unwrap().to_owned())
            .collect()
    }

    fn events(&self, kind: &str) -> impl Iterator<Item = Value> {
        let lines = self.out.lines();
        let events = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
        events.filter(move |event| event["type"] == kind)
    }
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

    /// Runs a model that replies so, with these options.
    pub(crate) fn play(&self, options: &[&str], replies: &Value) -> Run {
        let script = self.provider(replies);
        let given = ["--provider", script.as_str(), "go on then"];
        let (code, out, err) = self.run(&[options, given.as_slice()].concat());
        Run { code, out, err }
    }

    /// Runs a model that replies so and may do everything, and reads the events.
    pub(crate) fn converse(&self, replies: &Value) -> Run {
        self.play(&["--json", "--approve", "auto"], replies)
    }

    /// A ptk that runs beside the test.
    pub(crate) fn spawn(&self, args: &[&str]) -> Child {
        self.spawn_with(args, &[])
    }

    /// The same, with further variables in its environment.
    pub(crate) fn spawn_with(&self, args: &[&str], variables: &[(&str, &str)]) -> Child {
        let mut command = Command::new(cargo_bin!("ptk"));
        command
            .args(args)
            .current_dir(self.path("space"))
            .env("PTK_STATE", self.path("state"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            .envs(variables.iter().copied())
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
