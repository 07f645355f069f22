//! Example requests, and how like them another request is.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use serde::Deserialize;

use super::slots::{Ends, Piece, Reading, Role};
use super::words::{is_plain, many, stem, words};

/// A tool that does something, and what it must be given for that.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Means {
    /// The tool's name.
    pub(super) name: String,
    /// Parameters that its schema does not require.
    #[serde(default)]
    pub(super) needs: Vec<String>,
}

/// Something that is asked for.
#[derive(Debug, Clone)]
pub(super) struct Action {
    /// The tools that do it, the best first; none if there is nothing to do.
    pub(super) tools: Vec<Means>,
    /// Requests for it.
    pub(super) examples: Vec<Example>,
    /// In how many of them each feature is.
    counts: HashMap<String, f32>,
}

/// How far one feature can speak for or against an action.
const MOST_ODDS: f32 = 2.5;

impl Action {
    /// How much oftener than elsewhere the features of a request are met in
    /// requests for this: a sum of log odds.
    fn odds(&self, features: &Features, examples: &Examples) -> f32 {
        let own = many(self.examples.len());
        let others = examples.count - own;
        let odds = features.keys().filter_map(|feature| {
            let all = examples.frequencies.get(feature)?;
            let here = self.counts.get(feature).copied().unwrap_or(0.0);
            let elsewhere = (all - here + 0.5) / (others + 1.0);
            let here = (here + 0.5) / (own + 1.0);
            Some((here / elsewhere).ln().clamp(-MOST_ODDS, MOST_ODDS))
        });
        odds.sum()
    }
}

/// A request for something.
#[derive(Debug, Clone)]
pub(super) struct Example {
    /// Its words and marks.
    pub(super) tokens: Vec<String>,
    /// With what stands for words taken for a quotation or a name of code, and
    /// for any words.
    features: [Features; 2],
}

/// What is compared of a request: features with their weights, of length 1.
type Features = HashMap<String, f32>;

#[derive(Deserialize)]
struct File {
    action: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    tools: Vec<Means>,
    requests: Vec<String>,
}

/// Examples of requests, and how much each of their words tells.
#[derive(Debug, Default)]
pub(super) struct Examples {
    /// What is asked for.
    pub(super) actions: Vec<Action>,
    vocabulary: HashSet<String>,
    frequencies: HashMap<String, f32>,
    count: f32,
}

/// Marks that stand for words, whatever they are.
pub(super) const FREE_MARKS: &[&str] = &[
    "{text}",
    "{part}",
    "{prefix}",
    "{suffix}",
    "{old}",
    "{command}",
];

/// Stands for a quotation or a name of code.
const CODE: &str = "{text}";

/// Stands for words that no example has.
const WORD: &str = "{word}";

/// The words of examples. One that only a single request for no tool has is
/// what that request happens to be about, and is as good as unknown.
fn vocabulary(entries: &[(Entry, Vec<Vec<String>>)]) -> HashSet<String> {
    let mut known = HashSet::new();
    let mut once = HashSet::new();
    for (entry, requests) in entries {
        for request in requests {
            for token in request.iter().collect::<HashSet<_>>() {
                if !entry.tools.is_empty() || !once.insert(token.clone()) || is_plain(token) {
                    known.insert(token.clone());
                }
            }
        }
    }
    known
}

/// The examples that are built in.
pub(super) fn built_in() -> &'static Examples {
    static EXAMPLES: OnceLock<Examples> = OnceLock::new();
    EXAMPLES.get_or_init(|| {
        // A test reads the file, so that it cannot be wrong here.
        let file: Option<File> = toml::from_str(include_str!("examples.toml")).ok();
        file.map(Examples::new).unwrap_or_default()
    })
}

impl Examples {
    fn new(file: File) -> Self {
        let mut examples = Self::default();
        let entries: Vec<(Entry, Vec<Vec<String>>)> = file
            .action
            .into_iter()
            .map(|entry| {
                let requests = entry.requests.iter().map(|request| tokens(request));
                let requests = requests.collect();
                (entry, requests)
            })
            .collect();
        examples.vocabulary = vocabulary(&entries);
        for request in entries.iter().flat_map(|(_, requests)| requests) {
            examples.learn(request);
        }
        examples.actions = entries
            .into_iter()
            .map(|(entry, requests)| Action {
                counts: examples.counts(&requests),
                examples: examples.prepared(requests),
                tools: entry.tools,
            })
            .collect();
        examples
    }

    fn prepared(&self, requests: Vec<Vec<String>>) -> Vec<Example> {
        let example = |tokens: Vec<String>| Example {
            features: [CODE, WORD].map(|mark| self.features(&tokens, mark)),
            tokens,
        };
        requests.into_iter().map(example).collect()
    }

    fn learn(&mut self, request: &[String]) {
        for feature in self.kinds_of_features(request) {
            *self.frequencies.entry(feature).or_default() += 1.0;
        }
        self.count += 1.0;
    }

    fn counts(&self, requests: &[Vec<String>]) -> HashMap<String, f32> {
        let mut counts = HashMap::new();
        for feature in requests
            .iter()
            .flat_map(|request| self.kinds_of_features(request))
        {
            *counts.entry(feature).or_default() += 1.0;
        }
        counts
    }

    fn kinds_of_features(&self, request: &[String]) -> HashSet<String> {
        let forms = [CODE, WORD].map(|mark| raw_features(&self.plain(request, mark)));
        forms
            .into_iter()
            .flatten()
            .map(|(feature, _)| feature)
            .collect()
    }

    /// How much the features of a request speak for each action, in shares of
    /// one.
    pub(super) fn votes(&self, compared: &Compared) -> Vec<f32> {
        let odds: Vec<f32> = self
            .actions
            .iter()
            .map(|action| 0.5 * action.odds(&compared.whole, self))
            .collect();
        let most = odds.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let shares: Vec<f32> = odds.iter().map(|odds| (odds - most).exp()).collect();
        let total: f32 = shares.iter().sum();
        shares
            .into_iter()
            .map(|share| share / total.max(1.0))
            .collect()
    }

    /// Tokens with one mark for words that no example has, and another for
    /// whatever stands for words.
    fn plain(&self, tokens: &[String], free: &str) -> Vec<String> {
        let mut plain: Vec<String> = Vec::with_capacity(tokens.len());
        for token in without_courtesy(tokens) {
            let token = if FREE_MARKS.contains(&token.as_str()) {
                free
            } else if self.vocabulary.contains(token) {
                token
            } else {
                WORD
            };
            if token != WORD || plain.last().is_none_or(|last| last != token) {
                plain.push(token.to_owned());
            }
        }
        plain
    }

    /// What is compared of a request.
    fn features(&self, tokens: &[String], free: &str) -> Features {
        let mut features = Features::new();
        for (feature, weight) in raw_features(&self.plain(tokens, free)) {
            let weight = weight * self.weight(&feature);
            *features.entry(feature).or_default() += weight;
        }
        let length = features
            .values()
            .map(|weight| weight * weight)
            .sum::<f32>()
            .sqrt();
        if length > 0.0 {
            for weight in features.values_mut() {
                *weight /= length;
            }
        }
        features
    }

    /// How much a feature tells: the rarer, the more.
    fn weight(&self, feature: &str) -> f32 {
        let frequency = self.frequencies.get(feature).copied().unwrap_or(0.0);
        ((self.count + 1.0) / (frequency + 1.0)).ln()
    }

    /// Whether no example has this token.
    pub(super) fn is_new(&self, token: &str) -> bool {
        !self.vocabulary.contains(token)
    }

    /// How much a token tells: the rarer, the more.
    pub(super) fn weight_of(&self, token: &str) -> f32 {
        self.weight(token)
    }

    /// A request, to be compared with the examples.
    pub(super) fn compared(&self, reading: &Reading) -> Compared {
        let features = |pieces: &[Piece]| {
            let tokens: Vec<String> = pieces.iter().map(|piece| piece.token.clone()).collect();
            self.features(&tokens, CODE)
        };
        let sentences = reading
            .pieces
            .split_inclusive(|piece| piece.ends == Ends::Sentence);
        let sentences: Vec<&[Piece]> = sentences.collect();
        // A greeting or thanks beside what is asked for does not count.
        let telling = sentences
            .iter()
            .filter(|sentence| sentence.iter().any(|piece| piece.role == Role::Mention));
        let telling = telling.filter(|_| sentences.len() > 1).take(MOST_SENTENCES);
        Compared {
            sentences: telling.map(|sentence| features(sentence)).collect(),
            whole: features(&reading.pieces),
        }
    }
}

/// A request that can be compared with examples.
#[derive(Debug)]
pub(super) struct Compared {
    whole: Features,
    /// Of its sentences, those that name something.
    sentences: Vec<Features>,
}

/// How many sentences of a request are compared one by one.
const MOST_SENTENCES: usize = 6;

/// What the likeness of one sentence counts, since the others may say
/// something else.
const SENTENCE: f32 = 0.93;

impl Compared {
    /// How like an example it is, from 0 to 1.
    pub(super) fn similarity(&self, example: &Example) -> f32 {
        let sentences = self.sentences.iter();
        let sentences = sentences.map(|sentence| SENTENCE * example.likeness(sentence));
        sentences.fold(self.similarity_of_whole(example), f32::max)
    }

    /// How like an example all of it is, from 0 to 1.
    pub(super) fn similarity_of_whole(&self, example: &Example) -> f32 {
        example.likeness(&self.whole)
    }
}

impl Example {
    fn likeness(&self, request: &Features) -> f32 {
        let likenesses = self
            .features
            .iter()
            .map(|features| alike(request, features));
        likenesses.fold(0.0, f32::max)
    }
}

fn alike(own: &Features, others: &Features) -> f32 {
    let common = others.iter().filter_map(|(feature, weight)| {
        let own = own.get(feature)?;
        Some(own * weight)
    });
    common.sum()
}

/// What is said behind a request only to be polite.
pub(super) const COURTESY: &[&str] = &["pleas", "thank", "thx"];

/// Tokens without what is said only to be polite.
fn without_courtesy(tokens: &[String]) -> &[String] {
    let mut rest = tokens;
    loop {
        let words: Vec<&str> = rest.iter().take(3).map(String::as_str).collect();
        let dropped = match words.as_slice() {
            [
                "pleas" | "hey" | "hi" | "hello" | "ok" | "okay" | "so" | "well" | "quick",
                _,
                _,
            ] => 1,
            ["can" | "could" | "would" | "will", "you", _] => 2,
            _ => break,
        };
        rest = rest.get(dropped..).unwrap_or_default();
    }
    while let [before @ .., last] = rest
        && before.len() > 2
        && COURTESY.contains(&last.as_str())
    {
        rest = before;
    }
    rest
}

/// Words, pairs of words, and the words at both ends.
fn raw_features(tokens: &[String]) -> Vec<(String, f32)> {
    let mut features = Vec::new();
    for token in tokens {
        features.push((token.clone(), 1.0));
    }
    let edges = std::iter::once("^")
        .chain(tokens.iter().map(String::as_str))
        .chain(["$"]);
    let edges: Vec<&str> = edges.collect();
    for pair in edges.windows(2) {
        features.push((pair.join(" "), 0.7));
    }
    features
}

/// The tokens of an example: marks as they are, words as stems.
fn tokens(request: &str) -> Vec<String> {
    words(request, usize::MAX)
        .into_iter()
        .map(|word| {
            if word.text.starts_with('{') {
                word.text.to_owned()
            } else {
                stem(&word.folded)
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{File, built_in};

    #[test]
    fn the_examples_can_be_read() {
        let file: Result<File, _> = toml::from_str(include_str!("examples.toml"));
        assert!(file.is_ok(), "{:?}", file.err());
        assert!(built_in().actions.len() > 5);
    }
}
