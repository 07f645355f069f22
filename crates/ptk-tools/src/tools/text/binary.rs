//! Files that are not text.

use super::Encoding;

/// How much of a file is read to decide whether it is text.
pub(crate) const HEAD: usize = 8 * 1024;

/// A file that is not text, and what it seems to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Binary {
    /// Its kind, where its first bytes show it.
    pub(crate) kind: Option<&'static str>,
}

/// What files of common kinds begin with.
const MAGIC: [(&[u8], &str); 27] = [
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF87a", "GIF image"),
    (b"GIF89a", "GIF image"),
    (b"BM", "BMP image"),
    (b"\0\0\x01\0", "icon"),
    (b"II*\0", "TIFF image"),
    (b"MM\0*", "TIFF image"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "ZIP archive"),
    (b"PK\x05\x06", "ZIP archive"),
    (b"\x1f\x8b", "gzip archive"),
    (b"BZh", "bzip2 archive"),
    (b"\xfd7zXZ\0", "xz archive"),
    (b"\x28\xb5\x2f\xfd", "zstd archive"),
    (b"7z\xbc\xaf\x27\x1c", "7z archive"),
    (b"\x7fELF", "ELF program"),
    (b"\xcf\xfa\xed\xfe", "Mach-O program"),
    (b"\xca\xfe\xba\xbe", "Java class or Mach-O program"),
    (b"MZ", "Windows program"),
    (b"\0asm", "WebAssembly module"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"OggS", "Ogg media"),
    (b"fLaC", "FLAC audio"),
    (b"ID3", "MP3 audio"),
    (b"wOFF", "WOFF font"),
    (b"wOF2", "WOFF2 font"),
];

impl Binary {
    /// What a reader sees instead of the content.
    pub(crate) const SHOWN: &'static str = "[Binary file - content not displayed]";

    /// Detects whether a file that begins so is not text.
    pub(crate) fn detect(head: &[u8]) -> Option<Self> {
        if Encoding::by_mark(head).is_some() {
            return None;
        }
        let has_nul = memchr::memchr(0, head).is_some();
        let is_utf8 = match std::str::from_utf8(head) {
            Ok(_) => true,
            // Cut off within a character.
            Err(error) => error.error_len().is_none(),
        };
        let kind = kind(head);
        let is_binary = has_nul || (!is_utf8 && (kind.is_some() || has_controls(head)));
        is_binary.then_some(Self { kind })
    }
}

/// Whether there are control characters. Texts in old encodings have bytes
/// above 127, but no control characters other than these.
fn has_controls(head: &[u8]) -> bool {
    let is_control = |byte: &u8| *byte < 32 && !matches!(byte, b'\t' | b'\n' | b'\r' | 8 | 12 | 27);
    head.iter().any(is_control)
}

fn kind(head: &[u8]) -> Option<&'static str> {
    let by_start = MAGIC.iter().find(|(magic, _)| head.starts_with(magic));
    by_start.map(|(_, kind)| *kind).or_else(|| {
        match (head.get(..4), head.get(4..8), head.get(8..12)) {
            (Some(b"RIFF"), _, Some(b"WEBP")) => Some("WebP image"),
            (Some(b"RIFF"), _, Some(b"WAVE")) => Some("WAV audio"),
            (Some(b"RIFF"), _, Some(b"AVI ")) => Some("AVI video"),
            (_, Some(b"ftyp"), _) => Some("MP4 media"),
            _ if head.get(257..262) == Some(b"ustar") => Some("tar archive"),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_not_binary() {
        let texts: [&[u8]; 6] = [
            b"",
            b"plain\n",
            "gr\u{fc}n".as_bytes(),
            b"gr\xfcn\n",
            b"\xff\xfea\0b\0",
            b"MZ is how it begins",
        ];
        for text in texts {
            assert_eq!(Binary::detect(text), None, "{text:?}");
        }
        // A character that the end of the head cuts in two.
        assert_eq!(Binary::detect(b"sch\xc3"), None);
    }

    #[test]
    fn binary_files_are_known_by_their_first_bytes() {
        let kind = |head: &[u8]| Binary::detect(head).unwrap().kind;
        assert_eq!(kind(b"\x89PNG\r\n\x1a\n\0\0"), Some("PNG image"));
        assert_eq!(kind(b"%PDF-1.7\n\xe2\xe3"), Some("PDF document"));
        assert_eq!(kind(b"RIFF\0\0\0\0WEBP"), Some("WebP image"));
        assert_eq!(kind(b"a\0b"), None);
        assert_eq!(kind(b"\xfe\x01\x02"), None);
    }
}
