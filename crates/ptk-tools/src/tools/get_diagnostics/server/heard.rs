//! What a server has reported so far. It outlives the dialogue, which can break
//! off.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::messages::LspDiagnostic;
use crate::tools::get_diagnostics::diagnostic::Reading;

/// Files whose diagnostics are remembered.
const MAX_FILES: usize = 200;
/// Diagnostics of one file.
const MAX_ITEMS: usize = 1_000;

#[derive(Debug, Default)]
pub(super) struct Heard {
    /// By file; the newest report counts.
    files: BTreeMap<PathBuf, Reading>,
    pub(super) note: Option<String>,
}

impl Heard {
    pub(super) fn has(&self, path: &Path) -> bool {
        self.files.contains_key(path)
    }

    pub(super) fn remember(&mut self, path: PathBuf, items: Vec<LspDiagnostic>) {
        if !self.has(&path) && self.files.len() >= MAX_FILES {
            return;
        }
        let mut reading = Reading::default();
        for item in items {
            if reading.found.len() < MAX_ITEMS {
                item.read(&path, &mut reading);
            } else {
                reading.left_out += 1;
            }
        }
        self.files.insert(path, reading);
    }

    /// All diagnostics.
    pub(super) fn reading(self) -> Reading {
        let mut all = Reading::default();
        for one in self.files.into_values() {
            all.left_out += one.left_out;
            for found in one.found {
                all.push(found);
            }
        }
        all
    }
}
