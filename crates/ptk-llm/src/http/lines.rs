//! Parses lines of JSON from bytes, however they are cut.

use std::collections::VecDeque;
use std::str::Utf8Error;

use memchr::memchr;

use super::events::Frames;

/// Splits bytes into lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The beginning of an incomplete line.
    line: Vec<u8>,
    ready: VecDeque<Result<String, Utf8Error>>,
}

impl Frames for Lines {
    fn push(&mut self, mut bytes: &[u8]) {
        while let Some(end) = memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end);
            bytes = rest.get(1..).unwrap_or_default();
            self.line.extend_from_slice(line);
            self.end();
        }
        self.line.extend_from_slice(bytes);
    }

    fn next(&mut self) -> Option<Result<String, Utf8Error>> {
        self.ready.pop_front()
    }

    fn held(&self) -> usize {
        self.line.len()
    }

    /// The last line may lack its end. Its JSON shows whether it is complete.
    fn end(&mut self) {
        let line = String::from_utf8(std::mem::take(&mut self.line));
        self.ready
            .push_back(line.map_err(|error| error.utf8_error()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_the_same_in_any_pieces() {
        let text = "{\"a\": \"ü\"}\n\r\n{}\r\n{\"last\": 1}".as_bytes();
        let expected = ["{\"a\": \"ü\"}", "", "{}", "{\"last\": 1}"];
        for piece in 1..=text.len() {
            let mut lines = Lines::default();
            let mut all = Vec::new();
            for piece in text.chunks(piece) {
                lines.push(piece);
            }
            lines.end();
            while let Some(line) = lines.next() {
                all.push(line.unwrap());
            }
            let all: Vec<&str> = all.iter().map(|line| line.trim()).collect();
            assert_eq!(all, expected, "{piece}");
        }
    }
}
