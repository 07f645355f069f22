//! The search in one file: whether, and how often, it matches.

use std::fs::File;
use std::io::{self, Read};

use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use regex_syntax::hir::{Class, Hir, HirKind, Look};

use crate::ToolError;
use crate::tools::text::Text;

/// Files up to this size are read in one go; longer ones piece by piece.
const WHOLE: usize = 1024 * 1024;
/// Files up to this size are decoded where they are not UTF-8.
pub(crate) const MAX_DECODED: u64 = 16 * 1024 * 1024;
/// How much of a file a search over several lines takes into memory.
const MAX_MULTILINE: usize = 64 * 1024 * 1024;

/// What is searched for.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    pub(crate) text: String,
    pub(crate) literal: bool,
    pub(crate) case_sensitive: bool,
    pub(crate) multiline: bool,
    /// What to do with a text that is not a regular expression.
    pub(crate) remedy: &'static str,
}

impl Query {
    /// The query as a matcher of lines, or of several of them.
    pub(crate) fn matcher(&self) -> Result<RegexMatcher, ToolError> {
        if self.text.is_empty() {
            return Err(
                ToolError::validation("There is nothing to search for: it is empty").suggest(
                    "To see a whole file, use read_file; to see which files there are, list_files.",
                ),
            );
        }
        let mut builder = RegexMatcherBuilder::new();
        builder
            .case_insensitive(!self.case_sensitive)
            .fixed_strings(self.literal)
            .multi_line(true);
        if self.multiline {
            builder.dot_matches_new_line(true);
        } else {
            builder.crlf(true);
        }
        builder
            .build(&self.text)
            .map_err(|error| self.refused(&error))
    }

    fn refused(&self, error: &grep_regex::Error) -> ToolError {
        if let grep_regex::ErrorKind::NotAllowed(_) = error.kind() {
            return ToolError::validation(
                "The pattern has a line break in it, but lines are searched one by one",
            )
            .suggest("Set multiline to true, or search for a part within one line.");
        }
        // The matcher puts the pattern into a group, and then points at that.
        let reason = match regex_syntax::parse(&self.text) {
            Err(error) => error.to_string(),
            Ok(_) => error.to_string(),
        };
        ToolError::validation(format!("The pattern is not a regular expression: {reason}"))
            .suggest(self.remedy)
    }

    /// Whether the query finds the same in any encoding that has ASCII in it,
    /// so that no file has to be decoded for it.
    fn is_ascii(&self) -> bool {
        if self.literal {
            return self.text.is_ascii();
        }
        regex_syntax::parse(&self.text).is_ok_and(|pattern| is_ascii(&pattern))
    }

    /// A searcher that shows so many lines around a match; `None` for one that
    /// does not even count lines.
    pub(crate) fn searcher(&self, context: Option<usize>) -> Searcher {
        let mut builder = SearcherBuilder::new();
        builder
            .line_terminator(if self.multiline {
                LineTerminator::byte(b'\n')
            } else {
                LineTerminator::crlf()
            })
            .multi_line(self.multiline)
            .heap_limit(self.multiline.then_some(MAX_MULTILINE))
            .binary_detection(BinaryDetection::quit(0))
            .line_number(context.is_some())
            .before_context(context.unwrap_or(0))
            .after_context(context.unwrap_or(0));
        builder.build()
    }
}

/// Whether a pattern mentions no characters beyond ASCII.
fn is_ascii(pattern: &Hir) -> bool {
    match pattern.kind() {
        HirKind::Empty => true,
        HirKind::Literal(literal) => literal.0.is_ascii(),
        HirKind::Class(Class::Unicode(class)) => class.is_ascii(),
        HirKind::Class(Class::Bytes(class)) => class.is_ascii(),
        HirKind::Look(look) => matches!(
            look,
            Look::Start | Look::End | Look::StartLF | Look::EndLF | Look::StartCRLF | Look::EndCRLF
        ),
        HirKind::Repetition(repeated) => is_ascii(&repeated.sub),
        HirKind::Capture(group) => is_ascii(&group.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().all(is_ascii),
    }
}

/// A file as it is searched, with the memory that is used again.
#[derive(Debug)]
pub(crate) struct SearchedFile {
    buffer: Vec<u8>,
    /// Whether what is not UTF-8 has to be decoded.
    decodes: bool,
}

impl SearchedFile {
    pub(crate) fn new(query: &Query) -> Self {
        Self {
            buffer: Vec::new(),
            decodes: !query.is_ascii(),
        }
    }

    /// Searches a file of about this size.
    pub(crate) fn search<S: Sink<Error = io::Error>>(
        &mut self,
        (mut file, size): (File, u64),
        searcher: &mut Searcher,
        matcher: &RegexMatcher,
        is_over: impl Fn() -> bool,
        sink: S,
    ) -> io::Result<()> {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if size > WHOLE && !self.decodes {
            let reader = Stoppable { file, is_over };
            return searcher.search_reader(matcher, reader, sink);
        }
        let start = self.read(&mut file, size.min(WHOLE))?;
        if let Some(text) = self.decoded(start, &mut file, size)? {
            return searcher.search_slice(matcher, text.as_bytes(), sink);
        }
        let start = self.buffer.get(..start).unwrap_or_default();
        if size <= WHOLE {
            return searcher.search_slice(matcher, start, sink);
        }
        let reader = start.chain(Stoppable { file, is_over });
        searcher.search_reader(matcher, reader, sink)
    }

    /// Reads so many bytes into the buffer, if there are as many.
    fn read(&mut self, file: &mut File, size: usize) -> io::Result<usize> {
        if self.buffer.len() < size {
            self.buffer
                .resize(size.next_power_of_two().max(64 * 1024), 0);
        }
        fill(file, self.buffer.get_mut(..size).unwrap_or_default())
    }

    /// The text of a file whose beginning, so many bytes, is not UTF-8.
    fn decoded(&self, start: usize, file: &mut File, size: usize) -> io::Result<Option<String>> {
        let start = self.buffer.get(..start).unwrap_or_default();
        if !self.decodes || size as u64 > MAX_DECODED || is_utf8(start) {
            return Ok(None);
        }
        if size <= WHOLE {
            return Ok(Text::decode_foreign(start));
        }
        let mut bytes = start.to_vec();
        file.take(MAX_DECODED).read_to_end(&mut bytes)?;
        Ok(Text::decode_foreign(&bytes))
    }
}

/// Whether this is UTF-8, but for a character that is cut at its end.
fn is_utf8(bytes: &[u8]) -> bool {
    match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    }
}

/// Reads until the room is full or the file ends.
fn fill(file: &mut File, room: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while let Some(rest) = room.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

/// A file that ends when the search does.
struct Stoppable<F> {
    file: File,
    is_over: F,
}

impl<F: Fn() -> bool> Read for Stoppable<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.is_over)() {
            return Ok(0);
        }
        self.file.read(buffer)
    }
}

/// Counts the lines that match.
pub(crate) struct Counting<'a, F> {
    pub(crate) count: u64,
    pub(crate) is_binary: bool,
    /// Whether one match is enough.
    pub(crate) only_whether: bool,
    /// Called with each line that matches, and its number where that is
    /// counted.
    pub(crate) each: &'a mut F,
}

impl<F: FnMut(Option<u64>, &[u8])> Sink for Counting<'_, F> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.count += 1;
        (self.each)(found.line_number(), found.bytes());
        Ok(!self.only_whether)
    }

    fn binary_data(&mut self, _searcher: &Searcher, _offset: u64) -> io::Result<bool> {
        self.is_binary = true;
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_ascii(text: &str, literal: bool) -> bool {
        Query {
            text: text.to_owned(),
            literal,
            case_sensitive: true,
            multiline: false,
            remedy: "",
        }
        .is_ascii()
    }

    #[test]
    fn patterns_of_ascii_need_no_decoding() {
        for pattern in ["fn main", "TODO|FIXME", r"a\(b\)", "[a-z]+_x{2}", "^end$"] {
            assert!(is_ascii(pattern, false), "{pattern}");
        }
        for pattern in ["grün", "gr.n", r"\w+", "[^a]", r"\bfn\b"] {
            assert!(!is_ascii(pattern, false), "{pattern}");
        }
        assert!(is_ascii("gr.n", true));
        assert!(!is_ascii("grün", true));
    }
}
