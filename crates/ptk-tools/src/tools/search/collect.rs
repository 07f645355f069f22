//! The lines of a file that are shown: some of its matches, and what stands
//! around them.

use std::io;

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkMatch};

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) number: u64,
    pub(crate) is_match: bool,
    /// Whether it is all of the line.
    pub(crate) is_whole: bool,
    pub(crate) text: String,
}

/// Which matches of a file are taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// Matches to pass over first.
    pub(crate) skip: usize,
    /// How many to take after that,
    pub(crate) take: usize,
    /// as long as there is room for their lines, in bytes.
    pub(crate) room: usize,
}

/// Collects some of the matches of a file, with the lines around them.
pub(crate) struct Collecting<'a> {
    matcher: &'a RegexMatcher,
    window: Window,
    around: u64,
    /// Lines before a match of which it is not known yet whether it counts.
    before: Vec<Line>,
    last_match: Option<u64>,
    pub(crate) lines: Vec<Line>,
    pub(crate) taken: usize,
    pub(crate) is_binary: bool,
}

impl<'a> Collecting<'a> {
    pub(crate) fn new(matcher: &'a RegexMatcher, window: Window) -> Self {
        Self {
            matcher,
            window,
            around: 0,
            before: Vec::new(),
            last_match: None,
            lines: Vec::new(),
            taken: 0,
            is_binary: false,
        }
    }

    /// Whether another match can be taken.
    fn is_open(&self) -> bool {
        self.taken < self.window.take && self.window.room > 0
    }

    fn push(&mut self, line: Line) {
        self.window.room = self.window.room.saturating_sub(line.text.len());
        self.lines.push(line);
    }

    fn near_last(&self, number: u64) -> bool {
        self.last_match
            .is_some_and(|last| number <= last + self.around)
    }
}

impl Sink for Collecting<'_> {
    type Error = io::Error;

    fn begin(&mut self, searcher: &Searcher) -> io::Result<bool> {
        self.around = searcher.after_context() as u64;
        Ok(true)
    }

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let first = found.line_number().unwrap_or(0);
        let counts = self.window.skip == 0 && self.is_open();
        if counts {
            self.taken += 1;
            for line in std::mem::take(&mut self.before) {
                self.push(line);
            }
        } else {
            self.window.skip = self.window.skip.saturating_sub(1);
            self.before.clear();
        }
        for (number, line) in (first..).zip(found.lines()) {
            if counts {
                self.last_match = Some(number);
            } else if !self.near_last(number) {
                // Behind the last match that counts there is nothing to take.
                return Ok(self.is_open());
            }
            self.push(Line::new(number, line, counts.then_some(self.matcher)));
        }
        Ok(true)
    }

    fn context(&mut self, _searcher: &Searcher, found: &SinkContext<'_>) -> io::Result<bool> {
        let number = found.line_number().unwrap_or(0);
        let line = Line::new(number, found.bytes(), None);
        if self.near_last(number) {
            self.push(line);
        } else if *found.kind() == SinkContextKind::Before {
            self.before.push(line);
        }
        Ok(true)
    }

    fn binary_data(&mut self, _searcher: &Searcher, _offset: u64) -> io::Result<bool> {
        self.is_binary = true;
        Ok(false)
    }
}

impl Line {
    /// A line without its end; a long one is cut around the match.
    pub(crate) fn new(number: u64, bytes: &[u8], matcher: Option<&RegexMatcher>) -> Self {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let found = || {
            let found = matcher.and_then(|matcher| matcher.find(bytes).ok().flatten());
            found.map_or(0, |found| found.start())
        };
        let (text, is_whole) = super::line::cut(bytes, found);
        Self {
            number,
            is_match: matcher.is_some(),
            is_whole,
            text,
        }
    }
}
