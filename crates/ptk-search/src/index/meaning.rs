//! Vectors for the chunks of an index that have none yet.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use tantivy::{DocAddress, TantivyDocument};

use super::{Index, IndexError, Progress, Report, open_words};
use crate::dense::Vectors;
use crate::embed::Embedder;
use crate::embedding_text;
use crate::lexical::{self, Fields};

/// So many chunks are embedded at once, and kept. Whoever is killed loses no
/// more than these.
const BATCH: usize = 2048;
/// So many vectors of chunks that are gone are kept whatever happens: they may
/// come back, as with another branch.
const SPARE: usize = 10_000;

/// Embeds what has no vector. The words are committed, and nobody else writes.
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
    // Each key once, and in the order of the file that they are read from.
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

/// What is embedded of a chunk.
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
