//! API keys, which are never shown.

use std::fmt;

use super::{KeyFile, KeyFileError, Service};

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

    /// The key of a service: in a variable or, if none is set and the service
    /// does nothing without one, in the user's key file or, with the feature
    /// `keyring`, in the system's keyring. Blocks.
    ///
    /// # Errors
    ///
    /// If the key file cannot be used. A keyring that cannot be used holds no
    /// key.
    pub fn of_service(service: &Service) -> Result<Option<Self>, KeyFileError> {
        let key = Self::of_variables(service.keys);
        if key.is_some() || !service.needs_key {
            return Ok(key);
        }
        let file = KeyFile::of_user();
        let key = file.map_or(Ok(None), |file| file.get(service))?;
        Ok(key.or_else(|| Self::of_keyring(service)))
    }

    #[cfg(feature = "keyring")]
    fn of_keyring(service: &Service) -> Option<Self> {
        let kept = super::Keyring::get(service).inspect_err(|error| {
            tracing::debug!(%error, service = service.name, "no key was looked for");
        });
        kept.ok().flatten()
    }

    #[cfg(not(feature = "keyring"))]
    const fn of_keyring(_service: &Service) -> Option<Self> {
        None
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
