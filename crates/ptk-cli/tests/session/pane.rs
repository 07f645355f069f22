//! A real terminal: tmux, with keys sent and the screen captured.

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long to wait for something on the screen before the test fails. No test
/// gets slower by it.
const PATIENCE: Duration = Duration::from_secs(120);

/// A terminal with a program in it.
pub(crate) struct Pane {
    /// The folder with the socket of its own tmux server.
    folder: TempDir,
}

impl Pane {
    /// Runs a command in a terminal of this size. Its last output stays on the
    /// screen.
    pub(crate) fn new(command: &Command, width: u16, height: u16) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let pane = Self { folder };
        let mut script = "#!/bin/sh\n".to_owned();
        for (name, value) in command.get_envs() {
            let name = name.to_string_lossy();
            match value {
                Some(value) => writeln!(script, "export {name}={}", quoted(value)).unwrap(),
                None => writeln!(script, "unset {name}").unwrap(),
            }
        }
        if let Some(folder) = command.get_current_dir() {
            writeln!(script, "cd {}", quoted(folder.as_os_str())).unwrap();
        }
        script.push_str(&quoted(command.get_program()));
        for argument in command.get_args() {
            write!(script, " {}", quoted(argument)).unwrap();
        }
        script.push_str("\necho \"exit code $?\"\nstty -a\nexec cat\n");
        let file = pane.folder.path().join("run.sh");
        fs::write(&file, script).unwrap();
        let size = [width.to_string(), height.to_string()];
        let run = format!("exec sh {}", quoted(file.as_os_str()));
        pane.tmux(&["new-session", "-d", "-x", &size[0], "-y", &size[1], &run]);
        pane
    }

    fn tmux(&self, args: &[&str]) -> Output {
        let socket = self.folder.path().join("tmux");
        let output = Command::new("tmux")
            .args(["-u", "-f", "/dev/null", "-S"])
            .arg(socket)
            .args(args)
            .env("LC_ALL", "C.UTF-8")
            .env_remove("TMUX")
            .stdin(Stdio::null())
            .output()
            .expect("tmux is missing; `scripts/test test` installs it");
        assert!(output.status.success(), "{args:?}: {output:?}");
        output
    }

    /// Presses keys, by their names in tmux.
    pub(crate) fn press(&self, keys: &[&str]) {
        let mut args = vec!["send-keys"];
        args.extend(keys);
        self.tmux(&args);
    }

    /// Types a text.
    pub(crate) fn types(&self, text: &str) {
        self.tmux(&["send-keys", "-l", "--", text]);
    }

    /// Types a text, and sends it.
    pub(crate) fn says(&self, text: &str) {
        self.types(text);
        self.press(&["Enter"]);
    }

    /// Pastes a text, as terminals do it.
    pub(crate) fn pastes(&self, text: &str) {
        self.tmux(&["set-buffer", "--", text]);
        self.tmux(&["paste-buffer", "-p"]);
    }

    pub(crate) fn resize(&self, width: u16, height: u16) {
        let size = [width.to_string(), height.to_string()];
        self.tmux(&["resize-window", "-x", &size[0], "-y", &size[1]]);
    }

    /// The content of the screen.
    pub(crate) fn screen(&self) -> String {
        let output = self.tmux(&["capture-pane", "-p"]);
        String::from_utf8(output.stdout).unwrap()
    }

    /// Records what the program sends from now on, byte for byte.
    pub(crate) fn keep_sent(&self) {
        let file = self.folder.path().join("sent");
        let keep = format!("cat > {}", quoted(file.as_os_str()));
        self.tmux(&["pipe-pane", &keep]);
    }

    /// What the program has sent since, up to at least this word.
    pub(crate) fn sent(&self, word: &str) -> String {
        let start = Instant::now();
        loop {
            let sent = fs::read(self.folder.path().join("sent")).unwrap_or_default();
            let sent = String::from_utf8_lossy(&sent).into_owned();
            if sent.contains(word) {
                return sent;
            }
            assert!(start.elapsed() < PATIENCE, "it never came:\n{sent:?}");
        }
    }

    /// A variable of tmux.
    pub(crate) fn tells(&self, name: &str) -> String {
        let output = self.tmux(&["display-message", "-p", name]);
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Waits until the screen meets a condition, and returns it.
    pub(crate) fn until(&self, is_so: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let screen = self.screen();
            if is_so(&screen) {
                return screen;
            }
            assert!(start.elapsed() < PATIENCE, "it never came:\n{screen}");
        }
    }

    /// Waits until this is on the screen.
    pub(crate) fn shows(&self, text: &str) -> String {
        self.until(|screen| screen.contains(text))
    }

    /// Waits until nothing is running.
    pub(crate) fn rests(&self) -> String {
        self.until(|screen| !screen.contains("Esc stops"))
    }
}

impl Drop for Pane {
    fn drop(&mut self) {
        let socket = self.folder.path().join("tmux");
        let mut kill = Command::new("tmux");
        kill.arg("-S").arg(socket).arg("kill-server");
        drop(kill.stderr(Stdio::null()).status());
    }
}

fn quoted(text: &std::ffi::OsStr) -> String {
    format!("'{}'", text.to_string_lossy().replace('\'', r"'\''"))
}
