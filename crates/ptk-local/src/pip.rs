//! Fetches packages with the user's own pip, so that its configured index,
//! mirror and proxy are used.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ptk_sandbox::command::{Command, Exit, Helper, Kept, Report, StartError};
use reqwest::Url;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::time::{MissedTickBehavior, interval};

use crate::catalogue::Wheel;
use crate::copy::{Progress, Step, Watch};
use crate::error::LibraryError;

/// The commands for pip that are tried, in this order.
const PIPS: [&[&str]; 5] = [
    &["python3", "-m", "pip"],
    &["pip3"],
    &["pip"],
    &["python", "-m", "pip"],
    &["uvx", "pip"],
];
/// How often progress is measured.
const BEAT: Duration = Duration::from_millis(100);
/// The most bytes of pip's output that are kept, from its end.
const MAX_WORDS: usize = 16 * 1024;
/// The most lines of pip's output that are shown.
const LAST_LINES: usize = 4;
/// The exit code of a shell, or of a command shim, for an unknown command.
const NOT_FOUND: i32 = 127;
/// Environment variables that name files and folders.
const PLACES: [&str; 6] = [
    "PIP_CERT",
    "PIP_CLIENT_CERT",
    "PIP_CONFIG_FILE",
    "PIP_FIND_LINKS",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_FILE",
];

/// The variable among them that may name several.
const SEVERAL: &str = "PIP_FIND_LINKS";

/// Why pip did not fetch a package.
#[derive(Debug)]
pub(crate) enum Failure {
    /// There is no pip.
    NoPip,
    /// Pip failed.
    Refused {
        command: String,
        meaning: Meaning,
        words: String,
    },
    Library(LibraryError),
}

/// The reason for pip's failure, from its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Meaning {
    /// The hash is not the one in the catalogue.
    WrongHash,
    /// The index cannot be reached.
    NoNetwork,
    /// The index does not have the package, according to pip.
    NotThere,
    /// The disk is full.
    NoRoom,
    /// Any other reason.
    Other,
}

impl From<LibraryError> for Failure {
    fn from(error: LibraryError) -> Self {
        Self::Library(error)
    }
}

/// Fetches a wheel into this empty folder.
pub(crate) async fn fetch(
    wheel: &Wheel,
    folder: &Path,
    watch: &mut Watch<'_>,
) -> Result<PathBuf, Failure> {
    let wanted = folder.join("wanted.txt");
    let line = format!(
        "{}=={} --hash=sha256:{}\n",
        wheel.package, wheel.version, wheel.wheel_sha256
    );
    let write = || {
        fs::write(&wanted, line)?;
        fs::create_dir(folder.join("temporary"))?;
        fs::create_dir(folder.join("wheel"))
    };
    write().map_err(LibraryError::io("written to", folder))?;
    for words in PIPS {
        let pip = words.join(" ");
        match attempt(words, folder, wheel, watch).await? {
            Attempt::Done => return fetched(&folder.join("wheel"), &pip),
            Attempt::NoPip => {}
            Attempt::Refused(words) => {
                return Err(Failure::Refused {
                    command: pip,
                    meaning: meaning(&words),
                    words: last(&words),
                });
            }
        }
    }
    Err(Failure::NoPip)
}

enum Attempt {
    Done,
    /// There is no such pip.
    NoPip,
    Refused(String),
}

async fn attempt(
    words: &[&str],
    folder: &Path,
    wheel: &Wheel,
    watch: &mut Watch<'_>,
) -> Result<Attempt, LibraryError> {
    let unstarted = LibraryError::io("used to start pip in", folder);
    // Not in the current folder: Python would import a `pip` from there.
    let mut kept = match command(words, folder, wheel)
        .start(Helper::find().as_ref())
        .await
    {
        Ok(kept) => kept,
        Err(StartError::System(error)) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Attempt::NoPip);
        }
        Err(StartError::System(error)) => return Err(unstarted(error)),
        Err(error) => return Err(unstarted(io::Error::other(error))),
    };
    let mut said = Said::default();
    let exit = follow(&mut kept, folder, wheel, watch, &mut said).await;
    // End all its processes before the folder is removed.
    kept.control().kill();
    while kept.report().await.is_some() {}
    let Some(exit) = exit else {
        return Err(LibraryError::Interrupted);
    };
    said.finish(&mut kept.stdout).await;
    let words = said.text();
    Ok(match exit {
        Exit::Code(0) => Attempt::Done,
        Exit::Code(NOT_FOUND) => Attempt::NoPip,
        _ if words.contains("No module named pip") => Attempt::NoPip,
        _ => Attempt::Refused(words),
    })
}

/// Waits until pip has exited; `None` if it was cancelled.
async fn follow(
    kept: &mut Kept,
    folder: &Path,
    wheel: &Wheel,
    watch: &mut Watch<'_>,
    said: &mut Said,
) -> Option<Exit> {
    let mut output = kept.stdout.take();
    let mut beat = interval(BEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            () = watch.stop.cancelled() => return None,
            report = kept.report() => match report {
                Some(Report::Exited(exit)) => {
                    kept.stdout = output;
                    return Some(exit);
                }
                Some(_) => {}
                // The process that kept it is gone, and pip with it.
                None => return Some(Exit::Code(1)),
            },
            () = said.read(&mut output) => {}
            _ = beat.tick() => {
                let done = size(folder).min(wheel.wheel_size);
                (watch.tell)(Progress {
                    step: Step::Fetching,
                    done,
                    total: wheel.wheel_size,
                });
            }
        }
    }
}

fn command(words: &[&str], folder: &Path, wheel: &Wheel) -> Command {
    let mut words = words.iter().map(OsString::from);
    let program = words.next().unwrap_or_default();
    let mut arguments: Vec<OsString> = words.collect();
    let flags = [
        "download",
        "--progress-bar=off",
        "--no-input",
        "--disable-pip-version-check",
        // The cache would hold another copy of the wheel.
        "--no-cache-dir",
        "--no-deps",
        // Building a source package would run its code.
        "--only-binary=:all:",
        "--require-hashes",
        "--requirement=wanted.txt",
        "--dest=wheel",
    ];
    arguments.extend(flags.map(OsString::from));
    arguments.extend(wheel.tags.iter().flat_map(|tags| tagged(tags)));
    // Temporary files of a killed pip are removed with the folder.
    let temporary = folder.join("temporary").into_os_string();
    let places = ["TMPDIR", "TEMP", "TMP"].map(|name| (name.into(), temporary.clone()));
    let variables = std::env::vars_os().filter(|(name, _)| places.iter().all(|(it, _)| it != name));
    let mut variables: Vec<_> = variables.map(from_here).collect();
    variables.extend(places);
    Command {
        program,
        arguments,
        folder: folder.to_owned(),
        variables,
        has_input: false,
        is_merged: true,
        policy: None,
        is_strict: false,
        held: None,
    }
}

/// The flags to fetch a wheel with these tags on any platform.
fn tagged(tags: &str) -> Vec<OsString> {
    let mut parts = tags.splitn(3, '-');
    let mut next = || parts.next().unwrap_or_default();
    let (python, abi, platform) = (next(), next(), next());
    let (implementation, version) = python.split_at(python.len().min(2));
    let flags = [
        format!("--implementation={implementation}"),
        format!("--python-version={version}"),
        format!("--abi={abi}"),
        format!("--platform={platform}"),
    ];
    flags.map(OsString::from).to_vec()
}

/// Makes the paths in an environment variable absolute, because pip runs in
/// another folder.
fn from_here((name, value): (OsString, OsString)) -> (OsString, OsString) {
    let text = value
        .to_str()
        .filter(|_| PLACES.iter().any(|it| name == *it));
    let Some(text) = text else {
        return (name, value);
    };
    let absolute = |place: &str| match std::path::absolute(place) {
        Ok(path) if Path::new(place).exists() => absolute_place(&name, path),
        _ => place.into(),
    };
    if Path::new(text).exists() {
        let place = absolute(text);
        return (name, place);
    }
    // Some variables hold several paths.
    let places: Vec<OsString> = text.split_whitespace().map(absolute).collect();
    let places = places.join(OsStr::new(" "));
    (name, places)
}

/// An absolute path, as pip reads it in the variable of this name: a blank ends
/// a path where there may be several, but not a URL, which has none.
fn absolute_place(name: &OsStr, path: PathBuf) -> OsString {
    let has_blank = path.to_string_lossy().contains(char::is_whitespace);
    let url = (name == SEVERAL && has_blank).then(|| Url::from_file_path(&path));
    match url {
        Some(Ok(url)) => String::from(url).into(),
        _ => path.into_os_string(),
    }
}

/// The end of pip's output.
#[derive(Default)]
struct Said(Vec<u8>);

impl Said {
    /// Reads the next chunk; never completes if the pipe is closed.
    async fn read(&mut self, from: &mut Option<impl AsyncRead + Unpin>) {
        let Some(pipe) = from else {
            return std::future::pending().await;
        };
        let mut piece = [0; 4096];
        match pipe.read(&mut piece).await {
            Ok(read) if read > 0 => self.push(piece.get(..read).unwrap_or_default()),
            _ => *from = None,
        }
    }

    /// Reads the rest of the output.
    async fn finish(&mut self, from: &mut Option<impl AsyncRead + Unpin>) {
        while from.is_some() {
            self.read(from).await;
        }
    }

    fn push(&mut self, piece: &[u8]) {
        self.0.extend_from_slice(piece);
        let over = self.0.len().saturating_sub(MAX_WORDS);
        self.0.drain(..over);
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

/// The last lines of the output.
fn last(words: &str) -> String {
    let lines: Vec<&str> = words
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect();
    // Of a traceback, only the last line is useful.
    let is_trace = lines.iter().any(|line| line.starts_with("Traceback "));
    let shown = if is_trace { 1 } else { LAST_LINES };
    let from = lines.len().saturating_sub(shown);
    lines.get(from..).unwrap_or_default().join("\n")
}

fn meaning(words: &str) -> Meaning {
    let says = |part: &str| words.contains(part);
    if says("DO NOT MATCH THE HASHES") {
        Meaning::WrongHash
    } else if says("No space left") || says("Disk quota exceeded") {
        Meaning::NoRoom
    } else if says("connection broken")
        || says("ConnectionError")
        || says("Connection refused")
        || says("Max retries exceeded")
        || says("ReadTimeout")
        // These are uv's messages.
        || says("error sending request")
        || says("dns error")
    {
        Meaning::NoNetwork
    } else if says("No matching distribution") {
        Meaning::NotThere
    } else {
        Meaning::Other
    }
}

/// The path of the fetched wheel.
fn fetched(folder: &Path, pip: &str) -> Result<PathBuf, Failure> {
    let unreadable = LibraryError::io("read", folder);
    let found = fs::read_dir(folder).and_then(|mut found| found.next().transpose());
    match found.map_err(unreadable)? {
        Some(found) => Ok(found.path()),
        None => Err(Failure::Refused {
            command: pip.to_owned(),
            meaning: Meaning::Other,
            words: "it says that it was successful, but there is no wheel".to_owned(),
        }),
    }
}

/// The size of a folder's content in bytes, as far as it can be read.
fn size(folder: &Path) -> u64 {
    let Ok(found) = fs::read_dir(folder) else {
        return 0;
    };
    let sizes = found.flatten().map(|found| match found.metadata() {
        Ok(about) if about.is_dir() => size(&found.path()),
        Ok(about) => about.len(),
        Err(_) => 0,
    });
    sizes.sum()
}
