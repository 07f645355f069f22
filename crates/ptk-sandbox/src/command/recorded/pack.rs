//! The file into which it is written what was there before: a record after the
//! other, each with the content of a file behind it. A record is whole before
//! the program goes on, so that whoever is killed tears at most the last one.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::node::Moment;
use crate::restore::Attributes;

/// The most that a record takes without the content: two paths.
const MAX_HEAD: usize = 64 * 1024;
/// Bytes that are read at once.
const PIECE: usize = 256 * 1024;

/// What was at a path before a program changed it, or tried to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The path, absolute and without links.
    pub path: Vec<u8>,
    /// What was there.
    pub before: Before,
}

/// What was at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Before {
    /// Nothing.
    Missing,
    /// A regular file.
    File {
        /// Permissions, time and owner.
        attributes: Attributes,
        /// When anything of it was last changed.
        changed: Moment,
        /// Its size.
        size: u64,
        /// Whether its content follows.
        is_kept: bool,
    },
    /// A symbolic link.
    Link {
        /// Permissions, time and owner.
        attributes: Attributes,
        /// What it says.
        target: Vec<u8>,
    },
    /// A folder.
    Folder {
        /// Permissions, time and owner.
        attributes: Attributes,
    },
    /// A pipe, a socket, a device.
    Special(String),
    /// This folder is not covered, and something in it may have changed.
    Uncovered,
}

impl Before {
    /// Bytes of content behind the record.
    const fn follows(&self) -> u64 {
        match self {
            Self::File {
                size,
                is_kept: true,
                ..
            } => *size,
            _ => 0,
        }
    }
}

/// Reads what was recorded, from the beginning.
#[derive(Debug)]
pub struct Records {
    file: BufReader<File>,
    length: u64,
    at: u64,
    /// Bytes of the last record's content that were not read.
    unread: u64,
}

impl Records {
    /// Opens the file.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::of(File::open(path)?)
    }

    fn of(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self {
            file: BufReader::with_capacity(PIECE, file),
            length,
            at: 0,
            unread: 0,
        })
    }

    /// Where the last record's content begins; where a new record would, if
    /// there is none.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.at
    }

    /// The content of the last record, as far as it was not read.
    pub fn content(&mut self) -> impl Read {
        Content(self)
    }

    /// The next record; `None` behind the last one that is whole.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub fn read(&mut self) -> io::Result<Option<Record>> {
        let unread = i64::try_from(self.unread).map_err(io::Error::other)?;
        self.file.seek_relative(unread)?;
        self.at += std::mem::take(&mut self.unread);
        let mut length = [0; 4];
        if self.length - self.at < 4 {
            return Ok(None);
        }
        self.file.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        let end = self.at + 4 + length as u64;
        if length > MAX_HEAD || end > self.length {
            return Ok(None);
        }
        let mut head = vec![0; length];
        self.file.read_exact(&mut head)?;
        let Ok(record) = postcard::from_bytes::<Record>(&head) else {
            return Ok(None);
        };
        let follows = record.before.follows();
        if self.length - end < follows {
            return Ok(None);
        }
        (self.at, self.unread) = (end, follows);
        Ok(Some(record))
    }
}

struct Content<'a>(&'a mut Records);

impl Read for Content<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.0.unread).unwrap_or(usize::MAX);
        let length = buffer.len().min(most);
        let buffer = buffer.get_mut(..length).unwrap_or_default();
        let read = self.0.file.read(buffer)?;
        self.0.unread -= read as u64;
        self.0.at += read as u64;
        Ok(read)
    }
}

/// Writes records.
#[derive(Debug)]
pub(super) struct Writer {
    file: File,
    /// Where the next record begins.
    end: u64,
    head: Vec<u8>,
}

/// The same as [`Record`], for whoever only has the path.
#[derive(Serialize)]
struct Borrowed<'a> {
    path: &'a [u8],
    before: &'a Before,
}

impl Writer {
    /// Goes on behind the last record that is whole.
    pub(super) fn of(mut file: File) -> io::Result<Self> {
        let mut end = 0;
        if file.metadata()?.len() > 0 {
            let mut records = Records::of(file.try_clone()?)?;
            while records.read()?.is_some() {}
            end = records.position();
            file.set_len(end)?;
            file.seek(SeekFrom::Start(end))?;
        }
        Ok(Self {
            file,
            end,
            head: Vec::new(),
        })
    }

    /// How much is written.
    pub(super) const fn length(&self) -> u64 {
        self.end
    }

    /// Writes a record, and the content that belongs to it.
    pub(super) fn write(&mut self, path: &[u8], before: &Before, content: &[u8]) -> io::Result<()> {
        self.begin(path, before)?;
        self.head.extend_from_slice(content);
        let written = self.file.write_all(&self.head);
        self.ended(written, self.head.len() as u64)
    }

    /// The same with what is read of a file. Says whether that was as much as
    /// the record says; if not, nothing was written.
    pub(super) fn copy(
        &mut self,
        path: &[u8],
        before: &Before,
        content: &mut impl Read,
    ) -> io::Result<bool> {
        self.begin(path, before)?;
        let follows = before.follows();
        let length = self.head.len() as u64 + follows;
        let mut from = BufReader::with_capacity(PIECE, content.take(follows));
        let mut copied = 0;
        let mut copy = || {
            self.file.write_all(&self.head)?;
            loop {
                let piece = from.fill_buf()?;
                if piece.is_empty() {
                    return Ok(());
                }
                let read = piece.len();
                self.file.write_all(piece)?;
                from.consume(read);
                copied += read as u64;
            }
        };
        let written = copy();
        if written.is_ok() && copied < follows {
            self.take_back()?;
            return Ok(false);
        }
        self.ended(written, length)?;
        Ok(true)
    }

    fn begin(&mut self, path: &[u8], before: &Before) -> io::Result<()> {
        let mut head = std::mem::take(&mut self.head);
        head.clear();
        head.extend([0; 4]);
        let head = postcard::to_extend(&Borrowed { path, before }, head);
        self.head = head.map_err(io::Error::other)?;
        let length = u32::try_from(self.head.len() - 4).map_err(io::Error::other)?;
        for (to, from) in self.head.iter_mut().zip(length.to_le_bytes()) {
            *to = from;
        }
        Ok(())
    }

    fn ended(&mut self, written: io::Result<()>, length: u64) -> io::Result<()> {
        if let Err(error) = written {
            self.take_back()?;
            return Err(error);
        }
        self.end += length;
        Ok(())
    }

    /// Nobody would read past half a record.
    fn take_back(&mut self) -> io::Result<()> {
        self.file.set_len(self.end)?;
        self.file.seek(SeekFrom::Start(self.end))?;
        Ok(())
    }
}
