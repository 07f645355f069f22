//! Secrets are taken out before anything is written or sent.

use std::borrow::Cow;
use std::env;
use std::fmt;
use std::sync::Arc;

/// What stands in the place of a secret.
pub const REDACTED: &str = "[redacted]";
/// How the keys and tokens of well-known services begin, and how long they
/// are at least.
const FORMS: [(&str, usize); 19] = [
    ("sk-", 20),
    ("sk_live_", 20),
    ("rk_live_", 20),
    ("ghp_", 30),
    ("gho_", 30),
    ("ghu_", 30),
    ("ghs_", 30),
    ("github_pat_", 30),
    ("glpat-", 20),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("AKIA", 20),
    ("ASIA", 20),
    ("AIza", 35),
    ("hf_", 20),
    ("gsk_", 20),
    ("npm_", 30),
    ("pypi-", 30),
    ("eyJ", 40),
];
/// Words in names of variables and settings whose values are secret.
const NAMES: [&str; 9] = [
    "authorization",
    "authorization_token",
    "api_key",
    "apikey",
    "password",
    "passwd",
    "secret",
    "access_token",
    "private_key",
];
/// What the names of variables with secrets end with.
const ENDINGS: [&str; 5] = ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_CREDENTIALS"];
/// A shorter value of a variable could stand anywhere.
const SHORTEST_VALUE: usize = 8;
const BLOCK_BEGIN: &str = "-----BEGIN ";
const BLOCK_END: &str = "PRIVATE KEY-----";
/// How long the first line of one may be, behind its beginning.
const MAX_HEAD: usize = 64;

/// Takes secrets out of texts. It is shown every string that is written or
/// sent, and gives back what may be.
///
/// ```
/// use ptk_events::Redaction;
///
/// let redaction = Redaction::new(|text| text.replace("hunter2", "[redacted]").into());
/// assert_eq!(redaction.apply("It is hunter2."), "It is [redacted].");
/// ```
#[derive(Clone, Default)]
pub struct Redaction(Option<Arc<Redact>>);

type Redact = dyn Fn(&str) -> Cow<'_, str> + Send + Sync;

impl Redaction {
    /// Takes out what the function takes out.
    pub fn new(redact: impl Fn(&str) -> Cow<'_, str> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(redact)))
    }

    /// Takes out what looks like a secret: keys and tokens in the forms of
    /// well-known services, private keys, what follows `password=` and its
    /// like, and the values of variables of this process whose names end with
    /// `_KEY`, `_TOKEN`, `_SECRET`, `_PASSWORD` or `_CREDENTIALS`.
    ///
    /// ```
    /// use ptk_events::Redaction;
    ///
    /// let redaction = Redaction::secrets();
    /// assert_eq!(
    ///     redaction.apply("curl -H 'Authorization: Bearer abcdef0123456789' --user x"),
    ///     "curl -H 'Authorization: Bearer [redacted]' --user x",
    /// );
    /// ```
    #[must_use]
    pub fn secrets() -> Self {
        let variables = env::vars_os().filter_map(|(name, value)| {
            let name = name.to_str()?.to_ascii_uppercase();
            let is_secret = ENDINGS.iter().any(|ending| name.ends_with(ending));
            is_secret.then_some(())?;
            let value = value.into_string().ok()?;
            (value.len() >= SHORTEST_VALUE).then_some(value)
        });
        let values: Vec<String> = variables.collect();
        Self::new(move |text| hidden(text, &values))
    }

    /// What may be written or sent of a text.
    #[must_use]
    pub fn apply<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match &self.0 {
            Some(redact) => redact(text),
            None => text.into(),
        }
    }

    /// Whether it takes nothing out.
    #[must_use]
    pub const fn is_nothing(&self) -> bool {
        self.0.is_none()
    }
}

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Some(_) => "Redaction(…)",
            None => "Redaction(nothing)",
        })
    }
}

fn hidden<'t>(text: &'t str, values: &[String]) -> Cow<'t, str> {
    let mut shown: Cow<'t, str> = text.into();
    for value in values {
        if shown.contains(value.as_str()) {
            shown = shown.replace(value, REDACTED).into();
        }
    }
    for find in [private_keys, secret_words] {
        let secrets = find(&shown);
        if !secrets.is_empty() {
            shown = without(&shown, &secrets).into();
        }
    }
    shown
}

fn without(text: &str, secrets: &[(usize, usize)]) -> String {
    let mut written = String::with_capacity(text.len());
    let mut done = 0;
    for (start, end) in secrets {
        written.push_str(text.get(done..*start).unwrap_or_default());
        written.push_str(REDACTED);
        done = *end;
    }
    written.push_str(text.get(done..).unwrap_or_default());
    written
}

/// Where private keys begin and end. One that is cut off ends with the text.
fn private_keys(text: &str) -> Vec<(usize, usize)> {
    let mut keys = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(BLOCK_BEGIN)) {
        let start = from + at;
        let head = start + BLOCK_BEGIN.len();
        let rest = text.get(head..).unwrap_or_default();
        let line = rest.lines().next().unwrap_or_default();
        let bound = line.char_indices().nth(MAX_HEAD);
        let line = bound.map_or(line, |(at, _)| line.get(..at).unwrap_or_default());
        let Some(mark) = line.find(BLOCK_END) else {
            from = head;
            continue;
        };
        let body = head + mark + BLOCK_END.len();
        let end = text.get(body..).and_then(|body| body.find(BLOCK_END));
        from = end.map_or(text.len(), |at| body + at + BLOCK_END.len());
        keys.push((start, from));
    }
    keys
}

/// Where words stand that are secret by their form, or by what stands before
/// them.
fn secret_words(text: &str) -> Vec<(usize, usize)> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "_-.+/~".contains(letter);
    let mut secrets = Vec::new();
    let mut before = "";
    let mut is_named = false;
    let mut rest = text;
    while let Some(at) = rest.find(is_part) {
        let start = text.len() - rest.len() + at;
        let between = rest.get(..at).unwrap_or_default();
        let behind = rest.get(at..).unwrap_or_default();
        let length = behind
            .find(|letter| !is_part(letter))
            .unwrap_or(behind.len());
        let word = behind.get(..length).unwrap_or_default();
        rest = behind.get(length..).unwrap_or_default();
        // `password=x`, `"password": "x"`, but not `password, x`.
        let is_assigned = between.contains(['=', ':']) && between.len() <= 6;
        let is_bearer = ["bearer", "basic"].contains(&before.to_ascii_lowercase().as_str());
        let is_after_name = is_named && is_assigned && word.len() >= 4;
        let is_scheme = ["Bearer", "Basic"].contains(&word);
        if has_form(word) || (is_bearer && word.len() >= 8) || (is_after_name && !is_scheme) {
            secrets.push((start, start + length));
        }
        let lower = word.to_ascii_lowercase().replace('-', "_");
        is_named = NAMES.iter().any(|name| lower.ends_with(name));
        before = word;
    }
    secrets
}

fn has_form(word: &str) -> bool {
    let mut forms = FORMS.iter();
    forms.any(|(start, length)| word.starts_with(start) && word.len() >= *length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_secret_is_taken_out() {
        let key = format!("sk-{}", "a1".repeat(16));
        let pem = "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----";
        for (text, shown) in [
            (format!("use {key}."), "use [redacted]"),
            (
                format!("{{\"key\": \"{key}\"}}"),
                "{\"key\": \"[redacted]\"}",
            ),
            ("password=hunter2 x".to_owned(), "password=[redacted] x"),
            (
                "\"api_key\": \"abcd1234\"".to_owned(),
                "\"api_key\": \"[redacted]\"",
            ),
            (format!("a\n{pem}\nb"), "a\n[redacted]\nb"),
            (pem.get(..40).unwrap_or_default().to_owned(), "[redacted]"),
            (
                format!("-----BEGIN it\n{pem} and {pem}"),
                "-----BEGIN it\n[redacted] and [redacted]",
            ),
            (
                "\"authorization_token\": \"abcd1234\"".to_owned(),
                "\"authorization_token\": \"[redacted]\"",
            ),
        ] {
            assert_eq!(hidden(&text, &[]), shown, "{text}");
        }
        assert_eq!(
            hidden("a my-secret-value b", &["my-secret-value".to_owned()]),
            "a [redacted] b"
        );
    }

    #[test]
    fn what_does_not_stays() {
        for text in [
            "The password, please: it is wrong",
            "sk-short",
            "fn api_key(name: &str)",
            "-----BEGIN CERTIFICATE-----",
            "",
        ] {
            let shown = hidden(text, &[]);
            assert!(matches!(shown, Cow::Borrowed(_)), "{text}: {shown}");
        }
    }
}
