//! Chooses and opens models, by the names that `[models]` in `ptk.toml` gives
//! them or by their provider.

use anyhow::{Context, Result, anyhow};
use ptk::Model;
use ptk::llm::Sampling;
use ptk_protocol::dialects::Registry;
use ptk_protocol::schema::suggest;

use crate::config::{DeclaredModel, DeclaredModels, Settings, Withheld};
use crate::dialect_file;
use crate::provider::{self, NoModel};
use crate::setup::{self, KeyedService};
use crate::view::Screen;

/// The configured models, which are opened by name.
#[derive(Debug)]
pub(crate) struct Models<'a> {
    settings: &'a Settings,
    declared: DeclaredModels,
}

/// The requested model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) provider: Option<&'a str>,
    /// Whether the provider was given for this model: then it is not a
    /// configured name.
    pub(crate) is_plain: bool,
    pub(crate) model: Option<&'a str>,
    /// What to do if nothing is chosen.
    pub(crate) unchosen: Unchosen,
    /// The screen that shows the progress of loading.
    pub(crate) screen: Option<&'a Screen>,
}

/// What to do if no model is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unchosen {
    /// Ask the only service whose key is known.
    OnlyService,
    /// Fail, and say what can be chosen.
    Refuse,
}

/// The model that was chosen.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// Its provider; `None` if it is a configured model.
    pub(crate) provider: Option<String>,
    pub(crate) model: Model,
    /// The name of the model at a server, if none was named.
    pub(crate) found: Option<FoundModel>,
    /// Its fallbacks.
    pub(crate) fallbacks: Vec<Model>,
    /// The configured context window in tokens.
    pub(crate) context_window: Option<u32>,
    /// The configured dialects, each with its position in the file.
    dialects: Vec<(String, String)>,
}

/// A model that was found, not chosen by the user.
#[derive(Debug)]
pub(crate) struct FoundModel {
    pub(crate) name: String,
    /// Whether it is the default of its service, and not the only model of a
    /// server, which may have another one the next time.
    pub(crate) is_default: bool,
    /// Says which model is used, and why.
    pub(crate) note: String,
}

impl Chosen {
    /// Checks that the dialects exist, and adds those that a model's own file
    /// describes.
    pub(crate) fn check(&self, mut dialects: Registry) -> Result<Registry> {
        for (name, place) in &self.dialects {
            dialects = dialect_file::add(dialects, name).with_context(|| place.clone())?;
            if let Err(unknown) = dialects.get(name) {
                return Err(anyhow!("{place}: {unknown}"));
            }
        }
        Ok(dialects)
    }
}

impl<'a> Models<'a> {
    /// The models that the settings declare.
    pub(crate) fn of(settings: &'a Settings) -> Result<Self> {
        Ok(Self {
            settings,
            declared: settings.models()?,
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
        if let Some(name) = named.filter(|name| self.declared.contains(name)) {
            let mut chain = Vec::new();
            self.follow(name, &mut chain)?;
            let models = chain.iter().zip(0..).map(|(name, rank)| {
                let given = if rank == 0 { given } else { 0 };
                self.model(name, given, wanted)
            });
            let mut models = models.collect::<Result<Vec<_>>>()?.into_iter();
            let model = models.next().ok_or_else(|| self.unknown(name))?;
            let all: Vec<(&DeclaredModel, &str)> = chain
                .iter()
                .filter_map(|name| self.declared.get(name))
                .collect();
            let dialects = all.iter().filter_map(|(declared, place)| {
                let name = declared.dialect.clone().filter(|name| name != "auto")?;
                Some((name, (*place).to_owned()))
            });
            return Ok(Chosen {
                provider: None,
                model,
                context_window: all.first().and_then(|(first, _)| first.context_window),
                found: None,
                fallbacks: models.collect(),
                dialects: dialects.collect(),
            });
        }
        let assumed = || provider::assumed(wanted.model);
        let only = match wanted.provider.or_else(assumed) {
            Some(_) => None,
            None => self.only_service(wanted)?,
        };
        let only_name = only.as_ref().map(|only| only.service.name);
        let Some(provider) = wanted.provider.or_else(assumed).or(only_name) else {
            return Err(match named {
                Some(name) if !self.declared.is_empty() => self.unknown(name),
                named => NoModel {
                    note: note.map(str::to_owned),
                    declared: self.declared.names().map(str::to_owned).collect(),
                    is_named: named.is_some(),
                    other_config: (!self.settings.has_user_run()).then(|| self.settings.name()),
                }
                .into(),
            });
        };
        let place = provider::ModelSource {
            provider,
            model: wanted.model,
            address: None,
            key: None,
            context_window: None,
            settings: self.settings,
            screen: wanted.screen,
        };
        let opened = provider::at(place, given)?;
        let found = match wanted.model {
            Some(_) => None,
            None => provider::found(provider, opened.model(), only.as_ref()),
        };
        Ok(Chosen {
            provider: Some(provider.to_owned()),
            model: Model::new(opened),
            found,
            fallbacks: Vec::new(),
            context_window: None,
            dialects: Vec::new(),
        })
    }

    /// The only service whose key is known, if it may be asked because nothing
    /// else was chosen: no configured model, no local one, and no setting that
    /// does not count.
    fn only_service(&self, wanted: Wanted<'_>) -> Result<Option<KeyedService>> {
        let may_be = wanted.unchosen == Unchosen::OnlyService;
        if may_be && self.is_open(wanted.model)? {
            return Ok(setup::only_service());
        }
        Ok(None)
    }

    /// Whether nothing says which model is asked, if no provider is named.
    pub(crate) fn is_open(&self, model: Option<&str>) -> Result<bool> {
        let names_model =
            |it: &Withheld| it.name == "run.provider" || it.name.starts_with("models.");
        let has_none = model.is_none() && self.declared.is_empty() && !provider::has_local_models();
        Ok(has_none && !self.settings.withheld()?.iter().any(names_model))
    }

    /// The dialects that the models are taught.
    pub(crate) fn dialects(&self) -> impl Iterator<Item = &str> {
        let models = self
            .declared
            .names()
            .filter_map(|name| self.declared.get(name));
        models.filter_map(|(declared, _)| declared.dialect.as_deref())
    }

    /// All configured models, each with its fallbacks.
    pub(crate) fn all(&self) -> Vec<(String, Result<Vec<Model>>)> {
        let models = |name: &str| {
            let wanted = Wanted {
                provider: None,
                is_plain: false,
                model: Some(name),
                unchosen: Unchosen::Refuse,
                screen: None,
            };
            let chosen = self.choose(wanted, 0, None)?;
            Ok(std::iter::once(chosen.model)
                .chain(chosen.fallbacks)
                .collect())
        };
        let names = self.declared.names();
        names.map(|name| (name.to_owned(), models(name))).collect()
    }

    /// Collects this name and its fallbacks, each once.
    fn follow<'n>(&'n self, name: &'n str, names: &mut Vec<&'n str>) -> Result<()> {
        if names.contains(&name) {
            return Ok(());
        }
        names.push(name);
        let Some((declared, place)) = self.declared.get(name) else {
            return Err(self.unknown(name));
        };
        for other in &declared.fallback {
            if !self.declared.contains(other) {
                return Err(anyhow!("{place}: {}", self.unknown(other)));
            }
            self.follow(other, names)?;
        }
        Ok(())
    }

    fn model(&self, name: &str, given: usize, wanted: Wanted<'_>) -> Result<Model> {
        let Some((declared, at)) = self.declared.get(name) else {
            return Err(self.unknown(name));
        };
        let place = provider::ModelSource {
            provider: &declared.provider,
            model: declared.model.as_deref(),
            address: declared.base_url.as_deref(),
            key: declared.key_variable.as_deref(),
            context_window: declared.context_window,
            settings: self.settings,
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
        if let Some(starts) = declared.starts_in_reasoning {
            model = model.starts_in_reasoning(starts);
        }
        if let Some(grammar) = declared.grammar {
            model = model.hold(grammar.into());
        }
        if let Some(is_wanted) = declared.prompt_cache {
            model = model.prompt_cache(is_wanted);
        }
        if let Some(prices) = declared.prices {
            model = model.prices(prices);
        }
        Ok(model)
    }

    fn unknown(&self, name: &str) -> anyhow::Error {
        let near = suggest::nearest(name, self.declared.names());
        let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        let known: Vec<&str> = self.declared.names().collect();
        anyhow!(
            "model `{name}` not found in [models]{near}\n\n  There are: {}. To use another model, name its provider with --provider.",
            known.join(", ")
        )
    }
}
