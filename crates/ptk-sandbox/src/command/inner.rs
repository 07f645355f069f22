//! The last steps before the program: this process becomes it.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::setsid;

/// The descriptor on which the keeper is told why there is no program. It
/// closes by itself when there is one.
pub(super) const WHY: i32 = 3;

pub(super) fn run(mut words: impl Iterator<Item = OsString>) -> i32 {
    let Ok(mut why) = take_over() else {
        return 1;
    };
    let error = match words.next() {
        Some(program) => become_it(&program, words),
        None => io::ErrorKind::InvalidInput.into(),
    };
    let number = error.raw_os_error().unwrap_or_default();
    // If the keeper is gone, nobody wants to know.
    let _ = write!(why, "{number}");
    1
}

/// The same descriptor, but one that does not outlive this program.
fn take_over() -> io::Result<File> {
    let why = OpenOptions::new()
        .write(true)
        .open(format!("/proc/self/fd/{WHY}"))?;
    nix::unistd::close(WHY)?;
    Ok(why)
}

/// Returns only if it did not work.
fn become_it(program: &OsString, arguments: impl Iterator<Item = OsString>) -> io::Error {
    // A session of its own, so that there is no terminal to read from, and a
    // group of its own, so that it can signal its group.
    if let Err(error) = setsid() {
        return error.into();
    }
    Command::new(program).args(arguments).exec()
}
