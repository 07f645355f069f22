//! One pass over a whole file, however large: what it is, how many lines it
//! has, where one of them begins.

use std::io::{self, Read, Seek, SeekFrom};

use super::utf8::Utf8Check;
use super::{Binary, Encoding, HEAD};

/// How much is looked at at once.
const CHUNK: usize = 256 * 1024;

/// The result of the pass over a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Survey {
    pub(super) encoding: Encoding,
    pub(super) newlines: usize,
    pub(super) size: u64,
    pub(super) ends_with_newline: bool,
    /// Where the requested line begins, and where it ends, its line break
    /// included.
    pub(super) line: Option<(u64, u64)>,
}

/// A file that is not text, or what was found in it.
pub(super) enum SurveyResult {
    Binary(Binary, u64),
    Text(Survey),
}

impl Survey {
    /// How many lines there are to show: a line break ends a line, it does not
    /// begin one.
    pub(super) fn lines(&self) -> usize {
        let has_text = self.size > self.encoding.mark().len() as u64;
        self.newlines + usize::from(has_text && !self.ends_with_newline)
    }

    /// Looks over the file for the line of this number, counted from one.
    pub(super) fn look(
        file: &mut (impl Read + Seek),
        line: usize,
        is_cancelled: &dyn Fn() -> bool,
    ) -> io::Result<SurveyResult> {
        let size = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(0))?;
        let mut chunk = vec![0; CHUNK];
        let filled = fill(file, &mut chunk)?;
        let head = chunk.get(..filled.min(HEAD)).unwrap_or_default();
        if let Some(binary) = Binary::detect(head) {
            return Ok(SurveyResult::Binary(binary, size));
        }
        let marked = Encoding::by_mark(head);
        let mut scan = Scan::new(marked, line);
        let mut utf8 = Utf8Check::default();
        let mut filled = filled;
        while filled > 0 {
            if is_cancelled() {
                return Err(io::Error::new(io::ErrorKind::Interrupted, "cancelled"));
            }
            let bytes = chunk.get(..filled).unwrap_or_default();
            scan.take(bytes);
            if marked.is_none() {
                utf8.take(bytes);
            }
            filled = fill(file, &mut chunk)?;
        }
        let encoding = match marked {
            Some(encoding) => encoding,
            None if utf8.is_whole() => Encoding::Utf8,
            None if utf8.is_meant() => Encoding::Utf8Broken,
            None => Encoding::Windows1252,
        };
        Ok(SurveyResult::Text(scan.finish(encoding)))
    }
}

/// Reads until the buffer is full or the file ends.
pub(super) fn fill(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(room) = buffer.get_mut(filled..).filter(|room| !room.is_empty()) {
        match file.read(room) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Counts line breaks.
struct Scan {
    marked: Option<Encoding>,
    wanted: usize,
    newlines: usize,
    position: u64,
    start: Option<u64>,
    end: Option<u64>,
    last_newline_end: u64,
}

impl Scan {
    fn new(marked: Option<Encoding>, wanted: usize) -> Self {
        let mark = marked.map_or(0, |encoding| encoding.mark().len() as u64);
        Self {
            marked,
            wanted,
            newlines: 0,
            position: 0,
            start: (wanted == 1).then_some(mark),
            end: None,
            last_newline_end: 0,
        }
    }

    /// Counts the line breaks of a chunk. Chunks are of even length, but for
    /// the last one.
    fn take(&mut self, bytes: &[u8]) {
        let base = self.position;
        self.position += bytes.len() as u64;
        let wide = match self.marked {
            Some(Encoding::Utf16Le) => Some([b'\n', 0]),
            Some(Encoding::Utf16Be) => Some([0, b'\n']),
            _ => None,
        };
        if let Some(newline) = wide {
            for (at, pair) in bytes.chunks_exact(2).enumerate() {
                if pair == newline {
                    self.newline(base + 2 * at as u64 + 2);
                }
            }
        } else {
            for at in memchr::memchr_iter(b'\n', bytes) {
                self.newline(base + at as u64 + 1);
            }
        }
    }

    fn newline(&mut self, end: u64) {
        self.newlines += 1;
        self.last_newline_end = end;
        if self.newlines == self.wanted {
            self.end = Some(end);
        } else if self.newlines + 1 == self.wanted {
            self.start = Some(end);
        }
    }

    fn finish(self, encoding: Encoding) -> Survey {
        let line = self
            .start
            .map(|start| (start, self.end.unwrap_or(self.position)));
        Survey {
            encoding,
            newlines: self.newlines,
            size: self.position,
            ends_with_newline: self.last_newline_end == self.position && self.position > 0,
            line,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn survey(bytes: &[u8], line: usize) -> Survey {
        match Survey::look(&mut Cursor::new(bytes), line, &|| false).unwrap() {
            SurveyResult::Text(survey) => survey,
            SurveyResult::Binary(..) => panic!("not binary"),
        }
    }

    #[test]
    fn lines_are_counted_and_found() {
        let found = survey(b"a\nbb\nc", 2);
        assert_eq!((found.newlines, found.lines()), (2, 3));
        assert_eq!(found.line, Some((2, 5)));
        assert_eq!(survey(b"a\nbb\n", 3).line, Some((5, 5)));
        assert_eq!(survey(b"a\nbb\n", 1).lines(), 2);
        assert_eq!(survey(b"a\nbb\n", 4).line, None);
        assert_eq!(survey(b"", 1).lines(), 0);
    }

    #[test]
    fn a_wide_line_break_is_found_at_its_place_only() {
        let found = survey(b"\xff\xfe\x0a\x01\x0a\0b\0", 2);
        assert_eq!((found.newlines, found.line), (1, Some((6, 8))));
        assert_eq!(found.encoding, Encoding::Utf16Le);
    }

    #[test]
    fn utf8_is_checked_across_chunks() {
        let mut text = "x".repeat(CHUNK - 1);
        text.push('\u{fc}');
        text.push_str("end");
        assert_eq!(survey(text.as_bytes(), 1).encoding, Encoding::Utf8);
        let mut bytes = text.into_bytes();
        bytes.push(0xfc);
        assert_eq!(survey(&bytes, 1).encoding, Encoding::Windows1252);
    }
}
