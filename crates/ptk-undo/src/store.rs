//! The folder in which everything is kept for one workspace.
//!
//! ```text
//! journal.jsonl   what calls were about to do, and what they have done
//! lock            held while the journal is written
//! undoing         held while calls are undone
//! sweep           shared by whoever keeps contents, held alone by the sweeper
//! content/        contents by their hash
//! trees/          the workspace as it was before a command
//! packs/          what commands were about to change, a file for each
//! layers/         what commands under way have changed
//! torn/           what could be neither brought in nor taken back
//! open/           a file for each call under way, locked by its process
//! ```

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ptk_sandbox::{Moment, Workspace, private_file, private_folder, read_exact_at, write_private};

use crate::content::Contents;
use crate::journal::{self, Line, Record, Watched};
use crate::packs::Packs;
use crate::system;
use crate::tree::moment;
use crate::{Options, UndoError};

/// The folder of what commands were about to change.
const PACKS: &str = "packs";
/// The folder of what commands under way have changed.
pub(crate) const LAYERS: &str = "layers";

/// The most that is read of a journal.
const MAX_JOURNAL: u64 = 1024 * 1024 * 1024;

/// How long is waited for the programs of a process that was killed. They are
/// killed too, which takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long is waited until the changes of an ended call are in the journal.
/// Only very large files take longer than milliseconds.
const SETTLING: Duration = Duration::from_secs(60);

/// The folder of one workspace.
#[derive(Debug)]
pub(crate) struct Store {
    folder: PathBuf,
    pub(crate) contents: Contents,
    pub(crate) options: Options,
}

/// How often a process renews its sign of life.
const PULSE: Duration = Duration::from_secs(1);
/// How long after the last sign of life a process may have worked on, and what
/// it had started.
const AFTERWARDS: Duration = Duration::from_secs(3);

/// The mark behind the number of a process whose call has ended.
const SETTLES: &[u8] = b" settles";

/// A call under way; the file is locked as long as this lives.
#[derive(Debug)]
pub(crate) struct UnderWay {
    path: PathBuf,
    file: File,
    /// Ends the signs of life when it is dropped.
    _pulse: Option<mpsc::Sender<()>>,
}

impl UnderWay {
    /// The path of the locked file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn new(path: PathBuf, file: File) -> Self {
        let (pulse, ended) = mpsc::channel();
        let beat = file.try_clone().and_then(|file| {
            std::thread::Builder::new().spawn(move || {
                while ended.recv_timeout(PULSE) == Err(RecvTimeoutError::Timeout) {
                    let _ = file.set_modified(SystemTime::now());
                }
            })
        });
        Self {
            path,
            file,
            // Without it, what changes later counts as the call's own.
            _pulse: beat.ok().map(|_| pulse),
        }
    }

    /// The time after which nothing of the call can have run.
    pub(crate) fn last_seen(&self) -> Option<Moment> {
        let seen = fs::metadata(&self.path).and_then(|it| it.modified()).ok()?;
        Some(moment(seen + AFTERWARDS))
    }

    /// Marks that the call has ended, but is not in the journal yet: other
    /// calls wait for that.
    pub(crate) fn settles(&self) {
        let mut file = &self.file;
        // Without it, other calls miss it for some milliseconds.
        let _ = file
            .seek(SeekFrom::End(0))
            .and_then(|_| file.write_all(SETTLES));
    }

    /// Whether the call has ended, but is not in the journal yet.
    pub(crate) fn is_settling(&self) -> bool {
        is_settling(&self.path)
    }

    /// Removes the file, since the call has ended and is in the journal.
    pub(crate) fn ended(self) {
        // A file that is left is removed by the next process that finds it.
        let _ = fs::remove_file(&self.path);
    }
}

impl Store {
    /// Opens the folder, and creates it where it is missing.
    pub(crate) fn open(workspace: &Workspace, options: &Options) -> Result<Self, UndoError> {
        let root = workspace.root();
        let folder = options.folder_of(root).ok_or(UndoError::NoFolder)?;
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        private_folder(&folder).map_err(|error| UndoError::store(&folder, error))?;
        let real = folder
            .canonicalize()
            .map_err(|error| UndoError::store(&folder, error))?;
        if real.starts_with(root) {
            return Err(UndoError::Inside { folder });
        }
        let store = Self {
            contents: Contents::at(folder.join("content"), Packs::at(folder.join(PACKS))),
            options: options.clone(),
            folder,
        };
        store.prepare(root).map_err(|error| store.failed(error))?;
        Ok(store)
    }

    fn prepare(&self, root: &Path) -> io::Result<()> {
        for name in ["content", "trees", "open", PACKS, LAYERS] {
            private_folder(&self.folder.join(name))?;
        }
        let name = self.folder.join("workspace");
        if !name.exists() {
            write_private(&name, root.as_os_str().as_encoded_bytes())?;
        }
        Ok(())
    }

    pub(crate) fn failed(&self, error: io::Error) -> UndoError {
        UndoError::store(&self.folder, error)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn lock_file(&self, name: &str) -> io::Result<File> {
        let mut options = private_file();
        options.write(true).create(true).truncate(false);
        options.open(self.folder.join(name))
    }

    /// Locks the journal: no other process writes it while the file is open.
    pub(crate) fn lock(&self) -> io::Result<File> {
        let file = self.lock_file("lock")?;
        file.lock()?;
        Ok(file)
    }

    /// Keeps contents from being collected while the file is open.
    pub(crate) fn keep_all(&self) -> io::Result<File> {
        let file = self.lock_file("sweep")?;
        file.lock_shared()?;
        Ok(file)
    }

    /// Locks undoing: no other process undoes anything while the file is open.
    pub(crate) fn undoing(&self) -> io::Result<File> {
        let file = self.lock_file("undoing")?;
        file.lock()?;
        Ok(file)
    }

    /// Locks collection: no new contents are kept while the file is open;
    /// `None` if some are being kept.
    pub(crate) fn sweep(&self) -> io::Result<Option<File>> {
        let file = self.lock_file("sweep")?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn journal(&self) -> PathBuf {
        self.folder.join("journal.jsonl")
    }

    /// Adds a line to the journal, synced to the disk if it is a beginning.
    /// Returns how long the journal is now.
    pub(crate) fn append(&self, line: &Line) -> io::Result<u64> {
        let _lock = self.lock()?;
        self.append_locked(line)
    }

    /// Adds a line to the journal, for a caller that holds the lock.
    pub(crate) fn append_locked(&self, line: &Line) -> io::Result<u64> {
        let mut options = private_file();
        options.read(true).append(true).create(true);
        let mut file = options.open(self.journal())?;
        let mut text = Vec::new();
        if ends_torn(&file)? {
            text.push(b'\n');
        }
        serde_json::to_writer(&mut text, line)?;
        text.push(b'\n');
        let length = file.metadata()?.len();
        if let Err(error) = file.write_all(&text) {
            // Half a line is of no use, and the disk may be full.
            let _ = file.set_len(length);
            return Err(error);
        }
        // A loss of power may take an end away: it is found out again. What a
        // call is about to do to files has to last.
        let is_about_to = match line {
            // Of these, what they change follows from what is not on the disk yet.
            Line::Begin(begin) => !matches!(begin.watch, Watched::Layers | Watched::Recorded),
            Line::Apply(_) => true,
            Line::End(_) => false,
        };
        if is_about_to {
            file.sync_data()?;
        }
        Ok(file.metadata()?.len())
    }

    /// How long the journal is.
    pub(crate) fn length(&self) -> u64 {
        fs::metadata(self.journal()).map_or(0, |journal| journal.len())
    }

    /// All calls, in the order in which they ended.
    pub(crate) fn records(&self) -> io::Result<Vec<Record>> {
        let file = match File::open(self.journal()) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut text = Vec::new();
        io::Read::read_to_end(&mut io::Read::take(file, MAX_JOURNAL), &mut text)?;
        Ok(journal::read(&text))
    }

    /// Rewrites the journal, for a caller that holds the lock.
    pub(crate) fn rewrite_locked(&self, lines: &[Line]) -> io::Result<()> {
        let mut text = Vec::new();
        for line in lines {
            serde_json::to_writer(&mut text, line)?;
            text.push(b'\n');
        }
        self.write("journal.jsonl", &text)
    }

    /// Writes a whole file in one step, its content down to the disk.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.folder.join(name);
        let folder = path.parent().unwrap_or(&self.folder);
        let mut new = tempfile::NamedTempFile::new_in(folder)?;
        new.write_all(bytes)?;
        new.as_file().sync_data()?;
        new.persist(&path).map_err(|error| error.error)?;
        Ok(())
    }

    /// Marks a call as under way. The lock is shared with the helpers that
    /// start its programs: if this process is killed, the call has ended when
    /// they have.
    pub(crate) fn under_way(&self, entry: &str) -> io::Result<UnderWay> {
        let path = self.folder.join("open").join(entry);
        let new = self.folder.join(entry);
        write_private(&new, std::process::id().to_string())?;
        let file = OpenOptions::new().write(true).open(&new)?;
        file.lock_shared()?;
        // It is locked before it can be found.
        fs::rename(&new, &path)?;
        Ok(UnderWay::new(path, file))
    }

    /// Takes over calls whose process is gone. What such a process has started
    /// is given a moment to end.
    pub(crate) fn abandoned(&self) -> io::Result<Vec<(String, UnderWay)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(self.folder.join("open"))?.flatten() {
            let path = entry.path();
            let Ok(file) = File::open(&path) else {
                continue;
            };
            let name = entry.file_name().into_string();
            if let (true, Ok(name)) = (is_abandoned(&path, &file), name) {
                let under_way = UnderWay {
                    path,
                    file,
                    _pulse: None,
                };
                found.push((name, under_way));
            }
        }
        Ok(found)
    }

    /// The calls that other processes have under way, or other calls here.
    pub(crate) fn running(&self) -> io::Result<Vec<String>> {
        let all = fs::read_dir(self.folder.join("open"))?.flatten();
        let running =
            all.filter(|entry| File::open(entry.path()).is_ok_and(|file| file.try_lock().is_err()));
        Ok(running
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect())
    }
}

/// Whether a call has no process any more. Takes its lock. One that has ended
/// is waited for until it is in the journal.
fn is_abandoned(path: &Path, file: &File) -> bool {
    let start = Instant::now();
    while file.try_lock().is_err() {
        let patience = match (is_alive(path), is_settling(path)) {
            (true, false) => return false,
            (true, true) => SETTLING,
            (false, _) => PATIENCE,
        };
        if start.elapsed() > patience {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    true
}

/// Whether the process that made a call lives.
fn is_alive(path: &Path) -> bool {
    let text = fs::read_to_string(path).unwrap_or_default();
    let pid = text.split(' ').next().and_then(|pid| pid.parse().ok());
    pid.is_some_and(system::is_process)
}

fn is_settling(path: &Path) -> bool {
    fs::read(path).is_ok_and(|text| text.ends_with(SETTLES))
}

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

/// Whether the last line was torn off.
fn ends_torn(file: &File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        read_exact_at(file, &mut last, length - 1)?;
    }
    Ok(last != [b'\n'])
}
