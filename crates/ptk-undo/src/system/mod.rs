//! What is done in one way on Unix and in another on Windows: times, permissions
//! and names of files in the store, and syncing them.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::*;
#[cfg(windows)]
pub(crate) use windows::*;
