//! The encodings of texts: from bytes to text and back.

use encoding_rs::{UTF_16BE, UTF_16LE, WINDOWS_1252};

use super::utf8;

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

    pub(super) fn decode_wide(self, bytes: &[u8]) -> String {
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
