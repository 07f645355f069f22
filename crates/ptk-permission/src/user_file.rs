//! The file in which a user's permanent approvals are stored. People read and
//! edit it: what they wrote into it stays, comments included.
//!
//! ```toml
//! deny = ["bash(git push *)"]        # in every workspace
//!
//! [workspaces."/home/ada/shop"]
//! allow = ["bash(cargo test *)", "edit(src/**)"]
//! trusted = ["3f9a…"]                # contents of ptk.toml that may grant
//! ```

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::str::FromStr as _;

use ptk_sandbox::{create_private, private_folder};
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value};

use crate::declaration::{Declaration, Mode};
use crate::rules::{Action, Entry};
use crate::{Rule, RuleError};

/// How long the file may be, in bytes.
const MAX_LENGTH: u64 = 4 * 1024 * 1024;
/// How many contents of one workspace's ptk.toml are trusted at once.
const MAX_TRUSTED: usize = 16;
const HEADER: &str =
    "# What ptk may do without asking. Edit it as you like; `ptk permissions` shows it.\n";

/// Why the file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read or written.
    #[error("cannot {attempt} {}: {source}", path.display())]
    Io {
        /// What was attempted.
        attempt: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// It is not TOML, or does not have the expected content.
    #[error("{}: {message}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
}

/// The file with a user's own rules.
#[derive(Debug, Clone)]
pub struct UserFile {
    path: PathBuf,
}

impl UserFile {
    /// The file at this path. It need not exist.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The file at its default path: `ptk/permissions.toml` in the folder of
    /// the user's configuration.
    #[must_use]
    pub fn find() -> Option<Self> {
        let named = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
        let named = named.filter(|folder| folder.is_absolute());
        let folder = named.or_else(|| Some(std::env::home_dir()?.join(".config")))?;
        Some(Self::at(folder.join("ptk").join("permissions.toml")))
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The mode and the rules for every workspace and for this one. The mode of
    /// the workspace takes precedence.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or holds something else than rules.
    pub fn rules(&self, workspace: &Path) -> Result<(Option<Mode>, Vec<Entry>), FileError> {
        let document = self.read()?;
        let everywhere = self.declaration(document.as_table())?;
        let mut entries = self.entries(&everywhere)?;
        let mut mode = everywhere.mode;
        if let Some(table) = section(&document, workspace) {
            let here = self.declaration(table)?;
            entries.extend(self.entries(&here)?);
            mode = here.mode.or(mode);
        }
        Ok((mode, entries))
    }

    /// Whether a content of the workspace's `ptk.toml` may grant permissions.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn trusts(&self, workspace: &Path, fingerprint: &str) -> Result<bool, FileError> {
        let document = self.read()?;
        let trusted =
            section(&document, workspace).and_then(|table| table.get("trusted")?.as_array());
        let mut trusted = trusted.into_iter().flatten().filter_map(Value::as_str);
        Ok(trusted.any(|known| known == fingerprint))
    }

    /// Remembers that a content of the workspace's `ptk.toml` may grant
    /// permissions.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn trust(&self, workspace: &Path, fingerprint: &str) -> Result<(), FileError> {
        self.change(|document| {
            let trusted = self.list(document, workspace, "trusted")?;
            if trusted.len() >= MAX_TRUSTED {
                trusted.remove(0);
            }
            trusted.push(fingerprint);
            Ok(())
        })
    }

    /// Adds rules that allow something in this workspace.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn allow(&self, workspace: &Path, rules: &[Rule]) -> Result<(), FileError> {
        self.change(|document| {
            let allowed = self.list(document, workspace, Action::Allow.as_str())?;
            for rule in rules.iter().map(ToString::to_string) {
                if !allowed.iter().any(|known| known.as_str() == Some(&rule)) {
                    allowed.push(rule);
                }
            }
            Ok(())
        })
    }

    /// Removes a rule, wherever it stands for this workspace. Returns how often
    /// it stood there.
    ///
    /// # Errors
    ///
    /// If it cannot be read or written.
    pub fn remove(&self, workspace: &Path, rule: &str) -> Result<usize, FileError> {
        let mut removed = 0;
        self.change(|document| {
            removed += without(document.as_table_mut(), rule);
            let here = document
                .get_mut("workspaces")
                .and_then(|all| all.get_mut(key(workspace)));
            if let Some(here) = here.and_then(Item::as_table_like_mut) {
                removed += without(here, rule);
            }
            Ok(())
        })?;
        Ok(removed)
    }

    fn read(&self) -> Result<DocumentMut, FileError> {
        let text = match fs::metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(self.io("read", error)),
            Ok(metadata) if metadata.len() > MAX_LENGTH => {
                return Err(self.content(format!("it is longer than {MAX_LENGTH} bytes")));
            }
            Ok(_) => fs::read_to_string(&self.path).map_err(|error| self.io("read", error))?,
        };
        DocumentMut::from_str(&text).map_err(|error| self.content(error.to_string()))
    }

    /// Changes the file, one process after the other. It is replaced in one
    /// step, and only its owner may read it.
    fn change(
        &self,
        change: impl FnOnce(&mut DocumentMut) -> Result<(), FileError>,
    ) -> Result<(), FileError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        private_folder(folder).map_err(|error| self.io("create the folder of", error))?;
        let lock = create_private(&self.path.with_extension("lock"));
        let lock = lock.map_err(|error| self.io("lock", error))?;
        lock.lock().map_err(|error| self.io("lock", error))?;
        let mut document = self.read()?;
        if document.is_empty() && document.to_string().is_empty() {
            document.decor_mut().set_prefix(HEADER);
        }
        change(&mut document)?;
        self.write(&document.to_string())
            .map_err(|error| self.io("write", error))
    }

    fn write(&self, text: &str) -> io::Result<()> {
        // If the file is a link, its target is replaced.
        let path = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }

    fn declaration(&self, table: &dyn TableLike) -> Result<Declaration, FileError> {
        let mut declaration = Declaration::default();
        for (name, item) in table.iter() {
            match name {
                "allow" => declaration.allow = self.texts(name, item)?,
                "ask" => declaration.ask = self.texts(name, item)?,
                "deny" => declaration.deny = self.texts(name, item)?,
                "mode" => declaration.mode = Some(self.mode(item)?),
                "workspaces" | "trusted" => {}
                name => {
                    let known = "expected `allow`, `ask`, `deny`, `mode` or `workspaces`";
                    return Err(self.content(format!("unknown key `{name}`, {known}")));
                }
            }
        }
        Ok(declaration)
    }

    fn texts(&self, name: &str, item: &Item) -> Result<Vec<String>, FileError> {
        let texts = item.as_array().and_then(|all| {
            let texts = all.iter().map(|it| it.as_str().map(str::to_owned));
            texts.collect::<Option<Vec<String>>>()
        });
        texts.ok_or_else(|| self.content(format!("`{name}` has to be a list of rules in quotes")))
    }

    fn mode(&self, item: &Item) -> Result<Mode, FileError> {
        match item.as_str() {
            Some("ask") => Ok(Mode::Ask),
            Some("auto") => Ok(Mode::Auto),
            Some("deny") => Ok(Mode::Deny),
            _ => Err(self.content("`mode` is \"ask\", \"auto\" or \"deny\"".to_owned())),
        }
    }

    fn entries(&self, declaration: &Declaration) -> Result<Vec<Entry>, FileError> {
        let source = self.path.display().to_string();
        let wrong = |error: RuleError| self.content(error.to_string());
        declaration.entries(&source).map_err(wrong)
    }

    /// The list of this name for a workspace, created where it is missing.
    fn list<'d>(
        &self,
        document: &'d mut DocumentMut,
        workspace: &Path,
        name: &str,
    ) -> Result<&'d mut Array, FileError> {
        let all = document.entry("workspaces").or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        let all = all.as_table_like_mut();
        let here = all.map(|all| {
            all.entry(key(workspace).as_str())
                .or_insert(Item::Table(Table::new()))
        });
        let here = here.and_then(Item::as_table_like_mut);
        let list = here.map(|here| here.entry(name).or_insert(Item::Value(Array::new().into())));
        let list = list.and_then(Item::as_array_mut);
        list.ok_or_else(|| {
            self.content(format!(
                "`{name}` has to be a list in a table of `workspaces`"
            ))
        })
    }

    fn io(&self, attempt: &'static str, source: io::Error) -> FileError {
        FileError::Io {
            attempt,
            path: self.path.clone(),
            source,
        }
    }

    fn content(&self, message: String) -> FileError {
        FileError::Content {
            path: self.path.clone(),
            message,
        }
    }
}

fn key(workspace: &Path) -> String {
    workspace.to_string_lossy().into_owned()
}

fn section<'d>(document: &'d DocumentMut, workspace: &Path) -> Option<&'d dyn TableLike> {
    let all = document.get("workspaces")?.as_table_like()?;
    all.get(&key(workspace))?.as_table_like()
}

/// Removes a rule from all lists of a table, and returns how often it stood
/// there.
fn without(table: &mut dyn TableLike, rule: &str) -> usize {
    let mut removed = 0;
    for name in ["allow", "ask", "deny"] {
        if let Some(list) = table.get_mut(name).and_then(Item::as_array_mut) {
            let before = list.len();
            list.retain(|known| known.as_str() != Some(rule));
            removed += before - list.len();
        }
    }
    removed
}
