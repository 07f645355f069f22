//! A terminal with typed input.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Creates a terminal without echo, types a line into it, and then prints for
/// each line that it is sent whether anything was written to it.
const PROGRAM: &str = r#"
import os, select, sys, tty
own, others = os.openpty()
tty.setraw(others)
os.fchown(others, int(sys.argv[1]), -1)
os.write(own, (sys.argv[2] + "\n").encode())
print(os.ttyname(others), flush=True)
for _ in sys.stdin:
    is_painted = bool(select.select([own], [], [], 0)[0])
    if is_painted: os.read(own, 4096)
    print(int(is_painted), flush=True)
"#;

pub(super) struct Terminal {
    pub(super) path: PathBuf,
    process: Child,
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Terminal {
    pub(super) fn new(user: Option<u32>, typed: &str) -> Self {
        let user = user.map_or_else(|| "-1".to_owned(), |user| user.to_string());
        let mut process = Command::new("python3")
            .args(["-c", PROGRAM, &user, typed])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut path = String::new();
        let mut said = BufReader::with_capacity(1, process.stdout.take().unwrap());
        said.read_line(&mut path).unwrap();
        process.stdout = Some(said.into_inner());
        Self {
            path: path.trim().into(),
            process,
        }
    }

    /// Whether anything was written to it since the last time.
    pub(super) fn is_painted(&mut self) -> bool {
        writeln!(self.process.stdin.as_mut().unwrap()).unwrap();
        let mut said = [0; 2];
        let stdout = self.process.stdout.as_mut().unwrap();
        stdout.read_exact(&mut said).unwrap();
        said[0] == b'1'
    }
}
