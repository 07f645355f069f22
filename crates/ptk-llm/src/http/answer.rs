//! An incoming answer: its format, its deadline, and whether it is complete.

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use super::body::MAX_WHOLE;
use super::events::{Events, Frames};
use super::lines::Lines;
use super::sending::HttpProvider;
use super::{Framing, Reading, Trouble, error_in};
use crate::{Delta, Deltas, LlmError, LlmErrorKind, Request};

/// The message for an empty stream.
const NOTHING: &str = "not a word came; some servers end so if a prompt does not fit";
/// How long to wait after the end of a reply for its usage and the end of the
/// stream.
const LAST: Duration = Duration::from_secs(10);
/// The data that ends a stream of events, and is not an event itself.
const DONE: &str = "[DONE]";

type Pieces = BoxStream<'static, Result<bytes::Bytes, reqwest::Error>>;

/// An incoming answer.
pub(super) struct Answer<'a> {
    asked: Asked<'a>,
    reading: Box<dyn Reading>,
    /// Whether anything came.
    has_begun: bool,
    coming: Coming,
}

/// The request of an answer: its provider and its deadline.
#[derive(Clone, Copy)]
struct Asked<'a> {
    provider: &'a HttpProvider,
    request: &'a Request,
    until: Instant,
}

impl Asked<'_> {
    fn error(self, kind: LlmErrorKind) -> LlmError {
        self.provider.error(self.request, kind)
    }

    fn trouble(self, trouble: Trouble) -> LlmError {
        self.provider.trouble(self.request, trouble)
    }

    /// The next piece, if it comes before the timeout.
    async fn piece(self, pieces: &mut Pieces) -> Result<Option<bytes::Bytes>, LlmError> {
        let next = timeout_at(self.provider.soon(self.request, self.until), pieces.next()).await;
        let next = next.map_err(|_| self.error(LlmErrorKind::TimedOut))?;
        let failed = |error| self.provider.failed(self.request, &error);
        next.transpose().map_err(failed)
    }
}

enum Coming {
    /// The format is not known yet, except for the content type.
    Unknown(Pieces, Said),
    Frames(Pieces, Box<dyn Frames>),
    /// One JSON value, without streaming.
    Whole(Pieces, Vec<u8>),
    Nothing,
}

/// What the content type says of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Json,
    Other,
}

impl<'a> Answer<'a> {
    pub(super) fn new(
        provider: &'a HttpProvider,
        request: &'a Request,
        response: Response,
        until: Instant,
    ) -> Self {
        let kind = response.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let said = if kind.starts_with("application/json") {
            Said::Json
        } else {
            Said::Other
        };
        Self {
            reading: provider.wire().reading(request),
            asked: Asked {
                provider,
                request,
                until,
            },
            has_begun: false,
            coming: Coming::Unknown(response.bytes_stream().boxed(), said),
        }
    }

    pub(super) fn deltas(self) -> Deltas<'a> {
        let batches = stream::unfold(self, |mut answer| async move {
            let batch = answer.next().await?;
            Some((batch, answer))
        });
        batches.flat_map(stream::iter).boxed()
    }

    /// The next deltas; `None` after the end. Nothing follows an error.
    async fn next(&mut self) -> Option<Vec<Result<Delta, LlmError>>> {
        let mut deltas = Vec::new();
        let outcome = match std::mem::replace(&mut self.coming, Coming::Nothing) {
            Coming::Nothing => return None,
            Coming::Unknown(pieces, said) => self.take_first(pieces, said, &mut deltas).await,
            Coming::Whole(pieces, bytes) => self.take_whole(pieces, bytes, &mut deltas).await,
            Coming::Frames(pieces, frames) => self.take_frames(pieces, frames, &mut deltas).await,
        };
        let mut batch: Vec<_> = deltas.into_iter().map(Ok).collect();
        batch.extend(outcome.err().map(Err));
        Some(batch)
    }

    /// Detects the format from the first byte: many servers and proxies send a
    /// wrong content type.
    async fn take_first(
        &mut self,
        mut pieces: Pieces,
        said: Said,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), LlmError> {
        let mut head = Vec::new();
        let first = loop {
            let Some(piece) = self.asked.piece(&mut pieces).await? else {
                break None;
            };
            head.extend_from_slice(&piece);
            if head.len() > MAX_WHOLE {
                return Err(self.asked.error(LlmErrorKind::TooMuch));
            }
            let first = head.iter().find(|byte| !byte.is_ascii_whitespace());
            if first.is_some() {
                break first.copied();
            }
        };
        let framing = self.asked.provider.wire().framing();
        if first == Some(b'<') {
            let error = self.asked.error(LlmErrorKind::Unreadable);
            return Err(error.message("it answered with a page for people"));
        }
        // A line of JSON may be a whole answer, or the first of many.
        let is_whole = match framing {
            Framing::Events => true,
            Framing::Lines => said == Said::Json,
        };
        if is_whole && matches!(first, Some(b'{' | b'[')) {
            self.coming = Coming::Whole(pieces, head);
            return Ok(());
        }
        let mut frames: Box<dyn Frames> = match framing {
            Framing::Events => Box::<Events>::default(),
            Framing::Lines => Box::<Lines>::default(),
        };
        frames.push(&head);
        self.take_events(pieces, frames, first.is_none(), deltas)
    }

    async fn take_whole(
        &mut self,
        mut pieces: Pieces,
        mut bytes: Vec<u8>,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), LlmError> {
        while let Some(piece) = self.asked.piece(&mut pieces).await? {
            bytes.extend_from_slice(&piece);
            if bytes.len() > MAX_WHOLE {
                return Err(self.asked.error(LlmErrorKind::TooMuch));
            }
        }
        let answer: Value = serde_json::from_slice(&bytes).map_err(|error| {
            let error = format!("its answer is no JSON: {error}");
            self.asked.error(LlmErrorKind::Unreadable).message(error)
        })?;
        let read = match error_in(&answer) {
            Some(trouble) => Err(trouble),
            None => self.reading.whole(&answer, deltas),
        };
        read.map_err(|trouble| self.asked.trouble(trouble))
    }

    async fn take_frames(
        &mut self,
        mut pieces: Pieces,
        mut frames: Box<dyn Frames>,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), LlmError> {
        let next = if self.reading.has_ended() {
            // The reply is complete, whatever becomes of the connection.
            let rest = timeout(LAST, self.asked.piece(&mut pieces)).await;
            rest.ok().and_then(Result::ok).flatten()
        } else {
            self.asked.piece(&mut pieces).await?
        };
        if let Some(piece) = &next {
            frames.push(piece);
        }
        self.take_events(pieces, frames, next.is_none(), deltas)
    }

    /// Parses the events that have arrived completely.
    fn take_events(
        &mut self,
        pieces: Pieces,
        mut frames: Box<dyn Frames>,
        is_last: bool,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), LlmError> {
        let asked = self.asked;
        if is_last {
            frames.end();
        }
        while let Some(data) = frames.next() {
            // The content of an unreadable piece is lost, so the reply is not
            // complete.
            let cut = |why: String| {
                let why = format!("a piece of it cannot be read: {why}");
                asked.error(LlmErrorKind::Cut).message(why)
            };
            let data = data.map_err(|error| cut(error.to_string()))?;
            let data = data.trim();
            if data.is_empty() {
                continue;
            }
            self.has_begun = true;
            if data != DONE && !self.reading.words(data, deltas) {
                let event: Value =
                    serde_json::from_str(data).map_err(|error| cut(error.to_string()))?;
                let read = match error_in(&event) {
                    Some(trouble) => Err(trouble),
                    None => self.reading.event(&event, deltas),
                };
                read.map_err(|trouble| asked.trouble(trouble))?;
            }
            if data == DONE || self.reading.is_over() {
                self.reading.end(deltas);
                return Ok(());
            }
        }
        if is_last && !self.has_begun {
            return Err(self.asked.error(LlmErrorKind::Cut).message(NOTHING));
        }
        if is_last {
            self.reading.end(deltas);
            return Ok(());
        }
        if frames.held() > MAX_WHOLE {
            return Err(self.asked.error(LlmErrorKind::TooMuch));
        }
        self.coming = Coming::Frames(pieces, frames);
        Ok(())
    }
}
