//! What a model sees of a stream.

use super::capture::Captured;
use super::clean::{clean, from_character, whole_characters};
use crate::outputs::{MAX_OUTPUT, read_on};

impl Captured {
    /// The stream as a model sees it: without escape codes and overwritten
    /// lines, the middle left out if it is long, with a note on how to read it.
    #[must_use]
    pub fn text(&self) -> String {
        if !self.is_cut() {
            return clean(&[self.head.as_slice(), &self.tail].concat());
        }
        let head = whole_characters(&self.head);
        let head = match head.iter().rposition(|byte| *byte == b'\n') {
            Some(end) if end >= head.len() / 2 => head.get(..=end).unwrap_or(head),
            _ => head,
        };
        let tail = from_character(&self.tail);
        let tail = match tail.iter().position(|byte| *byte == b'\n') {
            Some(end) if end < tail.len() / 2 => tail.get(end + 1..).unwrap_or(tail),
            _ => tail,
        };
        let left_out = self.total - (head.len() + tail.len()) as u64;
        let notice = notice(self, left_out, head);
        let (head, tail) = (clean(head), clean(tail));
        format!("{}\n{notice}\n{tail}", head.trim_end_matches('\n'))
    }
}

fn notice(stream: &Captured, left_out: u64, head: &[u8]) -> String {
    let dropped = stream.dropped();
    match (&stream.handle, &stream.lost) {
        (Some(handle), _) if dropped == 0 => {
            let rest = read_on(handle, head);
            format!("[… {left_out} bytes left out; the rest: {rest} …]")
        }
        (Some(handle), _) => format!(
            "[… {left_out} bytes left out; {dropped} of them were thrown away, because only the \
             first {} MB of an output are kept; the others: {} …]",
            MAX_OUTPUT / 1024 / 1024,
            read_on(handle, head),
        ),
        (None, lost) => format!(
            "[… {left_out} bytes lost: they could not be kept, {} …]",
            lost.as_deref().unwrap_or("for no known reason"),
        ),
    }
}

/// A note on lines of a stream that were overwritten.
pub(crate) fn overwritten(name: &str, stream: &Captured) -> Option<String> {
    let whole = match &stream.handle {
        Some(handle) => format!("the whole: read_file(path=\"{handle}\")"),
        None => "the rest could not be kept".to_owned(),
    };
    stream.is_overwritten.then(|| {
        format!("Of lines that were overwritten, {name} has only what was left standing; {whole}")
    })
}
