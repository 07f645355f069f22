//! The chosen model in the user's configuration.

use anyhow::{Context as _, Result};
use ptk_permission::{FileError, TomlFile};
use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

use crate::config;
use crate::provider_name::storable;
use crate::view::clean::in_line;
use crate::view::short_path;

/// The first lines of a new file.
const HEADER: &str = "# Settings of ptk. Edit them as you like; `ptk setup` chooses the model.\n\n";

/// What `[run]` may say about a model besides its name.
const FOR_ONE_MODEL: [&str; 2] = ["context_window", "dialect"];

/// The user's configuration file.
#[derive(Debug)]
pub(crate) struct UserConfig {
    file: TomlFile,
}

/// The model that `[run]` names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RunModel {
    /// Its provider; `None` for a model of `[models]`.
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
}

impl RunModel {
    pub(crate) const fn is_none(&self) -> bool {
        self.provider.is_none() && self.model.is_none()
    }

    /// The setting for people, without a password.
    pub(crate) fn described(&self) -> String {
        let provider = self.provider.as_deref().map(storable);
        let provider = provider.map(|name| format!("provider {}", in_line(&name)));
        let model = self.model.as_deref();
        let model = model.map(|name| format!("model {}", in_line(name)));
        let both: Vec<String> = provider.into_iter().chain(model).collect();
        both.join(", ")
    }
}

impl UserConfig {
    pub(crate) fn find() -> Result<Self> {
        let path = config::user_path().context(
            "no folder for the user's configuration: neither XDG_CONFIG_HOME nor HOME is set",
        )?;
        Ok(Self {
            file: TomlFile::at(path),
        })
    }

    /// The path for people, with `~` for their home.
    pub(crate) fn name(&self) -> String {
        in_line(&short_path(self.file.path()))
    }

    /// The model that is kept.
    pub(crate) fn model(&self) -> Result<RunModel> {
        let document = self.file.read()?;
        let Some(run) = document.get("run") else {
            return Ok(RunModel::default());
        };
        let run = run.as_table_like().ok_or_else(|| self.no_section())?;
        let text = |name: &str| Some(run.get(name)?.as_str()?.to_owned());
        Ok(RunModel {
            provider: text("provider"),
            model: text("model"),
        })
    }

    /// The settings of `[run]` that fit one model, and not another.
    pub(crate) fn others(&self) -> Result<Vec<&'static str>> {
        let document = self.file.read()?;
        let run = document.get("run").and_then(Item::as_table_like);
        let is_set = |name: &&str| run.is_some_and(|run| run.contains_key(name));
        Ok(FOR_ONE_MODEL.into_iter().filter(is_set).collect())
    }

    /// Fails if nothing can be kept in the file.
    pub(crate) fn check(&self) -> Result<()> {
        Ok(self.file.check()?)
    }

    /// The names in `[models]`.
    pub(crate) fn declared(&self) -> Result<Vec<String>> {
        let document = self.file.read()?;
        let models = document.get("models").and_then(Item::as_table_like);
        let names = models.into_iter().flat_map(TableLike::iter);
        Ok(names.map(|(name, _)| name.to_owned()).collect())
    }

    /// Keeps a model. Everything else in the file stays as it is.
    pub(crate) fn keep(&self, model: &RunModel) -> Result<()> {
        let change = |document: &mut DocumentMut| -> Result<(), FileError> {
            let run = document.entry("run").or_insert(Item::Table(Table::new()));
            let run = run.as_table_like_mut().ok_or_else(|| self.no_section())?;
            set(run, "provider", model.provider.as_deref());
            set(run, "model", model.model.as_deref());
            Ok(())
        };
        Ok(self.file.change(HEADER, change)?)
    }

    fn no_section(&self) -> FileError {
        self.file.content("`run` has to be a section: [run]")
    }
}

/// Sets a key, or removes it. A comment behind the value stays.
fn set(table: &mut dyn TableLike, name: &str, text: Option<&str>) {
    let Some(text) = text else {
        table.remove(name);
        return;
    };
    match table.get_mut(name).and_then(Item::as_value_mut) {
        Some(value) => {
            let decor = value.decor().clone();
            *value = Value::from(text);
            *value.decor_mut() = decor;
        }
        None => {
            table.insert(name, Item::Value(text.into()));
        }
    }
}
