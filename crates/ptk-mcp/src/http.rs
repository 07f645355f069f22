//! Servers that are reached over HTTP.
//!
//! `rmcp` speaks the protocol, but reads an answer in JSON however long it is.
//! So requests are sent here, where every answer has a limit.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use reqwest::header::{
    ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Response, StatusCode};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::common::http_header::HEADER_SESSION_ID;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient,
    StreamableHttpClientTransportConfig, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use crate::connection::MAX_LISTED;
use crate::stdio::MAX_MESSAGE;
use crate::variables::{self, Notation};
use crate::{McpError, ServerDeclaration};

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How many redirects are followed.
const MAX_REDIRECTS: usize = 5;
/// How much of an unexpected answer is quoted.
const MAX_QUOTED: usize = 300;
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

type HttpError = StreamableHttpError<reqwest::Error>;

/// The names of the tools in the lists of a server. `rmcp` leaves out those whose
/// arguments cannot be sent in headers as the server wants, and does not say so.
#[derive(Debug, Clone, Default)]
pub(crate) struct ListedNames(Arc<Mutex<BTreeSet<String>>>);

impl ListedNames {
    /// Takes the names of the tools that were listed since they were taken last.
    pub(crate) fn take(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.lock())
    }

    fn note(&self, message: &ServerJsonRpcMessage) {
        let ServerJsonRpcMessage::Response(response) = message else {
            return;
        };
        if let ServerResult::ListToolsResult(list) = &response.result {
            let mut names = self.lock();
            let room = MAX_LISTED.saturating_sub(names.len());
            names.extend(
                list.tools
                    .iter()
                    .take(room)
                    .map(|tool| tool.name.to_string()),
            );
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The client for all requests to a server.
pub(crate) fn client(listed: ListedNames) -> Result<HttpClient, McpError> {
    let client = ptk_http::client()
        .connect_timeout(CONNECT)
        .redirect(Policy::custom(same_origin))
        .user_agent(concat!("ptk/", env!("CARGO_PKG_VERSION")))
        .build();
    let failed = |error| McpError::Setting(format!("HTTP does not work here: {error}"));
    let client = client.map_err(failed)?;
    Ok(HttpClient { client, listed })
}

/// Where a server is reached, and what each request carries.
pub(crate) fn config(
    declared: &ServerDeclaration,
) -> Result<StreamableHttpClientTransportConfig, McpError> {
    let url = declared.url.clone().unwrap_or_default();
    let config = StreamableHttpClientTransportConfig::with_uri(url);
    Ok(config
        .custom_headers(headers(declared)?)
        .max_sse_event_size(MAX_MESSAGE))
}

/// The headers of requests, with the values of the variables that they name.
fn headers(declared: &ServerDeclaration) -> Result<HashMap<HeaderName, HeaderValue>, McpError> {
    let headers = declared.headers.iter().map(|(name, value)| {
        let value = variables::expand(value, Notation::Plain, |name| std::env::var(name).ok());
        let value = value.map_err(|name| {
            McpError::Setting(format!(
                "the variable {name} is not set in the environment of ptk"
            ))
        })?;
        let wrong = || McpError::Setting(format!("the header {name} cannot be sent"));
        let name = HeaderName::try_from(name.as_str()).map_err(|_| wrong())?;
        let mut value = HeaderValue::try_from(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        Ok((name, value))
    });
    headers.collect()
}

/// Follows a server only to itself, so that no header goes to another host, and
/// only where the request is sent again as it is.
fn same_origin(attempt: Attempt<'_>) -> Action {
    let first = attempt.previous().first().map(reqwest::Url::origin);
    let is_same = first == Some(attempt.url().origin());
    let keeps_request = matches!(
        attempt.status(),
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
    );
    if is_same && keeps_request && attempt.previous().len() <= MAX_REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

/// A client whose answers have limits.
#[derive(Debug, Clone)]
pub(crate) struct HttpClient {
    client: reqwest::Client,
    listed: ListedNames,
}

impl StreamableHttpClient for HttpClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let mut request = self.client.post(uri.as_ref());
        request = request.header(ACCEPT, format!("{JSON}, {EVENTS}"));
        if let Some(token) = auth_header {
            request = request.bearer_auth(token);
        }
        for (name, value) in custom_headers {
            request = request.header(name, value);
        }
        let has_session = session_id.is_some();
        if let Some(session) = session_id {
            request = request.header(HEADER_SESSION_ID, session.as_ref());
        }
        let response = request.json(&message).send().await?;
        let answer = answered(response, &message, has_session).await?;
        Ok(if is_list(&message) {
            self.note_names(answer)
        } else {
            answer
        })
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpError> {
        self.client
            .delete_session(uri, session_id, auth_header, custom_headers)
            .await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, HttpError> {
        self.client
            .get_stream_with_max_sse_event_size(
                uri,
                session_id,
                last_event_id,
                auth_header,
                custom_headers,
                MAX_MESSAGE,
            )
            .await
    }
}

impl HttpClient {
    /// The same answer, whose tools are noted when it is read.
    fn note_names(&self, answer: StreamableHttpPostResponse) -> StreamableHttpPostResponse {
        let listed = self.listed.clone();
        match answer {
            StreamableHttpPostResponse::Sse(events, session) => {
                let events = events.inspect(move |event| {
                    let data = event.as_ref().ok().and_then(|event| event.data.as_deref());
                    if let Some(Ok(message)) =
                        data.map(serde_json::from_str::<ServerJsonRpcMessage>)
                    {
                        listed.note(&message);
                    }
                });
                StreamableHttpPostResponse::Sse(events.boxed(), session)
            }
            StreamableHttpPostResponse::Json(message, session) => {
                listed.note(&message);
                StreamableHttpPostResponse::Json(message, session)
            }
            answer => answer,
        }
    }
}

fn is_list(message: &ClientJsonRpcMessage) -> bool {
    let ClientJsonRpcMessage::Request(request) = message else {
        return false;
    };
    matches!(request.request, ClientRequest::ListToolsRequest(_))
}

/// What a server has answered to a message.
async fn answered(
    response: Response,
    message: &ClientJsonRpcMessage,
    has_session: bool,
) -> Result<StreamableHttpPostResponse, HttpError> {
    let status = response.status();
    if let Some(error) = unauthorized(&response) {
        return Err(error);
    }
    if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
        return Ok(StreamableHttpPostResponse::Accepted);
    }
    if status == StatusCode::NOT_FOUND && has_session {
        return Err(StreamableHttpError::SessionExpired);
    }
    let header = |name| {
        let value = response.headers().get(name)?.to_str().ok()?;
        Some(value.to_owned())
    };
    let kind = header(CONTENT_TYPE).unwrap_or_default();
    let session = header(HeaderName::from_static("mcp-session-id"));
    if status.is_success() && kind.starts_with(EVENTS) {
        return Ok(StreamableHttpPostResponse::Sse(events(response), session));
    }
    let retry_after = header(RETRY_AFTER);
    let body = body(response).await?;
    let is_answered = matches!(message, ClientJsonRpcMessage::Request(_));
    let parsed = serde_json::from_slice::<ServerJsonRpcMessage>(&body);
    if status.is_success() {
        return match parsed {
            Ok(parsed) => Ok(StreamableHttpPostResponse::Json(parsed, session)),
            Err(_) if !is_answered => Ok(StreamableHttpPostResponse::Accepted),
            Err(error) => Err(unexpected(format!("{error}: {}", quoted(&body)))),
        };
    }
    if let Some(refused) = refused_discovery(message, has_session, status, &body) {
        return Ok(refused);
    }
    let is_login = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    match parsed {
        Ok(error @ ServerJsonRpcMessage::Error(_)) if !is_login => {
            Ok(StreamableHttpPostResponse::Json(error, session))
        }
        _ if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() => {
            Err(HttpStatusError::new(status.as_u16(), retry_after).into())
        }
        _ => Err(unexpected(format!("HTTP {status}: {}", quoted(&body)))),
    }
}

/// The error of an answer that wants a login, or more rights.
fn unauthorized(response: &Response) -> Option<HttpError> {
    let challenges = response.headers().get_all(WWW_AUTHENTICATE).iter();
    let challenges: Vec<&str> = challenges.filter_map(|it| it.to_str().ok()).collect();
    // Other ways to log in may stand before the one that is meant here.
    let is_bearer = |it: &&&str| {
        it.get(..6)
            .is_some_and(|it| it.eq_ignore_ascii_case("bearer"))
    };
    let challenge = challenges.iter().find(is_bearer).or(challenges.first());
    let is_named = challenge.is_some();
    let challenge = challenge.map_or_else(String::new, |it| (*it).to_owned());
    match response.status() {
        StatusCode::UNAUTHORIZED => Some(StreamableHttpError::AuthRequired(
            AuthRequiredError::new(challenge),
        )),
        StatusCode::FORBIDDEN if is_named => {
            let error = InsufficientScopeError::new(challenge, None);
            Some(StreamableHttpError::InsufficientScope(error))
        }
        _ => None,
    }
}

/// A server of an older revision refuses to be discovered with whatever status
/// and body it likes: that is an answer, after which it is initialized.
fn refused_discovery(
    message: &ClientJsonRpcMessage,
    has_session: bool,
    status: StatusCode,
    body: &[u8],
) -> Option<StreamableHttpPostResponse> {
    let ClientJsonRpcMessage::Request(request) = message else {
        return None;
    };
    let is_discovery = matches!(request.request, ClientRequest::DiscoverRequest(_));
    let is_login = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    if !is_discovery || has_session || is_login || !status.is_client_error() {
        return None;
    }
    let error = match serde_json::from_slice(body) {
        Ok(ServerJsonRpcMessage::Error(error)) => error.error,
        _ => ErrorData::invalid_request(format!("HTTP {status}: {}", quoted(body)), None),
    };
    let error = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
    Some(StreamableHttpPostResponse::Json(error, None))
}

/// The body of an answer, if it is not too long.
async fn body(response: Response) -> Result<Vec<u8>, HttpError> {
    let mut body = Vec::new();
    let mut stream = response.bytes_stream();
    while let Some(chunk) = stream.next().await {
        body.extend_from_slice(&chunk?);
        if body.len() > MAX_MESSAGE {
            return Err(too_long());
        }
    }
    Ok(body)
}

/// The events of an answer. One that is too long ends them.
fn events(response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
    let mut length = 0;
    let mut is_line_empty = true;
    let bounded = response.bytes_stream().map(move |chunk| {
        let chunk = chunk.map_err(std::io::Error::other)?;
        for byte in &chunk {
            length += 1;
            match byte {
                b'\n' if is_line_empty => length = 0,
                b'\n' => is_line_empty = true,
                b'\r' => {}
                _ => is_line_empty = false,
            }
            if length > MAX_MESSAGE {
                return Err(std::io::Error::other(too_long().to_string()));
            }
        }
        Ok(chunk)
    });
    SseStream::from_bytes_stream(bounded).boxed()
}

fn too_long() -> HttpError {
    unexpected(format!(
        "the server sent a message of more than {MAX_MESSAGE} bytes"
    ))
}

const fn unexpected(message: String) -> HttpError {
    StreamableHttpError::UnexpectedServerResponse(Cow::Owned(message))
}

fn quoted(body: &[u8]) -> String {
    crate::text::in_line(&String::from_utf8_lossy(body), MAX_QUOTED)
}
