//! `ptk setup`, and the same question where a model is needed and none is
//! chosen: shows what is within reach and what each choice needs, and keeps the
//! choice.
//!
//! | Module | Its one concern |
//! |---|---|
//! | `found` | looks for models: installed, on servers, at services with a key |
//! | `offer` | what can be chosen, and what it still needs |
//! | `dialogue` | the questions, line by line |
//! | `user_config` | the choice in the user's configuration |

mod dialogue;
mod found;
mod offer;
mod user_config;

use std::env;

use anyhow::{Context as _, Result};

use self::dialogue::Row;
pub(crate) use self::dialogue::{Dialogue, Unanswered};
use self::found::local_servers;
pub(crate) use self::found::{Found, KeyedService, keyed_services, only_service};
use self::offer::{Choice, Offer, offers};
use self::user_config::{RunModel, UserConfig};
use crate::args::ConfigArgs;
use crate::commands::{keys, models};
use crate::config::Settings;
use crate::exit::{self, Exit};
use crate::view::clean::{in_line, visible};

/// How the questions ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A model is chosen, and kept.
    Kept,
    /// None is.
    Left(Exit),
}

/// Asks for a model, and keeps the answer in the user's configuration. `note`
/// says why none is chosen, if that is known.
pub(crate) fn choose(dialogue: Dialogue, note: Option<&str>) -> Result<Outcome> {
    let chosen = ask(&dialogue, note).and_then(|choice| keep(&dialogue, &choice));
    dialogue.end();
    match chosen {
        Err(error) if error.downcast_ref() == Some(&Unanswered::Interrupted) => {
            exit::note("Interrupted; nothing was changed.");
            Ok(Outcome::Left(Exit::Interrupted))
        }
        chosen => chosen,
    }
}

/// The names in the user's `[models]`.
pub(crate) fn declared() -> Result<Vec<String>> {
    UserConfig::find().map_or(Ok(Vec::new()), |config| config.declared())
}

/// Why no choice can be kept, if none can.
pub(crate) fn why_not_kept() -> Option<anyhow::Error> {
    let checked = UserConfig::find().and_then(|config| config.check());
    checked.err()
}

fn ask(dialogue: &Dialogue, note: Option<&str>) -> Result<Choice> {
    // What is wrong with the file is said before anything is asked.
    let config = UserConfig::find()?;
    let (current, declared) = (config.model()?, config.declared()?);
    let found = Found::look();
    if let Some(note) = note {
        dialogue.say(&format!("{}\n\n", visible(note)))?;
    }
    let heading = if current.is_none() {
        "No model is chosen yet.".to_owned()
    } else {
        format!("{} has {}.", config.name(), current.described())
    };
    dialogue.say(&format!("{heading} These are within reach:\n\n"))?;
    let hint = hint(&found);
    let mut offers = offers(found, declared);
    let rows: Vec<Row> = offers.iter().map(Offer::row).collect();
    let at = dialogue.pick(&rows, &hint)?;
    offers.swap_remove(at).complete(dialogue)
}

/// What would make more models appear.
fn hint(found: &Found) -> String {
    let empty = found.servers.iter().filter(|it| it.models.is_empty());
    let mut hints: Vec<String> = empty
        .map(|it| {
            let (title, host) = (it.service.title, it.host());
            format!("{title} runs at {host}, and has no model yet.\n")
        })
        .collect();
    if let Some(problem) = &found.key_problem {
        hints.push(format!("Stored keys are not used: {}.\n", in_line(problem)));
    }
    if found.servers.is_empty() {
        let titles: Vec<&str> = local_servers().map(|it| it.title).collect();
        let titles = titles.join(", ");
        hints.push(format!(
            "Servers on this machine appear here while they run: {titles}.\n"
        ));
    }
    match hints.concat().as_str() {
        "" => String::new(),
        hints => format!("{hints}\n"),
    }
}

/// Does what the choice needs, and keeps it.
fn keep(dialogue: &Dialogue, choice: &Choice) -> Result<Outcome> {
    let config = UserConfig::find()?;
    let (file, current) = (config.name(), config.model()?);
    if !current.is_none() && current != choice.run {
        let question = format!("\n{file} has {}. Replace it?", current.described());
        if !dialogue.agrees(&question)? {
            exit::note("Nothing was changed.");
            return Ok(Outcome::Left(Exit::Failed));
        }
    }
    if let Some((service, key)) = &choice.key {
        let file = keys::store(service, key)?;
        let title = service.title;
        dialogue.say(&format!(
            "The key of {title} is stored in {}.\n",
            in_line(&file)
        ))?;
    }
    if let Some(name) = &choice.download
        && models::fetch_named(name)?.is_none()
    {
        return Ok(Outcome::Left(Exit::Interrupted));
    }
    config.keep(&choice.run).with_context(|| {
        let once = choice.run.described();
        format!("the choice is not kept; it is {once}, which flags and PTK_ variables name, too")
    })?;
    dialogue.say(&format!("Kept in {file}; `ptk setup` chooses again.\n"))?;
    let others = config.others()?;
    if !others.is_empty() {
        let others = others.join(" and ");
        dialogue.say(&format!("[run] there also sets {others}, for any model.\n"))?;
    }
    for variable in ["PTK_PROVIDER", "PTK_MODEL"] {
        if env::var_os(variable).is_some_and(|value| !value.is_empty()) {
            dialogue.say(&format!("{variable} is set, and goes first.\n"))?;
        }
    }
    if let Some((file, model)) = chosen_here(&choice.run) {
        dialogue.say(&format!("Here, {file} goes first: {model}.\n"))?;
    }
    Ok(Outcome::Kept)
}

/// The configuration of this workspace and its model, if it names another one
/// than the user has chosen.
fn chosen_here(chosen: &RunModel) -> Option<(String, String)> {
    // A run says what is wrong with the file.
    let settings = Settings::read(&ConfigArgs::default()).ok()?;
    let run = settings.run().ok()?;
    let model = RunModel {
        provider: run.provider,
        model: run.model,
    };
    (model != *chosen).then(|| (in_line(&settings.name()), model.described()))
}
