//! Queries of an index, and their results.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::SystemTime;

use ptk_sandbox::Workspace;
use serde::{Deserialize, Serialize};
use tantivy::{DocAddress, IndexReader, ReloadPolicy, TantivyDocument};

use crate::chunk::{Kind, Lines, excerpt};
use crate::dense::{Neighbours, Vectors, VectorsError};
use crate::embed::{EmbedError, Embedder};
use crate::filter::{Allowed, FilterError};
use crate::index::{Index, Manifest, generation, open_words};
use crate::lexical::{self, Fields, Keyed, Statistics, Stored};
use crate::words::Words;
use crate::{Language, fuse, walk};

pub use crate::filter::Filter;

/// The most results of a query.
pub const MAX_TOP: usize = 1_000;
/// How many results of each list are fused, at least.
const DEPTH: usize = 100;
/// How often a reader tries to get a consistent state while writers commit.
const ATTEMPTS: usize = 5;

/// A search query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Words, an identifier or a sentence. No character has a special meaning.
    pub text: String,
    /// How many results, at most [`MAX_TOP`].
    pub top: usize,
    /// Which chunks are considered.
    pub filter: Filter,
    /// Which lists are searched.
    pub which: Which,
    /// Whether similar results are replaced by different ones.
    pub diversify: bool,
}

impl Query {
    /// A query for the ten best results, by words and by meaning.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            top: 10,
            filter: Filter::default(),
            which: Which::Both,
            diversify: false,
        }
    }
}

/// The lists that a search uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Which {
    /// By words, and by meaning if it is indexed.
    #[default]
    Both,
    /// By words.
    Lexical,
    /// By meaning.
    Dense,
}

/// A search result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hit {
    /// Its id: `path#first:last`.
    pub id: String,
    /// Its score. Only scores of the same search can be compared.
    pub score: f32,
    /// The file, relative to the workspace.
    pub path: String,
    /// The lines in the file.
    pub lines: Lines,
    /// The name that is defined there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// The kind of its chunk.
    pub kind: Kind,
    /// The scope that contains it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub scope: String,
    /// Its language.
    pub language: Language,
    /// The text of these lines when the file was indexed.
    pub text: String,
    /// Whether the file still has the same lines.
    pub state: State,
    /// Its rank by words, counted from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lexical_rank: Option<usize>,
    /// Its rank by meaning, counted from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dense_rank: Option<usize>,
}

/// Whether a file still has the lines of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The lines are unchanged.
    Current,
    /// The lines have changed.
    Changed,
    /// The file is gone or cannot be read.
    Gone,
}

/// Why a search failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// There is no index yet.
    #[error("No index in {}. Make one with `ptk index`", folder.display())]
    Missing {
        /// The folder where it would be.
        folder: PathBuf,
    },
    /// The index cannot be read.
    #[error("The index in {} cannot be read. `ptk index` mends it", folder.display())]
    Unreadable {
        /// The folder of the index.
        folder: PathBuf,
        /// The cause.
        source: tantivy::TantivyError,
    },
    /// A glob of the filter is not valid.
    #[error("`{glob}` is not a glob: {why}")]
    Glob {
        /// The glob.
        glob: String,
        /// What is wrong with it.
        why: String,
    },
    /// A search by meaning, but nothing is indexed by meaning.
    #[error("Nothing is indexed by meaning: {0}. Search by words instead")]
    NoMeaning(Meaning),
    /// The embedding model failed.
    #[error(transparent)]
    Embed(#[from] EmbedError),
}

/// How much of an index can be searched by meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Meaning {
    /// There is no model; the search is by words alone.
    NoModel,
    /// Some chunks have no vector yet, and are found by words alone.
    Partly {
        /// The number of chunks with a vector.
        with: usize,
        /// The number of all chunks.
        of: usize,
    },
    /// All chunks have a vector.
    Whole,
}

impl fmt::Display for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoModel => f.write_str(
                "no embedding model is installed; `ptk models pull wordllama` gets one, and `ptk index` then uses it",
            ),
            Self::Partly { with, of } => write!(
                f,
                "only {with} of {of} chunks have it; `ptk index` goes on with the others"
            ),
            Self::Whole => f.write_str("everything is indexed by meaning, too"),
        }
    }
}

/// An index that is opened for searching. It sees each commit as soon as it is
/// made.
pub struct Searcher {
    folder: PathBuf,
    workspace: Workspace,
    words: tantivy::Index,
    reader: IndexReader,
    fields: Fields,
    embedder: Option<Arc<dyn Embedder>>,
    snapshot: Mutex<Arc<Snapshot>>,
}

impl fmt::Debug for Searcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Searcher of {}", self.folder.display())
    }
}

/// The state of the index at a commit.
pub(crate) struct Snapshot {
    generation: Option<u64>,
    searcher: tantivy::Searcher,
    statistics: Statistics,
    manifest: Manifest,
    /// The chunks, sorted by place.
    chunks: Vec<Keyed>,
    /// The vectors. Their places are positions in `chunks`.
    neighbours: Neighbours,
    /// Size and time of the file of vectors when it was read.
    vectors: Option<Stamp>,
}

/// Size and time of a file; if they differ, the file has changed.
type Stamp = (u64, Option<SystemTime>);

/// A ranked chunk.
struct Ranked {
    place: u64,
    address: DocAddress,
    score: f32,
}

impl Index {
    /// Opens the index for searching. Never waits for an update: it sees the
    /// last commit.
    ///
    /// # Errors
    ///
    /// If there is no index, or it cannot be read.
    pub fn searcher(&self) -> Result<Searcher, SearchError> {
        Searcher::open(self)
    }
}

impl Searcher {
    fn open(index: &Index) -> Result<Self, SearchError> {
        let folder = index.folder().to_owned();
        if !index.exists() {
            return Err(SearchError::Missing { folder });
        }
        let open = || -> tantivy::Result<_> {
            let words = open_words(&folder)?;
            let reader = words
                .reader_builder()
                .reload_policy(ReloadPolicy::Manual)
                .try_into()?;
            let fields = Fields::new();
            let embedder = index.embedder().map(AsRef::as_ref);
            let snapshot = Snapshot::take(&folder, &words, &reader, &fields, embedder)?;
            Ok((words, reader, fields, snapshot))
        };
        match open() {
            Ok((words, reader, fields, snapshot)) => Ok(Self {
                folder,
                workspace: index.workspace().clone(),
                words,
                reader,
                fields,
                embedder: index.embedder().cloned(),
                snapshot: Mutex::new(Arc::new(snapshot)),
            }),
            Err(source) => Err(SearchError::Unreadable { folder, source }),
        }
    }

    /// Searches the index; the best result is first.
    ///
    /// # Errors
    ///
    /// If the index cannot be read, a glob is not valid, or a search by meaning
    /// is requested and there is no index by meaning.
    pub fn search(&self, query: &Query) -> Result<Vec<Hit>, SearchError> {
        let snapshot = self.snapshot();
        let embedder = self
            .embedder
            .as_deref()
            .filter(|_| query.which != Which::Lexical);
        let embedder = embedder.filter(|_| !snapshot.neighbours.is_empty());
        if query.which == Which::Dense && embedder.is_none() && snapshot.searcher.num_docs() > 0 {
            return Err(SearchError::NoMeaning(self.meaning()));
        }
        let allowed = lexical::allowed(&snapshot.searcher, &self.fields, &query.filter);
        let allowed = allowed.map_err(|error| match error {
            FilterError::Glob { glob, why } => SearchError::Glob { glob, why },
            FilterError::Words(source) => self.unreadable(source),
        })?;
        let top = query.top.min(MAX_TOP);
        let is_fused = query.diversify || (query.which == Which::Both && embedder.is_some());
        let depth = if is_fused { top.max(DEPTH) } else { top };
        let by_words = || self.by_words(&snapshot, &query.text, allowed.as_ref(), depth);
        let by_meaning =
            |embedder| snapshot.by_meaning(embedder, &query.text, allowed.as_ref(), depth);
        let (lexical, dense) = match (query.which, embedder) {
            (Which::Dense, Some(embedder)) => (Ok(Vec::new()), by_meaning(embedder)),
            // Both lists are computed in parallel.
            (_, Some(embedder)) => thread::scope(|scope| {
                let dense = scope.spawn(|| by_meaning(embedder));
                let lexical = by_words();
                let ended = |_| Err(EmbedError::Failed("its thread ended".to_owned()));
                (lexical, dense.join().unwrap_or_else(ended))
            }),
            (Which::Dense, None) => (Ok(Vec::new()), Ok(Vec::new())),
            (_, None) => (by_words(), Ok(Vec::new())),
        };
        let (lexical, dense) = (lexical?, dense?);
        let mut hits = Vec::new();
        let kept = if query.diversify {
            fuse::POOL.max(top)
        } else {
            top
        };
        for (address, score, ranks) in fused(&lexical, &dense).into_iter().take(kept) {
            let mut hit = self.hit(&snapshot, address)?;
            hit.score = score;
            (hit.lexical_rank, hit.dense_rank) = ranks;
            hits.push(hit);
        }
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
        if query.diversify {
            hits = diverse(hits, top);
        }
        hits.truncate(top);
        for hit in &mut hits {
            hit.state = self.state(&snapshot, hit);
        }
        Ok(hits)
    }

    /// How much of the index can be searched by meaning.
    #[must_use]
    pub fn meaning(&self) -> Meaning {
        let snapshot = self.snapshot();
        let (with, of) = (snapshot.neighbours.len(), snapshot.chunks.len());
        match &self.embedder {
            None => Meaning::NoModel,
            Some(_) if with < of => Meaning::Partly { with, of },
            Some(_) => Meaning::Whole,
        }
    }

    /// Ranks the chunks by words.
    fn by_words(
        &self,
        snapshot: &Snapshot,
        text: &str,
        allowed: Option<&Allowed>,
        depth: usize,
    ) -> Result<Vec<Ranked>, SearchError> {
        let Snapshot {
            searcher,
            statistics,
            ..
        } = snapshot;
        let ranked = lexical::rank(searcher, &self.fields, statistics, text, allowed, depth);
        let ranked = ranked.map_err(|error| self.unreadable(error))?;
        Ok(ranked
            .into_iter()
            .map(|(address, score, place)| Ranked {
                place,
                address,
                score,
            })
            .collect())
    }

    /// The number of chunks in the index.
    #[must_use]
    pub fn chunks(&self) -> u64 {
        self.snapshot().searcher.num_docs()
    }

    /// The [`embedding_key`](crate::embedding_key)s of all chunks, sorted, each
    /// once.
    ///
    /// # Errors
    ///
    /// If the index cannot be read.
    pub fn keys(&self) -> Result<Vec<u64>, SearchError> {
        let keys = lexical::keys(&self.snapshot().searcher);
        let keys = keys.map_err(|error| self.unreadable(error))?;
        let mut keys: Vec<u64> = keys.into_iter().map(|chunk| chunk.key).collect();
        keys.sort_unstable();
        keys.dedup();
        Ok(keys)
    }

    fn unreadable(&self, source: tantivy::TantivyError) -> SearchError {
        SearchError::Unreadable {
            folder: self.folder.clone(),
            source,
        }
    }

    /// The state of the index at its last commit. If that cannot be read,
    /// because the index is being rebuilt, the previous one.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        let mut held = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        let now = generation(&self.words);
        let embedder = self.embedder.as_deref();
        let is_other =
            |now| now != held.generation || stamp(&self.folder, embedder) != held.vectors;
        if now.is_ok_and(is_other) {
            let Self {
                folder,
                words,
                reader,
                fields,
                ..
            } = self;
            let taken = Snapshot::take(folder, words, reader, fields, embedder);
            if let Ok(newer) = taken {
                *held = Arc::new(newer);
            }
        }
        Arc::clone(&held)
    }

    /// Reads a chunk as a result without a score.
    fn hit(&self, snapshot: &Snapshot, address: DocAddress) -> Result<Hit, SearchError> {
        let document: tantivy::Result<TantivyDocument> = snapshot.searcher.doc(address);
        let stored = document.and_then(|document| {
            let strange = || tantivy::TantivyError::SchemaError("a chunk lacks a field".to_owned());
            self.fields.stored(&document).ok_or_else(strange)
        });
        let Stored {
            path,
            language,
            chunk,
        } = stored.map_err(|error| self.unreadable(error))?;
        Ok(Hit {
            id: format!("{path}#{}", chunk.lines),
            score: 0.0,
            path,
            lines: chunk.lines,
            symbol: chunk.symbol,
            kind: chunk.kind,
            scope: chunk.scope,
            language,
            text: chunk.text,
            state: State::Current,
            lexical_rank: None,
            dense_rank: None,
        })
    }

    /// Compares a result with the file, which is read only if it may have
    /// changed.
    fn state(&self, snapshot: &Snapshot, hit: &Hit) -> State {
        if let Some(entry) = snapshot.manifest.files.get(&hit.path)
            && entry.is_settled
            && walk::seen(&self.workspace, &hit.path) == Some(entry.seen)
        {
            return State::Current;
        }
        match walk::read(&self.workspace, &hit.path).map(|content| content.text) {
            Ok(Some(text)) if excerpt(&text, hit.lines) == Some(&hit.text) => State::Current,
            Ok(_) => State::Changed,
            Err(_) => State::Gone,
        }
    }
}

impl Snapshot {
    /// Reads the words and the manifest of the same commit, and retries if a
    /// writer has committed in between.
    fn take(
        folder: &Path,
        words: &tantivy::Index,
        reader: &IndexReader,
        fields: &Fields,
        embedder: Option<&dyn Embedder>,
    ) -> tantivy::Result<Self> {
        let mut last = None;
        for _ in 0..ATTEMPTS {
            let generation = generation(words)?;
            reader.reload()?;
            let searcher = reader.searcher();
            let manifest = match generation {
                Some(generation) => Manifest::load(folder, generation),
                None => Ok(Manifest::default()),
            };
            match manifest {
                Ok(manifest) if manifest.chunks() as u64 == searcher.num_docs() => {
                    let statistics = Statistics::of(&searcher, fields)?;
                    let mut chunks = lexical::keys(&searcher)?;
                    chunks.sort_unstable_by_key(|chunk| (chunk.place, chunk.address));
                    let vectors = stamp(folder, embedder);
                    let neighbours = neighbours(folder, embedder, &chunks);
                    let neighbours = neighbours.map_err(std::io::Error::other)?;
                    return Ok(Self {
                        generation,
                        searcher,
                        statistics,
                        manifest,
                        chunks,
                        neighbours,
                        vectors,
                    });
                }
                Ok(_) => {}
                Err(error) => last = Some(error.to_string()),
            }
        }
        let why = last.unwrap_or_else(|| "files and words do not fit".to_owned());
        Err(tantivy::TantivyError::SystemError(why))
    }

    /// Ranks the chunks by meaning.
    fn by_meaning(
        &self,
        embedder: &dyn Embedder,
        text: &str,
        allowed: Option<&Allowed>,
        depth: usize,
    ) -> Result<Vec<Ranked>, EmbedError> {
        let vectors = embedder.embed(&[text])?;
        let vector = vectors.first().map(Vec::as_slice).unwrap_or_default();
        let at = |place: u64| self.chunks.get(usize::try_from(place).ok()?);
        let keep = allowed.map(|allowed| {
            move |place: u64| at(place).is_some_and(|chunk| allowed.contains(chunk.address))
        });
        let keep = keep.as_ref().map(|keep| keep as &dyn Fn(u64) -> bool);
        let nearest = self.neighbours.nearest(vector, depth, keep).into_iter();
        // Chunks that are not similar at all are not results.
        let nearest = nearest.filter(|(_, score)| *score > 0.0);
        let ranked = nearest.filter_map(|(place, score)| {
            let chunk = at(place)?;
            Some(Ranked {
                place: chunk.place,
                address: chunk.address,
                score,
            })
        });
        Ok(ranked.collect())
    }
}

/// The vectors of these chunks.
fn neighbours(
    folder: &Path,
    embedder: Option<&dyn Embedder>,
    chunks: &[Keyed],
) -> Result<Neighbours, VectorsError> {
    let Some(embedder) = embedder else {
        return Ok(Neighbours::default());
    };
    let vectors = Vectors::open(folder, embedder.id(), embedder.dimensions())?;
    Ok(vectors.neighbours(chunks.iter().map(|chunk| chunk.key).zip(0..)))
}

/// Size and time of the file of vectors, if there is a model.
fn stamp(folder: &Path, embedder: Option<&dyn Embedder>) -> Option<Stamp> {
    let about = embedder.and_then(|_| fs::metadata(Vectors::file(folder)).ok())?;
    Some((about.len(), about.modified().ok()))
}

/// A chunk with its score, and its ranks by words and by meaning.
type Fused = (DocAddress, f32, (Option<usize>, Option<usize>));

/// Fuses two lists. If one is empty, the other keeps its scores.
fn fused(lexical: &[Ranked], dense: &[Ranked]) -> Vec<Fused> {
    if lexical.is_empty() || dense.is_empty() {
        let alone = lexical.iter().map(|it| (it, true));
        let alone = alone.chain(dense.iter().map(|it| (it, false)));
        return (1..)
            .zip(alone)
            .map(|(rank, (it, is_lexical))| {
                let ranks = (is_lexical.then_some(rank), (!is_lexical).then_some(rank));
                (it.address, it.score, ranks)
            })
            .collect();
    }
    // The place decides between equal scores.
    let ids = |list: &[Ranked]| -> Vec<(u64, DocAddress)> {
        list.iter().map(|it| (it.place, it.address)).collect()
    };
    let (by_words, by_meaning) = (ids(lexical), ids(dense));
    let rank = |list: &[(u64, DocAddress)]| -> HashMap<(u64, DocAddress), usize> {
        list.iter().copied().zip(1..).collect()
    };
    let (words, meaning) = (rank(&by_words), rank(&by_meaning));
    fuse::reciprocal_rank(&[(1.0, &by_words), (1.0, &by_meaning)])
        .into_iter()
        .map(|(id, score)| {
            let ranks = (words.get(&id).copied(), meaning.get(&id).copied());
            (id.1, score, ranks)
        })
        .collect()
}

/// Chooses results that share few words.
fn diverse(hits: Vec<Hit>, top: usize) -> Vec<Hit> {
    let scores: Vec<f32> = hits.iter().map(|hit| hit.score).collect();
    let words: Vec<BTreeSet<String>> = hits
        .iter()
        .take(fuse::POOL)
        .map(|hit| Words::default().list(&hit.text).into_iter().collect())
        .collect();
    let likeness = |a: usize, b: usize| {
        let (Some(a), Some(b)) = (words.get(a), words.get(b)) else {
            return 0.0;
        };
        let both = a.intersection(b).count();
        let either = a.len() + b.len() - both;
        #[allow(clippy::cast_precision_loss, reason = "a share of few words")]
        let share = both as f32 / either.max(1) as f32;
        share
    };
    let mut hits: Vec<Option<Hit>> = hits.into_iter().map(Some).collect();
    fuse::diversify(&scores, top, likeness)
        .into_iter()
        .filter_map(|at| hits.get_mut(at)?.take())
        .collect()
}
