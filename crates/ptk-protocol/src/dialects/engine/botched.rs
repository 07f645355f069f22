//! Finds the end of a call that cannot be read or was cut off.

use crate::parse::{Input, floor};

/// How far to search for the closing mark.
const LIMIT: usize = 4096;

/// The offset behind the closing mark, or else the end of the line in which the
/// fault stands; `None` if more text is needed to decide.
pub(crate) fn botched_end<S: AsRef<str>>(
    input: &Input<'_>,
    fault: usize,
    close: &[S],
) -> Option<usize> {
    let fault = floor(input.text, fault);
    let rest = input.from(fault);
    let window = rest.get(..floor(rest, LIMIT)).unwrap_or("");
    let found = close
        .iter()
        .map(AsRef::as_ref)
        .filter_map(|mark: &str| Some((window.find(mark)?, mark.len())))
        .min();
    let found = found.map(|(at, length)| at + length);
    let stop = input
        .stops
        .iter()
        .filter_map(|stop| window.find(stop))
        .min();
    match (found, stop) {
        (Some(end), Some(stop)) => return Some(fault + end.min(stop)),
        (Some(end), None) | (None, Some(end)) => return Some(fault + end),
        (None, None) => {}
    }
    let undecided = !input.end && rest.len() < LIMIT;
    let line = window.find('\n');
    match line {
        Some(line) if close.is_empty() => Some(fault + line),
        _ if undecided => None,
        line => Some(fault + line.unwrap_or(window.len())),
    }
}

/// Where a call ends that did not close: before the first stop behind `from`,
/// or else with the reply.
pub(crate) fn cut_end(input: &Input<'_>, from: usize) -> usize {
    let rest = input.from(from);
    let stop = input.stops.iter().filter_map(|stop| rest.find(stop)).min();
    stop.map_or(input.text.len(), |stop| from + stop)
}
