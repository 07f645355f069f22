//! What is kept of a stream: its beginning and its end in memory, and, as soon
//! as that is not all of it, the whole in a file.

use std::collections::VecDeque;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::clean::cleaned;
use crate::outputs::MAX_OUTPUT;
use crate::{OutputWriter, Outputs, ToolError};

/// Bytes of the beginning. Two streams, with both their ends, fit into a
/// result of the default size.
pub(super) const HEAD: usize = 8 * 1024;
/// Bytes of the end, which mostly says more.
pub(super) const TAIL: usize = 14 * 1024;

/// A stream while it is read.
#[derive(Debug)]
pub(crate) struct Capture {
    outputs: Arc<Outputs>,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    whole: Whole,
}

/// Where the whole stream is.
#[derive(Debug)]
enum Whole {
    Memory,
    Writing(OutputWriter),
    Kept { handle: String, bytes: u64 },
    Lost(String),
}

/// A capture that other tasks read while it grows.
pub(super) type Shared = Arc<Mutex<Capture>>;

/// Bytes of a stream from some place on.
#[derive(Debug, Default)]
pub(crate) struct StreamPiece {
    pub(crate) bytes: Vec<u8>,
    /// Where they begin: later than asked where something was not kept.
    pub(crate) start: u64,
}

impl StreamPiece {
    /// Where the next piece begins.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

pub(super) fn lock(shared: &Shared) -> MutexGuard<'_, Capture> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Capture {
    pub(super) fn new(outputs: Arc<Outputs>) -> Self {
        Self {
            outputs,
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
            whole: Whole::Memory,
        }
    }

    pub(super) fn shared(self) -> Shared {
        Arc::new(Mutex::new(self))
    }

    /// How many bytes were read.
    pub(crate) const fn total(&self) -> u64 {
        self.total
    }

    /// Whether so many bytes more would be written to a file.
    pub(super) fn wants_disk(&self, more: usize) -> bool {
        match &self.whole {
            Whole::Memory => self.head.len() + self.tail.len() + more > HEAD + TAIL,
            Whole::Writing(writer) => writer.written() < MAX_OUTPUT,
            Whole::Kept { .. } | Whole::Lost(_) => false,
        }
    }

    /// Keeps the bytes that were read.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        if let Err(error) = self.keep(bytes) {
            self.whole = Whole::Lost(error.to_string());
        }
        self.total += bytes.len() as u64;
        let room = HEAD - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        let excess = (self.tail.len() + rest.len()).saturating_sub(TAIL);
        self.tail.drain(..excess.min(self.tail.len()));
        let last = rest.len().saturating_sub(TAIL);
        self.tail.extend(rest.get(last..).unwrap_or_default());
    }

    fn keep(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.wants_disk(bytes.len()) {
            self.spill()?;
        }
        if let Whole::Writing(writer) = &mut self.whole {
            writer.write_all(bytes)?;
        }
        Ok(())
    }

    /// Goes on in a file, if it is in memory so far.
    fn spill(&mut self) -> io::Result<()> {
        if matches!(self.whole, Whole::Memory) {
            let mut writer = self.outputs.create()?;
            writer.write_all(&self.head)?;
            writer.write_all(self.tail.make_contiguous())?;
            self.whole = Whole::Writing(writer);
        }
        Ok(())
    }

    /// Ends the capture.
    pub(super) fn finish(&mut self) -> Captured {
        let ends = [self.head.as_slice(), self.tail.make_contiguous()];
        let is_overwritten = ends.into_iter().any(|end| cleaned(end).1);
        if is_overwritten && let Err(error) = self.spill() {
            self.whole = Whole::Lost(error.to_string());
        }
        self.whole = match std::mem::replace(&mut self.whole, Whole::Memory) {
            Whole::Writing(writer) => {
                let bytes = writer.written();
                let handle = self.outputs.finish(writer);
                Whole::Kept { handle, bytes }
            }
            whole => whole,
        };
        let (handle, kept, lost) = match &self.whole {
            Whole::Kept { handle, bytes } => (Some(handle.clone()), *bytes, None),
            Whole::Lost(why) => (None, self.head.len() as u64, Some(why.clone())),
            Whole::Memory | Whole::Writing(_) => (None, self.total, None),
        };
        Captured {
            head: self.head.clone(),
            tail: self.tail.iter().copied().collect(),
            total: self.total,
            kept,
            handle,
            lost,
            is_overwritten,
        }
    }

    /// Up to `most` bytes from this place on. What is neither in the file nor
    /// at the end is passed over.
    pub(crate) fn piece(&self, from: u64, most: usize) -> Result<StreamPiece, ToolError> {
        let broken = |error| ToolError::system(format!("The output cannot be read: {error}"));
        let filed = match &self.whole {
            Whole::Memory | Whole::Lost(_) => 0,
            Whole::Writing(writer) => writer.written(),
            Whole::Kept { bytes, .. } => *bytes,
        };
        if from < filed {
            let room = usize::try_from(filed - from).unwrap_or(usize::MAX);
            let mut bytes = vec![0; most.min(room)];
            match &self.whole {
                Whole::Writing(writer) => writer.read_exact_at(&mut bytes, from).map_err(broken)?,
                Whole::Kept { handle, .. } => {
                    let mut file = self.outputs.open(handle)?;
                    let read = file.seek(SeekFrom::Start(from));
                    read.and_then(|_| file.read_exact(&mut bytes))
                        .map_err(broken)?;
                }
                Whole::Memory | Whole::Lost(_) => return Ok(self.in_memory(from, most)),
            }
            return Ok(StreamPiece { bytes, start: from });
        }
        Ok(self.in_memory(from, most))
    }

    fn in_memory(&self, from: u64, most: usize) -> StreamPiece {
        let head = self.head.len() as u64;
        let tail = self.total - self.tail.len() as u64;
        let start = if from < head {
            from
        } else {
            from.clamp(tail, self.total)
        };
        let from_head = self.head.iter().skip(distance(0, start));
        let from_tail = self.tail.iter().skip(distance(tail, start));
        let bytes = if start < head && tail > head {
            from_head.copied().take(most).collect()
        } else {
            from_head.chain(from_tail).copied().take(most).collect()
        };
        StreamPiece { bytes, start }
    }
}

fn distance(from: u64, to: u64) -> usize {
    usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX)
}

/// The output of a stream that has ended.
#[derive(Debug, Clone, Default)]
pub struct Captured {
    pub(super) head: Vec<u8>,
    pub(super) tail: Vec<u8>,
    pub(super) total: u64,
    pub(super) kept: u64,
    pub(super) handle: Option<String>,
    pub(super) lost: Option<String>,
    pub(super) is_overwritten: bool,
}

impl Captured {
    /// How many bytes were written.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// How many bytes are neither kept nor shown.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        (self.total - self.kept).saturating_sub(self.tail.len() as u64)
    }

    /// Whether it was too long for [`text`](Self::text), which leaves out its
    /// middle.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.total != (self.head.len() + self.tail.len()) as u64
    }

    /// Under which handle the whole is kept, where [`text`](Self::text) does
    /// not show all of it.
    #[must_use]
    pub fn handle(&self) -> Option<&str> {
        self.handle.as_deref()
    }

    /// Every byte that was kept.
    ///
    /// # Errors
    ///
    /// If the file that holds them cannot be read.
    pub fn bytes(&self, outputs: &Outputs) -> Result<Vec<u8>, ToolError> {
        let Some(handle) = &self.handle else {
            return Ok([self.head.as_slice(), &self.tail].concat());
        };
        let mut bytes = Vec::new();
        let read = outputs.open(handle)?.read_to_end(&mut bytes);
        read.map_err(|error| ToolError::system(format!("{handle} cannot be read: {error}")))?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that stand at this place of the stream.
    fn bytes(from: u64, count: usize) -> Vec<u8> {
        let at = from..from + count as u64;
        at.map(|at| u8::try_from(at % 251).unwrap()).collect()
    }

    fn grown(sizes: &[usize]) -> Capture {
        let mut capture = Capture::new(Arc::default());
        for size in sizes {
            let chunk = bytes(capture.total, *size);
            capture.take(&chunk);
        }
        capture
    }

    #[test]
    fn any_part_of_a_stream_can_be_read_while_it_comes_and_after() {
        for sizes in [
            &[][..],
            &[1],
            &[HEAD - 1, 1, 1],
            &[HEAD, TAIL],
            &[HEAD + TAIL],
            &[HEAD + TAIL, 1],
            &[5_000; 20],
            &[200_000, 1, 70_000],
        ] {
            let mut capture = grown(sizes);
            let total = capture.total();
            for is_over in [false, true] {
                if is_over {
                    assert_eq!(capture.finish().dropped(), 0);
                }
                for from in [0, 1, total / 3, total / 2, total.saturating_sub(1), total] {
                    let from = from.min(total);
                    let piece = capture.piece(from, 10_000).unwrap();
                    let count = usize::try_from(total - from).unwrap().min(10_000);
                    assert_eq!(piece.start, from);
                    assert!(piece.bytes == bytes(from, count), "{sizes:?} {from}");
                }
            }
        }
    }

    #[test]
    fn beyond_the_limit_only_the_end_is_left() {
        let megabyte = 1 << 20;
        let mut capture = grown(&[megabyte; 70]);
        let total = capture.total();
        let captured = capture.finish();
        assert_eq!(captured.dropped(), total - MAX_OUTPUT - TAIL as u64);
        let piece = capture.piece(MAX_OUTPUT - 10, 100).unwrap();
        assert!(piece.bytes == bytes(MAX_OUTPUT - 10, 10));
        let piece = capture.piece(MAX_OUTPUT, 100).unwrap();
        assert_eq!(piece.start, total - TAIL as u64);
        assert!(piece.bytes == bytes(piece.start, 100));
        assert_eq!(captured.tail, bytes(total - TAIL as u64, TAIL));
        assert_eq!(captured.head, bytes(0, HEAD));
    }
}
