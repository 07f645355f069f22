//! The tokens of logins, and what is needed to use and refresh them.

use std::sync::Arc;

use async_trait::async_trait;
use rmcp::transport::auth::{
    AuthError, CredentialRefreshGuard, CredentialStore, StoredCredentials,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where tokens are kept. Its functions block.
pub trait TokenStore: Send + Sync {
    /// The tokens for a server, by its address.
    ///
    /// # Errors
    ///
    /// Why they cannot be read.
    fn load(&self, url: &str) -> Result<Option<String>, String>;

    /// Keeps the tokens for a server, or forgets them.
    ///
    /// # Errors
    ///
    /// Why they cannot be kept.
    fn save(&self, url: &str, tokens: Option<&str>) -> Result<(), String>;

    /// Waits until no other process refreshes tokens, and keeps others from
    /// doing so until the returned value is dropped.
    ///
    /// # Errors
    ///
    /// Why that is not possible.
    fn lock(&self) -> Result<Box<dyn Send>, String>;
}

/// What is kept of a login besides its tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LoginDetails {
    /// The secret of the client. Without it, the tokens of a client that has one
    /// cannot be refreshed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_secret: Option<String>,
    /// The header in which the server asked for the login. It may be the only
    /// one to name the authorization server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) challenge: Option<String>,
}

/// The tokens for one server.
#[derive(Clone)]
pub(crate) struct ServerTokens {
    store: Arc<dyn TokenStore>,
    url: String,
    /// What is kept beside the tokens.
    pub(crate) details: LoginDetails,
}

impl ServerTokens {
    pub(crate) fn new(store: Arc<dyn TokenStore>, url: &str) -> Self {
        Self {
            store,
            url: url.to_owned(),
            details: LoginDetails::default(),
        }
    }

    /// The login that is kept, if there is one that has tokens.
    pub(crate) async fn stored(
        &self,
    ) -> Result<Option<(StoredCredentials, LoginDetails)>, AuthError> {
        let Some(text) = self.text().await? else {
            return Ok(None);
        };
        let Some(credentials) = credentials(&text).filter(|it| it.token_response.is_some()) else {
            return Ok(None);
        };
        let details = serde_json::from_str(&text).unwrap_or_default();
        Ok(Some((credentials, details)))
    }

    async fn text(&self) -> Result<Option<String>, AuthError> {
        self.blocking(|store, url| store.load(url)).await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn TokenStore, &str) -> Result<T, String> + Send + 'static,
    ) -> Result<T, AuthError> {
        let (store, url) = (Arc::clone(&self.store), self.url.clone());
        let done = tokio::task::spawn_blocking(move || work(&*store, &url)).await;
        let done = done.unwrap_or_else(|error| Err(error.to_string()));
        done.map_err(AuthError::CredentialStoreError)
    }
}

/// The tokens in a text. Those of another form are as good as none.
fn credentials(text: &str) -> Option<StoredCredentials> {
    serde_json::from_str(text).ok()
}

/// A login as it is kept: the members of both in one object.
fn as_text(
    credentials: &StoredCredentials,
    details: &LoginDetails,
) -> Result<String, serde_json::Error> {
    let mut login = serde_json::to_value(credentials)?;
    if let (Value::Object(login), Value::Object(details)) =
        (&mut login, serde_json::to_value(details)?)
    {
        login.extend(details);
    }
    Ok(login.to_string())
}

#[async_trait]
impl CredentialStore for ServerTokens {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let text = self.text().await?;
        Ok(text.and_then(|text| credentials(&text)))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let text = as_text(&credentials, &self.details);
        let text = text.map_err(|error| AuthError::CredentialStoreError(error.to_string()))?;
        self.blocking(move |store, url| store.save(url, Some(&text)))
            .await
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.blocking(|store, url| store.save(url, None)).await
    }

    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let guard = self.blocking(|store, _| store.lock()).await?;
        Ok(Some(CredentialRefreshGuard::new(guard)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_are_kept_beside_the_tokens() {
        let kept = StoredCredentials::new("client".to_owned(), None, vec!["a".to_owned()], Some(1));
        let details = LoginDetails {
            client_secret: Some("secret".to_owned()),
            challenge: None,
        };
        let text = as_text(&kept, &details).unwrap();
        assert_eq!(credentials(&text).unwrap().client_id, "client");
        assert_eq!(
            serde_json::from_str::<LoginDetails>(&text).unwrap(),
            details
        );
        // What an earlier version has kept.
        let text = serde_json::to_string(&kept).unwrap();
        let details: LoginDetails = serde_json::from_str(&text).unwrap();
        assert_eq!(details, LoginDetails::default());
    }
}
