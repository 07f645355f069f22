//! Limits of requests.

use std::time::Duration;

/// Limits of one request, and of all of them together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of a request.
    pub body: usize,
    /// The most requests that are answered at the same time.
    pub concurrent: usize,
    /// How long one request may take.
    pub time: Duration,
    /// The most connections that are open at the same time. One more is
    /// answered with 503.
    pub connections: usize,
    /// How long the head of a request may take, and how long a connection may
    /// be idle.
    pub head_time: Duration,
    /// How long the body of a request may take.
    pub body_time: Duration,
    /// The most bytes of all requests that are read or answered at the same
    /// time. A request that would need more is answered with 503.
    pub body_memory: usize,
    /// How long one request may compute: parsing and teaching its tools, and
    /// parsing and checking a reply by their schemas.
    pub compute: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 32 * 1024 * 1024,
            concurrent: 4096,
            time: Duration::from_secs(3600),
            connections: 8192,
            head_time: Duration::from_secs(30),
            body_time: Duration::from_secs(120),
            body_memory: 256 * 1024 * 1024,
            compute: Duration::from_secs(10),
        }
    }
}
