//! The token that requests carry.

use hyper::header::{AUTHORIZATION, HeaderMap};

/// The longest token, in bytes.
const MAX_TOKEN: usize = 4096;
/// The shortest one.
const MIN_TOKEN: usize = 16;

/// A token that every request has to carry, kept as its hash.
#[derive(Debug, Clone)]
pub struct AccessToken {
    hash: blake3::Hash,
}

/// Why a text cannot be a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a token has {MIN_TOKEN} to {MAX_TOKEN} visible ASCII characters and no spaces; `openssl rand -hex 32` makes one"
)]
pub struct InvalidToken;

impl AccessToken {
    /// The token with this text.
    ///
    /// # Errors
    ///
    /// If it could not be sent in a header, or could be guessed.
    pub fn new(text: &str) -> Result<Self, InvalidToken> {
        let is_fit = (MIN_TOKEN..=MAX_TOKEN).contains(&text.len());
        if !is_fit || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(InvalidToken);
        }
        Ok(Self {
            hash: blake3::hash(text.as_bytes()),
        })
    }

    /// Whether a request carries it, and nothing else.
    pub(super) fn is_in(&self, headers: &HeaderMap) -> bool {
        let mut given = headers.get_all(AUTHORIZATION).iter();
        let (Some(given), None) = (given.next(), given.next()) else {
            return false;
        };
        let Some((scheme, token)) = given.to_str().ok().and_then(|it| it.split_once(' ')) else {
            return false;
        };
        let token = token.trim();
        // Hashes are compared in constant time.
        scheme.eq_ignore_ascii_case("bearer")
            && token.len() <= MAX_TOKEN
            && blake3::hash(token.as_bytes()) == self.hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn headers(values: &[&str]) -> HeaderMap {
        let values = values.iter().map(|value| value.parse().unwrap());
        values.map(|value| (AUTHORIZATION, value)).collect()
    }

    #[test]
    fn only_the_whole_token_is_accepted() {
        let token = AccessToken::new(TOKEN).unwrap();
        assert!(token.is_in(&headers(&["Bearer 0123456789abcdef"])));
        assert!(token.is_in(&headers(&["bearer  0123456789abcdef"])));
        for wrong in [
            "Bearer 0123456789abcde",
            "Bearer 0123456789abcdefg",
            "Bearer ",
            "Bearer",
            "Basic 0123456789abcdef",
            "0123456789abcdef",
        ] {
            assert!(!token.is_in(&headers(&[wrong])), "{wrong}");
        }
        assert!(!token.is_in(&headers(&[])));
    }

    #[test]
    fn what_can_be_guessed_or_not_be_sent_is_no_token() {
        for text in ["", "short", "0123456789 abcdef", "0123456789abcdéf"] {
            assert_eq!(AccessToken::new(text).unwrap_err(), InvalidToken, "{text}");
        }
    }
}
