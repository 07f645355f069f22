//! The system instructions of a run.

use std::io::Read as _;

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

/// Describes the model's task, and adds the workspace's own instructions. They
/// do not name the folder: small models would behave differently in other
/// folders, and the cached prompt could not be reused there.
pub(crate) fn of(workspace: &Workspace, has_tools: bool) -> Instructions {
    let mut text = "You help a person who works in a folder.".to_owned();
    if has_tools {
        text.push_str(
            " Paths are relative to it. Look with your tools instead of guessing, change \
             nothing that you were not asked to change, and when you are done, answer in a \
             few words: what you found or did, and what did not work.",
        );
    }
    let mut note = None;
    match read(workspace) {
        Ok(None) => {}
        Ok(Some((said, is_cut))) => {
            text.push_str(&format!(
                "\n\nInstructions for this folder, from {FILE}:\n\n{}",
                said.trim()
            ));
            if is_cut {
                note = Some(format!(
                    "{FILE} is longer than {} KiB; the model is told its beginning",
                    MAX / 1024
                ));
            }
        }
        Err(error) => note = Some(format!("{FILE} cannot be read: {error}")),
    }
    Instructions { text, note }
}

/// Reads the file, and whether it was cut. Links that leave the workspace are
/// not followed.
fn read(workspace: &Workspace) -> anyhow::Result<Option<(String, bool)>> {
    let place = workspace.place(FILE.as_ref())?;
    if place.node()?.is_none() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    place.open()?.take(MAX as u64 + 1).read_to_end(&mut bytes)?;
    let is_cut = bytes.len() > MAX;
    let kept = bytes.get(..MAX).unwrap_or(&bytes);
    let text = String::from_utf8_lossy(kept).into_owned();
    Ok((!text.trim().is_empty()).then_some((text, is_cut)))
}
