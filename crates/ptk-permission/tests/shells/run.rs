//! Shells, and programs that only write down that they were run.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use ptk_permission::shell::{CommandLine, ShellCommand};
use tempfile::TempDir;

use crate::generate::WORDS;

/// Writes down its name and arguments, with their number before them.
const STUB: &str = "#!/bin/dash
printf '%s\\0' \"$#\" \"${0##*/}\" \"$@\" >> \"$PTK_STUB_LOG\"
case $0 in *fail) exit 1 ;; esac
";
/// Words of the shell and builtins that are not stubs.
const BUILTINS: [&str; 6] = ["echo", "cd", "true", "test", "bash", "sh"];
/// What variables of the environment hold.
const VALUES: [(&str, &str); 2] = [("x", "a; b `c` $(d) 'e"), ("y", "a b * ; c")];
/// How long a line may take: some loop for ever, the others take milliseconds.
const PATIENCE: Duration = Duration::from_millis(400);
/// How much of the output is read, in bytes.
const MAX_OUTPUT: u64 = 64 * 1024;

/// A shell that lines are run in.
pub(crate) struct Shell {
    path: &'static str,
    options: &'static [&'static str],
}

impl Shell {
    /// Those that are there.
    pub(crate) fn all() -> Vec<Self> {
        let shells = [("/bin/bash", &[][..]), ("/bin/dash", &[][..])];
        let found = shells
            .into_iter()
            .filter(|(path, _)| Path::new(path).exists());
        found
            .map(|(path, options)| Self { path, options })
            .collect()
    }

    pub(crate) fn name(&self) -> &str {
        self.path
    }
}

/// What a shell did.
#[derive(Debug, Default)]
pub(crate) struct Executed {
    /// Programs with their arguments.
    pub(crate) programs: Vec<Vec<String>>,
    /// Names of files that were not there before.
    pub(crate) files: Vec<String>,
}

/// Whether a line can be run here: it names no other folder, and no file for a
/// shell to run, which would be one of the stubs.
pub(crate) fn is_runnable(text: &str, line: &CommandLine) -> bool {
    let text = text.replace("/dev/null", "");
    let is_shell = |it: &&ShellCommand| matches!(it.program(), Some("bash" | "sh"));
    let mut shells = line.commands().iter().filter(is_shell);
    let is_text = |it: &ShellCommand| {
        it.words()
            .get(1)
            .is_none_or(|it| it.literal() == Some("-c"))
    };
    !text.contains('/') && !text.contains("..") && !text.contains("kill") && shells.all(is_text)
}

/// A folder with nothing in it, and programs that do nothing.
pub(crate) struct Scene {
    folder: TempDir,
    count: u64,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        let stub = folder.path().join("stub");
        fs::write(&stub, STUB).unwrap();
        fs::set_permissions(&stub, fs::Permissions::from_mode(0o755)).unwrap();
        for word in WORDS.iter().filter(|word| !BUILTINS.contains(word)) {
            fs::hard_link(&stub, bin.join(word)).unwrap();
        }
        symlink("/bin/bash", bin.join("bash")).unwrap();
        symlink("/bin/dash", bin.join("sh")).unwrap();
        Self { folder, count: 0 }
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("deep/down/here")
    }

    /// Runs a line.
    pub(crate) fn run(&mut self, shell: &Shell, text: &str, variant: u64) -> Executed {
        self.count += 1;
        let work = self.work();
        fs::create_dir_all(work.join("src")).unwrap();
        let log = self.folder.path().join(format!("log-{}", self.count));
        let mut command = Command::new(shell.path);
        // As `sh`, bash reads some things in another way.
        if shell.path.ends_with("bash") && variant.is_multiple_of(4) {
            command.arg("--posix");
        }
        let locale = if variant.is_multiple_of(3) {
            "C"
        } else {
            "C.UTF-8"
        };
        command
            .args(shell.options)
            .args(["-c", text])
            .current_dir(&work)
            .env_clear()
            .env("PATH", self.folder.path().join("bin"))
            .env("HOME", &work)
            .env("PTK_STUB_LOG", &log)
            .env("LC_ALL", locale)
            .envs(VALUES)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let group = Pid::from_raw(i32::try_from(child.id()).unwrap());
        // What it leaves in the background holds the output open.
        let output = child.stdout.take().unwrap();
        let (done, ended) = mpsc::channel();
        std::thread::spawn(move || {
            let _ = io::copy(&mut output.take(MAX_OUTPUT), &mut io::sink());
            let _ = done.send(());
        });
        let _ = ended.recv_timeout(PATIENCE);
        // Before it is waited for: after that the number may be another's.
        let _ = killpg(group, Signal::SIGKILL);
        child.wait().unwrap();
        let programs = programs(&fs::read(&log).unwrap_or_default());
        let _ = fs::remove_file(&log);
        let is_background = text.replace("&&", "").replace(">&", "").contains('&');
        let mut files = Vec::new();
        if names(&work, &mut files) > 1 {
            fs::remove_dir_all(&work).unwrap_or_default();
        }
        if is_background {
            files.clear();
        }
        Executed { programs, files }
    }
}

/// The names of files in a folder, and how many entries it has in all.
fn names(folder: &Path, files: &mut Vec<String>) -> usize {
    let mut count = 0;
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        count += 1;
        if entry.path().is_dir() {
            count += names(&entry.path(), files);
        } else {
            files.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    count
}

fn programs(log: &[u8]) -> Vec<Vec<String>> {
    let texts = log.split(|byte| *byte == 0);
    let mut texts = texts.map(|it| String::from_utf8_lossy(it).into_owned());
    let mut programs = Vec::new();
    while let Some(count) = texts.next().and_then(|text| text.parse::<usize>().ok()) {
        let words: Vec<String> = texts.by_ref().take(count + 1).collect();
        if words.len() == count + 1 {
            programs.push(words);
        }
    }
    programs
}
