//! Downloads a file over HTTP into a partial file, and resumes it after a
//! failure by requesting only the missing rest.

use std::error::Error as _;
use std::io::{self, Write as _};
use std::time::Duration;

use reqwest::header::{
    ACCEPT_ENCODING, CONTENT_RANGE, ETAG, HeaderMap, HeaderValue, IF_RANGE, LAST_MODIFIED, RANGE,
};
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Client, Response, StatusCode, Url};
use tokio_util::sync::CancellationToken;

use crate::address::{Address, is_here, is_secure, shown};
use crate::copy::{Progress, Step, Watch};
use crate::entry::{Entry, Source};
use crate::error::LibraryError;
use crate::library::Library;
use crate::model::Kind;
use crate::partial::{Origin, Partial};
use crate::pull::Pulled;
use crate::pull_error::{PullError, Refusal};

/// The connection timeout.
const CONNECT: Duration = Duration::from_secs(30);
/// How long a server may send nothing.
const SILENCE: Duration = Duration::from_secs(60);
/// The most requests that one pull makes for a file.
const MAX_ATTEMPTS: usize = 20;
/// The most redirects that are followed.
const MAX_REDIRECTS: usize = 10;
/// The first bytes of every GGUF file.
const MAGIC: &[u8] = b"GGUF";

impl Library {
    /// Downloads a GGUF file and adds it to the library. An interrupted pull is
    /// resumed.
    ///
    /// # Errors
    ///
    /// If the file cannot be fetched, or does not have the given SHA-256.
    /// Models in the library are left as they are.
    ///
    /// # Panics
    ///
    /// Outside a Tokio runtime.
    pub async fn pull_address(
        &self,
        address: &Address,
        stop: &CancellationToken,
        tell: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Pulled, PullError> {
        let mut watch = Watch { stop, tell };
        let (name, sha256) = (&address.name, &address.sha256);
        if let Some(there) = self.intact(name, sha256, &[], &mut watch)? {
            return Ok(Pulled::There(there));
        }
        let staging = self.stage()?;
        let mut partial = self.partial(&staging, name, sha256)?;
        partial.keep_all(&mut watch)?;
        if partial.sha256() != *sha256 {
            let download = Download {
                library: self,
                address,
                client: client(address)?,
                partial: &mut partial,
                origin: Origin::default(),
                is_joined: false,
            };
            let there = match download.run(&mut watch).await {
                Err(error @ PullError::NotGguf { .. }) => {
                    partial.discard();
                    return Err(error);
                }
                there => there?,
            };
            if there != *sha256 {
                partial.discard();
                return Err(PullError::WrongFile {
                    address: address.to_string(),
                    there,
                    wanted: sha256.clone(),
                });
            }
        }
        let file = format!("{name}.gguf").into();
        let mut entry = Entry::new(name, file, Source::Address(address.to_string()), None);
        entry.sha256.clone_from(sha256);
        self.install(entry, Kind::Chat, partial, staging, &mut watch)
    }
}

/// A running download.
struct Download<'a> {
    library: &'a Library,
    address: &'a Address,
    client: Client,
    partial: &'a mut Partial,
    /// Where the bytes in the partial file came from.
    origin: Origin,
    /// Whether they came from more than one response.
    is_joined: bool,
}

/// How a response ended.
enum Ending {
    /// The file is complete.
    Whole,
    /// The connection broke off after some bytes.
    Cut,
    /// The request failed before any bytes arrived.
    Failed(reqwest::Error),
    /// The response does not continue the partial file; start over.
    Unfit,
}

impl Download<'_> {
    /// Fetches the missing part, and returns the SHA-256 of the whole file.
    async fn run(mut self, watch: &mut Watch<'_>) -> Result<String, PullError> {
        let shown = self.address.to_string();
        let noted = self.partial.origin();
        // Metadata of another address does not apply to this one.
        self.origin = noted.filter(|it| it.address == shown).unwrap_or_default();
        self.is_joined = self.partial.size() > 0;
        for _ in 0..MAX_ATTEMPTS {
            match self.attempt(watch).await? {
                Ending::Whole => {
                    let there = self.partial.sha256();
                    if there == self.address.sha256 || !self.is_joined {
                        return Ok(there);
                    }
                    // The file may have changed between two responses.
                    self.restart()?;
                }
                Ending::Cut => self.is_joined = true,
                Ending::Failed(error) => return Err(self.failed(&error)),
                Ending::Unfit => self.restart()?,
            }
        }
        Err(PullError::Download {
            address: shown,
            refusal: Refusal::Network,
            why: format!("the connection broke off {MAX_ATTEMPTS} times"),
        })
    }

    /// Sends one request for the missing part.
    async fn attempt(&mut self, watch: &mut Watch<'_>) -> Result<Ending, PullError> {
        let from = self.partial.size();
        let request = self.client.get(self.address.url.clone());
        let request = request.headers(wanted(from, self.origin.validator.as_deref()));
        let response = tokio::select! {
            () = watch.stop.cancelled() => return Err(LibraryError::Interrupted.into()),
            response = request.send() => response,
        };
        let response = match response {
            Ok(response) => response,
            Err(error) => return Ok(Ending::Failed(error)),
        };
        match response.status() {
            StatusCode::PARTIAL_CONTENT
                if range(&response).is_some_and(|(begin, _)| begin == from) => {}
            StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE if from > 0 => {
                return Ok(Ending::Unfit);
            }
            // The server does not support ranges, or the file has changed.
            StatusCode::OK => self.restart()?,
            status => {
                return Err(PullError::Download {
                    address: shown(response.url()),
                    refusal: Refusal::Status(status.as_u16()),
                    why: format!("the server answered {status}"),
                });
            }
        }
        self.receive(response, watch).await
    }

    /// Writes the body of a response to the partial file.
    async fn receive(
        &mut self,
        mut response: Response,
        watch: &mut Watch<'_>,
    ) -> Result<Ending, PullError> {
        let before = self.partial.size();
        let rest = response.content_length();
        let total = rest.map(|rest| before.saturating_add(rest));
        let total = range(&response).and_then(|(_, total)| total).or(total);
        let rest = total.unwrap_or_default().saturating_sub(before);
        self.library.look_for_room(rest)?;
        self.origin = Origin {
            address: self.address.to_string(),
            validator: validator(response.headers()),
            total,
        };
        self.partial.note(&self.origin).map_err(self.unwritable())?;
        let mut head = Vec::new();
        loop {
            (watch.tell)(Progress {
                step: Step::Fetching,
                done: self.partial.size(),
                total: total.unwrap_or_default(),
            });
            let piece = tokio::select! {
                () = watch.stop.cancelled() => return Err(LibraryError::Interrupted.into()),
                piece = response.chunk() => piece,
            };
            let piece = match piece {
                Ok(Some(piece)) => piece,
                Ok(None) => break,
                Err(_) if self.partial.size() > before => return Ok(Ending::Cut),
                Err(error) => return Ok(Ending::Failed(error)),
            };
            if before == 0 && head.len() < MAGIC.len() {
                let missing = MAGIC.len() - head.len();
                head.extend(piece.iter().take(missing));
                self.look_at(&head, &piece)?;
            }
            self.partial.write_all(&piece).map_err(self.unwritable())?;
        }
        // A server may send less than was requested.
        let there = self.partial.size();
        let is_short = there > before && total.is_some_and(|total| there < total);
        Ok(if is_short { Ending::Cut } else { Ending::Whole })
    }

    /// Rejects a file that is not GGUF by its first bytes.
    fn look_at(&self, head: &[u8], piece: &[u8]) -> Result<(), PullError> {
        if MAGIC.starts_with(head) {
            return Ok(());
        }
        let begin = piece.get(..piece.len().min(256)).unwrap_or_default();
        let begin = String::from_utf8_lossy(begin).trim_start().to_lowercase();
        let what = if begin.starts_with("<!doctype") || begin.starts_with("<html") {
            "a web page. Use the address of the file itself: at Hugging Face it has /resolve/ \
             where that of the page has /blob/"
        } else if begin.starts_with("version https://git-lfs") {
            "a pointer of Git LFS. Use the address of the file itself: at Hugging Face it has \
             /resolve/ where that of the pointer has /raw/"
        } else {
            "something else; models for llama.cpp are GGUF files, and their names end in .gguf"
        };
        Err(PullError::NotGguf {
            address: self.address.to_string(),
            what,
        })
    }

    /// Discards the partial file's content.
    fn restart(&mut self) -> Result<(), PullError> {
        self.is_joined = false;
        self.origin = Origin::default();
        self.partial.clear().map_err(self.unwritable())?;
        Ok(())
    }

    fn unwritable(&self) -> impl FnOnce(io::Error) -> LibraryError + use<> {
        LibraryError::io("written", self.partial.path())
    }

    fn failed(&self, error: &reqwest::Error) -> PullError {
        let why = told(error);
        let refusal = if error.is_redirect() {
            Refusal::Redirect
        } else if why.contains("certificate") {
            Refusal::Untrusted
        } else {
            Refusal::Network
        };
        PullError::Download {
            address: self.address.to_string(),
            refusal,
            why,
        }
    }
}

/// Request headers: the file unencoded, and from an offset on only if it has
/// not changed since.
fn wanted(from: u64, validator: Option<&str>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    if from > 0 {
        if let Ok(range) = HeaderValue::try_from(format!("bytes={from}-")) {
            headers.insert(RANGE, range);
        }
        if let Some(Ok(validator)) = validator.map(HeaderValue::try_from) {
            headers.insert(IF_RANGE, validator);
        }
    }
    headers
}

/// The validator of a response: its `ETag`, unless that is weak and does not
/// identify the bytes; otherwise its date.
fn validator(headers: &HeaderMap) -> Option<String> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let tag = text(ETAG).filter(|tag| tag.starts_with('"'));
    tag.or_else(|| text(LAST_MODIFIED)).map(str::to_owned)
}

/// The offset of a response's first byte in the file, and the file's size, if
/// the server says so.
fn range(response: &Response) -> Option<(u64, Option<u64>)> {
    let range = response.headers().get(CONTENT_RANGE)?.to_str().ok()?;
    let (range, total) = range.trim().strip_prefix("bytes ")?.split_once('/')?;
    let begin = range.split_once('-')?.0.trim().parse().ok()?;
    Some((begin, total.trim().parse().ok()))
}

fn client(address: &Address) -> Result<Client, PullError> {
    let mut client = ptk_http::client()
        .connect_timeout(CONNECT)
        .read_timeout(SILENCE)
        .referer(false)
        .redirect(Policy::custom(follow))
        .user_agent(concat!("ptk/", env!("CARGO_PKG_VERSION")));
    if is_here(&address.url) {
        // A proxy would resolve the address to its own machine.
        client = client.no_proxy();
    }
    client.build().map_err(|error| PullError::Download {
        address: address.to_string(),
        refusal: Refusal::Network,
        why: told(&error),
    })
}

/// Follows redirects, but never to an address where the connection could be
/// tampered with.
fn follow(attempt: Attempt<'_>) -> Action {
    let came_by = attempt.previous().last().map(Url::scheme);
    let to = attempt.url();
    let is_worse = came_by == Some("https") && to.scheme() != "https";
    if is_worse || !is_secure(to) {
        let refused = format!("the server sent us to {}, which is not https", shown(to));
        return attempt.error(refused);
    }
    if attempt.previous().len() > MAX_REDIRECTS {
        return attempt.error("the server sent us from one address to the next, in a circle");
    }
    attempt.follow()
}

/// The root cause of an error, without addresses, which may contain keys.
fn told(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "the server does not answer".to_owned();
    }
    let mut cause = error.source();
    while let Some(next) = cause.and_then(|cause| cause.source()) {
        cause = Some(next);
    }
    match cause {
        Some(cause) => cause.to_string(),
        None => "the request could not be sent".to_owned(),
    }
}
