//! Ranks tools for a query: BM25 over names, descriptions and names of
//! parameters.

use std::collections::{BTreeMap, HashMap, HashSet};

use ptk_protocol::{ToolSpec, Toolset};

use super::PREFIX;
use super::words::words;

/// How fast further occurrences of a word count less.
const SATURATION: f64 = 1.2;
/// How much a word counts in the name of a tool, in its description, and in the
/// name of a parameter.
const NAME: f64 = 4.0;
const DESCRIPTION: f64 = 1.0;
const PARAMETER: f64 = 0.7;
/// How much the length of a text matters, from 0 to 1.
const BY_LENGTH: f64 = 0.6;
/// How much a word counts that only begins like one of the query.
const BEGINS: f64 = 0.5;
/// How much a word counts that only means the same as one of the query.
const ALIKE: f64 = 0.4;
/// Verbs that mean the same in names of tools.
const SYNONYMS: [&[&str]; 6] = [
    &["add", "create", "new", "make", "insert", "open"],
    &["delete", "remove", "drop", "clear"],
    &["get", "read", "fetch", "show", "view"],
    &["find", "search", "list", "query", "look"],
    &["update", "edit", "change", "modify", "set"],
    &["send", "post", "write", "publish"],
];
/// Words that tell nothing of what a tool is for.
const EMPTY: [&str; 28] = [
    "a", "an", "and", "are", "at", "by", "can", "do", "for", "from", "how", "i", "in", "is", "it",
    "me", "my", "of", "on", "or", "please", "some", "that", "the", "to", "what", "with", "you",
];
/// The letters of a word of the query that are needed to find longer ones.
const MIN_PREFIX: usize = 3;
/// The most words of a query that count.
const MAX_WORDS: usize = 32;

/// An index of tools.
#[derive(Debug)]
pub(super) struct ToolIndex {
    /// The occurrences of a word: the tool, and how much the word counts there.
    occurrences: BTreeMap<String, Vec<(usize, f64)>>,
    names: Vec<IndexedName>,
}

/// The name of a tool, for queries that give it.
#[derive(Debug)]
struct IndexedName {
    whole: String,
    /// The part behind the server's name.
    own: String,
    words: Vec<String>,
}

/// How well a query fits the name of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum NameMatch {
    Exact,
    Begins,
    None,
}

impl ToolIndex {
    pub(super) fn new(tools: &Toolset) -> Self {
        let fields: Vec<[Vec<String>; 3]> = tools.iter().map(fields).collect();
        let average = |field: usize| {
            let lengths = fields.iter().filter_map(|fields| fields.get(field));
            let all: usize = lengths.map(Vec::len).sum();
            (number(all) / number(fields.len().max(1))).max(1.0)
        };
        let averages = [average(0), average(1), average(2)];
        let mut occurrences: BTreeMap<String, Vec<(usize, f64)>> = BTreeMap::new();
        for (tool, fields) in fields.into_iter().enumerate() {
            let mut counts: HashMap<String, f64> = HashMap::new();
            let weights = [NAME, DESCRIPTION, PARAMETER].into_iter().zip(averages);
            for (field, (weight, average)) in fields.into_iter().zip(weights) {
                let length = 1.0 - BY_LENGTH + BY_LENGTH * number(field.len()) / average;
                for word in field {
                    *counts.entry(word).or_default() += weight / length;
                }
            }
            for (word, count) in counts {
                occurrences.entry(word).or_default().push((tool, count));
            }
        }
        Self {
            occurrences,
            names: tools.names().map(IndexedName::new).collect(),
        }
    }

    /// The positions of the tools that fit the query, the best first. Those
    /// whose name it gives come before all others.
    pub(super) fn search(&self, query: &str) -> Vec<usize> {
        let wanted = Query::new(query);
        let mut scores = self.scores(&wanted.words);
        let named = self.names.iter().enumerate();
        let named = named.map(|(tool, name)| (tool, name.fits(&wanted)));
        let named: HashMap<usize, NameMatch> =
            named.filter(|(_, fits)| *fits != NameMatch::None).collect();
        for tool in named.keys() {
            scores.entry(*tool).or_default();
        }
        let mut found: Vec<(NameMatch, f64, usize)> = scores
            .into_iter()
            .map(|(tool, score)| (*named.get(&tool).unwrap_or(&NameMatch::None), score, tool))
            .collect();
        found.sort_by(|one, other| {
            let by_score = || other.1.total_cmp(&one.1).then(one.2.cmp(&other.2));
            one.0.cmp(&other.0).then_with(by_score)
        });
        found.into_iter().map(|(.., tool)| tool).collect()
    }

    fn scores(&self, words: &[String]) -> HashMap<usize, f64> {
        let mut scores: HashMap<usize, f64> = HashMap::new();
        for word in words {
            let mut best: HashMap<usize, f64> = HashMap::new();
            let is_long = word.chars().count() >= MIN_PREFIX;
            let alike = self.occurrences.range(word.clone()..);
            let alike = alike.take_while(|(known, _)| {
                *known == word || (is_long && known.starts_with(word.as_str()))
            });
            let alike = alike.map(|(known, occurrences)| {
                let weight = if known == word { 1.0 } else { BEGINS };
                (weight, occurrences)
            });
            let synonyms = synonyms(word).into_iter();
            let synonyms = synonyms.filter_map(|word| self.occurrences.get(&word));
            for (weight, occurrences) in alike.chain(synonyms.map(|it| (ALIKE, it))) {
                let rarity = weight * self.rarity(occurrences.len());
                for (tool, count) in occurrences {
                    let score = rarity * count * (SATURATION + 1.0) / (count + SATURATION);
                    let known = best.entry(*tool).or_default();
                    *known = known.max(score);
                }
            }
            for (tool, score) in best {
                *scores.entry(tool).or_default() += score;
            }
        }
        scores
    }

    /// How much a word tells that so many tools have.
    fn rarity(&self, having: usize) -> f64 {
        let (all, having) = (number(self.names.len()), number(having));
        ((all - having + 0.5) / (having + 0.5)).ln_1p()
    }
}

/// A query, as words and as names.
struct Query {
    words: Vec<String>,
    /// All its words in order, to be compared with those of a name.
    name: Vec<String>,
    /// Parts that can only be names of tools.
    names: HashSet<String>,
    /// The query in lower case if it is one word.
    single: Option<String>,
}

impl Query {
    fn new(query: &str) -> Self {
        let is_around = |letter: char| !letter.is_alphanumeric() && letter != '_';
        let parts = query.split([' ', ',', ';', '\n', '\t', ':', '|']);
        let parts = parts.map(|part| part.trim_matches(is_around).to_lowercase());
        let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
        let single = match parts.as_slice() {
            [single] => Some(single.clone()),
            _ => None,
        };
        let is_name = |part: &String| single.is_some() || part.contains(['_', '-']);
        let names = parts.iter().filter(|part| is_name(part)).cloned().collect();
        let all = words(query);
        let mut known = HashSet::new();
        let mut distinct = all.clone();
        distinct.retain(|word| known.insert(word.clone()));
        let is_empty = |word: &String| EMPTY.contains(&word.as_str());
        if !distinct.iter().all(is_empty) {
            distinct.retain(|word| !is_empty(word));
        }
        distinct.truncate(MAX_WORDS);
        Self {
            words: distinct,
            name: all,
            names,
            single,
        }
    }
}

impl IndexedName {
    fn new(name: &str) -> Self {
        let whole = name.to_lowercase();
        let own = whole.split_once(PREFIX).map_or(&*whole, |(_, own)| own);
        Self {
            words: words(own),
            own: own.to_owned(),
            whole,
        }
    }

    fn fits(&self, query: &Query) -> NameMatch {
        let is_given = |name: &String| query.names.contains(name);
        let is_spelt_out = !query.name.is_empty() && query.name == self.words;
        if is_given(&self.whole) || is_given(&self.own) || is_spelt_out {
            return NameMatch::Exact;
        }
        let begins = query.single.as_ref().is_some_and(|single| {
            single.chars().count() >= MIN_PREFIX
                && (self.whole.starts_with(single.as_str())
                    || self.own.starts_with(single.as_str()))
        });
        if begins {
            NameMatch::Begins
        } else {
            NameMatch::None
        }
    }
}

/// Other words for the same, as the index has them.
fn synonyms(word: &str) -> Vec<String> {
    let of_group = |group: &&&[&str]| group.iter().any(|it| words(it).iter().any(|it| it == word));
    let group = SYNONYMS.iter().find(of_group).copied();
    let others = group.unwrap_or_default().iter().flat_map(|it| words(it));
    others.filter(|other| other != word).collect()
}

/// The words of a tool's name, description and parameters.
fn fields(tool: &ToolSpec) -> [Vec<String>; 3] {
    let parameters = tool.properties().into_iter().flatten();
    let parameters = parameters.flat_map(|(name, _)| words(name));
    [
        words(&tool.name),
        words(&tool.description),
        parameters.collect(),
    ]
}

/// A count as a number to calculate with.
fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
