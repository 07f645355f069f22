//! Models behind web pages: the configured pages, the built-in ones, and the
//! browser that opens them.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, anyhow, ensure};
use ptk::llm::Provider;
use ptk_browser::{BUILT_IN, Browser, BrowserProvider, Page};
use ptk_protocol::schema::suggest;

use crate::config::Settings;

/// The folder of all profiles, in the state folder.
const PROFILES: &str = "browser";

/// The page of this name, and the browser for it.
pub(crate) fn find(name: &str, settings: &Settings) -> Result<(Page, Browser)> {
    let (pages, browser) = (settings.pages()?, settings.browser()?);
    let known: Vec<String> = pages.iter().map(|page| page.name.clone()).collect();
    let page = pages.into_iter().find(|page| page.name == name);
    let page = page.or_else(|| Page::built_in(name));
    let page = page.ok_or_else(|| unknown(name, &known))?;
    let profile = match browser.profile {
        Some(profile) => std::path::absolute(&profile).unwrap_or(profile),
        None => profile(name)?,
    };
    let browser = Browser {
        headless: browser.headless.unwrap_or(true),
        chromium: browser.chromium,
        cookies: browser.cookies,
        ..Browser::new(profile)
    };
    Ok((page, browser))
}

/// The model behind the page of this name.
pub(crate) fn provider(name: &str, settings: &Settings) -> Result<Arc<dyn Provider>> {
    let (page, browser) = find(name, settings)?;
    Ok(Arc::new(BrowserProvider::new(page, browser)))
}

/// The default profile folder of a page.
fn profile(name: &str) -> Result<PathBuf> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    ensure!(
        !name.is_empty() && name.chars().all(is_plain),
        "the name of the page `{name}` has characters that no folder should have; use letters, digits, `-` and `_`"
    );
    let state = ptk_sandbox::state_folder();
    let state = state.ok_or_else(|| {
        anyhow!("no folder for the browser's profile: neither PTK_STATE nor HOME is set")
    })?;
    let folder = state.join(PROFILES).join(name);
    Ok(std::path::absolute(&folder).unwrap_or(folder))
}

fn unknown(name: &str, described: &[String]) -> anyhow::Error {
    let known = described.iter().map(String::as_str).chain(BUILT_IN);
    let near = suggest::nearest(name, known.clone());
    let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    let known: Vec<&str> = known.collect();
    anyhow!(
        "unknown page `{name}`{near}\n\n  There are: {}. Describe others under [[pages]] in \
         your own ptk.toml; docs/browser.md says how.",
        known.join(", ")
    )
}
