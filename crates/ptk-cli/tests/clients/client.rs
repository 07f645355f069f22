//! Third-party clients: where they are, how they are started, and how they name
//! what all of them see.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::gateway::furnish;

/// A client, and its terms.
pub(crate) struct Client {
    /// Its program, in the same folder as this file.
    pub(crate) program: &'static str,
    /// The API that it uses.
    pub(crate) face: &'static str,
    /// The finish reasons of a reply with calls and of one without, if it
    /// reports them.
    pub(crate) finishes: [Option<&'static str>; 2],
    /// The exceptions that it raises for the statuses 429 and 500.
    pub(crate) raises: [&'static str; 2],
    /// The exception that it raises for a failure in the middle of a stream,
    /// with the status that it reports.
    pub(crate) breaks: (&'static str, Option<i64>),
    /// Whether it retries by itself if that may help.
    pub(crate) retries: bool,
    /// The list of models that it sees, if it can request one.
    pub(crate) models: Value,
}

/// Whether the client streams replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Whole,
    Stream,
}

impl Mode {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Stream => "stream",
        }
    }
}

impl Client {
    /// A client with the most common terms for this API.
    pub(crate) fn new(program: &'static str, face: &'static str) -> Self {
        let finishes = match face {
            "responses" => ["completed"; 2],
            "messages" => ["tool_use", "end_turn"],
            "ollama" => ["stop"; 2],
            _ => ["tool_calls", "stop"],
        };
        Self {
            program,
            face,
            finishes: finishes.map(Some),
            raises: ["RateLimitError", "InternalServerError"],
            breaks: ("APIError", None),
            retries: true,
            models: Value::Null,
        }
    }

    /// Runs these scenes, each with its mode and address. Returns one line of
    /// JSON for each.
    pub(crate) fn play(&self, scenes: &[[&str; 3]]) -> String {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let extension = Path::new(self.program).extension();
        let mut command = match extension.and_then(OsStr::to_str) {
            Some("mjs") => {
                fs::copy(here("scene.mjs"), folder.path().join("scene.mjs")).unwrap();
                let program = folder.path().join(self.program);
                fs::copy(here(self.program), &program).unwrap();
                node(&program)
            }
            _ => python(&here(self.program)),
        };
        furnish(&mut command, folder.path());
        ended(command.arg(self.face).args(scenes.as_flattened()))
    }
}

/// Runs a program in Python, with the packages that it imports.
pub(crate) fn python(program: &Path) -> Command {
    let text = fs::read_to_string(program).unwrap();
    let place = if text.contains("import litellm") {
        "litellm"
    } else {
        "python"
    };
    let mut command = Command::new(installed(place).join("bin/python"));
    // Nothing is to be written beside the program.
    command.arg("-B").arg(program);
    command
}

/// Runs a program in JavaScript. Node looks for packages in its folder, so they
/// are put there.
pub(crate) fn node(program: &Path) -> Command {
    let packages = installed("node").join("node_modules");
    symlink(&packages, program.with_file_name("node_modules")).unwrap();
    let mut command = Command::new(packages.join(".bin/node"));
    command.arg(program);
    command
}

/// Runs a command that must succeed, and returns its output.
pub(crate) fn ended(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let [out, err] =
        [output.stdout, output.stderr].map(|stream| String::from_utf8_lossy(&stream).into_owned());
    assert!(output.status.success(), "{out}{err}");
    out
}

fn here(program: &str) -> PathBuf {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
    programs.join(program)
}

pub(crate) fn installed(place: &str) -> PathBuf {
    let clients = std::env::var_os("PTK_TEST_CLIENTS")
        .expect("PTK_TEST_CLIENTS does not say where the clients are; run `scripts/test test`, for agents `scripts/long-checks clients`");
    Path::new(&clients).join(place)
}
