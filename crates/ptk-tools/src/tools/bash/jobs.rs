//! Commands that run on behind the calls that started them. They end with the
//! session, and nothing of them is left.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ptk_sandbox::command::Control;
use ptk_undo::KeptCall;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;

use crate::ToolError;
use crate::activity::{Activity, Background};
use crate::process::{Capture, Ended, Running, StreamPiece};

/// How many jobs may run at once.
pub(crate) const MAX_RUNNING: usize = 16;
/// How many are remembered, those included that have ended.
const MAX_KEPT: usize = 64;
/// Characters of a command in a list of jobs.
const MAX_COMMAND: usize = 60;

/// The jobs of a session.
#[derive(Debug)]
pub(crate) struct Jobs {
    list: Mutex<List>,
    places: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct List {
    started: u64,
    jobs: Vec<Arc<Job>>,
}

/// A command that runs on its own, or did.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) command: String,
    started: Instant,
    control: Control,
    output: Arc<Mutex<Capture>>,
    /// Up to where the output was read.
    asked: Mutex<u64>,
    cancel: CancellationToken,
    progress: watch::Receiver<Progress>,
}

/// Changes with every piece of output, and at the end.
#[derive(Debug, Default)]
struct Progress {
    ended: Option<Arc<Ended>>,
}

/// Room for one more job.
#[derive(Debug)]
pub(crate) struct Room {
    _place: OwnedSemaphorePermit,
    running: Background,
}

impl Default for Jobs {
    fn default() -> Self {
        Self {
            list: Mutex::default(),
            places: Arc::new(Semaphore::new(MAX_RUNNING)),
        }
    }
}

impl Drop for Jobs {
    /// Kills at once: nothing may be left that waits for a graceful end.
    fn drop(&mut self) {
        for job in &self.lock().jobs {
            if job.ended().is_none() {
                job.cancel.cancel();
                job.control.kill();
            }
        }
    }
}

impl Jobs {
    fn lock(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves room for one more job.
    pub(crate) fn room(&self, activity: &Arc<Activity>) -> Result<Room, ToolError> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        let room = place.map(|place| Room {
            _place: place,
            running: activity.in_background(),
        });
        room.map_err(|_| {
            ToolError::user(format!(
                "{MAX_RUNNING} jobs run already, more are not allowed"
            ))
            .suggest(format!("End one with bash_kill first. {}", self.listed()))
        })
    }

    /// Adds a job for a program that was started.
    pub(crate) fn add(
        &self,
        room: Room,
        command: String,
        running: Running,
        kept: Option<KeptCall>,
    ) -> Arc<Job> {
        let (news, progress) = watch::channel(Progress::default());
        let cancel = CancellationToken::new();
        let mut list = self.lock();
        list.started += 1;
        let job = Arc::new(Job {
            name: format!("job_{}", list.started),
            command,
            started: Instant::now(),
            control: running.control().clone(),
            output: Arc::clone(running.stdout()),
            asked: Mutex::default(),
            cancel: cancel.clone(),
            progress,
        });
        list.jobs.push(Arc::clone(&job));
        if list.jobs.len() > MAX_KEPT {
            let oldest = list.jobs.iter().position(|job| job.ended().is_some());
            oldest.map(|oldest| list.jobs.remove(oldest));
        }
        drop(list);
        tokio::spawn(async move {
            let show = |_, _: &str| news.send_modify(|_| ());
            let ended = running.end(&cancel, Some(&show)).await;
            room.running.mutated();
            if let Some(kept) = kept {
                // If this fails, it is made up for before the next call.
                let _ = tokio::task::spawn_blocking(move || kept.end()).await;
            }
            drop(room);
            news.send_modify(|progress| progress.ended = Some(Arc::new(ended)));
        });
        job
    }

    /// The job of this name.
    pub(crate) fn get(&self, name: &str) -> Result<Arc<Job>, ToolError> {
        let found = self
            .lock()
            .jobs
            .iter()
            .find(|job| job.name == name)
            .cloned();
        found.ok_or_else(|| ToolError::user(format!("Job {name} not found")).suggest(self.listed()))
    }

    fn listed(&self) -> String {
        let list = self.lock();
        let jobs: Vec<String> = list.jobs.iter().map(|job| job.listed()).collect();
        if jobs.is_empty() {
            return "There are no jobs. Start one with bash(run_in_background=true).".to_owned();
        }
        format!("There are: {}.", jobs.join("; "))
    }
}

impl Job {
    /// How the job ended, if it has.
    pub(crate) fn ended(&self) -> Option<Arc<Ended>> {
        self.progress.borrow().ended.clone()
    }

    /// How long it has run so far.
    pub(crate) fn age(&self) -> Duration {
        let ended = self.ended();
        ended.map_or_else(|| self.started.elapsed(), |ended| ended.duration)
    }

    fn listed(&self) -> String {
        let state = if self.ended().is_some() {
            "ended"
        } else {
            "running"
        };
        let command: String = self.command.chars().take(MAX_COMMAND).collect();
        let more = if command.len() < self.command.len() {
            "…"
        } else {
            ""
        };
        format!("{} ({state}): {command}{more}", self.name)
    }

    /// How many bytes it has written.
    pub(crate) fn total(&self) -> u64 {
        self.output
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .total()
    }

    /// Up to `most` bytes of its output. May read a file.
    pub(crate) fn piece(&self, from: u64, most: usize) -> Result<StreamPiece, ToolError> {
        let output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.piece(from, most)
    }

    /// Up to where the output was read.
    pub(crate) fn asked(&self) -> u64 {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the output was read up to here.
    pub(crate) fn asked_to(&self, end: u64) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = end;
    }

    /// Waits until the job has written more than `from` bytes, or has ended.
    pub(crate) async fn news(&self, from: u64) {
        let mut progress = self.progress.clone();
        // An error means that its task is gone: it has ended.
        let _ = progress
            .wait_for(|progress| progress.ended.is_some() || self.total() > from)
            .await;
    }

    /// Ends the job, and waits until it has.
    pub(crate) async fn kill(&self) {
        self.cancel.cancel();
        let mut progress = self.progress.clone();
        let _ = progress.wait_for(|progress| progress.ended.is_some()).await;
    }
}
