//! Logins from a file that the user names: JSON as browser extensions export
//! it, or Netscape's `cookies.txt`.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The longest file of cookies, in bytes: more than a browser keeps.
const MAX_FILE: u64 = 16 * 1024 * 1024;
/// The prefix of a cookie's domain in `cookies.txt` that hides it from scripts.
const HTTP_ONLY: &str = "#HttpOnly_";

/// Why cookies could not be read. Values from the file are never included.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CookiesError {
    #[error("the cookies in {} cannot be read: {source}", .path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "{} holds no cookies in a known form; export them as JSON, or as cookies.txt (number {number} is \
         not one)",
        .path.display()
    )]
    Unknown { path: PathBuf, number: usize },
}

/// A cookie. Its debug output shows only its name and domain.
#[derive(Clone, PartialEq)]
pub(crate) struct Cookie(Map<String, Value>);

impl fmt::Debug for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = |name| self.0.get(name).and_then(Value::as_str).unwrap_or_default();
        write!(f, "Cookie({} of {})", field("name"), field("domain"))
    }
}

impl Cookie {
    /// The cookie as JSON, as the DevTools protocol expects it.
    pub(crate) fn to_value(&self) -> Value {
        Value::Object(self.0.clone())
    }
}

/// A cookie as browser extensions export it. Other fields are ignored.
#[derive(Deserialize)]
struct Exported {
    name: String,
    value: String,
    domain: String,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    secure: bool,
    #[serde(default, rename = "httpOnly")]
    http_only: bool,
    #[serde(default, rename = "sameSite")]
    same_site: Option<String>,
    #[serde(default, rename = "expirationDate", alias = "expires")]
    expires: Option<f64>,
    #[serde(default, rename = "hostOnly")]
    host_only: bool,
}

impl Exported {
    fn into_cookie(self) -> Cookie {
        let path = self.path.unwrap_or_else(|| "/".to_owned());
        let mut fields = fields(&self.name, &self.value, &path);
        // Without a domain it belongs to the host of the address alone.
        let host = self.domain.trim_start_matches('.');
        let scheme = if self.secure { "https" } else { "http" };
        fields.insert("url".to_owned(), format!("{scheme}://{host}{path}").into());
        if !self.host_only {
            fields.insert("domain".to_owned(), self.domain.clone().into());
        }
        fields.insert("secure".to_owned(), self.secure.into());
        fields.insert("httpOnly".to_owned(), self.http_only.into());
        if let Some(expires) = self.expires.filter(|at| *at > 0.0) {
            fields.insert("expires".to_owned(), json!(expires));
        }
        let same_site = self.same_site.map(|it| it.to_lowercase());
        let same_site = match same_site.as_deref() {
            Some("strict") => Some("Strict"),
            Some("lax") => Some("Lax"),
            Some("none" | "no_restriction") => Some("None"),
            _ => None,
        };
        if let Some(same_site) = same_site {
            fields.insert("sameSite".to_owned(), same_site.into());
        }
        Cookie(fields)
    }
}

fn fields(name: &str, value: &str, path: &str) -> Map<String, Value> {
    let fields = [("name", name), ("value", value), ("path", path)];
    fields
        .into_iter()
        .map(|(key, text)| (key.to_owned(), text.into()))
        .collect()
}

/// Reads the cookies in a file.
pub(crate) fn read(path: &Path) -> Result<Vec<Cookie>, CookiesError> {
    let mut text = String::new();
    let file = File::open(path);
    let read = file.and_then(|file| file.take(MAX_FILE).read_to_string(&mut text));
    read.map_err(|source| CookiesError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    parse(&text).map_err(|number| CookiesError::Unknown {
        path: path.to_owned(),
        number,
    })
}

/// Parses the cookies in a text, or returns the number of the invalid one.
fn parse(text: &str) -> Result<Vec<Cookie>, usize> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.starts_with(['[', '{']) {
        return exported(text);
    }
    let mut cookies = Vec::new();
    for (number, line) in (1_usize..).zip(text.lines()) {
        let is_http_only = line.starts_with(HTTP_ONLY);
        if line.trim().is_empty() || (line.starts_with('#') && !is_http_only) {
            continue;
        }
        let line = line.strip_prefix(HTTP_ONLY).unwrap_or(line);
        cookies.push(netscape(line, is_http_only).ok_or(number)?);
    }
    if cookies.is_empty() {
        return Err(1);
    }
    Ok(cookies)
}

fn exported(text: &str) -> Result<Vec<Cookie>, usize> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum File {
        List(Vec<Value>),
        State { cookies: Vec<Value> },
    }
    let (File::List(list) | File::State { cookies: list }) =
        serde_json::from_str(text).map_err(|_| 1_usize)?;
    (1_usize..)
        .zip(list)
        .map(|(number, cookie)| {
            let cookie = serde_json::from_value::<Exported>(cookie);
            cookie.map(Exported::into_cookie).map_err(|_| number)
        })
        .collect()
}

/// Parses a line of `cookies.txt`: domain, whether subdomains are included,
/// path, whether it is secure, expiry, name, value.
fn netscape(line: &str, http_only: bool) -> Option<Cookie> {
    let mut parts = line.trim_end_matches('\r').splitn(7, '\t');
    let mut next = || parts.next();
    let (domain, subdomains, path) = (next()?, next()?, next()?);
    let (secure, expires, name) = (next()?, next()?, next()?);
    let exported = Exported {
        name: name.to_owned(),
        value: next()?.to_owned(),
        domain: domain.to_owned(),
        path: Some(path.to_owned()),
        secure: secure.eq_ignore_ascii_case("true"),
        http_only,
        same_site: None,
        expires: Some(expires.parse().ok()?),
        host_only: !subdomains.eq_ignore_ascii_case("true"),
    };
    Some(exported.into_cookie())
}
