//! What is done in one way on Unix and in another on Windows: permissions of
//! the database, its address, and the name of this machine.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::*;
#[cfg(windows)]
pub(crate) use windows::*;
