//! Models by the names that `[models]` in `ptk.toml` gives them.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use ptk::llm::{Prices, Sampling};
use ptk::{Hold, Model};
use ptk_protocol::dialects::Registry;
use ptk_protocol::schema::suggest;
use serde::Deserialize;

use crate::args::{ConfigArgs, ModeName};
use crate::provider_name::storable;
use crate::view::Screen;
use crate::{config, provider};

/// A configured model.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Declared {
    /// Its provider.
    provider: String,
    /// Its name at the provider.
    model: Option<String>,
    /// The address, if it is not the provider's default.
    base_url: Option<String>,
    /// The variable that holds the key, if it is not the provider's default.
    key_variable: Option<String>,
    /// How it calls tools.
    mode: Option<ModeName>,
    /// The dialect that it is taught.
    dialect: Option<String>,
    /// The context window in tokens.
    #[serde(default, deserialize_with = "config::read_positive")]
    context_window: Option<u32>,
    /// The most tokens of a reply.
    #[serde(default, deserialize_with = "config::read_positive")]
    max_tokens: Option<u32>,
    temperature: Option<f32>,
    top_p: Option<f32>,
    top_k: Option<u32>,
    seed: Option<u64>,
    /// When its replies are constrained by a grammar.
    grammar: Option<Grammar>,
    /// Its prices, in US dollars for a million tokens.
    prices: Option<Prices>,
    /// The names of its fallbacks.
    #[serde(default)]
    fallback: Vec<String>,
}

/// When a model's replies are constrained by a grammar.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Grammar {
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

/// The configured models, each with its position in the file.
#[derive(Debug, Default)]
pub(crate) struct Models(BTreeMap<String, (Declared, String)>);

/// The requested model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) provider: Option<&'a str>,
    /// Whether the provider was given for this model: then it is not a
    /// configured name.
    pub(crate) is_plain: bool,
    pub(crate) model: Option<&'a str>,
    /// The configuration with pages, for a model behind one.
    pub(crate) config: &'a ConfigArgs,
    /// The screen that shows the progress of loading.
    pub(crate) screen: Option<&'a Screen>,
}

/// The model that was chosen.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// Its provider; `None` if it is a configured model.
    pub(crate) provider: Option<String>,
    pub(crate) model: Model,
    /// Its fallbacks.
    pub(crate) fallbacks: Vec<Model>,
    /// The configured context window in tokens.
    pub(crate) context_window: Option<u32>,
    /// The configured dialects, each with its position in the file.
    dialects: Vec<(String, String)>,
}

impl Chosen {
    /// Checks that the dialects exist.
    pub(crate) fn check(&self, dialects: &Registry) -> Result<()> {
        for (name, place) in &self.dialects {
            if let Err(unknown) = dialects.get(name) {
                return Err(anyhow!("{place}: {unknown}"));
            }
        }
        Ok(())
    }
}

impl Models {
    pub(crate) fn add(&mut self, name: String, declared: Declared, place: String) {
        self.0.insert(name, (declared, place));
    }

    /// Adds models; they replace existing ones of the same name.
    pub(crate) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names, each with its provider and model.
    pub(crate) fn places(&self) -> impl Iterator<Item = (String, String)> {
        self.0.iter().map(|(name, (declared, _))| {
            let at = declared.base_url.as_ref().unwrap_or(&declared.provider);
            let at = storable(at);
            let model = declared.model.as_deref().unwrap_or_default();
            (name.clone(), format!("{at} {model}").trim_end().to_owned())
        })
    }

    /// The names, each with where its requests go, and with which key.
    pub(crate) fn described(&self) -> impl Iterator<Item = (String, String)> {
        self.places().map(|(name, at)| {
            let mut what = format!("asks {at}");
            let declared = self.0.get(&name).map(|(declared, _)| declared);
            if let Some(key) = declared.and_then(|it| it.key_variable.as_deref()) {
                what.push_str(&format!(", with the key in {key}"));
            }
            let others = declared.map_or(&[][..], |it| it.fallback.as_slice());
            if !others.is_empty() {
                what.push_str(&format!(", then {}", others.join(", ")));
            }
            (name, what)
        })
    }

    /// The requested model, and its fallbacks. The first `given` replies of a
    /// script are skipped.
    pub(crate) fn choose(
        &self,
        wanted: Wanted<'_>,
        given: usize,
        note: Option<&str>,
    ) -> Result<Chosen> {
        let named = wanted.model.filter(|_| !wanted.is_plain);
        if let Some(name) = named.filter(|name| self.0.contains_key(*name)) {
            let mut chain = Vec::new();
            self.follow(name, &mut chain)?;
            let models = chain.iter().zip(0..).map(|(name, rank)| {
                let given = if rank == 0 { given } else { 0 };
                self.model(name, given, wanted)
            });
            let mut models = models.collect::<Result<Vec<_>>>()?.into_iter();
            let model = models.next().ok_or_else(|| self.unknown(name))?;
            let all: Vec<&(Declared, String)> =
                chain.iter().filter_map(|name| self.0.get(*name)).collect();
            let dialects = all.iter().filter_map(|(declared, place)| {
                let name = declared.dialect.clone().filter(|name| name != "auto")?;
                Some((name, place.clone()))
            });
            return Ok(Chosen {
                provider: None,
                model,
                context_window: all.first().and_then(|(first, _)| first.context_window),
                fallbacks: models.collect(),
                dialects: dialects.collect(),
            });
        }
        let assumed = || provider::assumed(wanted.model);
        let Some(provider) = wanted.provider.or_else(assumed) else {
            return Err(match named {
                Some(name) if !self.is_empty() => self.unknown(name),
                _ => provider::none(note, self.0.keys()),
            });
        };
        let place = provider::ModelSource {
            provider,
            model: wanted.model,
            address: None,
            key: None,
            context_window: None,
            config: wanted.config,
            screen: wanted.screen,
        };
        Ok(Chosen {
            provider: Some(provider.to_owned()),
            model: Model::new(provider::at(place, given)?),
            fallbacks: Vec::new(),
            context_window: None,
            dialects: Vec::new(),
        })
    }

    /// All configured models, each with its fallbacks.
    pub(crate) fn all(&self, config: &ConfigArgs) -> Vec<(String, Result<Vec<Model>>)> {
        let models = |name: &String| {
            let wanted = Wanted {
                provider: None,
                is_plain: false,
                model: Some(name),
                config,
                screen: None,
            };
            let chosen = self.choose(wanted, 0, None)?;
            Ok(std::iter::once(chosen.model)
                .chain(chosen.fallbacks)
                .collect())
        };
        self.0
            .keys()
            .map(|name| (name.clone(), models(name)))
            .collect()
    }

    /// Collects this name and its fallbacks, each once.
    fn follow<'a>(&'a self, name: &'a str, names: &mut Vec<&'a str>) -> Result<()> {
        if names.contains(&name) {
            return Ok(());
        }
        names.push(name);
        let Some((declared, place)) = self.0.get(name) else {
            return Err(self.unknown(name));
        };
        for other in &declared.fallback {
            if !self.0.contains_key(other) {
                return Err(anyhow!("{place}: {}", self.unknown(other)));
            }
            self.follow(other, names)?;
        }
        Ok(())
    }

    fn model(&self, name: &str, given: usize, wanted: Wanted<'_>) -> Result<Model> {
        let Some((declared, at)) = self.0.get(name) else {
            return Err(self.unknown(name));
        };
        let place = provider::ModelSource {
            provider: &declared.provider,
            model: declared.model.as_deref(),
            address: declared.base_url.as_deref(),
            key: declared.key_variable.as_deref(),
            context_window: declared.context_window,
            config: wanted.config,
            screen: wanted.screen,
        };
        let provider = provider::at(place, given);
        let provider = provider.map_err(|error| error.context(format!("{at}: model `{name}`")))?;
        let mut model = Model::new(provider).sampling(Sampling {
            temperature: declared.temperature,
            top_p: declared.top_p,
            top_k: declared.top_k,
            seed: declared.seed,
        });
        if let Some(mode) = declared.mode {
            model = model.mode(mode.into());
        }
        if let Some(dialect) = &declared.dialect {
            model = model.dialect(dialect);
        }
        if let Some(tokens) = declared.context_window {
            model = model.context_window(tokens);
        }
        if let Some(tokens) = declared.max_tokens {
            model = model.max_tokens(tokens);
        }
        if let Some(grammar) = declared.grammar {
            model = model.hold(grammar.into());
        }
        if let Some(prices) = declared.prices {
            model = model.prices(prices);
        }
        Ok(model)
    }

    fn unknown(&self, name: &str) -> anyhow::Error {
        let names = || self.0.keys().map(String::as_str);
        let near = suggest::nearest(name, names());
        let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        let known: Vec<&str> = names().collect();
        anyhow!(
            "model `{name}` not found in [models]{near}\n\n  There are: {}. To use another model, name its provider with --provider.",
            known.join(", ")
        )
    }
}
