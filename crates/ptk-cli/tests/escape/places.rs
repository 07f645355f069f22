//! System folders in which services keep their sockets and files. Only root can
//! create them; for other users the folder outside is used instead.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempDir};

/// The prefix of folders that tests create in the system.
pub(super) const PREFIX: &str = "ptk-escape";

const PLACES: [(&str, &str); 6] = [
    ("VAR_LIB", "/var/lib"),
    ("SRV", "/srv"),
    ("OPT", "/opt"),
    ("ROOT", "/root"),
    ("RUN", "/run"),
    ("VAR_TMP", "/var/tmp"),
];

pub(super) struct Places {
    made: Vec<(&'static str, TempDir)>,
    instead: PathBuf,
    _shared_memory: Option<NamedTempFile>,
}

impl Places {
    pub(super) fn new(instead: &Path, secret: &str) -> Self {
        let made: Vec<_> = PLACES
            .into_iter()
            .filter_map(|(name, folder)| {
                let builder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(folder);
                Some((name, builder.ok()?))
            })
            .collect();
        for (_, folder) in &made {
            fs::write(folder.path().join("file"), secret).unwrap();
        }
        let mut builder = tempfile::Builder::new();
        let shared_memory = builder.prefix(PREFIX).tempfile_in("/dev/shm").ok();
        if let Some(file) = &shared_memory {
            fs::write(file.path(), secret).unwrap();
            fs::set_permissions(file.path(), fs::Permissions::from_mode(0o666)).unwrap();
        }
        Self {
            made,
            instead: instead.to_owned(),
            _shared_memory: shared_memory,
        }
    }

    pub(super) fn folders(&self) -> impl Iterator<Item = PathBuf> {
        self.made.iter().map(|(_, folder)| folder.path().to_owned())
    }

    /// The paths on which services listen.
    pub(super) fn sockets(&self) -> impl Iterator<Item = PathBuf> {
        self.folders().map(|folder| folder.join("socket"))
    }

    /// The folders, by the names that attempts use.
    pub(super) fn named(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        PLACES.into_iter().map(|(name, _)| {
            let made = self.made.iter().find(|(of, _)| *of == name);
            (
                name,
                made.map_or(&*self.instead, |(_, folder)| folder.path()),
            )
        })
    }
}
