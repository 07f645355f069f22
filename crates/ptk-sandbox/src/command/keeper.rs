//! The life of a program and of what it started. All of it is below the keeper
//! in the tree of processes, whatever its parents were: the system makes
//! orphans children of the keeper, and reports when the last one is gone.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use command_fds::{CommandFdExt as _, FdMapping};
use rustix::io::{Errno, IoSliceMut};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus, getpid, set_child_subreaper,
    set_dumpable_behavior, set_parent_process_death_signal, wait,
};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

use super::cgroup::Group;
use super::isolation::{self, Refusal};
use super::policy::Protections;
use super::recorded::{Recorded, Recorder};
use super::words::{END, Exit, Isolated, Isolation, Left, MAX_FILES, News, Report, Setup};
use super::{GRACE, KEEPER, KILLED, PAUSE, descriptors, inner, layers, loopback, tree, view};

/// How long the program has to stand still before that is reported.
const STILL: Duration = Duration::from_secs(1);

/// How long a process that has nothing more to do takes to be gone.
const MOMENT: Duration = Duration::from_millis(50);

/// What the keeper waits for.
enum Event {
    /// A child of the keeper, or an orphan.
    Changed(Pid, WaitStatus),
    /// There is no process left below the keeper.
    Childless,
    Asked(Ask),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ask {
    End,
    /// Kill everything: the caller is gone.
    Kill,
}

struct Keeper {
    control: UnixStream,
    events: Receiver<Event>,
    /// The first process of the program, until it has ended.
    leader: Option<Pid>,
    is_childless: bool,
    stopped: Option<Instant>,
    isolated: Isolated,
    record: Option<Recorded>,
}

/// A program that was started.
struct Started {
    leader: Pid,
    protections: Protections,
    /// What is recorded of it, if anything is.
    record: Option<Recorded>,
}

pub(super) fn run(mut words: impl Iterator<Item = OsString>) -> i32 {
    // All that it is meant to have are its three streams.
    if descriptors::close_from(descriptors::FIRST).is_err() {
        return 1;
    }
    let Ok(control) = io::stdin().as_fd().try_clone_to_owned() else {
        return 1;
    };
    let mut control = UnixStream::from(control);
    let setup = Setup::read(words.next().as_deref());
    let outcome = setup.and_then(|setup| enter(setup, &mut control, words));
    if let Err(error) = &outcome {
        let number = error.raw_os_error().unwrap_or_default();
        tell(&mut control, &Report::Failed(number));
    }
    // It closes with the process: so the caller knows that the keeper is gone.
    std::mem::forget(control);
    i32::from(outcome.is_err())
}

/// Keeps a program, in namespaces of its own if they are wanted and possible.
fn enter(
    mut setup: Setup,
    control: &mut UnixStream,
    words: impl Iterator<Item = OsString>,
) -> io::Result<()> {
    if let (Some(policy), Isolation::Wanted) = (&setup.policy, &setup.isolation) {
        let listening = view::listening();
        match isolation::leave(policy) {
            Ok(isolated) => {
                setup.isolation = Isolation::Done(isolated);
                setup.listening = listening;
                return stand_outside(&setup, words);
            }
            Err(Refusal::Refused(error)) => {
                setup.isolation = Isolation::Refused(error.to_string());
            }
            Err(Refusal::Confused(error)) => {
                tell(control, &Report::Confused(error.to_string()));
                return Ok(());
            }
        }
    }
    if let Err(why) = lay_over(&setup) {
        tell(control, &Report::NoLayer(why));
        return Ok(());
    }
    let isolated = furnish(&mut setup);
    match start(control, &setup, words)? {
        Ok(started) => {
            let mut keeper = Keeper::new(control.try_clone()?, started.leader, isolated)?;
            keeper.record = started.record;
            keeper.keep(started.protections);
        }
        Err(refusal) => tell(control, &refusal),
    }
    Ok(())
}

/// Starts the keeper as the first process in its namespace. Everything in it
/// ends with that process.
fn stand_outside(setup: &Setup, words: impl Iterator<Item = OsString>) -> io::Result<()> {
    let limits = setup.policy.as_ref().map(|policy| policy.limits);
    let group = limits.and_then(|limits| Group::new(limits).ok());
    let mut command = Command::new("/proc/self/exe");
    command.arg0(KEEPER).arg(setup.word()?).args(words);
    let mut keeper = match &group {
        Some(group) => group.start(|| command.spawn())?,
        None => command.spawn()?,
    };
    fall_silent()?;
    keeper.wait()?;
    Ok(())
}

/// Lays the layers over their folders, before anything else is set up: what is
/// written through them must not have become read-only.
fn lay_over(setup: &Setup) -> Result<(), String> {
    let layers = setup.policy.as_ref().map(|policy| policy.layers.as_slice());
    match (layers.unwrap_or_default(), &setup.isolation) {
        ([], _) => Ok(()),
        (layers, Isolation::Done(_)) => layers::lay(layers).map_err(|error| error.to_string()),
        // Without a namespace a protection is missing, and nothing is started.
        (_, Isolation::Refused(_)) if setup.is_strict => Ok(()),
        (_, Isolation::Refused(why)) => Err(why.clone()),
        (_, Isolation::Wanted) => Err("there is no namespace of mounts".to_owned()),
    }
}

/// Sets the view up, as far as there is one.
fn furnish(setup: &mut Setup) -> Isolated {
    let (Some(policy), Isolation::Done(isolated)) = (&setup.policy, &mut setup.isolation) else {
        return Isolated::default();
    };
    // If the process outside is killed, so is everything inside.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    if isolated.network {
        // Without it a program cannot talk to itself, which is the only effect.
        let _ = loopback::up();
    }
    match view::enter(policy, &setup.listening) {
        Ok(()) => isolated.folders = true,
        Err(error) => setup.no_folders = Some(error.to_string()),
    }
    *isolated
}

/// Sends a report. If the caller is gone, the events show that too.
fn tell(control: &mut UnixStream, report: &Report) {
    let _ = control.write_all(&report.line());
}

/// Starts the program, and waits until it is executed. If that is refused,
/// returns the report that says why.
fn start(
    control: &UnixStream,
    setup: &Setup,
    words: impl Iterator<Item = OsString>,
) -> io::Result<Result<Started, Report>> {
    set_child_subreaper(Some(getpid()))?;
    let mut files = receive(control)?.1.into_iter();
    if setup.has_lock {
        // It is let go of when this process ends.
        std::mem::forget(files.next());
    }
    let recording = setup.policy.as_ref();
    let recording = recording.and_then(|policy| policy.recorded.as_ref());
    let recorder = match recording.zip(recording.and_then(|_| files.next())) {
        None => None,
        Some((recording, pack)) => match Recorder::new(recording, pack.into()) {
            Ok(recorder) => Some(recorder),
            Err(why) => return Ok(Err(Report::NotRecorded(why))),
        },
    };
    let input = match files.next() {
        Some(input) => input,
        None => File::open("/dev/null")?.into(),
    };
    // What it has open is not to be found in /proc by the program.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let (news, reporting) = UnixStream::pair()?;
    let mut command = Command::new("/proc/self/exe");
    command
        .arg0(inner::INNER)
        .arg(setup.word()?)
        .args(words)
        .stdin(OwnedFd::from(reporting));
    let mapping = FdMapping {
        parent_fd: input,
        child_fd: inner::INPUT,
    };
    command
        .fd_mappings(vec![mapping])
        .map_err(io::Error::other)?;
    let child = command.spawn()?;
    // It holds the other end of the socket, and what the program reads from.
    drop(command);
    fall_silent()?;
    let (last, record) = hear(&news, recorder)?;
    let protections = match last {
        News::Ready(protections) => protections,
        News::Unprotected(protections) => return Ok(Err(Report::Unprotected(protections))),
        News::NotRecorded(why) => return Ok(Err(Report::NotRecorded(why))),
        News::Failed(number) => return Err(io::Error::from_raw_os_error(number)),
        News::Recorded => return Err(io::ErrorKind::UnexpectedEof.into()),
    };
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let leader = pid.ok_or(io::ErrorKind::InvalidData)?;
    Ok(Ok(Started {
        leader,
        protections,
        record,
    }))
}

/// The last news before the program is executed, or fails to be. The recorder
/// starts as soon as its listener arrives.
fn hear(news: &UnixStream, mut recorder: Option<Recorder>) -> io::Result<(News, Option<Recorded>)> {
    let (mut told, mut record) = (Vec::new(), None);
    loop {
        let (bytes, files) = receive(news)?;
        if let (Some(listener), Some(recorder)) = (files.into_iter().next(), recorder.take()) {
            record = Some(recorder.start(listener)?);
        }
        if bytes.is_empty() {
            break;
        }
        told.extend(bytes);
    }
    let mut lines = told.split(|byte| *byte == b'\n');
    let last = lines.rfind(|line| !line.is_empty()).unwrap_or_default();
    let last = serde_json::from_slice(last).map_err(io::Error::other)?;
    Ok((last, record))
}

/// Receives the next bytes on a socket, and the files sent with them.
fn receive(socket: &UnixStream) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = vec![0; 4096];
    let mut slices = [IoSliceMut::new(&mut bytes)];
    let flags = RecvFlags::CMSG_CLOEXEC;
    let received = recvmsg(socket, &mut slices, &mut ancillary, flags)?.bytes;
    bytes.truncate(received);
    let files = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    Ok((bytes, files.flatten().collect()))
}

/// Lets go of the program's streams, so that they end when it ends.
fn fall_silent() -> io::Result<()> {
    let null = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    Ok(())
}

/// Sends what happens to the processes, until there are none.
fn follow(events: &Sender<Event>) {
    loop {
        let event = match wait(WaitOptions::UNTRACED | WaitOptions::CONTINUED) {
            Ok(Some((pid, status))) => Event::Changed(pid, status),
            Ok(None) | Err(Errno::INTR) => continue,
            Err(_) => Event::Childless,
        };
        let is_last = matches!(event, Event::Childless);
        if events.send(event).is_err() || is_last {
            return;
        }
    }
}

/// Sends the caller's requests as events, until the caller is gone.
fn listen(control: UnixStream, events: &Sender<Event>) {
    let mut lines = BufReader::new(control);
    let mut line = Vec::new();
    while let Ok(1..) = lines.read_until(b'\n', &mut line) {
        if line == END && events.send(Event::Asked(Ask::End)).is_err() {
            return;
        }
        line.clear();
    }
    // The keeper may have ended before.
    let _ = events.send(Event::Asked(Ask::Kill));
}

impl Keeper {
    fn new(control: UnixStream, leader: Pid, isolated: Isolated) -> io::Result<Self> {
        let (sender, events) = mpsc::channel();
        let followed = sender.clone();
        thread::Builder::new().spawn(move || follow(&followed))?;
        let heard = control.try_clone()?;
        thread::Builder::new().spawn(move || listen(heard, &sender))?;
        Ok(Self {
            control,
            events,
            leader: Some(leader),
            is_childless: false,
            stopped: None,
            isolated,
            record: None,
        })
    }

    fn keep(mut self, protections: Protections) {
        tell(&mut self.control, &Report::Started(protections));
        let ask = self.until_asked();
        let left = match ask {
            Ask::End => self.end(),
            Ask::Kill => self.kill(),
        };
        tell(&mut self.control, &Report::Gone(left));
    }

    fn until_asked(&mut self) -> Ask {
        loop {
            let until = self.stopped.map(|since| since + STILL);
            match self.next(until) {
                Some(ask) => return ask,
                None if self.is_still() => {
                    self.stopped = None;
                    tell(&mut self.control, &Report::Stopped);
                }
                None => {}
            }
        }
    }

    fn is_still(&self) -> bool {
        self.stopped.is_some_and(|since| since.elapsed() >= STILL)
    }

    /// Handles the next event, or the timeout. Returns what the caller
    /// requested.
    fn next(&mut self, until: Option<Instant>) -> Option<Ask> {
        let event = match until {
            Some(until) => {
                let time = until.saturating_duration_since(Instant::now());
                self.events.recv_timeout(time).ok()?
            }
            // Both senders can be gone only after the last event of each.
            None => self.events.recv().unwrap_or(Event::Asked(Ask::Kill)),
        };
        match event {
            Event::Asked(ask) => return Some(ask),
            Event::Childless => {
                self.is_childless = true;
                if let Some(record) = self.record.take() {
                    // If it is missing, the caller rescans.
                    let _ = record.finish();
                    let refused = record.refused();
                    if !refused.is_empty() {
                        tell(&mut self.control, &Report::Refused(refused));
                    }
                }
            }
            Event::Changed(pid, status) if Some(pid) == self.leader => self.changed(status),
            Event::Changed(..) => {}
        }
        None
    }

    fn changed(&mut self, status: WaitStatus) {
        if status.stopped() {
            self.stopped = Some(Instant::now());
            return;
        }
        self.stopped = None;
        let code = status.exit_status().map(Exit::Code);
        let exit = code.or_else(|| status.terminating_signal().map(Exit::Signal));
        if let Some(exit) = exit {
            self.leader = None;
            tell(&mut self.control, &Report::Exited(exit));
        }
    }

    /// Signals all processes of the program, and returns how many there are.
    fn signal(&self, signal: Signal) -> usize {
        if !self.isolated.processes {
            return tree::signal(getpid(), signal);
        }
        // Where the system shows other processes than there are here, one
        // stands for all.
        let count = if self.isolated.folders {
            tree::below(getpid()).len()
        } else {
            1
        };
        tree::signal_all_others(signal);
        count
    }

    /// Asks all processes of the program to end, and kills those that do not.
    fn end(&mut self) -> Left {
        // What has closed its streams may be just about to end.
        if self.leader.is_none() && self.childless_within(MOMENT) {
            return Left::default();
        }
        let found = self.signal(Signal::TERM);
        // One that stands still does not hear the first signal.
        self.signal(Signal::CONT);
        if self.childless_within(GRACE) {
            return Left { found, survived: 0 };
        }
        let killed = self.kill();
        Left {
            found: found.max(killed.found),
            survived: killed.survived,
        }
    }

    /// Kills all processes of the program. Those that are started meanwhile are
    /// found in the next round.
    fn kill(&mut self) -> Left {
        let until = Instant::now() + KILLED;
        let mut found = 0;
        loop {
            let survived = self.signal(Signal::KILL);
            found = found.max(survived);
            if self.childless_within(PAUSE) {
                return Left { found, survived: 0 };
            }
            if Instant::now() > until {
                return Left { found, survived };
            }
        }
    }

    fn childless_within(&mut self, time: Duration) -> bool {
        let until = Instant::now() + time;
        while !self.is_childless && Instant::now() < until {
            if self.next(Some(until)) == Some(Ask::Kill) {
                break;
            }
        }
        self.is_childless
    }
}
