//! Copying of files, with progress and SHA-256.

use std::fmt::Write as _;
use std::io::{self, Read, Write};

use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

/// How many bytes are read at once.
const PIECE: usize = 256 * 1024;

/// The progress of a long operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The step that is running.
    pub step: Step,
    /// Bytes done.
    pub done: u64,
    /// Bytes in total.
    pub total: u64,
}

/// A step of a long operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Downloading packages or files.
    Fetching,
    /// Unpacking a file from a package.
    Unpacking,
    /// Copying a file.
    Copying,
    /// Reading a file to compute its SHA-256.
    Checking,
}

/// The progress callback and the cancellation of a long operation.
pub(crate) struct Watch<'a> {
    pub(crate) stop: &'a CancellationToken,
    pub(crate) tell: &'a mut (dyn FnMut(Progress) + Send),
}

/// The size and SHA-256 of the data that was read.
pub(crate) struct Sum {
    pub(crate) size: u64,
    /// As hexadecimal digits.
    pub(crate) sha256: String,
}

/// Why a copy failed.
#[derive(Debug)]
pub(crate) enum Failed {
    Reading(io::Error),
    Writing(io::Error),
    Stopped,
}

/// Copies everything and computes its SHA-256. Stops one byte after `total`, so
/// that input that is too long is recognised.
pub(crate) fn copy(
    from: &mut impl Read,
    to: &mut impl Write,
    step: Step,
    total: u64,
    watch: &mut Watch<'_>,
) -> Result<Sum, Failed> {
    let mut from = from.take(total.saturating_add(1));
    let mut piece = vec![0; PIECE];
    let mut digest = Sha256::new();
    let mut done = 0;
    loop {
        if watch.stop.is_cancelled() {
            return Err(Failed::Stopped);
        }
        (watch.tell)(Progress { step, done, total });
        let read = match from.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.map_err(Failed::Reading)?,
        };
        let bytes = piece.get(..read).unwrap_or_default();
        if bytes.is_empty() {
            break;
        }
        digest.update(bytes);
        to.write_all(bytes).map_err(Failed::Writing)?;
        done += bytes.len() as u64;
    }
    Ok(Sum {
        size: done,
        sha256: hex(digest),
    })
}

/// The digest in hexadecimal digits.
pub(crate) fn hex(digest: Sha256) -> String {
    let mut digits = String::new();
    for byte in digest.finalize() {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}
