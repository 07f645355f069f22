//! The question to the user about a call: what it would do, and the possible
//! answers.

use std::path::Path;

use ptk_tools::{ApprovalRequest, Decision, Review};

use crate::view::clean::{in_line, visible};

/// How many characters of a line are shown at once.
const MAX_LINE: usize = 4000;
/// How many of them are from the end.
const LAST_CHARACTERS: usize = 1000;
/// The most empty lines that are shown as they are.
const GAP: usize = 2;

/// A question, with its texts escaped for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) kind: Kind,
    pub(crate) tool: String,
    /// The purpose of the call, in a few words.
    pub(crate) purpose: String,
    /// The whole diff or command.
    pub(crate) body: String,
    /// The folder of a command, if it is not the workspace.
    pub(crate) folder: Option<String>,
    /// Warnings about the call.
    pub(crate) warnings: Vec<String>,
    /// Further remarks.
    pub(crate) remarks: Vec<String>,
    /// The rules that would allow it, and similar calls. Empty if only this
    /// call may be allowed.
    pub(crate) rules: String,
    /// Whether all edits of this session may be allowed.
    pub(crate) is_edit: bool,
    /// Whether the sandbox cannot fully protect from it.
    pub(crate) is_unprotected: bool,
}

/// What the user decides about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Whether a call runs.
    Call,
    /// Whether what it has changed is kept.
    Changes,
}

impl Question {
    /// The question whether to run a call in this workspace.
    pub(crate) fn of(request: &ApprovalRequest<'_>, workspace: &Path, note: Option<&str>) -> Self {
        let plan = request.plan;
        let body = match plan.summary.trim_end() {
            "" => request.args.to_json(),
            summary => summary.to_owned(),
        };
        let folder = plan.command.as_ref().map(|(_, folder)| folder);
        let folder = folder.filter(|folder| *folder != workspace);
        let gap = request
            .unprotected
            .map(|protections| format!("The sandbox would not be complete: {protections}"));
        let because = request.because.map(|rule| {
            let rule = in_line(&rule.to_string());
            format!("Asked because of the rule {rule}.")
        });
        let rules: Vec<String> = request.rules.iter().map(ToString::to_string).collect();
        Self {
            kind: Kind::Call,
            tool: in_line(request.tool),
            purpose: in_line(&request.purpose()),
            body: visible(&body),
            folder: folder.map(|folder| in_line(&folder.display().to_string())),
            warnings: (plan.warnings.iter().chain(&gap))
                .map(|warning| visible(warning))
                .collect(),
            remarks: (because.into_iter())
                .chain(note.map(str::to_owned))
                .collect(),
            rules: in_line(&rules.join(", ")),
            is_edit: request.is_edit,
            is_unprotected: request.unprotected.is_some(),
        }
    }

    /// The question whether to keep the changes of a command.
    pub(crate) fn of_changes(review: &Review<'_>) -> Self {
        let count = review.paths.len();
        let are = if count == 1 { "change" } else { "changes" };
        let more = (!review.uncovered.is_empty()).then(|| {
            let folders = in_line(&review.uncovered.join(", "));
            format!("More has changed in {folders}.")
        });
        Self {
            kind: Kind::Changes,
            tool: in_line(review.tool),
            purpose: format!("has ended, with {count} {are}"),
            body: visible(review.diff.trim_end()),
            folder: None,
            warnings: Vec::new(),
            remarks: more.into_iter().collect(),
            rules: String::new(),
            is_edit: false,
            is_unprotected: false,
        }
    }

    /// Whether the answer "session" is possible.
    pub(crate) fn has_session(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Whether the answer "always" is possible.
    pub(crate) fn has_always(&self) -> bool {
        self.has_session() && !self.is_unprotected
    }
}

/// A denial, with a message for the model.
pub(crate) fn refused(word: &str) -> Decision {
    Decision::Deny(match word.trim() {
        "" => "the user said no".to_owned(),
        word => format!("the user said no: {word}"),
    })
}

/// Shortens lines for display: runs of empty lines, and the middle of long
/// lines.
pub(crate) fn without_gaps(lines: &[&str]) -> Vec<String> {
    let mut shown = Vec::new();
    let is_empty = |line: &&str| line.trim().is_empty();
    for part in lines.chunk_by(|a, b| is_empty(a) == is_empty(b)) {
        if part.len() > GAP && part.iter().all(is_empty) {
            shown.push(format!("… {} empty lines …", part.len()));
        } else {
            shown.extend(part.iter().map(|line| without_middle(line)));
        }
    }
    shown
}

fn without_middle(line: &str) -> String {
    let count = line.chars().count();
    if count <= MAX_LINE {
        return line.to_owned();
    }
    let first: String = line.chars().take(MAX_LINE - LAST_CHARACTERS).collect();
    let last: String = line.chars().skip(count - LAST_CHARACTERS).collect();
    format!("{first} … {} more characters … {last}", count - MAX_LINE)
}
