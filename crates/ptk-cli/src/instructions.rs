//! What the model is told before everything else.

use std::io::Read as _;

use ptk::sandbox::Workspace;

/// What people write for those who work in a folder.
const FILE: &str = "AGENTS.md";
/// Bytes of it that are told.
const MAX: usize = 64 * 1024;

/// What the model is told, and what a person should know about it.
#[derive(Debug)]
pub(crate) struct Instructions {
    pub(crate) text: String,
    pub(crate) note: Option<String>,
}

/// What its work is, and what the workspace's own instructions say. It is not
/// told where the folder is: small models do other things in other folders then,
/// and what they have read cannot be used again in another one.
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

/// The file, and whether there is more of it. No link leads out of the
/// workspace.
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
