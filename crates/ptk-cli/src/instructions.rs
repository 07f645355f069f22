//! The system instructions of a run.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use ptk::sandbox::Workspace;

/// The file with instructions for agents in a folder.
const FILE: &str = "AGENTS.md";
/// The most bytes of it that are used.
const MAX: usize = 64 * 1024;

/// The system instructions, and a note about them for the user.
#[derive(Debug)]
pub(crate) struct Instructions {
    pub(crate) text: String,
    pub(crate) note: Option<String>,
}

/// Describes the model's task, and adds the user's own instructions, those of
/// the workspace, and those of this run. They do not name the workspace: small
/// models would behave differently in other folders, and the cached prompt could
/// not be reused there. Where the user is in a folder of it, that is named.
pub(crate) fn of(
    workspace: &Workspace,
    has_tools: bool,
    subfolder: Option<&Path>,
    more: Option<&str>,
) -> Instructions {
    let mut text = "You help a person who works in a folder.".to_owned();
    if has_tools {
        text.push_str(
            " Paths are relative to it. Look with your tools instead of guessing, change \
             nothing that you were not asked to change, and when you are done, answer in a \
             few words: what you found or did, and what did not work.",
        );
    }
    if let Some(subfolder) = subfolder {
        text.push_str(&format!(
            " The user is in its folder {}.",
            subfolder.display()
        ));
    }
    let mut notes = Vec::new();
    for (read, from) in [
        (read_own(), "Instructions of the user"),
        (read(workspace), "Instructions for this folder"),
    ] {
        match read {
            Ok(None) => {}
            Ok(Some((said, is_cut))) => {
                text.push_str(&format!("\n\n{from}, from {FILE}:\n\n{}", said.trim()));
                if is_cut {
                    notes.push(format!(
                        "{FILE} is longer than {} KiB; the model is told its beginning",
                        MAX / 1024
                    ));
                }
            }
            Err(error) => notes.push(format!("{FILE} cannot be read: {error}")),
        }
    }
    if let Some(more) = more {
        text.push_str(&format!("\n\n{}", more.trim()));
    }
    let note = (!notes.is_empty()).then(|| notes.join("; "));
    Instructions { text, note }
}

/// Reads the user's own file, which counts in every workspace.
fn read_own() -> anyhow::Result<Option<(String, bool)>> {
    let Some(folder) = ptk_sandbox::config_folder() else {
        return Ok(None);
    };
    match File::open(folder.join(FILE)) {
        Ok(file) => beginning(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Reads the file of the workspace. Links that leave the workspace are not
/// followed.
fn read(workspace: &Workspace) -> anyhow::Result<Option<(String, bool)>> {
    let place = workspace.place(FILE.as_ref())?;
    if place.node()?.is_none() {
        return Ok(None);
    }
    beginning(place.open()?)
}

/// The beginning of a file, and whether there is more; `None` if it is empty.
fn beginning(file: impl Read) -> anyhow::Result<Option<(String, bool)>> {
    let mut bytes = Vec::new();
    file.take(MAX as u64 + 1).read_to_end(&mut bytes)?;
    let is_cut = bytes.len() > MAX;
    let kept = bytes.get(..MAX).unwrap_or(&bytes);
    let text = String::from_utf8_lossy(kept).into_owned();
    Ok((!text.trim().is_empty()).then_some((text, is_cut)))
}
