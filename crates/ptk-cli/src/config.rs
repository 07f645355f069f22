//! `ptk.toml`: what a workspace declares. Each command takes the sections it
//! needs; those it does not know are for others.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use ptk_protocol::dialects::Registry;
use ptk_protocol::dialects::declared::{self, Declaration};
use serde::Deserialize;
use toml::Spanned;

use crate::args::ConfigArgs;
use crate::input;

/// The file in the workspace.
const FILE: &str = "ptk.toml";

#[derive(Debug, Deserialize)]
struct Config {
    #[serde(default)]
    dialects: Vec<Spanned<Declaration>>,
}

/// The dialects to choose from: PTK's own, and those that are declared in the
/// file of `--config` or `PTK_CONFIG`, or else in the workspace's `ptk.toml`, if
/// there is one.
pub(crate) fn dialects(args: &ConfigArgs) -> Result<Registry> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let named = args
        .config
        .clone()
        .or_else(|| variable("PTK_CONFIG").map(PathBuf::from));
    if let Some(path) = named {
        let text = input::read_file(&path).context("configuration")?;
        return from_text(&path, &text);
    }
    let workspace = args
        .workspace
        .clone()
        .or_else(|| variable("PTK_WORKSPACE").map(PathBuf::from));
    let path = match &workspace {
        Some(folder) => {
            ensure!(
                folder.is_dir(),
                "the workspace {} is no folder",
                folder.display()
            );
            folder.join(FILE)
        }
        None => PathBuf::from(FILE),
    };
    match input::read_file(&path) {
        Ok(text) => from_text(&path, &text),
        Err(error) if is_missing(&error) => Ok(Registry::builtin()),
        Err(error) => Err(error.context("configuration")),
    }
}

fn is_missing(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn from_text(path: &Path, text: &str) -> Result<Registry> {
    let place = |offset: usize| {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        format!("{}:{line}:{column}", path.display())
    };
    let config: Config = toml::from_str(text).map_err(|error| {
        let place = place(error.span().map_or(0, |span| span.start));
        anyhow!("{place}: {}", error.message())
    })?;
    let starts: Vec<usize> = config.dialects.iter().map(|it| it.span().start).collect();
    let declarations: Vec<Declaration> = config
        .dialects
        .into_iter()
        .map(Spanned::into_inner)
        .collect();
    declared::register(Registry::builtin(), &declarations).map_err(|error| {
        let start = starts.get(error.index).copied().unwrap_or(0);
        anyhow!("{}: {error}", place(start))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Registry> {
        from_text(Path::new("ptk.toml"), text)
    }

    #[test]
    fn sections_of_others_are_ignored() {
        let registry =
            read("[model]\nname = \"x\"\n[[dialects]]\nname = \"a\"\nopen = [\"<a>\"]\n");
        assert!(registry.unwrap().get("a").is_ok());
        assert!(read("").is_ok());
    }

    #[test]
    fn mistakes_are_placed() {
        for (text, expected) in [
            ("a = \n", "ptk.toml:1:5: "),
            (
                "\n[[dialects]]\nname = \"a\"\nopen = \"<a>\"\n",
                "ptk.toml:4:8: invalid type: string \"<a>\", expected a sequence",
            ),
            (
                "[[dialects]]\nname = \"a\"\nopen = [\"<a>\"]\nbody = \"xml\"\n",
                "ptk.toml:4:8: unknown variant `xml`, expected one of `json`, `name-json`, `tags`, `python`",
            ),
            (
                "[[dialects]]\nname = \"a\"\nopen = [\"<a>\"]\ncolour = 1\n",
                "ptk.toml:4:1: unknown field `colour`",
            ),
            (
                "[[dialects]]\nname = \"a\"\nopen = [\"<a>\"]\n\n[[dialects]]\nname = \"b\"\nopen = [\"x\"]\n",
                "ptk.toml:5:1: dialect `b`: the mark \"x\" in `open`",
            ),
        ] {
            let error = format!("{:#}", read(text).unwrap_err());
            assert!(error.starts_with(expected), "{text}\n{error}");
        }
    }
}
