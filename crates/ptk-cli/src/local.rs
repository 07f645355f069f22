//! Models in files: which one is meant, and what it is told about the
//! workspace.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail};
use ignore::WalkBuilder;
use ptk::llm::Provider;
use ptk::tools::{Effect, Registry};
use ptk_local::guide::{Name, Names, Surroundings};
use ptk_local::{Library, Local, Settings};

use crate::config;
use crate::provider::Place;

/// How many names of a workspace a small model may choose from.
const MAX_NAMES: usize = 20_000;
/// How deep they lie.
const MAX_DEPTH: usize = 16;

/// The model of this name or in this file; the only one there is if nothing is
/// said.
pub(crate) fn provider(place: Place<'_>) -> Result<Arc<dyn Provider>> {
    let library = Library::open_default()?;
    let name = match place.model {
        Some(name) => name.to_owned(),
        None => only(&library)?,
    };
    let found = library.find(&name)?;
    let root = config::workspace(place.config).unwrap_or_else(|| PathBuf::from("."));
    let writing = writing(place.tools);
    let mut settings = Settings::new(found.path).name(found.name).around(move || {
        let names = Walk(root.clone());
        Surroundings::new(names, writing.clone())
    });
    if let Some(state) = ptk::tools::state_folder() {
        settings = settings.prompts_in(state.join("prompts"));
    }
    if let Some(tokens) = place.context_window {
        settings = settings.context_window(tokens);
    }
    if let Some(screen) = place.screen.cloned() {
        settings = settings.on_progress(move |done| screen.remark(loading(done)));
    }
    Ok(Arc::new(Local::open(settings)?))
}

/// How far loading is, until it is done.
fn loading(done: f32) -> Option<String> {
    (done < 1.0).then(|| format!("loading the model, {:.0} %", done * 100.0))
}

/// The model that is there, if there is just one.
fn only(library: &Library) -> Result<String> {
    let listing = library.list()?;
    let models: Vec<_> = listing.answering().collect();
    match models.as_slice() {
        [] => bail!(
            "there is no model on this machine yet; get one with `ptk models pull`, or name a file with --model FILE.gguf"
        ),
        [model] => Ok(model.entry.name.clone()),
        several => {
            let names: Vec<&str> = several.iter().map(|it| it.entry.name.as_str()).collect();
            bail!(
                "there are several models on this machine; name one with --model: {}",
                names.join(", ")
            )
        }
    }
}

/// Whether a model is there without anybody choosing it.
pub(crate) fn is_there() -> bool {
    let library = Library::open_default().and_then(|library| library.list());
    library.is_ok_and(|listing| listing.answering().count() == 1)
}

/// The tools that write files.
fn writing(tools: &Registry) -> Vec<String> {
    let names = tools
        .toolset()
        .names()
        .map(str::to_owned)
        .collect::<Vec<_>>();
    let writes = |name: &String| {
        let tool = tools.get(name);
        tool.is_some_and(|tool| tool.effects().has(Effect::Write))
    };
    names.into_iter().filter(writes).collect()
}

/// The names of a workspace, as its ignore files leave them.
struct Walk(PathBuf);

impl Names for Walk {
    fn names(&self) -> Vec<Name> {
        let mut walk = WalkBuilder::new(&self.0);
        let walk = walk.max_depth(Some(MAX_DEPTH)).require_git(false).build();
        let mut names: Vec<Name> = walk
            .flatten()
            .filter_map(|entry| {
                let path = relative(entry.path(), &self.0)?;
                let is_folder = entry.file_type()?.is_dir();
                Some(if is_folder {
                    Name::folder(path)
                } else {
                    Name::file(path)
                })
            })
            .take(MAX_NAMES)
            .collect();
        names.sort_by_key(|name| name.path.matches('/').count());
        names
    }
}

/// A path below the workspace, where it can be said.
fn relative(path: &Path, root: &Path) -> Option<String> {
    let path = path.strip_prefix(root).ok()?.to_str()?;
    (!path.is_empty()).then(|| path.to_owned())
}
