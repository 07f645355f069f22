//! The thread that answers calls once what they change is written down.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use ptk_seccomp::Listener;
use rustix::fs::{CWD, Mode};
use rustix::io::Errno;

use super::keep::Keep;
use super::{Recording, filter, intent};

/// Room for folders in folders, as deep as a path can lead.
const STACK: usize = 16 * 1024 * 1024;

/// Answers the calls of a program, in a thread of its own.
pub(in crate::command) struct Recorder {
    keep: Arc<Mutex<Keep>>,
    thread: Sender<Listener>,
}

/// What is recorded of a program.
pub(in crate::command) struct Recorded(Arc<Mutex<Keep>>);

impl Recorded {
    /// Writes down what the program has left, once nothing of it runs any more.
    /// If that is missing, the caller rescans.
    pub(in crate::command) fn finish(&self) -> io::Result<()> {
        lock(&self.0).finish()
    }

    /// Files that were not written because they must not be.
    pub(in crate::command) fn refused(&self) -> Vec<String> {
        lock(&self.0).refused()
    }
}

fn lock(keep: &Mutex<Keep>) -> MutexGuard<'_, Keep> {
    keep.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Recorder {
    /// A recorder for what a policy says, with the file to which records are
    /// added. The error says why there can be none.
    pub(in crate::command) fn new(recording: &Recording, pack: File) -> Result<Self, String> {
        let own = std::fs::read_link("/proc/self").map_err(|error| error.to_string())?;
        if own != Path::new(&std::process::id().to_string()) {
            return Err("/proc shows the processes of others".to_owned());
        }
        let keep = Keep::new(recording, pack).map_err(|error| error.to_string())?;
        let keep = Arc::new(Mutex::new(keep));
        let (thread, listener) = mpsc::channel();
        let shared = Arc::clone(&keep);
        // While the program is being started there is time for that.
        thread::Builder::new()
            .name("recorder".to_owned())
            .stack_size(STACK)
            .spawn(move || {
                lock(&shared).warm_up();
                if let Ok(listener) = listener.recv() {
                    answer_all(&listener, &shared);
                }
            })
            .map_err(|error| error.to_string())?;
        Ok(Self { keep, thread })
    }

    /// Answers calls from now on, until no process is left to make one.
    pub(in crate::command) fn start(self, listener: OwnedFd) -> io::Result<Recorded> {
        let listener = Listener::from(listener);
        // Without it, answers only take longer.
        let _ = listener.prefer_one_processor();
        let sent = self.thread.send(listener);
        sent.map_err(|_| io::Error::other("the recorder broke down"))?;
        Ok(Recorded(self.keep))
    }
}

fn answer_all(listener: &Listener, keep: &Mutex<Keep>) {
    let mut text = Vec::new();
    loop {
        let call = match listener.receive() {
            Ok(call) => call,
            // This process is about to end. To tidy up would take time from the
            // program, which is about to end, too, and is waited for.
            Err(_) if listener.is_alone() => loop {
                thread::park();
            },
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::INTR | Errno::NOENT) => continue,
                _ => return,
            },
        };
        let answered = match intent::consider(&call, &mut text, &mut lock(keep)) {
            Ok(()) => listener.go_on(&call),
            Err(error) => listener.fail(&call, error.raw_os_error()),
        };
        // A caller that was killed meanwhile needs no answer.
        drop(answered);
    }
}

/// Installs the filter for this process and all that it starts; returns the
/// handle by which a recorder receives their calls.
pub(in crate::command) fn install() -> io::Result<OwnedFd> {
    filter::install()
}

/// Checks that a recorder answers this process: creating a folder that exists
/// always fails, but for another reason if the recorder cannot find out what
/// was to be created.
pub(in crate::command) fn probe() -> io::Result<()> {
    match rustix::fs::mkdirat(CWD, ".", Mode::RWXU) {
        Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
        Ok(()) => Err(io::ErrorKind::InvalidData.into()),
    }
}
