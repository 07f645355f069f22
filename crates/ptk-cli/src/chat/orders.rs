//! Executes the chat's own commands. Nothing here depends on how the chat is
//! shown.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::{Result, anyhow, bail};
use ptk::ContextUse;
use ptk::llm::http::Service;
use ptk::store::export::{self, Thoughts};
use ptk::store::{Listing, Overview, Search, Store as _, Turns, fork};
use ptk::view::{CallState, CallView, Conversation};
use ptk_local::Library;
use ptk_protocol::schema::suggest;
use ptk_undo::Selection;

use super::command::{ALL, ChatCommand, Extent};
use super::fence::fenced;
use super::host::{Done, Host};
use super::overlay::Entry;
use crate::commands::undo;
use crate::provider;
use crate::sessions::{self, short};
use crate::view::clean::in_line;
use crate::view::{age, count, money, took};

/// The most sessions in a list.
const MAX_SESSIONS: usize = 200;
/// The most characters of a name in a list.
const MAX_NAME: usize = 60;
/// Words that end with a full stop inside a sentence.
const ABBREVIATIONS: [&str; 5] = ["e.g.", "i.e.", "etc.", "cf.", "vs."];
/// The columns of the bar that shows how full the context window is.
const BAR: usize = 40;

/// The result of a command.
pub(crate) enum Told {
    /// A note.
    Note(String),
    /// A page to read: its title and its text.
    Page(String, String),
    /// A list to choose from: its title and its entries.
    List(String, Vec<Entry>),
    /// Another conversation is shown from now on; the flag says whether its
    /// turn was interrupted.
    Switched(String, bool),
    /// Work was started, which reports its end itself.
    Begun,
    /// A text for the clipboard.
    Copied(String),
    /// Toggles the mouse, if the chat has one.
    Mouse,
    Quit,
}

/// Executes a command.
pub(crate) async fn obey(
    command: ChatCommand,
    host: &mut Host,
    shown: &Conversation,
    chosen: Option<&CallView>,
) -> Result<Told> {
    let needs_quiet = !matches!(
        command,
        ChatCommand::Help
            | ChatCommand::Cost
            | ChatCommand::Inspect(_)
            | ChatCommand::Copy
            | ChatCommand::Mouse
            | ChatCommand::Quit
            | ChatCommand::Export(_)
            | ChatCommand::Sessions(_)
            | ChatCommand::Model(None)
            | ChatCommand::Dialect(None)
            | ChatCommand::Tools(None)
    );
    if needs_quiet && host.is_busy() {
        bail!("something is still being done; Esc stops it");
    }
    match command {
        ChatCommand::Help => Ok(Told::Page("Help".to_owned(), help(&host.prompts()))),
        ChatCommand::New => begin_anew(host).await,
        ChatCommand::Sessions(words) => list_sessions(host, words.as_deref()).await,
        ChatCommand::Resume(id) => resume(host, &id).await,
        ChatCommand::Fork => fork_session(host).await,
        ChatCommand::Rename(title) => retitle(host, &title).await,
        ChatCommand::Export(path) => export_session(host, path).await,
        ChatCommand::Undo(extent) => {
            take_back(host, extent);
            Ok(Told::Begun)
        }
        ChatCommand::Redo => redo(host),
        ChatCommand::Model(None) => Ok(models(host)),
        ChatCommand::Model(Some(name)) => change_model(host, &name),
        ChatCommand::Dialect(None) => dialects(host),
        ChatCommand::Dialect(Some(name)) => change_dialect(host, &name),
        ChatCommand::Tools(None) => Ok(Told::Page("Tools".to_owned(), tools(host))),
        ChatCommand::Tools(Some(names)) => change_tools(host, &names),
        ChatCommand::Context => context(host).await,
        ChatCommand::Compact => {
            host.compact();
            Ok(Told::Begun)
        }
        ChatCommand::Cost => Ok(Told::Page("Cost".to_owned(), cost(host, shown))),
        ChatCommand::Inspect(_) => inspect(chosen),
        ChatCommand::Copy => {
            let answer = shown.answer().map(str::to_owned);
            answer
                .map(Told::Copied)
                .ok_or_else(|| anyhow!("there is no answer yet"))
        }
        ChatCommand::Mouse => Ok(Told::Mouse),
        ChatCommand::ServerPrompt(name, rest) => {
            host.ask_server_prompt(name, rest);
            Ok(Told::Begun)
        }
        ChatCommand::Quit => Ok(Told::Quit),
    }
}

fn help(prompts: &[(String, String)]) -> String {
    let mut text = "## Keys\n\n| Key | Does |\n|---|---|\n".to_owned();
    for (key, does) in [
        (
            "Enter",
            "sends; while something is going on, as soon as that is over",
        ),
        ("Alt-Enter, Ctrl-J, `\\` Enter", "begins a line"),
        ("↑ ↓", "what was written before, in earlier chats, too"),
        (
            "Ctrl-G",
            "opens the prompt in the editor of $VISUAL or $EDITOR",
        ),
        (
            "@",
            "names a file of the workspace, or a resource of an MCP server",
        ),
        (
            "!",
            "runs a command line, such as `!git status`; the model learns of it with the next prompt",
        ),
        ("Esc, Ctrl-C", "stops what is going on; Ctrl-C twice leaves"),
        (
            "PgUp PgDn, Shift-↑ ↓, wheel",
            "moves through the conversation",
        ),
        ("Ctrl-Home, Ctrl-End", "to its beginning, to its end"),
        ("Alt-↑ ↓", "chooses a call or a thought"),
        (
            "Ctrl-O, click",
            "opens and closes it; the last one if none is chosen",
        ),
        ("Ctrl-T", "opens or closes all of them"),
        ("Ctrl-F", "finds words"),
        ("Tab", "takes what is offered; goes to a question and back"),
        (
            "y s e a n w",
            "answers a question: once, for this session, all edits of this session, always, no, no with a reason",
        ),
        ("Ctrl-Z", "to the shell for a while"),
        ("Ctrl-D", "leaves, if nothing is written"),
    ] {
        let _ = writeln!(text, "| {key} | {does} |");
    }
    text.push_str("\n## Commands\n\n| Command | Does |\n|---|---|\n");
    for spec in &ALL {
        let name = format!("/{} {}", spec.name, spec.takes.replace('|', "\\|"));
        let _ = writeln!(text, "| {} | {} |", name.trim_end(), spec.about);
    }
    if !prompts.is_empty() {
        text.push_str("\n## Prompts of MCP servers\n\n| Command | Takes and does |\n|---|---|\n");
        for (name, about) in prompts {
            let _ = writeln!(text, "| /{name} | {} |", about.replace('|', "\\|"));
        }
    }
    text
}

async fn begin_anew(host: &mut Host) -> Result<Told> {
    let place = host.fresh();
    host.switch(place).await?;
    Ok(Told::Switched("A new conversation.".to_owned(), false))
}

/// The list entry of a session.
fn entry(session: &Overview, about: Option<String>) -> Entry {
    let name = session.name().lines().next().unwrap_or_default();
    let name: String = in_line(name).chars().take(MAX_NAME).collect();
    let turns = match session.turns {
        1 => "1 turn".to_owned(),
        turns => format!("{turns} turns"),
    };
    let open = if session.is_open { ", interrupted" } else { "" };
    let id = short(&session.id);
    let about = about.map_or_else(String::new, |about| format!(" · {about}"));
    Entry {
        name: if name.is_empty() { id.to_owned() } else { name },
        about: format!("{} ago, {turns}{open} · {id}{about}", age(session.updated)),
        command: ChatCommand::Resume(session.id.as_str().to_owned()),
    }
}

async fn list_sessions(host: &Host, words: Option<&str>) -> Result<Told> {
    let workspace = sessions::workspace(host.settings.folder())?;
    let store = host.store();
    let mut entries = Vec::new();
    match words {
        None => {
            let listing = Listing::new(MAX_SESSIONS).workspace(&workspace);
            let found = store.sessions(listing).await?;
            entries.extend(found.iter().map(|session| entry(session, None)));
        }
        Some(words) => {
            let search = Search::new(words, MAX_SESSIONS).workspace(&workspace);
            let mut seen = std::collections::HashSet::new();
            for hit in store.search(search).await? {
                if !seen.insert(hit.session.clone()) {
                    continue;
                }
                if let Some(session) = store.session(&hit.session).await? {
                    let about: String = in_line(&hit.excerpt).chars().take(MAX_NAME).collect();
                    entries.push(entry(&session, Some(about)));
                }
            }
        }
    }
    if entries.is_empty() {
        return Ok(Told::Note(match words {
            Some(words) => format!("No conversation of this workspace has `{words}` in it."),
            None => "This workspace has no conversation yet.".to_owned(),
        }));
    }
    Ok(Told::List("Conversations".to_owned(), entries))
}

async fn resume(host: &mut Host, id: &str) -> Result<Told> {
    let found = sessions::existing(host.store(), id).await?;
    let is_open = sessions::is_resumable(&found);
    let name = found.name().lines().next().unwrap_or_default().to_owned();
    let place = host.known(found).await?;
    host.switch(place).await?;
    Ok(Told::Switched(format!("Going on with: {name}"), is_open))
}

async fn fork_session(host: &mut Host) -> Result<Told> {
    let store = host.store().clone();
    let id = host.id().clone();
    let forked = fork(&store, &id, Turns::All).await?;
    let forked = forked.ok_or_else(|| anyhow!("nothing was said yet that could be copied"))?;
    let found = store.session(&forked.session).await?;
    let found = found.ok_or_else(|| anyhow!("the copy is gone"))?;
    let place = host.known(found).await?;
    host.switch(place).await?;
    let text = format!(
        "In a copy of the conversation; /resume {} goes back.",
        short(&id)
    );
    Ok(Told::Switched(text, false))
}

async fn retitle(host: &mut Host, title: &str) -> Result<Told> {
    if host.store().session(host.id()).await?.is_none() {
        bail!("nothing was said yet that could have a title");
    }
    let mut session = host.take_session();
    let renamed = session.rename(title).await;
    host.give_back(session);
    renamed?;
    Ok(Told::Note(format!("It is called “{title}” from now on.")))
}

async fn export_session(host: &Host, path: Option<PathBuf>) -> Result<Told> {
    let id = host.id();
    if host.store().session(id).await?.is_none() {
        bail!("nothing was said yet that could be written down");
    }
    let path = match path {
        // There is no shell to expand it.
        Some(path) => match (path.strip_prefix("~"), std::env::home_dir()) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path,
        },
        None => PathBuf::from(format!("ptk-{}.md", short(id))),
    };
    let file = OpenOptions::new().write(true).create_new(true).open(&path);
    let file = file.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            anyhow!("{} is there already; name another file", path.display())
        }
        _ => anyhow!("{} cannot be written: {error}", path.display()),
    })?;
    let mut out = BufWriter::new(file);
    let written = export::write_markdown(host.store(), id, Thoughts::Shown, &mut out).await;
    let written = written.map_err(anyhow::Error::from).and_then(|_| {
        std::io::Write::flush(&mut out)?;
        Ok(())
    });
    if let Err(error) = written {
        drop(std::fs::remove_file(&path));
        return Err(error);
    }
    Ok(Told::Note(format!("Written to {}.", path.display())))
}

fn take_back(host: &mut Host, extent: Extent) {
    let (settings, session) = (Arc::clone(&host.settings), host.id().as_str().to_owned());
    host.block(move || {
        Done::Undone((|| {
            let undo = undo::open(&settings)?;
            let calls = undo.list()?;
            let last = calls
                .iter()
                .find(|call| !call.undone && call.blind.is_none() && call.session == session);
            let last = last.ok_or_else(|| {
                anyhow!(
                    "no tool has changed anything in this conversation that could be taken back"
                )
            })?;
            let selection = match extent {
                Extent::Call => Selection::Call(last.call.clone()),
                Extent::Turn => Selection::Turn(Some(last.turn.clone())),
                Extent::Session => Selection::Session(session.clone()),
            };
            undone(&undo, &selection)
        })())
    });
}

fn redo(host: &mut Host) -> Result<Told> {
    let last = host.undone.last().cloned();
    let last = last.ok_or_else(|| anyhow!("nothing was taken back in this chat"))?;
    let settings = Arc::clone(&host.settings);
    host.block(move || {
        Done::Redone((|| {
            let undo = undo::open(&settings)?;
            let (_, text) = undone(&undo, &Selection::Call(last))?;
            Ok(text.replacen("undone: ", "done again: ", 1))
        })())
    });
    Ok(Told::Begun)
}

/// Undoes the selected changes, and reports what became of each file.
fn undone(undo: &ptk_undo::Undo, selection: &Selection) -> Result<(String, String)> {
    undo.finish()?;
    let plan = undo.plan(selection, ptk_undo::Others::Refuse)?;
    let done = undo.apply(plan)?;
    let mut lines = undo::done_lines(&done);
    lines.extend(undo::beside_lines(&done));
    Ok((done.id, lines.join("\n")))
}

/// The models that can be chosen by their names.
fn known_models(host: &Host) -> Vec<Entry> {
    let mut entries = Vec::new();
    let declared = host.settings.models().unwrap_or_default();
    for (name, about) in declared.places() {
        entries.push(Entry {
            command: ChatCommand::Model(Some(name.clone())),
            name,
            about,
        });
    }
    let library = Library::open_default().and_then(|library| library.list());
    for model in library.unwrap_or_default().answering() {
        let name = format!("local/{}", model.entry.name);
        entries.push(Entry {
            command: ChatCommand::Model(Some(name.clone())),
            name,
            about: "on this machine".to_owned(),
        });
    }
    entries
}

/// The models that can be chosen.
fn models(host: &Host) -> Told {
    let entries = known_models(host);
    let now = &host.agent.model;
    if entries.is_empty() {
        return Told::Note(format!(
            "{now} is asked now. /model PROVIDER/NAME asks another one; see docs/models.md."
        ));
    }
    Told::List(format!("Model (now: {now})"), entries)
}

fn change_model(host: &mut Host, name: &str) -> Result<Told> {
    let mut args = host.args.clone();
    let (provider, model) = split_model(name);
    let is_declared = host.settings.models().is_ok_and(|it| it.contains(name));
    if provider.is_none() && !is_declared && provider::assumed(Some(name)).is_none() {
        bail!(no_such_model(name, &known_models(host)));
    }
    args.model.model = model;
    // The provider in the name, if any, replaces the one given before.
    args.model.provider = provider;
    host.change(args).map_err(|error| without_flags(&error))?;
    Ok(Told::Note(format!(
        "{} is asked from now on.",
        host.agent.model
    )))
}

/// The message about a model that there is not, with those that there are.
fn no_such_model(name: &str, known: &[Entry]) -> String {
    let names: Vec<&str> = known.iter().map(|it| it.name.as_str()).collect();
    let near = suggest::nearest(name, names.iter().copied());
    let near = near.map_or_else(String::new, |near| format!(" Did you mean `{near}`?"));
    let there_are = if names.is_empty() {
        String::new()
    } else {
        format!(" There are: {}.", names.join(", "))
    };
    format!(
        "There is no model `{name}`.{near}{there_are} Name one with /model NAME, or as \
         /model PROVIDER/NAME, such as /model ollama/qwen3:4b."
    )
}

/// An error about a model, with what to type in the chat instead of flags.
fn without_flags(error: &anyhow::Error) -> anyhow::Error {
    let text = format!("{error:#}");
    let text = text.replace(
        " with --model, or in PTK_MODEL",
        " with /model PROVIDER/NAME",
    );
    anyhow!(text.replace("--provider ", ""))
}

/// Splits a name into a provider, if it has one, and a model.
fn split_model(name: &str) -> (Option<String>, Option<String>) {
    let is_whole = ["script:", "cmd:", "browser:"]
        .iter()
        .any(|start| name.starts_with(start));
    if is_whole {
        return (Some(name.to_owned()), None);
    }
    if let Some((address, model)) = name.split_once(' ') {
        return (Some(address.to_owned()), Some(model.trim().to_owned()));
    }
    if name.contains("://") {
        return (Some(name.to_owned()), None);
    }
    match name.split_once('/') {
        Some((provider, model)) if provider == "local" || Service::named(provider).is_some() => {
            (Some(provider.to_owned()), Some(model.to_owned()))
        }
        _ => (None, Some(name.to_owned())),
    }
}

fn dialects(host: &Host) -> Result<Told> {
    let registry = host.settings.dialects_to_run()?;
    let names = crate::engine::read_dialects(&registry);
    let entries = names.into_iter().map(|name| Entry {
        command: ChatCommand::Dialect(Some(name.clone())),
        about: match host.args.dialect.as_deref() {
            Some(now) if now == name => "is taught now".to_owned(),
            _ => String::new(),
        },
        name,
    });
    Ok(Told::List("Dialect".to_owned(), entries.collect()))
}

fn change_dialect(host: &mut Host, name: &str) -> Result<Told> {
    // A name with a colon is that of a file.
    if !name.contains(':') && host.settings.dialects_to_run()?.get(name).is_err() {
        bail!("There is no dialect `{name}`. /dialect lists those that there are.");
    }
    let mut args = host.args.clone();
    args.dialect = Some(name.to_owned());
    host.change(args)?;
    Ok(Told::Note(format!(
        "Calls are written as `{name}` from now on."
    )))
}

fn tools(host: &Host) -> String {
    let offered = host.agent.options.tools.clone().unwrap_or_default();
    let registry = host.tools().registry();
    let mut text = "| Tool | Offered | Does |\n|---|---|---|\n".to_owned();
    let toolset = registry.toolset();
    let mut names: Vec<&str> = toolset.names().collect();
    names.sort_unstable();
    for name in names {
        let is_offered = offered.iter().any(|it| it == name);
        let about = toolset
            .get(name)
            .map_or("", |spec| spec.description.as_str());
        let about = first_sentence(about);
        let mark = if is_offered { "yes" } else { "" };
        let _ = writeln!(text, "| {name} | {mark} | {} |", about.replace('|', "\\|"));
    }
    text.push_str(
        "\n`/tools read_file,grep` offers just these, `/tools all` all, `/tools none` none.\n",
    );
    text
}

/// The first sentence of a description, without its full stop.
fn first_sentence(text: &str) -> String {
    let paragraph = text.trim().split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = paragraph.split_whitespace().collect();
    let ends = |at: &usize| {
        let word = words.get(*at).copied().unwrap_or_default();
        let next = words.get(at + 1).and_then(|next| next.chars().next());
        let is_short = ABBREVIATIONS.contains(&word.trim_start_matches('('));
        word.ends_with(['.', '!', '?']) && !is_short && next.is_none_or(|c| !c.is_lowercase())
    };
    let last = (0..words.len()).find(ends).unwrap_or(words.len());
    let sentence = words.get(..=last).unwrap_or(&words).join(" ");
    sentence.trim_end_matches('.').to_owned()
}

fn change_tools(host: &mut Host, names: &str) -> Result<Told> {
    let mut args = host.args.clone();
    let registry = host.tools().registry();
    args.tools = Some(match names {
        "none" => String::new(),
        "all" => registry.toolset().names().collect::<Vec<_>>().join(","),
        names => names.replace(' ', ","),
    });
    host.change(args)?;
    let offered = host.agent.options.tools.clone().unwrap_or_default();
    Ok(Told::Note(match offered.as_slice() {
        [] => "No tools are offered from now on.".to_owned(),
        offered => format!("Offered from now on: {}.", offered.join(", ")),
    }))
}

async fn context(host: &mut Host) -> Result<Told> {
    let options = host.options();
    let mut session = host.take_session();
    let used = session.context(options).await;
    host.give_back(session);
    Ok(Told::Page("Context".to_owned(), context_page(&used?)))
}

/// The use of the context window, as a table with a bar.
fn context_page(used: &ContextUse) -> String {
    let parts = [
        ("instructions", used.instructions),
        ("tools", used.tools),
        ("what people said", used.people),
        ("what the model said", used.model),
        ("results of tools", used.results),
        ("summary", used.summary),
        ("notes to the model", used.notes),
    ];
    let total = used.used();
    let whole = used.window.unwrap_or(total).max(1);
    let mut text = match used.window {
        Some(window) => format!(
            "{} of {} tokens are used, {} are free.\n\n",
            count(total),
            count(window),
            count(used.free().unwrap_or(0))
        ),
        None => format!(
            "{} tokens are used. How many the model takes is not known.\n\n",
            count(total)
        ),
    };
    text.push_str("| What | Tokens | |\n|---|--:|---|\n");
    let kept = [("kept for the reply", used.reply), ("margin", used.margin)];
    for (what, tokens) in parts.into_iter().chain(kept) {
        let columns = (tokens * BAR as u64 / whole).min(BAR as u64);
        let bar = "█".repeat(usize::try_from(columns).unwrap_or(BAR));
        let _ = writeln!(text, "| {what} | {tokens} | {bar} |");
    }
    text
}

fn cost(host: &Host, shown: &Conversation) -> String {
    let usage = shown.usage();
    let mut text = "| What | How much |\n|---|--:|\n".to_owned();
    let mut row = |what: &str, much: String| {
        let _ = writeln!(text, "| {what} | {much} |");
    };
    row("tokens in", usage.input_tokens.to_string());
    if usage.cached_tokens > 0 {
        row("of these cached", usage.cached_tokens.to_string());
    }
    if usage.cache_write_tokens > 0 {
        let written = usage.cache_write_tokens.to_string();
        row("of these written to the cache", written);
    }
    row("tokens out", usage.output_tokens.to_string());
    if usage.reasoning_tokens > 0 {
        row("of these thought", usage.reasoning_tokens.to_string());
    }
    row("calls", shown.calls().count().to_string());
    let price = match usage.cost_micros {
        0 => "not known".to_owned(),
        micros => money(micros),
    };
    row("price", price);
    let _ = writeln!(
        text,
        "\nConversation {}, model {}. Prices come from `[models]`; see docs/models.md.",
        short(host.id()),
        host.agent.model
    );
    text
}

/// The call of this number, counted from one; by default the last one.
pub(crate) fn call(shown: &Conversation, number: Option<usize>) -> Option<&CallView> {
    match number {
        Some(number) => shown.calls().nth(number.checked_sub(1)?),
        None => shown.calls().last(),
    }
}

fn inspect(call: Option<&CallView>) -> Result<Told> {
    let call = call.ok_or_else(|| anyhow!("there is no such call"))?;
    let mut text = String::new();
    let state = match call.state {
        CallState::Waiting => "waits",
        CallState::Asked => "waits for an answer",
        CallState::Running => "runs",
        CallState::Done => "done",
        CallState::Failed => "failed",
        CallState::Unknown => "may or may not have happened",
    };
    let _ = writeln!(text, "{} · {state} · `{}`", call.tool, call.id);
    if let Some(duration) = call.duration {
        let _ = writeln!(text, "\ntook {}", took(duration));
    }
    if let Some(since) = call.since.filter(|_| call.duration.is_none()) {
        let time = SystemTime::now().duration_since(since).unwrap_or_default();
        let _ = writeln!(text, "\nsince {}", took(time));
    }
    if let Some(why) = &call.reasoning {
        let _ = writeln!(text, "\n> {}", why.replace('\n', "\n> "));
    }
    for repair in &call.repairs {
        let _ = writeln!(text, "\n- mended: {repair}");
    }
    let pretty = |value: &dyn Fn() -> serde_json::Result<String>| value().unwrap_or_default();
    let arguments = pretty(&|| serde_json::to_string_pretty(&call.arguments));
    let _ = writeln!(text, "\n## Arguments\n\n{}", fenced("json", &arguments));
    if let Some(result) = &call.result {
        let result = pretty(&|| serde_json::to_string_pretty(result));
        let _ = writeln!(text, "\n## Result\n\n{}", fenced("json", &result));
    } else if !call.output.text().is_empty() {
        let output = call.output.text();
        let _ = writeln!(text, "\n## Output so far\n\n{}", fenced("", output));
    }
    Ok(Told::Page(format!("Call of {}", call.tool), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_told_by_its_first_sentence() {
        for (text, expected) in [
            ("Read a file. It must exist.", "Read a file"),
            (
                "Reads ptk.toml, e.g. A.toml. Then more.",
                "Reads ptk.toml, e.g. A.toml",
            ),
            ("Which one? This one.", "Which one?"),
            ("Runs make\nin the folder. Slow", "Runs make in the folder"),
            ("No stop\n\nAnother paragraph.", "No stop"),
            (
                "version 1.2 of it. see there. End",
                "version 1.2 of it. see there",
            ),
            ("", ""),
        ] {
            assert_eq!(first_sentence(text), expected);
        }
    }

    #[test]
    fn a_model_that_there_is_not_is_told_with_those_that_there_are() {
        let entry = |name: &str| Entry {
            name: name.to_owned(),
            about: String::new(),
            command: ChatCommand::Model(Some(name.to_owned())),
        };
        let told = no_such_model("fats", &[entry("fast"), entry("local/qwen3")]);
        assert!(told.contains("Did you mean `fast`? There are: fast, local/qwen3."));
        assert!(
            told.contains("/model NAME") && !told.contains("--"),
            "{told}"
        );
        assert!(!no_such_model("x", &[]).contains("There are"));
    }
}
