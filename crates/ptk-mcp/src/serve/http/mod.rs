//! The server over HTTP: connections, and what every request has to pass before
//! the protocol is spoken.

mod front;
mod sessions;
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
        // Once all permits are taken, no further call begins.
        let all = self.shared.calls.acquire_many(max_calls());
        let finished = tokio::time::timeout(FINISH, all).await;
        streams.cancel();
        sessions.close_all().await;
        drop(finished);
        self.finish_calls().await;
        drop(tokio::time::timeout(call::CLEAN_UP, graceful.shutdown()).await);
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

#[cfg(test)]
mod tests {
    use ptk_sandbox::Workspace;
    use ptk_tools::ToolManager;
    use reqwest::{Response, StatusCode};
    use serde_json::{Value, json};

    use super::*;

    /// A server with these limits, without tools.
    async fn start(limits: HttpLimits) -> (String, CancellationToken) {
        let workspace = Workspace::open(std::env::temp_dir()).unwrap();
        let server = McpServer::builder(ToolManager::builder(workspace).build());
        let server = server.build().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}{HTTP_PATH}", listener.local_addr().unwrap());
        let end = CancellationToken::new();
        let options = HttpOptions {
            limits,
            ..HttpOptions::default()
        };
        let until = end.clone();
        tokio::spawn(async move { server.serve_http(listener, options, &until).await });
        (url, end)
    }

    async fn post(url: &str, session: Option<&str>, method: &str, params: Value) -> Response {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut request = ptk_http::client()
            .build()
            .unwrap()
            .post(url)
            .header("Accept", "application/json, text/event-stream")
            .json(&message);
        if let Some(session) = session {
            request = request.header(SESSION_ID, session);
        }
        request.send().await.unwrap()
    }

    async fn initialize(url: &str) -> Response {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        post(url, None, "initialize", params).await
    }

    fn session(response: &Response) -> String {
        let id = &response.headers()[SESSION_ID];
        id.to_str().unwrap().to_owned()
    }

    #[tokio::test]
    async fn there_are_only_so_many_sessions() {
        let (url, _end) = start(HttpLimits {
            sessions: 2,
            ..HttpLimits::default()
        })
        .await;
        let first = session(&initialize(&url).await);
        initialize(&url).await;
        let refused = initialize(&url).await;
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(refused.headers().contains_key("retry-after"));
        // Those that are there go on, and make room when they end.
        let ping = post(&url, Some(&first), "ping", json!({})).await;
        assert_eq!(ping.status(), StatusCode::OK);
        let delete = ptk_http::client().build().unwrap().delete(&url);
        let deleted = delete.header(SESSION_ID, &first).send().await.unwrap();
        assert!(deleted.status().is_success());
        assert_eq!(initialize(&url).await.status(), StatusCode::OK);
    }

    #[tokio::test]
    async fn a_session_that_is_not_used_ends() {
        let (url, _end) = start(HttpLimits {
            session_idle: Duration::from_millis(300),
            ..HttpLimits::default()
        })
        .await;
        let id = session(&initialize(&url).await);
        tokio::time::sleep(Duration::from_millis(100)).await;
        let ping = post(&url, Some(&id), "ping", json!({})).await;
        assert_eq!(ping.status(), StatusCode::OK);
        tokio::time::sleep(Duration::from_secs(2)).await;
        let ping = post(&url, Some(&id), "ping", json!({})).await;
        assert_eq!(ping.status(), StatusCode::NOT_FOUND);
    }

    #[tokio::test]
    async fn a_body_that_does_not_come_is_not_waited_for() {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let (url, _end) = start(HttpLimits {
            body_time: Duration::from_millis(200),
            head_time: Duration::from_millis(400),
            ..HttpLimits::default()
        })
        .await;
        let address = url.trim_start_matches("http://");
        let address = address.trim_end_matches(HTTP_PATH);
        for (head, answer) in [
            (
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n",
                "HTTP/1.1 408",
            ),
            ("POST /mcp HTTP/1.1\r\nHost: loc", ""),
        ] {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(head.as_bytes()).await.unwrap();
            let mut all = Vec::new();
            let read = stream.read_to_end(&mut all);
            drop(
                tokio::time::timeout(Duration::from_secs(10), read)
                    .await
                    .unwrap(),
            );
            let all = String::from_utf8_lossy(&all);
            assert!(all.starts_with(answer), "{all}");
        }
    }
}
