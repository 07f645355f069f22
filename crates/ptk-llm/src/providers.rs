//! Models by name (R134, R135).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Provider;

/// The one that is asked where nobody has chosen (R134).
pub const DEFAULT_PROVIDER: &str = "ai-studio";

/// Providers by name, one of which is the current one.
///
/// ```
/// use std::sync::Arc;
///
/// use ptk_llm::{Providers, Script};
///
/// let mut providers = Providers::new();
/// providers.register("script", Arc::new(Script::parse(r#"["Hi."]"#)?));
/// providers.set("script")?;
/// assert_eq!(providers.current()?.name(), "script");
///
/// let error = providers.set("groq").unwrap_err();
/// assert_eq!(error.to_string(), "Provider groq not registered; there are: script");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Providers {
    by_name: BTreeMap<String, Arc<dyn Provider>>,
    current: String,
}

impl Default for Providers {
    fn default() -> Self {
        Self {
            by_name: BTreeMap::new(),
            current: DEFAULT_PROVIDER.to_owned(),
        }
    }
}

impl Providers {
    /// None yet. The current one is [`DEFAULT_PROVIDER`], once there is one of
    /// that name.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a provider under a name; one of the same name is replaced.
    pub fn register(&mut self, name: impl Into<String>, provider: Arc<dyn Provider>) {
        self.by_name.insert(name.into(), provider);
    }

    /// Makes this one the current one.
    ///
    /// # Errors
    ///
    /// If there is none of that name; then the current one stays.
    pub fn set(&mut self, name: &str) -> Result<(), NotRegistered> {
        self.get(name)?;
        name.clone_into(&mut self.current);
        Ok(())
    }

    /// The current one.
    ///
    /// # Errors
    ///
    /// If there is none of its name.
    pub fn current(&self) -> Result<&Arc<dyn Provider>, NotRegistered> {
        self.get(&self.current)
    }

    /// The one of this name.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn get(&self, name: &str) -> Result<&Arc<dyn Provider>, NotRegistered> {
        self.by_name.get(name).ok_or_else(|| NotRegistered {
            name: name.to_owned(),
            known: self.names().map(str::to_owned).collect(),
        })
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }
}

/// There is no provider of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Provider {name} not registered; {}", instead(known))]
pub struct NotRegistered {
    /// The name that was asked for.
    pub name: String,
    /// The names there are.
    pub known: Vec<String>,
}

fn instead(known: &[String]) -> String {
    if known.is_empty() {
        "register one first".to_owned()
    } else {
        format!("there are: {}", known.join(", "))
    }
}
