//! The words and the manifest of an index, opened and committed together.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;

use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::{IndexReader, IndexWriter, ReloadPolicy, Term};

use super::manifest::{Manifest, ManifestError};
use super::{Index, IndexError, Rebuilt};
use crate::document::ChunkDocument;
use crate::lexical::Fields;

/// The file that tantivy writes last, and reads first.
pub(super) const META: &str = "meta.json";
/// The memory of each of tantivy's threads before it writes a segment.
const MEMORY: usize = 48 * 1024 * 1024;
/// The most threads; more would wait for the disk.
const MAX_THREADS: usize = 8;
/// Smaller changes, in bytes, use a single thread.
const SMALL: u64 = 1024 * 1024;
/// The share of deleted chunks above which a segment is rewritten.
const MAX_DELETED: f32 = 0.3;

/// The folder of tantivy's index.
pub(super) fn words(folder: &Path) -> PathBuf {
    folder.join("words")
}

/// Opens tantivy's index for reading.
pub(crate) fn open_words(folder: &Path) -> tantivy::Result<tantivy::Index> {
    let index = tantivy::Index::open_in_dir(words(folder))?;
    Fields::register(&index);
    Ok(index)
}

/// The generation of the last commit; `None` before the first.
pub(crate) fn generation(index: &tantivy::Index) -> tantivy::Result<Option<u64>> {
    let payload = index.load_metas()?.payload;
    Ok(payload.and_then(|payload| payload.parse().ok()))
}

/// An index that is being written.
pub(super) struct Store<'a> {
    index: &'a Index,
    words: tantivy::Index,
    writer: Option<IndexWriter<ChunkDocument>>,
    pub(super) fields: Fields,
    generation: u64,
    /// The files in the index with the next commit.
    pub(super) manifest: Manifest,
}

impl<'a> Store<'a> {
    /// Opens the index, or creates a new one; returns why, if it was rebuilt.
    pub(super) fn open(index: &'a Index) -> Result<(Self, Option<Rebuilt>), IndexError> {
        let fields = Fields::new();
        let is_there = words(&index.folder).join(META).exists();
        let (opened, rebuilt) = match is_there.then(|| whole(&index.folder, &fields)) {
            Some(Ok(whole)) => (Some(whole), None),
            Some(Err(why)) => (None, Some(why)),
            None => (None, None),
        };
        let (words, generation, manifest) = match opened {
            Some(whole) => whole,
            None => (begin(index, &fields)?, 0, Manifest::default()),
        };
        let store = Self {
            index,
            words,
            writer: None,
            fields,
            generation,
            manifest,
        };
        Ok((store, rebuilt))
    }

    /// Prepares for a change of about this many bytes.
    pub(super) fn expect(&mut self, bytes: u64) -> Result<(), IndexError> {
        if self.writer.is_some() {
            return Ok(());
        }
        let threads = match thread::available_parallelism() {
            Ok(threads) if bytes >= SMALL => threads.get().min(MAX_THREADS),
            _ => 1,
        };
        let options = IndexWriterOptions::builder()
            .num_worker_threads(threads)
            .memory_budget_per_thread(MEMORY)
            .build();
        let writer: IndexWriter<ChunkDocument> =
            self.try_words(|words| words.writer_with_options(options))?;
        let mut policy = LogMergePolicy::default();
        policy.set_del_docs_ratio_before_merge(MAX_DELETED);
        writer.set_merge_policy(Box::new(policy));
        self.writer = Some(writer);
        Ok(())
    }

    fn try_words<T>(
        &self,
        run: impl FnOnce(&tantivy::Index) -> tantivy::Result<T>,
    ) -> Result<T, IndexError> {
        run(&self.words).map_err(|error| self.index.words_failed(error))
    }

    /// Removes a file's chunks from the index.
    pub(super) fn remove(&mut self, path: &str) -> Result<(), IndexError> {
        self.expect(0)?;
        if let Some(writer) = &self.writer {
            writer.delete_term(Term::from_field_text(self.fields.path, path));
        }
        Ok(())
    }

    /// Adds chunks to the index.
    pub(super) fn add(&mut self, documents: Vec<ChunkDocument>) -> Result<(), IndexError> {
        self.expect(0)?;
        if let Some(writer) = &self.writer {
            for document in documents {
                let added = writer.add_document(document);
                added.map_err(|error| self.index.words_failed(error))?;
            }
        }
        Ok(())
    }

    /// Commits the words and the manifest together.
    pub(super) fn commit(&mut self) -> Result<(), IndexError> {
        self.expect(0)?;
        let Some(writer) = &mut self.writer else {
            return Ok(());
        };
        let next = self.generation + 1;
        let folder = &self.index.folder;
        let failed = |error| self.index.words_failed(error);
        let mut prepared = writer.prepare_commit().map_err(failed)?;
        let saved = self.manifest.save(folder, next);
        saved.map_err(|error| self.index.folder_failed(error))?;
        prepared.set_payload(&next.to_string());
        prepared.commit().map_err(failed)?;
        self.generation = next;
        self.make_private()?;
        let removed = Manifest::remove_others(folder, Some(next));
        removed.map_err(|error| self.index.folder_failed(error))
    }

    /// Waits for the merging of segments.
    pub(super) fn finish(mut self) -> Result<Manifest, IndexError> {
        if let Some(writer) = self.writer.take() {
            let merged = writer.wait_merging_threads();
            merged.map_err(|error| self.index.words_failed(error))?;
            self.make_private()?;
        }
        Ok(self.manifest)
    }

    /// Makes tantivy's files private, because it creates them with the modes
    /// that the umask allows.
    fn make_private(&self) -> Result<(), IndexError> {
        ptk_sandbox::make_files_private(&words(&self.index.folder))
            .map_err(|error| self.index.folder_failed(error))
    }
}

/// Opens the existing index, if it is valid.
fn whole(folder: &Path, fields: &Fields) -> Result<(tantivy::Index, u64, Manifest), Rebuilt> {
    let damaged = |what: String| Rebuilt::Damaged { what };
    let broken = |error: tantivy::TantivyError| damaged(error.to_string());
    let index = open_words(folder).map_err(broken)?;
    if index.schema() != fields.schema {
        return Err(Rebuilt::OtherVersion);
    }
    let generation = generation(&index).map_err(broken)?;
    let manifest = match generation {
        Some(generation) => Manifest::load(folder, generation),
        None => Ok(Manifest::default()),
    };
    let manifest = manifest.map_err(|error| match error {
        ManifestError::OtherVersion => Rebuilt::OtherVersion,
        error => damaged(error.to_string()),
    })?;
    let bad = index.validate_checksum().map_err(broken)?;
    if let Some(file) = bad.iter().min() {
        return Err(damaged(format!("{} was changed", file.display())));
    }
    let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual);
    let reader: IndexReader = reader.try_into().map_err(broken)?;
    if reader.searcher().num_docs() != manifest.chunks() as u64 {
        return Err(damaged("files and words do not fit".to_owned()));
    }
    Ok((index, generation.unwrap_or_default(), manifest))
}

/// Removes the existing index, and creates an empty one.
fn begin(index: &Index, fields: &Fields) -> Result<tantivy::Index, IndexError> {
    let folder = words(&index.folder);
    let clear = || -> io::Result<()> {
        // First the file that everything else is found by: a process that is
        // killed from here on leaves no index, rather than a part of one.
        for path in [folder.join(META), folder.clone()] {
            let removed = if path.is_dir() {
                fs::remove_dir_all(&path)
            } else {
                fs::remove_file(&path)
            };
            match removed {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Manifest::remove_others(&index.folder, None)?;
        ptk_sandbox::private_folder(&folder)
    };
    clear().map_err(|error| index.folder_failed(error))?;
    let made = tantivy::Index::create_in_dir(&folder, fields.schema.clone());
    let made = made.map_err(|error| index.words_failed(error))?;
    Fields::register(&made);
    Ok(made)
}
