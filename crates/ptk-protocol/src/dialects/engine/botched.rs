//! Finds the end of a call that cannot be read or was cut off.

use crate::ToolSpec;
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
    // Without such marks the line closes, and it may end before a stop comes.
    let line = window.find('\n');
    let found = match found {
        None if close.is_empty() => line,
        found => found.map(|(at, length)| at + length),
    };
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
    (!undecided).then(|| fault + line.unwrap_or(window.len()))
}

/// The closing mark behind some text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CloseAt {
    /// It stands at this offset, and no other mark before it.
    Finding(usize),
    /// More text is needed to decide.
    More,
    /// None follows nearby, or another mark comes first.
    None,
}

/// Looks for the closing mark that ends the text behind `from`.
pub(crate) fn closing_mark_behind<S: AsRef<str>>(
    input: &Input<'_>,
    from: usize,
    close: &[S],
) -> CloseAt {
    let rest = input.from(from);
    let window = rest.get(..floor(rest, LIMIT)).unwrap_or("");
    let found = close
        .iter()
        .filter_map(|mark| window.find(mark.as_ref()))
        .min();
    if found.is_none() && !input.end && rest.len() < LIMIT {
        return CloseAt::More;
    }
    let Some(found) = found else {
        return CloseAt::None;
    };
    let text = window.get(..found).unwrap_or("");
    if input.stops.iter().any(|stop| text.contains(stop.as_str())) {
        return CloseAt::None;
    }
    for (at, _) in text.match_indices(['<', '[']) {
        match input.is_marked(from + at) {
            None if !input.end => return CloseAt::More,
            Some(true) => return CloseAt::None,
            _ => {}
        }
    }
    CloseAt::Finding(from + found)
}

/// Where a call ends that did not close: before the first stop behind `from`,
/// or else with the reply.
pub(crate) fn cut_end(input: &Input<'_>, from: usize) -> usize {
    let rest = input.from(from);
    let stop = input.stops.iter().filter_map(|stop| rest.find(stop)).min();
    stop.map_or(input.text.len(), |stop| from + stop)
}

/// Whether a line looks like arguments of a tool, and not like words about it:
/// one of its parameters stands there before a colon or an equals sign.
pub(crate) fn gives_arguments(line: &str, tool: &ToolSpec) -> bool {
    let mut names = tool.properties().into_iter().flat_map(|all| all.keys());
    names.any(|name| {
        line.match_indices(name.as_str()).any(|(at, name)| {
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            let before = line.get(..at).unwrap_or("").chars().next_back();
            let behind = line.get(at + name.len()..).unwrap_or("");
            let behind = behind.trim_start_matches(['"', '\'', '>', ' ']);
            !before.is_some_and(is_word) && behind.starts_with([':', '='])
        })
    })
}

/// Whether the text behind a tool's name is glued to a mark: words about the
/// mark stand apart from it.
fn is_glued(input: &Input<'_>, at: usize) -> bool {
    let before = input.slice(0..at);
    let behind = input.from(at);
    before.ends_with(['>', ']'])
        && behind.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '"' | '\'' | '/'))
}

/// Where a call of a declared tool ends whose arguments cannot be read and
/// whose closing mark is missing: with its line. `None` if the text behind the
/// name, which stands at `at`, does not look like arguments.
pub(crate) fn unclosed_end(input: &Input<'_>, name: &str, at: usize) -> Option<usize> {
    let tool = input.tools?.get(name)?;
    let rest = input.from(at);
    let window = rest.get(..floor(rest, LIMIT)).unwrap_or("");
    // A name that ends its line has its arguments below it.
    let space = window.len() - window.trim_start().len();
    let lines = window.get(space..).unwrap_or("");
    let line = lines.lines().next().unwrap_or("");
    let is_json = || serde_json::from_str::<serde::de::IgnoredAny>(line).is_ok();
    // Words about a mark stand on its line.
    let is_below = || window.get(..space).is_some_and(|gap| gap.contains('\n'));
    let is_meant = gives_arguments(line, tool) || is_glued(input, at) || is_json() || is_below();
    is_meant.then(|| at + space + line.trim_end().len())
}
