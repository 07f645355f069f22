//! The changes of a layer, for people, before they come into the workspace.

use std::fs::{self, File};

use ptk_sandbox::Workspace;

use super::look::Step;
use super::{Attempt, Dropped, Layers};
use crate::diff::{shown, text_of};
use crate::journal::Change;
use crate::state::State;

/// The changes that would come into the workspace.
#[derive(Debug, Default)]
pub struct PendingChanges {
    /// The change of each path. What files held before is not known yet.
    pub changes: Vec<Change>,
    /// Folders in which more changes, such as those that git ignores.
    pub uncovered: Vec<String>,
    /// The changes as a diff.
    pub diff: String,
}

impl Layers {
    /// The changes that would come into the workspace now. Touches neither the
    /// workspace nor the layers.
    pub(crate) fn show(
        &self,
        workspace: &Workspace,
        largest: u64,
    ) -> Result<PendingChanges, Dropped> {
        let look = self.look(workspace, largest, Attempt::Show)?;
        let mut diffs = Vec::new();
        for step in &look.steps {
            if let Some(change) = &step.change {
                let texts = (before(workspace, change), self.after(step, change));
                diffs.push(shown(change, texts));
            }
        }
        Ok(PendingChanges {
            changes: look.changes().cloned().collect(),
            uncovered: look.uncovered,
            diff: diffs.join("\n"),
        })
    }

    fn after(&self, step: &Step, change: &Change) -> Option<String> {
        match change.after {
            State::Missing => Some(String::new()),
            State::File { .. } => {
                let path = self.parts.get(step.part)?.upper().join(&step.path);
                // Only a person could have put a link in its place.
                let is_file = fs::symlink_metadata(&path).ok()?.is_file();
                text_of(File::open(path).ok().filter(|_| is_file)?)
            }
            _ => None,
        }
    }
}

fn before(workspace: &Workspace, change: &Change) -> Option<String> {
    match change.before {
        State::Missing => Some(String::new()),
        State::File { .. } => text_of(workspace.place(&change.path).ok()?.open().ok()?),
        _ => None,
    }
}
