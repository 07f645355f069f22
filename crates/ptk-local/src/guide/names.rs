//! The names that exist, found by what people call them.

use std::collections::{HashMap, HashSet};

use strsim::osa_distance;

use super::surroundings::Name;
use super::words::fold;

/// How many names are known at most.
const MOST_NAMES: usize = 50_000;

/// How many names that are called alike are told apart.
const MOST_ALIKE: usize = 16;

/// How sure it is that a name is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sureness {
    /// One word that is a name without its ending: it may be just a word.
    Word,
    /// As [`Sureness::Word`], with a slip of the pen.
    Slip,
    /// Several words, or one that is hardly anything but a name.
    Title,
    /// The whole name, or the path.
    Exact,
}

/// Names that are called in one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found<'a> {
    /// How sure it is.
    pub(super) sureness: Sureness,
    /// The names, those with the shortest paths first.
    pub(super) names: Vec<&'a Name>,
}

/// The names that exist, by what they may be called.
#[derive(Debug, Default)]
pub(super) struct NameIndex {
    names: Vec<Name>,
    /// By path and by base name, folded.
    whole: HashMap<String, Vec<usize>>,
    /// By base name without its ending, with spaces between its words.
    titles: HashMap<String, Vec<usize>>,
    /// The keys of both, by their number of letters.
    by_length: HashMap<usize, Vec<String>>,
    endings: HashSet<String>,
}

impl NameIndex {
    /// An index of these names.
    pub(super) fn new(mut names: Vec<Name>) -> Self {
        names.truncate(MOST_NAMES);
        names.retain(|name| !name.path.trim_matches('/').is_empty());
        for name in &mut names {
            let trimmed = name.path.trim_end_matches('/').trim_start_matches("./");
            name.path = trimmed.to_owned();
        }
        names.sort_by_cached_key(|name| (name.path.matches('/').count(), name.path.len()));
        let mut index = Self::default();
        for (position, name) in names.iter().enumerate() {
            index.enter(position, name);
        }
        index.names = names;
        index
    }

    fn enter(&mut self, position: usize, name: &Name) {
        let path = fold(&name.path);
        let base = base(&path).to_owned();
        let (stem, ending) = split(&base);
        if !name.is_folder && !ending.is_empty() {
            self.endings.insert(ending.to_owned());
        }
        let title = spaced(if name.is_folder { &base } else { stem });
        if path != base {
            note(&mut self.whole, None, path, position);
        }
        let lengths = &mut self.by_length;
        note(&mut self.titles, Some(lengths), title, position);
        note(&mut self.whole, Some(lengths), base, position);
    }

    /// The names that may be called so.
    pub(super) fn find(&self, called: &str) -> Option<Found<'_>> {
        let folded = fold(called.trim());
        let folded = folded.strip_prefix("./").unwrap_or(&folded);
        let wants_folder = folded.ends_with('/');
        let key = folded.trim_end_matches('/');
        if key.is_empty() {
            return None;
        }
        let names = self.at(self.whole.get(key));
        let names = if names.is_empty() && key.contains('/') {
            self.ending_with(key)
        } else {
            names
        };
        let names: Vec<&Name> = if wants_folder {
            names.into_iter().filter(|name| name.is_folder).collect()
        } else {
            names
        };
        if !names.is_empty() {
            let exact = wants_folder || key.contains(['.', '/', ' ', '-', '_']);
            let sureness = match names.first() {
                Some(name) if !exact && !is_notable(name) => Sureness::Word,
                Some(_) if !exact => Sureness::Title,
                _ => Sureness::Exact,
            };
            return Some(Found { sureness, names });
        }
        let (stem, ending) = split(key);
        let title = spaced(key);
        let mut names = self.at(self.titles.get(&title));
        if names.is_empty() && !ending.is_empty() {
            names = self.at(self.titles.get(&spaced(stem)));
            names.retain(|name| split(&fold(base(&name.path))).1 == ending);
        }
        let first = names.first()?;
        let sureness = if title.contains(' ') || is_notable(first) {
            Sureness::Title
        } else {
            Sureness::Word
        };
        Some(Found { sureness, names })
    }

    /// The names that differ from this by a slip of the pen.
    pub(super) fn find_misspelt(&self, called: &str) -> Option<Found<'_>> {
        let folded = fold(called.trim());
        let folded = base(folded.trim_end_matches('/'));
        let length = folded.chars().count();
        let allowed = match length {
            5..=8 => 1,
            9..=64 => 2,
            _ => return None,
        };
        let near = (length - allowed..=length + allowed)
            .filter_map(|length| self.by_length.get(&length))
            .flatten()
            .filter_map(|key| {
                let distance = osa_distance(folded, key);
                // What only lacks or has a letter at its end is another form of the word.
                let is_form = !folded.contains('.')
                    && (key.starts_with(folded) || folded.starts_with(key.as_str()));
                (distance > 0 && distance <= allowed && !is_form).then_some((distance, key))
            })
            .min()?;
        let names = self.whole.get(near.1).or_else(|| self.titles.get(near.1));
        let names = self.at(names);
        let is_whole = folded.contains('.');
        let sureness = if is_whole {
            Sureness::Title
        } else {
            Sureness::Slip
        };
        (!names.is_empty()).then_some(Found { sureness, names })
    }

    /// Names whose paths end with these parts.
    fn ending_with(&self, parts: &str) -> Vec<&Name> {
        let ending = format!("/{parts}");
        let named = self.at(self.whole.get(base(parts)));
        named
            .into_iter()
            .filter(|name| fold(&name.path).ends_with(&ending))
            .collect()
    }

    fn at(&self, positions: Option<&Vec<usize>>) -> Vec<&Name> {
        positions
            .into_iter()
            .flatten()
            .filter_map(|position| self.names.get(*position))
            .collect()
    }

    /// Whether some file ends so.
    pub(super) fn has_ending(&self, ending: &str) -> bool {
        self.endings.contains(ending)
    }

    /// A part of names as it is written there: `called` may differ in case,
    /// accents and what stands between words.
    pub(super) fn part_as_written(&self, called: &str) -> Option<String> {
        let wanted = spaced(&fold(called));
        if wanted.is_empty() {
            return None;
        }
        if self
            .names
            .iter()
            .any(|name| base(&name.path).contains(called))
        {
            return Some(called.to_owned());
        }
        let mut names = self.names.iter();
        names.find_map(|name| part_of(base(&name.path), &wanted))
    }
}

fn note(
    map: &mut HashMap<String, Vec<usize>>,
    lengths: Option<&mut HashMap<usize, Vec<String>>>,
    key: String,
    position: usize,
) {
    if key.is_empty() {
        return;
    }
    let positions = map.entry(key.clone()).or_default();
    if positions.is_empty()
        && let Some(lengths) = lengths
    {
        lengths.entry(key.chars().count()).or_default().push(key);
    }
    if positions.len() < MOST_ALIKE && !positions.contains(&position) {
        positions.push(position);
    }
}

/// The slice of a name that is `wanted` once folded and spaced.
fn part_of(name: &str, wanted: &str) -> Option<String> {
    let letters: Vec<(usize, String)> = name
        .char_indices()
        .map(|(at, letter)| (at, spaced_letters(&fold(&letter.to_string()))))
        .collect();
    let whole: String = letters.iter().map(|(_, letter)| letter.as_str()).collect();
    let at = whole.find(wanted)?;
    let mut passed = 0;
    let mut start = None;
    let mut end = name.len();
    for (position, letter) in &letters {
        if passed == at && start.is_none() && !letter.is_empty() {
            start = Some(*position);
        }
        if passed == at + wanted.len() {
            end = *position;
            break;
        }
        passed += letter.len();
    }
    name.get(start?..end).map(str::to_owned)
}

/// Written all in capitals, or named after being a file: `README`, `Makefile`.
fn is_notable(name: &Name) -> bool {
    let base = base(&name.path);
    let (stem, _) = split(base);
    let is_capital = stem.chars().count() > 2
        && stem.chars().any(char::is_uppercase)
        && !stem.chars().any(char::is_lowercase);
    !name.is_folder && (is_capital || stem.ends_with("file") && stem != "file")
}

/// The last part of a path.
pub(super) fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A base name before and behind its last dot.
pub(super) fn split(base: &str) -> (&str, &str) {
    match base.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => (stem, ending),
        _ => (base, ""),
    }
}

fn spaced(text: &str) -> String {
    let spaced = spaced_letters(text);
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn spaced_letters(text: &str) -> String {
    text.replace(['-', '_', '.'], " ")
}

#[cfg(test)]
mod tests {
    use super::{NameIndex, Sureness};
    use crate::guide::surroundings::Name;

    fn index() -> NameIndex {
        NameIndex::new(vec![
            Name::file("README.md"),
            Name::file("docs/design notes.md"),
            Name::file("docs/déploiement.md"),
            Name::file("src/commands/start.rs"),
            Name::folder("src"),
            Name::folder("src/commands"),
            Name::file("pancakes.md"),
            Name::file("Makefile"),
        ])
    }

    fn found(called: &str) -> Option<(String, Sureness)> {
        let index = index();
        let found = index.find(called).or_else(|| index.find_misspelt(called))?;
        let first = found.names.first()?;
        Some((first.path.clone(), found.sureness))
    }

    #[test]
    fn names_are_found_by_what_people_call_them() {
        for (called, path, sureness) in [
            ("README.md", "README.md", Sureness::Exact),
            ("readme", "README.md", Sureness::Title),
            ("makefile", "Makefile", Sureness::Title),
            ("design notes", "docs/design notes.md", Sureness::Title),
            ("design-notes.md", "docs/design notes.md", Sureness::Title),
            ("deploiement.md", "docs/déploiement.md", Sureness::Exact),
            (
                "commands/start.rs",
                "src/commands/start.rs",
                Sureness::Exact,
            ),
            ("./src/", "src", Sureness::Exact),
            ("pancakes", "pancakes.md", Sureness::Word),
            ("READMY.md", "README.md", Sureness::Title),
            ("pancakse", "pancakes.md", Sureness::Slip),
        ] {
            assert_eq!(found(called), Some((path.to_owned(), sureness)), "{called}");
        }
        assert_eq!(found("main.py"), None);
        assert_eq!(found("pancake"), None);
    }

    #[test]
    fn a_part_of_a_name_is_written_as_it_is_there() {
        let index = index();
        assert_eq!(
            index.part_as_written("design-notes").as_deref(),
            Some("design notes")
        );
        assert_eq!(index.part_as_written("DEPLOI").as_deref(), Some("déploi"));
        assert_eq!(index.part_as_written("start").as_deref(), Some("start"));
        assert_eq!(index.part_as_written("lisbon"), None);
    }

    #[test]
    fn a_workspace_without_names_has_none() {
        let index = NameIndex::new(Vec::new());
        assert!(index.find("README.md").is_none());
        assert!(index.find_misspelt("README.md").is_none());
    }
}
