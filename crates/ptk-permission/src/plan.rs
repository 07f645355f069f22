//! What a call is about to touch.

use std::path::PathBuf;

use ptk_sandbox::Place;

use crate::Effects;
use crate::shell::CommandLine;

/// What a call is about to touch, known before it runs: for the approver, and
/// for what is kept before it is overwritten.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Files that are read.
    pub reads: Vec<Place>,
    /// Files that are written, new or not.
    pub writes: Vec<Place>,
    /// What the call may do to files that `reads` and `writes` do not name:
    /// [`Effects::READ`], [`Effects::WRITE`], both or nothing. Where a rule
    /// forbids some paths, such a call needs approval.
    pub unknown: Effects,
    /// The command that runs, and the folder in which it does. A tool that
    /// names one changes files only by running it with
    /// `Program::run` of the crate `ptk-tools`. Only a tool that says so
    /// here can be let run programs that are not protected in full.
    pub command: Option<(String, PathBuf)>,
    /// Whether the command runs on after the call has ended.
    pub runs_on: bool,
    /// The same command taken apart, where it is a text for the shell.
    pub script: Option<CommandLine>,
    /// What the tool does by configuration, in short. An approval for longer
    /// than once is for just this.
    pub declared: Option<String>,
    /// What an approver should know, such as how many files are deleted. A call
    /// with warnings is never approved for more than once.
    pub warnings: Vec<String>,
    /// Whether the files hold already what would be written. Such a call needs
    /// no approval. A tool that says so has to fail if that is no longer true
    /// when it runs, and must not say so of a file that is not to be shown.
    pub changes_nothing: bool,
    /// What a person sees before the decision, such as a diff.
    pub summary: String,
}

impl Plan {
    /// The plan of a call of which nothing is known but its effects.
    #[must_use]
    pub fn unknown(effects: Effects) -> Self {
        Self {
            unknown: effects.on_files(),
            ..Self::default()
        }
    }
}
