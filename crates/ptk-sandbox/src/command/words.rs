//! What keeper and caller say to each other: a line of JSON at a time from the
//! keeper, and single words to it. When the caller hangs up, everything is
//! killed.

use serde::{Deserialize, Serialize};

/// Asks the keeper to end what there is.
pub(super) const END: &[u8] = b"end\n";

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

/// What became of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Report {
    /// It runs.
    Started,
    /// It could not be started, for this reason of the system.
    Failed(i32),
    /// Its first process has ended. Others may run on.
    Exited(Exit),
    /// It has been standing still for a while, mostly because it wanted to use
    /// a terminal.
    Stopped,
    /// Nothing of it is left, but for those that could not be ended. This is
    /// the last report.
    Gone(Left),
}

impl Report {
    /// The report in a line.
    pub(super) fn line(&self) -> Vec<u8> {
        // Numbers and fixed words always have a text.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }

    /// The report in a line, if it is one.
    pub(super) fn read(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_report_survives_the_way() {
        for report in [
            Report::Started,
            Report::Failed(2),
            Report::Exited(Exit::Code(0)),
            Report::Exited(Exit::Signal(9)),
            Report::Stopped,
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
