//! Vectors in a file. Each is stored under the hash of its text, so a text that
//! moves, or comes back, needs no new one.
//!
//! The file only grows, a batch at a time, and each batch has a checksum: a
//! batch that a killed process left unfinished is not read, and the next one
//! overwrites it. Concurrent readers see whole batches only.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::neighbours::Neighbours;
use super::quantised::Quantised;

/// The name of the file in its folder.
const FILE: &str = "vectors";
/// The name of the new file while it is written.
const NEW_FILE: &str = "vectors.new";
/// The first bytes of the file. The last one is the version of the format.
const MAGIC: [u8; 8] = *b"ptkvec\0\x01";
/// The length of the hash of an embedder's name, in bytes.
const HASH: usize = 32;
/// The length of a checksum, in bytes.
const CHECKSUM: usize = 8;
/// The most vectors in a batch on disk. Larger ones are split.
const MAX_BATCH: usize = 4096;
/// The most dimensions that are accepted.
const MAX_DIMENSIONS: usize = 8192;

/// An error of the file of vectors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VectorsError {
    /// The file cannot be read or written.
    #[error("the vectors in {} cannot be {doing}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was attempted.
        doing: &'static str,
        /// The cause.
        #[source]
        error: io::Error,
    },
    /// The number of dimensions is not supported.
    #[error("vectors of {0} dimensions cannot be kept; 1 to {MAX_DIMENSIONS} can")]
    Dimensions(usize),
}

/// The vectors of an embedder, stored in a folder. Only one process may write
/// at a time; the caller ensures that.
///
/// ```
/// use ptk_search::dense::Vectors;
///
/// let folder = tempfile::tempdir()?;
/// let mut vectors = Vectors::open(folder.path(), "some model", 3)?;
/// vectors.append(&[(7, vec![1.0, 0.0, 0.0]), (8, vec![0.0, 1.0, 0.0])])?;
/// vectors.sync()?;
///
/// let vectors = Vectors::open(folder.path(), "some model", 3)?;
/// assert!(vectors.contains(7) && !vectors.contains(9));
/// // The texts of 7 and 8 are in places 70 and 80.
/// let neighbours = vectors.neighbours([(7, 70), (8, 80), (9, 90)]);
/// let nearest = neighbours.nearest(&[0.1, 0.9, 0.0], 1, None);
/// assert_eq!(nearest[0].0, 80);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Vectors {
    path: PathBuf,
    header: Vec<u8>,
    rows: HashMap<u64, usize>,
    quantised: Quantised,
    /// The offset of the next batch; `None` if the file has to be rewritten.
    end: Option<u64>,
    /// The file, once it was written to.
    file: Option<File>,
}

impl Vectors {
    /// Opens the vectors in this folder. There are none if the file is missing,
    /// or has vectors of another embedder; then the next write replaces it.
    ///
    /// # Errors
    ///
    /// If the file exists and cannot be read.
    pub fn open(folder: &Path, embedder: &str, dimensions: usize) -> Result<Self, VectorsError> {
        if !(1..=MAX_DIMENSIONS).contains(&dimensions) {
            return Err(VectorsError::Dimensions(dimensions));
        }
        let path = Self::file(folder);
        let mut vectors = Self {
            header: header(embedder, dimensions),
            rows: HashMap::new(),
            quantised: Quantised::new(dimensions),
            end: None,
            file: None,
            path,
        };
        let read = vectors.read();
        read.map_err(|error| vectors.failed("read", error))?;
        Ok(vectors)
    }

    /// The path of the file in a folder.
    pub(crate) fn file(folder: &Path) -> PathBuf {
        folder.join(FILE)
    }

    /// The number of vectors.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no vectors.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether there is a vector under this key.
    #[must_use]
    pub fn contains(&self, key: u64) -> bool {
        self.rows.contains_key(&key)
    }

    /// Adds vectors. Those under existing keys are ignored.
    ///
    /// # Errors
    ///
    /// If the file cannot be written. The existing vectors are kept.
    pub fn append(&mut self, batch: &[(u64, Vec<f32>)]) -> Result<(), VectorsError> {
        let mut seen = HashSet::new();
        let new = batch
            .iter()
            .filter(|(key, _)| !self.contains(*key) && seen.insert(*key));
        let new: Vec<&(u64, Vec<f32>)> = new.collect();
        for batch in new.chunks(MAX_BATCH) {
            let mut quantised = Quantised::new(self.quantised.dimensions());
            for (_, vector) in batch {
                quantised.push(vector);
            }
            let keys = batch.iter().map(|(key, _)| *key);
            let rows: Vec<_> = keys.zip(quantised.iter()).collect();
            let bytes = written(&rows);
            let put = self.put(&bytes);
            put.map_err(|error| self.failed("written", error))?;
            for (key, (scale, values)) in rows {
                self.take(key, scale, values.iter().copied());
            }
        }
        Ok(())
    }

    /// Waits until all added vectors are on the disk.
    ///
    /// # Errors
    ///
    /// If they cannot be written.
    pub fn sync(&self) -> Result<(), VectorsError> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        file.sync_data()
            .map_err(|error| self.failed("written", error))
    }

    /// Removes all vectors but those under these keys, by a new file that
    /// replaces the old one once it is complete.
    ///
    /// # Errors
    ///
    /// If the new file cannot be written. Then the old one stays.
    pub fn compact(&mut self, live: &HashSet<u64>) -> Result<(), VectorsError> {
        let mut kept = Self {
            path: self.path.clone(),
            header: self.header.clone(),
            rows: HashMap::new(),
            quantised: Quantised::new(self.quantised.dimensions()),
            end: None,
            file: None,
        };
        for (key, scale, values) in self.rows().filter(|(key, ..)| live.contains(key)) {
            kept.take(key, scale, values.iter().copied());
        }
        let written = kept.write_anew();
        written.map_err(|error| self.failed("written", error))?;
        *self = kept;
        Ok(())
    }

    /// The vectors that have a place, ready to be searched. A key may have
    /// several places; keys without a vector are ignored.
    #[must_use]
    pub fn neighbours(&self, places: impl IntoIterator<Item = (u64, u64)>) -> Neighbours {
        let mut found = Vec::new();
        let mut vectors = Quantised::new(self.quantised.dimensions());
        for (key, place) in places {
            let row = self.rows.get(&key);
            if let Some((scale, values)) = row.and_then(|row| self.quantised.get(*row)) {
                vectors.push_kept(scale, values.iter().copied());
                found.push(place);
            }
        }
        Neighbours::new(found, vectors)
    }

    /// All vectors, in the order in which they were added.
    fn rows(&self) -> impl Iterator<Item = (u64, f32, &[i8])> {
        let mut rows: Vec<(usize, u64)> = self.rows.iter().map(|(key, row)| (*row, *key)).collect();
        rows.sort_unstable();
        rows.into_iter().filter_map(|(row, key)| {
            let (scale, values) = self.quantised.get(row)?;
            Some((key, scale, values))
        })
    }

    fn take(&mut self, key: u64, scale: f32, values: impl Iterator<Item = i8>) {
        self.rows.insert(key, self.quantised.len());
        self.quantised.push_kept(scale, values);
    }

    /// Reads all complete batches.
    fn read(&mut self) -> io::Result<()> {
        let file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            file => file?,
        };
        let mut from = BufReader::with_capacity(1 << 20, file);
        let mut header = vec![0; self.header.len()];
        if !filled(&mut from, &mut header)? || header != self.header {
            return Ok(());
        }
        let mut end = self.header.len() as u64;
        let row = row_length(self.quantised.dimensions());
        while let Some(rows) = batch(&mut from, row)? {
            end += (size_of::<u32>() + rows.len() + CHECKSUM) as u64;
            for row in rows.chunks_exact(row) {
                let Some((key, row)) = row.split_first_chunk() else {
                    continue;
                };
                let Some((scale, values)) = row.split_first_chunk() else {
                    continue;
                };
                let scale = f32::from_le_bytes(*scale);
                let values = values.iter().map(|byte| byte.cast_signed());
                self.take(u64::from_le_bytes(*key), scale, values);
            }
        }
        self.end = Some(end);
        Ok(())
    }

    /// Writes a batch after the last complete one.
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(end) = self.end else {
            self.write_anew()?;
            return self.put(bytes);
        };
        let mut file = match self.file.take() {
            Some(file) => file,
            None => OpenOptions::new().write(true).open(&self.path)?,
        };
        file.seek(SeekFrom::Start(end))?;
        // Anything after it was left by a process that has ended.
        file.set_len(end)?;
        file.write_all(bytes)?;
        self.end = Some(end + bytes.len() as u64);
        self.file = Some(file);
        Ok(())
    }

    /// Writes everything to a new file, which replaces the old one.
    fn write_anew(&mut self) -> io::Result<()> {
        let path = self.path.with_file_name(NEW_FILE);
        let mut to = BufWriter::new(ptk_sandbox::create_private(&path)?);
        to.write_all(&self.header)?;
        let mut end = self.header.len() as u64;
        let rows: Vec<_> = self
            .rows()
            .map(|(key, scale, values)| (key, (scale, values)))
            .collect();
        for batch in rows.chunks(MAX_BATCH) {
            let bytes = written(batch);
            to.write_all(&bytes)?;
            end += bytes.len() as u64;
        }
        drop(rows);
        let file = to.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        fs::rename(&path, &self.path)?;
        if let Some(folder) = self.path.parent() {
            File::open(folder)?.sync_all()?;
        }
        (self.end, self.file) = (Some(end), Some(file));
        Ok(())
    }

    fn failed(&self, doing: &'static str, error: io::Error) -> VectorsError {
        VectorsError::Io {
            path: self.path.clone(),
            doing,
            error,
        }
    }
}

/// The first bytes of the file of an embedder.
fn header(embedder: &str, dimensions: usize) -> Vec<u8> {
    let mut header = Vec::with_capacity(MAGIC.len() + size_of::<u64>() + HASH);
    header.extend(MAGIC);
    header.extend((dimensions as u64).to_le_bytes());
    header.extend(blake3::hash(embedder.as_bytes()).as_bytes());
    header
}

/// The length of a vector with its key and scale, in bytes.
const fn row_length(dimensions: usize) -> usize {
    size_of::<u64>() + size_of::<f32>() + dimensions
}

/// A batch as it is stored: the count, the vectors, and a checksum.
fn written(rows: &[(u64, (f32, &[i8]))]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let count = u32::try_from(rows.len()).unwrap_or(u32::MAX);
    bytes.extend(count.to_le_bytes());
    for (key, (scale, values)) in rows {
        bytes.extend(key.to_le_bytes());
        bytes.extend(scale.to_le_bytes());
        bytes.extend(values.iter().map(|value| value.cast_unsigned()));
    }
    let sum = blake3::hash(&bytes);
    bytes.extend(sum.as_bytes().iter().take(CHECKSUM));
    bytes
}

/// Reads the next batch, if it is complete.
fn batch(from: &mut impl Read, row: usize) -> io::Result<Option<Vec<u8>>> {
    let mut count = [0; size_of::<u32>()];
    if !filled(from, &mut count)? {
        return Ok(None);
    }
    let rows = usize::try_from(u32::from_le_bytes(count)).unwrap_or(usize::MAX);
    if rows == 0 || rows > MAX_BATCH {
        return Ok(None);
    }
    let mut bytes = vec![0; rows * row];
    let mut sum = [0; CHECKSUM];
    if !filled(from, &mut bytes)? || !filled(from, &mut sum)? {
        return Ok(None);
    }
    let mut hasher = blake3::Hasher::new();
    let hash = hasher.update(&count).update(&bytes).finalize();
    Ok(hash.as_bytes().starts_with(&sum).then_some(bytes))
}

/// Fills the buffer; false if there is not enough data.
fn filled(from: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(bytes) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| true),
    }
}
