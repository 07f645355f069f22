//! Logging in to servers: OAuth 2.1 in the user's browser, and the tokens that
//! come of it.
//!
//! `rmcp` follows the protocol: it finds the authorization server, registers
//! where there is no other way, and checks the issuer. Here are the user's side
//! of it, and where tokens are kept.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession,
    CredentialRefreshGuard, CredentialStore, StoredCredentials,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::declaration::is_private;
use crate::text::in_line;
use crate::{McpError, ServerDeclaration};

/// How long the user has to log in.
const PATIENCE: Duration = Duration::from_secs(300);
/// The longest request of the browser, in bytes.
const MAX_REQUEST: usize = 16 * 1024;
/// How long the browser has to send it.
const REQUEST: Duration = Duration::from_secs(10);
/// Where the browser comes back to.
const CALLBACK: &str = "/callback";
/// How many characters of an error are told.
const MAX_ERROR: usize = 500;

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

/// The tokens for one server.
struct ServerTokens {
    store: Arc<dyn TokenStore>,
    url: String,
}

impl ServerTokens {
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

#[async_trait]
impl CredentialStore for ServerTokens {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let text = self.blocking(|store, url| store.load(url)).await?;
        // Tokens of another form are as good as none.
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let text = serde_json::to_string(&credentials);
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

/// The manager of a login to a server; `None` without stored tokens.
pub(crate) async fn manager(
    url: &str,
    store: &Arc<dyn TokenStore>,
) -> Result<Option<AuthorizationManager>, McpError> {
    let tokens = ServerTokens {
        store: Arc::clone(store),
        url: url.to_owned(),
    };
    let stored = tokens.load().await.map_err(|error| failed(&error))?;
    let Some(stored) = stored.filter(|stored| stored.token_response.is_some()) else {
        return Ok(None);
    };
    let mut manager = new_manager(url).await?;
    let found = manager.resolve_metadata().await;
    let found = found.map_err(|error| failed(&error))?.metadata;
    // A server that does not name its issuer any more would get the tokens of
    // the one that it has named before.
    if stored.issuer != found.issuer {
        tokens.clear().await.map_err(|error| failed(&error))?;
        return Ok(None);
    }
    manager.set_metadata(found);
    manager.set_credential_store(tokens);
    let is_usable = manager
        .initialize_from_store()
        .await
        .map_err(|error| failed(&error))?;
    Ok(is_usable.then_some(manager))
}

async fn new_manager(url: &str) -> Result<AuthorizationManager, McpError> {
    if !reqwest::Url::parse(url).is_ok_and(|url| is_private(&url)) {
        let what =
            "tokens would go over the network without encryption; use an address with https://";
        return Err(McpError::Login(what.to_owned()));
    }
    ptk_http::choose_cryptography();
    AuthorizationManager::new(url)
        .await
        .map_err(|error| failed(&error))
}

/// How a user logs in.
pub struct Login<'a> {
    /// The client that was registered by hand, if one was.
    pub client_id: Option<&'a str>,
    /// What is asked for, if not what the server suggests.
    pub scopes: &'a [String],
    /// Shows the address at which the user logs in, or opens it.
    pub open: &'a (dyn Fn(&str) + Send + Sync),
}

/// Logs in to a server, and keeps the tokens. Waits for the user.
///
/// # Errors
///
/// If the server wants no login, or it was not completed.
pub async fn login(
    declared: &ServerDeclaration,
    store: Arc<dyn TokenStore>,
    login: Login<'_>,
) -> Result<(), McpError> {
    let Some(url) = &declared.url else {
        let what = "a server that is a program takes no login; see its documentation for variables to set with `env`";
        return Err(McpError::Setting(what.to_owned()));
    };
    let listener = TcpListener::bind(("127.0.0.1", 0)).await;
    let here = listener.and_then(|listener| Ok((listener.local_addr()?.port(), listener)));
    let (port, listener) =
        here.map_err(|error| McpError::Setting(format!("the browser cannot come back: {error}")))?;
    let mut manager = new_manager(url).await?;
    manager.set_credential_store(ServerTokens {
        store,
        url: url.clone(),
    });
    let found = manager
        .resolve_metadata()
        .await
        .map_err(|error| failed(&error))?;
    manager.set_metadata(found.metadata);
    let mut request = AuthorizationRequest::new(format!("http://127.0.0.1:{port}{CALLBACK}"))
        .with_client_name("PTK");
    if let Some(client) = login.client_id {
        request = request.with_preregistered_client(client);
    }
    if !login.scopes.is_empty() {
        request = request.with_scopes(login.scopes.iter().cloned());
    }
    let session = AuthorizationSession::new(manager, request).await;
    let session = session.map_err(|(_, error)| failed(&error))?;
    let address = session.get_authorization_url();
    if !reqwest::Url::parse(address).is_ok_and(|url| is_private(&url)) {
        let address = in_line(address, 200);
        let what = format!("the server names {address} for it, which is not opened");
        return Err(McpError::Login(what));
    }
    (login.open)(address);
    let returned = tokio::time::timeout(PATIENCE, returned(&listener)).await;
    let (target, mut browser) = returned.map_err(|_| McpError::TimedOut(PATIENCE))?;
    let done = session
        .handle_callback_url(&format!("http://127.0.0.1:{port}{target}"))
        .await
        .map_err(|error| failed(&error));
    let told = match &done {
        Ok(_) => "You are logged in. You can close this page.",
        Err(_) => "The login has failed. The terminal says why.",
    };
    // The login counts even if the page was closed at once.
    let _ = browser.write_all(page(told).as_bytes()).await;
    done.map(drop)
}

/// Waits until the browser comes back, and returns what it asks for.
async fn returned(listener: &TcpListener) -> (String, TcpStream) {
    loop {
        let Ok((mut browser, _)) = listener.accept().await else {
            continue;
        };
        let target = tokio::time::timeout(REQUEST, target(&mut browser)).await;
        match target.ok().flatten() {
            Some(target) if target.split('?').next() == Some(CALLBACK) => return (target, browser),
            // A browser also asks for an icon.
            _ => drop(browser.write_all(NOT_FOUND.as_bytes()).await),
        }
    }
}

const NOT_FOUND: &str = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// What a request asks for.
async fn target(browser: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = browser
            .read(&mut buffer)
            .await
            .ok()
            .filter(|read| *read > 0)?;
        request.extend_from_slice(buffer.get(..read)?);
        if request.len() > MAX_REQUEST {
            return None;
        }
    }
    let text = String::from_utf8(request).ok()?;
    let mut words = text.lines().next()?.split(' ');
    let is_get = words.next() == Some("GET");
    words.next().filter(|_| is_get).map(str::to_owned)
}

/// An answer to the browser.
fn page(text: &str) -> String {
    let body = format!("<!doctype html><meta charset=\"utf-8\"><title>PTK</title><p>{text}</p>");
    let mut answer = "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\n".to_owned();
    let length = body.len();
    let _ = write!(
        answer,
        "content-length: {length}\r\ncontent-security-policy: default-src 'none'\r\nconnection: close\r\n\r\n{body}"
    );
    answer
}

fn failed(error: &AuthError) -> McpError {
    let reason = in_line(&error.to_string(), MAX_ERROR);
    match error {
        AuthError::HttpError(_) => McpError::Connect {
            reason,
            stderr: String::new(),
        },
        _ => McpError::Login(reason),
    }
}
