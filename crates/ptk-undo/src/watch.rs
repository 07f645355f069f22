//! How the changes of a call are found: a watch begins before the call runs,
//! ends after it, and then returns what is different.

use std::path::PathBuf;
use std::sync::Arc;

use ptk_sandbox::command::{Layer, Recording};
use ptk_sandbox::{Moment, Node, Place, Workspace};

use crate::content::Batch;
use crate::found::FoundChanges;
use crate::journal::{Begin, Change, PreImage, Watched};
use crate::layer::Layers;
use crate::recorded::Recorded;
use crate::state::{Content, State};
use crate::store::Store;
use crate::tree::{self, Tree, WalkError};
use crate::{Options, UndoError};

/// A watch over a call.
#[derive(Debug)]
pub(crate) enum Watch {
    /// It was declared beforehand which files the call writes.
    Places(Vec<PreImage>),
    /// The whole workspace as it was before, under this name in the store.
    Tree(String, Arc<Tree>),
    /// What the call is about to change is recorded.
    Recorded(Recorded),
    /// The call changes layers over the workspace.
    Layers(Layers),
    /// It is not known what the call changes, for this reason.
    Blind(String),
}

/// How a command has to be started, so that its changes become known.
#[derive(Debug, Clone, Default)]
pub struct CommandSetup {
    /// The layers that it works over.
    pub layers: Vec<Layer>,
    /// Where its changes are recorded.
    pub recorded: Option<Recording>,
    /// The file that is locked until the command and all that it started have
    /// ended.
    pub lock: Option<PathBuf>,
}

impl Watch {
    /// Keeps what is at the places that are about to be written.
    pub(crate) fn places(
        workspace: &Workspace,
        store: &Store,
        writes: &[Place],
    ) -> Result<Self, UndoError> {
        let largest = store.options.largest_file();
        let batch = store.contents.batch();
        let mut seen = Vec::new();
        for place in writes {
            let place = place.real()?;
            seen.extend(missing_above(workspace, &place)?);
            let state = State::with(&place, largest, |place| keep(place, store, &batch))?;
            let path = name(workspace, &place);
            seen.push(PreImage { path, state });
        }
        let bytes = batch.finish().map_err(|error| store.failed(error))?;
        store.added(bytes);
        Ok(Self::Places(seen))
    }

    /// Keeps everything in the workspace, if it is not too large. What `known`
    /// says of files that have not changed is taken over.
    pub(crate) fn tree(
        workspace: &Workspace,
        store: &Store,
        known: Option<&(String, Arc<Tree>)>,
    ) -> Result<Self, UndoError> {
        let empty = Tree::default();
        let old = known.map_or(&empty, |(_, tree)| tree);
        let mut tree = match tree::look(workspace, old, false, limits(&store.options)) {
            Ok(tree) => tree,
            Err(error) => return Ok(Self::Blind(error.to_string())),
        };
        let batch = store.contents.batch();
        let largest = store.options.largest_file();
        tree::keep(workspace, &mut tree, &store.contents, &batch, largest)
            .and_then(|_| batch.finish())
            .map(|bytes| store.added(bytes))
            .map_err(|error| store.failed(error))?;
        match known {
            Some((name, old)) if !name.is_empty() && **old == tree => {
                Ok(Self::Tree(name.clone(), Arc::clone(old)))
            }
            _ => {
                let name = store.save_tree(&tree)?;
                Ok(Self::Tree(name, Arc::new(tree)))
            }
        }
    }

    /// The watch that another process has begun over a call.
    pub(crate) fn resumed(
        workspace: &Workspace,
        store: &Store,
        begin: &Begin,
    ) -> Result<Self, UndoError> {
        Ok(match &begin.watch {
            Watched::Places(seen) => Self::Places(seen.clone()),
            Watched::Tree(name) => Self::Tree(name.clone(), Arc::new(store.load_tree(name)?)),
            Watched::Recorded => Self::Recorded(Recorded::new(&begin.entry)),
            Watched::Layers => {
                let layers = Layers::resumed(workspace, store, &begin.entry);
                Self::Layers(layers.map_err(|error| store.failed(error))?)
            }
            Watched::Blind(why) => Self::Blind(why.clone()),
            Watched::Undo { .. } => Self::Places(Vec::new()),
        })
    }

    /// The watch, for the journal.
    pub(crate) fn watched(&self) -> Watched {
        match self {
            Self::Places(seen) => Watched::Places(seen.clone()),
            Self::Tree(name, _) => Watched::Tree(name.clone()),
            Self::Recorded(_) => Watched::Recorded,
            Self::Layers(_) => Watched::Layers,
            Self::Blind(why) => Watched::Blind(why.clone()),
        }
    }

    /// Ends the watch: returns what is different now. What was made or changed
    /// after `until` is not the call's.
    pub(crate) fn end(
        self,
        workspace: &Workspace,
        store: &Store,
        until: Option<Moment>,
    ) -> Result<FoundChanges, UndoError> {
        let options = &store.options;
        match self {
            Self::Recorded(recorded) => recorded
                .end(workspace, store, until)
                .map_err(|error| store.failed(error)),
            // Layers report themselves what they bring into the workspace.
            Self::Blind(_) | Self::Layers(_) => Ok(FoundChanges::default()),
            Self::Places(seen) => Ok(FoundChanges {
                changes: changed(workspace, seen, options.largest_file(), until)?,
                ..FoundChanges::default()
            }),
            Self::Tree(_, before) => {
                let limits = tree::Limits {
                    files: usize::MAX,
                    bytes: u64::MAX,
                    file: options.largest_file(),
                };
                let mut after = tree::look(workspace, &before, true, limits)?;
                if let Some(until) = until {
                    after.forget_later(&before, until);
                }
                tree::hash(workspace, &mut after, options.largest_file())
                    .map_err(UndoError::Workspace)?;
                Ok(FoundChanges {
                    changes: before.changes(&after),
                    uncovered: after.uncovered(),
                    tree: Some(after),
                })
            }
        }
    }
}

impl From<WalkError> for UndoError {
    fn from(error: WalkError) -> Self {
        Self::Workspace(std::io::Error::other(error.to_string()))
    }
}

fn limits(options: &Options) -> tree::Limits {
    tree::Limits {
        files: options.max_files,
        bytes: options.largest_tree(),
        file: options.largest_file(),
    }
}

fn changed(
    workspace: &Workspace,
    seen: Vec<PreImage>,
    largest: u64,
    until: Option<Moment>,
) -> Result<Vec<Change>, UndoError> {
    let mut changes = Vec::new();
    for PreImage { path, state } in seen {
        let place = workspace.place(&path)?;
        let is_later = |node: Node| until.is_some_and(|until| node.changed > until);
        if place.node()?.is_some_and(is_later) {
            continue;
        }
        let after = State::of(&place, largest)?;
        if !state.is_same(&after) {
            changes.push(Change {
                path,
                before: state,
                after,
            });
        }
    }
    Ok(changes)
}

/// Keeps the content of a file.
pub(crate) fn keep(place: &Place, store: &Store, batch: &Batch<'_>) -> Result<Content, UndoError> {
    let mut file = place.open()?;
    batch.keep(&mut file).map_err(|error| store.failed(error))
}

/// The folders above a place that do not exist yet: a write there creates them.
fn missing_above(workspace: &Workspace, place: &Place) -> Result<Vec<PreImage>, UndoError> {
    let mut missing = Vec::new();
    for above in place.relative().ancestors().skip(1) {
        if above.as_os_str().is_empty() {
            break;
        }
        let above = workspace.place(&place.root().join(above))?;
        if above.node()?.is_some() {
            break;
        }
        missing.push(PreImage {
            path: name(workspace, &above),
            state: State::Missing,
        });
    }
    missing.reverse();
    Ok(missing)
}

/// The path in the journal: relative to the workspace, or absolute.
pub(crate) fn name(workspace: &Workspace, place: &Place) -> PathBuf {
    let absolute = place.absolute();
    match absolute.strip_prefix(workspace.root()) {
        Ok(relative) => relative.to_owned(),
        Err(_) => absolute,
    }
}
