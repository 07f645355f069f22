//! Which chunks a search considers.

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use tantivy::{DocAddress, DocId};

use crate::Language;
use crate::chunk::Kind;

/// Limits a search to the chunks that meet all given kinds of conditions: at
/// least one condition of each kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Globs as in a `.gitignore`: `src/`, `*.rs`, `tests/**/*.py`, or with a
    /// leading `!` to exclude.
    pub paths: Vec<String>,
    /// Languages of files.
    pub languages: Vec<Language>,
    /// Kinds of chunks.
    pub kinds: Vec<Kind>,
    /// Names of definitions, in any case.
    pub symbols: Vec<String>,
}

impl Filter {
    pub(crate) fn globs(&self) -> Result<Globs, FilterError> {
        let mut builder = GitignoreBuilder::new("");
        // In an ignore file an unclosed bracket stands for itself; here it is a
        // mistake that would match nothing.
        builder.allow_unclosed_class(false);
        for glob in &self.paths {
            let added = builder.add_line(None, glob);
            added.map_err(|error| wrong_glob(glob, error))?;
        }
        let built = builder.build();
        let built = built.map_err(|error| wrong_glob(&self.paths.join(" "), error))?;
        Ok(Globs {
            includes: built.num_ignores() > 0,
            built,
        })
    }
}

fn wrong_glob(glob: &str, error: ignore::Error) -> FilterError {
    FilterError::Glob {
        glob: glob.to_owned(),
        why: match error {
            ignore::Error::Glob { err, .. } => err,
            error => error.to_string(),
        },
    }
}

/// The globs of a filter.
#[derive(Debug)]
pub(crate) struct Globs {
    built: Gitignore,
    /// Whether some globs include paths, rather than only exclude them.
    includes: bool,
}

impl Globs {
    pub(crate) fn matches(&self, path: &str) -> bool {
        let found = self.built.matched_path_or_any_parents(path, false);
        found.is_ignore() || (found.is_none() && !self.includes)
    }
}

/// Why a filter cannot be applied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FilterError {
    #[error("{glob}: {why}")]
    Glob { glob: String, why: String },
    #[error(transparent)]
    Words(#[from] tantivy::TantivyError),
}

/// The chunks that pass a filter, by segment.
#[derive(Debug)]
pub(crate) struct Allowed {
    segments: Vec<Vec<bool>>,
}

impl Allowed {
    pub(crate) fn nothing(searcher: &tantivy::Searcher) -> Self {
        let segments = searcher.segment_readers().iter();
        Self {
            segments: segments
                .map(|segment| vec![false; segment.max_doc() as usize])
                .collect(),
        }
    }

    pub(crate) fn add(&mut self, segment: usize, docs: impl Iterator<Item = DocId>) {
        let Some(all) = self.segments.get_mut(segment) else {
            return;
        };
        for doc in docs {
            if let Some(is_allowed) = all.get_mut(doc as usize) {
                *is_allowed = true;
            }
        }
    }

    pub(crate) fn and(mut self, other: &Self) -> Self {
        let docs = self.segments.iter_mut().flatten();
        for (one, other) in docs.zip(other.segments.iter().flatten()) {
            *one &= *other;
        }
        self
    }

    pub(crate) fn contains(&self, address: DocAddress) -> bool {
        let segment = self.segments.get(address.segment_ord as usize);
        let doc = segment.and_then(|docs| docs.get(address.doc_id as usize));
        doc.copied().unwrap_or(false)
    }
}
