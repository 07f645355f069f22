//! What an undo would do, for people.

use std::io::Read as _;

use super::journal::Change;
use super::plan::Undo;
use super::state::{Content, State};
use crate::tools::text::unified;

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
        let path = step.path.display();
        let texts = (self.text(step, &step.before), self.text(step, &step.after));
        match texts {
            (Some(before), Some(after)) if before != after => {
                let diff = unified(&before, &after, CONTEXT, MAX_LINES);
                format!(
                    "--- {path}: {}\n+++ {path}: {}\n{diff}",
                    said(&step.before),
                    said(&step.after)
                )
            }
            _ => format!("{path}: {} → {}", said(&step.before), said(&step.after)),
        }
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
        let bytes = self.bytes(step, content)?;
        String::from_utf8(bytes).ok()
    }

    /// A content from the store, or from the file that has it now.
    fn bytes(&self, step: &Change, content: &Content) -> Option<Vec<u8>> {
        let file = match self.store.contents.open(content) {
            Ok(file) => file,
            Err(_) => self.workspace.place(&step.path).ok()?.open().ok()?,
        };
        let mut bytes = Vec::new();
        file.take(MAX_SIZE).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}

/// A state in words.
fn said(state: &State) -> String {
    match state {
        State::Missing => "nothing".to_owned(),
        State::File { size, about, .. } => format!("a file of {size} bytes, mode {:o}", about.mode),
        State::Link { target, .. } => format!("a link to {}", target.display()),
        State::Folder { about } => format!("a folder, mode {:o}", about.mode),
        State::Special { what } => what.clone(),
    }
}
