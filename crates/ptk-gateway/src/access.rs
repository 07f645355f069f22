//! Access control: which clients may send requests, and how many.

use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::http::uri::Authority;
use hyper::{StatusCode, Uri};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Limits;
use crate::failure::Failure;

/// How often the file of keys is checked for changes, at most.
const LOOK: Duration = Duration::from_secs(1);
/// The longest key, in bytes.
const MAX_KEY: usize = 4096;

/// The keys of clients, from a file that may change while the gateway runs. A
/// line each: a name, the key, and its limits:
///
/// ```text
/// alice sk-4f1c0a concurrent=4 per-minute=60 body=2 seconds=120
/// ```
///
/// `body` is in megabytes; it and `seconds` apply to one request.
#[derive(Debug)]
pub struct Keys {
    path: Option<PathBuf>,
    loaded: Mutex<Loaded>,
    exposure: Option<String>,
}

#[derive(Debug)]
struct Loaded {
    keys: Arc<Vec<Arc<Key>>>,
    changed: Option<(SystemTime, u64)>,
    looked: Instant,
}

/// A key, stored as its hash.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: String,
    digest: [u8; 32],
    concurrent: Option<(usize, Arc<Semaphore>)>,
    bucket: Option<Mutex<Bucket>>,
    per_minute: Option<u32>,
    /// The most megabytes of a request.
    body: Option<u32>,
    /// The most seconds that an answer may take.
    seconds: Option<u32>,
}

/// The requests that a key may make now.
#[derive(Debug)]
struct Bucket {
    left: f64,
    since: Instant,
}

impl Keys {
    /// Creates a single key, without limits.
    #[must_use]
    pub fn one(key: &str) -> Self {
        let key = Key::new("key".to_owned(), key);
        Self::of(None, vec![key], None)
    }

    /// Reads the keys in a file.
    ///
    /// # Errors
    ///
    /// If it cannot be read, if others than its owner may write it, or a line
    /// is not valid.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let exposure = exposure(&path)?;
        let (keys, changed) = load(&path)?;
        if keys.is_empty() {
            let message = "it contains no key; write a name and a key on each line";
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(Self {
            exposure,
            ..Self::of(Some(path), keys, changed)
        })
    }

    /// Why others than the owner can read the file, if they can.
    #[must_use]
    pub fn exposure(&self) -> Option<&str> {
        self.exposure.as_deref()
    }

    fn of(path: Option<PathBuf>, keys: Vec<Key>, changed: Option<(SystemTime, u64)>) -> Self {
        let loaded = Loaded {
            keys: Arc::new(keys.into_iter().map(Arc::new).collect()),
            changed,
            looked: Instant::now(),
        };
        Self {
            path,
            loaded: Mutex::new(loaded),
            exposure: None,
        }
    }

    /// The key with this value. All keys are compared in constant time.
    fn find(&self, given: &str) -> Option<Arc<Key>> {
        let digest: [u8; 32] = Sha256::digest(given.as_bytes()).into();
        let mut found = None;
        for key in self.current().iter() {
            if bool::from(key.digest.ct_eq(&digest)) {
                found = Some(Arc::clone(key));
            }
        }
        found
    }

    /// The current keys. A file that cannot be read changes nothing.
    fn current(&self) -> Arc<Vec<Arc<Key>>> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = &self.path
            && loaded.looked.elapsed() >= LOOK
        {
            loaded.looked = Instant::now();
            if changed(path) != loaded.changed {
                match exposure(path).and_then(|_| load(path)) {
                    Ok((keys, changed)) => {
                        // A key that stays keeps its usage.
                        let keys = keys.into_iter().map(|key| {
                            let same = loaded.keys.iter().find(|it| it.is_same(&key));
                            same.map_or_else(|| Arc::new(key), Arc::clone)
                        });
                        loaded.keys = Arc::new(keys.collect());
                        loaded.changed = changed;
                    }
                    Err(error) => {
                        tracing::warn!(%error, "the file of keys cannot be read; the keys stay as they were");
                    }
                }
            }
        }
        Arc::clone(&loaded.keys)
    }
}

/// Rejects a file that others may write, because they could add keys, and
/// returns a warning if others may read it. Secrets that are mounted into
/// containers are often readable by all, so that alone is not rejected.
#[cfg(unix)]
fn exposure(path: &Path) -> io::Result<Option<String>> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(path)?.permissions().mode() & 0o777;
    if mode & 0o022 != 0 {
        let message = format!(
            "others than its owner can write it (mode {mode:03o}); run: chmod 600 {}",
            path.display()
        );
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    Ok((mode & 0o044 != 0).then(|| {
        format!(
            "others than its owner can read the keys in {} (mode {mode:03o}); run: chmod 600 {0}",
            path.display()
        )
    }))
}

#[cfg(not(unix))]
fn exposure(_path: &Path) -> io::Result<Option<String>> {
    Ok(None)
}

fn changed(path: &Path) -> Option<(SystemTime, u64)> {
    let about = std::fs::metadata(path).ok()?;
    Some((about.modified().ok()?, about.len()))
}

type Changed = Option<(SystemTime, u64)>;

fn load(path: &Path) -> io::Result<(Vec<Key>, Changed)> {
    let before = changed(path);
    let text = std::fs::read_to_string(path)?;
    let mut keys = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let key = Key::read(line).map_err(|why| {
            let message =
                format!("line {number}: {why}; write: NAME KEY [concurrent=N] [per-minute=N] [body=MEGABYTES] [seconds=N]");
            io::Error::new(io::ErrorKind::InvalidData, message)
        })?;
        keys.push(key);
    }
    Ok((keys, before))
}

impl Key {
    fn new(name: String, key: &str) -> Self {
        Self {
            name,
            digest: Sha256::digest(key.as_bytes()).into(),
            concurrent: None,
            bucket: None,
            per_minute: None,
            body: None,
            seconds: None,
        }
    }

    fn read(line: &str) -> Result<Self, String> {
        let mut words = line.split_whitespace();
        let (Some(name), Some(key)) = (words.next(), words.next()) else {
            return Err("a name or a key is missing".to_owned());
        };
        let mut read = Self::new(name.to_owned(), key);
        for word in words {
            let (what, number) = word
                .split_once('=')
                .ok_or_else(|| format!("`{word}` is unknown"))?;
            let number: u32 = number
                .parse()
                .map_err(|_| format!("`{number}` is not a number"))?;
            if number == 0 {
                return Err(format!("{what} is 0, so the key could not be used"));
            }
            match what {
                "concurrent" => {
                    let most = number as usize;
                    read.concurrent = Some((most, Arc::new(Semaphore::new(most))));
                }
                "per-minute" => {
                    read.per_minute = Some(number);
                    read.bucket = Some(Mutex::new(Bucket {
                        left: f64::from(number),
                        since: Instant::now(),
                    }));
                }
                "body" => read.body = Some(number),
                "seconds" => read.seconds = Some(number),
                _ => return Err(format!("`{what}` is unknown")),
            }
        }
        Ok(read)
    }

    fn is_same(&self, other: &Self) -> bool {
        let most = |key: &Self| key.concurrent.as_ref().map(|(most, _)| *most);
        self.digest == other.digest
            && self.name == other.name
            && most(self) == most(other)
            && self.per_minute == other.per_minute
            && self.body == other.body
            && self.seconds == other.seconds
    }

    /// The limits of one of its requests, where they are stricter than the
    /// general ones.
    fn limits(&self, of_all: Limits) -> Limits {
        let body = self.body.map(|megabytes| megabytes as usize * 1024 * 1024);
        let time = self.seconds.map(|it| Duration::from_secs(it.into()));
        Limits {
            body: body.map_or(of_all.body, |own| own.min(of_all.body)),
            time: time.map_or(of_all.time, |own| own.min(of_all.time)),
            ..of_all
        }
    }

    /// Counts one request against the limits of the key.
    fn take(&self) -> Result<Option<OwnedSemaphorePermit>, Failure> {
        if let (Some(bucket), Some(most)) = (&self.bucket, self.per_minute) {
            let mut bucket = bucket.lock().unwrap_or_else(PoisonError::into_inner);
            let rate = f64::from(most) / 60.0;
            let now = Instant::now();
            let gained = now.duration_since(bucket.since).as_secs_f64() * rate;
            bucket.left = (bucket.left + gained).min(f64::from(most));
            bucket.since = now;
            if bucket.left < 1.0 {
                let wait = Duration::from_secs_f64((1.0 - bucket.left) / rate);
                let message = format!("This key may make {most} requests a minute; wait a little");
                return Err(Failure {
                    retry_after: Some(wait),
                    ..Failure::new(
                        StatusCode::TOO_MANY_REQUESTS,
                        "rate_limit_exceeded",
                        message,
                    )
                });
            }
            bucket.left -= 1.0;
        }
        let Some((most, semaphore)) = &self.concurrent else {
            return Ok(None);
        };
        match Arc::clone(semaphore).try_acquire_owned() {
            Ok(permit) => Ok(Some(permit)),
            Err(_) => Err(Failure {
                retry_after: Some(Duration::from_secs(1)),
                ..Failure::new(
                    StatusCode::TOO_MANY_REQUESTS,
                    "concurrency_limit_exceeded",
                    format!(
                        "This key may make {most} requests at a time; wait until one has ended"
                    ),
                )
            }),
        }
    }
}

/// Which clients may send requests, and from where.
#[derive(Debug, Default)]
pub(crate) struct AccessPolicy {
    pub(crate) keys: Option<Keys>,
    /// Host names of this server, beside those of this machine.
    pub(crate) hosts: Vec<String>,
    /// Whether any other host name is accepted.
    pub(crate) any_host: bool,
    /// The origins whose pages may send requests.
    pub(crate) origins: Vec<String>,
}

/// A client that was admitted.
#[derive(Debug)]
pub(crate) struct Admitted {
    pub(crate) key: Option<String>,
    pub(crate) permit: Option<OwnedSemaphorePermit>,
    /// The limits of the request.
    pub(crate) limits: Limits,
}

impl Admitted {
    /// A client without a key, where none is needed.
    pub(crate) const fn anybody(limits: Limits) -> Self {
        Self {
            key: None,
            permit: None,
            limits,
        }
    }
}

impl AccessPolicy {
    /// Rejects requests from pages of another origin, or with a host name that
    /// is not one of this server.
    pub(crate) fn check_place(&self, headers: &HeaderMap, uri: &Uri) -> Result<(), Failure> {
        let forbidden = |message: String| Failure::new(StatusCode::FORBIDDEN, "forbidden", message);
        let host = host(headers, uri)?;
        if !self.any_host && !self.is_own(host) {
            return Err(forbidden(format!(
                "`{host}` is not a name of this server; if it is one, add it with --host"
            )));
        }
        let Some(origin) = headers.get(ORIGIN) else {
            return Ok(());
        };
        let origin = origin.to_str().unwrap_or_default();
        let is_same = origin
            .split_once("://")
            .is_some_and(|(_, it)| it.eq_ignore_ascii_case(host));
        if is_same || self.allows_origin(origin) {
            return Ok(());
        }
        Err(forbidden(format!(
            "Pages of `{origin}` may not ask; allow it with --cors if they should"
        )))
    }

    pub(crate) fn allows_origin(&self, origin: &str) -> bool {
        self.origins
            .iter()
            .any(|it| it == "*" || it.eq_ignore_ascii_case(origin))
    }

    fn is_own(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|it| it.is_ascii_digit()) => name,
            _ => host,
        };
        let name = name.trim_start_matches('[').trim_end_matches(']');
        if self.hosts.iter().any(|it| it.eq_ignore_ascii_case(name)) {
            return true;
        }
        match name.parse::<IpAddr>() {
            Ok(address) => address.is_loopback(),
            Err(_) => name.eq_ignore_ascii_case("localhost"),
        }
    }

    /// Admits a client with a valid key, where one is needed.
    pub(crate) fn admit(&self, headers: &HeaderMap, of_all: Limits) -> Result<Admitted, Failure> {
        let Some(keys) = &self.keys else {
            return Ok(Admitted::anybody(of_all));
        };
        let refused =
            |message: &str| Failure::new(StatusCode::UNAUTHORIZED, "invalid_api_key", message);
        let Some(given) = given(headers) else {
            return Err(refused(
                "A key is needed: send it as `Authorization: Bearer KEY` or as `x-api-key`",
            ));
        };
        let key = keys
            .find(given)
            .ok_or_else(|| refused("The key is none of this server"))?;
        Ok(Admitted {
            permit: key.take()?,
            key: Some(key.name.clone()),
            limits: key.limits(of_all),
        })
    }
}

/// The host name of a request. Two of them are rejected: a proxy and this
/// server could each use another one.
fn host<'h>(headers: &'h HeaderMap, uri: &'h Uri) -> Result<&'h str, Failure> {
    let invalid = |message: &str| Failure {
        param: None,
        ..Failure::new(StatusCode::BAD_REQUEST, "invalid_host", message)
    };
    let mut given = headers.get_all(HOST).iter();
    let (header, another) = (given.next(), given.next());
    if another.is_some() {
        return Err(invalid("The request has more than one Host; send one"));
    }
    let header = header
        .map(|host| host.to_str().map_err(|_| invalid("The Host is not text")))
        .transpose()?;
    let target = uri.authority().map(Authority::as_str);
    match (header, target) {
        (Some(header), Some(target)) if !header.eq_ignore_ascii_case(target) => Err(invalid(
            "The Host differs from the one in the address of the request; send the same",
        )),
        (Some(host), _) | (None, Some(host)) => Ok(host),
        (None, None) => Err(invalid("The request has no Host; send one")),
    }
}

/// The key in a request.
fn given(headers: &HeaderMap) -> Option<&str> {
    const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
    let bearer = headers.get(AUTHORIZATION).and_then(|it| it.to_str().ok());
    let bearer = bearer.and_then(|it| {
        let (scheme, key) = it.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
    });
    let given = bearer.or_else(|| headers.get(API_KEY)?.to_str().ok());
    given.filter(|key| !key.is_empty() && key.len() <= MAX_KEY)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes the next access check the file again.
    fn later(keys: &Keys) {
        let mut loaded = keys.loaded.lock().unwrap();
        loaded.looked = loaded.looked.checked_sub(LOOK).unwrap();
    }

    #[test]
    fn keys_are_changed_without_a_restart_and_a_broken_file_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("keys");
        std::fs::write(&file, "ann first per-minute=1\n").unwrap();
        let keys = Keys::open(&file).unwrap();
        keys.find("first").unwrap().take().unwrap();

        std::fs::write(&file, "ann first per-minute=1\nbob second\n").unwrap();
        later(&keys);
        assert_eq!(keys.find("second").unwrap().name, "bob");
        let spent = keys.find("first").unwrap().take();
        assert!(spent.is_err(), "what a key has used up stays used up");

        std::fs::write(&file, "bob second per-minute=none\n").unwrap();
        later(&keys);
        assert!(keys.find("first").is_some() && keys.find("second").is_some());

        std::fs::write(&file, "bob second\n").unwrap();
        later(&keys);
        assert!(keys.find("first").is_none(), "it was taken away");
        assert!(keys.find("second").is_some());
    }
}
