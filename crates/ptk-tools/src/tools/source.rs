//! What `read_file` and `read` read: a file in the workspace, or an output
//! that was too long for a result.

use std::fs::File;
use std::io::{Cursor, Read as _};

use ptk_protocol::snippet::Snippet;
use ptk_sandbox::{Attempt, Fingerprint, PathError, Place, Stamp, Written};

use super::text::{Excerpt, ExcerptError, MAX_FILE_SIZE, Taken, WantedContent, WantedLines};
use crate::outputs::PREFIX;
use crate::{CallContext, Ranges, SnippetFormat, ToolError};

/// A larger file is shown, but not remembered as read: to hash it would take
/// longer than a call should, and no tool that changes a file takes one of this
/// size.
const MAX_TRACKED: u64 = 1024 * 1024 * 1024;

/// Something that can be read.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    File(Place),
    Output(String),
}

/// A part of a source.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) content: WantedContent,
    /// The place and the fingerprint of the whole file.
    seen: Option<(Place, Fingerprint)>,
}

impl Source {
    /// The source that a path of the model means.
    pub(crate) fn new(context: &CallContext, path: &str) -> Result<Self, ToolError> {
        if is_output(path) {
            return Ok(Self::Output(path.to_owned()));
        }
        Ok(Self::File(context.resolve(path)?))
    }

    /// The name that the model may use.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(place) => place.to_string(),
            Self::Output(handle) => handle.clone(),
        }
    }

    /// The name in a listing.
    pub(crate) fn absolute(&self) -> String {
        match self {
            Self::File(place) => place.absolute().display().to_string(),
            Self::Output(handle) => handle.clone(),
        }
    }

    pub(crate) fn place(&self) -> Option<&Place> {
        match self {
            Self::File(place) => Some(place),
            Self::Output(_) => None,
        }
    }

    /// Lines of a file in the snippet format, if that is wanted of all code.
    /// Kept outputs are not files.
    pub(crate) fn snippet(
        &self,
        context: &CallContext,
        first: usize,
        text: &str,
    ) -> Option<String> {
        self.place()?;
        let is_wanted = context.snippet_format() == SnippetFormat::Always && !text.is_empty();
        is_wanted.then(|| {
            let code = text.strip_suffix('\n').unwrap_or(text);
            Snippet::new(self.absolute(), first as u64, code).to_string()
        })
    }

    /// Reads the part that is wanted. Blocks.
    pub(crate) fn load(
        &self,
        context: &CallContext,
        wanted: WantedLines,
    ) -> Result<Loaded, ToolError> {
        let mut file = match self {
            Self::File(place) => place.open()?,
            Self::Output(handle) => context.outputs().open(handle)?,
        };
        let is_cancelled = || context.is_cancelled();
        let size = file
            .metadata()
            .map_err(|error| self.unreadable(&error))?
            .len();
        if size > MAX_FILE_SIZE {
            let before = Stamp::of(&file).ok();
            let part = Excerpt::read(&mut file, wanted, &is_cancelled)
                .map_err(|error| self.failed(&error, wanted))?;
            let seen = self.place().filter(|_| size <= MAX_TRACKED);
            let seen = seen.and_then(|place| {
                let fingerprint = place.fingerprint().ok()?;
                let is_same = Stamp::of(&file).ok() == before;
                is_same.then(|| (place.clone(), fingerprint))
            });
            return Ok(Loaded {
                content: part,
                seen,
            });
        }
        let bytes = whole(file).map_err(|error| self.unreadable(&error))?;
        let seen = self
            .place()
            .map(|place| (place.clone(), Fingerprint::of(&bytes)));
        let part = Excerpt::read(&mut Cursor::new(bytes), wanted, &is_cancelled)
            .map_err(|error| self.failed(&error, wanted))?;
        Ok(Loaded {
            content: part,
            seen,
        })
    }

    fn unreadable(&self, error: &std::io::Error) -> ToolError {
        ToolError::system(format!("{} cannot be read: {error}", self.name()))
    }

    fn failed(&self, error: &ExcerptError, wanted: WantedLines) -> ToolError {
        let name = self.name();
        match error {
            ExcerptError::Io(error) => self.unreadable(error),
            ExcerptError::PastEnd(lines) => {
                let (has, hint) = past_end(*lines);
                let told = format!("offset={} is past the end: {name} {has}", wanted.offset);
                ToolError::validation(told).suggest(hint)
            }
            ExcerptError::PastLine(bytes) => {
                let (line, column) = (wanted.offset, wanted.column);
                let told = format!(
                    "column={column} is past the end: line {line} of {name} has {bytes} bytes"
                );
                ToolError::validation(told).suggest(format!(
                    "Leave column out to read line {line} from its beginning."
                ))
            }
        }
    }
}

/// A message for an offset past the end, and which offset to use.
fn past_end(lines: usize) -> (String, String) {
    let has = format!("has {}", counted(lines, "line"));
    match lines {
        0 => (
            "is empty".to_owned(),
            "Go on: there is nothing to read in it.".to_owned(),
        ),
        1 => (has, "Leave offset out.".to_owned()),
        _ => {
            let hint = format!("Use an offset from 1 to {lines}, or leave it out.");
            (has, hint)
        }
    }
}

impl Loaded {
    /// Remembers the lines that are shown.
    pub(crate) fn note(&self, context: &CallContext, excerpt: &Excerpt, taken: &Taken<'_>) {
        let Some((place, fingerprint)) = &self.seen else {
            return;
        };
        let mut lines = Ranges::new(excerpt.total);
        if taken.cut.is_none() {
            let first = taken.first + usize::from(excerpt.begins_in_line());
            lines.add(first, taken.last);
        }
        context.note_read(place.clone(), *fingerprint, lines);
    }
}

/// Whether a path is the handle of a kept output.
pub(crate) fn is_output(path: &str) -> bool {
    path.starts_with(PREFIX)
}

/// The place to write to. Kept outputs and folders are refused.
pub(crate) fn writable(context: &CallContext, path: &str) -> Result<Place, ToolError> {
    if is_output(path) {
        return Err(ToolError::validation(format!(
            "{path} is the output of a call and cannot be changed"
        ))
        .suggest("Write to a file in the workspace instead."));
    }
    if path.ends_with(std::path::is_separator) {
        return Err(ToolError::user(format!(
            "Not a file: {path} is a folder, as the slash at its end says"
        ))
        .suggest("Give the path of a file. Folders that it needs are created with it."));
    }
    context.resolve(path)
}

/// Refuses a file that no user may write to, before the approver is asked.
pub(crate) fn refuse_read_only(place: &Place) -> Result<(), ToolError> {
    let metadata = place.metadata();
    let metadata = metadata.map_err(|error| error.while_attempting(Attempt::Write))?;
    if !metadata.read_only {
        return Ok(());
    }
    Err(PathError::ReadOnlyFile {
        attempt: Attempt::Write,
        path: place.to_string(),
    }
    .into())
}

/// A notice for a file that took the place of one with several names: it is
/// never written through them.
pub(crate) fn notice(place: &Place, written: &Written) -> Option<String> {
    (written.names > 1).then(|| {
        format!(
            "{place} had {} links; this one is now a file of its own, the others keep the old \
             content",
            written.names
        )
    })
}

/// All bytes of a file, up to the size at which files are streamed.
pub(crate) fn whole(file: File) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MAX_FILE_SIZE).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A count with its noun: "1 line", "2 lines".
pub(crate) fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}
