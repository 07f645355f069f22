//! Accepts connections, and handles requests from the first byte to the last.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_REQUEST_HEADERS, ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderMap,
    HeaderName, HeaderValue, ORIGIN, RETRY_AFTER, VARY,
};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::access::Admitted;
use crate::api::{self, Call, Reply, Style};
use crate::connections::Connections;
use crate::failure::Failure;
use crate::flow::Flow;
use crate::gateway::Inner;
use crate::log::Ended;
use crate::response::new_id;
use crate::ticket::Ticket;
use crate::{Gateway, Limits};

/// The most bytes that are buffered of one connection. The head of a request
/// has to fit.
const MAX_BUFFER: usize = 64 * 1024;
/// How long to wait before accepting again when no connection can be accepted.
const BREATH: Duration = Duration::from_millis(50);
/// The header with the id of a request, in its response.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

impl Gateway {
    /// Serves clients until `end`. Requests that are running then are
    /// completed.
    pub async fn serve(&self, listener: TcpListener, end: impl Future<Output = ()>) {
        let graceful = GracefulShutdown::new();
        let mut builder = hyper::server::conn::http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(self.inner.limits.head_time)
            .max_buf_size(MAX_BUFFER);
        let connections = Connections::new(self.inner.limits.connections);
        tokio::pin!(end);
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = &mut end => break,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be taken");
                    if is_of_all(&error) {
                        tokio::time::sleep(BREATH).await;
                    }
                    continue;
                }
            };
            let Some((stream, endpoint)) = connections.admit(stream) else {
                continue;
            };
            // Without it a small piece waits until the one before is
            // acknowledged.
            let _ = stream.set_nodelay(true);
            let inner = Arc::clone(&self.inner);
            let service = service_fn(move |request| answer(Arc::clone(&inner), request));
            let connection = builder.serve_connection(TokioIo::new(stream), service);
            let connection = graceful.watch(connection);
            tokio::spawn(async move {
                let _place = endpoint;
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "a connection broke off");
                }
            });
        }
        drop(listener);
        graceful.shutdown().await;
    }
}

/// Whether no connection can be accepted, and not only this one.
fn is_of_all(error: &io::Error) -> bool {
    !matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
    )
}

/// The body of a response.
pub(crate) struct Payload {
    body: PayloadBody,
    ticket: Ticket,
}

enum PayloadBody {
    Whole(Option<Bytes>),
    Flow(Flow),
}

impl Body for Payload {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let payload = self.get_mut();
        let polled = match &mut payload.body {
            PayloadBody::Whole(bytes) => {
                Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes))))
            }
            PayloadBody::Flow(flow) => Pin::new(flow).poll_frame(context),
        };
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(bytes) = frame.data_ref()
        {
            payload.ticket.response_body(bytes);
        }
        if matches!(polled, Poll::Ready(None)) || payload.is_end_stream() {
            payload.ticket.whole();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.body, PayloadBody::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.body {
            PayloadBody::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |it| it.len() as u64))
            }
            PayloadBody::Flow(_) => SizeHint::default(),
        }
    }
}

/// Handles a request, and always answers it.
async fn answer(
    inner: Arc<Inner>,
    request: Request<Incoming>,
) -> Result<Response<Payload>, Infallible> {
    let endpoint = api::find(request.uri().path());
    let style = endpoint
        .as_ref()
        .map_or(Style::OpenAi, |endpoint| endpoint.style());
    let path = endpoint
        .as_ref()
        .map_or("other", |endpoint| endpoint.path());
    let ticket = Ticket::new(
        Arc::clone(&inner),
        path,
        Ended {
            id: new_id("req_"),
            method: request.method().to_string(),
            path: request.uri().path().to_owned(),
            ..Ended::default()
        },
    );
    let origin = request.headers().get(ORIGIN).cloned();
    let origin = origin.filter(|origin| {
        origin
            .to_str()
            .is_ok_and(|origin| inner.access.allows_origin(origin))
    });
    let mut unread = Unread(!request.body().is_end_stream());
    let reply = reply(&inner, request, endpoint, &ticket, &mut unread).await;
    let reply = reply.unwrap_or_else(|failure| {
        ticket.error(&failure.code);
        style.failed(&failure)
    });
    let mut response = response(reply, ticket);
    if unread.0 {
        // The rest of the body would be read as the next request.
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(CONNECTION, close);
    }
    if let Some(origin) = origin {
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(VARY, HeaderValue::from_static("origin"));
    }
    Ok(response)
}

/// Whether a request has a body that was not read.
struct Unread(bool);

async fn reply(
    inner: &Arc<Inner>,
    request: Request<Incoming>,
    endpoint: Option<api::Endpoint>,
    ticket: &Ticket,
    unread: &mut Unread,
) -> Result<Reply, Failure> {
    inner.access.check_place(request.headers(), request.uri())?;
    let Some(endpoint) = endpoint else {
        let message = format!(
            "There is nothing at {}; GET / says what there is",
            request.uri().path()
        );
        return Err(Failure::new(StatusCode::NOT_FOUND, "not_found", message));
    };
    if request.method() == Method::OPTIONS {
        return Ok(preflight(endpoint, request.headers()));
    }
    if request.method() != endpoint.method()
        && !(request.method() == Method::HEAD && endpoint.method() == Method::GET)
    {
        let message = format!("Ask {} with {}", endpoint.path(), endpoint.method());
        let failure = Failure::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            message,
        );
        let mut reply = endpoint.style().failed(&failure);
        if let Ok(allowed) = HeaderValue::from_str(endpoint.method().as_str()) {
            reply.headers.push((ALLOW, allowed));
        }
        return Ok(reply);
    }
    if endpoint.method() == Method::GET && unread.0 {
        let message = format!(
            "{} takes no body; send the request without one",
            endpoint.path()
        );
        return Err(Failure::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "body_not_expected",
            message,
        ));
    }
    let admitted = if endpoint.is_public() {
        Admitted::anybody(inner.limits)
    } else {
        inner.access.admit(request.headers(), inner.limits)?
    };
    ticket.key(admitted.key);
    if let Some(permit) = admitted.permit {
        ticket.hold(permit);
    }
    if endpoint.is_inference() {
        let permit = Arc::clone(&inner.running)
            .try_acquire_owned()
            .map_err(|_| Failure {
                retry_after: Some(Duration::from_secs(1)),
                ..Failure::new(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "overloaded",
                    format!(
                        "{} requests are being answered, and no more can be; wait a little",
                        inner.limits.concurrent
                    ),
                )
            })?;
        ticket.hold(permit);
    }
    let Limits {
        time, body: most, ..
    } = admitted.limits;
    let work = async {
        let (head, body) = request.into_parts();
        let received = inner
            .bodies
            .read(body, most, inner.limits.body_time)
            .await?;
        unread.0 = false;
        if let Some(share) = received.share {
            ticket.hold(share);
        }
        let body = received.bytes;
        ticket.request_body(&body);
        let call = Call {
            time,
            gateway: Arc::clone(inner),
            ticket: ticket.clone(),
            path: head.uri.path().to_owned(),
            headers: head.headers,
            body,
        };
        endpoint.answer(call).await
    };
    timeout(time, work)
        .await
        .unwrap_or_else(|_| Err(api::late(time)))
}

/// The response to a CORS preflight request.
fn preflight(endpoint: api::Endpoint, asked: &HeaderMap) -> Reply {
    let mut reply = Reply::whole(StatusCode::NO_CONTENT, "", Bytes::new());
    let methods = format!("{}, OPTIONS", endpoint.method());
    if let Ok(methods) = HeaderValue::from_str(&methods) {
        reply.headers.push((ACCESS_CONTROL_ALLOW_METHODS, methods));
    }
    // The origin decides whether requests are allowed; unknown headers are
    // ignored then.
    if let Some(headers) = asked.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        reply
            .headers
            .push((ACCESS_CONTROL_ALLOW_HEADERS, headers.clone()));
    }
    reply
}

fn response(reply: Reply, ticket: Ticket) -> Response<Payload> {
    ticket.status(reply.status.as_u16());
    let id = ticket.id();
    let (body, is_stream) = match reply.body {
        api::Body::Whole(bytes) => (
            PayloadBody::Whole((!bytes.is_empty()).then_some(bytes)),
            false,
        ),
        api::Body::Flow(flow) => (PayloadBody::Flow(flow), true),
    };
    if let PayloadBody::Whole(None) = body {
        ticket.whole();
    }
    let mut response = Response::new(Payload { body, ticket });
    *response.status_mut() = reply.status;
    let headers = response.headers_mut();
    if !reply.content_type.is_empty() {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(reply.content_type));
    }
    if is_stream {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    }
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID, id);
    }
    if let Some(wait) = reply.retry_after {
        let seconds = wait.as_secs_f64().ceil().max(1.0);
        if let Ok(seconds) = HeaderValue::from_str(&format!("{seconds:.0}")) {
            headers.insert(RETRY_AFTER, seconds);
        }
    }
    headers.extend(
        reply
            .headers
            .into_iter()
            .map(|(name, value)| (Some(name), value)),
    );
    response
}
