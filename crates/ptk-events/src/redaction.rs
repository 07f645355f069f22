//! Removes secrets before anything is written or sent.

mod forms;
mod named;
mod urls;

use std::borrow::Cow;
use std::env;
use std::fmt;
use std::sync::Arc;

/// The text in the place of a secret.
pub const REDACTED: &str = "[redacted]";
/// The suffixes of variable names whose values are secret.
const ENDINGS: [&str; 5] = ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_CREDENTIALS"];
/// The shortest secret value of a variable: a shorter one could stand anywhere.
const SHORTEST_VALUE: usize = 8;
/// How often a text is searched: what follows a secret may be recognised as one
/// only once that is removed.
const MAX_ROUNDS: usize = 4;

/// Removes secrets from texts. It gets every string that is written or sent,
/// and returns it without secrets.
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
    /// Creates a redaction with a custom function.
    pub fn new(redact: impl Fn(&str) -> Cow<'_, str> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(redact)))
    }

    /// Removes what looks like a secret: keys and tokens in the forms of
    /// well-known services, private keys, passwords in addresses, what follows
    /// `password=`, `--token`, `Authorization:` and their like, and the values
    /// of variables of this process whose names end with `_KEY`, `_TOKEN`,
    /// `_SECRET`, `_PASSWORD` or `_CREDENTIALS`. It takes time in proportion to
    /// the text, and changes nothing in a text that it was applied to before.
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

    /// The text without secrets.
    #[must_use]
    pub fn apply<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match &self.0 {
            Some(redact) => redact(text),
            None => text.into(),
        }
    }

    /// Whether it removes nothing.
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
        if shown.contains(value.as_str()) && !REDACTED.contains(value.as_str()) {
            shown = shown.replace(value, REDACTED).into();
        }
    }
    for _ in 0..MAX_ROUNDS {
        let mut found = Found::default();
        forms::private_keys(&shown, &mut found);
        urls::passwords(&shown, &mut found);
        forms::tokens(&shown, &mut found);
        named::values(&shown, &mut found);
        if found.ranges.is_empty() {
            break;
        }
        shown = found.without(&shown).into();
    }
    shown
}

/// The positions of secrets in a text.
#[derive(Debug, Default)]
struct Found {
    ranges: Vec<(usize, usize)>,
}

impl Found {
    fn push(&mut self, start: usize, end: usize) {
        if start < end {
            self.ranges.push((start, end));
        }
    }

    /// The text without the secrets. Those that overlap are one.
    fn without(mut self, text: &str) -> String {
        self.ranges.sort_unstable();
        let mut written = String::with_capacity(text.len());
        let mut done = 0;
        for (start, end) in self.ranges {
            if start >= done {
                written.push_str(text.get(done..start).unwrap_or_default());
                written.push_str(REDACTED);
            }
            done = done.max(end);
        }
        written.push_str(text.get(done..).unwrap_or_default());
        written
    }
}

/// Whether this is a placeholder and not a secret: a variable, a gap to be
/// filled in, or what was redacted before.
fn is_placeholder(text: &str) -> bool {
    let text = text.trim_matches(['"', '\'']);
    text.starts_with(['$', '<', '{', '%', '*', '['])
        || text.contains(REDACTED)
        || text.contains("${")
        || text.contains("{{")
        || text
            .chars()
            .all(|c| matches!(c, '*' | 'x' | 'X' | '.' | '…'))
}

#[cfg(test)]
mod tests;
