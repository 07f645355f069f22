//! The manifest: the files of an index, and their state when they were read.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::walk::{Reason, Seen};
use crate::{chunk, words};

/// The version of the manifest's format and of the index's fields.
const FORMAT: u32 = 2;
const PREFIX: &str = "files-";

/// The versions that an index was built with. If they differ, it is rebuilt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Versions {
    format: u32,
    words: u32,
    chunks: u32,
}

const VERSIONS: Versions = Versions {
    format: FORMAT,
    words: words::VERSION,
    chunks: chunk::VERSION,
};

/// The state of a file when it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) seen: Seen,
    /// Whether a later change would show in its size or time. A file that was
    /// written just before it was read may be written again within the same
    /// tick of the clock.
    pub(crate) is_settled: bool,
    pub(crate) hash: [u8; blake3::OUT_LEN],
    pub(crate) chunks: usize,
    /// Why it has no chunks, if it was skipped.
    pub(crate) reason: Option<Reason>,
}

/// The files of an index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub(crate) files: BTreeMap<String, Entry>,
}

/// Why a manifest cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ManifestError {
    #[error("the list of files cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("the list of files is not as it was written")]
    Damaged,
    #[error("the list of files is of another version")]
    OtherVersion,
}

impl Manifest {
    /// Reads the manifest of a generation.
    pub(crate) fn load(folder: &Path, generation: u64) -> Result<Self, ManifestError> {
        let bytes = fs::read(path(folder, generation))?;
        let (content, sum) = bytes
            .split_last_chunk::<{ blake3::OUT_LEN }>()
            .ok_or(ManifestError::Damaged)?;
        if blake3::hash(content).as_bytes() != sum {
            return Err(ManifestError::Damaged);
        }
        let (versions, rest) =
            postcard::take_from_bytes::<Versions>(content).map_err(|_| ManifestError::Damaged)?;
        if versions != VERSIONS {
            return Err(ManifestError::OtherVersion);
        }
        let files = postcard::from_bytes(rest).map_err(|_| ManifestError::Damaged)?;
        Ok(Self { files })
    }

    /// Writes the manifest of a generation, and waits until it is on the disk.
    pub(super) fn save(&self, folder: &Path, generation: u64) -> io::Result<()> {
        let mut bytes = postcard::to_stdvec(&VERSIONS).map_err(io::Error::other)?;
        bytes.extend(postcard::to_stdvec(&self.files).map_err(io::Error::other)?);
        let sum = *blake3::hash(&bytes).as_bytes();
        bytes.extend(sum);
        let mut file = ptk_sandbox::create_private(&path(folder, generation))?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        File::open(folder)?.sync_all()
    }

    /// Removes all manifests but that of a generation, or all.
    pub(super) fn remove_others(folder: &Path, keep: Option<u64>) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name();
            let generation = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
            let is_old = generation.is_some_and(|it| it.parse().ok() != keep);
            if is_old || (generation.is_some() && keep.is_none()) {
                fs::remove_file(folder.join(&name))?;
            }
        }
        Ok(())
    }

    pub(crate) fn chunks(&self) -> usize {
        self.files.values().map(|entry| entry.chunks).sum()
    }
}

fn path(folder: &Path, generation: u64) -> PathBuf {
    folder.join(format!("{PREFIX}{generation}"))
}
