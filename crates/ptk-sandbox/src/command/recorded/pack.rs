//! The file of records, which say what was there before: one record after
//! another, each followed by the content of a file. A record is complete before
//! the program goes on, so that a kill tears at most the last one. Once nothing
//! of the program is left, its final state is written at the end.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
use crate::kind::Kind;
use crate::node::{Moment, Node};
use crate::restore::Attributes;
use crate::system::read_exact_at;

/// The most that a record takes without the content: two paths.
const MAX_HEAD: usize = 64 * 1024;
/// Bytes that are read at once.
const PIECE: usize = 256 * 1024;

/// The last bytes of a file that has an end.
const MARK: [u8; 8] = *b"\0ptkend1";
/// What stands behind the end: how long it is, and the mark.
const FOOT: usize = 16;

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
        /// The path that it leads to.
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
    /// Whether it can be put back.
    #[cfg(target_os = "linux")]
    pub(super) const fn is_kept(&self) -> bool {
        !matches!(self, Self::File { is_kept: false, .. } | Self::Special(_))
    }

    /// Whether what is there now seems to be the same, as far as one can see
    /// without its content.
    #[cfg(target_os = "linux")]
    pub(super) fn seems(&self, now: Option<&Node>) -> bool {
        match (self, now) {
            (
                Self::File {
                    attributes, size, ..
                },
                Some(now),
            ) => {
                let known = (*size, attributes.modified, attributes.mode);
                now.kind == Kind::File && known == (now.size, now.modified, now.mode)
            }
            (Self::Special(what), Some(now)) => *what == now.kind.to_string(),
            _ => false,
        }
    }

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

/// What a program has left at the paths that were recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Aftermath {
    /// What is at each of them.
    pub paths: Vec<After>,
    /// The folders in which something may have changed that is not covered.
    pub uncovered: Vec<Vec<u8>>,
    /// What has changed, although its content before was not recorded.
    pub lost: Vec<Vec<u8>>,
    /// Whether something could not be changed because there was no room to
    /// record it.
    pub is_full: bool,
}

/// What is at a path when a program has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct After {
    /// The path.
    pub path: Vec<u8>,
    /// What is there; `None` for nothing.
    pub node: Option<Node>,
    /// The hash of the file that is there, where a change at this moment might
    /// not show in its times.
    pub hash: Option<[u8; 32]>,
}

impl Aftermath {
    /// What stands at the end of a file of records; `None` if it has no end.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn read(path: &Path) -> io::Result<Option<Self>> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Ok(Self::of(&file, length)?.map(|(aftermath, _)| aftermath))
    }

    /// Reads the end of a file of records, and where it begins.
    fn of(file: &File, length: u64) -> io::Result<Option<(Self, u64)>> {
        let Some(end) = length.checked_sub(FOOT as u64) else {
            return Ok(None);
        };
        let mut size = [0; 8];
        let mut mark = MARK;
        read_exact_at(file, &mut size, end)?;
        read_exact_at(file, &mut mark, end + 8)?;
        let size = u64::from_le_bytes(size);
        let Some(start) = end.checked_sub(size).filter(|_| mark == MARK) else {
            return Ok(None);
        };
        let mut bytes = vec![0; usize::try_from(size).map_err(io::Error::other)?];
        read_exact_at(file, &mut bytes, start)?;
        let aftermath = postcard::from_bytes(&bytes);
        Ok(aftermath.ok().map(|aftermath| (aftermath, start)))
    }
}

/// Reads what was recorded, from the beginning.
#[derive(Debug)]
pub struct Records {
    file: BufReader<File>,
    /// What seems to stand at the end, and where that begins.
    aftermath: Option<(Aftermath, u64)>,
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
        let aftermath = Aftermath::of(&file, length)?;
        Ok(Self {
            file: BufReader::with_capacity(PIECE, file),
            aftermath,
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

    /// What the program has left, after all records were read. What only looks
    /// like it in the content of a file is ignored.
    #[must_use]
    pub fn aftermath(self) -> Option<Aftermath> {
        let is_end = self.is_end();
        self.aftermath
            .map(|(aftermath, _)| aftermath)
            .filter(|_| is_end)
    }

    /// Whether no record follows, but what the program has left.
    fn is_end(&self) -> bool {
        let start = self.aftermath.as_ref().map(|(_, start)| *start);
        start == Some(self.at)
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
        if self.length - self.at < 4 || self.is_end() {
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

/// The same as [`Record`], with a borrowed path.
#[derive(Serialize)]
struct Borrowed<'a> {
    path: &'a [u8],
    before: &'a Before,
}

impl Writer {
    /// A writer that goes on behind the last complete record. Existing records
    /// are passed to `show`.
    pub(super) fn of(mut file: File, mut show: impl FnMut(Record)) -> io::Result<Self> {
        let mut end = 0;
        if file.metadata()?.len() > 0 {
            let mut records = Records::of(file.try_clone()?)?;
            while let Some(record) = records.read()? {
                show(record);
            }
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

    /// Writes a record without a content.
    pub(super) fn write(&mut self, path: &[u8], before: &Before) -> io::Result<()> {
        self.begin(path, before)?;
        let written = self.file.write_all(&self.head);
        self.ended(written, self.head.len() as u64)
    }

    /// Writes a record, and behind it what is read of a file. Returns whether
    /// that was as much as the record expects; if not, nothing was written.
    pub(super) fn copy(
        &mut self,
        path: &[u8],
        before: &Before,
        content: &mut impl Read,
    ) -> io::Result<bool> {
        self.begin(path, before)?;
        let follows = before.follows();
        let length = self.head.len() as u64 + follows;
        let mut rest = follows;
        let mut copy = || {
            loop {
                // The first piece goes with the record.
                let known = self.head.len();
                let piece = usize::try_from(rest).map_or(PIECE, |rest| rest.min(PIECE));
                self.head.resize(known + piece, 0);
                let new = self.head.get_mut(known..).unwrap_or_default();
                if let Err(error) = content.read_exact(new) {
                    let is_short = error.kind() == io::ErrorKind::UnexpectedEof;
                    return if is_short { Ok(false) } else { Err(error) };
                }
                self.file.write_all(&self.head)?;
                self.head.clear();
                rest -= piece as u64;
                if rest == 0 {
                    return Ok(true);
                }
            }
        };
        match copy() {
            Ok(true) => {
                self.end += length;
                Ok(true)
            }
            Ok(false) => {
                self.take_back()?;
                Ok(false)
            }
            Err(error) => {
                self.take_back()?;
                Err(error)
            }
        }
    }

    /// Writes at the end what the program has left.
    pub(super) fn finish(&mut self, aftermath: &Aftermath) -> io::Result<()> {
        let mut bytes = postcard::to_stdvec(aftermath).map_err(io::Error::other)?;
        let size = bytes.len() as u64;
        bytes.extend(size.to_le_bytes());
        bytes.extend(MARK);
        if let Err(error) = self.file.write_all(&bytes) {
            self.take_back()?;
            return Err(error);
        }
        Ok(())
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

    /// Removes an incomplete record, past which no reader would get.
    fn take_back(&mut self) -> io::Result<()> {
        self.file.set_len(self.end)?;
        self.file.seek(SeekFrom::Start(self.end))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_an_end_in_the_content_of_a_file_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pack");
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let open = || options.open(&path).unwrap();
        let aftermath = Aftermath {
            is_full: true,
            ..Aftermath::default()
        };
        let mut writer = Writer::of(open(), |_| ()).unwrap();
        writer.finish(&aftermath).unwrap();
        assert_eq!(Aftermath::read(&path).unwrap(), Some(aftermath.clone()));
        let end = std::fs::read(&path).unwrap();

        let before = Before::File {
            attributes: Attributes {
                mode: 0o644,
                modified: (0, 0),
                owner: (0, 0),
            },
            changed: (0, 0),
            size: end.len() as u64,
            is_kept: true,
        };
        let mut writer = Writer::of(open(), |_| ()).unwrap();
        assert!(writer.copy(b"/a", &before, &mut end.as_slice()).unwrap());
        let read = || {
            let mut records = Records::open(&path).unwrap();
            assert_eq!(records.read().unwrap().unwrap().path, b"/a");
            assert_eq!(records.read().unwrap(), None);
            records.aftermath()
        };
        assert_eq!(read(), None);
        writer.finish(&aftermath).unwrap();
        assert_eq!(read(), Some(aftermath));
    }
}
