//! A part of a file: the lines that were asked for, as many as fit.

use std::io::{self, Read, Seek, SeekFrom};

use super::survey::{Survey, SurveyResult, fill};
use super::{Binary, Encoding, MAX_BYTES, MAX_TOKENS};
use crate::CallContext;
use crate::bound::floor;

/// Bytes to read for what fits at most. UTF-16 has two for what UTF-8 says in
/// one, and the last character may be cut.
const WINDOW: usize = 2 * MAX_BYTES + 8;

/// Which part of a file is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WantedLines {
    /// The first line, counted from one.
    pub(crate) offset: usize,
    /// Where in that line, in bytes, counted from one.
    pub(crate) column: usize,
    /// How many lines, all if `None`.
    pub(crate) limit: Option<usize>,
}

/// A part of a text file.
#[derive(Debug, Clone)]
pub(crate) struct Excerpt {
    /// From the first line that is wanted, and at least as much as fits.
    text: String,
    /// Whether the text goes on to the end of the file.
    reaches_end: bool,
    wanted: WantedLines,
    /// How many bytes of the first line are wanted.
    first_line: u64,
    pub(crate) encoding: Encoding,
    /// How many lines the whole file has.
    pub(crate) total: usize,
    /// How many bytes the whole file has.
    pub(crate) size: u64,
}

/// How much of files one call shows: the usual limit, or less for a model with
/// a small window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) bytes: usize,
    pub(crate) tokens: usize,
}

impl Room {
    /// The room for one excerpt.
    pub(crate) fn of(context: &CallContext, excerpt: &Excerpt) -> Self {
        Self::of_text(context, &excerpt.text)
    }

    /// The room for files that are like this text.
    pub(crate) fn of_text(context: &CallContext, text: &str) -> Self {
        let usual = Self {
            bytes: MAX_BYTES,
            tokens: MAX_TOKENS,
        };
        let Some(limit) = context.limit() else {
            return usual;
        };
        let text = text.get(..floor(text, MAX_BYTES)).unwrap_or(text);
        match limit.room(text) {
            bytes if bytes == text.len() => usual,
            bytes => Self {
                bytes,
                tokens: usize::try_from(limit.of_content())
                    .map_or(MAX_TOKENS, |it| it.min(MAX_TOKENS)),
            },
        }
    }
}

/// What fits of an excerpt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Taken<'a> {
    pub(crate) text: &'a str,
    /// The first line and the last one; the last is lower if there is none.
    pub(crate) first: usize,
    pub(crate) last: usize,
    /// The first line was too long: so many bytes of it are missing, and its
    /// rest begins at this column.
    pub(crate) cut: Option<(u64, usize)>,
    /// Whether everything that was wanted is there.
    pub(crate) is_all: bool,
}

/// A file's content as far as it is wanted.
#[derive(Debug)]
pub(crate) enum WantedContent {
    /// A file that is not text, of so many bytes.
    Binary(Binary, u64),
    Text(Excerpt),
}

/// Why there is no excerpt.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExcerptError {
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file has only so many lines.
    #[error("it has {0} lines")]
    PastEnd(usize),
    /// The line has only so many bytes.
    #[error("the line has {0} bytes")]
    PastLine(u64),
}

impl Excerpt {
    /// Reads as much as can be shown, wherever in the file it is.
    pub(crate) fn read(
        file: &mut (impl Read + Seek),
        wanted: WantedLines,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<WantedContent, ExcerptError> {
        let survey = match Survey::look(file, wanted.offset, is_cancelled)? {
            SurveyResult::Binary(binary, size) => return Ok(WantedContent::Binary(binary, size)),
            SurveyResult::Text(survey) => survey,
        };
        let total = survey.lines();
        let is_past = wanted.offset > total.max(1);
        let (start, end) = survey
            .line
            .filter(|_| !is_past)
            .ok_or(ExcerptError::PastEnd(total))?;
        let unit = survey.encoding.unit();
        let skip = (wanted.column - 1) / unit * unit;
        let line = end - start;
        if skip > 0 && skip as u64 >= line {
            return Err(ExcerptError::PastLine(line));
        }
        file.seek(SeekFrom::Start(start + skip as u64))?;
        let mut bytes = vec![0; WINDOW];
        let filled = fill(file, &mut bytes)?;
        bytes.truncate(filled);
        let reaches_end = start + (skip + filled) as u64 >= survey.size;
        if skip > 0 && matches!(survey.encoding, Encoding::Utf8 | Encoding::Utf8Mark) {
            let is_middle = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
            let middle = bytes
                .iter()
                .take(3)
                .take_while(|byte| is_middle(byte))
                .count();
            bytes.drain(..middle);
        }
        Ok(WantedContent::Text(Self {
            text: survey.encoding.decode_part(&bytes),
            reaches_end,
            wanted,
            first_line: line - skip as u64,
            encoding: survey.encoding,
            total,
            size: survey.size,
        }))
    }

    /// The lines that fit in so many bytes, each with `more` bytes of its own,
    /// such as a number.
    pub(crate) fn take(&self, budget: usize, more: usize) -> Taken<'_> {
        let first = self.wanted.offset;
        let limit = self.wanted.limit.unwrap_or(usize::MAX);
        let wanted_last = first
            .saturating_add(limit)
            .saturating_sub(1)
            .min(self.total);
        let (mut end, mut lines, mut used) = (0, 0, 0_usize);
        let mut cut = None;
        for line in self.text.split_inclusive('\n').take(limit) {
            let is_whole = line.ends_with('\n') || self.reaches_end;
            used += line.len() + more;
            if is_whole && used <= budget {
                end += line.len();
                lines += 1;
                continue;
            }
            if lines == 0 {
                end = floor(line, budget.saturating_sub(more));
                lines = 1;
                let shown = self.encoding.length(line.get(..end).unwrap_or_default());
                let missing = self.first_line.saturating_sub(shown as u64);
                cut = Some((missing, self.wanted.column + shown));
            }
            break;
        }
        let last = (first + lines).saturating_sub(1);
        Taken {
            text: self.text.get(..end).unwrap_or_default(),
            first,
            last,
            cut,
            is_all: cut.is_none() && last >= wanted_last,
        }
    }

    /// How many lines were wanted, if not all.
    pub(crate) const fn limit(&self) -> Option<usize> {
        self.wanted.limit
    }

    /// Whether what was wanted begins within a line.
    pub(crate) const fn begins_in_line(&self) -> bool {
        self.wanted.column > 1
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn excerpt(bytes: &[u8], offset: usize, column: usize) -> Excerpt {
        let wanted = WantedLines {
            offset,
            column,
            limit: None,
        };
        match Excerpt::read(&mut Cursor::new(bytes), wanted, &|| false).unwrap() {
            WantedContent::Text(excerpt) => excerpt,
            WantedContent::Binary(..) => panic!("not binary"),
        }
    }

    #[test]
    fn whole_lines_are_taken_as_long_as_they_fit() {
        let excerpt = excerpt(b"one\ntwo\nthree\n", 2, 1);
        let all = excerpt.take(100, 0);
        assert_eq!(
            (all.text, all.first, all.last, all.is_all),
            ("two\nthree\n", 2, 3, true)
        );
        let part = excerpt.take(6, 0);
        assert_eq!(
            (part.text, part.last, part.is_all, part.cut),
            ("two\n", 2, false, None)
        );
    }

    #[test]
    fn a_line_that_is_too_long_is_read_piece_by_piece() {
        let line = "äöü".repeat(1_000);
        let mut column = 1;
        let mut read = String::new();
        loop {
            let excerpt = excerpt(line.as_bytes(), 1, column);
            let taken = excerpt.take(999, 0);
            read.push_str(taken.text);
            match taken.cut {
                Some((missing, next)) => {
                    assert_eq!(missing, (line.len() - read.len()) as u64);
                    column = next;
                }
                None => break,
            }
        }
        assert_eq!(read, line);
    }
}
