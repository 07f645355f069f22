//! Addresses of models: which are allowed, and how the model is named.

use std::fmt;
use std::net::IpAddr;

use percent_encoding::percent_decode_str;
use reqwest::Url;

use crate::catalogue::is_digest;
use crate::error::LibraryError;
use crate::name::{fitting, is_name};

/// The extension of model files.
const ENDING: &str = ".gguf";

/// The address of a GGUF file, and its expected SHA-256.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    pub(crate) url: Url,
    pub(crate) sha256: String,
    pub(crate) name: String,
}

/// Why an address is rejected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// The address cannot be parsed.
    #[error("`{0}` is not an address; one looks like https://host/path/model.gguf")]
    Malformed(String),
    /// The connection could be tampered with.
    #[error(
        "{0} is not fetched: it takes an https:// address (http:// only for this machine itself)"
    )]
    Insecure(String),
    /// This is not a SHA-256.
    #[error("`{0}` is not a SHA-256: that is 64 hexadecimal digits. {HOW_TO_GET_IT}")]
    BadHash(String),
    /// The SHA-256 is missing.
    #[error("a file from an address needs its SHA-256: add --sha256 HEX. {HOW_TO_GET_IT}")]
    NoHash,
    /// The name is not valid for a model.
    #[error("{0}; give it a name with --name")]
    BadName(LibraryError),
}

/// Help on where to find the SHA-256 of a file.
const HOW_TO_GET_IT: &str = "Take it from where the model is published: Hugging Face shows it on \
                             the file's page, others in a file such as SHA256SUMS; or run \
                             `sha256sum` on a copy that you trust";

impl Address {
    /// Whether a text is an address, and not a name.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        text.contains("://")
    }

    /// Checks an address, the SHA-256 of the file, and the model's name, which
    /// defaults to the file's name.
    ///
    /// # Errors
    ///
    /// If one of them is not valid.
    pub fn new(
        address: &str,
        sha256: Option<&str>,
        name: Option<&str>,
    ) -> Result<Self, AddressError> {
        let malformed = |_| AddressError::Malformed(shown_roughly(address));
        let mut url = Url::parse(address).map_err(malformed)?;
        url.set_fragment(None);
        if !is_secure(&url) {
            return Err(AddressError::Insecure(shown(&url)));
        }
        let sha256 = sha256.ok_or(AddressError::NoHash)?;
        let digest = sha256.trim().to_ascii_lowercase();
        let digest = digest.strip_prefix("sha256:").unwrap_or(&digest);
        if !is_digest(digest) {
            return Err(AddressError::BadHash(sha256.to_owned()));
        }
        let name = name.map_or_else(|| file_name(&url), str::to_owned);
        if !is_name(&name) {
            return Err(AddressError::BadName(LibraryError::BadName(name)));
        }
        Ok(Self {
            url,
            sha256: digest.to_owned(),
            name,
        })
    }

    /// The name that the model will have.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Shows the address without passwords and keys.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.url))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address")
            .field("url", &shown(&self.url))
            .field("sha256", &self.sha256)
            .field("name", &self.name)
            .finish()
    }
}

/// Whether the connection is protected from tampering.
pub(crate) fn is_secure(url: &Url) -> bool {
    url.scheme() == "https" || (url.scheme() == "http" && is_here(url))
}

/// Whether the host is this machine.
pub(crate) fn is_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let address: Result<IpAddr, _> = address.parse();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// An address without its secret parts: the user, and the query, where signed
/// addresses have their signature.
pub(crate) fn shown(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}"));
    let port = port.unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme(), url.path())
}

/// The same for a text that is not a valid address.
fn shown_roughly(text: &str) -> String {
    let text = text.split(['?', '#']).next().unwrap_or_default();
    match text.split_once("://") {
        Some((scheme, rest)) => {
            let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
            format!("{scheme}://{rest}")
        }
        None => text.to_owned(),
    }
}

/// The default name of a model from this address.
fn file_name(url: &Url) -> String {
    let mut segments = url.path().rsplit('/');
    let last = segments.find(|it| !it.is_empty()).unwrap_or_default();
    let name = percent_decode_str(last).decode_utf8_lossy();
    let ending = name.len().saturating_sub(ENDING.len());
    let stem = match name.split_at_checked(ending) {
        Some((stem, ending)) if ending.eq_ignore_ascii_case(ENDING) => stem,
        _ => &name,
    };
    fitting(stem)
}
