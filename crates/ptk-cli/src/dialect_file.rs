//! Dialects that a model's own files describe: `hf:PATH`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ptk_protocol::dialects::Registry;
use ptk_protocol::dialects::response_template::ResponseTemplate;

use crate::input;

/// What the name of such a dialect starts with.
const PREFIX: &str = "hf:";
/// The file in a model's folder.
const FILE: &str = "tokenizer_config.json";

/// The registry with the dialect of this name, if a file describes it.
pub(crate) fn add(registry: Registry, name: &str) -> Result<Registry> {
    let Some(path) = name.strip_prefix(PREFIX) else {
        return Ok(registry);
    };
    let path = file_at(Path::new(path));
    let text = input::read_file(&path).with_context(|| format!("dialect {name}"))?;
    let template = ResponseTemplate::from_json(&text);
    let template = template.with_context(|| format!("dialect {name}"))?;
    Ok(template.register(registry, name))
}

/// The name with its path taken from the folder of the configuration file that
/// has it.
pub(crate) fn from_folder(name: &str, config: &Path) -> String {
    let folder = config.parent().filter(|it| !it.as_os_str().is_empty());
    match (name.strip_prefix(PREFIX), folder) {
        (Some(path), Some(folder)) => format!("{PREFIX}{}", folder.join(path).display()),
        _ => name.to_owned(),
    }
}

/// The name of the dialect that is described beside a model's file, if one is.
#[cfg(feature = "local")]
pub(crate) fn beside(model: &str) -> Option<String> {
    let folder = Path::new(model).parent()?;
    let file = if folder.as_os_str().is_empty() {
        PathBuf::from(FILE)
    } else {
        folder.join(FILE)
    };
    let text = input::read_file(&file).ok()?;
    let template = ResponseTemplate::from_json(&text).ok()?;
    let is_taught = template.dialect(PREFIX).writer().is_some();
    is_taught.then(|| format!("{PREFIX}{}", file.display()))
}

/// The file itself, or the one in a model's folder.
fn file_at(path: &Path) -> PathBuf {
    if path.is_dir() {
        path.join(FILE)
    } else {
        path.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_a_configuration_file_starts_in_its_folder() {
        let config = Path::new("/home/me/ptk.toml");
        assert_eq!(from_folder("hf:models/a", config), "hf:/home/me/models/a");
        assert_eq!(from_folder("hf:/models/a", config), "hf:/models/a");
        assert_eq!(from_folder("hermes", config), "hermes");
        assert_eq!(from_folder("hf:a", Path::new("ptk.toml")), "hf:a");
    }
}
