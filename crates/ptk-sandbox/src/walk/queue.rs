//! A queue of work for several threads, which may add more while they work.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A stack of jobs: what was found last is done first, which keeps few folders
/// open at a time.
#[derive(Debug)]
pub(super) struct Queue<J> {
    state: Mutex<QueueState<J>>,
    changed: Condvar,
}

#[derive(Debug)]
struct QueueState<J> {
    jobs: Vec<J>,
    busy: usize,
    waiting: usize,
}

impl<J> Queue<J> {
    pub(super) fn new(first: J) -> Self {
        Self {
            state: Mutex::new(QueueState {
                jobs: vec![first],
                busy: 0,
                waiting: 0,
            }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works until nothing is left, or until `work` returns `false`.
    pub(super) fn run(&self, mut work: impl FnMut(J, &mut Vec<J>) -> bool) {
        let mut more = Vec::new();
        while let Some(job) = self.next() {
            let busy = Busy(self);
            let goes_on = work(job, &mut more);
            busy.done(&mut more, goes_on);
        }
    }

    fn next(&self) -> Option<J> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop() {
                state.busy += 1;
                return Some(job);
            }
            if state.busy == 0 {
                self.changed.notify_all();
                return None;
            }
            state.waiting += 1;
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
    }
}

/// A thread at work. If it panics, the others do not wait for it.
struct Busy<'a, J>(&'a Queue<J>);

impl<J> Busy<'_, J> {
    fn done(self, more: &mut Vec<J>, goes_on: bool) {
        let mut state = self.0.lock();
        if goes_on {
            state.jobs.append(more);
        } else {
            more.clear();
            state.jobs.clear();
        }
        let wakes = state.waiting > 0 && state.jobs.len() > 1;
        drop(state);
        if wakes {
            self.0.changed.notify_all();
        }
    }
}

impl<J> Drop for Busy<'_, J> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.busy -= 1;
        if state.busy == 0 && state.jobs.is_empty() {
            self.0.changed.notify_all();
        }
    }
}
