//! The framing of messages: a header with their length, an empty line, JSON.

use std::io;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Bytes of a header.
const MAX_HEADER: usize = 4 * 1024;
/// Bytes of a message.
const MAX_BODY: usize = 16 * 1024 * 1024;
/// Bytes that are read at once.
const PIECE: usize = 16 * 1024;
/// Bytes that may wait to be parsed.
const MAX_WAITING: usize = 2 * MAX_BODY;

/// Why a message could not be read or written.
#[derive(Debug, thiserror::Error)]
pub(super) enum FrameError {
    #[error("it does not speak the language server protocol")]
    Header,
    #[error("it wanted to send {0} bytes at once")]
    TooLong(usize),
    #[error("it sent JSON that cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the line to it broke: {0}")]
    Line(#[from] io::Error),
}

/// Reads messages from bytes as they come.
#[derive(Debug)]
pub(super) struct Frames<R> {
    reader: R,
    bytes: Vec<u8>,
    /// How many of them are parsed.
    done: usize,
}

impl<R: AsyncRead + Unpin> Frames<R> {
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader,
            bytes: Vec::new(),
            done: 0,
        }
    }

    /// The next message. Nothing is lost if the future is dropped.
    pub(super) async fn next(&mut self) -> Result<Value, FrameError> {
        loop {
            let waiting = self.bytes.get(self.done..).unwrap_or_default();
            if let Some((message, length)) = first(waiting)? {
                self.done += length;
                return Ok(message);
            }
            self.fill().await?;
        }
    }

    /// Reads more bytes, to be parsed later.
    pub(super) async fn fill(&mut self) -> Result<(), FrameError> {
        self.bytes.drain(..self.done);
        self.done = 0;
        if self.bytes.len() > MAX_WAITING {
            return Err(FrameError::TooLong(self.bytes.len()));
        }
        self.bytes.reserve(PIECE);
        match self.reader.read_buf(&mut self.bytes).await? {
            0 => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            _ => Ok(()),
        }
    }
}

/// The first message and how long it is, if it is there as a whole.
fn first(bytes: &[u8]) -> Result<Option<(Value, usize)>, FrameError> {
    const END: &[u8] = b"\r\n\r\n";
    let start = bytes.get(..bytes.len().min(MAX_HEADER)).unwrap_or_default();
    let Some(end) = start.windows(END.len()).position(|window| window == END) else {
        let is_header = b"Content-".starts_with(start.get(..8).unwrap_or(start));
        return if is_header && bytes.len() < MAX_HEADER {
            Ok(None)
        } else {
            Err(FrameError::Header)
        };
    };
    let header = String::from_utf8_lossy(start.get(..end).unwrap_or_default());
    let length = header.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.trim().eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse::<usize>().ok())?
    });
    let length = length.ok_or(FrameError::Header)?;
    if length > MAX_BODY {
        return Err(FrameError::TooLong(length));
    }
    let body = end + END.len();
    let Some(json) = bytes.get(body..body + length) else {
        return Ok(None);
    };
    Ok(Some((serde_json::from_slice(json)?, body + length)))
}

/// A message as it is sent.
pub(super) fn framed(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_whole_however_they_are_cut() {
        let text =
            "Content-Length: 8\r\nContent-Type: x\r\n\r\n{\"a\":1} Content-Length: 2\r\n\r\n{}";
        for cut in 0..text.len() {
            let mut bytes = Vec::new();
            let mut messages = Vec::new();
            let (one, two) = text.as_bytes().split_at(cut);
            for part in [one, two] {
                bytes.extend_from_slice(part);
                while let Some((message, length)) = first(&bytes).unwrap() {
                    bytes.drain(..length);
                    messages.push(message.to_string());
                }
            }
            assert_eq!(messages, ["{\"a\":1}", "{}"], "{cut}");
        }
    }

    #[test]
    fn what_is_no_message_is_refused_at_once() {
        let told = |text: &str| first(text.as_bytes()).unwrap_err().to_string();
        insta::assert_snapshot!(told("usage: server"), @"it does not speak the language server protocol");
        insta::assert_snapshot!(told("Content-Length: x\r\n\r\n"), @"it does not speak the language server protocol");
        insta::assert_snapshot!(told("Content-Length: 99999999999\r\n\r\n"), @"it wanted to send 99999999999 bytes at once");
        insta::assert_snapshot!(told(&format!("Content-Length: {}", " ".repeat(5000))), @"it does not speak the language server protocol");
        insta::assert_snapshot!(told("Content-Length: 2\r\n\r\n}{"), @"it sent JSON that cannot be read: expected value at line 1 column 1");
    }
}
