//! A diff of what an undo would do, for people.

use std::io::Read;

use crate::journal::Change;
use crate::plan::Undo;
use crate::state::State;
use crate::text_diff::unified;

/// The largest file of which a diff is shown.
const MAX_SIZE: u64 = 1024 * 1024;
/// Lines of a diff.
const MAX_LINES: usize = 400;
/// Unchanged lines around a change.
const CONTEXT: usize = 3;

impl Undo {
    /// What a step of an undo would do, as a diff where both are text.
    #[must_use]
    pub fn diff(&self, step: &Change) -> String {
        let texts = (self.text(step, &step.before), self.text(step, &step.after));
        shown(step, texts)
    }

    /// The text of a state; nothing is an empty one.
    fn text(&self, step: &Change, state: &State) -> Option<String> {
        let content = match state {
            State::Missing => return Some(String::new()),
            State::File {
                content: Some(content),
                ..
            } if content.size <= MAX_SIZE => content,
            _ => return None,
        };
        // From the store, or from the file that has it now.
        match self.store.contents.open(content) {
            Ok(kept) => text_of(kept),
            Err(_) => text_of(self.workspace.place(&step.path).ok()?.open().ok()?),
        }
    }
}

/// A change, as a diff where both sides are text.
pub(super) fn shown(change: &Change, texts: (Option<String>, Option<String>)) -> String {
    let path = change.path.display();
    let (before, after) = (said(&change.before), said(&change.after));
    match texts {
        (Some(one), Some(two)) if one != two => {
            let diff = unified(&one, &two, CONTEXT, MAX_LINES);
            format!("--- {path}: {before}\n+++ {path}: {after}\n{diff}")
        }
        _ => format!("{path}: {before} → {after}"),
    }
}

/// What an open file holds, if it is text, and not too much.
pub(super) fn text_of(file: impl Read) -> Option<String> {
    let mut bytes = Vec::new();
    let read = file.take(MAX_SIZE + 1).read_to_end(&mut bytes);
    let is_whole = read.is_ok_and(|read| read as u64 <= MAX_SIZE);
    String::from_utf8(bytes).ok().filter(|_| is_whole)
}

/// A description of a state.
fn said(state: &State) -> String {
    match state {
        State::Missing => "nothing".to_owned(),
        State::File { size, about, .. } => format!("a file of {size} bytes, mode {:o}", about.mode),
        State::Link { target, .. } => format!("a link to {}", target.display()),
        State::Folder { about } => format!("a folder, mode {:o}", about.mode),
        State::Special { what } => what.clone(),
        State::Unknown => "something that others have changed since".to_owned(),
    }
}
