//! Whether a file is still what it was: by its content, or cheaply by its
//! metadata.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::time::SystemTime;

use cap_fs_ext::MetadataExt as _;

/// The content of a file in short: its size and its BLAKE3 hash. Files can be
/// made to collide with a weaker hash, and not every writer of the files is
/// trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    size: u64,
    hash: [u8; blake3::OUT_LEN],
}

impl Fingerprint {
    /// The fingerprint of a content.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self {
            size: bytes.len() as u64,
            hash: *blake3::hash(bytes).as_bytes(),
        }
    }

    /// The fingerprint of an open file, from where it is read to the size that
    /// it has now: a file that grows without end is not followed.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn read(file: &File) -> io::Result<Self> {
        let limit = file.metadata()?.len();
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(file.take(limit))?;
        Ok(Self {
            size: hasher.count(),
            hash: *hasher.finalize().as_bytes(),
        })
    }

    /// The fingerprint of a content whose hash is known.
    #[must_use]
    pub const fn from_hash(size: u64, hash: [u8; blake3::OUT_LEN]) -> Self {
        Self { size, hash }
    }

    /// The size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The BLAKE3 hash.
    #[must_use]
    pub const fn hash(&self) -> [u8; blake3::OUT_LEN] {
        self.hash
    }
}

/// The hash in hexadecimal digits.
impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        blake3::Hash::from_bytes(self.hash).to_hex().fmt(f)
    }
}

/// The metadata of a file, for a cheap check. If two stamps differ, look at the
/// content. If they are equal, the file is very likely unchanged, but a tool
/// can set the time back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// When the content was last modified, where the system knows.
    pub modified: Option<SystemTime>,
    /// The size in bytes.
    pub size: u64,
    /// The number of the file on its disk; another one after each replacement.
    pub inode: u64,
}

impl Stamp {
    /// The stamp of an open file.
    ///
    /// # Errors
    ///
    /// If the system cannot tell.
    pub fn of(file: &File) -> io::Result<Self> {
        Ok(Self::of_metadata(&cap_std::fs::Metadata::from_file(file)?))
    }

    pub(crate) fn of_metadata(metadata: &cap_std::fs::Metadata) -> Self {
        Self {
            modified: metadata
                .modified()
                .ok()
                .map(cap_std::time::SystemTime::into_std),
            size: metadata.len(),
            inode: metadata.ino(),
        }
    }
}
