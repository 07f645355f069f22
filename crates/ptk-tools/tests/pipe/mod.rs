//! A named pipe on which a command and a test wait for each other.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    dead_code,
    reason = "the lints allow these inside tests, but not in what tests share; not every test needs all of it"
)]

use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longer than anything takes that works.
const LONG: Duration = Duration::from_secs(150);

pub(crate) struct Pipe {
    path: PathBuf,
}

impl Pipe {
    /// A new one, in this folder and by this name.
    pub(crate) fn new(folder: &Path, name: &str) -> Self {
        let path = folder.join(name);
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        Self { path }
    }

    /// What commands write to it, once they have all closed it.
    pub(crate) fn closed(&self) -> impl Future<Output = String> + use<> {
        let (told, heard) = tokio::sync::oneshot::channel();
        let path = self.path.clone();
        // A thread of its own, so that one that waits forever blocks no other
        // work.
        std::thread::spawn(move || told.send(std::fs::read_to_string(path).unwrap()));
        async {
            let heard = tokio::time::timeout(LONG, heard).await;
            heard.expect("somebody writes to the pipe").unwrap()
        }
    }

    /// Lets a command go on that reads from it.
    pub(crate) fn open(&self) {
        let path = self.path.clone();
        std::thread::spawn(move || std::fs::write(path, "go on\n").unwrap());
    }
}
