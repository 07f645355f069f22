//! UTF-8 that is whole, broken here and there, or none at all.

/// Invalid bytes become characters that are not in use, from this one on.
const ESCAPE: u32 = 0x10_ff00;

/// Checks bytes that come in chunks.
#[derive(Debug, Default)]
pub(super) struct Utf8Check {
    /// Characters of more than one byte.
    long: usize,
    /// Places that are not UTF-8.
    broken: usize,
    /// The beginning of a character that the last chunk cut.
    rest: Vec<u8>,
}

impl Utf8Check {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut check = Self::default();
        check.take(bytes);
        check
    }

    pub(super) fn take(&mut self, mut bytes: &[u8]) {
        while !self.rest.is_empty() {
            let Some((first, others)) = bytes.split_first() else {
                return;
            };
            self.rest.push(*first);
            match std::str::from_utf8(&self.rest) {
                Ok(_) => {
                    self.long += 1;
                    self.rest.clear();
                    bytes = others;
                }
                Err(error) if error.error_len().is_some() => {
                    self.broken += 1;
                    self.rest.clear();
                }
                Err(_) => bytes = others,
            }
        }
        while let Err(error) = std::str::from_utf8(bytes) {
            let (valid, behind) = bytes.split_at(error.valid_up_to());
            self.count(valid);
            let Some(length) = error.error_len() else {
                self.rest = behind.to_vec();
                return;
            };
            self.broken += 1;
            bytes = behind.get(length..).unwrap_or_default();
        }
        self.count(bytes);
    }

    fn count(&mut self, valid: &[u8]) {
        self.long += valid.iter().filter(|byte| **byte >= 0xc0).count();
    }

    pub(super) fn is_whole(&self) -> bool {
        self.broken == 0 && self.rest.is_empty()
    }

    /// Whether the bytes were meant to be UTF-8: a text in another encoding has
    /// such characters by chance only.
    pub(super) fn is_meant(&self) -> bool {
        self.long > self.broken + usize::from(!self.rest.is_empty())
    }
}

/// The text of bytes that are UTF-8 here and there. Every other byte has a
/// character of its own, so that none is lost.
pub(super) fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        let escape = |byte: &u8| char::from_u32(ESCAPE + u32::from(*byte));
        text.extend(chunk.invalid().iter().filter_map(escape));
    }
    text
}

/// The bytes of an escaped text.
pub(super) fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        match escaped_byte(c) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

/// How many bytes an escaped text stands for.
pub(super) fn unescaped_length(text: &str) -> usize {
    let length = |c: char| escaped_byte(c).map_or(c.len_utf8(), |_| 1);
    text.chars().map(length).sum()
}

pub(super) fn escaped_byte(c: char) -> Option<u8> {
    let byte = u8::try_from(u32::from(c).checked_sub(ESCAPE)?).ok()?;
    (byte >= 0x80).then_some(byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_checked_alike_in_any_chunks() {
        for bytes in [
            "grün 🦀 end".as_bytes(),
            b"gr\xfcn",
            b"gr\xc3\xbcn \xff \xe2\x82",
            b"\xf0\x9f\xa6",
        ] {
            let whole = Utf8Check::of(bytes);
            for cut in 0..bytes.len() {
                let (first, second) = bytes.split_at(cut);
                let mut check = Utf8Check::of(first);
                check.take(second);
                assert_eq!(check.is_whole(), whole.is_whole(), "{bytes:?} at {cut}");
                assert_eq!(check.is_meant(), whole.is_meant(), "{bytes:?} at {cut}");
            }
        }
    }

    #[test]
    fn what_was_meant_is_told_by_the_majority() {
        assert!(Utf8Check::of("grün und schön \u{2014} \u{fc}".as_bytes()).is_meant());
        assert!(Utf8Check::of(b"gr\xc3\xbcn, sch\xc3\xb6n, \xff").is_meant());
        assert!(!Utf8Check::of(b"gr\xfcn").is_meant());
    }

    #[test]
    fn no_byte_is_lost() {
        let bytes = b"gr\xc3\xbcn \xff\xfe \xe2\x82";
        let text = escaped(bytes);
        assert_eq!(unescaped(&text), bytes);
        assert_eq!(unescaped_length(&text), bytes.len());
    }
}
