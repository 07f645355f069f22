//! Models by the names that `--provider` takes.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use ptk::llm::{Provider, Script};

/// A model that says what a file says.
const SCRIPT: &str = "script:";

/// The model of this name. Of a script that many replies were given already.
pub(crate) fn named(name: &str, given: usize) -> Result<Arc<dyn Provider>> {
    let Some(file) = name.strip_prefix(SCRIPT) else {
        bail!("there is no provider `{name}`; there is: {SCRIPT}FILE, which says what a file says");
    };
    let script = Script::open(Path::new(file)).with_context(|| format!("--provider {name}"))?;
    Ok(Arc::new(script.skip(given)))
}

/// The same name wherever one stands.
pub(crate) fn lasting(name: &str) -> String {
    let Some(file) = name.strip_prefix(SCRIPT) else {
        return name.to_owned();
    };
    let path = std::path::absolute(file).unwrap_or_else(|_| file.into());
    format!("{SCRIPT}{}", path.display())
}

/// What is said where no model was chosen.
pub(crate) const NONE: &str = "\
no model is chosen

  Name one with --provider, in PTK_PROVIDER, or as `provider` under [run] in
  ptk/ptk.toml in your configuration folder (~/.config). There is:
    script:FILE   says what a file says, reply by reply";
