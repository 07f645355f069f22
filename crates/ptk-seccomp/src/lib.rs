//! System calls that another process decides about first: seccomp's user
//! notification.
//!
//! A process installs a filter with [`listen`], for itself and all that it
//! starts, and passes the returned handle to another process. There it becomes
//! a [`Listener`], which receives each [`Call`] that the filter does not let
//! pass at once. The caller waits until it is answered.
//!
//! [`close_from`] and [`close_on_exec_from`] keep descriptors that a process has
//! inherited from reaching the programs that it starts.
//!
//! This is the one crate of the workspace with `unsafe` code, because no crate
//! offers these few calls: it does nothing else, and decides nothing.

#![cfg(target_os = "linux")]

use std::io;
use std::mem;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};

/// An instruction of a filter.
pub use libc::sock_filter as Instruction;

/// Once a listener has received a call, only a fatal signal wakes the caller.
/// Otherwise an interrupted call would be restarted, and a program that signals
/// itself all the time would make no progress. Linux 5.19.
const WAIT_KILLABLE: libc::c_ulong = 1 << 5;
/// Runs the listener and the caller on the same CPU, one after the other. Linux
/// 6.6.
const SYNC_WAKE_UP: libc::c_ulong = 1;

/// Installs a filter for this thread and all that it starts and becomes. The
/// thread must not be able to get new rights. Calls for which the filter
/// returns `SECCOMP_RET_USER_NOTIF` wait for an answer from the owner of the
/// handle.
///
/// # Errors
///
/// If the system has no such filters (`EINVAL`), this thread has a listener
/// already (`EBUSY`), or the filter is invalid.
pub fn listen(filter: &[Instruction]) -> io::Result<OwnedFd> {
    let wanted = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    match install(filter, wanted | WAIT_KILLABLE) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => install(filter, wanted),
        installed => installed,
    }
}

fn install(filter: &[Instruction], flags: libc::c_ulong) -> io::Result<OwnedFd> {
    let too_long = |_| io::Error::from_raw_os_error(libc::EINVAL);
    let program = libc::sock_fprog {
        len: filter.len().try_into().map_err(too_long)?,
        // The kernel only reads it.
        filter: filter.as_ptr().cast_mut(),
    };
    let mode = libc::SECCOMP_SET_MODE_FILTER;
    // SAFETY: the program and its instructions live until the call is over, and
    // the kernel checks the rest.
    let handle = unsafe { libc::syscall(libc::SYS_seccomp, mode, flags, &raw const program) };
    let handle = RawFd::try_from(handle).unwrap_or(-1);
    if handle < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made it, and nothing else refers to it.
    Ok(unsafe { OwnedFd::from_raw_fd(handle) })
}

/// A system call that waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    id: u64,
    /// The thread that makes it, as the listener's process sees it.
    pub thread: u32,
    /// The number of the system call.
    pub number: i64,
    /// The arguments of the system call.
    pub arguments: [u64; 6],
}

/// Receives the calls that a filter does not let pass at once. When it is
/// dropped, the calls that wait fail with `ENOSYS`.
#[derive(Debug)]
pub struct Listener(OwnedFd);

impl From<OwnedFd> for Listener {
    /// A listener for the handle that [`listen`] returned. With any other
    /// handle, receiving fails.
    fn from(handle: OwnedFd) -> Self {
        Self(handle)
    }
}

impl Listener {
    /// Runs the caller and the listener on one CPU, where the system supports
    /// it. It is faster where an answer takes microseconds.
    ///
    /// # Errors
    ///
    /// If the system does not support it.
    pub fn prefer_one_processor(&self) -> io::Result<()> {
        let request = libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS;
        // SAFETY: the argument is a number.
        done(unsafe { libc::ioctl(self.0.as_raw_fd(), request, SYNC_WAKE_UP) })
    }

    /// Waits for the next call.
    ///
    /// # Errors
    ///
    /// With `ENOENT` if the caller was killed meanwhile, and `EINTR` if a
    /// signal came: then there may be others, unless [`Listener::is_alone`].
    pub fn receive(&self) -> io::Result<Call> {
        // SAFETY: these are numbers, and the kernel wants them to be zero.
        let mut call: libc::seccomp_notif = unsafe { mem::zeroed() };
        let request = libc::SECCOMP_IOCTL_NOTIF_RECV;
        let handle = self.0.as_raw_fd();
        // SAFETY: the kernel fills a structure of this very type.
        done(unsafe { libc::ioctl(handle, request, &raw mut call) })?;
        Ok(Call {
            id: call.id,
            thread: call.pid,
            number: call.data.nr.into(),
            arguments: call.data.args,
        })
    }

    /// Whether no process is left that could make a call.
    #[must_use]
    pub fn is_alone(&self) -> bool {
        let mut asked = libc::pollfd {
            fd: self.0.as_raw_fd(),
            events: 0,
            revents: 0,
        };
        // SAFETY: it is one structure, and lives until the call is over.
        let found = unsafe { libc::poll(&raw mut asked, 1, 0) };
        found > 0 && asked.revents & libc::POLLHUP != 0
    }

    /// Lets the call be made.
    ///
    /// # Errors
    ///
    /// If the caller is gone.
    pub fn go_on(&self, call: &Call) -> io::Result<()> {
        let flags = u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).unwrap_or(1);
        self.answer(call, 0, flags)
    }

    /// Lets the call fail with the number of an error.
    ///
    /// # Errors
    ///
    /// If the caller is gone.
    pub fn fail(&self, call: &Call, error: i32) -> io::Result<()> {
        self.answer(call, -error, 0)
    }

    fn answer(&self, call: &Call, error: i32, flags: u32) -> io::Result<()> {
        let mut answer = libc::seccomp_notif_resp {
            id: call.id,
            val: 0,
            error,
            flags,
        };
        let request = libc::SECCOMP_IOCTL_NOTIF_SEND;
        let handle = self.0.as_raw_fd();
        // SAFETY: the kernel reads a structure of this very type.
        done(unsafe { libc::ioctl(handle, request, &raw mut answer) })
    }
}

/// Closes all descriptors from `first` on.
///
/// Only for a process that has just started and owns none of them: a value that
/// owns one would later close a descriptor that means something else.
///
/// # Errors
///
/// If the kernel does not know the call (before Linux 5.9).
pub fn close_from(first: libc::c_uint) -> io::Result<()> {
    close_range(first, 0)
}

/// Has all descriptors from `first` on closed in the programs that this process
/// starts. In this process they stay open.
///
/// # Errors
///
/// If the kernel does not know the call (before Linux 5.11).
pub fn close_on_exec_from(first: libc::c_uint) -> io::Result<()> {
    close_range(first, libc::CLOSE_RANGE_CLOEXEC)
}

fn close_range(first: libc::c_uint, flags: libc::c_uint) -> io::Result<()> {
    let last = libc::c_uint::MAX;
    // SAFETY: the arguments are numbers. That no closed descriptor is used is
    // up to the caller of `close_from`.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) };
    done(libc::c_int::try_from(result).unwrap_or(-1))
}

fn done(result: libc::c_int) -> io::Result<()> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
