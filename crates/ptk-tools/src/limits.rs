//! The limits of calls.

use std::time::Duration;

use crate::bound;
use crate::retries::TOOL_MAX_RETRIES;

/// The limits of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long a call may take if its tool sets no time.
    pub deadline: Duration,
    /// How much longer than its own timeout a tool may take.
    pub grace: Duration,
    /// How long a result may be, in bytes.
    pub result: usize,
    /// How many tools may run at once.
    pub concurrency: usize,
    /// How many lines of a result a person sees.
    pub preview_lines: usize,
    /// How often a tool that only reads is run again when it fails for a
    /// passing reason ([`ToolError::transient`](crate::ToolError::transient)).
    /// One that writes or runs programs never is.
    pub retries: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(30),
            grace: Duration::from_secs(5),
            result: bound::DEFAULT_LIMIT,
            concurrency: 128,
            preview_lines: 3,
            retries: TOOL_MAX_RETRIES,
        }
    }
}
