//! What a name stands for.

use std::fmt;

use cap_std::fs::FileType;
use serde::{Deserialize, Serialize};

/// What a name stands for. It reads on from "it is".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A named pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A device.
    Device,
    /// Something else.
    Other,
}

impl Kind {
    pub(crate) fn of(file_type: FileType) -> Self {
        if file_type.is_file() {
            Self::File
        } else if file_type.is_dir() {
            Self::Folder
        } else if file_type.is_symlink() {
            Self::Link
        } else {
            Self::special(file_type)
        }
    }

    #[cfg(unix)]
    fn special(file_type: FileType) -> Self {
        use cap_std::fs::FileTypeExt as _;

        if file_type.is_fifo() {
            Self::Pipe
        } else if file_type.is_socket() {
            Self::Socket
        } else if file_type.is_char_device() || file_type.is_block_device() {
            Self::Device
        } else {
            Self::Other
        }
    }

    #[cfg(not(unix))]
    fn special(_file_type: FileType) -> Self {
        Self::Other
    }
}

#[cfg(target_os = "linux")]
impl Kind {
    /// The kind of an entry, as the kernel tells it.
    pub(crate) fn of_entry(file_type: rustix::fs::FileType) -> Self {
        use rustix::fs::FileType;

        match file_type {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Folder,
            FileType::Symlink => Self::Link,
            FileType::Fifo => Self::Pipe,
            FileType::Socket => Self::Socket,
            FileType::CharacterDevice | FileType::BlockDevice => Self::Device,
            FileType::Unknown => Self::Other,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "a file",
            Self::Folder => "a folder",
            Self::Link => "a link",
            Self::Pipe => "a named pipe",
            Self::Socket => "a socket",
            Self::Device => "a device",
            Self::Other => "something special",
        })
    }
}
