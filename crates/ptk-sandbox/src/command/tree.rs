//! The processes below one, as the system lists them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;

use rustix::process::{Pid, Signal, getpid, kill_process};

/// How often the list is read until it stays the same.
const ATTEMPTS: usize = 8;

struct Stat {
    is_alive: bool,
    parent: i32,
}

fn stat(pid: i32) -> Option<Stat> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    // The name of the program is in parentheses, and may hold some.
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    Some(Stat {
        is_alive: !matches!(state, "Z" | "X"),
        parent: fields.next()?.parse().ok()?,
    })
}

fn list() -> HashMap<i32, Stat> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        Some((pid, stat(pid)?))
    })
    .collect()
}

/// The living processes below `root`. One that loses its parent while the list
/// is read may be missing from it, but not from the next one.
pub(super) fn below(root: Pid) -> Vec<Pid> {
    let mut members = below_once(root);
    for _ in 1..ATTEMPTS {
        let again = below_once(root);
        let is_settled = again == members;
        members = again;
        if is_settled {
            break;
        }
    }
    members.into_iter().filter_map(Pid::from_raw).collect()
}

fn below_once(root: Pid) -> BTreeSet<i32> {
    let root = root.as_raw_nonzero().get();
    let all = list();
    let mut inside = HashSet::from([root]);
    loop {
        let before = inside.len();
        for (pid, stat) in &all {
            if inside.contains(&stat.parent) {
                inside.insert(*pid);
            }
        }
        if inside.len() == before {
            break;
        }
    }
    let is_alive = |pid: &i32| all.get(pid).is_some_and(|stat| stat.is_alive);
    inside.remove(&root);
    inside.into_iter().filter(is_alive).collect()
}

/// Signals all processes that this one sees. Only for the first process in a
/// namespace: any other would end the user's session with it.
pub(super) fn signal_all_others(signal: Signal) {
    let all = nix::unistd::Pid::from_raw(-1);
    if getpid().is_init() {
        let signal = nix::sys::signal::Signal::try_from(signal.as_raw()).ok();
        // It is fine if there are none.
        let _ = nix::sys::signal::kill(all, signal);
    }
}

/// Signals all processes below `root`, and returns how many there were.
pub(super) fn signal(root: Pid, signal: Signal) -> usize {
    let members = below(root);
    for member in &members {
        // It is fine if it is gone already.
        let _ = kill_process(*member, signal);
    }
    members.len()
}
