//! The server over HTTP: connections, and what every request has to pass before
//! the protocol is spoken.

mod front;
mod sessions;
#[cfg(test)]
mod tests;
mod token;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use self::front::Front;
use self::sessions::LimitedSessions;
use super::connection::Connection;
use super::{MAX_MESSAGE, McpServer, call, max_calls};

pub use token::{AccessToken, InvalidToken};

/// The path of the server.
pub const HTTP_PATH: &str = "/mcp";
/// The header with the session of a request.
pub(super) const SESSION_ID: &str = "mcp-session-id";
/// The names of this machine.
const LOCAL: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
/// The most bytes that are buffered of one connection. The head of a request
/// has to fit.
const MAX_BUFFER: usize = 64 * 1024;
/// How long to wait before accepting again when no connection can be accepted.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);
/// How long calls may still run when the server ends.
const FINISH: Duration = Duration::from_secs(5);
/// How long their results may take to be sent. Streams that wait for events of
/// the server never end by themselves.
const FLUSH: Duration = Duration::from_millis(500);

/// Limits of the server over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpLimits {
    /// The most connections at the same time. Further ones wait.
    pub connections: usize,
    /// The most sessions at the same time.
    pub sessions: usize,
    /// How long a session may be idle. Longer than any call takes.
    pub session_idle: Duration,
    /// How long the head of a request may take, and a connection be idle.
    pub head_time: Duration,
    /// How long the body of a request may take.
    pub body_time: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connections: 512,
            sessions: 256,
            session_idle: Duration::from_secs(30 * 60),
            head_time: Duration::from_secs(30),
            body_time: Duration::from_secs(60),
        }
    }
}

/// Who may send requests, and how many.
#[derive(Debug, Clone, Default)]
pub struct HttpOptions {
    /// What every request has to carry, if anything.
    pub token: Option<AccessToken>,
    /// Host names of this server, besides those of this machine.
    pub hosts: Vec<String>,
    /// Whether any other host name is accepted. Only behind a token: otherwise
    /// a web page whose name leads here can send requests.
    pub any_host: bool,
    /// The limits.
    pub limits: HttpLimits,
}

impl McpServer {
    /// Serves clients over streamable HTTP, at the path [`HTTP_PATH`], until `end` is
    /// cancelled. Calls that run then have a few seconds to complete.
    ///
    /// Requests are accepted only for the names of this machine and those in
    /// `options`, and not from web pages of others.
    ///
    /// # Errors
    ///
    /// If the listener has no address.
    pub async fn serve_http(
        &self,
        listener: TcpListener,
        options: HttpOptions,
        end: &CancellationToken,
    ) -> io::Result<()> {
        let limits = options.limits;
        let streams = CancellationToken::new();
        let config = config(&options, listener.local_addr()?.port(), streams.clone());
        let sessions = Arc::new(LimitedSessions::new(&limits));
        let shared = Arc::clone(&self.shared);
        let service = StreamableHttpService::new(
            move || Ok(Connection::new(Arc::clone(&shared))),
            Arc::clone(&sessions),
            config,
        );
        let front = Front::new(service, Arc::clone(&sessions), options.token, limits);
        let graceful = accept(listener, Arc::new(front), limits, end).await;
        let closed = graceful.shutdown();
        tokio::pin!(closed);
        // Once all permits are taken, no further call begins.
        let all = self.shared.calls.acquire_many(max_calls());
        let finished = tokio::time::timeout(FINISH, all).await;
        // The last results are on their way, on streams that then end.
        drop(tokio::time::timeout(FLUSH, &mut closed).await);
        streams.cancel();
        sessions.close_all().await;
        drop(finished);
        self.finish_calls().await;
        drop(tokio::time::timeout(call::CLEAN_UP, closed).await);
        Ok(())
    }
}

/// What the transport checks of each request: the host name that it is for, and
/// the page that it is from.
fn config(
    options: &HttpOptions,
    port: u16,
    streams: CancellationToken,
) -> StreamableHttpServerConfig {
    let hosts = options.hosts.iter().map(String::as_str);
    let hosts: Vec<&str> = LOCAL.into_iter().chain(hosts).collect();
    let origins = hosts.iter().map(|host| format!("http://{host}:{port}"));
    let config = StreamableHttpServerConfig::default()
        .with_max_request_body_bytes(MAX_MESSAGE)
        .with_cancellation_token(streams)
        .with_allowed_origins(origins)
        .enforce_origin_validation();
    if options.any_host {
        config.disable_allowed_hosts()
    } else {
        config.with_allowed_hosts(hosts)
    }
}

/// Accepts connections until `end`. What is returned waits for those that are
/// still open.
async fn accept(
    listener: TcpListener,
    front: Arc<Front>,
    limits: HttpLimits,
    end: &CancellationToken,
) -> GracefulShutdown {
    let graceful = GracefulShutdown::new();
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_buf_size(MAX_BUFFER);
    let places = Arc::new(Semaphore::new(limits.connections.max(1)));
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, next(&listener).await)
        };
        let (place, stream) = tokio::select! {
            next = next => next,
            () = end.cancelled() => return graceful,
        };
        // Without it a small piece waits until the one before is acknowledged.
        let _ = stream.set_nodelay(true);
        let front = Arc::clone(&front);
        let service = service_fn(move |request| {
            let front = Arc::clone(&front);
            async move { Ok::<_, std::convert::Infallible>(front.answer(request).await) }
        });
        let connection = graceful.watch(builder.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            let _place = place;
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection broke off");
            }
        });
    }
}

/// The next connection.
async fn next(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_AGAIN).await;
            }
        }
    }
}
