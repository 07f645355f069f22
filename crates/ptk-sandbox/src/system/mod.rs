//! What is done in one way on Unix and in another on Windows: permissions,
//! owners, times and links of files, and the names that a path may have.
//!
//! Both files have the same functions. Where Windows cannot keep a promise that
//! these functions make, they fail there and say why.

#[cfg(any(windows, test))]
mod names;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::*;
#[cfg(windows)]
pub(crate) use windows::*;

#[cfg(unix)]
pub use unix::read_exact_at;
#[cfg(windows)]
pub use windows::read_exact_at;
