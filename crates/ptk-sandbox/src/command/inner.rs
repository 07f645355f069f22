//! The last steps before the program: this process gives up what the program
//! may not do, and becomes it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IoSlice, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::setsid;
use rustix::stdio::dup2_stdin;

use super::calls::{self, Sockets};
use super::policy::{Policy, Protection, Protections};
use super::words::{Isolated, Isolation, News, Setup};
use super::{descriptors, files, recorded, rights};

/// The name that makes the executable the last stage before the program.
pub(super) const INNER: &str = "ptk-inner";

/// The descriptor of the program's input. Standard input itself is at first the
/// socket on which the keeper hears what became of the program.
pub(super) const INPUT: i32 = 3;

pub(super) fn run(mut words: impl Iterator<Item = OsString>) -> i32 {
    let inherited = u32::try_from(INPUT).map_or(u32::MAX, |input| input + 1);
    if descriptors::close_from(inherited).is_err() {
        return 1;
    }
    let Ok(mut news) = take_over() else {
        return 1;
    };
    let setup = Setup::read(words.next().as_deref());
    let policy = setup.as_ref().ok().and_then(|setup| setup.policy.as_ref());
    let is_recorded = policy.is_some_and(|policy| policy.recorded.is_some());
    let last = match setup.and_then(|setup| prepare(setup, words)) {
        Ok((protections, None)) => News::Unprotected(protections),
        Ok((protections, Some(mut command))) => match record(&news, is_recorded) {
            Ok(()) => {
                tell(&mut news, &News::Ready(protections));
                failed(&command.exec())
            }
            Err(error) => News::NotRecorded(error.to_string()),
        },
        Err(error) => failed(&error),
    };
    tell(&mut news, &last);
    1
}

fn failed(error: &io::Error) -> News {
    News::Failed(error.raw_os_error().unwrap_or_default())
}

/// Sends news to the keeper. It does not matter if the keeper is gone.
fn tell(news: &mut UnixStream, what: &News) {
    let _ = news.write_all(&line(what));
}

fn line(news: &News) -> Vec<u8> {
    let mut line = serde_json::to_vec(news).unwrap_or_default();
    line.push(b'\n');
    line
}

/// Takes the socket from standard input, by a descriptor that closes when the
/// program is executed, and puts the program's input there.
fn take_over() -> io::Result<UnixStream> {
    let news = io::stdin().as_fd().try_clone_to_owned()?;
    let input = File::open(format!("/proc/self/fd/{INPUT}"))?;
    dup2_stdin(&input)?;
    nix::unistd::close(INPUT)?;
    Ok(UnixStream::from(news))
}

/// Has the keeper record from here on what is about to be changed.
fn record(news: &UnixStream, is_recorded: bool) -> io::Result<()> {
    if is_recorded {
        send(news, &recorded::install()?)?;
        recorded::probe()?;
    }
    Ok(())
}

fn send(news: &UnixStream, listener: &OwnedFd) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let files = [listener.as_fd()];
    ancillary.push(SendAncillaryMessage::ScmRights(&files));
    let line = line(&News::Recorded);
    let line = [IoSlice::new(&line)];
    sendmsg(news, &line, &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// The program, ready to be executed, and its protections. Without the program
/// if the protections are not enough.
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

/// Gives up everything that the policy does not allow, and reports what could
/// not be given up.
fn protect(policy: &Policy, isolated: Isolated) -> io::Result<Protections> {
    let mut protections = Protections::default();
    protections.note(Protection::Limits, rights::limit(policy.limits));
    rights::give_up()?;
    if isolated.processes {
        protections.note(Protection::Processes, Ok(()));
    }
    files::restrict(policy, isolated, &mut protections);
    // With its own network and folders, no service can be reached.
    let is_alone = isolated.network && isolated.folders;
    let sockets = if policy.network || is_alone {
        Sockets::Common
    } else {
        Sockets::None
    };
    let calls = calls::restrict(sockets);
    if !policy.network {
        let network = if is_alone { Ok(()) } else { calls.clone() };
        protections.note(Protection::Network, network);
    }
    protections.note(Protection::Calls, calls);
    Ok(protections)
}
