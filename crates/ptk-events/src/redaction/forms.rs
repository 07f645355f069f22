//! Secrets that are recognised by their form: keys and tokens of well-known
//! services, and private keys.

use super::Found;

const BLOCK_BEGIN: &str = "-----BEGIN ";
const BLOCK_END: &str = "PRIVATE KEY-----";
/// The longest first line of a private key, after its prefix.
const MAX_HEAD: usize = 64;
/// The least length of each part of a JSON web token.
const MIN_PART: usize = 10;

/// The characters of a token after its prefix.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Letters {
    /// Letters, digits, `_` and `-`, with a digit or a capital among them.
    Any,
    /// Capitals and digits.
    Capitals,
}

/// The prefixes of keys and tokens of well-known services, their least length,
/// and their characters.
const FORMS: [(&str, usize, Letters); 37] = [
    ("sk-", 20, Letters::Any),
    ("sk_live_", 20, Letters::Any),
    ("sk_test_", 20, Letters::Any),
    ("rk_live_", 20, Letters::Any),
    ("rk_test_", 20, Letters::Any),
    ("whsec_", 20, Letters::Any),
    ("ghp_", 30, Letters::Any),
    ("gho_", 30, Letters::Any),
    ("ghu_", 30, Letters::Any),
    ("ghs_", 30, Letters::Any),
    ("ghr_", 30, Letters::Any),
    ("github_pat_", 30, Letters::Any),
    ("glpat-", 20, Letters::Any),
    ("gldt-", 20, Letters::Any),
    ("glrt-", 20, Letters::Any),
    ("glptt-", 20, Letters::Any),
    ("xoxa-", 20, Letters::Any),
    ("xoxb-", 20, Letters::Any),
    ("xoxe-", 20, Letters::Any),
    ("xoxp-", 20, Letters::Any),
    ("xoxr-", 20, Letters::Any),
    ("xoxs-", 20, Letters::Any),
    ("xapp-", 20, Letters::Any),
    ("AKIA", 20, Letters::Capitals),
    ("ASIA", 20, Letters::Capitals),
    ("AIza", 35, Letters::Any),
    ("ya29.", 30, Letters::Any),
    ("GOCSPX-", 25, Letters::Any),
    ("hf_", 20, Letters::Any),
    ("gsk_", 20, Letters::Any),
    ("npm_", 30, Letters::Any),
    ("pypi-", 30, Letters::Any),
    ("dop_v1_", 30, Letters::Any),
    ("shpat_", 30, Letters::Any),
    ("hvs.", 24, Letters::Any),
    ("AGE-SECRET-KEY-1", 40, Letters::Capitals),
    ("r8_", 30, Letters::Any),
];

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// How many bytes from here on are characters of a token.
fn run(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| is_letter(**byte)).count()
}

/// Finds tokens. Each is looked for only where a word begins, so that no run of
/// letters is looked at twice.
pub(super) fn tokens(text: &str, found: &mut Found) {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut is_start = true;
    while let Some(byte) = bytes.get(at) {
        if !is_letter(*byte) {
            at += 1;
            is_start = true;
            continue;
        }
        let rest = bytes.get(at..).unwrap_or_default();
        let length = if is_start { token(rest) } else { None };
        match length {
            Some(length) => {
                found.push(at, at + length);
                at += length;
            }
            None => at += run(rest).max(1),
        }
        is_start = false;
    }
}

/// The length of the token at the beginning of these bytes.
fn token(rest: &[u8]) -> Option<usize> {
    let known = FORMS.iter().find(|(start, ..)| {
        rest.get(..start.len())
            .is_some_and(|begin| begin == start.as_bytes())
    });
    if let Some((start, least, letters)) = known {
        let body = rest.get(start.len()..).unwrap_or_default();
        let length = start.len() + run(body);
        let body = rest.get(start.len()..length).unwrap_or_default();
        let is_right = match letters {
            Letters::Any => body
                .iter()
                .any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase()),
            Letters::Capitals => body
                .iter()
                .all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase()),
        };
        return (length >= *least && is_right).then_some(length);
    }
    web_token(rest)
}

/// The length of a JSON web token: three parts with dots between them, the
/// first two of which begin as JSON does.
fn web_token(rest: &[u8]) -> Option<usize> {
    if !rest.starts_with(b"eyJ") {
        return None;
    }
    let mut length = 0;
    for part in 0..3 {
        let behind = rest.get(length..).unwrap_or_default();
        let own = run(behind);
        let is_right = own >= MIN_PART && (part == 2 || behind.starts_with(b"eyJ"));
        if !is_right {
            // A truncated token is still one.
            return (part == 2).then_some(length + own);
        }
        length += own;
        if part < 2 {
            if rest.get(length) != Some(&b'.') {
                return (part == 1).then_some(length);
            }
            length += 1;
        }
    }
    Some(length)
}

/// Finds private keys. One that is cut off ends with the text.
pub(super) fn private_keys(text: &str, found: &mut Found) {
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(BLOCK_BEGIN)) {
        let start = from + at;
        let head = start + BLOCK_BEGIN.len();
        let rest = text.get(head..).unwrap_or_default();
        let bound = rest.char_indices().nth(MAX_HEAD);
        let line = bound.map_or(rest, |(at, _)| rest.get(..at).unwrap_or_default());
        let line = line.lines().next().unwrap_or_default();
        let Some(mark) = line.find(BLOCK_END) else {
            from = head;
            continue;
        };
        let body = head + mark + BLOCK_END.len();
        let end = text.get(body..).and_then(|body| body.find(BLOCK_END));
        from = end.map_or(text.len(), |at| body + at + BLOCK_END.len());
        found.push(start, from);
    }
}
