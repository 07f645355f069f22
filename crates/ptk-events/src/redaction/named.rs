//! Secrets that are recognised by what stands before them: a name with `=` or
//! `:`, an option of a command, a header.

use super::{Found, is_placeholder};

/// Names whose values are secret, whatever they look like. A longer name that
/// ends so counts as well: `DB_PASSWORD`.
const SECRETS: [&str; 13] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "api_key",
    "apikey",
    "access_key",
    "accesskey",
    "accountkey",
    "secret_key",
    "private_key",
    "client_secret",
    "credentials",
];
/// Names that are common in programs and prose, too: their values are secret
/// only if they look like it.
const TOKENS: [&str; 3] = ["token", "pwd", "authorization"];
/// The schemes of authorization headers.
const SCHEMES: [&str; 6] = ["bearer", "basic", "token", "digest", "apikey", "negotiate"];
/// Values that are types, or empty.
const WORDS: [&str; 20] = [
    "string",
    "str",
    "bool",
    "boolean",
    "true",
    "false",
    "null",
    "none",
    "nil",
    "undefined",
    "number",
    "integer",
    "object",
    "option",
    "required",
    "optional",
    "self",
    "default",
    "empty",
    "changeme",
];
/// The shortest value that is a secret.
const MIN_VALUE: usize = 4;
/// The shortest value after `Bearer` and the like without a header.
const MIN_BEARER: usize = 16;
/// The shortest signature of an address.
const MIN_SIGNATURE: usize = 16;
/// The most bytes of a value in quotes; a longer one is text.
const MAX_QUOTED: usize = 4_096;

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// How a value follows its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    /// `name=value`
    Tight,
    /// `name = value`
    Spaced,
    /// `name: value`
    Colon,
    /// `--name value`
    Option,
}

pub(super) fn values(text: &str, found: &mut Found) {
    let mut at = 0;
    let mut is_curl = false;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let Some(skipped) = rest.find(is_name) else {
            return;
        };
        let gap = rest.get(..skipped).unwrap_or_default();
        if gap.contains(['\n', ';', '|']) {
            is_curl = false;
        }
        let before = text
            .get(..at + skipped)
            .and_then(|it| it.chars().next_back());
        let start = at + skipped;
        let word = rest.get(skipped..).unwrap_or_default();
        let length = word.find(|c| !is_name(c)).unwrap_or(word.len());
        let word = word.get(..length).unwrap_or_default();
        let behind = start + length;
        is_curl |= matches!(word, "curl" | "wget");
        at = behind;
        if is_curl && matches!(word, "-u" | "--user" | "--proxy-user") {
            login(text, behind, found);
        } else if let Some(end) = bearer(text, word, behind, found) {
            at = end;
        } else if let Some(end) = value(text, word, before, behind, found) {
            at = end;
        }
    }
}

/// Finds the password in `-u user:password`.
fn login(text: &str, behind: usize, found: &mut Found) {
    let rest = text.get(behind..).unwrap_or_default();
    let value = rest.trim_start_matches([' ', '=', '\'', '"']);
    let start = behind + rest.len() - value.len();
    let end = value
        .find(|c: char| c.is_whitespace() || matches!(c, '\'' | '"'))
        .unwrap_or(value.len());
    let value = value.get(..end).unwrap_or_default();
    if let Some((user, password)) = value.split_once(':')
        && !password.is_empty()
        && !is_placeholder(password)
    {
        let start = start + user.len() + 1;
        found.push(start, start + password.len());
    }
}

/// Finds the token in `Bearer abc…`, wherever it stands.
fn bearer(text: &str, word: &str, behind: usize, found: &mut Found) -> Option<usize> {
    if !matches!(word, "Bearer" | "bearer" | "Basic") {
        return None;
    }
    let value = text.get(behind..)?.strip_prefix(' ')?;
    let end = value.find(|c| !is_credential(c)).unwrap_or(value.len());
    let value = value.get(..end)?;
    let is_secret = value.len() >= MIN_BEARER
        && value
            .bytes()
            .any(|byte| byte.is_ascii_digit() || byte == b'=');
    let start = behind + 1;
    is_secret.then(|| {
        found.push(start, start + end);
        start + end
    })
}

fn is_credential(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.+/~=".contains(c)
}

/// Finds the value after the name of a secret. Returns where it ends, if it is
/// one.
fn value(
    text: &str,
    name: &str,
    before: Option<char>,
    behind: usize,
    found: &mut Found,
) -> Option<usize> {
    let lower = name.to_ascii_lowercase().replace(['-', '.'], "_");
    let lower = lower.trim_matches('_');
    let is_secret = SECRETS.iter().any(|known| lower.ends_with(known));
    let is_token = TOKENS.iter().any(|known| lower.ends_with(known));
    let is_signature = lower == "sig" && matches!(before, Some('?' | '&' | ';'));
    if !is_secret && !is_token && !is_signature {
        return None;
    }
    let (link, start) = link(text, name, behind)?;
    let (start, end, is_quoted) = extent(text, start, link)?;
    let given = text.get(start..end)?;
    if is_signature {
        let is_long = given.len() >= MIN_SIGNATURE;
        return is_long.then(|| push(found, start, end));
    }
    if lower.ends_with("authorization") {
        return header(given, start, end, found);
    }
    let next = text.get(end..).and_then(|rest| rest.chars().next());
    let is_in_address = matches!(before, Some('?' | '&'));
    let is_plain = is_quoted || is_in_address || link == Link::Option;
    let looks_secret = if is_plain {
        !given.contains(char::is_whitespace)
    } else {
        is_literal(given, lower, link, next)
    };
    let is_likely = is_secret || has_form(given) || (is_plain && link != Link::Option);
    let is_number = given.bytes().all(|byte| byte.is_ascii_digit());
    let is_count = is_number && !is_secret;
    let is_word = WORDS.contains(&given.to_ascii_lowercase().as_str());
    let is_same = same(given, lower);
    let is_it = given.chars().count() >= MIN_VALUE
        && looks_secret
        && (is_likely || link == Link::Option)
        && !is_count
        && !is_word
        && !is_same
        && !is_placeholder(given);
    is_it.then(|| push(found, start, end))
}

fn push(found: &mut Found, start: usize, end: usize) -> usize {
    found.push(start, end);
    end
}

/// How a value follows the name that ends here, and where it begins.
fn link(text: &str, name: &str, behind: usize) -> Option<(Link, usize)> {
    let rest = text.get(behind..)?;
    let quote = rest
        .strip_prefix("\\\"")
        .or_else(|| rest.strip_prefix(['"', '\'']))
        .unwrap_or(rest);
    let spaced = quote.trim_start_matches([' ', '\t']);
    let had_space = spaced.len() < quote.len();
    let (link, value) = if let Some(value) = spaced.strip_prefix("=>") {
        (Link::Spaced, value)
    } else if let Some(value) = spaced.strip_prefix(":=") {
        (Link::Spaced, value)
    } else if let Some(value) = spaced.strip_prefix('=') {
        let is_tight = !had_space && !value.starts_with(' ');
        let link = if is_tight { Link::Tight } else { Link::Spaced };
        (link, value.strip_prefix('=').map_or(value, |_| ""))
    } else if let Some(value) = spaced.strip_prefix(':') {
        (Link::Colon, value)
    } else if name.starts_with("--") && had_space && quote.len() == rest.len() {
        (Link::Option, spaced)
    } else {
        return None;
    };
    let value = value.trim_start_matches([' ', '\t']);
    let start = text.len() - text.get(behind..)?.len() + (rest.len() - value.len());
    (!value.is_empty()).then_some((link, start))
}

/// Where a value begins and ends, and whether it stands in quotes.
fn extent(text: &str, start: usize, link: Link) -> Option<(usize, usize, bool)> {
    let rest = text.get(start..)?;
    for quote in ["\\\"", "\"", "'", "`"] {
        if let Some(inner) = rest.strip_prefix(quote) {
            let mut bound = MAX_QUOTED.min(inner.len());
            while !inner.is_char_boundary(bound) {
                bound -= 1;
            }
            let inner = inner.get(..bound)?;
            let end = inner.find(quote).or_else(|| inner.find('\n'));
            let end = end.unwrap_or(inner.len());
            let begin = start + quote.len();
            return Some((begin, begin + end, true));
        }
    }
    let is_end = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '"' | '\''
                    | '`'
                    | ','
                    | ';'
                    | '<'
                    | '>'
                    | '('
                    | ')'
                    | '['
                    | ']'
                    | '{'
                    | '}'
                    | '|'
                    | '\\'
            )
            || (c == '&' && link != Link::Option)
    };
    let end = rest.find(is_end).unwrap_or(rest.len());
    Some((start, start + end, false))
}

/// Finds the secret in a header, with or without a scheme: `Bearer abc`.
fn header(given: &str, start: usize, end: usize, found: &mut Found) -> Option<usize> {
    // Without quotes the value ends at the first space.
    let (scheme, secret) = given.split_once(' ').unwrap_or(("", given));
    if SCHEMES.contains(&given.to_ascii_lowercase().as_str()) {
        return None;
    }
    let secret = if SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()) {
        secret
    } else {
        given
    };
    let start = start + given.len() - secret.len();
    let is_secret = secret.len() >= 8
        && !is_placeholder(secret)
        && !secret.contains(char::is_whitespace)
        && has_form(secret);
    is_secret.then(|| push(found, start, end))
}

/// Whether a value without quotes is a literal, and not an expression.
fn is_literal(given: &str, name: &str, link: Link, next: Option<char>) -> bool {
    if matches!(next, Some('(' | '[' | '{' | '<')) || given.starts_with(['&', '*', '.', '/']) {
        return false;
    }
    let is_identifier = given
        .chars()
        .all(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '.' | ':'));
    match link {
        Link::Tight | Link::Option => {
            !(is_identifier && (given.contains(['.', '_', ':']) || name.ends_with("token")))
        }
        Link::Spaced | Link::Colon => !is_identifier && has_form(given),
    }
}

/// Whether a text looks like a generated value, or a password: it mixes letters
/// and digits.
fn has_form(given: &str) -> bool {
    given.len() >= 6
        && given.chars().any(|c| c.is_ascii_digit())
        && given.chars().any(|c| c.is_ascii_alphabetic())
        && !given.contains("::")
}

/// Whether a value is just the name again: `password=password`,
/// `token=self.token`.
fn same(given: &str, name: &str) -> bool {
    let last = given.rsplit(['.', ':', '>']).next().unwrap_or_default();
    let last = last.to_ascii_lowercase().replace('-', "_");
    !last.is_empty() && name.ends_with(last.trim_matches('_'))
}
