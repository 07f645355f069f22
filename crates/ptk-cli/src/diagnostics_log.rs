//! What ptk does inside, as lines on stderr, for those who look for a fault:
//! `--log debug`, `RUST_LOG=ptk=debug`.

use std::io::{self, Write};

use anyhow::{Result, anyhow};
use ptk::events::Redaction;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::registry::LookupSpan;

use crate::printer;

/// The variable that is read where no flag is given.
const VARIABLE: &str = "RUST_LOG";

/// Reads a filter, such as `debug` or `ptk=debug,ptk_llm=trace`.
pub(crate) fn filter(text: &str) -> Result<Targets> {
    text.parse().map_err(|error| {
        anyhow!("`{text}` is not a filter: {error}; write a level (error, warn, info, debug, trace) or targets such as ptk=debug,ptk_llm=trace")
    })
}

/// The layer that writes what the filter lets through, if there is one. A
/// variable that is no filter is ignored: it may be meant for other programs.
pub(crate) fn layer<S>(wanted: Option<&Targets>) -> Option<impl Layer<S> + Send + Sync + 'static>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let variable = || std::env::var(VARIABLE).ok();
    let variable = || variable().filter(|it| !it.is_empty())?.parse().ok();
    let filter: Targets = wanted.cloned().or_else(variable)?;
    let lines = fmt::layer()
        .with_ansi(false)
        .with_writer(RedactedLine::default);
    Some(lines.with_filter(filter))
}

/// A line that is written to stderr without secrets once it is complete.
#[derive(Default)]
struct RedactedLine {
    line: Vec<u8>,
}

impl Write for RedactedLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for RedactedLine {
    fn drop(&mut self) {
        let line = String::from_utf8_lossy(&self.line);
        let line = Redaction::secrets().apply(&line).into_owned();
        // If stderr is closed, there is nowhere to write it.
        drop(printer::stderr().write_all(line.as_bytes()));
    }
}
