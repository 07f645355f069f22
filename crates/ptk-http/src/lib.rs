//! HTTP clients for PTK: all of them encrypt with rustls and ring.
//!
//! `reqwest` leaves the choice of a cryptography library to the program, and
//! builds no client until it is made. So clients begin here:
//!
//! ```
//! let client = ptk_http::client().user_agent("example/1.0").build()?;
//! # let _ = client;
//! # Ok::<(), reqwest::Error>(())
//! ```

/// Begins a client. Its TLS uses the cryptography library that the program has
/// chosen for rustls or, if it has not chosen one, ring.
pub fn client() -> reqwest::ClientBuilder {
    choose_cryptography();
    reqwest::Client::builder()
}

/// Chooses ring for the whole process, unless the program has chosen before.
/// Only for libraries that build their clients themselves; others call
/// [`client`].
pub fn choose_cryptography() {
    // An error means that there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
