//! Parses server-sent events from bytes, however they are cut. Every byte is
//! looked at once, so that one long event costs no more than many short ones.

use std::collections::VecDeque;
use std::str::Utf8Error;

use memchr::memchr2;

/// Splits a stream of bytes, cut anywhere, into frames of JSON.
pub(super) trait Frames: Send {
    /// Adds further bytes.
    fn push(&mut self, bytes: &[u8]);

    /// The JSON of the next complete frame.
    fn next(&mut self) -> Option<Result<String, Utf8Error>>;

    /// How many bytes of incomplete frames are kept.
    fn held(&self) -> usize;

    /// Ends the stream.
    fn end(&mut self) {}
}

/// The byte order mark, which is ignored.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Parses bytes into the data of events.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// The beginning of an incomplete line.
    line: Vec<u8>,
    /// The lines of an incomplete event.
    data: Option<Vec<u8>>,
    /// Whether the last byte was a carriage return: a line feed after it does
    /// not end another line.
    has_returned: bool,
    has_begun: bool,
    ready: VecDeque<Result<String, Utf8Error>>,
}

impl Frames for Events {
    fn push(&mut self, mut bytes: &[u8]) {
        while let Some(first) = bytes.first() {
            if std::mem::take(&mut self.has_returned) && *first == b'\n' {
                bytes = bytes.get(1..).unwrap_or_default();
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', bytes) else {
                self.line.extend_from_slice(bytes);
                return;
            };
            let (line, rest) = bytes.split_at(end);
            self.has_returned = rest.first() == Some(&b'\r');
            bytes = rest.get(1..).unwrap_or_default();
            if self.line.is_empty() {
                self.end_line(line);
            } else {
                self.line.extend_from_slice(line);
                let line = std::mem::take(&mut self.line);
                self.end_line(&line);
            }
        }
    }

    fn next(&mut self) -> Option<Result<String, Utf8Error>> {
        self.ready.pop_front()
    }

    fn held(&self) -> usize {
        self.line.len() + self.data.as_ref().map_or(0, Vec::len)
    }

    /// The last event may lack its end. Its JSON shows whether it is complete.
    fn end(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.end_line(&line);
        self.end_line(&[]);
    }
}

impl Events {
    fn end_line(&mut self, mut line: &[u8]) {
        if !std::mem::replace(&mut self.has_begun, true) {
            line = line.strip_prefix(MARK).unwrap_or(line);
        }
        if line.is_empty() {
            if let Some(data) = self.data.take() {
                let data = String::from_utf8(data);
                self.ready
                    .push_back(data.map_err(|error| error.utf8_error()));
            }
            return;
        }
        // Names of events are ignored: the data contains them, too.
        let Some(value) = line.strip_prefix(b"data") else {
            return;
        };
        let value = match value {
            [] => value,
            [b':', b' ', value @ ..] | [b':', value @ ..] => value,
            _ => return,
        };
        match &mut self.data {
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            None => self.data = Some(value.to_vec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], piece: usize) -> Vec<Option<String>> {
        let mut events = Events::default();
        let mut all = Vec::new();
        for piece in bytes.chunks(piece) {
            events.push(piece);
            while let Some(event) = events.next() {
                all.push(event.ok());
            }
        }
        events.end();
        while let Some(event) = events.next() {
            all.push(event.ok());
        }
        all
    }

    #[test]
    fn events_are_the_same_in_any_pieces() {
        let text = "\u{feff}: hello\n\ndata: one\n\nevent: x\r\ndata:two\r\ndata: zwei ü\r\rdata\n\ndatab: no\n\nid: 3\ndata: three\n\ndata: cut".as_bytes();
        let expected = ["one", "two\nzwei ü", "", "three", "cut"].map(|it| Some(it.to_owned()));
        for piece in 1..=text.len() {
            assert_eq!(read(text, piece), expected, "{piece}");
        }
    }

    #[test]
    fn what_is_no_text_is_said_to_be_so() {
        assert_eq!(
            read(b"data: \xff\n\ndata: x\n\n", 3),
            [None, Some("x".to_owned())]
        );
    }
}
