//! Starting a command as a process.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Write as _};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::sync::Arc;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::net::unix::pipe;
use tokio::process::Child;

use super::policy::Protections;
use super::words::{END, Isolation, MAX_FILES, Report, Setup};
use super::{Command, Helper, KEEPER, StartError, bare};

/// What is written for a program to read.
pub type ProgramInput = pipe::Sender;
/// What a program writes.
pub type ProgramOutput = pipe::Receiver;

/// A connection to the keeper. Any thread can use it.
#[derive(Debug, Clone)]
pub struct Control(Arc<UnixStream>);

impl Control {
    /// Asks all processes of the program to end, and kills those that do not.
    pub fn end(&self) {
        // If the keeper is gone, nothing is left to be ended.
        let _ = (&*self.0).write_all(END);
    }

    /// Kills everything, without a wait. [`Report::Gone`] says when it is
    /// done.
    pub fn kill(&self) {
        let _ = self.0.shutdown(Shutdown::Write);
    }
}

/// Why nothing is protected where there is no helper.
const NO_HELPER: &str = "this program does not start commands by a helper";

/// A program that runs, and its keeper. Dropping it kills everything.
#[derive(Debug)]
pub struct Kept {
    /// The program's standard input, if it was to have one.
    pub stdin: Option<ProgramInput>,
    /// The program's standard output.
    pub stdout: Option<ProgramOutput>,
    /// The program's standard error, unless it comes with the output.
    pub stderr: Option<ProgramOutput>,
    /// Which protections it has.
    pub protections: Protections,
    control: Control,
    reports: Lines<BufReader<tokio::net::UnixStream>>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.control.kill();
    }
}

impl Kept {
    fn new(control: UnixStream) -> io::Result<Self> {
        control.set_nonblocking(true)?;
        Ok(Self {
            stdin: None,
            stdout: None,
            stderr: None,
            protections: Protections::default(),
            control: Control(Arc::new(control.try_clone()?)),
            reports: BufReader::new(tokio::net::UnixStream::from_std(control)?).lines(),
        })
    }

    /// The connection to the keeper.
    #[must_use]
    pub const fn control(&self) -> &Control {
        &self.control
    }

    /// The next report; `None` if the keeper is gone. After [`Report::Gone`]
    /// there are no more, as soon as the keeper has ended too.
    ///
    /// No report is lost if the future is dropped.
    pub async fn report(&mut self) -> Option<Report> {
        let line = self.reports.next_line().await.ok().flatten()?;
        Report::read(&line)
    }
}

impl Command {
    /// Starts the program. Without a helper, its keeper is a task of this
    /// process, which knows only its process group.
    ///
    /// # Errors
    ///
    /// If it could not be started, or is not to be started without protections
    /// that it cannot have.
    ///
    /// # Panics
    ///
    /// Outside a Tokio runtime.
    pub async fn start(&self, helper: Option<&Helper>) -> Result<Kept, StartError> {
        if let (None, Some(policy)) = (helper, &self.policy) {
            let protections = Protections::none(policy, NO_HELPER);
            if self.is_strict {
                return Err(StartError::Unprotected(protections));
            }
            if !policy.layers.is_empty() {
                return Err(StartError::NoLayer(NO_HELPER.to_owned()));
            }
            if policy.recorded.is_some() {
                return Err(StartError::NotRecorded(NO_HELPER.to_owned()));
            }
            let mut kept = self.attempt(None, Isolation::Wanted).await??;
            kept.protections = protections;
            return Ok(kept);
        }
        match self.attempt(helper, Isolation::Wanted).await? {
            Err(StartError::Confused(why)) => self.attempt(helper, Isolation::Refused(why)).await?,
            outcome => outcome,
        }
    }

    async fn attempt(
        &self,
        helper: Option<&Helper>,
        isolation: Isolation,
    ) -> io::Result<Result<Kept, StartError>> {
        let (near, far) = UnixStream::pair()?;
        let (input, stdin) = self.input()?.unzip();
        let (stdout, output) = io::pipe()?;
        let (stderr, errors) = if self.is_merged {
            (None, output.try_clone()?)
        } else {
            let (stderr, errors) = io::pipe()?;
            (Some(stderr), errors)
        };
        let streams = [output.into(), errors.into()];
        if let Some(helper) = helper {
            let (lock, pack) = (self.lock()?, self.pack()?);
            self.spawn_keeper(helper, isolation, far, streams)?;
            match send_files(&near, lock.iter().chain(&pack).chain(&input)) {
                // The keeper is gone already, and has reported why.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
                sent => sent?,
            }
        } else {
            far.set_nonblocking(true)?;
            let far = tokio::net::UnixStream::from_std(far)?;
            tokio::spawn(bare::keep(self.spawn(input, streams)?, far));
        }
        let mut kept = Kept::new(near)?;
        kept.stdin = stdin.map(pipe::Sender::from_owned_fd).transpose()?;
        kept.stdout = Some(pipe::Receiver::from_owned_fd(stdout.into())?);
        let stderr = stderr.map(|stderr| pipe::Receiver::from_owned_fd(stderr.into()));
        kept.stderr = stderr.transpose()?;
        match kept.report().await {
            Some(Report::Started(protections)) => {
                kept.protections = protections;
                Ok(Ok(kept))
            }
            Some(Report::Confused(why)) => Ok(Err(StartError::Confused(why))),
            Some(Report::Unprotected(protections)) => Ok(Err(StartError::Unprotected(protections))),
            Some(Report::NoLayer(why)) => Ok(Err(StartError::NoLayer(why))),
            Some(Report::NotRecorded(why)) => Ok(Err(StartError::NotRecorded(why))),
            Some(Report::Failed(number)) => Err(io::Error::from_raw_os_error(number)),
            _ => Err(io::Error::other("the helper ended before the program ran")),
        }
    }

    /// The pipe that the program reads from: its reading end and its writing
    /// end.
    fn input(&self) -> io::Result<Option<(OwnedFd, OwnedFd)>> {
        if !self.has_input {
            return Ok(None);
        }
        let (input, stdin) = io::pipe()?;
        Ok(Some((input.into(), stdin.into())))
    }

    /// The file that stays locked until everything has ended: the keeper has the
    /// same handle, and no program has.
    fn lock(&self) -> io::Result<Option<OwnedFd>> {
        let Some(path) = &self.held else {
            return Ok(None);
        };
        let file = File::open(path)?;
        file.lock_shared()?;
        Ok(Some(file.into()))
    }

    /// The file into which it is recorded what the program changes. It is
    /// opened here, because the keeper does not see it any more.
    fn pack(&self) -> io::Result<Option<OwnedFd>> {
        let policy = self.policy.as_ref();
        let Some(recording) = policy.and_then(|policy| policy.recorded.as_ref()) else {
            return Ok(None);
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.mode(0o600).open(&recording.pack)?;
        Ok(Some(file.into()))
    }

    /// Starts the keeper, which is waited for in the background.
    fn spawn_keeper(
        &self,
        helper: &Helper,
        isolation: Isolation,
        control: UnixStream,
        streams: [OwnedFd; 2],
    ) -> io::Result<()> {
        if !helper.0.exists() {
            let text = format!("the helper {} is not there", helper.0.display());
            return Err(io::Error::other(text));
        }
        let mut command = tokio::process::Command::new(&helper.0);
        let setup = Setup {
            policy: self.policy.clone(),
            is_strict: self.is_strict,
            isolation,
            has_lock: self.held.is_some(),
            listening: Vec::new(),
            no_folders: None,
        };
        command.arg0(KEEPER).arg(setup.word()?).arg(&self.program);
        self.prepare(&mut command, OwnedFd::from(control).into(), streams)
            .spawn()?;
        Ok(())
    }

    fn spawn(&self, input: Option<OwnedFd>, streams: [OwnedFd; 2]) -> io::Result<Child> {
        let mut command = tokio::process::Command::new(&self.program);
        let input = input.map_or_else(Stdio::null, Stdio::from);
        self.prepare(&mut command, input, streams)
            .kill_on_drop(true)
            .spawn()
    }

    fn prepare<'c>(
        &self,
        command: &'c mut tokio::process::Command,
        stdin: Stdio,
        [stdout, stderr]: [OwnedFd; 2],
    ) -> &'c mut tokio::process::Command {
        command
            .args(&self.arguments)
            .current_dir(&self.folder)
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(stdin)
            .stdout(stdout)
            .stderr(stderr)
            .process_group(0)
    }
}

/// Sends the file of records and what the program reads from, as far as there
/// are any, along with a byte that means nothing.
fn send_files<'a>(
    control: &UnixStream,
    files: impl Iterator<Item = &'a OwnedFd>,
) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let files: Vec<_> = files.map(OwnedFd::as_fd).collect();
    if !files.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(&files));
    }
    let byte = [IoSlice::new(b"i")];
    #[cfg(target_os = "linux")]
    let flags = SendFlags::NOSIGNAL;
    // Rust's programs ignore the signal anyway.
    #[cfg(not(target_os = "linux"))]
    let flags = SendFlags::empty();
    sendmsg(control, &byte, &mut ancillary, flags)?;
    Ok(())
}
