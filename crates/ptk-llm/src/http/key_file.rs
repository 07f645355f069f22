//! Keys in a file that only its owner can read: a JSON object with the names of
//! services and their keys.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{Key, Service};

/// How long the file may be, in bytes. Keys have some hundred bytes each.
const MAX_LENGTH: u64 = 1 << 20;

/// The file in which keys are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFile {
    path: PathBuf,
}

/// Why the key file could not be used. No message holds anything of a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyFileError {
    /// Other users may read or change the file.
    #[error(
        "{} is open to other users, so its keys are not used; run `chmod 600 {}`",
        path.display(),
        quoted(path)
    )]
    OpenToOthers {
        /// The file.
        path: PathBuf,
    },
    /// A folder or something else is in its place.
    #[error("{} is not a file; move it away, and store the keys again", path.display())]
    NotAFile {
        /// The file.
        path: PathBuf,
    },
    /// The file is a link. What it leads to could be read while it is replaced.
    #[error(
        "{} is a link; keep the keys in a file of their own: remove the link, and store them again",
        path.display()
    )]
    Link {
        /// The file.
        path: PathBuf,
    },
    /// The file is too long to hold keys.
    #[error(
        "{} is longer than {MAX_LENGTH} bytes; move it away, and store the keys again",
        path.display()
    )]
    TooLong {
        /// The file.
        path: PathBuf,
    },
    /// The content is not a JSON object.
    #[error(
        "{} is not a JSON object with names of services and keys (line {line}, column {column}); \
         correct it, or move it away and store the keys again",
        path.display()
    )]
    NotJson {
        /// The file.
        path: PathBuf,
        /// The line with the mistake.
        line: usize,
        /// The column in it.
        column: usize,
    },
    /// The key of a service is not a text.
    #[error(
        "the key of {service} in {} is not a text; store it again with `ptk keys set {service}`",
        path.display()
    )]
    NotText {
        /// The file.
        path: PathBuf,
        /// The service.
        service: &'static str,
    },
    /// The file cannot be read.
    #[error(
        "cannot read {}: {source}; make it yours alone with `chmod 600 {}`, or move it away",
        path.display(),
        quoted(path)
    )]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file cannot be written. It is as it was.
    #[error(
        "cannot write {}: {source}; its keys are unchanged, so mend that and try again",
        path.display()
    )]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl KeyFile {
    /// The user's own file: `ptk/keys.json` in the folder that
    /// `XDG_CONFIG_HOME` names, or in `~/.config`; on Windows in the one that
    /// `APPDATA` names. `None` where the user has no such folder.
    #[must_use]
    pub fn of_user() -> Option<Self> {
        let folder = config_home()?;
        Some(Self::at(folder.join("ptk").join("keys.json")))
    }

    /// The file at this path. It need not exist.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The key of a service, if there is one.
    ///
    /// # Errors
    ///
    /// If the file is open to others, cannot be read, or does not hold keys.
    pub fn get(&self, service: &Service) -> Result<Option<Key>, KeyFileError> {
        match self.read()?.get(service.account()) {
            None => Ok(None),
            Some(Value::String(key)) => Ok(Key::new(key)),
            Some(_) => Err(KeyFileError::NotText {
                path: self.path.clone(),
                service: service.account(),
            }),
        }
    }

    /// Stores the key of a service. Everything else in the file stays.
    ///
    /// # Errors
    ///
    /// If the file cannot be used, or cannot be written. It is then as it was.
    pub fn set(&self, service: &Service, key: &Key) -> Result<(), KeyFileError> {
        let (name, key) = (service.account().to_owned(), key.as_str());
        self.change(|keys| keys.insert(name, key.into()))?;
        Ok(())
    }

    /// Removes the key of a service, and returns whether there was one.
    ///
    /// # Errors
    ///
    /// If the file cannot be used, or cannot be written. It is then as it was.
    pub fn remove(&self, service: &Service) -> Result<bool, KeyFileError> {
        if !self.read()?.contains_key(service.account()) {
            return Ok(false);
        }
        let removed = self.change(|keys| keys.remove(service.account()))?;
        Ok(removed.is_some())
    }

    /// Another secret than the key of a service, under a name that no service
    /// has.
    ///
    /// # Errors
    ///
    /// As for [`KeyFile::get`].
    pub fn secret(&self, name: &str) -> Result<Option<String>, KeyFileError> {
        let secret = self
            .read()?
            .get(name)
            .and_then(Value::as_str)
            .map(str::to_owned);
        Ok(secret)
    }

    /// Stores another secret, or removes it. Everything else in the file stays.
    ///
    /// # Errors
    ///
    /// As for [`KeyFile::set`].
    pub fn set_secret(&self, name: &str, secret: Option<&str>) -> Result<(), KeyFileError> {
        self.change(|keys| match secret {
            Some(secret) => keys.insert(name.to_owned(), secret.into()),
            None => keys.remove(name),
        })?;
        Ok(())
    }

    fn read(&self) -> Result<Map<String, Value>, KeyFileError> {
        let path = || self.path.clone();
        let failed = |source| KeyFileError::Read {
            path: path(),
            source,
        };
        // Looked at before it is opened: a pipe would be waited for.
        match fs::symlink_metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Map::new()),
            Err(error) => return Err(failed(error)),
            Ok(found) if found.is_symlink() => return Err(KeyFileError::Link { path: path() }),
            Ok(found) if !found.is_file() => return Err(KeyFileError::NotAFile { path: path() }),
            Ok(_) => {}
        }
        let file = File::open(&self.path).map_err(failed)?;
        if is_open_to_others(&file.metadata().map_err(failed)?) {
            return Err(KeyFileError::OpenToOthers { path: path() });
        }
        let mut text = Vec::new();
        let read = file.take(MAX_LENGTH + 1).read_to_end(&mut text);
        if read.map_err(failed)? as u64 > MAX_LENGTH {
            return Err(KeyFileError::TooLong { path: path() });
        }
        // The message of the error may quote a key.
        serde_json::from_slice(&text).map_err(|error| KeyFileError::NotJson {
            path: path(),
            line: error.line(),
            column: error.column(),
        })
    }

    /// Changes the file, one process after the other.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut Map<String, Value>) -> T,
    ) -> Result<T, KeyFileError> {
        let failed = |source| KeyFileError::Write {
            path: self.path.clone(),
            source,
        };
        // Until the end of the function.
        let _lock = self.lock().map_err(failed)?;
        let mut keys = self.read()?;
        let changed = change(&mut keys);
        let text = format!("{:#}\n", Value::Object(keys));
        if text.len() as u64 > MAX_LENGTH {
            return Err(KeyFileError::TooLong {
                path: self.path.clone(),
            });
        }
        replace(&self.path, text.as_bytes()).map_err(failed)?;
        Ok(changed)
    }

    fn lock(&self) -> io::Result<File> {
        let mut folder = DirBuilder::new();
        folder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
        folder.create(self.path.parent().unwrap_or(Path::new(".")))?;
        let mut options = private();
        let lock = options.create(true).truncate(false);
        let lock = lock.open(self.path.with_extension("lock"))?;
        lock.lock()?;
        Ok(lock)
    }
}

/// The folder with the user's configuration of programs.
fn config_home() -> Option<PathBuf> {
    let named = |variable: &str| std::env::var_os(variable).map(PathBuf::from);
    #[cfg(windows)]
    let folder = named("APPDATA");
    #[cfg(not(windows))]
    let folder = named("XDG_CONFIG_HOME")
        .filter(|folder| folder.is_absolute())
        .or_else(|| Some(std::env::home_dir()?.join(".config")));
    folder.filter(|folder| folder.is_absolute())
}

/// Options that make a file which only its owner can read and write.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(unix)]
fn is_open_to_others(file: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::mode(file) & 0o077 != 0
}

/// Files in `APPDATA` are open to their owner alone.
#[cfg(not(unix))]
fn is_open_to_others(_file: &fs::Metadata) -> bool {
    false
}

/// Replaces a file in one step, once the new content is on the disk.
///
/// The new file has a name of its own, not a random one: tools are kept from
/// reading it, and what was left behind when the power went is removed.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = path.with_file_name(format!(".{name}.ptk-new"));
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let written = write_new(&new, text).and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        // It is the first error that matters.
        let _ = fs::remove_file(&new);
    }
    written?;
    #[cfg(unix)]
    if let Some(folder) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
        // Some file systems cannot do that for folders. The keys are stored.
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
    Ok(())
}

fn write_new(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = private().create_new(true).open(path)?;
    // A file system without modes shows every file as open to all.
    if is_open_to_others(&file.metadata()?) {
        return Err(io::Error::other(
            "its file system cannot close a file to other users",
        ));
    }
    file.write_all(text)?;
    file.sync_all()
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    let quoted = shlex::try_quote(&path).map(std::borrow::Cow::into_owned);
    quoted.unwrap_or_else(|_| path.to_string())
}

#[cfg(test)]
mod tests {
    use std::thread;

    use tempfile::TempDir;

    use super::*;

    const SECRET: &str = "sk-secret-0123456789";

    fn service(name: &str) -> &'static Service {
        Service::named(name).unwrap()
    }

    fn key(text: &str) -> Key {
        Key::new(text).unwrap()
    }

    /// A key file in a folder that does not exist yet.
    fn new_file() -> (TempDir, KeyFile) {
        let folder = tempfile::tempdir().unwrap();
        let file = KeyFile::at(folder.path().join("config/ptk/keys.json"));
        (folder, file)
    }

    /// A key file with this content, which only its owner can read.
    fn file_with(content: &str) -> (TempDir, KeyFile) {
        let (folder, file) = new_file();
        fs::create_dir_all(file.path().parent().unwrap()).unwrap();
        write_new(file.path(), content.as_bytes()).unwrap();
        (folder, file)
    }

    fn names_in(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn a_key_is_stored_found_and_removed() {
        let (_folder, file) = new_file();
        let (groq, openai) = (service("groq"), service("openai"));
        assert_eq!(file.get(groq).unwrap(), None);
        assert!(!file.remove(groq).unwrap());
        assert!(!file.path().parent().unwrap().exists());

        file.set(groq, &key(SECRET)).unwrap();
        file.set(openai, &key("sk-other")).unwrap();
        assert_eq!(file.get(groq).unwrap(), Some(key(SECRET)));
        // Services that accept the same key share it.
        let shared = file.get(service("openai-responses")).unwrap();
        assert_eq!(shared, Some(key("sk-other")));

        assert!(file.remove(groq).unwrap());
        assert_eq!(file.get(groq).unwrap(), None);
        assert_eq!(file.get(openai).unwrap(), Some(key("sk-other")));
        let folder = file.path().parent().unwrap();
        assert_eq!(names_in(folder), ["keys.json", "keys.lock"]);
    }

    #[cfg(unix)]
    mod on_unix {
        use std::os::unix::fs::{PermissionsExt as _, symlink};

        use super::*;

        fn mode(path: &Path) -> u32 {
            fs::metadata(path).unwrap().permissions().mode() & 0o777
        }

        fn set_mode(path: &Path, mode: u32) {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }

        #[test]
        fn file_and_folder_are_their_owners_alone() {
            let (_folder, file) = new_file();
            file.set(service("groq"), &key(SECRET)).unwrap();
            file.set(service("groq"), &key("sk-other")).unwrap();
            assert_eq!(mode(file.path()), 0o600);
            assert_eq!(mode(file.path().parent().unwrap()), 0o700);
        }

        #[test]
        fn a_file_that_is_open_to_others_is_not_used() {
            let (_folder, file) = new_file();
            let groq = service("groq");
            file.set(groq, &key(SECRET)).unwrap();
            let content = fs::read(file.path()).unwrap();
            for open in [0o644, 0o640, 0o620, 0o601] {
                set_mode(file.path(), open);
                let path = file.path().to_owned();
                let advice = KeyFileError::OpenToOthers { path }.to_string();
                for error in [
                    file.get(groq).unwrap_err(),
                    file.set(groq, &key("sk-other")).unwrap_err(),
                    file.remove(groq).unwrap_err(),
                ] {
                    assert_eq!(error.to_string(), advice);
                }
                assert_eq!(fs::read(file.path()).unwrap(), content);
            }
            set_mode(file.path(), 0o400);
            assert_eq!(file.get(groq).unwrap(), Some(key(SECRET)));
        }

        #[test]
        fn the_advice_can_be_pasted_into_a_shell() {
            let path = PathBuf::from("/home/Ada L/keys.json");
            let error = KeyFileError::OpenToOthers { path }.to_string();
            assert!(
                error.contains("chmod 600 '/home/Ada L/keys.json'"),
                "{error}"
            );
        }

        #[test]
        fn a_link_is_neither_followed_nor_replaced() {
            let (folder, file) = file_with("{}");
            let (groq, real) = (service("groq"), folder.path().join("my-keys"));
            fs::rename(file.path(), &real).unwrap();
            symlink("../../my-keys", file.path()).unwrap();
            for error in [
                file.get(groq).unwrap_err(),
                file.set(groq, &key(SECRET)).unwrap_err(),
            ] {
                assert!(matches!(error, KeyFileError::Link { .. }), "{error}");
            }
            assert!(file.path().is_symlink());
            assert_eq!(fs::read_to_string(&real).unwrap(), "{}");
        }

        #[test]
        fn a_file_that_cannot_be_written_stays_as_it_was() {
            let (folder, file) = new_file();
            let groq = service("groq");
            file.set(groq, &key(SECRET)).unwrap();
            // In its place is a folder, so that not even root can write.
            let new = file.path().with_file_name(".keys.json.ptk-new");
            fs::create_dir(&new).unwrap();
            let error = file.set(groq, &key("sk-other")).unwrap_err().to_string();
            assert!(error.starts_with("cannot write") && error.contains("unchanged"));
            assert_eq!(file.get(groq).unwrap(), Some(key(SECRET)));

            let blocked = KeyFile::at(folder.path().join("config/ptk/keys.json/x/keys.json"));
            let error = blocked.set(groq, &key("sk-other")).unwrap_err();
            assert!(matches!(error, KeyFileError::Write { .. }), "{error}");
        }

        #[test]
        fn what_was_left_behind_is_cleared_away() {
            let (_folder, file) = file_with("{}");
            let left = file.path().with_file_name(".keys.json.ptk-new");
            fs::write(&left, "half a fi").unwrap();
            file.set(service("groq"), &key(SECRET)).unwrap();
            assert!(!left.exists());
            assert_eq!(mode(file.path()), 0o600);
        }
    }

    #[test]
    fn a_file_that_holds_no_keys_is_told_and_kept() {
        let long = format!("{{\"groq\": \"{}\"}}", "x".repeat(1 << 20));
        for (content, said) in [
            ("{\"groq\": \"sk-secret-0123456789\"", "not a JSON object"),
            ("\"sk-secret-0123456789\"", "not a JSON object"),
            ("[\"sk-secret-0123456789\"]", "line 1, column"),
            ("", "not a JSON object"),
            (&long, "longer than 1048576 bytes"),
        ] {
            let (_folder, file) = file_with(content);
            let groq = service("groq");
            for error in [
                file.get(groq).unwrap_err(),
                file.set(groq, &key("sk-other")).unwrap_err(),
                file.remove(groq).unwrap_err(),
            ] {
                let texts = format!("{error} {error:?}");
                assert!(texts.contains(said), "{texts}");
                assert!(!texts.contains(SECRET), "{texts}");
            }
            assert_eq!(fs::read_to_string(file.path()).unwrap(), content);
        }
    }

    #[test]
    fn a_folder_in_its_place_is_told() {
        let (_folder, file) = new_file();
        fs::create_dir_all(file.path()).unwrap();
        let error = file.set(service("groq"), &key(SECRET)).unwrap_err();
        assert!(error.to_string().contains("is not a file"), "{error}");
    }

    #[test]
    fn entries_that_are_not_known_are_kept() {
        let (_folder, file) = file_with(r#"{"mine": {"a": [1]}, "groq": 5}"#);
        let groq = service("groq");
        let error = file.get(groq).unwrap_err();
        assert!(error.to_string().contains("ptk keys set groq"), "{error}");
        file.set(groq, &key(SECRET)).unwrap();
        file.remove(groq).unwrap();
        let left: Value = serde_json::from_slice(&fs::read(file.path()).unwrap()).unwrap();
        assert_eq!(left, serde_json::json!({"mine": {"a": [1]}}));
    }

    #[test]
    fn two_writers_at_once_lose_nothing() {
        let (_folder, file) = new_file();
        let names = ["openai", "anthropic", "ai-studio", "groq", "openrouter"];
        thread::scope(|scope| {
            for name in names {
                let file = &file;
                scope.spawn(move || {
                    for round in 0..10 {
                        let key = key(&format!("sk-{name}-{round}"));
                        file.set(service(name), &key).unwrap();
                    }
                });
            }
        });
        for name in names {
            let found = file.get(service(name)).unwrap();
            assert_eq!(found, Some(key(&format!("sk-{name}-9"))));
        }
    }
}
