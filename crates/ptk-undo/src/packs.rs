//! Packs: what commands were about to change, in one file for each command, and
//! where each content lies in it. A pack is removed with the call that it
//! belongs to.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::state::Content;

/// The suffix of the file with the index of a pack.
const INDEX: &str = ".index";

/// The folder with the packs.
#[derive(Debug)]
pub(crate) struct Packs {
    folder: PathBuf,
    known: Mutex<Known>,
}

/// The indexes that were read.
#[derive(Debug, Default)]
struct Known {
    packs: HashSet<String>,
    contents: HashMap<Content, (String, u64)>,
}

/// A content, and where it begins in the pack.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Packed {
    pub(crate) hash: [u8; 32],
    pub(crate) size: u64,
    pub(crate) start: u64,
}

impl Packs {
    pub(crate) fn at(folder: PathBuf) -> Self {
        Self {
            folder,
            known: Mutex::default(),
        }
    }

    /// The path of a call's pack.
    pub(crate) fn of(&self, entry: &str) -> PathBuf {
        self.folder.join(entry)
    }

    /// Writes the index of a call's pack.
    pub(crate) fn index(&self, entry: &str, contents: &[Packed]) -> io::Result<()> {
        let bytes = postcard::to_stdvec(contents).map_err(io::Error::other)?;
        let index = self.folder.join(format!("{entry}{INDEX}"));
        ptk_sandbox::write_private(&index, bytes)
    }

    /// Removes the pack of a call.
    pub(crate) fn remove(&self, entry: &str) -> io::Result<()> {
        for name in [entry.to_owned(), format!("{entry}{INDEX}")] {
            match fs::remove_file(self.folder.join(name)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed?,
            }
        }
        Ok(())
    }

    /// The pack that has a content, and where it begins there.
    pub(crate) fn find(&self, content: &Content) -> Option<(PathBuf, u64)> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contents.contains_key(content) {
            self.learn(&mut known).ok()?;
        }
        let (entry, start) = known.contents.get(content)?;
        let pack = self.of(entry);
        pack.exists().then_some((pack, *start))
    }

    /// Reads the indexes that are not known yet.
    fn learn(&self, known: &mut Known) -> io::Result<()> {
        for file in fs::read_dir(&self.folder)? {
            let file = file?;
            let Ok(name) = file.file_name().into_string() else {
                continue;
            };
            let Some(entry) = name.strip_suffix(INDEX) else {
                continue;
            };
            if !known.packs.insert(entry.to_owned()) {
                continue;
            }
            // An index that is damaged, or of a later version, is ignored.
            let packed: Vec<Packed> =
                postcard::from_bytes(&fs::read(file.path())?).unwrap_or_default();
            for Packed { hash, size, start } in packed {
                let content = Content { hash, size };
                known.contents.insert(content, (entry.to_owned(), start));
            }
        }
        Ok(())
    }

    /// The calls that have a pack, and how many bytes these take.
    pub(crate) fn sizes(&self) -> io::Result<HashMap<String, u64>> {
        let mut sizes: HashMap<String, u64> = HashMap::new();
        for file in fs::read_dir(&self.folder)? {
            let file = file?;
            if let Ok(name) = file.file_name().into_string() {
                let entry = name.strip_suffix(INDEX).unwrap_or(&name);
                *sizes.entry(entry.to_owned()).or_default() += file.metadata()?.len();
            }
        }
        Ok(sizes)
    }
}
