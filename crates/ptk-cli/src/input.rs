//! Reads files and stdin, within limits.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::printer;

/// The most bytes that are read of one text or line: far beyond what a model
/// writes, and small enough that a wrong file cannot exhaust the memory.
pub(crate) const MAX_INPUT: usize = 256 << 20;

/// The source of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// Standard input, `-` on the command line.
    Stdin,
    /// A file.
    File(PathBuf),
}

impl From<OsString> for Source {
    fn from(argument: OsString) -> Self {
        if argument == "-" {
            Self::Stdin
        } else {
            Self::File(argument.into())
        }
    }
}

impl Source {
    /// The whole text.
    pub(crate) fn read(&self) -> Result<String> {
        let name = match self {
            Self::Stdin => "stdin".to_owned(),
            Self::File(path) => path.display().to_string(),
        };
        read_bounded(self.open()?, &name, MAX_INPUT)
    }

    /// The text as a stream.
    pub(crate) fn open(&self) -> Result<Box<dyn Read + Send>> {
        match self {
            Self::Stdin => {
                let stdin = io::stdin();
                if stdin.is_terminal() {
                    // Only a hint: if it cannot be written, reading continues.
                    drop(writeln!(
                        printer::stderr(),
                        "Reading from the terminal; end the text with Ctrl-D."
                    ));
                }
                Ok(Box::new(stdin))
            }
            Self::File(path) => Ok(Box::new(open_file(path)?)),
        }
    }
}

/// The text of a file.
pub(crate) fn read_file(path: &Path) -> Result<String> {
    read_bounded(open_file(path)?, &path.display().to_string(), MAX_INPUT)
}

fn open_file(path: &Path) -> Result<File> {
    File::open(path).with_context(|| format!("cannot open {}", path.display()))
}

fn read_bounded(reader: impl Read, name: &str, limit: usize) -> Result<String> {
    let mut bytes = Vec::new();
    reader
        .take(limit as u64 + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read {name}"))?;
    ensure!(
        bytes.len() <= limit,
        "{name} is longer than {limit} bytes; pass a part of it at a time"
    );
    String::from_utf8(bytes).map_err(|error| {
        anyhow::anyhow!(
            "{name} is not UTF-8: byte {} starts no character; convert it first, as with iconv",
            error.utf8_error().valid_up_to()
        )
    })
}

/// A text line by line, each within a limit.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: BufReader<R>,
    buffer: Vec<u8>,
    number: usize,
    limit: usize,
}

/// One line, or why it cannot be read.
#[derive(Debug)]
pub(crate) struct InputLine<'a> {
    /// Counted from one.
    pub(crate) number: usize,
    pub(crate) text: Result<&'a str, LineError>,
}

/// Why a line cannot be read. The next one can.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LineError {
    #[error("longer than {limit} bytes; split the case")]
    TooLong { limit: usize },
    #[error("not UTF-8: byte {offset} of the line starts no character")]
    NotUtf8 { offset: usize },
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(reader: R, limit: usize) -> Self {
        Self {
            reader: BufReader::new(reader),
            buffer: Vec::new(),
            number: 0,
            limit,
        }
    }

    /// The next line without its end, or `None` after the last.
    pub(crate) fn next_line(&mut self) -> Result<Option<InputLine<'_>>> {
        self.buffer.clear();
        self.number += 1;
        let read = self
            .reader
            .by_ref()
            .take(self.limit as u64 + 1)
            .read_until(b'\n', &mut self.buffer)
            .with_context(|| format!("cannot read line {}", self.number))?;
        if read == 0 {
            return Ok(None);
        }
        let text = if self.buffer.last() == Some(&b'\n') {
            self.buffer.pop();
            self.decode()
        } else if read > self.limit {
            self.reader
                .skip_until(b'\n')
                .with_context(|| format!("cannot read line {}", self.number))?;
            Err(LineError::TooLong { limit: self.limit })
        } else {
            self.decode()
        };
        Ok(Some(InputLine {
            number: self.number,
            text,
        }))
    }

    /// Whether reading the next line would block.
    pub(crate) fn is_drained(&self) -> bool {
        self.reader.buffer().is_empty()
    }

    fn decode(&self) -> Result<&str, LineError> {
        std::str::from_utf8(&self.buffer).map_err(|error| LineError::NotUtf8 {
            offset: error.valid_up_to(),
        })
    }
}

/// The message of a JSON error, without the position that `serde_json` appends.
pub(crate) fn without_position(error: &serde_json::Error) -> String {
    let position = format!(" at line {} column {}", error.line(), error.column());
    let message = error.to_string();
    message
        .strip_suffix(&position)
        .map_or_else(|| message.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_at_the_limit_is_read_and_one_beyond_it_is_refused() {
        assert_eq!(read_bounded(&b"1234"[..], "x", 4).unwrap(), "1234");
        let error = read_bounded(&b"12345"[..], "x", 4).unwrap_err();
        assert!(error.to_string().contains("longer than 4 bytes"), "{error}");
    }

    #[test]
    fn invalid_utf8_is_refused_with_its_offset() {
        let error = read_bounded(&b"ab\xff"[..], "x", 9).unwrap_err();
        assert!(error.to_string().contains("byte 2 "), "{error}");
    }

    #[test]
    fn lines_go_on_after_one_that_cannot_be_had() {
        let mut lines = Lines::new(&b"one\ntoo long\n\xc3\n1234\nend"[..], 4);
        let mut seen = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            seen.push((line.number, line.text.map(str::to_owned)));
        }
        assert_eq!(
            seen,
            [
                (1, Ok("one".to_owned())),
                (2, Err(LineError::TooLong { limit: 4 })),
                (3, Err(LineError::NotUtf8 { offset: 0 })),
                (4, Ok("1234".to_owned())),
                (5, Ok("end".to_owned())),
            ]
        );
    }
}
