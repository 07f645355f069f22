//! Files read and written to the end, and what their bytes add up to.

use std::fmt::Write as _;
use std::io::{self, Read, Write};

use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

/// Bytes that are read at once.
const PIECE: usize = 256 * 1024;

/// How far something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is done.
    pub step: Step,
    /// Bytes that are done.
    pub done: u64,
    /// Bytes that there are.
    pub total: u64,
}

/// What takes long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Packages or files are fetched.
    Fetching,
    /// A file is taken out of a package.
    Unpacking,
    /// A file is copied.
    Copying,
    /// A file is read, to know its SHA-256.
    Checking,
}

/// Whoever wants to know how far something is, and may stop it.
pub(crate) struct Watch<'a> {
    pub(crate) stop: &'a CancellationToken,
    pub(crate) tell: &'a mut (dyn FnMut(Progress) + Send),
}

/// What was read.
pub(crate) struct Sum {
    pub(crate) size: u64,
    /// In hexadecimal digits.
    pub(crate) sha256: String,
}

/// Why a file did not get there.
#[derive(Debug)]
pub(crate) enum Failed {
    Reading(io::Error),
    Writing(io::Error),
    Stopped,
}

/// Reads to the end, writes what was read, and adds it up. One byte more than
/// `total` is the end, too.
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

/// What was added up, in hexadecimal digits.
pub(crate) fn hex(digest: Sha256) -> String {
    let mut digits = String::new();
    for byte in digest.finalize() {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}
