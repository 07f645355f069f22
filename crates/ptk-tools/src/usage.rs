//! How often each tool was used, how long it took, and how it ended.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;

/// The usage of one tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Calls that ended.
    pub calls: u64,
    /// Calls that failed.
    pub failures: u64,
    /// Calls that took too long.
    pub timeouts: u64,
    /// Calls that were refused before they ran.
    pub refused: u64,
    /// The time that all calls took, in microseconds.
    pub total_us: u64,
    /// The time of the longest call, in microseconds.
    pub longest_us: u64,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Success,
    Failure,
    Timeout,
    Refused,
}

/// The usage of all tools.
#[derive(Debug, Default)]
pub(crate) struct Statistics {
    tools: Mutex<BTreeMap<String, Usage>>,
}

impl Statistics {
    pub(crate) fn record(&self, tool: &str, ending: Ending, duration: Duration) {
        let mut tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        let usage = tools.entry(tool.to_owned()).or_default();
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        usage.calls += 1;
        usage.failures += u64::from(ending != Ending::Success);
        usage.timeouts += u64::from(ending == Ending::Timeout);
        usage.refused += u64::from(ending == Ending::Refused);
        usage.total_us = usage.total_us.saturating_add(micros);
        usage.longest_us = usage.longest_us.max(micros);
    }

    pub(crate) fn all(&self) -> BTreeMap<String, Usage> {
        let tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        tools.clone()
    }
}
