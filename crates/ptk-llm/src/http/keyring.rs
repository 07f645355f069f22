//! Keys in the keyring of the system, which keeps them for the user who is
//! logged in: the Secret Service, Apple's Keychain or the Windows Credential
//! Manager. Only with the feature `keyring`.

use std::time::Duration;

use super::{Key, Service};

/// How long to wait for a key. A locked keyring asks its owner first.
const LOOK: Duration = Duration::from_secs(10);
/// How long to wait for a change of a key.
const CHANGE: Duration = Duration::from_secs(60);

/// The keyring of the system. All operations block, for a limited time.
#[derive(Debug, Clone, Copy)]
pub struct Keyring;

/// Why the keyring could not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyringError {
    /// There is no keyring, or it is locked.
    #[error("the system has no keyring that can be used: {0}")]
    Unusable(String),
    /// The keyring did not answer in time.
    #[error("the system's keyring does not answer; see whether it is locked")]
    Late,
}

impl Keyring {
    /// The key of a service, if there is one.
    ///
    /// # Errors
    ///
    /// If there is no keyring, or it does not answer.
    pub fn get(service: &Service) -> Result<Option<Key>, KeyringError> {
        let account = service.account();
        let found = within(LOOK, move || entry::get(account))?;
        Ok(found.and_then(Key::new))
    }

    /// Stores the key of a service.
    ///
    /// # Errors
    ///
    /// If there is no keyring, or it does not answer.
    pub fn set(service: &Service, key: &Key) -> Result<(), KeyringError> {
        let (account, key) = (service.account(), key.as_str().to_owned());
        within(CHANGE, move || entry::set(account, &key))
    }

    /// Removes the key of a service, and returns whether there was one.
    ///
    /// # Errors
    ///
    /// If there is no keyring, or it does not answer.
    pub fn remove(service: &Service) -> Result<bool, KeyringError> {
        let account = service.account();
        within(CHANGE, move || entry::remove(account))
    }
}

/// Runs work that may never end on a thread of its own, with a timeout.
fn within<T: Send + 'static>(
    timeouts: Duration,
    work: impl FnOnce() -> Result<T, KeyringError> + Send + 'static,
) -> Result<T, KeyringError> {
    let (tell, told) = std::sync::mpsc::channel();
    let thread = std::thread::Builder::new().name("keyring".to_owned());
    let started = thread.spawn(move || {
        // The receiver may have timed out.
        let _ = tell.send(work());
    });
    started.map_err(|error| KeyringError::Unusable(error.to_string()))?;
    told.recv_timeout(timeouts)
        .unwrap_or(Err(KeyringError::Late))
}

mod entry {
    use keyring::{Entry, Error};

    use super::KeyringError;

    /// The service name under which all keys are stored.
    const SERVICE: &str = "ptk";

    fn of(account: &str) -> Result<Entry, KeyringError> {
        if let Err(error) = Entry::store_status() {
            return Err(KeyringError::Unusable(told(error)));
        }
        Entry::new(SERVICE, account).map_err(|error| KeyringError::Unusable(told(&error)))
    }

    /// The error message, without what may be a secret.
    fn told(error: &Error) -> String {
        match error {
            Error::PlatformFailure(error) | Error::NoStorageAccess(error) => error.to_string(),
            Error::Ambiguous(_) => "it holds several keys of this name".to_owned(),
            Error::BadEncoding(_) | Error::BadDataFormat(..) => "the key is not text".to_owned(),
            error => error.to_string(),
        }
    }

    /// The result of an operation, in which a missing key is not an error.
    fn found<T>(result: Result<T, Error>) -> Result<Option<T>, KeyringError> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(KeyringError::Unusable(told(&error))),
        }
    }

    pub(super) fn get(account: &str) -> Result<Option<String>, KeyringError> {
        found(of(account)?.get_password())
    }

    pub(super) fn set(account: &str, key: &str) -> Result<(), KeyringError> {
        found(of(account)?.set_password(key)).map(drop)
    }

    pub(super) fn remove(account: &str) -> Result<bool, KeyringError> {
        found(of(account)?.delete_credential()).map(|removed| removed.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_a_keyring_without_end() {
        let (_open, closed) = std::sync::mpsc::channel::<()>();
        let stuck = move || {
            let _ = closed.recv();
            Ok(())
        };
        let timeouts = Duration::from_millis(1);
        assert_eq!(within(timeouts, stuck), Err(KeyringError::Late));
        assert_eq!(within(CHANGE, || Ok(7)), Ok(7));
    }
}
