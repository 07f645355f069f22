//! `ptk index`: builds the code index of a workspace, or updates it.

use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::Result;
use ptk_sandbox::Workspace;
use ptk_search::watch::Watcher;
use ptk_search::{Index, Progress, Report};
use serde_json::{Value, json};

use crate::args::IndexArgs;
use crate::exit::Exit;
use crate::long::Long;
use crate::printer;
use crate::view::clean::in_line;
use crate::view::{Screen, count, took};
use crate::{code, config};

/// How often the progress line is drawn.
const BEAT: Duration = Duration::from_millis(100);
/// The share of the work after which the remaining time is estimated.
const KNOWN_AFTER: f64 = 0.02;
/// The width of the progress bar.
const BAR: usize = 16;
/// How long to wait for further changes before an update.
const QUIET: Duration = Duration::from_millis(300);
/// How often to check whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(100);

pub(crate) fn run(args: &IndexArgs, out: &mut impl Write) -> Result<Exit> {
    let folder = config::workspace_folder(&args.config);
    let index = code::index(&Workspace::open(&folder)?)?;
    let long = Long::begin()?;
    // Before the first update, so that no change is missed.
    let (tell, changes) = channel();
    let watcher = args.watch.then(|| {
        Watcher::new(index.workspace(), index.folder(), QUIET, move |_| {
            // At the end the receiver is gone.
            let _ = tell.send(());
        })
    });
    let watcher = watcher.transpose()?;
    let report = update(&index, &long)?;
    print(&index, &report, args.json, out)?;
    if report.is_cancelled {
        return Ok(Exit::Interrupted);
    }
    if watcher.is_none() {
        return Ok(Exit::Success);
    }
    if !args.json {
        let root = in_line(&index.workspace().root().display().to_string());
        writeln!(printer::stderr(), "Watching {root}; Ctrl-C ends it.")?;
    }
    while !long.stop.is_cancelled() {
        match changes.recv_timeout(LOOK) {
            Ok(()) => {
                let since = Instant::now();
                let report = update(&index, &long)?;
                if report.added + report.changed + report.removed > 0 {
                    print_changes(&report, since.elapsed(), args.json, out)?;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Ok(Exit::Success)
}

/// Updates an index, and shows the progress.
pub(crate) fn update(index: &Index, long: &Long) -> Result<Report> {
    let mut shown = IndexStatus::default();
    let updated = index.update(&long.is_stopped, &mut |progress| shown.tell(progress));
    shown.screen.doing(None);
    Ok(updated?)
}

fn print(index: &Index, report: &Report, has_json: bool, out: &mut impl Write) -> Result<()> {
    let meaning = if index.exists() {
        Some(index.searcher()?.meaning())
    } else {
        None
    };
    if has_json {
        let mut object = object(report);
        if let Value::Object(fields) = &mut object {
            fields.insert("meaning".to_owned(), json!(meaning));
            let folder = index.folder().display().to_string();
            fields.insert("folder".to_owned(), json!(folder));
        }
        writeln!(out, "{object}")?;
        return Ok(out.flush()?);
    }
    if let Some(why) = &report.rebuilt {
        let why = in_line(&why.to_string());
        writeln!(printer::stderr(), "The index was built anew: {why}.")?;
    }
    let (files, chunks) = (number(report.files), number(report.chunks));
    let what = match changes(report) {
        changes if changes.is_empty() => "nothing has changed".to_owned(),
        changes => changes,
    };
    let stopped = if report.is_cancelled {
        " It was stopped; what is done is kept."
    } else {
        ""
    };
    writeln!(out, "{files} files, {chunks} chunks: {what}.{stopped}")?;
    let skipped: Vec<String> = report
        .skipped
        .counts()
        .map(|(reason, count)| format!("{} {reason}", number(count)))
        .collect();
    if !skipped.is_empty() {
        writeln!(out, "Left out: {}.", skipped.join(", "))?;
    }
    out.flush()?;
    if let Some(note) = meaning.and_then(code::note) {
        writeln!(printer::stderr(), "{note}")?;
    }
    Ok(())
}

fn print_changes(
    report: &Report,
    time: Duration,
    has_json: bool,
    out: &mut impl Write,
) -> Result<()> {
    if has_json {
        writeln!(out, "{}", object(report))?;
    } else {
        writeln!(out, "{} ({})", changes(report), took(time))?;
    }
    Ok(out.flush()?)
}

/// The changes of an update as text.
fn changes(report: &Report) -> String {
    let parts = [
        (report.added, "added"),
        (report.changed, "changed"),
        (report.removed, "removed"),
        (report.embedded, "chunks indexed by meaning"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, what)| format!("{} {what}", number(*count)))
        .collect();
    parts.join(", ")
}

/// A report as JSON.
fn object(report: &Report) -> Value {
    let skipped: serde_json::Map<String, Value> = report
        .skipped
        .counts()
        .map(|(reason, count)| (reason.to_string(), json!(count)))
        .collect();
    json!({
        "files": report.files,
        "chunks": report.chunks,
        "added": report.added,
        "changed": report.changed,
        "removed": report.removed,
        "unchanged": report.unchanged,
        "embedded": report.embedded,
        "skipped": skipped,
        "rebuilt": report.rebuilt.as_ref().map(ToString::to_string),
        "is_cancelled": report.is_cancelled,
    })
}

fn number(count_of: usize) -> String {
    count(u64::try_from(count_of).unwrap_or(u64::MAX))
}

/// The progress line, on a terminal.
struct IndexStatus {
    screen: Screen,
    since: Instant,
    /// When embedding began, which has a speed of its own.
    meaning_since: Option<Instant>,
    drawn: Option<Instant>,
}

impl Default for IndexStatus {
    fn default() -> Self {
        Self {
            screen: Screen::live(),
            since: Instant::now(),
            meaning_since: None,
            drawn: None,
        }
    }
}

impl IndexStatus {
    fn tell(&mut self, progress: Progress) {
        if self.drawn.is_some_and(|at| at.elapsed() < BEAT) {
            return;
        }
        self.drawn = Some(Instant::now());
        let (since, done, total, what) = if progress.to_embed > 0 {
            let since = *self.meaning_since.get_or_insert_with(Instant::now);
            let (done, total) = (progress.embedded, progress.to_embed);
            let what = format!("{} of {} chunks by meaning", number(done), number(total));
            (since, done, total, what)
        } else {
            let (done, total) = (progress.files, progress.total);
            let what = format!(
                "{} of {} files, {} chunks",
                number(done),
                number(total),
                number(progress.chunks)
            );
            (self.since, done, total, what)
        };
        #[allow(clippy::cast_precision_loss, reason = "it is shown to a person")]
        let part = done as f64 / total.max(1) as f64;
        let left = left(since.elapsed(), part);
        let doing = format!("{} {what}{left}", bar(part));
        self.screen.doing(Some((doing, self.since)));
        self.screen.tick();
    }
}

/// The remaining time as text, once it can be estimated.
fn left(elapsed: Duration, part: f64) -> String {
    if part < KNOWN_AFTER {
        return String::new();
    }
    let left = Duration::try_from_secs_f64(elapsed.as_secs_f64() * (1.0 - part) / part);
    left.map_or_else(
        |_| String::new(),
        |left| format!(", {} s left", left.as_secs()),
    )
}

fn bar(part: f64) -> String {
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a part of a short bar"
    )]
    let full = ((part.clamp(0.0, 1.0) * BAR as f64) as usize).min(BAR);
    format!("{}{}", "█".repeat(full), "░".repeat(BAR - full))
}
