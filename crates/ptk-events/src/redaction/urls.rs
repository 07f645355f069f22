//! Passwords in addresses: `https://user:password@host`.

use super::{Found, is_placeholder};

/// Schemes of services whose passwords are often written without encoding
/// special characters.
const SERVICES: [&str; 12] = [
    "amqp",
    "amqps",
    "mariadb",
    "mongodb",
    "mongodb+srv",
    "mysql",
    "nats",
    "postgres",
    "postgresql",
    "redis",
    "rediss",
    "sqlserver",
];
/// The least length of a user name without a password to be a token.
const MIN_TOKEN: usize = 20;
/// The most bytes of a scheme.
const MAX_SCHEME: usize = 20;
/// The most bytes in which the end of a name and its password is searched.
const MAX_AUTHORITY: usize = 512;

pub(super) fn passwords(text: &str, found: &mut Found) {
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find("://")) {
        let mark = from + at;
        let start = mark + "://".len();
        from = start;
        let rest = text.get(start..).unwrap_or_default();
        let is_end = |c: char| c.is_whitespace() || c.is_control() || "\"'<>`|\\".contains(c);
        let end = rest
            .char_indices()
            .take_while(|(at, c)| *at < MAX_AUTHORITY && !is_end(*c))
            .last()
            .map_or(0, |(at, c)| at + c.len_utf8());
        let whole = rest.get(..end).unwrap_or_default();
        let authority = match whole.find(['/', '?', '#']) {
            Some(end) => whole.get(..end).unwrap_or_default(),
            None => whole,
        };
        let named = authority.rfind('@').or_else(|| {
            SERVICES
                .contains(&scheme(text, mark))
                .then(|| whole.rfind('@'))
                .flatten()
        });
        let Some(name) = named.and_then(|end| whole.get(..end)) else {
            continue;
        };
        match name.split_once(':') {
            Some((user, password)) if !password.is_empty() && !is_placeholder(password) => {
                let start = start + user.len() + 1;
                found.push(start, start + password.len());
            }
            None if is_token(name) => found.push(start, start + name.len()),
            _ => {}
        }
    }
}

/// The scheme before this position.
fn scheme(text: &str, mark: usize) -> &str {
    let before = text.get(..mark).unwrap_or_default();
    let start = before
        .char_indices()
        .rev()
        .take(MAX_SCHEME)
        .take_while(|(_, c)| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
        .last()
        .map_or(mark, |(at, _)| at);
    before.get(start..).unwrap_or_default()
}

fn is_token(name: &str) -> bool {
    name.len() >= MIN_TOKEN
        && !is_placeholder(name)
        && name.bytes().any(|byte| byte.is_ascii_digit())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}
