//! `ptk sessions`: the stored sessions.

use std::fs::OpenOptions;
use std::io::{self, BufReader, BufWriter, Write};
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use anyhow::{Result, anyhow, bail};
use ptk::store::export::Thoughts;
use ptk::store::{
    self, Hit, Listing, Overview, Retention, Search, SqliteStore, Store as _, Turns, export,
};
use serde_json::json;

use crate::args::{
    CheckSessionsArgs, ConfigArgs, DeleteSessionsArgs, ExportFormat, ExportSessionArgs,
    ForkSessionArgs, ImportSessionsArgs, RenameSessionArgs, ScopeArgs, SearchSessionsArgs,
    SessionsCommand, ShowSessionArgs,
};
use crate::config;
use crate::exit::Exit;
use crate::printer::{self, Style};
use crate::sessions::{self, short};
use crate::terminal::Terminal;
use crate::view::clean::{in_line, visible};
use crate::view::{MarkdownStream, age};

const STRONG: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();
/// How many sessions are read at once.
const PAGE: usize = 200;
/// The most characters of a name in a list.
const MAX_NAME: usize = 70;
/// How many of the sessions to delete are listed.
const MAX_CHOSEN: usize = 20;

pub(crate) fn run(command: &SessionsCommand, out: &mut (impl Write + Send)) -> Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        match command {
            SessionsCommand::List(args) => list(args, out).await,
            SessionsCommand::Show(args) => show(args, out).await,
            SessionsCommand::Search(args) => search(args, out).await,
            SessionsCommand::Rename(args) => rename(args).await,
            SessionsCommand::Fork(args) => fork(args, out).await,
            SessionsCommand::Export(args) => export(args, out).await,
            SessionsCommand::Import(args) => import(args, out).await,
            SessionsCommand::Delete(args) => delete(args, out).await,
            SessionsCommand::Check(args) => check(args, out).await,
        }
    })
}

/// The store, or an error if it does not exist.
fn existing_store(wanted: &str) -> Result<SqliteStore> {
    sessions::open_to_read()?.ok_or_else(|| sessions::unknown(wanted))
}

/// The store for writing, if it exists.
fn existing_store_to_write(wanted: &str) -> Result<SqliteStore> {
    drop(existing_store(wanted)?);
    sessions::open()
}

/// The workspace whose sessions are listed; `None` for all.
fn workspace(all: bool, config: &ConfigArgs) -> Result<Option<String>> {
    if all {
        return Ok(None);
    }
    sessions::workspace(&config::workspace_folder(config)).map(Some)
}

async fn list(args: &ScopeArgs, out: &mut impl Write) -> Result<Exit> {
    let workspace = workspace(args.all, &args.config)?;
    let Some(store) = sessions::open_to_read()? else {
        return nothing(args.json, args.all);
    };
    let mut left = args.limit;
    let mut last: Option<Overview> = None;
    while left > 0 {
        let mut listing = Listing::new(left.min(PAGE));
        if let Some(workspace) = &workspace {
            listing = listing.workspace(workspace);
        }
        if let Some(last) = &last {
            listing = listing.after(last);
        }
        let page = store.sessions(listing).await?;
        let Some(end) = page.last() else { break };
        last = Some(end.clone());
        left -= page.len().min(left);
        for session in &page {
            if args.json {
                writeln!(out, "{}", serde_json::to_string(session)?)?;
            } else {
                writeln!(out, "{}", line(session, args.all))?;
            }
        }
    }
    if last.is_none() {
        return nothing(args.json, args.all);
    }
    Ok(Exit::Success)
}

fn nothing(json: bool, all: bool) -> Result<Exit> {
    if !json {
        let where_ = if all { "" } else { " in this workspace" };
        let more = if all {
            ""
        } else {
            "; --all lists those of others"
        };
        writeln!(printer::stderr(), "There are no sessions{where_}{more}.")?;
    }
    Ok(Exit::Success)
}

/// A session as one line.
fn line(session: &Overview, all: bool) -> String {
    let turns = match session.turns {
        1 => "1 turn".to_owned(),
        turns => format!("{turns} turns"),
    };
    let name = session.name().lines().next().unwrap_or_default();
    let name: String = visible(name).chars().take(MAX_NAME).collect();
    let mut line = format!(
        "{STRONG}{:<12}{STRONG:#}  {:>7}  {turns:>8}  {name}",
        in_line(short(&session.id)),
        age(session.updated),
    );
    if let Some(fork) = &session.forked_from {
        let origin = in_line(short(&fork.session));
        line.push_str(&format!("  {FAINT}(from {origin}){FAINT:#}"));
    }
    if session.imported.is_some() {
        line.push_str(&format!("  {FAINT}(imported){FAINT:#}"));
    }
    if session.is_open {
        line.push_str(&format!("  {FAINT}(open){FAINT:#}"));
    }
    if let Some(workspace) = session.info.workspace.as_deref().filter(|_| all) {
        line.push_str(&format!("  {FAINT}{}{FAINT:#}", visible(workspace)));
    }
    line
}

async fn show(args: &ShowSessionArgs, out: &mut (impl Write + Send)) -> Result<Exit> {
    let store = existing_store(&args.session)?;
    let session = sessions::existing(&store, &args.session).await?.id;
    if args.json {
        export::write_json_lines(&store, &session, out).await?;
        return Ok(Exit::Success);
    }
    let mut pretty = Pretty {
        out,
        markdown: MarkdownStream::default(),
        rest: Vec::new(),
        is_terminal: printer::is_stdout_terminal(),
    };
    export::write_markdown(&store, &session, told(args.thoughts), &mut pretty).await?;
    pretty.finish()?;
    Ok(Exit::Success)
}

/// Renders Markdown for a terminal, if stdout is one.
struct Pretty<'a, W: Write> {
    out: &'a mut W,
    markdown: MarkdownStream,
    /// The beginning of an incomplete character.
    rest: Vec<u8>,
    is_terminal: bool,
}

impl<W: Write> Write for Pretty<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_terminal {
            return self.out.write(bytes);
        }
        self.rest.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.rest) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let text: Vec<u8> = self.rest.drain(..whole).collect();
        let text = String::from_utf8_lossy(&text);
        let shown = self.markdown.push(&text);
        self.out.write_all(shown.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W: Write> Pretty<'_, W> {
    fn finish(&mut self) -> io::Result<()> {
        let rest = self.markdown.finish();
        self.out.write_all(rest.as_bytes())?;
        self.out.flush()
    }
}

async fn search(args: &SearchSessionsArgs, out: &mut impl Write) -> Result<Exit> {
    let words = args.words.join(" ");
    let args = &args.scope;
    let workspace = workspace(args.all, &args.config)?;
    let hits = match sessions::open_to_read()? {
        None => Vec::new(),
        Some(store) => {
            let mut search = Search::new(&words, args.limit);
            if let Some(workspace) = workspace {
                search = search.workspace(workspace);
            }
            store.search(search).await?
        }
    };
    for hit in &hits {
        if args.json {
            let line = json!({
                "session_id": hit.session,
                "seq": hit.seq,
                "time": humantime::format_rfc3339_millis(hit.ts).to_string(),
                "kind": hit.kind,
                "excerpt": hit.excerpt,
                "matches": hit.matches.iter().map(|it| [it.start, it.end]).collect::<Vec<_>>(),
            });
            writeln!(out, "{line}")?;
        } else {
            writeln!(out, "{}", found(hit))?;
        }
    }
    if hits.is_empty() && !args.json {
        let more = if args.all {
            ""
        } else {
            "; --all looks into those of other workspaces"
        };
        writeln!(printer::stderr(), "No messages match{more}.")?;
    }
    Ok(Exit::Success)
}

/// A match as one line, with the words highlighted.
fn found(hit: &Hit) -> String {
    let mut line = format!(
        "{STRONG}{}{STRONG:#}  {FAINT}{}{FAINT:#}  ",
        short(&hit.session),
        age(hit.ts)
    );
    let mut last = 0;
    let part = |from: usize, to: usize| visible(hit.excerpt.get(from..to).unwrap_or_default());
    for range in &hit.matches {
        line.push_str(&part(last, range.start));
        let word = part(range.start, range.end);
        line.push_str(&format!("{STRONG}{word}{STRONG:#}"));
        last = range.end;
    }
    line.push_str(&part(last, hit.excerpt.len()));
    line.replace('\n', " ")
}

async fn rename(args: &RenameSessionArgs) -> Result<Exit> {
    let store = existing_store_to_write(&args.session)?;
    let session = sessions::existing(&store, &args.session).await?.id;
    store::rename(&store, &session, &args.title.join(" ")).await?;
    let renamed = sessions::existing(&store, session.as_str()).await?;
    let name = visible(renamed.name());
    writeln!(
        printer::stderr(),
        "{} is “{name}” now.",
        in_line(short(&session))
    )?;
    Ok(Exit::Success)
}

async fn fork(args: &ForkSessionArgs, out: &mut impl Write) -> Result<Exit> {
    let store = existing_store_to_write(&args.session)?;
    let session = sessions::existing(&store, &args.session).await?.id;
    let turns = args.turns.map_or(Turns::All, Turns::First);
    let forked = store::fork(&store, &session, turns).await?;
    let forked = forked.ok_or_else(|| sessions::unknown(&args.session))?;
    if forked.is_open_turn_left {
        writeln!(
            printer::stderr(),
            "The turn that is open was not taken along."
        )?;
    }
    if args.json {
        let line = json!({
            "session_id": forked.session,
            "forked_from": session,
            "turns": forked.turns,
            "entries": forked.entries,
            "is_open_turn_left": forked.is_open_turn_left,
        });
        writeln!(out, "{line}")?;
    } else {
        writeln!(out, "{}", forked.session)?;
    }
    Ok(Exit::Success)
}

async fn export(args: &ExportSessionArgs, out: &mut (impl Write + Send)) -> Result<Exit> {
    let store = existing_store(&args.session)?;
    let session = sessions::existing(&store, &args.session).await?.id;
    let Some(path) = &args.output else {
        write_session(&store, &session, args, out).await?;
        return Ok(Exit::Success);
    };
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let file = file.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            anyhow!("{} is there already; name another file", path.display())
        }
        _ => anyhow!("{} cannot be written: {error}", path.display()),
    })?;
    let mut file = BufWriter::new(file);
    let written = write_session(&store, &session, args, &mut file).await;
    let written = written.and_then(|()| Ok(file.flush()?));
    if let Err(error) = written {
        // A partial file would be taken for a whole session.
        let _ = std::fs::remove_file(path);
        return Err(error.context(format!("{}", path.display())));
    }
    writeln!(printer::stderr(), "Written to {}.", path.display())?;
    Ok(Exit::Success)
}

async fn write_session(
    store: &SqliteStore,
    session: &ptk::store::SessionId,
    args: &ExportSessionArgs,
    out: &mut (dyn Write + Send),
) -> Result<()> {
    match args.format {
        ExportFormat::Jsonl => drop(export::write_json_lines(store, session, out).await?),
        ExportFormat::Markdown => {
            export::write_markdown(store, session, told(args.thoughts), out).await?;
        }
    }
    Ok(())
}

const fn told(thoughts: bool) -> Thoughts {
    if thoughts {
        Thoughts::Shown
    } else {
        Thoughts::LeftOut
    }
}

async fn import(args: &ImportSessionsArgs, out: &mut impl Write) -> Result<Exit> {
    let folder = config::workspace_folder(&ConfigArgs {
        workspace: args.workspace.clone(),
        config: None,
    });
    let workspace = sessions::workspace(&folder)?;
    let store = sessions::open()?;
    let mut lines = BufReader::new(args.source.open()?);
    let imported = export::import_json_lines(&store, &mut lines, Some(&workspace)).await?;
    for session in &imported.sessions {
        writeln!(out, "{session}")?;
    }
    out.flush()?;
    let (sessions, entries) = (imported.sessions.len(), imported.entries);
    let plural = |count: u64, one: &str, many: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    };
    writeln!(
        printer::stderr(),
        "Imported {} ({}). Provider, model, tools and limits are your own, not those of the file.",
        plural(sessions as u64, "session", "sessions"),
        plural(entries, "entry", "entries"),
    )?;
    Ok(Exit::Success)
}

async fn delete(args: &DeleteSessionsArgs, out: &mut impl Write) -> Result<Exit> {
    let store = sessions::open()?;
    if args.sessions.is_empty() {
        return prune(&store, args, out).await;
    }
    let mut chosen = Vec::new();
    for text in &args.sessions {
        let found = sessions::existing(&store, text).await?;
        if chosen.iter().all(|it: &Overview| it.id != found.id) {
            chosen.push(found);
        }
    }
    let names: Vec<String> = chosen.iter().map(|it| line(it, false)).collect();
    if !args.yes && !agreed(&names.join("\n"), chosen.len())? {
        return Ok(Exit::Failed);
    }
    for session in &chosen {
        store.delete(&session.id).await?;
        writeln!(out, "{}", session.id)?;
    }
    Ok(Exit::Success)
}

/// Removes old sessions, or all but the latest.
async fn prune(
    store: &SqliteStore,
    args: &DeleteSessionsArgs,
    out: &mut impl Write,
) -> Result<Exit> {
    let workspace = workspace(args.all, &args.config)?;
    let mut retention = Retention::forever();
    if let Some(workspace) = &workspace {
        retention = retention.in_workspace(workspace);
    }
    if let Some(age) = args.older_than {
        retention = retention.no_older_than(age);
    }
    if let Some(most) = args.keep {
        retention = retention.no_more_than(most as u64);
    }
    let where_ = match &workspace {
        Some(workspace) => visible(workspace),
        None => "all workspaces".to_owned(),
    };
    let now = SystemTime::now();
    let chosen = retention.chosen(store, now).await?;
    if chosen.is_empty() {
        let more = if args.all {
            ""
        } else {
            "; --all includes all workspaces"
        };
        writeln!(
            printer::stderr(),
            "There is nothing to remove in {where_}{more}."
        )?;
        return Ok(Exit::Success);
    }
    if !args.yes {
        let shown = chosen.iter().take(MAX_CHOSEN);
        let mut lines: Vec<String> = shown.map(|it| line(it, args.all)).collect();
        if chosen.len() > MAX_CHOSEN {
            lines.push(format!("… and {} more", chosen.len() - MAX_CHOSEN));
        }
        let names = format!("In {where_}:\n{}", lines.join("\n"));
        if !agreed(&names, chosen.len())? {
            return Ok(Exit::Failed);
        }
    }
    let removed = retention.apply(store, now).await?;
    for session in &removed.deleted {
        writeln!(out, "{session}")?;
    }
    out.flush()?;
    for session in &removed.in_use {
        writeln!(
            printer::stderr(),
            "{session} is written by another process, and stays."
        )?;
    }
    let what = match removed.deleted.len() {
        1 => "1 session".to_owned(),
        count => format!("{count} sessions"),
    };
    writeln!(printer::stderr(), "Removed {what} in {where_}.")?;
    Ok(Exit::Success)
}

/// Asks whether to remove sessions for good.
fn agreed(names: &str, count: usize) -> Result<bool> {
    let Some(terminal) = Terminal::find() else {
        bail!("there is no terminal to ask on; to remove it, add --yes");
    };
    terminal.say(&format!("{names}\n"))?;
    let what = match count {
        1 => "this session".to_owned(),
        count => format!("{count} sessions"),
    };
    terminal.say(&format!("Remove {what} for good? y yes, n no: "))?;
    let answer = terminal.line(&AtomicBool::new(false))?;
    let answer = answer.unwrap_or_default().trim().to_lowercase();
    Ok(matches!(answer.as_str(), "y" | "yes"))
}

async fn check(args: &CheckSessionsArgs, out: &mut impl Write) -> Result<Exit> {
    if args.rebuild {
        drop(sessions::open_rebuilding()?);
        writeln!(
            printer::stderr(),
            "Lists and index were made anew from the log."
        )?;
    }
    let Some(store) = sessions::open_to_read()? else {
        writeln!(printer::stderr(), "There are no sessions.")?;
        return Ok(Exit::Success);
    };
    let checked = store.check().await?;
    for damage in &checked.damage {
        writeln!(out, "{damage}")?;
    }
    out.flush()?;
    let (sessions, entries) = (checked.sessions, checked.entries);
    let verdict = if checked.damage.is_empty() {
        "everything is as it was written"
    } else {
        "not everything is as it was written; `ptk sessions check --rebuild` makes lists and index anew"
    };
    writeln!(
        printer::stderr(),
        "Sessions: {sessions}, entries: {entries}; {verdict}."
    )?;
    Ok(if checked.damage.is_empty() {
        Exit::Success
    } else {
        Exit::Failed
    })
}
