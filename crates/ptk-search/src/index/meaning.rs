//! Embeds the chunks of an index that have no vector yet.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use tantivy::{DocAddress, TantivyDocument};

use super::{Index, IndexError, Progress, Report, open_words};
use crate::dense::Vectors;
use crate::embed::Embedder;
use crate::embedding_text;
use crate::lexical::{self, Fields};

/// How many chunks are embedded and stored at once. A killed process loses no
/// more than these.
const BATCH: usize = 2048;
/// How many vectors of removed chunks are always kept: they may come back, as
/// with another branch.
const SPARE: usize = 10_000;

/// Embeds the chunks without a vector. The words must be committed, and the
/// lock held.
pub(super) fn update(
    index: &Index,
    embedder: &dyn Embedder,
    cancel: &AtomicBool,
    report: &mut Report,
    tell: &mut dyn FnMut(Progress),
) -> Result<(), IndexError> {
    let mut vectors = Vectors::open(&index.folder, embedder.id(), embedder.dimensions())?;
    let failed = |error| index.words_failed(error);
    let words = open_words(&index.folder).map_err(failed)?;
    let searcher = words.reader().map_err(failed)?.searcher();
    let chunks = lexical::keys(&searcher).map_err(failed)?;
    let live: HashSet<u64> = chunks.iter().map(|chunk| chunk.key).collect();
    let without = chunks.iter().filter(|chunk| !vectors.contains(chunk.key));
    // Each key once, sorted by its position in the index.
    let without: BTreeMap<u64, DocAddress> =
        without.map(|chunk| (chunk.key, chunk.address)).collect();
    let mut without: Vec<(u64, DocAddress)> = without.into_iter().collect();
    without.sort_unstable_by_key(|(_, address)| *address);
    let fields = Fields::new();
    let mut progress = Progress {
        files: report.files,
        total: report.files,
        chunks: report.chunks,
        to_embed: without.len(),
        ..Progress::default()
    };
    for batch in without.chunks(BATCH) {
        if cancel.load(Ordering::Relaxed) {
            report.is_cancelled = true;
            break;
        }
        let texts: Vec<String> = batch
            .iter()
            .map(|(_, address)| text(&searcher, &fields, *address))
            .collect::<tantivy::Result<_>>()
            .map_err(failed)?;
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let made = embedder.embed(&texts)?;
        let keys = batch.iter().map(|(key, _)| *key);
        let made: Vec<(u64, Vec<f32>)> = keys.zip(made).collect();
        vectors.append(&made)?;
        report.embedded += made.len();
        progress.embedded += made.len();
        tell(progress);
    }
    vectors.sync()?;
    if vectors.len() > live.len().saturating_mul(2).saturating_add(SPARE) {
        vectors.compact(&live)?;
    }
    Ok(())
}

/// The text of a chunk that is embedded.
fn text(
    searcher: &tantivy::Searcher,
    fields: &Fields,
    address: DocAddress,
) -> tantivy::Result<String> {
    let document: TantivyDocument = searcher.doc(address)?;
    let stored = fields.stored(&document);
    Ok(stored.map_or_else(String::new, |stored| {
        embedding_text(&stored.chunk, &stored.path)
    }))
}
