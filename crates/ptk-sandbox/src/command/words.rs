//! The messages between keeper and caller: a line of JSON at a time from the
//! keeper, and single words to it. When the caller closes the connection,
//! everything is killed.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::policy::{Policy, Protections};

/// Asks the keeper to end what there is.
pub(super) const END: &[u8] = b"end\n";

/// Files that the caller hands to the keeper with its first byte: the one that is
/// locked, the one for records, and what the program reads from.
pub(super) const MAX_FILES: usize = 3;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// What was left of a program when its end was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Left {
    /// Processes that were still running.
    pub found: usize,
    /// Those of them that could not be ended, such as another user's.
    pub survived: usize,
}

/// A report of the keeper about its program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Report {
    /// It runs, with these protections.
    Started(Protections),
    /// The helper could not get a view of the system of its own, for this
    /// reason, and cannot go on. Nothing was started.
    Confused(String),
    /// It was not started, because it could have only these protections, and
    /// was to have all.
    Unprotected(Protections),
    /// It was not started, because a layer could not be laid over a folder.
    NoLayer(String),
    /// It was not started, because its changes could not be recorded.
    NotRecorded(String),
    /// It could not be started, for this reason of the system.
    Failed(i32),
    /// Its first process has ended. Others may run on.
    Exited(Exit),
    /// It has been standing still for a while, mostly because it wanted to use
    /// a terminal.
    Stopped,
    /// It wanted to write these files, and must not. Relative to the folder that
    /// they lie in.
    Refused(Vec<String>),
    /// Nothing of it is left, but for those that could not be ended. This is
    /// the last report.
    Gone(Left),
}

impl Report {
    /// The report as a line of JSON.
    pub(super) fn line(&self) -> Vec<u8> {
        // Numbers and fixed words can always be serialized.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }

    /// Reads a report from a line, if it is one.
    pub(super) fn read(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}

/// Whether a program is to get a view of the system of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Isolation {
    /// It is wanted, and has not been tried.
    Wanted,
    /// It is done, as far as it goes.
    Done(Isolated),
    /// It cannot be had, for this reason.
    Refused(String),
}

/// What the stages of the helper hand on to each other, as their first
/// argument.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Setup {
    /// Without one, the program may do whatever its user may.
    pub(super) policy: Option<Policy>,
    /// Whether it is not to run if a protection is missing.
    pub(super) is_strict: bool,
    pub(super) isolation: Isolation,
    /// Whether the first file that is handed over is a lock.
    #[serde(default)]
    pub(super) has_lock: bool,
    /// Sockets of services of this machine.
    pub(super) listening: Vec<PathBuf>,
    /// Why it has no view of the folders of its own, if it has none.
    pub(super) no_folders: Option<String>,
}

impl Setup {
    pub(super) fn word(&self) -> io::Result<String> {
        serde_json::to_string(self).map_err(io::Error::other)
    }

    pub(super) fn read(word: Option<&OsStr>) -> io::Result<Self> {
        let word = word.and_then(OsStr::to_str).unwrap_or_default();
        serde_json::from_str(word).map_err(io::Error::other)
    }
}

/// What the last stage reports about the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum News {
    /// It has these protections, and is about to run.
    Ready(Protections),
    /// It does not run, because it has only these protections.
    Unprotected(Protections),
    /// With this comes the handle by which its changes are recorded.
    Recorded,
    /// It does not run, because its changes cannot be recorded.
    NotRecorded(String),
    /// It does not run, for this reason of the system.
    Failed(i32),
}

/// What a program has of its own already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Isolated {
    /// It sees no processes but its own.
    pub(super) processes: bool,
    /// It has a network of its own.
    pub(super) network: bool,
    /// It has its own view of the folders that others use too.
    pub(super) folders: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_report_survives_the_way() {
        for report in [
            Report::Started(Protections::default()),
            Report::Confused("so".to_owned()),
            Report::Unprotected(Protections::default()),
            Report::NoLayer("so".to_owned()),
            Report::NotRecorded("so".to_owned()),
            Report::Failed(2),
            Report::Exited(Exit::Code(0)),
            Report::Exited(Exit::Signal(9)),
            Report::Stopped,
            Report::Refused(vec![".envrc".to_owned()]),
            Report::Gone(Left {
                found: 2,
                survived: 1,
            }),
        ] {
            let line = String::from_utf8(report.line()).unwrap();
            assert_eq!(Report::read(line.trim_end()), Some(report));
        }
    }
}
