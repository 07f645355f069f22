//! Suggestions of what to read in the place of a path that cannot be read.

use std::path::{Component, Path};

use ptk_protocol::schema::suggest;
use ptk_sandbox::{Kind, PathError, Place};

use super::files::{FileList, Find, Order};
use crate::{CallContext, ToolError};

/// How many files of another folder are suggested.
const MAX_ELSEWHERE: usize = 5;
/// How many entries of a folder are named.
const MAX_ENTRIES: usize = 50;
/// How many files' names are compared with one that is not there.
const MAX_COMPARED: usize = 5000;
/// A shorter name is in too many others.
const MIN_STEM: usize = 3;
/// What separates the words of a name; models mix them up.
const SEPARATORS: [char; 3] = ['-', '_', ' '];
/// The same separators in a pattern.
const ANY_SEPARATOR: &str = "[-_ ]";

/// The error with a better suggestion: what is in the folder that was taken for
/// a file, files of this name elsewhere, or those beside it.
pub(crate) async fn suggest(context: &CallContext, place: &Place, error: ToolError) -> ToolError {
    let suggestion = match place.metadata() {
        Ok(metadata) if metadata.kind == Kind::Folder => entries(context, place).await,
        Err(PathError::NotFound { .. } | PathError::NotAFolder { .. }) => {
            match elsewhere(context, place).await {
                Some(files) => Some(files),
                None => beside(context, place).await,
            }
        }
        _ => None,
    };
    match suggestion {
        Some(suggestion) => error.suggest(suggestion),
        None => error,
    }
}

/// Names the entries of a folder that was taken for a file.
async fn entries(context: &CallContext, place: &Place) -> Option<String> {
    let entries = named(context, place.to_string()).await?;
    Some(format!(
        "Give the path of a file. In the folder are: {entries}."
    ))
}

/// Names the entries of the folder of a missing file.
async fn beside(context: &CallContext, place: &Place) -> Option<String> {
    let path = place.absolute();
    let folder = path.parent()?.strip_prefix(place.root()).ok()?.to_str()?;
    let (directory, folder) = match folder {
        "" => (".", "the workspace"),
        folder => (folder, folder),
    };
    let entries = named(context, directory.to_owned()).await?;
    Some(format!("In {folder} are: {entries}."))
}

/// The entries of a folder, as text.
async fn named(context: &CallContext, directory: String) -> Option<String> {
    let found = find(context, directory, None, MAX_ENTRIES).await?;
    let more = match found.total - found.count {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(found.files.join(", ") + &more)
}

/// Names files of the same or a similar name.
async fn elsewhere(context: &CallContext, place: &Place) -> Option<String> {
    let path = place.absolute();
    let name = path.file_name()?.to_str()?;
    let stem = Path::new(name).file_stem()?.to_str()?;
    for text in [name, stem] {
        if text.chars().count() < MIN_STEM {
            continue;
        }
        let pattern = Some(globset::escape(text));
        if let Some(found) = find(context, ".".to_owned(), pattern, MAX_ELSEWHERE).await {
            let one_of = if found.count == 1 { "" } else { "one of: " };
            return Some(format!("Did you mean {one_of}{}?", found.files.join(", ")));
        }
    }
    misspelt(context, name).await
}

/// Names files whose name is like this one, with the same end: `readme.md`,
/// `mian.rs`.
async fn misspelt(context: &CallContext, name: &str) -> Option<String> {
    let pattern = format!("**/*{}", globset::escape(end_of(name)));
    let found = find(context, ".".to_owned(), Some(pattern), MAX_COMPARED).await?;
    let files = || found.files.iter().map(String::as_str);
    let near = suggest::nearest(stem_of(name), files().map(stem_of))?;
    let files = files().filter(|path| stem_of(path) == near);
    let files: Vec<&str> = files.take(MAX_ELSEWHERE).collect();
    let one_of = if files.len() == 1 { "" } else { "one of: " };
    Some(format!("Did you mean {one_of}{}?", files.join(", ")))
}

/// The name of a file without what stands behind its last dot.
fn stem_of(path: &str) -> &str {
    let stem = Path::new(path).file_stem();
    stem.and_then(|stem| stem.to_str()).unwrap_or_default()
}

/// The last dot of a name and what stands behind it; empty without one.
fn end_of(name: &str) -> &str {
    let end = Path::new(name).extension().and_then(|end| end.to_str());
    end.map_or("", |end| {
        name.get(name.len() - end.len() - 1..).unwrap_or_default()
    })
}

/// The only file that a path which leads nowhere can mean: its last names are
/// those of the path, whatever separates their words.
pub(crate) async fn only(context: &CallContext, path: &str) -> Option<String> {
    let path = path.strip_prefix("./").unwrap_or(path);
    let is_guessable = Path::new(path).components().all(
        |it| matches!(it, Component::Normal(name) if !name.as_encoded_bytes().starts_with(b".")),
    );
    let place = context.resolve(path).ok().filter(|_| is_guessable)?;
    if !matches!(
        place.metadata(),
        Err(PathError::NotFound { .. } | PathError::NotAFolder { .. })
    ) {
        return None;
    }
    let pattern = globset::escape(path).replace(SEPARATORS, ANY_SEPARATOR);
    let found = find(context, ".".to_owned(), Some(format!("**/{pattern}")), 2).await?;
    match found.files.as_slice() {
        [only] if found.total == 1 => Some(only.clone()),
        _ => None,
    }
}

/// A page of files, unless there are none.
async fn find(
    context: &CallContext,
    directory: String,
    pattern: Option<String>,
    limit: usize,
) -> Option<FileList> {
    let find = Find {
        directory,
        pattern,
        hidden: false,
        order: Order::Path,
        limit,
        offset: 0,
    };
    let found = find.run(context, |_| String::new()).await.ok()?;
    (found.count > 0).then_some(found)
}
