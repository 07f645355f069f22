//! Where a search begins: a folder or a file that is there, or a note on what
//! was meant.

use std::path::Path;

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};
use ptk_protocol::schema::suggest;
use ptk_sandbox::{Kind, PathError, Place};

use crate::{CallContext, ToolError};

/// How many names of a folder are compared with one that is missing.
const MAX_NEAR: usize = 2_000;

/// The place of a path, and whether it is a folder or a file.
pub(crate) fn start(context: &CallContext, path: &str) -> Result<(Place, Kind), ToolError> {
    // A model that means the workspace often leaves it empty.
    let path = if path.is_empty() { "." } else { path };
    let place = context.resolve(path)?;
    match place.metadata() {
        Ok(metadata) if matches!(metadata.kind, Kind::File | Kind::Folder) => {
            Ok((place, metadata.kind))
        }
        Ok(metadata) => Err(ToolError::user(format!(
            "Cannot search {place}: it is {}",
            metadata.kind
        ))
        .suggest("Give a folder or a regular file.")),
        Err(PathError::NotFound { .. } | PathError::NotAFolder { .. }) => Err(missing(&place)),
        Err(error) => Err(error.into()),
    }
}

/// The place of a folder.
pub(crate) fn folder(context: &CallContext, path: &str) -> Result<Place, ToolError> {
    let (place, kind) = start(context, path)?;
    if kind == Kind::Folder {
        return Ok(place);
    }
    Err(
        ToolError::user(format!("Not a folder: {place} is a file")).suggest(format!(
            "To see what is in it, use read_file(path=\"{place}\")."
        )),
    )
}

fn missing(place: &Place) -> ToolError {
    let error = ToolError::user(format!("Folder not found: {place}"));
    match near(place) {
        Some(near) => error.suggest(format!("Did you mean {near}?")),
        None => error.suggest(
            "Use list_files() to see the workspace. Paths are relative to it, or absolute.",
        ),
    }
}

/// The nearest path that is there: the first wrong name, corrected.
fn near(place: &Place) -> Option<String> {
    let absolute = place.absolute();
    let resolve = |path: &Path| place.workspace().resolve(path.to_str()?).ok();
    let parents: Vec<&Path> = absolute.ancestors().collect();
    let (wrong, there) = parents.windows(2).find_map(|pair| {
        let [below, above] = pair else { return None };
        let folder = resolve(above)?;
        (folder.metadata().ok()?.kind == Kind::Folder).then_some((*below, folder))
    })?;
    let names: Vec<String> = there
        .read_dir()
        .ok()?
        .take(MAX_NEAR)
        .filter_map(|entry| entry.ok()?.name().to_str().map(str::to_owned))
        .collect();
    let name = wrong.file_name()?.to_str()?;
    let near = suggest::nearest(name, names.iter().map(String::as_str))?;
    let rest = absolute.strip_prefix(wrong).ok()?;
    let whole = resolve(&there.absolute().join(near).join(rest))?;
    let whole = if whole.exists().unwrap_or(false) {
        whole
    } else {
        resolve(&there.absolute().join(near))?
    };
    Some(whole.to_string())
}

/// A glob that paths are compared with.
#[derive(Debug, Clone)]
pub(crate) struct PathGlob {
    set: GlobSet,
    excludes: bool,
}

impl PathGlob {
    /// A glob for the whole relative path, made of a pattern.
    fn path(glob: &str, pattern: &str) -> Result<Self, ToolError> {
        let glob = GlobBuilder::new(glob)
            .literal_separator(true)
            .empty_alternates(true)
            .build();
        let set = glob.and_then(|glob| GlobSetBuilder::new().add(glob).build());
        let set = set.map_err(|error| no_glob(pattern, &error))?;
        Ok(Self {
            set,
            excludes: false,
        })
    }

    /// Names with this text in them, in any case, and all that lies in a folder
    /// of this name.
    fn named(name: &str) -> Result<Self, ToolError> {
        let mut set = GlobSetBuilder::new();
        for glob in [format!("**/*{name}*"), format!("**/{name}/**")] {
            let glob = GlobBuilder::new(&glob)
                .literal_separator(true)
                .case_insensitive(true)
                .build();
            set.add(glob.map_err(|error| no_glob(name, &error))?);
        }
        let set = set.build().map_err(|error| no_glob(name, &error))?;
        Ok(Self {
            set,
            excludes: false,
        })
    }

    /// A glob as a filter of files: without `/` it counts in every folder, with
    /// `!` before it, it excludes files.
    pub(crate) fn filter(pattern: &str) -> Result<Self, ToolError> {
        let (excludes, rest) = match pattern.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, pattern),
        };
        let glob = match rest.strip_prefix('/') {
            Some(anchored) => Self::path(anchored, pattern)?,
            None if rest.contains('/') => Self::path(rest, pattern)?,
            None => Self::path(&format!("**/{rest}"), pattern)?,
        };
        Ok(Self { excludes, ..glob })
    }

    pub(crate) fn matches(&self, path: &[u8]) -> bool {
        self.set.is_match_candidate(&Candidate::from_bytes(path)) != self.excludes
    }
}

fn no_glob(pattern: &str, error: &globset::Error) -> ToolError {
    ToolError::validation(format!(
        "The pattern \"{pattern}\" is not a glob: {}",
        error.kind()
    ))
    .suggest(
        "`*` stands for any part of a name, `**/` for any folders, `{a,b}` for alternatives. To \
         mean such a character itself, write it in brackets: `[[]`.",
    )
}

/// Whether this part of a pattern stands for itself alone.
fn is_plain(part: &str) -> bool {
    !part.contains(['*', '?', '[', ']', '{', '}', '\\'])
}

/// A glob together with the folder that everything it can match lies in.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// The folder, as the jail resolves it.
    pub(crate) folder: String,
    pub(crate) glob: PathGlob,
    /// How deep beneath the folder a match can lie.
    pub(crate) depth: usize,
    /// Whether it names something that begins with a dot.
    pub(crate) names_hidden: bool,
}

impl Pattern {
    /// A pattern beneath `path`, or an absolute one.
    pub(crate) fn new(context: &CallContext, path: &str, pattern: &str) -> Result<Self, ToolError> {
        if pattern.is_empty() {
            return Err(ToolError::validation("The pattern is empty")
                .suggest("Say which files, for example pattern=\"**/*.rs\"."));
        }
        if pattern.split('/').any(|part| part == "..") {
            // The jail returns the error for it.
            context.resolve(pattern)?;
        }
        let base = match path {
            _ if pattern.starts_with('/') => "/",
            "" => ".",
            path => path,
        };
        let parts: Vec<&str> = pattern
            .split('/')
            .filter(|part| !part.is_empty() && *part != ".")
            .collect();
        let plain = parts.iter().take_while(|part| is_plain(part)).count();
        let plain = plain.min(parts.len().saturating_sub(1));
        let (folders, rest) = parts.split_at_checked(plain).unwrap_or_default();
        let mut folder = Path::new(base).to_owned();
        folder.extend(folders);
        let folder = folder.to_string_lossy().into_owned();
        context.resolve(&folder)?;
        let mut glob = rest.join("/");
        if pattern.ends_with('/') {
            // A folder stands for what is in it.
            glob.push_str("/**");
        }
        Ok(Self {
            folder,
            depth: if glob.contains("**") {
                usize::MAX
            } else {
                glob.matches('/').count() + 1
            },
            names_hidden: rest.iter().any(|part| part.starts_with('.')),
            glob: PathGlob::path(&glob, pattern)?,
        })
    }

    /// The pattern that was most likely meant, if this one matches nothing:
    /// files in any folder beneath, or those whose names hold the pattern.
    /// Returns a note on it too.
    pub(crate) fn wider(&self, pattern: &str) -> Option<(Self, String)> {
        if pattern.contains('/') {
            return None;
        }
        let (glob, note) = if is_plain(pattern) {
            let note = format!("No file is called \"{pattern}\" here; these are close to it.");
            (PathGlob::named(pattern), note)
        } else {
            let note =
                format!("Nothing directly in the folder matches \"{pattern}\"; these lie deeper.");
            (PathGlob::path(&format!("**/{pattern}"), pattern), note)
        };
        let wider = Self {
            folder: self.folder.clone(),
            glob: glob.ok()?,
            depth: usize::MAX,
            names_hidden: self.names_hidden,
        };
        Some((wider, note))
    }
}
