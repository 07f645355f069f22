//! All processes that belong to a program, and their end.
//!
//! A program has a process group of its own. Its children can leave the group
//! (`setsid`, job control), but not easily their environment: there a mark
//! says whose they are. On Linux both are looked up in `/proc`. A child that
//! leaves the group and cleans its environment is not found; on other systems,
//! and where there is no `/proc`, one that leaves the group is not.

use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::processes::{self, Member};

/// The variable that holds the mark.
pub(super) const MARK: &str = "PTK_PROCESS";
/// How long processes have between the polite signal and the other one.
const GRACE: Duration = Duration::from_secs(1);
/// How long killed processes have to go away.
const KILLED: Duration = Duration::from_secs(1);
/// The pause between two looks at them, at first.
const PAUSE: Duration = Duration::from_millis(5);
/// The same, after a while.
const MAX_PAUSE: Duration = Duration::from_millis(80);

/// Processes that a program left running.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Leftovers {
    pub(super) found: usize,
    pub(super) survived: usize,
}

/// The processes of one program.
#[derive(Debug)]
pub(crate) struct Group {
    leader: Pid,
    mark: OsString,
    /// When the leader was started. No member is older.
    born: u64,
    /// Whether the leader has been waited for. From then on its number may
    /// mean another process.
    reaped: AtomicBool,
}

impl Group {
    pub(super) fn new(leader: Pid, mark: OsString) -> Self {
        Self {
            leader,
            mark,
            born: processes::born(leader),
            reaped: AtomicBool::new(false),
        }
    }

    /// The leader is gone.
    pub(super) fn reaped(&self) {
        self.reaped.store(true, Ordering::Release);
    }

    /// Whether the leader stands still.
    pub(super) fn is_stopped(&self) -> bool {
        processes::is_stopped(self.leader)
    }

    /// Those that are alive.
    fn members(&self) -> Vec<Member> {
        processes::of(self.leader, &self.mark, self.born)
    }

    /// Signals all of them, each once, and says how many there were.
    fn signal(&self, signal: Signal) -> usize {
        let is_whole = !self.reaped.load(Ordering::Acquire) || !processes::are_listed();
        let members = self.members();
        // A process that is gone already is what was wanted.
        if is_whole {
            let _ = kill_process_group(self.leader, signal);
        }
        for member in &members {
            if !(is_whole && member.is_in_group) {
                let _ = kill_process(member.pid, signal);
            }
        }
        members.len()
    }

    /// Kills all of them. Those that are born meanwhile are found in the next
    /// round. Says how many did not go away, because they belong to another
    /// user or hang in the kernel.
    pub(crate) fn kill(&self) -> usize {
        let until = Instant::now() + KILLED;
        loop {
            let left = self.signal(Signal::KILL);
            if left == 0 || Instant::now() > until {
                return left;
            }
            thread::sleep(PAUSE);
        }
    }

    /// Asks all of them to end, and kills those that do not.
    pub(super) fn end(&self) -> Leftovers {
        let found = self.signal(Signal::TERM);
        if found == 0 {
            return Leftovers::default();
        }
        // One that stands still does not hear the first signal.
        self.signal(Signal::CONT);
        let survived = if self.gone_within(GRACE) {
            0
        } else {
            self.kill()
        };
        Leftovers { found, survived }
    }

    fn gone_within(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut pause = PAUSE;
        while !self.members().is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            thread::sleep(pause.min(left));
            pause = (pause * 2).min(MAX_PAUSE);
        }
        true
    }
}
