//! Whether changes can be recorded and taken back, with the records where they
//! are really kept.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use ptk_sandbox::{Scratch, Workspace};
use ptk_undo::{ChangingCall, Options, Recorder, Undo, Writes};
use serde::Serialize;
use tempfile::TempDir;

use crate::args::ConfigArgs;
use crate::config::Settings;
use crate::view::clean::in_line;
use crate::view::short_path;

/// The name of the call that is undone.
const CALL: &str = "call_doctor";

/// Whether changes can be undone.
#[derive(Debug, Serialize)]
pub(super) struct UndoCheck {
    /// Whether what a command changes is recorded.
    pub(super) recorded: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
    /// Whether a file that was changed could be brought back.
    restored: bool,
    /// Where records are kept.
    folder: Option<String>,
    #[serde(skip)]
    shown: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    restored_why: Option<String>,
}

impl UndoCheck {
    /// Tries to bring a file back. `recorded` is what was found out about
    /// commands, or why that is not known.
    pub(super) fn new(recorded: bool, why: Option<String>) -> Self {
        let place = Place::open();
        let folder = place.as_ref().ok().map(|place| place.folder.clone());
        let tried = place.and_then(|place| place.restores());
        Self {
            recorded,
            why,
            restored: tried.is_ok(),
            shown: folder.as_deref().map(short_path).unwrap_or_default(),
            folder: folder.map(|folder| folder.display().to_string()),
            restored_why: tried.err().map(|error| format!("{error:#}")),
        }
    }

    pub(super) fn print(&self, out: &mut impl Write) -> Result<()> {
        writeln!(out, "\nWhat is needed to undo:")?;
        let sign = |works: bool| if works { "ok" } else { "MISSING" };
        let means = "what commands are about to change is written down first";
        writeln!(
            out,
            "  {:<8} {:<26} {means}",
            sign(self.recorded),
            "recording"
        )?;
        if let Some(why) = &self.why {
            writeln!(out, "{:11}{}", "", in_line(why))?;
            writeln!(
                out,
                "{:11}Linux 5.6 or newer is needed, with seccomp, and reading the memory of one's own\n\
                 {:11}processes (kernel.yama.ptrace_scope below 2). Without it, the whole workspace is\n\
                 {:11}looked at before and after a command.",
                "", "", ""
            )?;
        }
        let means = "a file that was changed is brought back";
        writeln!(
            out,
            "  {:<8} {:<26} {means}",
            sign(self.restored),
            "restoring"
        )?;
        if !self.shown.is_empty() {
            writeln!(out, "{:11}{}", "", in_line(&self.shown))?;
        }
        if let Some(why) = &self.restored_why {
            writeln!(out, "{:11}{}", "", in_line(why))?;
        }
        Ok(())
    }
}

/// A folder among the records of the user, for a trial that leaves none.
pub(super) struct Place {
    options: Options,
    /// Where the records of the user are.
    folder: PathBuf,
    /// Folders that had to be created, the innermost first.
    created: Vec<PathBuf>,
    within: Option<TempDir>,
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(self.within.take());
        // Only those in which nothing else was kept meanwhile.
        for folder in &self.created {
            let _ = fs::remove_dir(folder);
        }
    }
}

impl Place {
    pub(super) fn open() -> Result<Self> {
        let options = Settings::read(&ConfigArgs::default())?.undo()?;
        ensure!(
            options.enabled,
            "it is switched off: ptk.toml has `enabled = false` under `[undo]`"
        );
        let folder = options
            .folder()
            .context("no folder for the records: set PTK_STATE")?;
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        let missing = folder.ancestors().take_while(|it| !it.exists());
        let created: Vec<PathBuf> = missing.map(Path::to_owned).collect();
        let mut place = Self {
            options,
            folder,
            created,
            within: None,
        };
        for folder in place.created.iter().rev() {
            private(folder)?;
        }
        let within = tempfile::Builder::new()
            .prefix(".doctor-")
            .tempdir_in(&place.folder);
        let shown = short_path(&place.folder);
        place.within = Some(within.with_context(|| format!("{shown} cannot be written"))?);
        Ok(place)
    }

    /// Where the trial keeps its records.
    pub(super) fn path(&self) -> &Path {
        self.within.as_ref().map_or(&self.folder, TempDir::path)
    }

    /// Changes a file, and undoes it.
    fn restores(&self) -> Result<()> {
        const BEFORE: &str = "as it was\n";

        let scratch = Scratch::new().context("a folder to try things in")?;
        let workspace = Workspace::open(scratch.path())?;
        let options = Options {
            folder: Some(self.path().to_owned()),
            ..self.options.clone()
        };
        let file = scratch.path().join("file");
        fs::write(&file, BEFORE)?;
        let recorder = Recorder::new(workspace.clone(), options.clone(), "doctor".to_owned());
        let call = Arc::new(recorder).begin(&ChangingCall {
            id: CALL,
            turn: None,
            tool: "write_file",
            what: "file",
            writes: Writes::Places(&[workspace.resolve("file")?]),
        })?;
        fs::write(&file, "changed\n")?;
        call.end()?;
        Undo::open(workspace, &options)?.call(CALL)?;
        let is_restored = fs::read_to_string(&file)? == BEFORE;
        ensure!(is_restored, "a file was changed, and was not brought back");
        Ok(())
    }
}

/// Creates a folder for its owner alone.
fn private(folder: &Path) -> Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let created = builder.create(folder);
    created.with_context(|| format!("{} cannot be created", short_path(folder)))
}
