//! From bytes to text and back, without losing a byte.

use encoding_rs::{UTF_16BE, UTF_16LE, WINDOWS_1252};

use super::utf8::{self, Utf8Check};
use super::{Binary, HEAD};

/// The encoding of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    /// With the byte order mark.
    Utf8Mark,
    /// With some invalid bytes. Each is shown as a character that is not in
    /// use.
    Utf8Broken,
    Utf16Le,
    Utf16Be,
    /// Any other encoding. It has a character for every byte.
    Windows1252,
}

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

impl Encoding {
    /// The encoding that a byte order mark shows.
    pub(crate) fn by_mark(head: &[u8]) -> Option<Self> {
        match head {
            // UTF-32, which is not used in practice, begins like UTF-16.
            [0xff, 0xfe, 0, 0, ..] => None,
            [0xff, 0xfe, ..] => Some(Self::Utf16Le),
            [0xfe, 0xff, ..] => Some(Self::Utf16Be),
            [0xef, 0xbb, 0xbf, ..] => Some(Self::Utf8Mark),
            _ => None,
        }
    }

    /// The name of the encoding, for a model and a person.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf8Mark => "utf-8 with BOM",
            Self::Utf8Broken => "utf-8 with invalid bytes",
            Self::Utf16Le => "utf-16le",
            Self::Utf16Be => "utf-16be",
            Self::Windows1252 => "windows-1252",
        }
    }

    /// The byte order mark of the encoding.
    pub(crate) const fn mark(self) -> &'static [u8] {
        match self {
            Self::Utf8 | Self::Utf8Broken | Self::Windows1252 => b"",
            Self::Utf8Mark => b"\xef\xbb\xbf",
            Self::Utf16Le => b"\xff\xfe",
            Self::Utf16Be => b"\xfe\xff",
        }
    }

    /// How many bytes a line break has.
    pub(crate) const fn unit(self) -> usize {
        match self {
            Self::Utf16Le | Self::Utf16Be => 2,
            Self::Utf8 | Self::Utf8Mark | Self::Utf8Broken | Self::Windows1252 => 1,
        }
    }

    /// The text of bytes from the middle of a file. A character that is cut at
    /// the end is left out.
    pub(crate) fn decode_part(self, bytes: &[u8]) -> String {
        match self {
            Self::Utf8 | Self::Utf8Mark => match std::str::from_utf8(bytes) {
                Ok(text) => text.to_owned(),
                Err(error) if error.error_len().is_none() => {
                    let whole = bytes.get(..error.valid_up_to()).unwrap_or_default();
                    String::from_utf8_lossy(whole).into_owned()
                }
                Err(_) => String::from_utf8_lossy(bytes).into_owned(),
            },
            Self::Utf8Broken => utf8::escaped(bytes),
            Self::Windows1252 => WINDOWS_1252
                .decode_without_bom_handling(bytes)
                .0
                .into_owned(),
            Self::Utf16Le | Self::Utf16Be => {
                let even = bytes.get(..bytes.len() & !1).unwrap_or_default();
                self.decode_wide(even)
            }
        }
    }

    fn decode_wide(self, bytes: &[u8]) -> String {
        let encoding = if self == Self::Utf16Be {
            UTF_16BE
        } else {
            UTF_16LE
        };
        encoding.decode_without_bom_handling(bytes).0.into_owned()
    }

    /// The bytes of a text, without the mark.
    ///
    /// # Errors
    ///
    /// The first character that the encoding does not have.
    pub(crate) fn encode(self, text: &str) -> Result<Vec<u8>, char> {
        match self {
            Self::Utf8 | Self::Utf8Mark => Ok(text.as_bytes().to_vec()),
            Self::Utf8Broken => Ok(utf8::unescaped(text)),
            Self::Utf16Le => Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
            Self::Utf16Be => Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
            Self::Windows1252 => {
                let (bytes, _, has_unmappable) = WINDOWS_1252.encode(text);
                if !has_unmappable {
                    return Ok(bytes.into_owned());
                }
                let is_missing = |c: &char| {
                    let mut buffer = [0; 4];
                    WINDOWS_1252.encode(c.encode_utf8(&mut buffer)).2
                };
                Err(text.chars().find(is_missing).unwrap_or('\u{fffd}'))
            }
        }
    }

    /// A character of a text that stands for a byte, not for itself.
    pub(crate) fn byte_in(self, text: &str) -> Option<char> {
        let is_byte = |c: &char| utf8::escaped_byte(*c).is_some();
        let mut chars = text.chars().filter(|_| self == Self::Utf8Broken);
        chars.find(is_byte)
    }

    /// How many bytes a text has in the file.
    pub(crate) fn length(self, text: &str) -> usize {
        match self {
            Self::Utf8 | Self::Utf8Mark => text.len(),
            Self::Utf8Broken => utf8::unescaped_length(text),
            Self::Utf16Le | Self::Utf16Be => text.encode_utf16().count() * 2,
            Self::Windows1252 => text.chars().count(),
        }
    }
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
