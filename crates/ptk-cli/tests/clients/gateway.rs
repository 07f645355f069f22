//! The gateway, started for one test.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};

use assert_cmd::cargo::cargo_bin;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// A running gateway, and a folder for its files.
pub(crate) struct Gateway {
    folder: TempDir,
    process: Child,
    address: String,
    /// Its output after the address.
    rest: Option<JoinHandle<String>>,
}

impl Gateway {
    /// A gateway whose model gives these replies, one for each request.
    pub(crate) fn scripted(replies: &[Value]) -> Self {
        let folder = folder();
        let script = folder.path().join("script.json");
        fs::write(&script, Value::from(replies).to_string()).unwrap();
        Self::start(folder, &format!("script:{}", script.display()))
    }

    /// A gateway whose model gives these replies, and records its prompts.
    pub(crate) fn recording(replies: &[&str]) -> Self {
        let folder = folder();
        for (at, reply) in replies.iter().enumerate() {
            fs::write(folder.path().join(format!("reply{at}")), reply).unwrap();
        }
        // The recorded prompts are counted by their files.
        let program = "cd \"$0\"; n=$(ls | grep -c ^shown); cat >shown$n; cat reply$n";
        let provider = format!("cmd:sh -c '{program}' '{}'", folder.path().display());
        Self::start(folder, &provider)
    }

    fn start(folder: TempDir, provider: &str) -> Self {
        let mut command = Command::new(cargo_bin!("ptk"));
        furnish(&mut command, folder.path());
        let mut process = command
            .args(["serve", "--listen", "127.0.0.1:0", "--provider", provider])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(process.stderr.take().unwrap());
        let mut first = String::new();
        stderr.read_line(&mut first).unwrap();
        let address = first.trim_end().strip_prefix("listening on ");
        let address = address.unwrap_or_else(|| panic!("{first}")).to_owned();
        let rest = thread::spawn(move || {
            let mut rest = String::new();
            stderr.read_to_string(&mut rest).unwrap();
            rest
        });
        Self {
            folder,
            process,
            address,
            rest: Some(rest),
        }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The prompt of a recording model's request with this number.
    pub(crate) fn shown(&self, request: usize) -> String {
        fs::read_to_string(self.folder.path().join(format!("shown{request}"))).unwrap()
    }

    /// Ends the gateway by a signal, and checks that it exits cleanly.
    pub(crate) fn end(mut self) {
        let pid = Pid::from_child(&self.process);
        kill_process(pid, Signal::TERM).unwrap();
        let status = self.process.wait().unwrap();
        let said = self.rest.take().map(|rest| rest.join().unwrap());
        assert!(status.success(), "{status}: {said:?}");
    }
}

impl Drop for Gateway {
    /// Ends the process if a test has failed.
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Isolates a command from the environment: no keys, no proxies, no settings.
pub(crate) fn furnish(command: &mut Command, folder: &Path) {
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("LC_ALL", "C.UTF-8")
        .env("HOME", folder)
        // Otherwise LiteLLM tries to fetch a price list.
        .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        .current_dir(folder);
    for name in ["CONFIG", "STATE", "DATA", "CACHE"] {
        let place = folder.join(name.to_lowercase());
        command.env(format!("XDG_{name}_HOME"), place);
    }
}
