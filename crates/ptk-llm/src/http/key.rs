//! API keys, which are never shown.

use std::fmt;

/// A key for a server. It is sent, and never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Creates a key; `None` if the text is empty.
    pub fn new(key: impl AsRef<str>) -> Option<Self> {
        let key = key.as_ref().trim();
        (!key.is_empty()).then(|| Self(key.to_owned()))
    }

    /// The key in the first of these variables that is set.
    #[must_use]
    pub fn of_variables(names: &[&str]) -> Option<Self> {
        let mut values = names.iter().filter_map(|name| std::env::var(name).ok());
        values.find_map(Self::new)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Removes the key from a text: servers quote what they reject.
    pub(super) fn hidden_in(&self, text: &str) -> String {
        text.replace(&self.0, "[key]")
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}
