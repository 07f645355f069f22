//! A keeper without a helper: it knows the program's process group and no more.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::process::Child;
use tokio::time::{Instant, sleep, timeout};

use super::policy::Protections;
use super::words::{Exit, Left, Report};
use super::{GRACE, KILLED, PAUSE};

/// Keeps a program as the helper would.
pub(super) async fn keep(mut child: Child, control: UnixStream) {
    let (heard, mut told) = control.into_split();
    let mut lines = BufReader::new(heard).lines();
    tell(&mut told, &Report::Started(Protections::default())).await;
    let group = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
    let mut is_running = true;
    let is_polite = loop {
        tokio::select! {
            status = child.wait(), if is_running => {
                is_running = false;
                tell(&mut told, &Report::Exited(exit(status.ok()))).await;
            }
            line = lines.next_line() => break matches!(line, Ok(Some(_))),
        }
    };
    let ending = async {
        match group {
            Some(group) => end(group, is_polite).await,
            None => Left::default(),
        }
    };
    // A child that has ended is a member of the group until it is waited for.
    let reaping = async {
        let status = timeout(GRACE + KILLED, child.wait()).await;
        let status = status.ok().and_then(Result::ok);
        if is_running {
            tell(&mut told, &Report::Exited(exit(status))).await;
        }
    };
    let (left, ()) = tokio::join!(ending, reaping);
    tell(&mut told, &Report::Gone(left)).await;
}

async fn tell(control: &mut OwnedWriteHalf, report: &Report) {
    // If the caller is gone, the next read reports it too.
    let _ = control.write_all(&report.line()).await;
}

fn exit(status: Option<ExitStatus>) -> Exit {
    let code = status.and_then(|status| status.code());
    let signal = status.and_then(|status| status.signal());
    match (code, signal) {
        (Some(code), _) => Exit::Code(code),
        // Not even killing helped: it hangs in the kernel.
        (None, signal) => Exit::Signal(signal.unwrap_or(9)),
    }
}

async fn end(group: Pid, is_polite: bool) -> Left {
    let found = usize::from(is_there(group));
    if is_polite {
        // It is fine if the group is gone already.
        let _ = kill_process_group(group, Signal::TERM);
        let _ = kill_process_group(group, Signal::CONT);
        if gone_by(group, Instant::now() + GRACE).await {
            return Left { found, survived: 0 };
        }
    }
    let _ = kill_process_group(group, Signal::KILL);
    let is_gone = gone_by(group, Instant::now() + KILLED).await;
    Left {
        found,
        survived: usize::from(!is_gone),
    }
}

fn is_there(group: Pid) -> bool {
    test_kill_process_group(group).is_ok()
}

async fn gone_by(group: Pid, until: Instant) -> bool {
    while is_there(group) {
        if Instant::now() > until {
            return false;
        }
        sleep(PAUSE).await;
    }
    true
}
