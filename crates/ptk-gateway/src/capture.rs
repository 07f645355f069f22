//! Keeps replies that had to be repaired or could not be parsed, as cases that
//! `ptk parse --jsonl` runs again.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use ptk_events::Redaction;
use ptk_protocol::Toolset;
use serde_json::json;

/// The name of the file in the folder.
const NAME: &str = "cases.jsonl";
/// The size at which the file is rotated; only one older file is kept.
const MAX_SIZE: u64 = 64 * 1024 * 1024;

/// A reply to keep.
pub(crate) struct Case<'c> {
    pub(crate) input: &'c str,
    pub(crate) tools: &'c Toolset,
    pub(crate) dialect: Option<&'c str>,
    pub(crate) model: &'c str,
}

/// The folder where replies are kept.
#[derive(Debug)]
pub(crate) struct Capture {
    folder: PathBuf,
    file: Mutex<File>,
    redaction: Redaction,
}

impl Capture {
    pub(crate) fn open(folder: PathBuf) -> io::Result<Self> {
        private_folder(&folder)?;
        let file = append(&folder)?;
        Ok(Self {
            folder,
            file: Mutex::new(file),
            redaction: Redaction::secrets(),
        })
    }

    /// Keeps a reply, without secrets. Errors do not affect the request.
    pub(crate) fn keep(&self, case: &Case<'_>) {
        let tools: Vec<_> = case.tools.iter().collect();
        let line = json!({
            "input": self.redaction.apply(case.input),
            "tools": tools,
            "dialect": case.dialect.unwrap_or("auto"),
            "model": case.model,
        });
        if let Err(error) = self.write(&format!("{line}\n")) {
            tracing::warn!(%error, folder = %self.folder.display(), "a reply could not be captured");
        }
    }

    fn write(&self, line: &str) -> io::Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.metadata()?.len() > MAX_SIZE {
            std::fs::rename(
                self.folder.join(NAME),
                self.folder.join(format!("{NAME}.1")),
            )?;
            *file = append(&self.folder)?;
        }
        file.write_all(line.as_bytes())
    }
}

fn append(folder: &std::path::Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(folder.join(NAME))
}

/// Creates a folder that only its owner can access. An existing one stays as it
/// is.
fn private_folder(folder: &std::path::Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
