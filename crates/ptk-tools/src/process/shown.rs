//! What a model sees of a stream.

use super::Captured;
use crate::outputs::MAX_OUTPUT;

/// The text of a stream, its middle left out if it is long.
pub(super) fn text(stream: &Captured) -> String {
    let whole = stream.head.len() + stream.tail.len();
    if stream.total == whole as u64 {
        return clean(&[stream.head.as_slice(), &stream.tail].concat());
    }
    let head = stream.head.as_slice();
    let head = match head.iter().rposition(|byte| *byte == b'\n') {
        Some(end) if end >= head.len() / 2 => head.get(..=end).unwrap_or(head),
        _ => head,
    };
    let tail = stream.tail.as_slice();
    let tail = match tail.iter().position(|byte| *byte == b'\n') {
        Some(end) if end < tail.len() / 2 => tail.get(end + 1..).unwrap_or(tail),
        _ => tail,
    };
    let left_out = stream.total - (head.len() + tail.len()) as u64;
    let line = head.split(|byte| *byte == b'\n').count();
    let notice = notice(stream, left_out, line);
    let (head, tail) = (clean(head), clean(tail));
    format!("{}\n{notice}\n{tail}", head.trim_end_matches('\n'))
}

fn notice(stream: &Captured, left_out: u64, line: usize) -> String {
    let dropped = stream.dropped();
    match (&stream.handle, &stream.lost) {
        (Some(handle), _) if dropped == 0 => {
            format!(
                "[… {left_out} bytes left out; the rest: read_file(path=\"{handle}\", offset={line}) …]"
            )
        }
        (Some(handle), _) => format!(
            "[… {left_out} bytes left out; {dropped} of them were thrown away, because only the \
             first {} MB of an output are kept; the others: read_file(path=\"{handle}\", offset={line}) …]",
            MAX_OUTPUT / 1024 / 1024,
        ),
        (None, lost) => format!(
            "[… {left_out} bytes lost: they could not be kept, {} …]",
            lost.as_deref().unwrap_or("for no known reason"),
        ),
    }
}

/// Bytes as text: without escape codes and other controls, and of a line that
/// was overwritten only what was left standing.
pub(crate) fn clean(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    // Line by line, so that a code that never ends hides no other line.
    let lines = text.split_inclusive('\n');
    let text: String = lines
        .flat_map(|line| anstream::adapter::strip_str(line).collect::<Vec<_>>())
        .collect();
    if !text.contains('\r') {
        return text;
    }
    let lines = text.split('\n').map(|line| {
        let written = line.split('\r').rev();
        written
            .into_iter()
            .find(|part| !part.is_empty())
            .unwrap_or("")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn overwritten_lines_and_escape_codes_are_gone() {
        assert_eq!(clean(b"one\r\ntwo\r\n"), "one\ntwo\n");
        assert_eq!(clean(b" 10%\r 50%\r100%\ndone\n"), "100%\ndone\n");
        assert_eq!(clean(b" 10%\r 50%\r"), " 50%");
        assert_eq!(
            clean(b"\x1b[1;31mred\x1b[0m \x1b]0;title\x07x\n"),
            "red x\n"
        );
        assert_eq!(clean(b"\x1b]0;title\nafter\n"), "after\n");
        assert_eq!(clean(b"\x1bPfoo\nafter\n"), "after\n");
        assert_eq!(clean(b"a\x00b\x08\n"), "ab\n");
        assert_eq!(clean("ä\u{fffd}".as_bytes()), "ä\u{fffd}");
        assert_eq!(clean(b"\xff\xfe"), "\u{fffd}\u{fffd}");
    }
}
