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

use std::path::{Path, PathBuf};

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value};

use crate::declaration::{Declaration, Mode};
use crate::rules::{Action, Entry};
use crate::toml_file::{FileError, TomlFile};
use crate::{Rule, RuleError};

/// How many contents of one workspace's ptk.toml are trusted at once.
const MAX_TRUSTED: usize = 16;
const HEADER: &str =
    "# What ptk may do without asking. Edit it as you like; `ptk permissions` shows it.\n";

/// The file with a user's own rules.
#[derive(Debug, Clone)]
pub struct UserFile {
    file: TomlFile,
}

impl UserFile {
    /// The file at this path. It need not exist.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            file: TomlFile::at(path),
        }
    }

    /// The file at its default path: `ptk/permissions.toml` in the folder of
    /// the user's configuration.
    #[must_use]
    pub fn find() -> Option<Self> {
        Some(Self::at(
            ptk_sandbox::config_folder()?.join("permissions.toml"),
        ))
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// The mode and the rules for every workspace and for this one. The mode of
    /// the workspace takes precedence.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or holds something else than rules.
    pub fn rules(&self, workspace: &Path) -> Result<(Option<Mode>, Vec<Entry>), FileError> {
        let document = self.file.read()?;
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
        let document = self.file.read()?;
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
        self.file.change(HEADER, |document| {
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
        self.add(Action::Allow, Some(workspace), rules)
    }

    /// Adds rules for one workspace, or for every one.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn add(
        &self,
        action: Action,
        workspace: Option<&Path>,
        rules: &[Rule],
    ) -> Result<(), FileError> {
        self.file.change(HEADER, |document| {
            let name = action.as_str();
            let list = match workspace {
                Some(workspace) => self.list(document, workspace, name)?,
                None => document
                    .entry(name)
                    .or_insert(Item::Value(Array::new().into()))
                    .as_array_mut()
                    .ok_or_else(|| self.file.content(format!("`{name}` has to be a list")))?,
            };
            for rule in rules.iter().map(ToString::to_string) {
                if !list.iter().any(|known| known.as_str() == Some(&rule)) {
                    list.push(rule);
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
        self.file.change(HEADER, |document| {
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
                    return Err(self.file.content(format!("unknown key `{name}`, {known}")));
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
        texts.ok_or_else(|| {
            self.file
                .content(format!("`{name}` has to be a list of rules in quotes"))
        })
    }

    fn mode(&self, item: &Item) -> Result<Mode, FileError> {
        match item.as_str() {
            Some("ask") => Ok(Mode::Ask),
            Some("auto") => Ok(Mode::Auto),
            Some("deny") => Ok(Mode::Deny),
            _ => Err(self
                .file
                .content("`mode` is \"ask\", \"auto\" or \"deny\"".to_owned())),
        }
    }

    fn entries(&self, declaration: &Declaration) -> Result<Vec<Entry>, FileError> {
        let source = self.path().display().to_string();
        let wrong = |error: RuleError| self.file.content(error.to_string());
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
            self.file.content(format!(
                "`{name}` has to be a list in a table of `workspaces`"
            ))
        })
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
