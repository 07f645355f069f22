//! What every request has to pass before the protocol is spoken: its path, its
//! token, the size of its body, and the number of sessions.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{
    CONNECTION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use hyper::{Method, Request, Response, StatusCode};
use rmcp::model::ErrorCode;
use rmcp::transport::StreamableHttpService;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use tokio::sync::Semaphore;

use super::super::MAX_MESSAGE;
use super::super::connection::Connection;
use super::sessions::LimitedSessions;
use super::{AccessToken, HTTP_PATH, HttpLimits, SESSION_ID};

/// The largest body that is read whatever else is being read.
const SMALL: u64 = 64 * 1024;
/// How many larger ones are read at the same time.
const LARGE_AT_ONCE: usize = 8;
/// The code of errors that are about the connection, not a request.
const CONNECTION_ERROR: ErrorCode = ErrorCode(-32000);

type Answer = Response<BoxBody<Bytes, Infallible>>;

/// Answers requests, or passes them on.
pub(super) struct Front {
    service: StreamableHttpService<Connection, LimitedSessions>,
    sessions: Arc<LimitedSessions>,
    token: Option<AccessToken>,
    body_time: Duration,
    /// One permit for each large body that is being read.
    large: Semaphore,
}

impl Front {
    pub(super) fn new(
        service: StreamableHttpService<Connection, LimitedSessions>,
        sessions: Arc<LimitedSessions>,
        token: Option<AccessToken>,
        limits: HttpLimits,
    ) -> Self {
        Self {
            service,
            sessions,
            token,
            body_time: limits.body_time,
            large: Semaphore::new(LARGE_AT_ONCE),
        }
    }

    /// Answers a request.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Answer {
        if request.uri().path() != HTTP_PATH {
            let message = format!("There is nothing here; the server is at {HTTP_PATH}");
            return unread(refused(StatusCode::NOT_FOUND, CONNECTION_ERROR, &message));
        }
        if let Some(token) = &self.token
            && !token.is_in(request.headers())
        {
            let message = "A token is needed: send it as `Authorization: Bearer TOKEN`";
            let mut answer = refused(StatusCode::UNAUTHORIZED, CONNECTION_ERROR, message);
            let scheme = HeaderValue::from_static("Bearer");
            answer.headers_mut().insert(WWW_AUTHENTICATE, scheme);
            return unread(answer);
        }
        let (head, body) = request.into_parts();
        let body = match self.read(body).await {
            Ok(body) => body,
            Err(answer) => return unread(*answer),
        };
        let is_json = head.method == Method::POST && is_json(&head.headers);
        let begins = is_json && !head.headers.contains_key(SESSION_ID);
        if begins && self.sessions.is_full().await && is_initialize(&body) {
            let message = "There are as many sessions as there may be; try again later";
            let status = StatusCode::SERVICE_UNAVAILABLE;
            let mut answer = refused(status, CONNECTION_ERROR, message);
            let wait = HeaderValue::from_static("60");
            answer.headers_mut().insert(RETRY_AFTER, wait);
            return answer;
        }
        let request = Request::from_parts(head, Full::new(body.clone()));
        let answer = self.service.handle(request).await;
        // The type was right, so the message was not.
        if is_json && answer.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
            return malformed(&body);
        }
        answer
    }

    /// Reads a body within its limits.
    async fn read(&self, body: Incoming) -> Result<Bytes, Box<Answer>> {
        let announced = body.size_hint();
        if announced.lower() > MAX_MESSAGE as u64 {
            return Err(Box::new(too_large()));
        }
        let is_small = announced.upper().is_some_and(|size| size <= SMALL);
        let reading = async {
            let _room = if is_small {
                None
            } else {
                self.large.acquire().await.ok()
            };
            Limited::new(body, MAX_MESSAGE).collect().await
        };
        match tokio::time::timeout(self.body_time, reading).await {
            Ok(Ok(read)) => Ok(read.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Box::new(too_large())),
            Ok(Err(error)) => {
                let message = format!("The request broke off: {error}");
                let status = StatusCode::BAD_REQUEST;
                Err(Box::new(refused(status, CONNECTION_ERROR, &message)))
            }
            Err(_) => {
                let message = format!(
                    "The request did not come within {} s",
                    self.body_time.as_secs_f64()
                );
                let status = StatusCode::REQUEST_TIMEOUT;
                Err(Box::new(refused(status, CONNECTION_ERROR, &message)))
            }
        }
    }
}

/// Whether a body is announced as JSON.
fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("application/json"))
}

/// Whether a message asks for a session.
fn is_initialize(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Message {
        method: String,
    }
    let message = serde_json::from_slice::<Message>(body);
    message.is_ok_and(|message| message.method == "initialize")
}

/// The answer to what is not a message of the protocol.
fn malformed(body: &[u8]) -> Answer {
    let status = StatusCode::BAD_REQUEST;
    match serde_json::from_slice::<IgnoredAny>(body) {
        Ok(_) => {
            let message = "The body is not a message of the protocol";
            refused(status, ErrorCode::INVALID_REQUEST, message)
        }
        Err(error) => {
            let message = format!("The body is not JSON: {error}");
            refused(status, ErrorCode::PARSE_ERROR, &message)
        }
    }
}

fn too_large() -> Answer {
    let message = format!("The request has more than {MAX_MESSAGE} bytes; send less");
    refused(StatusCode::PAYLOAD_TOO_LARGE, CONNECTION_ERROR, &message)
}

/// The same answer, after which the connection is closed: the rest of the body
/// would be read as the next request.
fn unread(mut answer: Answer) -> Answer {
    let close = HeaderValue::from_static("close");
    answer.headers_mut().insert(CONNECTION, close);
    answer
}

/// An error of the protocol that answers no request in particular.
fn refused(status: StatusCode, code: ErrorCode, message: &str) -> Answer {
    let error = json!({
        "jsonrpc": "2.0",
        "id": null,
        "error": {"code": code.0, "message": message},
    });
    let body = Full::new(Bytes::from(error.to_string()));
    let mut answer = Response::new(body.boxed());
    *answer.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    answer.headers_mut().insert(CONTENT_TYPE, json);
    answer
}
