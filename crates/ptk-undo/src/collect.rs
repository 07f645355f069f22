//! Keeping the store small: old calls are forgotten, and contents that are not
//! needed any more are removed with them.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Write as _};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::journal::{Line, Record, Watched};
use crate::state::Content;
use crate::store::{Store, now};

/// The file that holds how much is kept, as far as that is known.
const USAGE: &str = "usage";
/// The least length of the file of usage.
const USAGE_LENGTH: usize = 80;
/// How often old calls are looked for.
const EVERY: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Usage {
    /// Bytes of contents, trees and the journal.
    bytes: u64,
    /// When it was last collected, in milliseconds since 1970.
    collected: u64,
}

impl Store {
    fn usage(&self) -> Usage {
        let text = fs::read(self.path(USAGE)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Writes the usage over the old one: a file that is truncated first is
    /// brought to the disk at once.
    fn set_usage(&self, usage: Usage) -> io::Result<()> {
        let mut text = serde_json::to_vec(&usage)?;
        text.resize(text.len().max(USAGE_LENGTH), b' ');
        let mut options = ptk_sandbox::private_file();
        options.write(true).create(true).truncate(false);
        options.open(self.path(USAGE))?.write_all(&text)
    }

    /// Counts bytes that were added. The count is rough; collecting counts
    /// again.
    pub(crate) fn added(&self, bytes: u64) {
        if bytes > 0 {
            let mut usage = self.usage();
            usage.bytes = usage.bytes.saturating_add(bytes);
            // If it fails, only the next collection comes later.
            let _ = self.set_usage(usage);
        }
    }

    /// Collects if there is too much, or it was not done for long. A failure
    /// loses nothing: it is tried again with the next call.
    pub(crate) fn collect_if_due(&self) {
        let usage = self.usage();
        let every = u64::try_from(EVERY.as_millis()).unwrap_or(u64::MAX);
        let is_due = usage.bytes > self.options.most_bytes()
            || now().saturating_sub(usage.collected) > every;
        if is_due && let Err(error) = self.collect() {
            tracing::warn!(%error, "what undo keeps could not be collected");
        }
    }

    /// Forgets what is too old or too much.
    pub(crate) fn collect(&self) -> io::Result<()> {
        let Some(_alone) = self.sweep()? else {
            return Ok(());
        };
        let _lock = self.lock()?;
        let mut records = self.records()?;
        let oldest = u64::try_from(self.options.longest().as_millis()).unwrap_or(u64::MAX);
        let oldest = now().saturating_sub(oldest);
        let known = records.len();
        records.retain(|it| it.end.as_ref().is_none_or(|end| end.at >= oldest));
        let contents = self.kept()?;
        let mut always = HashSet::new();
        let trees = self.needed_trees(&records);
        for name in &trees {
            if let Ok(tree) = self.load_tree(name) {
                always.extend(tree.contents().map(|content| content.name()));
            }
        }
        let packs = self.contents.packs.sizes()?;
        let dropped = self.oldest_dropped(&mut records, &contents, &packs, &always);
        if dropped || records.len() < known {
            self.rewrite_locked(&lines(&records))?;
        }
        let mut needed = always;
        needed.extend(records.iter().flat_map(needs).map(|it| it.name()));
        let mut bytes = self.length();
        for (name, size) in &contents {
            if needed.contains(name) {
                bytes += size;
            } else {
                fs::remove_file(self.contents.folder().join(name))?;
            }
        }
        for (entry, size) in &packs {
            if records.iter().any(|record| record.begin.entry == *entry) {
                bytes += size;
            } else {
                self.contents.packs.remove(entry)?;
            }
        }
        bytes += self.remove_trees(&trees)?;
        self.set_usage(Usage {
            bytes,
            collected: now(),
        })
    }

    /// Everything in the folder of contents, and its size.
    fn kept(&self) -> io::Result<HashMap<String, u64>> {
        let mut kept = HashMap::new();
        for entry in fs::read_dir(self.contents.folder())? {
            let entry = entry?;
            if let Ok(name) = entry.file_name().into_string() {
                kept.insert(name, entry.metadata()?.len());
            }
        }
        Ok(kept)
    }

    /// The tree that was saved last, and those of calls under way.
    fn needed_trees(&self, records: &[Record]) -> HashSet<String> {
        let open = records.iter().filter(|record| record.end.is_none());
        let mut names: HashSet<String> = open
            .filter_map(|record| match &record.begin.watch {
                Watched::Tree(name) => Some(name.clone()),
                _ => None,
            })
            .collect();
        names.extend(self.last_tree_name());
        names
    }

    /// Removes all other trees; returns how many bytes are left.
    fn remove_trees(&self, needed: &HashSet<String>) -> io::Result<u64> {
        let mut bytes = 0;
        for entry in fs::read_dir(self.path("trees"))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name != "last" && !needed.contains(&name) {
                fs::remove_file(entry.path())?;
            } else {
                bytes += entry.metadata()?.len();
            }
        }
        Ok(bytes)
    }

    /// Drops the oldest calls until the others fit. The newest stays.
    fn oldest_dropped(
        &self,
        records: &mut Vec<Record>,
        kept: &HashMap<String, u64>,
        packs: &HashMap<String, u64>,
        always: &HashSet<String>,
    ) -> bool {
        let size = |name: &str| kept.get(name).copied().unwrap_or_default();
        let most = self.options.most_bytes();
        let mut needed = always.clone();
        let mut bytes: u64 = always.iter().map(|name| size(name)).sum();
        let mut first_kept = 0;
        for (at, record) in records.iter().enumerate().rev() {
            let new: HashSet<String> = needs(record)
                .map(|content| content.name())
                .filter(|name| !needed.contains(name))
                .collect();
            let pack = packs.get(&record.begin.entry).copied().unwrap_or_default();
            bytes = bytes.saturating_add(new.iter().map(|name| size(name)).sum());
            bytes = bytes.saturating_add(pack);
            let is_newest = at + 1 == records.len();
            if bytes > most && record.end.is_some() && !is_newest {
                first_kept = at + 1;
                break;
            }
            needed.extend(new);
        }
        records.drain(..first_kept);
        first_kept > 0
    }
}

/// The contents that a call needs to be undone, and redone.
fn needs(record: &Record) -> impl Iterator<Item = Content> {
    let steps = match &record.begin.watch {
        Watched::Undo { steps, .. } if record.end.is_none() => steps.as_slice(),
        _ => &[],
    };
    let seen = match &record.begin.watch {
        Watched::Places(seen) if record.end.is_none() => seen.as_slice(),
        _ => &[],
    };
    let changes = record.changes().iter().chain(steps);
    changes
        .flat_map(|change| [change.before.content(), change.after.content()])
        .chain(seen.iter().map(|seen| seen.state.content()))
        .flatten()
}

fn lines(records: &[Record]) -> Vec<Line> {
    let lines = records.iter().flat_map(|record| {
        let end = record.end.clone().map(Line::End);
        // What was applied stands in the end, too.
        let apply = record.apply.clone().filter(|_| end.is_none());
        let begin = Line::Begin(record.begin.clone());
        [Some(begin), apply.map(Line::Apply), end]
    });
    lines.flatten().collect()
}
