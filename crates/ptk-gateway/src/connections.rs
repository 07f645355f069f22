//! Limits the number of connections, and refuses further ones.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// How many connections are refused with an answer at the same time. Further
/// ones are closed without one.
const MAX_REFUSED: usize = 64;
/// How long a refused client may take to read its answer.
const FAREWELL: Duration = Duration::from_secs(2);
/// Bytes that are read of a refused request, so that its sender gets to see the
/// answer.
const MAX_DRAINED: usize = 64 * 1024;

/// The response to a refused client.
const REFUSAL: &str = concat!(
    "HTTP/1.1 503 Service Unavailable\r\n",
    "retry-after: 1\r\n",
    "connection: close\r\n",
    "content-type: application/json\r\n",
    "content-length: 134\r\n",
    "\r\n",
    "{\"error\":{\"message\":\"Too many clients are connected; wait a little\",",
    "\"type\":\"server_error\",\"param\":null,\"code\":\"too_many_connections\"}}",
);

/// The connections that are available.
#[derive(Debug)]
pub(crate) struct Connections {
    open: Arc<Semaphore>,
    refused: Arc<Semaphore>,
}

impl Connections {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            open: Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))),
            refused: Arc::new(Semaphore::new(MAX_REFUSED)),
        }
    }

    /// A permit for one more connection, held while it is open. Without one,
    /// the client is refused, and `None` is returned.
    pub(crate) fn admit(&self, stream: TcpStream) -> Option<(TcpStream, OwnedSemaphorePermit)> {
        if let Ok(place) = Arc::clone(&self.open).try_acquire_owned() {
            return Some((stream, place));
        }
        if let Ok(place) = Arc::clone(&self.refused).try_acquire_owned() {
            tokio::spawn(async move {
                let _place = place;
                let _ = timeout(FAREWELL, refuse(stream)).await;
            });
        }
        None
    }
}

async fn refuse(mut stream: TcpStream) -> std::io::Result<()> {
    stream.write_all(REFUSAL.as_bytes()).await?;
    stream.shutdown().await?;
    // Closing a socket with unread bytes resets it, and the response is lost.
    let mut drained = 0;
    let mut buffer = [0; 4096];
    while drained < MAX_DRAINED {
        match stream.read(&mut buffer).await? {
            0 => break,
            read => drained += read,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refusal_has_the_length_that_it_says() {
        let (head, body) = REFUSAL.split_once("\r\n\r\n").unwrap();
        let length = head.split("content-length: ").nth(1).unwrap();
        let length: usize = length.lines().next().unwrap().parse().unwrap();
        assert_eq!(body.len(), length);
    }
}
