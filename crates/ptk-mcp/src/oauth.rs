//! Logging in to servers: OAuth 2.1 in the user's browser, and the tokens that
//! come of it.
//!
//! `rmcp` follows the protocol: it finds the authorization server, registers
//! where there is no other way, and checks the issuer. Here are the user's side
//! of it.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession,
    CredentialStore as _, OAuthClientConfig,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::connection::Connection;
use crate::declaration::is_private;
use crate::text::in_line;
use crate::tokens::{ServerTokens, TokenStore};
use crate::{McpError, ServerDeclaration};

/// How long the user has to log in.
const PATIENCE: Duration = Duration::from_secs(300);
/// The longest request of the browser, in bytes.
const MAX_REQUEST: usize = 16 * 1024;
/// The longest header in which a server asks for a login, in bytes: it is kept.
const MAX_CHALLENGE: usize = 8 * 1024;
/// How long the browser has to send it.
const REQUEST: Duration = Duration::from_secs(10);
/// The name of PTK where it registers itself.
const NAME: &str = "PTK";
/// Where the browser comes back to.
const CALLBACK: &str = "/callback";
/// How many characters of an error are told.
const MAX_ERROR: usize = 500;

/// A login that is kept, as requests use it.
pub(crate) struct KeptLogin {
    pub(crate) manager: AuthorizationManager,
    /// What it allows.
    pub(crate) scopes: Vec<String>,
}

/// The login to a server that is kept; `None` without tokens that can be used.
pub(crate) async fn kept_login(
    url: &str,
    store: &Arc<dyn TokenStore>,
) -> Result<Option<KeptLogin>, McpError> {
    let mut tokens = ServerTokens::new(Arc::clone(store), url);
    let stored = tokens.stored().await.map_err(|error| failed(&error))?;
    let Some((stored, details)) = stored else {
        return Ok(None);
    };
    let mut manager = new_manager(url).await?;
    let found = manager.resolve_metadata_from_challenge(details.challenge.as_deref());
    let found = found.await.map_err(|error| failed(&error))?.metadata;
    // A server that does not name its issuer any more would get the tokens of
    // the one that it has named before.
    if stored.issuer != found.issuer {
        tokens.clear().await.map_err(|error| failed(&error))?;
        return Ok(None);
    }
    manager.set_metadata(found);
    let secret = details.client_secret.clone();
    tokens.details = details;
    manager.set_credential_store(tokens);
    let is_usable = manager
        .initialize_from_store()
        .await
        .map_err(|error| failed(&error))?;
    if !is_usable {
        return Ok(None);
    }
    if let Some(secret) = secret {
        let client = OAuthClientConfig::new(stored.client_id, url).with_client_secret(secret);
        manager
            .configure_client(client)
            .map_err(|error| failed(&error))?;
    }
    Ok(Some(KeptLogin {
        manager,
        scopes: stored.granted_scopes,
    }))
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
    /// Its secret, if it has one.
    pub client_secret: Option<&'a str>,
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
    let mut tokens = ServerTokens::new(store, url);
    tokens.details.challenge = challenge(declared).await;
    let found = manager.resolve_metadata_from_challenge(tokens.details.challenge.as_deref());
    let found = found.await.map_err(|error| failed(&error))?;
    manager.set_metadata(found.metadata);
    let redirect = format!("http://127.0.0.1:{port}{CALLBACK}");
    let (client_id, client_secret) = client(&mut manager, &login, &redirect).await?;
    let mut request = AuthorizationRequest::new(redirect)
        .with_initial_scope_selection()
        .with_scopes(login.scopes.iter().cloned())
        .with_preregistered_client(client_id);
    if let Some(secret) = &client_secret {
        request = request.with_client_secret(secret);
    }
    tokens.details.client_secret = client_secret;
    manager.set_credential_store(tokens);
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

/// The header in which a server asks for a login, when its tools are listed
/// without one: servers may let everybody connect, and some name their
/// authorization server only here.
async fn challenge(declared: &ServerDeclaration) -> Option<String> {
    let failed = match Connection::open_without_login(declared).await {
        Ok(connection) => {
            let listed = connection.list_tools().await;
            connection.close().await;
            listed.err()
        }
        Err(error) => Some(error),
    };
    match failed {
        Some(McpError::Unauthorized { challenge }) => {
            challenge.filter(|it| !it.is_empty() && it.len() <= MAX_CHALLENGE)
        }
        _ => None,
    }
}

/// The id and the secret of the client: one that was registered by hand, or one
/// that is registered now.
async fn client(
    manager: &mut AuthorizationManager,
    login: &Login<'_>,
    redirect: &str,
) -> Result<(String, Option<String>), McpError> {
    if let Some(id) = login.client_id {
        return Ok((id.to_owned(), login.client_secret.map(str::to_owned)));
    }
    let scopes = if login.scopes.is_empty() {
        manager.select_initial_scopes(&[]).await
    } else {
        login.scopes.to_vec()
    };
    let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
    match manager.register_client(NAME, redirect, &scopes).await {
        Ok(client) => Ok((client.client_id, client.client_secret)),
        Err(AuthError::RegistrationFailed(reason)) => Err(McpError::Login(format!(
            "PTK cannot register itself ({}); register a client there by hand, and give its id with --client-id",
            in_line(&reason, MAX_ERROR)
        ))),
        Err(error) => Err(failed(&error)),
    }
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
