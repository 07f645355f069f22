//! The processes of the system, as far as they can be seen.

use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use rustix::process::{Pid, test_kill_process_group};

use super::group::MARK;

/// As much of an environment as is looked at; the system allows no more.
const MAX_ENVIRONMENT: u64 = 8 * 1024 * 1024;

/// A process of a program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    pub(super) pid: Pid,
    /// Whether it is still in the program's process group.
    pub(super) is_in_group: bool,
}

struct Stat {
    state: char,
    group: i32,
    /// When it was started, in ticks since the system was.
    born: u64,
}

/// Whether the system lists its processes where they are looked for.
pub(super) fn are_listed() -> bool {
    cfg!(target_os = "linux") && Path::new("/proc/self/stat").exists()
}

fn stat(pid: i32) -> Option<Stat> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    // The name of the program is in parentheses, and may hold some.
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    Some(Stat {
        state: fields.next()?.chars().next()?,
        group: fields.nth(1)?.parse().ok()?,
        born: fields.nth(16)?.parse().ok()?,
    })
}

/// Whether a process stands still.
pub(super) fn is_stopped(pid: Pid) -> bool {
    stat(pid.as_raw_nonzero().get()).is_some_and(|stat| stat.state == 'T')
}

/// When a process was started.
pub(super) fn born(pid: Pid) -> u64 {
    stat(pid.as_raw_nonzero().get()).map_or(0, |stat| stat.born)
}

/// The processes that are in the leader's group or carry the mark, and are
/// alive. Where processes are not listed, the leader stands for its group.
pub(super) fn of(leader: Pid, mark: &OsStr, born: u64) -> Vec<Member> {
    if !are_listed() {
        let member = Member {
            pid: leader,
            is_in_group: true,
        };
        let group = test_kill_process_group(leader);
        return group.map_or_else(|_| Vec::new(), |()| vec![member]);
    }
    let mut variable = format!("{MARK}=").into_bytes();
    variable.extend_from_slice(mark.as_encoded_bytes());
    let group = leader.as_raw_nonzero().get();
    let member = |pid: i32| {
        let stat = stat(pid)?;
        let is_alive = !matches!(stat.state, 'Z' | 'X') && stat.born >= born;
        let is_in_group = stat.group == group;
        if !is_alive || !(is_in_group || carries(pid, &variable)) {
            return None;
        }
        let pid = Pid::from_raw(pid)?;
        Some(Member { pid, is_in_group })
    };
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| member(entry.file_name().to_str()?.parse().ok()?))
        .collect()
}

fn carries(pid: i32, mark: &[u8]) -> bool {
    let Ok(file) = fs::File::open(format!("/proc/{pid}/environ")) else {
        return false;
    };
    let mut variables = Vec::new();
    // A process that goes away while it is read has nothing more to say.
    let _ = file.take(MAX_ENVIRONMENT).read_to_end(&mut variables);
    variables.split(|byte| *byte == 0).any(|variable| {
        let value = variable.strip_prefix(mark);
        value.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    })
}
