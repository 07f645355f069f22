//! Which tool a request is for, if any.

use ptk_protocol::{ToolSpec, Toolset};
use serde_json::{Map, Value};

use super::examples::{Action, Compared, Examples, Means};
use super::fill::{self, Callee, Filled};
use super::names::{NameIndex, Sureness};
use super::parameters::words_of;
use super::request::{Manner, Request};
use super::slots::{Eagerness, Kind, Reading, read};
use super::surroundings::Surroundings;
use super::words::{is_plain, many, stem, words};

/// What words are worth less that are taken for names only because there are
/// such names.
const EAGER: f32 = 0.9;

/// What is taken off for a name that a call has no use for.
const UNUSED: f32 = 0.1;

/// What is taken off for a name that would be talked about without a look.
const IGNORED: f32 = 0.4;

/// What is added if a call is given something exactly as it is named.
const USED: f32 = 0.06;

/// What is taken off for a call that takes nothing from the request.
const BARE: f32 = 0.08;

/// What is taken off for writing where a file may be already.
const OVERWRITING: f32 = 0.1;

/// What is taken off for a search of a file for words that are not quoted.
const VAGUE: f32 = 0.2;

/// What the vote of all the features of a request counts beside its likeness to
/// the nearest examples.
const VOTE: f32 = 0.25;

/// What is taken off for looking for a file whose place is known.
const SOUGHT: f32 = 0.08;

/// Below this, nothing is like the request.
const LEAST: f32 = 0.15;

/// A tool, and what it is given.
pub(super) type Call = (String, Map<String, Value>);

/// A call that could be made, or none.
#[derive(Debug, Clone, PartialEq)]
struct Candidate {
    /// The tool, and what it is given; none if nothing is to be called.
    call: Option<Call>,
    /// How well it fits the request.
    score: f32,
}

/// What can be called, and where.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice<'a> {
    /// The tools that are offered.
    pub(super) tools: &'a Toolset,
    /// Which of them write.
    pub(super) surroundings: &'a Surroundings,
    /// The names that exist.
    pub(super) names: &'a NameIndex,
    /// What others asked for.
    pub(super) examples: &'a Examples,
}

impl Choice<'_> {
    /// The call that a request is for, or none.
    pub(super) fn call(&self, request: &str) -> Option<Call> {
        let best = self.options(request).into_iter().next();
        best.and_then(|best| best.call)
    }

    /// What could be called, one entry for each tool and one for none, the
    /// best first.
    fn options(&self, request: &str) -> Vec<Candidate> {
        let mut options = vec![Candidate {
            call: None,
            score: LEAST,
        }];
        for (eagerness, factor) in [(Eagerness::Careful, 1.0), (Eagerness::Eager, EAGER)] {
            let reading = read(request, self.names, eagerness);
            let compared = self.examples.compared(&reading);
            let votes = self.examples.votes(&compared);
            for (action, vote) in self.examples.actions.iter().zip(votes) {
                let score = factor * (likeness(&compared, action) + VOTE * vote);
                self.consider(request, &reading, &compared, action, score, &mut options);
            }
            for spec in self.tools.iter().filter(|spec| !self.is_known(&spec.name)) {
                self.consider_unknown(request, &reading, &compared, spec, &mut options);
            }
        }
        options.sort_by(|one, other| other.score.total_cmp(&one.score));
        options
    }

    fn is_known(&self, tool: &str) -> bool {
        let mut means = self
            .examples
            .actions
            .iter()
            .flat_map(|action| &action.tools);
        means.any(|means| means.name == tool)
    }

    fn consider(
        &self,
        request: &str,
        reading: &Reading,
        compared: &Compared,
        action: &Action,
        score: f32,
        options: &mut Vec<Candidate>,
    ) {
        if action.tools.is_empty() {
            keep(
                options,
                None,
                score - IGNORED * unused(reading, &Map::new()),
            );
            return;
        }
        let request = Request {
            text: request,
            reading,
            compared,
            names: self.names,
            examples: self.examples,
            action: Some(action),
        };
        let offered = |means: &&Means| self.tools.contains(&means.name);
        let Some(means) = action.tools.iter().find(offered) else {
            return;
        };
        let Some(spec) = self.tools.get(&means.name) else {
            return;
        };
        let callee = Callee {
            spec,
            needs: &means.needs,
            writes: self.surroundings.writing.contains(&spec.name),
        };
        if let Some(filled) = fill::arguments(&request, callee, self.tools) {
            let score = score + evidence(reading, &filled, callee.writes);
            keep(options, Some((spec.name.clone(), filled.arguments)), score);
        }
    }

    /// A tool of which there are no examples is known by its name and its
    /// description.
    fn consider_unknown(
        &self,
        request: &str,
        reading: &Reading,
        compared: &Compared,
        spec: &ToolSpec,
        options: &mut Vec<Candidate>,
    ) {
        let score = described(reading, spec);
        if score < LEAST {
            return;
        }
        let request = Request {
            text: request,
            reading,
            compared,
            names: self.names,
            examples: self.examples,
            action: None,
        };
        let callee = Callee {
            spec,
            needs: &[],
            writes: self.surroundings.writing.contains(&spec.name),
        };
        if let Some(filled) = fill::arguments(&request, callee, self.tools) {
            keep(options, Some((spec.name.clone(), filled.arguments)), score);
        }
    }
}

/// Puts in an option, or mends the score of the same tool.
fn keep(options: &mut Vec<Candidate>, call: Option<Call>, score: f32) {
    let tool = |call: &Option<(String, _)>| call.as_ref().map(|(tool, _)| tool.clone());
    let same = options
        .iter_mut()
        .find(|option| tool(&option.call) == tool(&call));
    match same {
        Some(option) if option.score >= score => {}
        Some(option) => *option = Candidate { call, score },
        None => options.push(Candidate { call, score }),
    }
}

/// How like its nearest examples a request is.
fn likeness(compared: &Compared, action: &Action) -> f32 {
    let is_none = action.tools.is_empty();
    let mut nearest = [0.0_f32; 3];
    for example in &action.examples {
        let mut similarity = if is_none {
            compared.similarity_of_whole(example)
        } else {
            compared.similarity(example)
        };
        for place in &mut nearest {
            if similarity > *place {
                std::mem::swap(place, &mut similarity);
            }
        }
    }
    let [first, second, third] = nearest;
    0.6 * first + 0.25 * second + 0.15 * third
}

/// What the mentions of a request say for or against a call, whatever its
/// words are.
fn evidence(reading: &Reading, filled: &Filled, writes: bool) -> f32 {
    let arguments = &filled.arguments;
    let used = reading.mentions.iter().filter(|mention| {
        let value = mention.value.as_str();
        let mut given = arguments.values().filter_map(Value::as_str);
        let is_given = !value.is_empty() && given.any(|given| given.contains(value));
        is_given && mention.kind != Kind::Number && mention.sureness >= Sureness::Title
    });
    let mut score = -UNUSED * unused(reading, arguments);
    match (used.count(), arguments.is_empty()) {
        (0, true) => score -= BARE,
        (0, false) if filled.manner == Manner::Spoken => score -= BARE,
        (0, false) => {}
        _ => score += USED,
    }
    // Whoever names a file and asks about it is answered best by all of it.
    if filled.manner == Manner::Spoken && reading.of("{file}").next().is_some() {
        score -= VAGUE;
    }
    // A file whose place is known need not be looked for.
    let mut files = reading.of("{file}");
    let is_sought = files.any(|file| {
        let place = format!("**/{}", super::names::base(&file.value));
        arguments
            .values()
            .any(|given| given.as_str() == Some(&place))
    });
    if is_sought {
        score -= SOUGHT;
    }
    let overwrites = writes && reading.of("{new}").next().is_none();
    if overwrites {
        score -= OVERWRITING;
    }
    score
}

/// How many names of a request a call has no use for.
fn unused(reading: &Reading, arguments: &Map<String, Value>) -> f32 {
    let values = Value::Object(arguments.clone()).to_string();
    let mentions = reading
        .mentions
        .iter()
        .filter(|mention| match &mention.kind {
            Kind::File | Kind::Folder | Kind::New => {
                let base = super::names::base(&mention.value);
                !values.contains(base)
            }
            Kind::Glob => !values.contains(&mention.value),
            Kind::Endings(endings) => !endings
                .iter()
                .any(|ending| values.contains(ending.as_str())),
            Kind::Quote | Kind::Identifier | Kind::Number => false,
        });
    many(mentions.count().min(2))
}

/// How much of what a tool is called and described by stands in a request.
fn described(reading: &Reading, spec: &ToolSpec) -> f32 {
    let named: Vec<String> = words_of(&spec.name).iter().map(|word| stem(word)).collect();
    let description: Vec<String> = words(&spec.description, 60)
        .into_iter()
        .filter(|word| !is_plain(&word.folded))
        .map(|word| stem(&word.folded))
        .collect();
    let said = |word: &String| reading.pieces.iter().any(|piece| piece.token == *word);
    let share = |words: &[String]| {
        let count = words.iter().filter(|word| said(word)).count();
        many(count) / many(words.len().max(1))
    };
    0.5 * share(&named) + 0.5 * share(&description).min(0.5) * 2.0
}
