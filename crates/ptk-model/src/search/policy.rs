//! Which tools are deferred, and when.

use std::collections::HashSet;

use ptk_protocol::Toolset;

use super::DeferredTools;
use crate::{ASSUMED_WINDOW, TokenCounter};

/// How many tools a prompt defines before those that may be are deferred.
const MAX_DEFINED: usize = 20;
/// How much of the window definitions may take before that, in hundredths.
const MAX_SHARE: u64 = 10;
/// The most tokens of the list of deferred tools, and its share of the window,
/// in hundredths.
const MAX_LIST: u64 = 1500;
const LIST_SHARE: u64 = 5;
/// A list may have this many tokens, however small the window is.
const MIN_LIST: u64 = 100;

/// When tools that may be deferred are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DeferTools {
    /// If there are more than 20 tools, or their definitions take more than a
    /// tenth of the window.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never: the prompt defines all tools.
    Never,
}

/// How tools are chosen to be deferred.
#[derive(Debug, Clone, Copy)]
pub struct DeferPolicy<'p> {
    /// When.
    pub when: DeferTools,
    /// The size of the model's window.
    pub window: Option<u32>,
    /// Counts its tokens.
    pub tokens: &'p dyn TokenCounter,
}

impl DeferPolicy<'_> {
    /// How many tokens a list of deferred tools may take in a window of this
    /// size.
    #[must_use]
    pub fn list_budget(window: Option<u32>) -> u64 {
        let window = u64::from(window.unwrap_or(ASSUMED_WINDOW));
        (window * LIST_SHARE / 100).clamp(MIN_LIST, MAX_LIST)
    }

    /// Splits tools into those that the prompt defines, and those that are
    /// deferred; `None` if the prompt defines all of them. Only tools of these
    /// names may be deferred. `defined` is the text that defines tools in the
    /// prompt.
    #[must_use]
    pub fn split(
        &self,
        tools: &Toolset,
        deferrable: &HashSet<&str>,
        defined: impl Fn(&Toolset) -> String,
    ) -> Option<(Toolset, DeferredTools)> {
        if deferrable.is_empty() || self.when == DeferTools::Never {
            return None;
        }
        let deferred = tools.filtered(|tool| deferrable.contains(tool.name.as_str()));
        if deferred.is_empty() {
            return None;
        }
        let name = DeferredTools::search_name(|name| tools.contains(name))?;
        let window = u64::from(self.window.unwrap_or(ASSUMED_WINDOW));
        let cost = |tools: &Toolset| self.tokens.count(&defined(tools));
        let is_wanted = self.when == DeferTools::Always
            || tools.len() > MAX_DEFINED
            || cost(tools) > window * MAX_SHARE / 100;
        if !is_wanted {
            return None;
        }
        let budget = Self::list_budget(self.window);
        let saved = cost(&deferred);
        let deferred = DeferredTools::new(deferred, name, budget, self.tokens);
        let search = Toolset::new(deferred.search().cloned()).ok()?;
        let spent = self.tokens.count(deferred.listing()) + cost(&search);
        if self.when == DeferTools::Auto && saved <= spent {
            return None;
        }
        let kept = tools.filtered(|tool| !deferrable.contains(tool.name.as_str()));
        Some((kept, deferred))
    }
}
