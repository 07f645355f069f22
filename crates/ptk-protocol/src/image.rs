//! Images in messages.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The media types that models take, with the bytes that their files begin with.
const FORMATS: [(&str, &[u8]); 4] = [
    ("image/png", b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", b"\xff\xd8\xff"),
    ("image/gif", b"GIF87a"),
    ("image/gif", b"GIF89a"),
];
const WEBP: &str = "image/webp";

/// An image of a message: PNG, JPEG, GIF or WebP.
///
/// In JSON it is a data URL.
///
/// ```
/// use ptk_protocol::Image;
///
/// let image = Image::new(b"GIF89a\x01\0\x01\0").unwrap();
/// assert_eq!(image.media_type(), "image/gif");
/// assert_eq!(image.to_url(), "data:image/gif;base64,R0lGODlhAQABAA==");
/// assert!(Image::new(b"plain text").is_none());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Image {
    media_type: &'static str,
    base64: Arc<str>,
}

impl Image {
    /// The image in the bytes of a file. `None` if they are in no format that
    /// models take.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            media_type: media_type(bytes)?,
            base64: STANDARD.encode(bytes).into(),
        })
    }

    /// The image in a data URL. `None` if it holds none.
    #[must_use]
    pub fn from_url(url: &str) -> Option<Self> {
        let (_, base64) = url.strip_prefix("data:")?.split_once(";base64,")?;
        Self::new(&STANDARD.decode(base64).ok()?)
    }

    /// The media type, such as `image/png`.
    #[must_use]
    pub const fn media_type(&self) -> &'static str {
        self.media_type
    }

    /// The bytes of the file, in base64.
    #[must_use]
    pub fn base64(&self) -> &str {
        &self.base64
    }

    /// How many bytes the file has.
    #[must_use]
    pub fn size(&self) -> usize {
        let padding = self.base64.bytes().rev().take_while(|byte| *byte == b'=');
        self.base64.len() / 4 * 3 - padding.count()
    }

    /// The image as a data URL.
    #[must_use]
    pub fn to_url(&self) -> String {
        format!("data:{};base64,{}", self.media_type, self.base64)
    }
}

/// The media type of a file, by its first bytes.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    if let [
        b'R',
        b'I',
        b'F',
        b'F',
        _,
        _,
        _,
        _,
        b'W',
        b'E',
        b'B',
        b'P',
        ..,
    ] = bytes
    {
        return Some(WEBP);
    }
    let known = FORMATS.iter().find(|(_, start)| bytes.starts_with(start));
    known.map(|(media_type, _)| *media_type)
}

/// Shows the size and not the content.
impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Image({}, {} bytes of base64)",
            self.media_type,
            self.base64.len()
        )
    }
}

impl Serialize for Image {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_url())
    }
}

impl<'de> Deserialize<'de> for Image {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let url = String::deserialize(deserializer)?;
        Self::from_url(&url).ok_or_else(|| D::Error::custom("not a data URL of an image"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_known_by_their_first_bytes() {
        for (bytes, media_type) in [
            (&b"\x89PNG\r\n\x1a\n\0\0"[..], Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"GIF87a", Some("image/gif")),
            (b"GIF89a", Some("image/gif")),
            (b"RIFF\0\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"RIFF\0\0\0\0WAVE", None),
            (b"RIFF", None),
            (b"BM", None),
            (b"<svg></svg>", None),
            (b"", None),
        ] {
            let image = Image::new(bytes);
            assert_eq!(image.as_ref().map(Image::media_type), media_type);
            if let Some(image) = image {
                assert_eq!(image.size(), bytes.len());
                let json = serde_json::to_string(&image).unwrap();
                assert_eq!(serde_json::from_str::<Image>(&json).unwrap(), image);
            }
        }
        for url in [
            "",
            "data:",
            "data:image/png;base64,%",
            "data:image/png;base64,aGk=",
            "GIF89a",
        ] {
            assert_eq!(Image::from_url(url), None);
        }
    }
}
