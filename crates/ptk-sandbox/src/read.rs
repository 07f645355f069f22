//! Reading: files, and what they are.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use cap_fs_ext::{MetadataExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::{Dir, OpenOptions};

use crate::error::{Attempt, PathError};
use crate::fingerprint::{Fingerprint, Stamp};
use crate::kind::Kind;
use crate::place::{Last, Place};

impl Kind {
    /// The error for something that is not a regular file.
    pub(crate) fn refused(self, attempt: Attempt, path: String) -> PathError {
        match self {
            Self::Folder => PathError::IsAFolder { attempt, path },
            kind => PathError::NotAFile {
                attempt,
                path,
                kind,
            },
        }
    }
}

/// What is known of a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metadata {
    /// What it is.
    pub kind: Kind,
    /// Its size in bytes.
    pub size: u64,
    /// When its content was last modified, where the system knows.
    pub modified: Option<SystemTime>,
    /// How many names it has. More than one: another name, perhaps outside the
    /// workspace, shows the same content.
    pub names: u64,
    /// Whether no user has the permission to write to it.
    pub read_only: bool,
    /// For a cheap check whether it is still the same.
    pub stamp: Stamp,
}

impl Metadata {
    pub(crate) fn of(metadata: &cap_std::fs::Metadata) -> Self {
        let stamp = Stamp::of_metadata(metadata);
        Self {
            kind: Kind::of(metadata.file_type()),
            size: stamp.size,
            modified: stamp.modified,
            names: metadata.nlink(),
            read_only: metadata.permissions().readonly(),
            stamp,
        }
    }
}

/// How files are opened for reading: a pipe or a device that takes the place
/// of a file must not hold the caller up.
pub(crate) fn reading() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).nonblock(true);
    options
}

/// Opens a file, or says what it is instead. Never waits.
fn open_regular(dir: &Dir, path: &Path) -> io::Result<Result<File, Kind>> {
    let file = dir.open_with(path, &reading())?;
    Ok(match Kind::of(file.metadata()?.file_type()) {
        Kind::File => Ok(file.into_std()),
        other => Err(other),
    })
}

impl Place {
    /// Opens a regular file for reading. Links are followed as long as they
    /// stay in the workspace. Pipes, sockets and devices are refused, and never
    /// waited for. The user's keys are refused, whatever name leads to them.
    ///
    /// # Errors
    ///
    /// If there is no such file, it is not a regular one, leads outside, holds
    /// the user's keys, or cannot be read.
    pub fn open(&self) -> Result<File, PathError> {
        let secrets = self.workspace().secrets();
        let before = secrets.files();
        let opened = self.within(Attempt::Read, Last::Follow, |dir, path| {
            // The look beforehand spares devices the opening, which may have
            // an effect of its own. The one afterwards is what counts.
            let before = Kind::of(dir.metadata(path)?.file_type());
            if before != Kind::File {
                return Ok(Err(before));
            }
            open_regular(dir, path)
        })?;
        let file = opened.map_err(|kind| kind.refused(Attempt::Read, self.shown()))?;
        let metadata = cap_std::fs::Metadata::from_file(&file);
        let metadata = metadata.map_err(|error| self.failed(Attempt::Read, error))?;
        // The keys may have been stored anew meanwhile.
        if before.hold(&metadata) || secrets.files().hold(&metadata) {
            return Err(self.secret(Attempt::Read));
        }
        Ok(file)
    }

    /// What is known of the file, or of the one that a link leads to.
    ///
    /// # Errors
    ///
    /// If there is none, or it leads outside.
    pub fn metadata(&self) -> Result<Metadata, PathError> {
        self.within(Attempt::Inspect, Last::Follow, |dir, path| {
            Ok(Metadata::of(&dir.metadata(path)?))
        })
    }

    /// What is known of the file, or of the link itself.
    ///
    /// # Errors
    ///
    /// If there is none, or a folder above it leads outside.
    pub fn symlink_metadata(&self) -> Result<Metadata, PathError> {
        self.within(Attempt::Inspect, Last::Keep, |dir, path| {
            Ok(Metadata::of(&dir.symlink_metadata(path)?))
        })
    }

    /// Whether there is anything: a file, a folder, or a link, wherever it
    /// leads.
    ///
    /// # Errors
    ///
    /// If that cannot be known: a folder above it leads outside, or must not
    /// be searched.
    pub fn exists(&self) -> Result<bool, PathError> {
        match self.symlink_metadata() {
            Ok(_) => Ok(true),
            Err(PathError::NotFound { .. } | PathError::NotAFolder { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The fingerprint of the content. Reads the whole file, in pieces, up to
    /// the size that it has when it is opened.
    ///
    /// # Errors
    ///
    /// As for [`Place::open`], and if reading fails.
    pub fn fingerprint(&self) -> Result<Fingerprint, PathError> {
        let file = self.open()?;
        Fingerprint::read(&file).map_err(|error| self.failed(Attempt::Read, error))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    /// Longer than any machine takes to open a pipe without waiting for a
    /// writer, which never comes.
    const PATIENCE: Duration = Duration::from_secs(20);

    #[test]
    fn a_pipe_that_was_a_file_a_moment_ago_is_neither_waited_for_nor_read() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
        let dir = Dir::open_ambient_dir(folder.path(), cap_std::ambient_authority()).unwrap();

        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || sender.send(open_regular(&dir, Path::new("pipe"))));
        let opened = receiver.recv_timeout(PATIENCE).expect("it waits");
        assert_eq!(opened.unwrap().unwrap_err(), Kind::Pipe);
    }
}
