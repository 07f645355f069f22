//! Locks and threads: the system's, or in tests those of a scheduler that runs
//! them in one order after the other (feature `shuttle`).

#[cfg(feature = "shuttle")]
pub(crate) use shuttle::{
    sync::{Mutex, MutexGuard, RwLock},
    thread,
};
#[cfg(not(feature = "shuttle"))]
pub(crate) use std::{
    sync::{Mutex, MutexGuard, RwLock},
    thread,
};
