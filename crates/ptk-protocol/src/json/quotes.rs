//! The characters that models put around strings.

/// The family of a quote, which decides what closes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuoteFamily {
    Double,
    Single,
    Backtick,
    /// `“ ” „ ‟`
    CurlyDouble,
    /// `‘ ’ ‚ ‛`
    CurlySingle,
}

impl QuoteFamily {
    pub(super) const COUNT: usize = 5;

    pub(super) const fn index(self) -> usize {
        self as usize
    }

    /// The quote that opens at `at`, and its length.
    pub(super) fn opening(text: &str, at: usize) -> Option<(Self, usize)> {
        let bytes = text.as_bytes();
        match bytes.get(at)? {
            b'"' => Some((Self::Double, 1)),
            b'\'' => Some((Self::Single, 1)),
            b'`' => Some((Self::Backtick, 1)),
            0xe2 if bytes.get(at + 1) == Some(&0x80) => match bytes.get(at + 2)? {
                0x98..=0x9b => Some((Self::CurlySingle, 3)),
                0x9c..=0x9f => Some((Self::CurlyDouble, 3)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The length of the character at `at` if it can close this quote.
    pub(super) fn closing(self, text: &str, at: usize) -> Option<usize> {
        let (found, length) = Self::opening(text, at)?;
        let closes = match self {
            Self::Double | Self::Single | Self::Backtick => found == self,
            Self::CurlyDouble => matches!(found, Self::CurlyDouble | Self::Double),
            Self::CurlySingle => matches!(found, Self::CurlySingle | Self::Single),
        };
        closes.then_some(length)
    }

    /// The bytes with which a closing quote can begin.
    pub(super) const fn closing_bytes(self) -> (u8, u8) {
        match self {
            Self::Double => (b'"', b'"'),
            Self::Single => (b'\'', b'\''),
            Self::Backtick => (b'`', b'`'),
            Self::CurlyDouble => (b'"', 0xe2),
            Self::CurlySingle => (b'\'', 0xe2),
        }
    }
}
