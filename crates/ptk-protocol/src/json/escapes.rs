//! Writes the content of a string so that JSON accepts it.

use std::ops::Range;

use crate::ProblemCode;

use super::undoubled::Backslashes;
use super::writer::RepairWriter;

/// The repair of an escape.
enum EscapeRepair {
    /// The escape is valid; so many bytes long.
    Keep(usize),
    /// So many bytes are replaced.
    Replace(usize, String),
    /// The escape is cut off by the end of the text.
    Cut,
}

/// Whether the content ends because the text does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    Whole,
    CutOff,
}

/// Copies a stretch of the input as the content of a string; a double quote in
/// it is noted as `quote`.
pub(super) fn copy_content(
    writer: &mut RepairWriter<'_>,
    text: &str,
    stretch: Range<usize>,
    limit: Limit,
    quote: ProblemCode,
) {
    let from = stretch.start;
    let content = text.get(stretch).unwrap_or_default();
    let backslashes = writer.backslashes(content);
    let mut at = 0;
    while let Some(offset) = next_special(content, at) {
        at += offset;
        let (length, new, code) = mend(content, at, limit, backslashes);
        let code = match code {
            Some(ProblemCode::UnescapedQuote) => Some(quote),
            other => other,
        };
        if let Some(code) = code {
            writer.note(code, from + at);
            writer.replace(from + at, from + at + length, &new);
        }
        at += length;
    }
}

/// Writes `content`, which stands near `at` in the input, as the content of a
/// string.
pub(super) fn write_content(writer: &mut RepairWriter<'_>, content: &str, at: usize, limit: Limit) {
    let backslashes = writer.backslashes(content);
    let mut done = 0;
    let mut next = 0;
    while let Some(offset) = next_special(content, next) {
        next += offset;
        let (length, new, code) = mend(content, next, limit, backslashes);
        if let Some(code) = code {
            writer.note(code, at);
            writer.insert(at, content.get(done..next).unwrap_or_default());
            writer.insert(at, &new);
            done = next + length;
        }
        next += length;
    }
    writer.insert(at, content.get(done..).unwrap_or_default());
}

fn next_special(content: &str, at: usize) -> Option<usize> {
    let rest = content.as_bytes().get(at..)?;
    rest.iter()
        .position(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\')
}

/// The length of the special character at `at`, and what takes its place if
/// it cannot stay.
fn mend(
    content: &str,
    at: usize,
    limit: Limit,
    backslashes: Backslashes,
) -> (usize, String, Option<ProblemCode>) {
    match content.as_bytes().get(at) {
        Some(b'"') => (1, "\\\"".to_owned(), Some(ProblemCode::UnescapedQuote)),
        Some(b'\\') => match escape(content, at, limit, backslashes) {
            EscapeRepair::Keep(length) => (length, String::new(), None),
            EscapeRepair::Replace(length, new) => (length, new, Some(ProblemCode::BadEscape)),
            EscapeRepair::Cut => (
                content.len() - at,
                String::new(),
                Some(ProblemCode::BadEscape),
            ),
        },
        Some(&control) => (1, escaped(control), Some(ProblemCode::ControlCharacter)),
        None => (1, String::new(), None),
    }
}

fn escaped(control: u8) -> String {
    match control {
        b'\n' => "\\n".to_owned(),
        b'\r' => "\\r".to_owned(),
        b'\t' => "\\t".to_owned(),
        0x08 => "\\b".to_owned(),
        0x0c => "\\f".to_owned(),
        other => format!("\\u{other:04x}"),
    }
}

fn escape(content: &str, at: usize, limit: Limit, backslashes: Backslashes) -> EscapeRepair {
    let rest = content.get(at + 1..).unwrap_or_default();
    let Some(character) = rest.chars().next() else {
        return match limit {
            Limit::CutOff => EscapeRepair::Cut,
            Limit::Whole => EscapeRepair::Replace(1, "\\\\".to_owned()),
        };
    };
    match character {
        _ if backslashes.are_literal(rest) => EscapeRepair::Replace(1, "\\\\".to_owned()),
        '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' => EscapeRepair::Keep(2),
        'u' => unicode_escape(rest, limit),
        'x' => match hex(rest, 1, 2) {
            Some(code) => EscapeRepair::Replace(4, format!("\\u{code:04x}")),
            None => EscapeRepair::Replace(1, "\\\\".to_owned()),
        },
        '\'' | '`' => EscapeRepair::Replace(1, String::new()),
        // Whatever else it is, a regular expression, LaTeX, a path or a shell
        // command: to drop the backslash would change what it does.
        _ => EscapeRepair::Replace(1, "\\\\".to_owned()),
    }
}

/// Reads an escape whose `rest` begins with the `u`.
fn unicode_escape(rest: &str, limit: Limit) -> EscapeRepair {
    let Some(code) = hex(rest, 1, 4) else {
        let digits = rest.get(1..).unwrap_or_default();
        let cut = digits.len() < 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        return if cut && limit == Limit::CutOff {
            EscapeRepair::Cut
        } else {
            EscapeRepair::Replace(1, "\\\\".to_owned())
        };
    };
    match code {
        0xd800..=0xdbff => {
            let low = rest.get(5..).unwrap_or_default();
            if low.starts_with("\\u") && matches!(hex(low, 2, 4), Some(0xdc00..=0xdfff)) {
                return EscapeRepair::Keep(12);
            }
            let begun = low.len() < 6
                && "\\u".starts_with(low.get(..low.len().min(2)).unwrap_or(low))
                && low.bytes().skip(2).all(|byte| byte.is_ascii_hexdigit());
            if begun && limit == Limit::CutOff {
                EscapeRepair::Cut
            } else {
                EscapeRepair::Replace(6, "\u{fffd}".to_owned())
            }
        }
        0xdc00..=0xdfff => EscapeRepair::Replace(6, "\u{fffd}".to_owned()),
        _ => EscapeRepair::Keep(6),
    }
}

fn hex(text: &str, from: usize, length: usize) -> Option<u32> {
    let digits = text.get(from..from + length)?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok()
}

/// Undoes one level of escaping: text that went through a string once too
/// often.
pub(super) fn unescape_once(content: &str) -> String {
    let mut out = String::with_capacity(content.len());
    let mut rest = content;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        let (plain, tail) = rest.split_at(at);
        out.push_str(plain);
        let run = tail.bytes().take_while(|&byte| byte == b'\\').count();
        out.extend(std::iter::repeat_n('\\', (run / 2).max(1)));
        rest = tail.get(run..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}
