//! A declared HTTP endpoint.

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use ptk_protocol::{Arguments, ToolSpec};
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::template::Template;
use crate::{CallContext, Class, Effects, Fields, Plan, Tool, ToolError};

/// How many bytes of an answer are read.
const MAX_ANSWER: usize = 10 * 1024 * 1024;
/// How much of an answer is quoted in an error.
const MAX_QUOTED: usize = 500;

/// The HTTP method of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// Arguments that are not in the path are in the query.
    #[default]
    Get,
    /// Arguments are a JSON object in the body.
    Post,
    /// Arguments are a JSON object in the body.
    Put,
    /// Arguments are a JSON object in the body.
    Patch,
    /// Arguments are in the query.
    Delete,
}

impl Method {
    const fn has_body(self) -> bool {
        matches!(self, Self::Post | Self::Put | Self::Patch)
    }

    const fn as_reqwest(self) -> reqwest::Method {
        match self {
            Self::Get => reqwest::Method::GET,
            Self::Post => reqwest::Method::POST,
            Self::Put => reqwest::Method::PUT,
            Self::Patch => reqwest::Method::PATCH,
            Self::Delete => reqwest::Method::DELETE,
        }
    }
}

/// A tool that calls an HTTP endpoint.
pub(super) struct HttpTool {
    spec: ToolSpec,
    url: Template,
    /// Scheme and host, which no argument can change.
    origin: url::Origin,
    method: Method,
    headers: Vec<(String, String)>,
    effects: Effects,
    timeout: Duration,
    /// How it is declared, in short.
    pub(super) declared: String,
}

impl HttpTool {
    /// The tool for this address, or why the address cannot be used.
    pub(super) fn new(
        spec: ToolSpec,
        url: Template,
        method: Method,
        headers: Vec<(String, String)>,
        effects: Effects,
        timeout: Duration,
    ) -> Result<Self, String> {
        let parsed = Url::parse(url.start()).map_err(|error| error.to_string())?;
        if !matches!(parsed.scheme(), "http" | "https") || !parsed.has_host() {
            return Err("it has to begin with http:// or https:// and a host".to_owned());
        }
        let host_is_whole = url.start().matches('/').count() > 2 || url.names().next().is_none();
        if !host_is_whole {
            return Err("no argument may be a part of the host".to_owned());
        }
        Ok(Self {
            origin: parsed.origin(),
            spec,
            url,
            method,
            headers,
            effects,
            timeout,
            declared: String::new(),
        })
    }

    /// The address, and the arguments that have no place in it.
    fn address(&self, args: &Arguments) -> Result<(Url, Map<String, Value>), ToolError> {
        if self
            .url
            .path_segments(args)
            .iter()
            .any(|it| changes_path(it))
        {
            let message = "An argument would lead to another path of the address: one in the path may not be empty, `.` or `..`, have such a part between slashes, or a backslash";
            return Err(ToolError::validation(message)
                .suggest("Give the name of the thing itself, without a path to it."));
        }
        let filled = self.url.fill(args, |text| {
            percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC)
                .to_string()
        });
        let filled = filled.ok_or_else(|| {
            ToolError::validation("An argument that is a part of the address is missing")
        })?;
        let mut url = Url::parse(&filled).map_err(|error| {
            ToolError::validation(format!("The address makes no sense: {error}"))
        })?;
        if url.origin() != self.origin {
            return Err(ToolError::security("The address leads to another host"));
        }
        let mut others = args.as_map().clone();
        others.retain(|name, _| self.url.names().all(|placed| placed != name));
        if !self.method.has_body() {
            let mut query = url.query_pairs_mut();
            for (name, value) in std::mem::take(&mut others) {
                match value {
                    Value::Null => {}
                    Value::String(text) => {
                        query.append_pair(&name, &text);
                    }
                    value => {
                        query.append_pair(&name, &value.to_string());
                    }
                }
            }
            drop(query);
            if url.query() == Some("") {
                url.set_query(None);
            }
        }
        Ok((url, others))
    }

    fn header_map(&self) -> Result<HeaderMap, ToolError> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let value = with_variables(value)?;
            let wrong = || ToolError::system(format!("The header {name} cannot be sent"));
            let header = HeaderName::try_from(name.as_str()).map_err(|_| wrong())?;
            let mut value = HeaderValue::try_from(value).map_err(|_| wrong())?;
            value.set_sensitive(true);
            headers.insert(header, value);
        }
        Ok(headers)
    }

    /// Marks a failure as transient, if repeating the request changes nothing.
    fn passing(&self, error: ToolError) -> ToolError {
        if self.method.as_reqwest().is_safe() {
            error.transient()
        } else {
            error
        }
    }

    async fn ask(&self, context: &CallContext, args: &Arguments) -> Result<Fields, ToolError> {
        let (url, body) = self.address(args)?;
        let client = ptk_http::client()
            .timeout(self.timeout)
            .redirect(Policy::custom(same_origin))
            .build()
            .map_err(|error| ToolError::system(format!("HTTP does not work here: {error}")))?;
        let mut request = client
            .request(self.method.as_reqwest(), url.clone())
            .headers(self.header_map()?);
        if self.method.has_body() {
            request = request.json(&body);
        }
        let unreachable = |error: reqwest::Error| {
            let why = if error.is_timeout() {
                format!("it did not answer within {} s", self.timeout.as_secs())
            } else {
                innermost(&error)
            };
            let host = url.host_str().unwrap_or_default();
            let error = ToolError::system(format!("{host} could not be asked: {why}"))
                .suggest("Try again later, or go on without it.");
            self.passing(error)
        };
        let response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        let mut bytes = Vec::new();
        let mut stream = response.bytes_stream();
        while let Some(chunk) = stream.next().await {
            bytes.extend_from_slice(&chunk.map_err(unreachable)?);
            if bytes.len() > MAX_ANSWER {
                return Err(ToolError::user("The answer is longer than 10 MB")
                    .suggest("Ask for less at once."));
            }
        }
        context.progress(&format!("{status}, {} bytes", bytes.len()));
        let text = String::from_utf8_lossy(&bytes);
        if !status.is_success() {
            let quoted: String = text.chars().take(MAX_QUOTED).collect();
            let error = ToolError::user(format!("The endpoint answered {status}"))
                .suggest("Read `answer`, and call with other arguments.")
                .with("status", status.as_u16())
                .with("answer", quoted);
            let may_pass = matches!(status.as_u16(), 429 | 502..=504);
            return Err(if may_pass { self.passing(error) } else { error });
        }
        let data = serde_json::from_slice(&bytes).unwrap_or_else(|_| json!(text));
        Ok(Fields::from_iter([
            ("data".to_owned(), data),
            ("status".to_owned(), json!(status.as_u16())),
        ]))
    }
}

/// Whether a segment of a path, with arguments in it, could be read as other
/// segments: parsers of addresses take `%2e%2e` for `..`, and servers may decode
/// once more.
fn changes_path(segment: &str) -> bool {
    /// How often a server and what stands before it may decode.
    const MAX_DECODED: usize = 8;

    let mut text = segment.to_owned();
    for _ in 0..MAX_DECODED {
        let is_part = |part: &str| matches!(part, "" | "." | "..");
        if text.contains('\\') || text.split('/').any(is_part) {
            return true;
        }
        let decoded = percent_encoding::percent_decode_str(&text);
        let decoded = decoded.decode_utf8_lossy().into_owned();
        if decoded == text {
            return false;
        }
        text = decoded;
    }
    true
}

/// Follows an endpoint only to itself, so that no header goes to another host.
fn same_origin(attempt: reqwest::redirect::Attempt<'_>) -> reqwest::redirect::Action {
    let first = attempt.previous().first().map(Url::origin);
    if attempt.previous().len() > 5 || first != Some(attempt.url().origin()) {
        attempt.stop()
    } else {
        attempt.follow()
    }
}

/// The innermost cause of an error, which says most.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// The variables of the environment that headers name, with their `$`.
pub(super) fn variables(headers: &[(String, String)]) -> Vec<String> {
    let behind = headers
        .iter()
        .flat_map(|(_, value)| value.split('$').skip(1));
    let names = behind.map(|text| {
        let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        text.get(..end.unwrap_or(text.len())).unwrap_or_default()
    });
    let names = names.filter(|name| !name.is_empty());
    names.map(|name| format!("${name}")).collect()
}

/// The text with variables of the environment in the place of `$NAME`.
fn with_variables(text: &str) -> Result<String, ToolError> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('$') {
        filled.push_str(before);
        let end = behind
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(behind.len());
        let (name, after) = behind.split_at_checked(end).unwrap_or((behind, ""));
        if name.is_empty() {
            filled.push('$');
        } else {
            filled.push_str(&std::env::var(name).map_err(|_| {
                ToolError::system(format!("The variable {name} is not set"))
                    .suggest("The user has to set it in the environment of ptk.")
                    .advise("Set it in the environment of ptk.")
            })?);
        }
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

impl Tool for HttpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effects(&self) -> Effects {
        self.effects
    }

    fn class(&self) -> Class {
        Class::Background
    }

    fn is_deferrable(&self) -> bool {
        true
    }

    fn timeout(&self, _args: &Arguments) -> Option<Duration> {
        Some(self.timeout)
    }

    fn plan(&self, _context: &CallContext, args: &Arguments) -> Result<Plan, ToolError> {
        let (url, body) = self.address(args)?;
        let method = self.method.as_reqwest();
        let body = if body.is_empty() {
            String::new()
        } else {
            format!(" with {}", Value::Object(body))
        };
        let sent = match variables(&self.headers).as_slice() {
            [] => String::new(),
            names => format!("\n\nIt sends {} of your environment.", names.join(", ")),
        };
        Ok(Plan {
            summary: format!("{method} {url}{body}{sent}"),
            declared: Some(self.declared.clone()),
            ..Plan::default()
        })
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        args: Arguments,
    ) -> BoxFuture<'a, Result<Fields, ToolError>> {
        Box::pin(async move { self.ask(context, &args).await })
    }
}
