//! Outputs too long for a result: kept whole in files of their own, and read
//! piece by piece through `read_file(path="output:3", offset=…)`.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use ptk_sandbox::{Scratch, private_file, read_exact_at};

use crate::ToolError;

/// The prefix of a handle.
pub(crate) const PREFIX: &str = "output:";
/// How many bytes all outputs of a session may take; the oldest go first.
const MAX_TOTAL: u64 = 512 * 1024 * 1024;
/// How many bytes one output may take.
pub const MAX_OUTPUT: u64 = 64 * 1024 * 1024;
/// How many outputs are kept.
const MAX_OUTPUTS: usize = 1_000;

/// How many digits the number of an output has at most.
const MAX_DIGITS: usize = 9;

/// The call that goes on reading an output behind these first bytes of it.
pub(crate) fn read_on(handle: &str, before: &[u8]) -> String {
    let line = memchr::memchr_iter(b'\n', before).count() + 1;
    let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    match before.len() - start {
        0 => format!("read_file(path=\"{handle}\", offset={line})"),
        within => {
            let column = within + 1;
            format!("read_file(path=\"{handle}\", offset={line}, column={column})")
        }
    }
}

/// The kept outputs of a session. They live in a private temporary folder that
/// goes away with the session.
#[derive(Debug, Default)]
pub struct Outputs {
    state: Mutex<OutputsState>,
}

#[derive(Debug, Default)]
struct OutputsState {
    folder: Option<Scratch>,
    next: u64,
    kept: VecDeque<KeptOutput>,
}

#[derive(Debug)]
struct KeptOutput {
    number: u64,
    bytes: u64,
}

/// An output that is being written.
#[derive(Debug)]
pub struct OutputWriter {
    number: u64,
    file: File,
    written: u64,
    dropped: u64,
}

impl Outputs {
    fn lock(&self) -> std::sync::MutexGuard<'_, OutputsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives no new output a number up to this one: a conversation that goes on
    /// here names outputs of an earlier process by them.
    pub fn skip_to(&self, number: u64) {
        let mut state = self.lock();
        state.next = state.next.max(number);
    }

    /// Creates a new output, empty.
    ///
    /// # Errors
    ///
    /// If there is no temporary folder to write to.
    pub fn create(&self) -> io::Result<OutputWriter> {
        let mut state = self.lock();
        if state.folder.is_none() {
            state.folder = Some(Scratch::new()?);
        }
        state.next += 1;
        let number = state.next;
        let Some(folder) = &state.folder else {
            return Err(io::Error::other("no temporary folder"));
        };
        let file = private_file()
            .read(true)
            .write(true)
            .create_new(true)
            .open(folder.path().join(number.to_string()))?;
        Ok(OutputWriter {
            number,
            file,
            written: 0,
            dropped: 0,
        })
    }

    /// Keeps a whole text, and returns its handle.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn keep(&self, text: &str) -> io::Result<String> {
        let mut writer = self.create()?;
        writer.write_all(text.as_bytes())?;
        Ok(self.finish(writer))
    }

    /// Keeps what was written, and returns its handle.
    pub fn finish(&self, writer: OutputWriter) -> String {
        let OutputWriter {
            number,
            written,
            file,
            ..
        } = writer;
        drop(file);
        let handle = format!("{PREFIX}{number}");
        let mut state = self.lock();
        state.kept.push_back(KeptOutput {
            number,
            bytes: written,
        });
        let mut total: u64 = state.kept.iter().map(|kept| kept.bytes).sum();
        while (total > MAX_TOTAL && state.kept.len() > 1) || state.kept.len() > MAX_OUTPUTS {
            let Some(oldest) = state.kept.pop_front() else {
                break;
            };
            total -= oldest.bytes;
            if let Some(folder) = &state.folder {
                // A file that cannot be removed goes with the folder.
                let _ = std::fs::remove_file(folder.path().join(oldest.number.to_string()));
            }
        }
        handle
    }

    /// Opens the output of this handle, from its beginning.
    ///
    /// # Errors
    ///
    /// If there is none, or it was thrown away to make room.
    pub fn open(&self, handle: &str) -> Result<File, ToolError> {
        let unknown = || {
            ToolError::user(format!("Output {handle} not found"))
                .suggest("Run the call again to get its output again.")
        };
        let number: u64 = handle
            .strip_prefix(PREFIX)
            .and_then(|number| number.parse().ok())
            .ok_or_else(unknown)?;
        let state = self.lock();
        let is_kept = state.kept.iter().any(|kept| kept.number == number);
        let folder = state
            .folder
            .as_ref()
            .filter(|_| is_kept)
            .ok_or_else(unknown)?;
        File::open(folder.path().join(number.to_string()))
            .map_err(|error| ToolError::system(format!("{handle} cannot be read: {error}")))
    }
}

impl OutputWriter {
    /// How many bytes were left out because the output became too long.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// How many bytes are kept.
    #[must_use]
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// Reads what was written, from this byte on.
    pub(crate) fn read_exact_at(&self, bytes: &mut [u8], from: u64) -> io::Result<()> {
        read_exact_at(&self.file, bytes, from)
    }
}

impl Write for OutputWriter {
    /// Takes everything, and keeps as much of it as fits.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = usize::try_from(MAX_OUTPUT - self.written).unwrap_or(usize::MAX);
        let kept = bytes.get(..room).unwrap_or(bytes);
        self.file.write_all(kept)?;
        self.written += kept.len() as u64;
        self.dropped += (bytes.len() - kept.len()) as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The highest number of an output that a text names.
#[must_use]
pub fn highest_output(text: &str) -> u64 {
    let numbers = text.match_indices(PREFIX).filter_map(|(at, _)| {
        let digits = text.get(at + PREFIX.len()..)?;
        let end = digits
            .bytes()
            .take_while(u8::is_ascii_digit)
            .take(MAX_DIGITS)
            .count();
        digits.get(..end)?.parse().ok()
    });
    numbers.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::highest_output;

    #[test]
    fn the_highest_number_is_found() {
        assert_eq!(highest_output("output:3, output:12 and output:7"), 12);
        assert_eq!(highest_output("output: none, output:x"), 0);
    }
}
