//! The text of a whole file, from bytes and back, without losing a byte.

use super::utf8::{self, Utf8Check};
use super::{Binary, Encoding, HEAD};

/// A file's text and how it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text {
    /// Without the byte order mark.
    pub(crate) content: String,
    pub(crate) encoding: Encoding,
    /// Whether the text stands for exactly these bytes. A broken UTF-16 file
    /// does not survive being written again, nor one that has both invalid
    /// bytes and the characters that stand for them.
    pub(crate) is_exact: bool,
}

impl Text {
    /// The text of a whole file.
    pub(crate) fn decode(bytes: Vec<u8>) -> Self {
        if let Some(encoding) = Encoding::by_mark(&bytes) {
            let rest = bytes.get(encoding.mark().len()..).unwrap_or_default();
            let (text, is_exact) = match encoding {
                Encoding::Utf8Mark => match std::str::from_utf8(rest) {
                    Ok(text) => (text.to_owned(), true),
                    Err(_) => (String::from_utf8_lossy(rest).into_owned(), false),
                },
                encoding => {
                    let text = encoding.decode_wide(rest);
                    let is_exact = encoding.encode(&text).is_ok_and(|again| again == rest);
                    (text, is_exact)
                }
            };
            return Self {
                content: text,
                encoding,
                is_exact,
            };
        }
        let (text, encoding, is_exact) = match String::from_utf8(bytes) {
            Ok(text) => (text, Encoding::Utf8, true),
            Err(error) => {
                let bytes = error.as_bytes();
                let escaped = utf8::escaped(bytes);
                let is_exact = utf8::unescaped(&escaped) == bytes;
                if Utf8Check::of(bytes).is_meant() {
                    (escaped, Encoding::Utf8Broken, is_exact)
                } else {
                    let encoding = Encoding::Windows1252;
                    (encoding.decode_part(bytes), encoding, true)
                }
            }
        };
        Self {
            content: text,
            encoding,
            is_exact,
        }
    }

    /// The text of bytes that are not UTF-8, and do not begin with a mark, but
    /// are text all the same.
    pub(crate) fn decode_foreign(bytes: &[u8]) -> Option<String> {
        if std::str::from_utf8(bytes).is_ok() {
            return None;
        }
        let head = bytes.get(..HEAD).unwrap_or(bytes);
        let is_known = Encoding::by_mark(head).is_some() || Binary::detect(head).is_some();
        (!is_known).then(|| Self::decode(bytes.to_vec()).content)
    }

    /// The bytes of another text in the same encoding, with the same mark.
    ///
    /// # Errors
    ///
    /// The first character that the encoding does not have.
    pub(crate) fn encode(&self, text: &str) -> Result<Vec<u8>, char> {
        let mut bytes = self.encoding.mark().to_vec();
        bytes.extend(self.encoding.encode(text)?);
        Ok(bytes)
    }
}

/// The text of a whole file, as the tools that read files show it: UTF-8, what
/// a byte order mark says, or Windows-1252. `None` if it is not text.
///
/// ```
/// use ptk_tools::tools::text_of;
///
/// assert_eq!(text_of(b"gr\xfcn".to_vec()).as_deref(), Some("gr\u{fc}n"));
/// assert_eq!(text_of(b"\x7fELF\x02\0".to_vec()), None);
/// ```
#[must_use]
pub fn text_of(bytes: Vec<u8>) -> Option<String> {
    let head = bytes.get(..HEAD).unwrap_or(&bytes);
    let has_mark = Encoding::by_mark(head).is_some();
    let has_nul = || memchr::memchr(0, &bytes).is_some();
    let is_text = has_mark || (Binary::detect(head).is_none() && !has_nul());
    is_text.then(|| Text::decode(bytes).content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_survives() {
        let all: Vec<u8> = (0..=255).collect();
        let files: [&[u8]; 7] = [
            b"plain",
            b"gr\xc3\xbcn, sch\xc3\xb6n \xff",
            "\u{feff}gr\u{fc}n \u{1f980}\r\n".as_bytes(),
            b"gr\xfcn \x81\x9d",
            b"\xff\xfea\0\x3d\xd8\x80\xde",
            b"\xfe\xff\0a\xd8\x3d\xde\x80",
            &all,
        ];
        for file in files {
            let text = Text::decode(file.to_vec());
            assert!(text.is_exact, "{file:?}");
            assert_eq!(text.encode(&text.content).unwrap(), file);
        }
    }

    #[test]
    fn text_that_cannot_be_written_again_is_known() {
        assert!(!Text::decode(b"\xff\xfea\0\x3d\xd8".to_vec()).is_exact);
        assert!(!Text::decode(b"\xff\xfea\0b".to_vec()).is_exact);
        assert!(!Text::decode(b"\xef\xbb\xbfa\xff".to_vec()).is_exact);
        let both = b"gr\xc3\xbcn, sch\xc3\xb6n \xff \xf4\x8f\xbf\xbf";
        assert!(!Text::decode(both.to_vec()).is_exact);
    }

    #[test]
    fn a_character_that_the_encoding_lacks_is_named() {
        let text = Text::decode(b"gr\xfcn".to_vec());
        assert_eq!(text.encoding, Encoding::Windows1252);
        assert_eq!(text.encode("a \u{1f980}"), Err('\u{1f980}'));
    }
}
