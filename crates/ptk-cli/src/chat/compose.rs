//! The prompt in the user's own editor.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::process::Stdio;

use anyhow::{Context as _, Result, anyhow, bail};
use tempfile::NamedTempFile;
use tokio::process::Command;

/// The variables that name the editor, the first one first.
const VARIABLES: [&str; 2] = ["VISUAL", "EDITOR"];
/// The most bytes that are read back.
const MAX_PROMPT: u64 = 4 << 20;

/// A prompt in a file for the editor. Only its owner can read the file.
pub(crate) struct Draft {
    file: NamedTempFile,
    editor: OsString,
}

impl Draft {
    /// Writes the prompt to a file.
    pub(crate) fn new(text: &str) -> Result<Self> {
        let named = VARIABLES.iter().filter_map(std::env::var_os);
        let editor = named.into_iter().find(|editor| !editor.is_empty());
        let editor =
            editor.ok_or_else(|| anyhow!("no editor is set; name one in $VISUAL or $EDITOR"))?;
        let file = tempfile::Builder::new()
            .prefix("ptk-prompt-")
            .suffix(".md")
            .tempfile()
            .and_then(|mut file| {
                file.write_all(text.as_bytes())?;
                Ok(file)
            });
        let file = file.context("the prompt cannot be written to a file for the editor")?;
        Ok(Self { file, editor })
    }

    /// Runs the editor until it ends, and returns the text.
    pub(crate) async fn write(self) -> Result<Option<String>> {
        let name = self.editor.to_string_lossy().into_owned();
        let status = self
            .command()
            .stdin(Stdio::inherit())
            .stdout(Stdio::inherit())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .status()
            .await
            .with_context(|| format!("the editor `{name}` cannot be started"))?;
        if !status.success() {
            bail!("the editor `{name}` failed ({status}); the prompt is as it was");
        }
        // Many editors put a new file in the place of the old one.
        let mut text = String::new();
        let file = std::fs::File::open(self.file.path());
        let file = file.context("what the editor has written cannot be read")?;
        let read = file.take(MAX_PROMPT).read_to_string(&mut text);
        read.context("what the editor has written is not text")?;
        Ok(Some(text.trim_end().to_owned()))
    }

    /// The command of the editor: a line for the shell, because it may have
    /// options.
    #[cfg(unix)]
    fn command(&self) -> Command {
        let mut line = self.editor.clone();
        line.push(" \"$1\"");
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(line).arg("ptk").arg(self.file.path());
        command
    }

    #[cfg(not(unix))]
    fn command(&self) -> Command {
        let mut command = Command::new(&self.editor);
        command.arg(self.file.path());
        command
    }
}
