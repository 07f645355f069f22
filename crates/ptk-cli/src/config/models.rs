//! The models that `[models]` declares, as data.

use std::collections::BTreeMap;

use ptk::Hold;
use ptk::llm::Prices;
use serde::Deserialize;

use super::sections::read_positive;
use crate::args::ModeName;
use crate::provider_name::storable;

/// A configured model.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeclaredModel {
    /// Its provider.
    pub(crate) provider: String,
    /// Its name at the provider.
    pub(crate) model: Option<String>,
    /// The address, if it is not the provider's default.
    pub(crate) base_url: Option<String>,
    /// The variable that holds the key, if it is not the provider's default.
    pub(crate) key_variable: Option<String>,
    /// How it calls tools.
    pub(crate) mode: Option<ModeName>,
    /// The dialect that it is taught.
    pub(crate) dialect: Option<String>,
    /// The context window in tokens.
    #[serde(default, deserialize_with = "read_positive")]
    pub(crate) context_window: Option<u32>,
    /// The most tokens of a reply.
    #[serde(default, deserialize_with = "read_positive")]
    pub(crate) max_tokens: Option<u32>,
    pub(crate) temperature: Option<f32>,
    pub(crate) top_p: Option<f32>,
    pub(crate) top_k: Option<u32>,
    pub(crate) seed: Option<u64>,
    /// Whether its replies start inside reasoning, which its template opens.
    pub(crate) starts_in_reasoning: Option<bool>,
    /// When its replies are constrained by a grammar.
    pub(crate) grammar: Option<Grammar>,
    /// Whether its server is told to cache prompts.
    pub(crate) prompt_cache: Option<bool>,
    /// Its prices, in US dollars for a million tokens.
    pub(crate) prices: Option<Prices>,
    /// The names of its fallbacks.
    #[serde(default)]
    pub(crate) fallback: Vec<String>,
}

/// When a model's replies are constrained by a grammar.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Grammar {
    Auto,
    Always,
    Never,
}

impl From<Grammar> for Hold {
    fn from(grammar: Grammar) -> Self {
        match grammar {
            Grammar::Auto => Self::Auto,
            Grammar::Always => Self::Always,
            Grammar::Never => Self::Never,
        }
    }
}

/// The configured models by name, each with its position in the file.
#[derive(Debug, Default)]
pub(crate) struct DeclaredModels(BTreeMap<String, (DeclaredModel, String)>);

impl DeclaredModels {
    /// Adds models; they replace existing ones of the same name.
    pub(super) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The model of this name, and its position in the file.
    pub(crate) fn get(&self, name: &str) -> Option<(&DeclaredModel, &str)> {
        let (declared, place) = self.0.get(name)?;
        Some((declared, place))
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The names, each with its provider and model.
    pub(crate) fn places(&self) -> impl Iterator<Item = (String, String)> {
        let models = self.0.iter();
        models.map(|(name, (declared, _))| (name.clone(), declared.place()))
    }

    /// The names, each with where its requests go, and with which key.
    pub(super) fn described(&self) -> impl Iterator<Item = (&str, String)> {
        let models = self.0.iter();
        models.map(|(name, (declared, _))| (name.as_str(), declared.described()))
    }
}

impl FromIterator<(String, (DeclaredModel, String))> for DeclaredModels {
    fn from_iter<I>(models: I) -> Self
    where
        I: IntoIterator<Item = (String, (DeclaredModel, String))>,
    {
        Self(models.into_iter().collect())
    }
}

impl DeclaredModel {
    /// Its provider and model.
    fn place(&self) -> String {
        let at = storable(self.base_url.as_ref().unwrap_or(&self.provider));
        let model = self.model.as_deref().unwrap_or_default();
        format!("{at} {model}").trim_end().to_owned()
    }

    /// Where its requests go, and with which key.
    fn described(&self) -> String {
        let mut what = format!("asks {}", self.place());
        if let Some(key) = &self.key_variable {
            what.push_str(&format!(", with the key in {key}"));
        }
        if !self.fallback.is_empty() {
            what.push_str(&format!(", then {}", self.fallback.join(", ")));
        }
        what
    }
}
