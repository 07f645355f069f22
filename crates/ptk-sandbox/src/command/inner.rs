//! The last steps before the program: this process gives up what the program
//! may not do, and becomes it.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::setsid;

use super::calls::{self, Sockets};
use super::policy::{Policy, Protection, Protections};
use super::words::{Isolated, Isolation, News, Setup};
use super::{files, rights};

/// The descriptor on which the keeper is told what became of the program. It
/// closes by itself when there is one.
pub(super) const NEWS: i32 = 3;

pub(super) fn run(mut words: impl Iterator<Item = OsString>) -> i32 {
    let Ok(mut news) = take_over() else {
        return 1;
    };
    let setup = Setup::read(words.next().as_deref());
    let last = match setup.and_then(|setup| prepare(setup, words)) {
        Ok((protections, None)) => News::Unprotected(protections),
        Ok((protections, Some(mut command))) => {
            tell(&mut news, &News::Ready(protections));
            failed(&command.exec())
        }
        Err(error) => failed(&error),
    };
    tell(&mut news, &last);
    1
}

fn failed(error: &io::Error) -> News {
    News::Failed(error.raw_os_error().unwrap_or_default())
}

/// If the keeper is gone, nobody wants to know.
fn tell(news: &mut File, what: &News) {
    let line = serde_json::to_string(what).unwrap_or_default();
    let _ = writeln!(news, "{line}");
}

/// The same descriptor, but one that does not outlive this program.
fn take_over() -> io::Result<File> {
    let news = OpenOptions::new()
        .write(true)
        .open(format!("/proc/self/fd/{NEWS}"))?;
    nix::unistd::close(NEWS)?;
    Ok(news)
}

/// The program, ready to be, and what protects it. Without the program, that is
/// not enough.
fn prepare(
    setup: Setup,
    mut words: impl Iterator<Item = OsString>,
) -> io::Result<(Protections, Option<Command>)> {
    let mut command = Command::new(words.next().ok_or(io::ErrorKind::InvalidInput)?);
    command.args(words);
    // A session of its own, so that there is no terminal to read from, and a
    // group of its own, so that it can signal its group.
    setsid()?;
    let Some(policy) = setup.policy else {
        return Ok((Protections::default(), Some(command)));
    };
    let (isolated, no_folders) = match setup.isolation {
        Isolation::Done(isolated) => (isolated, setup.no_folders),
        Isolation::Refused(why) => (Isolated::default(), Some(why)),
        Isolation::Wanted => (Isolated::default(), None),
    };
    let mut protections = protect(&policy, isolated)?;
    let attributes = match no_folders {
        None => Ok(()),
        Some(why) => Err(format!("the system refuses a namespace of mounts: {why}")),
    };
    protections.note(Protection::Attributes, attributes);
    let temporary = if isolated.folders {
        Some(PathBuf::from("/tmp"))
    } else {
        policy.temporary
    };
    if let Some(temporary) = temporary {
        command.env("XDG_CACHE_HOME", temporary.join("cache"));
        command.env("TMPDIR", temporary);
    }
    let is_enough = protections.missing.is_empty() || !setup.is_strict;
    Ok((protections, is_enough.then_some(command)))
}

/// Gives up everything that the policy does not allow. What cannot be given up
/// is said.
fn protect(policy: &Policy, isolated: Isolated) -> io::Result<Protections> {
    let mut protections = Protections::default();
    protections.note(Protection::Limits, rights::limit(policy.limits));
    rights::give_up()?;
    if isolated.processes {
        protections.note(Protection::Processes, Ok(()));
    }
    files::restrict(policy, isolated, &mut protections);
    // With a network and folders of its own there is nobody to reach.
    let is_alone = isolated.network && isolated.folders;
    let sockets = if policy.network || is_alone {
        Sockets::Common
    } else {
        Sockets::None
    };
    let calls = calls::refuse(sockets);
    if !policy.network {
        let network = if is_alone { Ok(()) } else { calls.clone() };
        protections.note(Protection::Network, network);
    }
    protections.note(Protection::Calls, calls);
    Ok(protections)
}
