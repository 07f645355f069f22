//! Clients of others: where they are, how they are started, and what they call
//! what all of them see.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::gateway::{Gateway, furnish};

/// A client, and its own words.
pub(crate) struct Client {
    /// Its program, beside this file.
    pub(crate) program: &'static str,
    /// The API that it speaks.
    pub(crate) face: &'static str,
    /// How a reply with calls ends, and one without; where it says so.
    pub(crate) finishes: [Option<&'static str>; 2],
    /// What it raises for the statuses 429 and 500.
    pub(crate) raises: [&'static str; 2],
    /// What it raises for a failure in the middle of a stream, with the status
    /// that it takes it for.
    pub(crate) breaks: (&'static str, Option<i64>),
}

/// Whether the client wants replies as they are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Whole,
    Stream,
}

impl Client {
    /// Lets it play a scene, and returns what it saw.
    pub(crate) fn plays(&self, scene: &str, mode: Mode, gateway: &Gateway) -> Value {
        let mode = match mode {
            Mode::Whole => "whole",
            Mode::Stream => "stream",
        };
        let mut command = self.command(gateway.folder());
        furnish(&mut command, gateway.folder());
        command.args([gateway.address(), self.face, scene, mode]);
        let output = command.output().unwrap();
        let [out, err] =
            [&output.stdout, &output.stderr].map(|stream| String::from_utf8_lossy(stream));
        assert!(output.status.success(), "{out}{err}");
        let seen = out.lines().last().unwrap_or_default();
        serde_json::from_str(seen).unwrap_or_else(|error| panic!("{error}: {out}{err}"))
    }

    fn command(&self, folder: &Path) -> Command {
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
        if self.program.ends_with(".mjs") {
            return node(&programs, folder, self.program);
        }
        let place = match self.program {
            "litellm_client.py" => "litellm",
            _ => "python",
        };
        let mut command = Command::new(installed(place).join("bin/python"));
        // Nothing is to be written beside the programs.
        command.arg("-B").arg(programs.join(self.program));
        command
    }
}

/// Node looks for packages where the program is: so it is put beside them.
fn node(programs: &Path, folder: &Path, program: &str) -> Command {
    let packages = installed("node").join("node_modules");
    for name in [program, "scene.mjs"] {
        fs::copy(programs.join(name), folder.join(name)).unwrap();
    }
    symlink(&packages, folder.join("node_modules")).unwrap();
    let mut command = Command::new(packages.join(".bin/node"));
    command.arg(folder.join(program));
    command
}

fn installed(place: &str) -> PathBuf {
    let clients = std::env::var_os("PTK_TEST_CLIENTS")
        .expect("PTK_TEST_CLIENTS does not say where the clients are; run `scripts/test features`");
    Path::new(&clients).join(place)
}
