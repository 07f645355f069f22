//! The index by words: its fields, and the ranking by BM25.
//!
//! Words, postings and segments are tantivy's. The scores are computed here:
//! tantivy's own count documents that are deleted and not yet merged away, so
//! that the same files would be ranked differently, depending on the history of
//! the index. Here they depend on the files alone. The fields are combined
//! before a word's weight is bounded (BM25F), so that a word in the name of a
//! function does not count twice because it is in its body, too.

use std::collections::BTreeSet;
use std::iter;
use std::ops::Range;
use std::sync::Arc;

use rapidhash::v3::{RapidSecrets, RapidStreamHasherV3};
use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{Postings as _, SegmentPostings};
use tantivy::schema::{
    FAST, Field, IndexRecordOption, STORED, STRING, Schema, TantivyDocument, TextFieldIndexing,
    TextOptions, Value as _,
};
use tantivy::{DocAddress, DocId, DocSet as _, Searcher, SegmentReader, TERMINATED, Term};

use crate::Language;
use crate::chunk::{Chunk, Kind, Lines};
use crate::document::{ChunkDocument, Datum};
use crate::filter::{Allowed, Filter, FilterError};
use crate::words::Words;

/// The name of the tokenizer in tantivy's registry.
const WORDS: &str = "words";
/// BM25's k1: how soon more occurrences of a word stop counting.
const SATURATION: f32 = 1.2;
/// The weight of a word in each field, and BM25's b: how much the length of the
/// field reduces it.
const BODY: (f32, f32) = (1.0, 0.75);
const SYMBOL: (f32, f32) = (3.0, 0.5);
const SCOPE: (f32, f32) = (1.0, 0.5);
const PATH: (f32, f32) = (1.0, 0.5);
/// The most different words of a query that are used.
const MAX_QUERY_WORDS: usize = 256;
/// The name of the column of symbol keys.
const SYMBOL_KEY: &str = "symbol_key";
/// The key of a chunk without a symbol.
const NAMELESS: u64 = 0;
/// How many fields a chunk has.
const FIELDS: usize = 12;
/// How many fields are searched.
const SEARCHED: usize = 4;
/// How many different field lengths tantivy distinguishes.
const LENGTHS: usize = 256;

/// The fields of a chunk.
#[derive(Debug, Clone)]
pub(crate) struct Fields {
    pub(crate) schema: Schema,
    /// The whole path, to replace a file's chunks and for filters.
    pub(crate) path: Field,
    path_words: Field,
    symbol: Field,
    /// The hash of the symbol in lower case, for filters.
    symbol_key: Field,
    scope: Field,
    body: Field,
    language: Field,
    kind: Field,
    first: Field,
    last: Field,
    /// The hash of the text that is embedded.
    key: Field,
    /// The hash of path and line, which decides the order of equal scores.
    place: Field,
}

/// A chunk as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) path: String,
    pub(crate) language: Language,
    pub(crate) chunk: Chunk,
}

impl Fields {
    pub(crate) fn new() -> Self {
        let words = |stored: bool| {
            let indexing = TextFieldIndexing::default()
                .set_tokenizer(WORDS)
                .set_index_option(IndexRecordOption::WithFreqs);
            let options = TextOptions::default().set_indexing_options(indexing);
            if stored {
                options.set_stored()
            } else {
                options
            }
        };
        let mut schema = Schema::builder();
        Self {
            path: schema.add_text_field("path", STRING | STORED),
            path_words: schema.add_text_field("path_words", words(false)),
            symbol: schema.add_text_field("symbol", words(true)),
            symbol_key: schema.add_u64_field(SYMBOL_KEY, FAST),
            scope: schema.add_text_field("scope", words(true)),
            body: schema.add_text_field("body", words(true)),
            language: schema.add_text_field("language", STRING | STORED),
            kind: schema.add_text_field("kind", STRING | STORED),
            first: schema.add_u64_field("first", STORED),
            last: schema.add_u64_field("last", STORED),
            key: schema.add_u64_field("key", FAST),
            place: schema.add_u64_field("place", FAST),
            schema: schema.build(),
        }
    }

    /// Registers the tokenizer with an index.
    pub(crate) fn register(index: &tantivy::Index) {
        index.tokenizers().register(WORDS, Words::default());
    }

    /// The document of a chunk of a file with this text.
    pub(crate) fn document(
        &self,
        path: &Arc<str>,
        text: &Arc<str>,
        language: Language,
        chunk: Chunk<Range<usize>>,
    ) -> ChunkDocument {
        let body = text.get(chunk.text.clone()).unwrap_or_default();
        let key = key(path, &chunk, body);
        let line = chunk.lines.first as u64;
        let mut document = ChunkDocument::with_capacity(FIELDS);
        document.add(self.path, Datum::Shared(Arc::clone(path)));
        document.add(self.path_words, Datum::Shared(Arc::clone(path)));
        let symbol_key = chunk.symbol.as_deref().map(symbol_key);
        document.add(
            self.symbol_key,
            Datum::Number(symbol_key.unwrap_or(NAMELESS)),
        );
        if let Some(symbol) = chunk.symbol {
            document.add(self.symbol, Datum::Text(symbol));
        }
        if !chunk.scope.is_empty() {
            document.add(self.scope, Datum::Text(chunk.scope));
        }
        document.add(self.body, Datum::Part(Arc::clone(text), chunk.text));
        document.add(self.language, Datum::Name(language.name()));
        document.add(self.kind, Datum::Name(chunk.kind.name()));
        document.add(self.first, Datum::Number(line));
        document.add(self.last, Datum::Number(chunk.lines.last as u64));
        document.add(self.key, Datum::Number(key));
        let place = hash([path.as_bytes(), &line.to_le_bytes()]);
        document.add(self.place, Datum::Number(place));
        document
    }

    /// The chunk of a document, if it is one.
    pub(crate) fn stored(&self, document: &TantivyDocument) -> Option<Stored> {
        let text = |field| Some(document.get_first(field)?.as_str()?.to_owned());
        let line = |field| usize::try_from(document.get_first(field)?.as_u64()?).ok();
        Some(Stored {
            path: text(self.path)?,
            language: text(self.language)?.parse().ok()?,
            chunk: Chunk {
                lines: Lines {
                    first: line(self.first)?,
                    last: line(self.last)?,
                },
                symbol: text(self.symbol),
                kind: text(self.kind)?.parse().ok()?,
                scope: text(self.scope).unwrap_or_default(),
                text: text(self.body)?,
            },
        })
    }

    /// The searched fields, with their weights.
    fn searched(&self) -> [(Field, (f32, f32)); SEARCHED] {
        [
            (self.body, BODY),
            (self.symbol, SYMBOL),
            (self.scope, SCOPE),
            (self.path_words, PATH),
        ]
    }
}

/// The text of a chunk that is embedded: its location, then its content.
///
/// ```
/// use ptk_search::chunk::Chunker;
/// use ptk_search::{Language, embedding_text};
///
/// let source = "impl Reader {\n    fn read(&self) {}\n}\n";
/// let chunks = Chunker::default().chunks(source, Language::Rust);
/// assert_eq!(
///     embedding_text(&chunks[1], "src/reader.rs"),
///     "src/reader.rs impl Reader read\n    fn read(&self) {}\n}"
/// );
/// ```
#[must_use]
pub fn embedding_text(chunk: &Chunk, path: &str) -> String {
    header(chunk, path).chain(["\n", &chunk.text]).collect()
}

fn header<'a, T>(chunk: &'a Chunk<T>, path: &'a str) -> impl Iterator<Item = &'a str> {
    let named = |name: &'a str| {
        if name.is_empty() {
            ["", ""]
        } else {
            [" ", name]
        }
    };
    let symbol = chunk.symbol.as_deref().unwrap_or_default();
    [path]
        .into_iter()
        .chain(named(&chunk.scope))
        .chain(named(symbol))
}

/// The hash of a chunk's [`embedding_text`], which is the key of its vector.
#[must_use]
pub fn embedding_key(path: &str, chunk: &Chunk) -> u64 {
    key(path, chunk, &chunk.text)
}

fn key<T>(path: &str, chunk: &Chunk<T>, text: &str) -> u64 {
    let parts = header(chunk, path).chain(["\n", text]);
    hash(parts.map(str::as_bytes))
}

/// A hash of bytes in parts, the same on every machine, because it is stored in
/// the index. It is not cryptographic: collisions can be constructed.
fn hash<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    const SECRETS: RapidSecrets = RapidSecrets::seed(0);
    let mut hasher = RapidStreamHasherV3::new(&SECRETS);
    for part in parts {
        hasher.write(part);
    }
    hasher.finish()
}

/// The number of chunks, and the average lengths of their fields.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Statistics {
    chunks: u64,
    lengths: [f32; SEARCHED],
}

impl Statistics {
    /// Counts all chunks that are not deleted.
    pub(crate) fn of(searcher: &Searcher, fields: &Fields) -> tantivy::Result<Self> {
        let chunks = searcher.num_docs();
        let mut lengths = [0.0; SEARCHED];
        for ((field, _), average) in fields.searched().into_iter().zip(&mut lengths) {
            let mut total = 0_u64;
            for segment in searcher.segment_readers() {
                let norms = segment.get_fieldnorms_reader(field)?;
                let alive = segment.doc_ids_alive();
                total += alive
                    .map(|doc| u64::from(norms.fieldnorm(doc)))
                    .sum::<u64>();
            }
            #[allow(clippy::cast_precision_loss, reason = "an average need not be exact")]
            {
                *average = (total as f32 / chunks.max(1) as f32).max(1.0);
            }
        }
        Ok(Self { chunks, lengths })
    }
}

/// The weight of a word in a field, for each of the distinct lengths.
fn norms((weight, share): (f32, f32), average: f32) -> [f32; LENGTHS] {
    let mut table = [0.0; LENGTHS];
    for (id, norm) in (0..=u8::MAX).zip(&mut table) {
        #[allow(clippy::cast_precision_loss, reason = "lengths are rounded anyway")]
        let length = FieldNormReader::id_to_fieldnorm(id) as f32;
        *norm = weight / (1.0 - share + share * length / average);
    }
    table
}

/// The chunks with a word, by segment, each with the word's weight in it.
type Occurrences = Vec<Vec<(DocId, f32)>>;

/// Ranks the chunks for a text, best first, at most `top`, each with its score
/// and its place. The text is taken as words; no character has a special
/// meaning.
pub(crate) fn rank(
    searcher: &Searcher,
    fields: &Fields,
    statistics: &Statistics,
    text: &str,
    allowed: Option<&Allowed>,
    top: usize,
) -> tantivy::Result<Vec<(DocAddress, f32, u64)>> {
    let mut seen = BTreeSet::new();
    let words = Words::default().list(text).into_iter();
    let words = words
        .filter(|word| seen.insert(word.clone()))
        .take(MAX_QUERY_WORDS);
    let segments = searcher.segment_readers();
    let mut scores: Vec<Vec<f32>> = segments
        .iter()
        .map(|segment| vec![0.0; segment.max_doc() as usize])
        .collect();
    let tables: Vec<_> = fields
        .searched()
        .into_iter()
        .zip(statistics.lengths)
        .map(|((field, weights), average)| (field, norms(weights, average)))
        .collect();
    for word in words {
        let occurrences: Occurrences = segments
            .iter()
            .map(|segment| occurrences(segment, &tables, &word))
            .collect::<tantivy::Result<_>>()?;
        let rarity = rarity(statistics.chunks, &occurrences);
        for (scores, occurrences) in scores.iter_mut().zip(&occurrences) {
            for (doc, weight) in occurrences {
                if let Some(score) = scores.get_mut(*doc as usize) {
                    *score += rarity * weight / (SATURATION + weight);
                }
            }
        }
    }
    best(searcher, &scores, allowed, top)
}

/// The inverse document frequency of a word.
fn rarity(chunks: u64, occurrences: &Occurrences) -> f32 {
    let with: usize = occurrences.iter().map(Vec::len).sum();
    #[allow(clippy::cast_precision_loss, reason = "a logarithm of it is taken")]
    let (with, chunks) = (with as f32, chunks as f32);
    (1.0 + (chunks - with + 0.5).max(0.0) / (with + 0.5)).ln()
}

fn occurrences(
    segment: &SegmentReader,
    tables: &[(Field, [f32; LENGTHS])],
    word: &str,
) -> tantivy::Result<Vec<(DocId, f32)>> {
    let mut weights = vec![0.0_f32; segment.max_doc() as usize];
    let mut found = Vec::new();
    for (field, norms) in tables {
        let term = Term::from_field_text(*field, word);
        let postings = segment
            .inverted_index(*field)?
            .read_postings(&term, IndexRecordOption::WithFreqs)?;
        let Some(mut postings) = postings else {
            continue;
        };
        let lengths = segment.get_fieldnorms_reader(*field)?;
        let mut doc = postings.doc();
        while doc != TERMINATED {
            if let Some(weight) = weights.get_mut(doc as usize)
                && !segment.is_deleted(doc)
            {
                if *weight == 0.0 {
                    found.push(doc);
                }
                let norm = norms.get(usize::from(lengths.fieldnorm_id(doc)));
                #[allow(clippy::cast_precision_loss, reason = "counts of words are small")]
                let count = postings.term_freq() as f32;
                *weight += count * norm.copied().unwrap_or_default();
            }
            doc = postings.advance();
        }
    }
    let weight = |doc: DocId| weights.get(doc as usize).copied().unwrap_or_default();
    Ok(found.into_iter().map(|doc| (doc, weight(doc))).collect())
}

/// The documents with the highest scores.
fn best(
    searcher: &Searcher,
    scores: &[Vec<f32>],
    allowed: Option<&Allowed>,
    top: usize,
) -> tantivy::Result<Vec<(DocAddress, f32, u64)>> {
    let mut found: Vec<(f32, u64, DocAddress)> = Vec::new();
    let order = |a: &(f32, u64, DocAddress), b: &(f32, u64, DocAddress)| {
        b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
    };
    for ((segment, reader), scores) in (0..).zip(searcher.segment_readers()).zip(scores) {
        let places = reader.fast_fields().u64("place")?.first_or_default_col(0);
        for (doc, score) in (0..).zip(scores) {
            let address = DocAddress::new(segment, doc);
            if *score > 0.0 && allowed.is_none_or(|allowed| allowed.contains(address)) {
                found.push((*score, places.get_val(doc), address));
            }
        }
    }
    if found.len() > top && top > 0 {
        found.select_nth_unstable_by(top - 1, order);
    }
    found.truncate(top);
    found.sort_unstable_by(order);
    Ok(found
        .into_iter()
        .map(|(score, place, address)| (address, score, place))
        .collect())
}

/// The chunks that pass a filter.
pub(crate) fn allowed(
    searcher: &Searcher,
    fields: &Fields,
    filter: &Filter,
) -> Result<Option<Allowed>, FilterError> {
    let mut allowed: Option<Allowed> = None;
    let mut narrow = |by: Allowed| {
        allowed = Some(match allowed.take() {
            Some(before) => before.and(&by),
            None => by,
        });
    };
    let exact = |field: Field, names: Vec<String>| -> tantivy::Result<Allowed> {
        let mut by = Allowed::nothing(searcher);
        for (segment, reader) in searcher.segment_readers().iter().enumerate() {
            let index = reader.inverted_index(field)?;
            for name in &names {
                let term = Term::from_field_text(field, name);
                let postings = index.read_postings(&term, IndexRecordOption::Basic)?;
                if let Some(postings) = postings {
                    by.add(segment, docs(postings));
                }
            }
        }
        Ok(by)
    };
    if !filter.languages.is_empty() {
        let names = filter.languages.iter().map(|it| it.name().to_owned());
        narrow(exact(fields.language, names.collect())?);
    }
    if !filter.kinds.is_empty() {
        let names = filter.kinds.iter().map(|it: &Kind| it.name().to_owned());
        narrow(exact(fields.kind, names.collect())?);
    }
    if !filter.symbols.is_empty() {
        let wanted: Vec<u64> = filter.symbols.iter().map(|it| symbol_key(it)).collect();
        let mut by = Allowed::nothing(searcher);
        for (segment, reader) in searcher.segment_readers().iter().enumerate() {
            let keys = reader.fast_fields().u64(SYMBOL_KEY)?;
            let keys = keys.first_or_default_col(NAMELESS);
            let docs = 0..reader.max_doc();
            by.add(
                segment,
                docs.filter(|doc| wanted.contains(&keys.get_val(*doc))),
            );
        }
        narrow(by);
    }
    if !filter.paths.is_empty() {
        let globs = filter.globs()?;
        let mut by = Allowed::nothing(searcher);
        for (segment, reader) in searcher.segment_readers().iter().enumerate() {
            let index = reader.inverted_index(fields.path)?;
            let mut terms = index
                .terms()
                .stream()
                .map_err(tantivy::TantivyError::from)?;
            while let Some((path, info)) = terms.next() {
                if std::str::from_utf8(path).is_ok_and(|path| globs.matches(path)) {
                    let postings = index
                        .read_postings_from_terminfo(info, IndexRecordOption::Basic)
                        .map_err(tantivy::TantivyError::from)?;
                    by.add(segment, docs(postings));
                }
            }
        }
        narrow(by);
    }
    Ok(allowed)
}

fn docs(mut postings: SegmentPostings) -> impl Iterator<Item = DocId> {
    let first = Some(postings.doc());
    let all = iter::successors(first, move |_| Some(postings.advance()));
    all.take_while(|doc| *doc != TERMINATED)
}

/// The key of a symbol, which ignores case.
fn symbol_key(symbol: &str) -> u64 {
    hash([symbol.to_lowercase().as_bytes()])
}

/// A chunk without its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Keyed {
    /// The key of its vector.
    pub(crate) key: u64,
    /// The hash that decides the order of equal scores.
    pub(crate) place: u64,
    pub(crate) address: DocAddress,
}

/// The keys and addresses of all chunks.
pub(crate) fn keys(searcher: &Searcher) -> tantivy::Result<Vec<Keyed>> {
    let mut keys = Vec::new();
    for (segment, reader) in (0..).zip(searcher.segment_readers()) {
        let columns = reader.fast_fields();
        let key = columns.u64("key")?.first_or_default_col(0);
        let place = columns.u64("place")?.first_or_default_col(0);
        let alive = reader.doc_ids_alive();
        keys.extend(alive.map(|doc| Keyed {
            key: key.get_val(doc),
            place: place.get_val(doc),
            address: DocAddress::new(segment, doc),
        }));
    }
    Ok(keys)
}
