//! Finds local models.

use std::sync::Arc;

use anyhow::{Result, bail};
use ptk::llm::Provider;
use ptk_local::{Library, Local, Settings};

use crate::view::Screen;

/// The model of this name or in this file; the only installed one if none is
/// named. The screen shows the progress of loading.
pub(crate) fn provider(
    model: Option<&str>,
    context_window: Option<u32>,
    screen: Option<&Screen>,
) -> Result<Arc<dyn Provider>> {
    let library = Library::open_default()?;
    let name = match model {
        Some(name) => name.to_owned(),
        None => only(&library)?,
    };
    let mut settings = Settings::installed(&library, &name)?;
    if let Some(tokens) = context_window {
        settings = settings.context_window(tokens);
    }
    if let Some(screen) = screen.cloned() {
        settings = settings.on_progress(move |done| screen.remark(loading(done)));
    }
    Ok(Arc::new(Local::open(settings)?))
}

/// The loading progress as a text, until it is complete.
fn loading(done: f32) -> Option<String> {
    (done < 1.0).then(|| format!("loading the model, {:.0} %", done * 100.0))
}

/// The only installed model, or an error if there are none or several.
fn only(library: &Library) -> Result<String> {
    let listing = library.list()?;
    let models: Vec<_> = listing.answering().collect();
    match models.as_slice() {
        [] => bail!(
            "no model is installed; get one with `ptk models pull`, or name a file with --model FILE.gguf"
        ),
        [model] => Ok(model.entry.name.clone()),
        several => {
            let names: Vec<&str> = several.iter().map(|it| it.entry.name.as_str()).collect();
            bail!(
                "there are several models on this machine; name one with --model: {}",
                names.join(", ")
            )
        }
    }
}

/// How many models that answer prompts are installed.
pub(crate) fn installed() -> usize {
    let library = Library::open_default().and_then(|library| library.list());
    library.map_or(0, |listing| listing.answering().count())
}
